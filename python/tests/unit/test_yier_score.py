"""Scores of answers: sets, sums, groups, intervals and comparisons."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import refused

from medeval.tasks.task import Method
from medeval.tasks.yier.questions import Answered, Counts, Record, total
from medeval.tasks.yier.scores import GROUPINGS, compare, score_answers, units_of

SYMPTOMS = ["fever", "cough", "rash", "pain"]
ANSWERS = st.lists(st.sampled_from([*SYMPTOMS, "A", "vomiting", "E"]), max_size=5)
GOLD = st.lists(st.sampled_from(SYMPTOMS), min_size=1, max_size=4, unique=True)
PAIRS = st.lists(st.tuples(GOLD, ANSWERS), min_size=1, max_size=6)


def record(number: int, gold: list[str], **changes: Any) -> Record:
    raw = {"question": "q", "selection": SYMPTOMS, "answer_choices": gold}
    return Record.model_validate(raw | {"sample_id": f"s{number:03}", "source": "own"} | changes)


def answered(asked: Record, answers: list[str]) -> Answered:
    return Answered(asked, asked.options.answers(answers))


def made_of(pairs: list[tuple[list[str], list[str]]], **changes: Any) -> list[Answered]:
    return [answered(record(n, gold, **changes), given) for n, (gold, given) in enumerate(pairs)]


VALUES = Method(n_iters=0, groupings=tuple(GROUPINGS))


def scored(made: list[Answered]) -> dict[str, Any]:
    details: dict[str, Any] = score_answers(made, VALUES, "m", {}).result.metadata["details"]
    return details


def test_many_unread_replies_are_a_warning_and_stay_in_the_denominator() -> None:
    steps = ("cue", "unparsed", "empty")
    made = [Answered(record(n, ["fever"]), extraction=step) for n, step in enumerate(steps)]
    found = scored(made)
    assert found["extractions"] == dict.fromkeys(sorted(steps), 1)
    assert (found["n"], found["n_unread"], found["n_gold"]) == (3, 1, 3)
    assert "1 of 3 replies could not be read" in found["warnings"][0]
    assert scored(made[:1])["warnings"] == []


@given(PAIRS, st.randoms())
def test_micro_f1_is_the_fraction_and_the_order_does_not_matter(
    pairs: list[tuple[list[str], list[str]]], random: Any
) -> None:
    made = made_of(pairs)
    each = []
    for gold, given_texts in pairs:
        predicted = {"fever" if text == "A" else text for text in given_texts}
        each.append(Counts(len(predicted & set(gold)), len(predicted), len(gold)))
    sums, found = total(each), scored(made)
    assert {name: found[name] for name in sums._fields} == sums._asdict()
    assert found["f1"] == float(Fraction(2 * sums.tp, sums.n_pred + sums.n_gold))
    random.shuffle(made)
    assert scored(made) == found


@pytest.mark.parametrize(
    ("count", "said"), [(1, "one unit only"), (4, "all units are alike"), (0, "")]
)
def test_an_interval_without_width_says_so(count: int, said: str) -> None:
    pairs = [(["fever", "cough"], ["fever", "rash"])] * count or [
        (["fever"], ["A"]),
        (["rash"], []),
    ]
    made = score_answers(made_of(pairs), Method(n_iters=50), "m", {})
    interval = (made.result.intervals or {})["f1"]
    assert (interval.low == interval.high) == bool(said)
    assert any(said in one for one in made.warnings) if said else made.warnings == []
    assert not score_answers(made_of(pairs), Method(n_iters=0), "m", {}).result.intervals


def test_questions_of_one_context_are_one_unit() -> None:
    pairs = [(["fever"], ["fever"]), (["cough"], [])]
    with_context = made_of(pairs, context=" same ")
    assert units_of(with_context, "context") == [Counts(1, 1, 2)]
    assert len(units_of(with_context)) == len(units_of(made_of(pairs), "context")) == 2


def test_systems_are_compared_on_the_same_questions() -> None:
    # Three questions, each won by the first: of eight exchanges two are as far apart.
    first, second = (made_of([(["fever"], [answer])] * 3) for answer in ("fever", "cough"))
    method = Method(n_iters=4000, seed=1)
    assert compare(first, second, method)[0].p_value == pytest.approx(0.25, abs=0.02)
    refused("different", compare, first, second[1:], method)
