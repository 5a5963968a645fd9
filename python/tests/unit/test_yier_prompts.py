"""What a model is asked, and how letters are mapped back; whole prompts are in the net."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import PROJECT_ROOT
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from medeval.tasks.yier.files import read_file
from medeval.tasks.yier.questions import Record, usable_records
from medeval.tasks.yier.task import choose_examples, prompt_text, read_answer, shuffled_order

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
