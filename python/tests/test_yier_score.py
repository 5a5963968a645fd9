"""Scores of answers: sets, sums, groups, intervals and comparisons."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.tasks.task import Method
from medeval.tasks.yier_score import bootstrap, compare, report, units_of, yier_method
from medeval.yier.questions import Record, Submitted
from medeval.yier.score import GROUPINGS, NOTHING, Answered, Counts, join, score

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


def test_what_stands_beside_the_headline() -> None:
    found = score(
        [
            answered(record(1, ["fever"]), ["fever"]),
            answered(record(2, ["fever", "cough"], source="book", context="c"), ["fever"]),
            answered(record(3, ["fever"], selection=[*SYMPTOMS, "more"]), ["A", "vomiting", "A"]),
            answered(record(4, []), ["fever"]),
        ]
    )
    expected = {
        "n": 3,
        "tp": 3,
        "n_pred": 4,
        "n_gold": 4,
        "n_unknown": 1,
        "n_duplicates": 1,
        "exact_set_accuracy": 1 / 3,
        "mean_question_f1": 7 / 9,
        "mean_jaccard": 2 / 3,
        "over_selection_rate": 1 / 3,
        "under_selection_rate": 1 / 3,
        "f1": 3 / 4,
        "f1_unknown_dropped": 6 / 7,
    }
    assert {name: found.summary[name] for name in expected} == pytest.approx(expected)
    assert found.n_unlabelled == 1
    groups = {
        name: {group: one["n"] for group, one in found.by(name).items()} for name in GROUPINGS
    }
    assert groups == {
        "source": {"book": 1, "own": 2},
        "context": {"with": 1, "without": 2},
        "answers": {"multiple": 1, "single": 2},
        "options": {"4": 2, "5": 1},
    }
    with pytest.raises(UserError, match="nothing to score"):
        score([])
    with pytest.raises(UserError, match="no gold answers"):
        score([answered(record(1, []), ["fever"])])
    for wrong in (Method(groupings=["colour"]), Method(cluster="source")):
        with pytest.raises(UserError, match=r"can be grouped by|drawn alone"):
            yier_method(wrong)


def test_joining_is_by_id_and_nothing_is_lost_unseen() -> None:
    gold = [record(1, ["fever"]), record(2, ["cough"])]
    one = Submitted(sample_id="s001", predict_answers=("fever",))
    far = Submitted(sample_id="x", predict_answers=())
    found = score(join(gold, [one])).summary
    assert (found["n_missing"], found["tp"], found["n_gold"]) == (1, 1, 2)
    with pytest.raises(UserError, match="'x'"):
        join(gold, [one, far])
    assert join(gold, [far, one], allow_extra=True) == join(gold, [one])
    with pytest.raises(UserError, match="more than once in the submission"):
        join(gold, [one, one])
    with pytest.raises(UserError, match="more than once in the gold"):
        join([gold[0], gold[0]], [one])


def test_many_unread_replies_are_a_warning_and_stay_in_the_denominator() -> None:
    steps = ("cue", "unparsed", "empty")
    made = [Answered(record(n, ["fever"]), extraction=step) for n, step in enumerate(steps)]
    found = score(made)
    assert found.extractions == dict.fromkeys(sorted(steps), 1)
    assert (found.summary["n"], found.summary["n_unread"], found.summary["n_gold"]) == (3, 1, 3)
    assert "1 of 3 replies could not be read" in found.warnings[0]
    assert score(made[:1]).warnings == ()


@given(PAIRS, st.randoms())
def test_micro_f1_is_the_fraction_and_the_order_does_not_matter(
    pairs: list[tuple[list[str], list[str]]], random: Any
) -> None:
    made = made_of(pairs)
    sums = NOTHING
    for gold, given_texts in pairs:
        predicted = {"fever" if text == "A" else text for text in given_texts}
        sums += Counts(len(predicted & set(gold)), len(predicted), len(gold))
    found = score(made)
    assert {name: found.summary[name] for name in vars(sums)} == vars(sums)
    assert sums.exact_f1 == Fraction(2 * sums.tp, sums.n_pred + sums.n_gold)
    assert found.summary["f1"] == sums.f1
    random.shuffle(made)
    assert score(made) == found


@given(PAIRS, st.integers(0, 2**32 - 1))
def test_an_interval_is_repeatable_and_holds_attainable_values(
    pairs: list[tuple[list[str], list[str]]], seed: int
) -> None:
    questions = made_of(pairs)
    found = bootstrap(units_of(questions), n_iters=40, seed=seed)
    assert found == bootstrap(units_of(questions[::-1]), n_iters=40, seed=seed)
    assert 0 <= (found.low or 0) <= found.median <= (found.high or 0) <= 1
    assert found.value == score(questions).summary["f1"]


def test_draws_are_of_questions_and_near_all_resamples() -> None:
    units = [Counts(2, 2, 2), Counts(0, 1, 1), Counts(1, 3, 2)]
    every = [sum(drawn, NOTHING).f1 for drawn in product(units, repeat=3)]
    found = bootstrap(units, n_iters=20_000, seed=3)
    assert (found.mean, found.std) == pytest.approx((np.mean(every), np.std(every)), abs=0.01)
    assert bootstrap([NOTHING], n_iters=5).mean == 0


@pytest.mark.parametrize(
    ("count", "said"), [(1, "one unit only"), (4, "all units are alike"), (0, "")]
)
def test_an_interval_without_width_says_so(count: int, said: str) -> None:
    pairs = [(["fever", "cough"], ["fever", "rash"])] * count or [
        (["fever"], ["A"]),
        (["rash"], []),
    ]
    made = report(made_of(pairs), Method(n_iters=50))
    assert made.interval
    assert (made.interval.low == made.interval.high) == bool(said)
    assert any(said in warning for warning in made.warnings) if said else made.warnings == []
    assert report(made_of(pairs), Method(n_iters=0)).interval is None


def test_questions_of_one_context_are_one_unit() -> None:
    pairs = [(["fever"], ["fever"]), (["cough"], [])]
    with_context = made_of(pairs, context=" same ")
    assert units_of(with_context, "context") == [Counts(1, 1, 2)]
    assert len(units_of(with_context)) == len(units_of(made_of(pairs), "context")) == 2


def test_a_system_equals_itself_and_an_oracle_beats_an_empty_one() -> None:
    golds: list[list[str]] = [[name] for name in SYMPTOMS * 5]
    oracle = made_of([(gold, gold) for gold in golds])
    first = made_of([(gold, ["A"]) for gold in golds])
    method = Method(n_iters=200, seed=5)
    same = compare(first, first, method)[0]
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    better = compare(oracle, first, method)[0]
    assert (better.first_value, better.low > 0, better.p_value) == (1, True, pytest.approx(1 / 201))
    worse = compare(first, oracle, method)[0]
    assert (worse.low, worse.high) == pytest.approx((-better.high, -better.low))
    with pytest.raises(UserError, match="different questions"):
        compare(oracle, first[1:], method)
    with pytest.raises(UserError, match="0 draws"):
        compare(oracle, first, Method(n_iters=0))
    # Three questions, each won by the first: of eight exchanges two are as far apart.
    three = [(["fever"], ["fever"])] * 3, [(["fever"], ["cough"])] * 3
    found = compare(*map(made_of, three), Method(n_iters=4000, seed=1))[0]
    assert found.p_value == pytest.approx(0.25, abs=0.02)
