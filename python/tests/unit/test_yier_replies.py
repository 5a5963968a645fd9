"""Replies to questions in every combination of words; single ones are in readers/."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.tasks.choice_replies import ZH_CUES, read_choices

SIGNS = ["发热", "咳嗽", "皮疹", "腹痛"]
CUES = ZH_CUES.split("|")
EN_CUES = ["Answer", "answers", "Final answer", "Correct answer", "correct option"]
CHOICE = ["因此选", "所以选", "应选", "故选", "本题应选", "选"]
OUT = ["（×）", "×", "✗", "（错误）", "：错误", "(x)", " (incorrect)", " is wrong", "是错误的"]
IN = ["（√）", "√", "✓", "（正确）", "：正确", "(✓)", " (correct)", " is right", "是对的"]


@pytest.mark.parametrize(
    "start",
    [
        *(
            f"有分析。{cue}{link}"
            for cue in ZH_CUES.split("|")
            for link in ("", "是", "为", "：", "是：")
        ),
        *(f"So. {cue}{link}" for cue in EN_CUES for link in (" is ", " are ", ": ", " = ")),
        *(
            f"{cue}{verb}{link}"
            for cue in CHOICE
            for verb in ("择", "擇")
            for link in ("", "：", " ", "为", "的是", "的选项是：")
        ),
    ],
)
def test_an_answer_is_read(start: str) -> None:
    for answer in ("A、C", "A选项和C选项", "发热、皮疹"):
        for end in ("", "。"):
            found = read_choices(start + answer + end, SIGNS)
            assert (found.options, found.unknown, found.step) == ((0, 2), (), "cue")


@pytest.mark.parametrize("cue", CHOICE)
@pytest.mark.parametrize("rest", ["项", "項", "择题", "擇題", "择项", "择了", "定", "取"])
def test_a_cue_that_is_another_word_reads_nothing(cue: str, rest: str) -> None:
    assert read_choices(f"患者有皮疹，{cue}{rest}A、C", SIGNS).step == "unparsed"


@pytest.mark.parametrize("signs", list(zip(OUT, IN, strict=True)), ids=OUT)
@pytest.mark.parametrize(
    "start", ["答案：", "Answer: ", "故选", "\\boxed{", "<answer>", "**答案**："]
)
@pytest.mark.parametrize("between", ["、", "，", "; ", "。"])
def test_what_is_rejected_is_no_answer(signs: tuple[str, str], start: str, between: str) -> None:
    out, accepted = signs
    end = {"\\boxed{": "}", "<answer>": "</answer>"}.get(start, "")
    for one, two in ("AB", ("发热", "咳嗽")):
        said = f"{start}{one}{out}{between}{two}{accepted}{end}"
        read = read_choices(said, SIGNS).options
        # A new sentence may be an explanation: then nothing is read, and never what is rejected.
        assert read == (1,) or (between == "。" and read == ()), said
        assert read_choices(f"{start}{one}{out}{end}", SIGNS).step == "unparsed"


@pytest.mark.parametrize("word", ["because", "since", "as", "for", "due", "given", "is", "which"])
def test_a_lone_a_before_a_reason_is_a_letter(word: str) -> None:
    assert read_choices(f"Answer: A {word} of the fever", SIGNS).options == (0,)


PROSE = [
    *("LVEF低于40%", "能量为6 MeV", "T细胞减少", "患者为A型血", "ECG shows ST elevation"),
    *("B超提示结石", "考虑C反应蛋白升高", "the L lobe is clear", "维生素D缺乏", "(B) 有异常"),
]


@given(st.lists(st.sampled_from(PROSE), min_size=1, max_size=6))
def test_nothing_is_guessed(sentences: list[str]) -> None:
    found = read_choices("。".join(sentences) + "，需观察。", SIGNS)
    assert (found.options, found.step) == ((), "unparsed")


STEMS = st.lists(st.text("高血压心肌梗死性级糖3", min_size=1, max_size=6), min_size=2, max_size=5)


@given(STEMS, st.data())
def test_an_option_is_read_as_itself_among_options_that_begin_like_it(
    stems: list[str], data: st.DataObject
) -> None:
    selection = list(dict.fromkeys(stem[:length] for stem in stems for length in (1, 3, 6)))
    place = data.draw(st.integers(0, len(selection) - 1))
    for reply in (selection[place], f"答案：{selection[place]}。", f'["{selection[place]}"]'):
        assert read_choices(reply, selection).options == (place,)
