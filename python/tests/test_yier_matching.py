"""Which option a string means, and what a record may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.yier.matching import Options, Step, answer_texts
from medeval.yier.questions import check_records, submitted_records, usable_records

STRINGS = [
    json.loads(line)
    for line in (Path(__file__).parent / "readers" / "yier_strings.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
SYMPTOMS = ["发热", "咳嗽", "皮疹", "腹痛"]


def raw(**changes: Any) -> dict[str, Any]:
    record = {
        "context": "",
        "question": "何者正确",
        "selection": list(SYMPTOMS),
        "answer_choices": ["发热"],
        "sample_id": "m1",
        "source": "自拟题",
    }
    return record | changes


@pytest.mark.parametrize("case", STRINGS, ids=[case["text"] for case in STRINGS])
def test_one_string(case: dict[str, Any]) -> None:
    found = Options(case["options"]).match(case["text"])
    assert (found.step, list(found.options), found.warnings) == (case["step"], case["means"], ())


def test_a_letter_past_the_last_option_is_unknown_one_each() -> None:
    found = Options(SYMPTOMS).answers(["A", "E", "FG", "e"])
    assert (found.options, found.unknown, found.n_duplicates) == ((0,), ("E", "F", "G"), 1)


def test_the_text_wins_over_its_label() -> None:
    found = Options(SYMPTOMS).match("B. 发热")
    assert found.options == (0,)
    assert found.warnings == ("label B stands before the text of option A",)


def test_running_labels_of_the_options_are_no_part_of_their_text() -> None:
    options = Options(["A. 发热", "B. 咳嗽", "C. 皮疹"])
    assert options.shown == ("发热", "咳嗽", "皮疹")
    for text in ("发热", "A", "A. 发热", "（A）发热"):
        assert options.match(text).options == (0,)
    # Labels that do not run from A are text.
    assert Options(["A. 发热", "C. 皮疹"]).match("皮疹").step is Step.NONE


def test_lists_bare_strings_null_and_blanks() -> None:
    options = Options(SYMPTOMS)
    assert options.answers("发热").options == (0,)
    assert options.answers(None).options == ()
    assert options.answers(["", "  ", "\u200b"]) == options.answers([])
    assert options.answers(["呕吐", "呕 吐。"]).unknown == ("呕吐",)
    assert options.answers([1]).unknown == ("1",)
    with pytest.raises(UserError, match="number"):
        answer_texts([1], strict=True)
    for value in (True, [None], {"a": 1}, [["发热"]]):
        with pytest.raises(UserError, match="must be a string"):
            options.answers(value)


@pytest.mark.parametrize(
    ("changes", "state", "finding"),
    [
        ({}, "ok", ""),
        ({"context": None}, "ok", ""),
        ({"sample_id": 7}, "ok", ""),
        ({"answer_choices": []}, "ok", ""),
        ({"answer_choices": None}, "ok", ""),
        ({"answer_choices": "发热"}, "ok", ""),
        ({"answer_choices": ["发热", "A"]}, "warning", "duplicate gold"),
        ({"selection": ["发热", "", "咳嗽"]}, "warning", "blank option trimmed"),
        ({"selection": ["发热 ", "咳嗽"]}, "warning", "trimmed"),
        ({"answer_choices": ["B. 发热"]}, "warning", "label B"),
        ({"answer_choices": ["呕吐"]}, "error", "gold answer not in selection"),
        ({"selection": []}, "error", "no options"),
        ({"selection": [" "]}, "error", "no options"),
        ({"selection": "发热"}, "error", "no list of options"),
        ({"selection": ["发热", " 发热"]}, "error", "identical"),
        ({"selection": [f"o{number}" for number in range(27)]}, "error", "27 options"),
        ({"selection": ["发热", None]}, "error", "must be a string"),
        ({"question": " "}, "error", "question"),
        ({"question": None}, "error", "question"),
        ({"sample_id": " "}, "error", "sample_id"),
        ({"sample_id": True}, "error", "sample_id"),
        ({"context": 3}, "error", "context"),
    ],
)
def test_outcomes_of_records(changes: dict[str, Any], state: str, finding: str) -> None:
    checked = check_records([raw(**changes)])
    outcome = checked.outcomes[0]
    assert outcome.state == state
    assert finding in "; ".join(outcome.findings)
    assert (outcome.record is None) == (state == "error")
    assert checked.n_left_out == (state == "error")
    if state == "error":
        with pytest.raises(UserError, match="record 1"):
            check_records([raw(**changes)], strict=True)


def test_a_file_of_which_no_record_can_be_used_is_an_error() -> None:
    with pytest.raises(UserError, match="2 of 2 records"):
        usable_records([raw(selection=[]), raw(question="")], "f")
    assert usable_records([], "f") == []


def test_the_split_is_told_by_the_answers() -> None:
    test = raw(sample_id="t", answer_choices=[])
    assert check_records([raw()]).split == "train"
    assert check_records([test]).split == "test"
    mixed = check_records([raw(), test])
    assert (mixed.split, mixed.n_labelled, mixed.n_unlabelled) == ("mixed", 1, 1)
    assert check_records([]).split == "empty"


def test_a_submission_has_predictions() -> None:
    assert submitted_records([{"sample_id": 1, "predict_answers": "A"}], "f")[0].sample_id == "1"
    with pytest.raises(UserError, match="no submission"):
        submitted_records([raw()], "f")
    with pytest.raises(UserError, match="record 1"):
        submitted_records([{"predict_answers": ["A"]}], "f")


OPTIONS = st.lists(
    st.text("甲乙丙丁AB12 ，（）", min_size=1, max_size=6).filter(lambda text: text.strip()),
    min_size=1,
    max_size=6,
    unique_by=str.strip,
)


@given(OPTIONS, st.data())
def test_an_official_text_is_always_its_own_option(selection: list[str], data: Any) -> None:
    place = data.draw(st.integers(0, len(selection) - 1))
    assert Options(selection).match(selection[place]).options == (place,)
