"""Chinese multiple choice as models write it: every form with the set of options that it means."""

# ruff: noqa: RUF001 (full-width signs are what is tested)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.yier.counting import Counts
from medeval.yier.joining import from_reply
from medeval.yier.records import Record
from medeval.yier.replies import Extraction, read_reply
from medeval.yier.score import score

SIGNS = ["发热", "咳嗽", "皮疹", "腹痛"]
ENERGIES = ["4 MeV", "6 MeV", "10 MeV", "15 MeV"]
QUOTED = ["“三凹征”，呼吸困难", "心悸，气短，乏力", "所谓“假性”肥大", "乏力"]
PREFIXES = ["高血压", "高血压3级", "高血压3级，很高危", "糖尿病", "2型糖尿病"]

LETTERS = [
    ("A、C", "AC"),
    ("A/C", "AC"),
    ("Ａ，Ｃ", "AC"),
    ("AC", "AC"),
    ("A 和 C", "AC"),
    ("(A)(C)", "AC"),
    ("**答案**：A,C", "AC"),
    ("答案：A、C", "AC"),
    ("选A和C，不选B", "AC"),
    ("选A而不选B", "A"),
    ("应选A和C，而不是B", "AC"),
    ("选A项和C项", "AC"),
    ("选项A和选项C正确，所以答案：选项A和选项C", "AC"),
    ("答案：A+C", "AC"),
    ("答案：A | C，因为都有", "AC"),
    ("答案：A.C.D", "ACD"),
    ("答案：A。C项不对", "A"),
    ("答案：\n- A\n- C", "AC"),
    ("- A. 发热\n- C. 皮疹", "AC"),
    ("答案：B和D（A、C错误）", "BD"),
    ("排除A、B，选C", "C"),
    ("<think>A</think>C", "C"),
    ("<think>答案：A</think>答案：C", "C"),
    # traditional characters
    ("選 A", "A"),
    ("選A", "A"),
    ("選擇A、C", "AC"),
    ("應選A和C，不選B", "AC"),
    ("因此選A與C", "AC"),
    ("正確答案為A、C", "AC"),
    ("答案是：選項A", "A"),
    ("特別選A", "A"),
    ("選項C", "C"),
    # an answer in JSON that is a sentence
    ('{"answer": "选A和C，不选B"}', "AC"),
    ('{"答案": "选A"}', "A"),
    ('{"正確答案": ["A"]}', "A"),
    ('{"answer": "B，因为有咳嗽"}', "B"),
]

UNPARSED = [
    ("除了B都对", SIGNS),
    ("答案：除了B都对", SIGNS),
    ("除B外均正确", SIGNS),
    ("答案：除A、C外", SIGNS),
    ("答案：B除外", SIGNS),
    ("除B都选", SIGNS),
    ("第一项", SIGNS),
    ("答案：第一项", SIGNS),
    ("第一项和第三项", SIGNS),
    ("选第一个", SIGNS),
    ("无正确答案", SIGNS),
    ("答案：无正确答案", SIGNS),
    ("没有正确答案", SIGNS),
    ("都对", SIGNS),
    ("全选", SIGNS),
    ("答案：1、3", SIGNS),
    ("答案：①③", SIGNS),
    ("別選A", SIGNS),
    ("不選A", SIGNS),
    ("不能选A和C", SIGNS),
    ("答案不是A", SIGNS),
    ("A和C都不对", SIGNS),
    ("错误答案是B", SIGNS),
    ("錯誤答案：B", SIGNS),
    ("The incorrect answer is B", SIGNS),
    ("答案：既不选A也不选B", SIGNS),
    ("答案：A项目", SIGNS),
    ("答案：A+", SIGNS),
    ("答案：A.C 解析如下", SIGNS),
    # never the last capital letter, nor the first one
    ("(B) The patient is in NYHA class L", SIGNS),
    ("The remaining ones are wrong, since LVEF is L", SIGNS),
    ("A对，B错，C对，D错", SIGNS),
    ("MeV", SIGNS),
    ("答案：MeV", SIGNS),
    ("The energy is 5 MeV", ENERGIES),
    ("A and B are right, so it is in MeV", ENERGIES),
    # parts of an option's text
    ("三凹征，呼吸困难", QUOTED),
    ("答案：三凹征", QUOTED),
    ("答案：心悸，气短", QUOTED),
    ("答案：高血压2级", PREFIXES),
    ("答案：高血压病", PREFIXES),
    ("答案：1型糖尿病", PREFIXES),
    ("答案：高血压3级很高危", PREFIXES),
    ("答案：高血压，很高危", PREFIXES),
    # JSON that is broken
    ('{"answer": ["A", "C"', SIGNS),
    ('{"answer": ["A",', SIGNS),
    ('{"answer": "A', SIGNS),
    ('```json\n{"answer": ["A"]\n```', SIGNS),
]

TEXTS = [
    ("答案：“三凹征”，呼吸困难", QUOTED, "A"),
    ('答案："三凹征",呼吸困难', QUOTED, "A"),
    ("答案：A.“三凹征”，呼吸困难", QUOTED, "A"),
    ("“三凹征”，呼吸困难，乏力", QUOTED, "AD"),
    ("“三凹征”，呼吸困难，心悸，气短，乏力", QUOTED, "AB"),
    ("A．“三凹征”，呼吸困难\nD．乏力", QUOTED, "AD"),
    ("答案：心悸，气短，乏力", QUOTED, "B"),
    ("“心悸，气短，乏力”", QUOTED, "B"),
    ("答案：“心悸，气短，乏力”，“乏力”", QUOTED, "BD"),
    ("选心悸，气短，乏力，不选乏力", QUOTED, "B"),
    ("所谓“假性”肥大", QUOTED, "C"),
    ("答案：所谓‘假性’肥大", [*QUOTED[:2], "所谓'假性'肥大"], "C"),
    ('["“三凹征”，呼吸困难", "乏力"]', QUOTED, "AD"),
    ('{"answer": ["“三凹征”，呼吸困难"]}', QUOTED, "A"),
    ("{“answer”：[“心悸，气短，乏力”，“所谓“假性”肥大”]}", QUOTED, "BC"),
    ("高血压", PREFIXES, "A"),
    ("答案：高血压。", PREFIXES, "A"),
    ("答案：高血压3级", PREFIXES, "B"),
    ("答案：高血压 3 级", PREFIXES, "B"),
    ("答案：高血压3级，因为收缩压180", PREFIXES, "B"),
    ("答案：高血压3级，很高危", PREFIXES, "C"),
    ("答案：高血压3级，高血压", PREFIXES, "AB"),
    ("答案：高血压，高血压3级，很高危", PREFIXES, "AC"),
    ("高血压\n高血压3级", PREFIXES, "AB"),
    ("答案：2型糖尿病", PREFIXES, "E"),
    ("答案：2型糖尿病和糖尿病", PREFIXES, "DE"),
    ('{"answer": "高血压3级，很高危"}', PREFIXES, "C"),
    ("MeV\n(B)", ENERGIES, "B"),
    ("答案：(B) 6 MeV", ENERGIES, "B"),
    ("6MeV", ENERGIES, "B"),
    ("答案：6 MEV", ENERGIES, "B"),
]


def letters(places: tuple[int, ...]) -> str:
    return "".join("ABCDE"[place] for place in places)


@pytest.mark.parametrize(("reply", "expected"), LETTERS)
def test_letters_in_every_form_are_the_same_set(reply: str, expected: str) -> None:
    found = read_reply(reply, SIGNS)
    assert letters(found.options) == expected
    assert (found.unknown, found.warnings) == ((), ())


@pytest.mark.parametrize(("reply", "selection"), UNPARSED)
def test_what_states_no_option_is_unparsed_and_nothing_is_taken_from_it(
    reply: str, selection: list[str]
) -> None:
    found = read_reply(reply, selection)
    assert (found.options, found.unknown, found.extraction) == ((), (), Extraction.UNPARSED)


@pytest.mark.parametrize(("reply", "selection", "expected"), TEXTS)
def test_options_that_are_texts_are_found_whole(
    reply: str, selection: list[str], expected: str
) -> None:
    assert letters(read_reply(reply, selection).options) == expected


@pytest.mark.parametrize("value", ["除了B都对", "第一项", "无正确答案"])
def test_an_answer_that_is_stated_and_is_no_option_is_an_unknown_one(value: str) -> None:
    found = read_reply(f'{{"answer": ["{value}"]}}', SIGNS)
    assert (found.options, found.unknown, found.extraction) == ((), (value,), Extraction.JSON)


def test_unparsed_replies_are_counted_apart_from_wrong_answers() -> None:
    replies = ["答案：A", "答案：B", "除了B都对", "(B) in NYHA class L", "<think>A", ""]
    answered = []
    for number, reply in enumerate(replies):
        record = Record(
            question="哪项正确",
            selection=tuple(SIGNS),
            answer_choices=("发热",),
            sample_id=str(number),
        )
        answered.append(from_reply(record, read_reply(reply, SIGNS)))
    found = score(answered)
    assert found.extractions == {"cue": 2, "empty": 1, "truncated_reasoning": 1, "unparsed": 2}
    assert (found.summary.n, found.summary.n_unread, found.summary.n_unknown) == (6, 2, 0)
    # A reply that is not read has no prediction, and its gold stays in the denominator.
    assert found.summary.micro == Counts(1, 2, 6)
    assert any("2 of 6 replies could not be read" in warning for warning in found.warnings)


PROSE = st.lists(
    st.sampled_from(
        [
            *("LVEF低于40%", "能量为6 MeV", "T细胞减少", "患者为A型血", "ECG shows ST elevation"),
            *(
                "B超提示结石",
                "考虑C反应蛋白升高",
                "the L lobe is clear",
                "维生素D缺乏",
                "(B) 有异常",
            ),
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(PROSE)
def test_no_capital_letter_of_prose_is_ever_an_answer(sentences: list[str]) -> None:
    found = read_reply("。".join(sentences) + "，需观察。", SIGNS)
    assert (found.options, found.extraction) == ((), Extraction.UNPARSED)


STEMS = st.lists(st.text("高血压心肌梗死性级糖3", min_size=1, max_size=6), min_size=2, max_size=5)


@given(STEMS, st.data())
def test_an_option_is_read_as_itself_among_options_that_begin_like_it(
    stems: list[str], data: st.DataObject
) -> None:
    selection = list(dict.fromkeys(stem[:length] for stem in stems for length in (1, 3, 6)))
    place = data.draw(st.integers(0, len(selection) - 1))
    for reply in (selection[place], f"答案：{selection[place]}。", f'["{selection[place]}"]'):
        assert read_reply(reply, selection).options == (place,)
