"""Questions with options: what a string means, what a record may hold, and what a model is asked.

Rows are in readers/; whole prompts are in the net.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import PROJECT_ROOT
from hypothesis import given
from hypothesis import strategies as st
from tables import refused, table

from medeval.tasks.choice_replies import read_choices
from medeval.tasks.choices import Options
from medeval.tasks.yier.files import read_file
from medeval.tasks.yier.questions import Record, check_records, usable_records
from medeval.tasks.yier.task import choose_examples, prompt_text, read_answer, shuffled_order

STRINGS, CHECKS = (table(name, "readers") for name in ("yier_strings", "yier_checks"))
PLAIN = table("yier_files")["question"]
SYMPTOMS = PLAIN["selection"]


@pytest.mark.parametrize("case", STRINGS, ids=[case["text"] for case in STRINGS])
def test_one_string(case: dict[str, Any]) -> None:
    found = Options(case["options"]).match(case["text"])
    assert (found.step, list(found.options)) == (case["step"], case["means"])
    assert list(found.warnings) == case.get("warnings", [])
    assert list(found.unknown) == case.get("unknown", [] if case["means"] else [case["text"]])


def test_lists_bare_strings_null_and_blanks() -> None:
    answers = Options(SYMPTOMS).answers
    found = answers(["A", "E", "FG", "e", 1, "呕吐", "呕 吐。", "", "\u200b"])
    assert (found.options, found.unknown) == ((0,), ("E", "F", "G", "1", "呕吐"))
    assert found.n_duplicates == 2
    assert answers("发热").options == (0,)
    assert answers(None) == answers(["", "  ", "\u200b"]) == answers([])
    for value in (True, [None], {"a": 1}, [["发热"]]):
        refused("must be a string", answers, value, error=ValueError)


@pytest.mark.parametrize("case", CHECKS)
def test_outcomes_of_records(case: dict[str, Any]) -> None:
    raws = [PLAIN | case["changes"]]
    (outcome,) = check_records(raws)
    assert (outcome.state, "; ".join(outcome.findings)) == (case["state"], case["finding"])


def test_the_demo_is_whole_and_of_all_kinds() -> None:
    found = read_file(PROJECT_ROOT / "demo" / "yier" / "questions.json")
    records = usable_records(found)
    assert len(records) == len(found.records) >= 40
    assert {len(one.selection) for one in records} == {4, 5, 6}
    assert {len(one.gold.options) for one in records} >= {1, 2, 3, 4, 5}
    contexts = [one.context for one in records if one.context]
    assert len(contexts) > len(set(contexts)) > 5
    assert sum(one.question.isascii() for one in records) >= 10
    assert {"术语", "知识", "临床", "规范", "计算"} <= {one.source[2:4] for one in records}


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


@given(st.lists(st.sampled_from(table("yier_files")["prose"]), min_size=1, max_size=6))
def test_nothing_is_guessed(sentences: list[str]) -> None:
    found = read_choices("。".join(sentences) + "，需观察。", SYMPTOMS)
    assert (found.options, found.step) == ((), "unparsed")


STEMS = st.lists(st.text("高血压心肌梗死性级糖3", min_size=1, max_size=6), min_size=2, max_size=5)


@given(STEMS, st.data())
def test_an_option_is_itself_among_those_like_it(stems: list[str], data: st.DataObject) -> None:
    selection = list(dict.fromkeys(stem[:length] for stem in stems for length in (1, 3, 6)))
    place = data.draw(st.integers(0, len(selection) - 1))
    for reply in (selection[place], f"答案：{selection[place]}。", f'["{selection[place]}"]'):
        assert read_choices(reply, selection).options == (place,)


# What a model is asked, and how letters are mapped back


DEMO = PROJECT_ROOT / "demo" / "yier" / "questions.json"
RAW = table("yier_files")["question_with_notes"]
SELECTION = RAW["selection"]


def record(**changes: Any) -> Record:
    return Record.model_validate(RAW | changes)


@pytest.fixture(scope="module")
def demo() -> list[Record]:
    return usable_records(read_file(DEMO))


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("context", [None, "", " \n"])
def test_without_a_context_its_heading_is_absent(language: Any, context: str | None) -> None:
    text = prompt_text(record(context=context), language)
    assert not [part for part in ("【病历资料】", "[Case notes]", "\n\n\n") if part in text]


def test_the_prompt_does_not_say_how_many_or_which_are_right(demo: list[Record]) -> None:
    for one in demo:
        hidden = Record.model_validate({**one.model_dump(), "answer_choices": ()})
        assert prompt_text(one) == prompt_text(hidden)


def test_own_labels_of_options_are_not_shown_twice() -> None:
    own = record(selection=["A. 甲", "B. 乙"], answer_choices=[])
    assert "【选项】\nA. 乙\nB. 甲" in prompt_text(own, order=[1, 0])
    assert read_answer(own, [1, 0], "答案：A").options == (1,)


@given(st.integers(), st.integers(0, 5), st.sets(st.integers(0, 3)))
def test_shuffled_letters_are_mapped_back(seed: int, number: int, places: set[int]) -> None:
    order = shuffled_order(record(), seed, number)
    assert order == shuffled_order(record(), seed, number)
    letters = [letter for letter, place in zip("ABCD", order, strict=True) if place in places]
    for answer in (letters, [SELECTION[place] for place in places]):
        reply = json.dumps({"answer": answer})
        assert read_answer(record(), order, reply).options == tuple(sorted(places))


def test_passes_have_orders_of_their_own_but_options_that_are_letters_none() -> None:
    assert len({shuffled_order(record(), 1, number) for number in range(20)}) > 5
    blood = record(selection=["A", "B", "AB", "O"], answer_choices=["AB"])
    assert {shuffled_order(blood, seed) for seed in range(20)} == {(0, 1, 2, 3)}


def test_examples_come_from_the_training_file_never_the_item(demo: list[Record]) -> None:
    one = demo[3]
    chosen = choose_examples(demo, one, 5, 1)
    assert chosen == choose_examples(list(reversed(demo)), one, 5, 1)
    assert chosen != choose_examples(demo, one, 5, 2)
    copy = one.model_copy(update={"sample_id": "other"})
    everything = choose_examples([*demo, copy], one, len(demo) - 1, 1)
    assert not {"other", one.sample_id} & {other.sample_id for other in everything}
