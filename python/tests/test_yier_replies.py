"""Replies to questions: what is read, by which step, and what is never guessed."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

import pytest

from medeval.yier.cues import ZH_CUES
from medeval.yier.matching import Answers
from medeval.yier.replies import Extraction, read_reply

ZH = ["发热", "咳嗽", "皮疹", "腹痛", "头晕"]
EN = ["Fever", "Cough", "Rash", "Abdominal pain"]
BUGS = ["E. coli", "C. difficile", "M. tuberculosis", "S. aureus"]

READ = [
    # letters after a cue
    ("答案：AC", ZH, "AC", "cue"),
    ("答案：A C", ZH, "AC", "cue"),
    ("答案为A和C", ZH, "AC", "cue"),
    ("答案：（A）（C）", ZH, "AC", "cue"),
    ("答案：(A)、(C)", ZH, "AC", "cue"),
    ("答案应为 ＡＢ", ZH, "AB", "cue"),
    ("答案：b", ZH, "B", "cue"),
    ("答案：选项B", ZH, "B", "cue"),
    ("答案是B，因为有皮疹。", ZH, "B", "cue"),
    ("答案：A；C", ZH, "AC", "cue"),
    ("ANSWER: A、C", ZH, "AC", "cue"),
    ("ANSWER: A，C", ZH, "AC", "cue"),
    ("ANSWER: ＡＣ", ZH, "AC", "cue"),
    ("A、B均错误，故选C。", ZH, "C", "cue"),
    ("因此选BD", ZH, "BD", "cue"),
    ("最终答案是：A、B、C", ZH, "ABC", "cue"),
    ("答案：**A、C**", ZH, "AC", "cue"),
    ("Answer: **D**", EN, "D", "cue"),
    ("Answer: $B", EN, "B", "cue"),
    ("Answer: $\\text{B}$", EN, "B", "cue"),
    ("Final answer: B", EN, "B", "cue"),
    ("The correct option is C.", EN, "C", "cue"),
    ("Answer = B", EN, "B", "cue"),
    ("Answer: A, B, and C", EN, "ABC", "cue"),
    ("answer: A & C", EN, "AC", "cue"),
    ("Answer: A because the fever came first.", EN, "A", "cue"),
    ("The answer is A.", EN, "A", "cue"),
    ("Answer: B. A rash came later.", EN, "B", "cue"),
    ("Answer: [A, C]", EN, "AC", "cue"),
    ("两空分别选A、C", ZH, "AC", "cue"),
    # texts and labels after a cue
    ("答案：发热、皮疹", ZH, "AC", "cue"),
    ("答案：A. 发热；C. 皮疹", ZH, "AC", "cue"),
    ("答案：A（发热）、C（皮疹）", ZH, "AC", "cue"),
    ("答案：皮疹。理由如下", ZH, "C", "cue"),
    ("Answer: Abdominal pain", EN, "D", "cue"),
    ("The answer is fever and rash.", EN, "AC", "cue"),
    ("Answer: (B) Cough", EN, "B", "cue"),
    ("Answer: E. coli", BUGS, "A", "cue"),
    ("Answer: C. difficile", BUGS, "B", "cue"),
    ("正确答案是A、C两项。", ZH, "AC", "cue"),
    ("正确的选项是B和C", ZH, "BC", "cue"),
    ("答案：A、理由是发热", ZH, "A", "cue"),
    ("答案：发热和皮疹，因为感染", ZH, "AC", "cue"),
    ("The answer is Rash because it itches", EN, "C", "cue"),
    ("答案为发热（A）、皮疹（C）", ZH, "AC", "cue"),
    ("Answer:B", EN, "B", "cue"),
    # the last cue that reads
    ("首选A。\n答案：A\n更正，答案：C", ZH, "C", "cue"),
    ("答案：C\n以上为答案：", ZH, "C", "cue"),
    ("选B，不选C", ZH, "B", "cue"),
    ("The answer is A. Wait. The answer is D", EN, "D", "cue"),
    # JSON
    ('{"answer": ["A", "C"]}', ZH, "AC", "json"),
    ('{"answer": "A,C"}', ZH, "AC", "json"),
    ('好的。\n```json\n{"answers": ["发热"]}\n```\n以上。', ZH, "A", "json"),
    ('I think {"answer": ["B"]} is right', EN, "B", "json"),
    ('{"Answer": "b"}', EN, "B", "json"),
    ("｛“答案”：［“A”，“C”］｝", ZH, "AC", "json"),
    ('{"answer": []}', ZH, "", "json"),
    ('{"predict_answers": ["皮疹"], "answer": ["A"]}', ZH, "C", "json"),
    ('{"why": {"a": 1}, "answer": ["B"]} as asked', EN, "B", "json"),
    # boxed
    ("So \\boxed{A} or rather \\boxed{B, C}", EN, "BC", "boxed"),
    ("\\boxed{\\text{C}}", EN, "C", "boxed"),
    # nothing but the answer
    ("AC", ZH, "AC", "whole"),
    ("a", ZH, "A", "whole"),
    ("发热\n皮疹", ZH, "AC", "whole"),
    ("分析：有皮疹。\nB、C", ZH, "BC", "whole"),
    ("分析如下\n\nA. 发热\nC. 皮疹", ZH, "AC", "whole"),
    ("**Answer:**\n\nC. Rash", EN, "C", "whole"),
    ("Fever, rash", EN, "AC", "whole"),
    ("A and C", EN, "AC", "whole"),
    # thinking
    ("<think>选A</think>答案：B", ZH, "B", "cue"),
    ("[THINK]maybe A[/THINK]Answer: C", EN, "C", "cue"),
]

UNREAD = [
    ("A and B are right, C and D may be wrong", EN),
    ("Answer: Let's think step by step.", EN),
    ("None of the above", EN),
    ("Don't know", EN),
    ("Answer: I think it is difficult.", EN),
    ("The answer is a matter of taste", EN),
    ("Answer: A or B", EN),
    ("答案：A或B", ZH),
    ("不选B", ZH),
    ("不应选B", ZH),
    ("别选B", ZH),
    ("B is not the correct answer: A patient may cough", EN),
    ("选项B是错误的", ZH),
    ("答案A不正确", ZH),
    ("答案：C反应蛋白升高", ZH),
    ("Answer: B12 deficiency", EN),
    ("Answer: C. perfringens", EN),
    ("Answer: A. Pyrexia and C. Rash because of it", EN),
    ("患者有A、B两种表现，需进一步检查。", ZH),
    ("发热和呕吐", ZH),
    ("题目选项：\nA. 发热\nB. 咳嗽\nC. 皮疹\nD. 腹痛\nE. 头晕", ZH),
    ("[1]是参考文献", ZH),
    ("答案：以上都不对", ZH),
    ("The answer is not A", EN),
    ('{"answer": {"A": true}}', EN),
    ("OK", EN),
]


def letters(places: tuple[int, ...]) -> str:
    return "".join("ABCDEF"[place] for place in places)


@pytest.mark.parametrize(("reply", "selection", "expected", "step"), READ)
def test_an_answer_is_read(reply: str, selection: list[str], expected: str, step: str) -> None:
    found = read_reply(reply, selection)
    assert (letters(found.options), found.extraction) == (expected, step)
    assert found.unknown == ()


@pytest.mark.parametrize(("reply", "selection"), UNREAD)
def test_nothing_is_guessed(reply: str, selection: list[str]) -> None:
    found = read_reply(reply, selection)
    assert (found.options, found.unknown) == ((), ())
    assert found.extraction is Extraction.UNPARSED


@pytest.mark.parametrize("cue", ZH_CUES)
@pytest.mark.parametrize("link", ["", "是", "为", "：", ": ", "是："])
def test_every_chinese_cue_reads(cue: str, link: str) -> None:
    assert read_reply(f"有分析。{cue}{link}A、C。", ZH).options == (0, 2)


@pytest.mark.parametrize("cue", ["因此选", "所以选", "应选", "故选", "本题应选", "选"])
@pytest.mark.parametrize("verb", ["", "择", "擇"])
@pytest.mark.parametrize("link", ["", "：", " ", "为", "的是", "的是：", "的选项是", "选项"])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("C", (2,)),
        ("BD", (1, 3)),
        ("B、D", (1, 3)),
        ("A选项和C选项", (0, 2)),
        ("发热、皮疹", (0, 2)),
        ("发热", (0,)),
    ],
)
def test_a_cue_of_choice_takes_either_verb(
    cue: str, verb: str, link: str, answer: str, expected: tuple[int, ...]
) -> None:
    if link == "选项" and (not verb or not answer.isascii()):
        return  # "选选项C" is no Chinese, and "选项发热" no way to name an option
    for end in ("", "。"):
        found = read_reply(f"患者有皮疹，{cue}{verb}{link}{answer}{end}", ZH)
        assert (found.options, found.unknown, found.extraction) == (expected, (), "cue")


@pytest.mark.parametrize("cue", ["因此选", "所以选", "应选", "故选", "选"])
@pytest.mark.parametrize("rest", ["项", "項", "择题", "擇題", "择项", "择了", "定", "取"])
@pytest.mark.parametrize("answer", ["A", "A、C"])
def test_a_cue_that_is_another_word_reads_nothing(cue: str, rest: str, answer: str) -> None:
    found = read_reply(f"患者有皮疹，{cue}{rest}{answer}", ZH)
    assert (found.options, found.unknown, found.extraction) == ((), (), "unparsed")


@pytest.mark.parametrize("answer", ["答案是B。", "答案：B；\n", "The answer is B. "])
@pytest.mark.parametrize(
    "other",
    [
        *("如果有发热则选A", "若有发热，选A", "如果有發熱則應選A", "若有发热，则应该选择A"),
        *("假如有发热，应选A", "如果没有皮疹，答案是A", "除非有皮疹，否则选A", "反之，正确答案为A"),
        *("有皮疹的话选A", "要是没有发热，正确选项是A", "否则应选择A", "反之，則選A"),
        *("有发热，则选A", "如果选A，则忽略了发热", "若选择A就错了"),
        *("有人会选A", "有人选A", "很多人选择A", "考生会选A", "学生可能选A", "多数考生们都选A"),
        *("容易误选A", "误选A", "可能选A", "易选A"),
        *("If fever were present, the answer is A", "Otherwise the answer is A"),
        "Unless it itches, the correct option is A",
    ],
)
def test_what_is_right_in_a_case_or_for_others_is_no_answer(answer: str, other: str) -> None:
    assert read_reply(f"{answer}{other}。", ZH).options == (1,)
    found = read_reply(f"{other}。", ZH)
    assert (found.options, found.extraction) == ((), "unparsed")


@pytest.mark.parametrize(
    "reply",
    [
        *("有若干表现，故选C", "如果有高热应考虑感染，本例没有，答案是C", "我会选C", "我们会选择C"),
        *("如果选A会忽略皮疹，答案是C", "如果必须选一个，选C", "如果我们看皮疹，答案是C"),
        *("如果是感染应有高热，所以选择C", "若有发热则选A。答案是C", "综上，应该选择C"),
        *("按照治疗原则选C", "主要是皮疹，应选C", "应先止血，否则会休克，答案是C"),
        *("这是假设检验，选C", "测IF抗体，选择C"),
        *("If we look at the skin, the answer is C", "If so, B; but the answer is C"),
        "If it were B there would be pain, so the answer is C",
    ],
)
def test_what_is_concluded_is_the_answer(reply: str) -> None:
    found = read_reply(reply, ZH)
    assert (found.options, found.extraction) == ((2,), "cue")


@pytest.mark.parametrize(
    "arrow", ["→", " → ", "⇒", " ⇒", "->", " -> ", "=>", " => ", " $\\rightarrow$ ", "（发热）→"]
)
@pytest.mark.parametrize("before", ["A", "A、B"])
def test_letters_that_change_into_others_are_no_answer(arrow: str, before: str) -> None:
    assert read_reply(f"答案：{before}{arrow}C", ZH).extraction is Extraction.UNPARSED
    assert read_reply(f"答案：{before}{arrow}C。", ZH).extraction is Extraction.UNPARSED


def test_an_arrow_may_explain_a_letter_but_not_go_on_with_it() -> None:
    assert read_reply("Answer: B → because of the cough", EN).options == (1,)
    assert read_reply("答案：A→G突变", ZH).extraction is Extraction.UNPARSED


def test_a_phrase_that_ends_in_a_letter_is_no_term_beside_letters() -> None:
    assert read_reply("答案：维生素A、C", ZH).extraction is Extraction.UNPARSED
    found = read_reply("答案：维生素A、咳嗽", ZH)
    assert (found.options, found.unknown) == ((1,), ("维生素A",))


@pytest.mark.parametrize(
    "cue",
    ["Answer", "answers", "Final answer", "final answers", "Correct answer", "correct option"],
)
@pytest.mark.parametrize("link", [" is ", " are ", ": ", " = "])
def test_every_english_cue_reads(cue: str, link: str) -> None:
    assert read_reply(f"Some thought. {cue}{link}A, C", EN).options == (0, 2)


@pytest.mark.parametrize(
    "word",
    ["because", "since", "as", "for", "due", "given", "is", "are", "which", "based"],
)
def test_a_lone_a_before_a_reason_is_a_letter(word: str) -> None:
    assert read_reply(f"Answer: A {word} of the fever", EN).options == (0,)


def test_letters_out_of_range_are_unknown_answers() -> None:
    found = read_reply("答案：A、G", ZH)
    assert (found.options, found.unknown) == ((0,), ("G",))
    assert found.extraction is Extraction.OUT_OF_RANGE
    assert read_reply("Answer: F", EN).unknown == ("F",)


def test_what_is_no_option_is_kept_as_unknown() -> None:
    found = read_reply('{"answer": ["发热", "呕吐"]}', ZH)
    assert (found.options, found.unknown, found.extraction) == ((0,), ("呕吐",), "json")
    assert Answers(found.options, found.unknown).texts(ZH) == ["发热", "呕吐"]


def test_short_terms_in_a_list_with_options_are_unknown_answers() -> None:
    found = read_reply("答案：发热、呕吐、A", ZH)
    assert (found.options, found.unknown, found.extraction) == ((0,), ("呕吐",), "cue")
    assert read_reply("答案：A、呕吐", ZH).unknown == ("呕吐",)


@pytest.mark.parametrize(
    "part",
    ["选", "{", "A、", "A ", "答案：", "\\boxed{", "[", " ", "甲，乙\n", "(", "“", "answer is "],
)
def test_a_reply_that_runs_wild_ends(part: str) -> None:
    assert len(read_reply(part * 20_000, ZH).options) <= 1
    assert len(read_reply(f"答案：{part * 20_000}x", ZH).options) <= 1


def test_a_label_that_disagrees_with_its_text_is_a_warning() -> None:
    found = read_reply("答案：B. 发热", ZH)
    assert found.options == (0,)
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    ("reply", "extraction"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("<think>A</think>", "empty"),
        ("<think>答案：A", "truncated_reasoning"),
    ],
)
def test_no_answer_has_a_reason(reply: str, extraction: str) -> None:
    found = read_reply(reply, ZH)
    assert (found.options, found.extraction) == ((), extraction)


def test_options_that_are_letters_are_texts_first() -> None:
    blood = ["A", "B", "AB", "O"]
    assert read_reply("答案：AB", blood).options == (2,)
    assert read_reply("答案：O", blood).options == (3,)
    assert read_reply("答案：C", blood).options == (2,)
    assert read_reply("答案：A、B", blood).options == (0, 1)


def test_options_with_commas_and_words_for_and_are_whole() -> None:
    selection = ["恶心、呕吐", "饱和脂肪酸", "发热", "nausea and vomiting"]
    assert read_reply("答案：恶心、呕吐、发热", selection).options == (0, 2)
    assert read_reply("饱和脂肪酸和发热", selection).options == (1, 2)
    assert read_reply("Nausea and vomiting", selection).options == (3,)
