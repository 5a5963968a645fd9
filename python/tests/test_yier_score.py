"""Micro F1, what stands beside it, its interval, and the comparison of two systems."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from commands import PROJECT_ROOT
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.yier.counting import Counts, QuestionCounts, count_answers, micro
from medeval.yier.evaluating import Method, report, score_submission
from medeval.yier.intervals import bootstrap, compare, units_of
from medeval.yier.joining import Answered, join
from medeval.yier.matching import Answers
from medeval.yier.reading import read_file
from medeval.yier.records import Record, Submitted, usable_records
from medeval.yier.score import Grouping, Scored, score

DEMO = PROJECT_ROOT / "demo" / "yier" / "questions.json"
SYMPTOMS = ["fever", "cough", "rash", "pain"]
ANSWERS = st.lists(st.sampled_from([*SYMPTOMS, "A", "vomiting", "E"]), max_size=5)
GOLD = st.lists(st.sampled_from(SYMPTOMS), min_size=1, max_size=4, unique=True)


def record(number: int, gold: list[str], **changes: Any) -> Record:
    raw = {"question": "q", "selection": SYMPTOMS, "answer_choices": gold}
    return Record.model_validate(raw | {"sample_id": f"s{number:03}", "source": "own"} | changes)


def answered(asked: Record, answers: list[str]) -> Answered:
    return Answered(asked, asked.options.answers(answers))


def counted_of(gold: list[str], answers: list[str]) -> QuestionCounts | None:
    asked = record(1, gold)
    return count_answers(asked.gold, asked.options.answers(answers))


def scored(pairs: list[tuple[list[str], list[str]]], **changes: Any) -> tuple[Scored, ...]:
    made = [
        answered(record(number, gold, **changes), answers)
        for number, (gold, answers) in enumerate(pairs)
    ]
    return score(made).questions


@pytest.fixture(scope="module")
def demo() -> list[Record]:
    return usable_records(read_file(DEMO).records, str(DEMO))


def test_sets_are_counted_once_and_unknown_answers_cost_precision() -> None:
    counted = counted_of(["fever", "rash"], ["C", "rash", "vomiting", "E", "e."])
    assert counted is not None
    assert counted.counts == Counts(1, 3, 2)
    assert counted.known == Counts(1, 1, 2)
    assert (counted.n_unknown, counted.n_duplicates) == (2, 2)
    assert micro([counted], "drop").f1 == pytest.approx(2 / 3)
    assert counted.counts.f1 == pytest.approx(2 / 5)


def test_a_question_without_gold_is_not_counted_and_wrong_gold_is_an_error() -> None:
    assert counted_of([], ["fever"]) is None
    with pytest.raises(UserError, match="gold answer not in selection"):
        counted_of(["vomiting"], [])
    with pytest.raises(UserError, match="nothing to score"):
        micro([])


def test_what_stands_beside_the_headline() -> None:
    found = score(
        [
            answered(record(1, ["fever"]), ["fever"]),
            answered(record(2, ["fever", "cough"], source="book", context="c"), ["fever"]),
            answered(record(3, ["fever"], selection=[*SYMPTOMS, "more"]), ["fever", "vomiting"]),
            answered(record(4, []), ["fever"]),
        ]
    )
    summary = found.summary
    assert (summary.n, summary.micro, found.n_unlabelled) == (3, Counts(3, 4, 4), 1)
    assert summary.exact_set_accuracy == pytest.approx(1 / 3)
    assert summary.mean_question_f1 == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert summary.mean_jaccard == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert summary.over_selection_rate == pytest.approx(1 / 3)
    assert summary.under_selection_rate == pytest.approx(1 / 3)
    assert found.as_json()["f1_unknown_dropped"] == pytest.approx(6 / 7)
    assert summary.n_unknown == 1
    by = {grouping: found.by(grouping) for grouping in Grouping}
    assert {name: one.n for name, one in by[Grouping.SOURCE].items()} == {"book": 1, "own": 2}
    assert {name: one.n for name, one in by[Grouping.CONTEXT].items()} == {"with": 1, "without": 2}
    assert list(by[Grouping.ANSWERS]) == ["multiple", "single"]
    assert by[Grouping.OPTIONS]["5"].micro == Counts(1, 2, 1)
    for groups in by.values():
        assert sum((one.micro for one in groups.values()), Counts(0, 0, 0)) == summary.micro


def test_nothing_to_score_and_no_gold_are_errors() -> None:
    with pytest.raises(UserError, match="nothing to score"):
        score([])
    with pytest.raises(UserError, match="no gold answers"):
        score([answered(record(1, []), ["fever"])])


def test_joining_is_by_id_and_nothing_is_lost_unseen() -> None:
    gold = [record(1, ["fever"]), record(2, ["cough"])]
    one = Submitted(sample_id="s001", predict_answers=("fever",))
    far = Submitted(sample_id="x", predict_answers=())
    found = score(join(gold, [one]))
    assert (found.summary.n_missing, found.summary.micro) == (1, Counts(1, 1, 2))
    with pytest.raises(UserError, match="'x'"):
        join(gold, [one, far])
    assert join(gold, [far, one], allow_extra=True) == join(gold, [one])
    with pytest.raises(UserError, match="more than once in the submission"):
        join(gold, [one, one])
    with pytest.raises(UserError, match="more than once in the gold"):
        join([gold[0], gold[0]], [one])


def test_many_unread_replies_are_a_warning() -> None:
    made = [
        Answered(record(number, ["fever"]), Answers(), extraction="unparsed" if number else "cue")
        for number in range(2)
    ]
    found = score(made)
    assert found.extractions == {"cue": 1, "unparsed": 1}
    assert found.by(Grouping.SOURCE)["own"].n_unread == 1
    assert "1 of 2 replies could not be read" in found.warnings[0]
    assert score(made[:1]).warnings == ()


def test_an_oracle_scores_one_an_empty_model_zero_a_shuffle_in_between(
    demo: list[Record],
) -> None:
    oracle = score([answered(one, list(one.answer_choices)) for one in demo])
    assert oracle.summary.micro.f1 == 1
    assert oracle.summary.exact_set_accuracy == 1
    empty = score([answered(one, []) for one in demo])
    assert empty.summary.micro.f1 == 0
    assert not empty.summary.micro.precision_defined
    letters = [[chr(65 + place) for place in one.gold.options] for one in demo]
    moved = score(
        [answered(one, other) for one, other in zip(demo, letters[7:] + letters[:7], strict=True)]
    )
    assert 0.2 < moved.summary.micro.f1 < 0.8


@given(st.lists(st.tuples(GOLD, ANSWERS), min_size=1, max_size=6), st.randoms())
def test_micro_f1_is_the_fraction_and_the_order_does_not_matter(
    pairs: list[tuple[list[str], list[str]]], random: Any
) -> None:
    made = [answered(record(n, gold), answers) for n, (gold, answers) in enumerate(pairs)]
    found = score(made)
    tp = n_pred = n_gold = 0
    for gold, answers in pairs:
        predicted = {"fever" if text == "A" else text for text in answers}
        tp += len(predicted & set(gold))
        n_pred += len(predicted)
        n_gold += len(set(gold))
    sums = found.summary.micro
    assert sums == Counts(tp, n_pred, n_gold)
    assert sums.exact_f1 == Fraction(2 * tp, n_pred + n_gold)
    if tp:
        precision, recall = Fraction(tp, n_pred), Fraction(tp, n_gold)
        assert sums.exact_f1 == 2 * precision * recall / (precision + recall)
    random.shuffle(made)
    for one in made:
        random.shuffle(answered_texts := list(pairs[int(one.record.sample_id[1:])][1]))
        assert one.record.options.answers(answered_texts).options == one.answers.options
    assert score(made).as_json() == found.as_json()


@given(st.lists(st.tuples(GOLD, ANSWERS), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_an_interval_is_repeatable_and_holds_attainable_values(
    pairs: list[tuple[list[str], list[str]]], seed: int
) -> None:
    questions = scored(pairs)
    found = bootstrap(units_of(questions), n_iters=40, seed=seed)
    assert found == bootstrap(units_of(tuple(reversed(questions))), n_iters=40, seed=seed)
    assert 0 <= found.low <= found.median <= found.high <= 1
    assert found.value == sum((q.counted.counts for q in questions), Counts(0, 0, 0)).f1


def test_draws_are_of_questions_and_near_all_resamples() -> None:
    units = [Counts(2, 2, 2), Counts(0, 1, 1), Counts(1, 3, 2)]
    every = [sum(drawn, Counts(0, 0, 0)).f1 for drawn in product(units, repeat=3)]
    found = bootstrap(units, n_iters=20_000, seed=3)
    assert found.mean == pytest.approx(np.mean(every), abs=0.01)
    assert found.std == pytest.approx(np.std(every), abs=0.01)


def test_a_draw_without_any_answer_is_zero() -> None:
    assert bootstrap([Counts(0, 0, 0)], n_iters=5).mean == 0


@pytest.mark.parametrize("units", [[Counts(1, 2, 2)], [Counts(1, 2, 2)] * 4])
def test_an_interval_without_width_says_so(units: list[Counts]) -> None:
    found = bootstrap(units, n_iters=50)
    assert found.low == found.high == 0.5
    assert found.warning is not None
    assert bootstrap([Counts(1, 1, 1), Counts(0, 1, 1)], n_iters=50).warning is None


def test_questions_of_one_context_are_one_unit() -> None:
    pairs = [(["fever"], ["fever"]), (["cough"], [])]
    with_context = scored(pairs, context=" same ")
    assert units_of(with_context, "context") == [Counts(1, 1, 2)]
    assert len(units_of(with_context)) == 2
    assert len(units_of(scored(pairs), "context")) == 2


def test_no_draws_are_refused() -> None:
    with pytest.raises(UserError, match="0 draws"):
        bootstrap([Counts(1, 1, 1)], n_iters=0)


def test_a_system_equals_itself_and_an_oracle_beats_an_empty_one(demo: list[Record]) -> None:
    oracle = score([answered(one, list(one.answer_choices)) for one in demo]).questions
    first = score([answered(one, ["A"]) for one in demo]).questions
    same = compare(first, first, n_iters=200)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    better = compare(oracle, first, n_iters=200, seed=5)
    assert better == compare(oracle, tuple(reversed(first)), n_iters=200, seed=5)
    assert better.first == 1
    assert better.low > 0
    assert better.p_value == pytest.approx(1 / 201)
    worse = compare(first, oracle, n_iters=200, seed=5)
    assert (worse.low, worse.high) == pytest.approx((-better.high, -better.low))
    clustered = compare(oracle, first, n_iters=200, seed=5, cluster="context")
    assert clustered.difference == better.difference
    with pytest.raises(UserError, match="different questions"):
        compare(oracle, first[1:])


def test_exchanges_give_the_exact_p_of_few_questions() -> None:
    # Three questions, each won by the first: of eight exchanges two are as far apart.
    right = scored([(["fever"], ["fever"])] * 3)
    wrong = scored([(["fever"], ["cough"])] * 3)
    assert compare(right, wrong, n_iters=4000, seed=1).p_value == pytest.approx(0.25, abs=0.02)


def test_a_file_is_scored_against_the_gold(tmp_path: Any, demo: list[Record]) -> None:
    submission = tmp_path / "submission.json"
    submission.write_text(
        json.dumps(
            [{"sample_id": one.sample_id, "predict_answers": list(one.selection)} for one in demo]
        ),
        encoding="utf-8",
    )
    found = score_submission(submission, DEMO, Method(n_iters=50, seed=1))
    written = found.as_json()
    assert written["recall"] == 1
    assert written["n"] == len(demo)
    assert written["f1_interval"]["low"] <= written["f1"] <= written["f1_interval"]["high"]
    assert set(written["by"]) == {"source", "context", "answers", "options"}
    json.dumps(written, allow_nan=False)
    values = report([answered(one, []) for one in demo], Method(n_iters=0))
    assert values.interval is None
    one = report([answered(demo[0], [])], Method(n_iters=10))
    assert "one unit only" in one.warnings[-1]
