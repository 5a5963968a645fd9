"""Comparisons: DeLong, McNemar, Holm, the paired bootstrap, and what is said of them.

The command: `cli/scenarios/commands.yaml` and `icu.yaml`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from sklearn.metrics import roc_auc_score
from tables import refused, table

from medeval.models.benchmark_report import GOLD, EvaluationResult
from medeval.scoring.binary import Binary, delong_test, mcnemar
from medeval.scoring.compare import (
    Difference,
    Verdict,
    bootstrap_p,
    compare,
    corrected,
    holm,
    least_resamples,
    of_means,
    paired_difference,
    paired_differences,
    sentence,
)
from medeval.scoring.resample import Scores, score

NAN = math.nan
TABLES = table("compare")


def kernels(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Compare each positive with each negative, as DeLong et al. write it."""
    positive, negative = scores[truth == 1], scores[truth == 0]
    return (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)


@st.composite
def two_scores(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows with many ties and at least two of each class."""
    rest = draw(st.lists(st.booleans(), max_size=26))
    truth = np.array([True, False, True, False, *rest]).astype(int)
    scores = st.lists(
        st.one_of(st.integers(0, 3), st.floats(-1e3, 1e3)), min_size=len(truth), max_size=len(truth)
    )
    return truth, np.array(draw(scores), dtype=float), np.array(draw(scores), dtype=float)


@given(two_scores())
def test_delong_compares_all_pairs(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    truth, *both = rows
    pairs = [kernels(truth, scores) for scores in both]
    by_positive = np.cov([kernel.mean(axis=1) for kernel in pairs])
    by_negative = np.cov([kernel.mean(axis=0) for kernel in pairs])
    covariance = by_positive / pairs[0].shape[0] + by_negative / pairs[0].shape[1]
    areas = [float(kernel.mean()) for kernel in pairs]
    found = delong_test(*rows)
    assert [found["first_value"], found["second_value"]] == pytest.approx(areas, abs=1e-14)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert found["standard_error"] ** 2 == pytest.approx(variance, abs=1e-14)
    for scores, area, own in zip(both, areas, np.diag(covariance), strict=True):
        # Equal scores have an area without variance, so that the error is the other's.
        alone = delong_test(truth, scores, np.zeros(len(scores)))
        assert alone["first_value"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-14)
        assert alone["first_value"] == pytest.approx(area, abs=1e-14)
        assert alone["standard_error"] ** 2 == pytest.approx(own, abs=1e-14)
    if found["p_value"] is not None and found["standard_error"] > 1e-6:
        expected = 2 * norm.sf(abs(areas[0] - areas[1]) / math.sqrt(variance))
        assert found["p_value"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("truth", "first", "second", "difference", "reason"), TABLES["delong"])
def test_delong_without_a_class_or_a_variance_says_why(
    truth: list[int], first: list[float], second: list[float], difference: Any, reason: str
) -> None:
    found = delong_test(truth, first, second)
    assert (found["difference"], found["p_value"]) == (difference, None)
    assert reason in str(found["reason"])


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_mcnemar_is_the_binomial_test_of_the_discordant(pairs: list[tuple[bool, bool]]) -> None:
    first, second = zip(*pairs, strict=True)
    found, other = mcnemar(first, second), mcnemar(second, first)
    counts = tuple(found.values())[:4]
    kinds = ((True, True), (True, False), (False, True), (False, False))
    assert counts == tuple(pairs.count(kind) for kind in kinds)
    total = found["only_first"] + found["only_second"]
    least = 2 * binom.cdf(min(found["only_first"], found["only_second"]), total, 0.5)
    assert found["p_value"] == pytest.approx(min(1.0, least), rel=1e-9)
    assert other["p_value"] == found["p_value"]


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_equals_its_definition(p_values: list[float]) -> None:
    """The largest product among all p values that are no larger."""
    ordered, size = sorted(p_values), len(p_values)
    products = [min(1.0, (size - place) * p) for place, p in enumerate(ordered)]
    expected = [max(products[: ordered.index(p) + 1]) for p in p_values]
    assert holm(p_values) == pytest.approx(expected)


# The paired bootstrap


def scores_of(values: list[float], samples: Any, names: tuple[str, ...]) -> Scores:
    reasons = tuple("one class" if math.isnan(value) else None for value in values)
    return Scores(names, np.array(values), np.array(samples, dtype=float), reasons)


def binary_scores(noises: dict[str, float]) -> dict[str, Scores]:
    """Score systems that see the same signal through more or less noise of their own."""
    random = np.random.RandomState(1)
    truth = (random.uniform(size=600) < 0.3).astype(int)
    signal = truth + random.normal(size=600)
    return {
        name: score(
            Binary(truth, 1 / (1 + np.exp(-signal - noise * random.normal(size=600)))), 400, 3
        )
        for name, noise in noises.items()
    }


def one_difference(values: tuple[float, float], samples: list[list[float]]) -> Difference:
    scores = {
        name: scores_of([values[place]], [[row[place]] for row in samples], ("AUC of ROC",))
        for place, name in enumerate("AB")
    }
    (found,) = compare(scores)
    return found


def test_the_p_value_is_as_stated() -> None:
    assert bootstrap_p(np.array([-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])) == 2 * 2 / 8
    assert bootstrap_p(np.array([0.0, 0.0])) == 1
    assert bootstrap_p(np.full(999, -0.5)) == 2 / 1000
    for comparisons in (1, 2, 3, 28, 84):
        needed = least_resamples(comparisons)
        assert comparisons * 2 / (1 + needed) <= 0.05 + 1e-12
        assert comparisons * 2 / needed > 0.05


def test_the_interval_is_that_of_the_paired_differences() -> None:
    scores = binary_scores({"A": 0.1, "B": 2.5, "C": 2.5})
    found = compare(scores)
    for entry in found:
        one, two = scores[entry.first], scores[entry.second]
        place = one.names.index(entry.metric)
        between = one.samples[:, place] - two.samples[:, place]
        assert [entry.low, entry.high] == pytest.approx(np.percentile(between, [2.5, 97.5]))
        assert entry.difference == pytest.approx(one.values[place] - two.values[place])
        assert entry.p_value == bootstrap_p(between)
    verdicts = [entry.verdict for entry in found[:9:3]]
    assert verdicts == [Verdict.FIRST, Verdict.FIRST, Verdict.NEITHER]
    assert sentence(found[0]).startswith("A is better than B on AUC of ROC by 0.")
    assert "after Holm's correction for 9 comparisons)." in sentence(found[0])


@pytest.mark.parametrize(("direction", "verdict", "words"), TABLES["directions"])
def test_which_is_better_goes_by_the_direction(direction: str, verdict: str, words: str) -> None:
    one, two = (of_means([score] * 20) for score in (0.75, 0.25))
    found = paired_difference("m", one, two, draws=200, direction=direction)
    (entry,) = corrected([replace(found, first="A", second="B")])
    assert (entry.verdict, entry.n) == (verdict, 20)
    assert sentence(entry).startswith(words)


@pytest.mark.parametrize(("values", "start", "step", "words"), TABLES["digits"])
def test_the_sentence_has_digits_that_the_interval_supports(
    values: tuple[float, float], start: float, step: float, words: str
) -> None:
    base = 0.8 if start < 1 else 800.0
    found = one_difference(values, [[start + step * number, base] for number in range(100)])
    assert words in sentence(found)


def test_what_is_undefined_is_none_with_a_reason_and_counted() -> None:
    found = one_difference((0.9, NAN), [[0.9, NAN]] * 50)
    assert (found.second_value, found.difference, found.p_value) == (None, None, None)
    assert sentence(found) == "A and B cannot be compared on AUC of ROC: one class."
    some = one_difference((0.9, 0.5), [[0.9, 0.5]] * 50 + [[NAN, NAN]] * 7)
    assert (some.n_undefined, some.p_value) == (7, 2 / 51)
    none = one_difference((0.9, 0.5), [[NAN, 0.5]] * 5)
    assert none.reason == "the metric is undefined in every resample"
    assert none.verdict is Verdict.UNDEFINED
    names = ("AUC of ROC", "AUC of PRC")
    one, two = (scores_of([value, NAN], [[value, NAN]] * 99, names) for value in (0.9, 0.5))
    defined, undefined = compare({"A": one, "B": two})
    assert (defined.n_comparisons, defined.adjusted_p) == (1, 0.02)
    assert undefined.adjusted_p is None


# Means over the same items


def test_a_difference_leaves_out_what_one_run_has_no_score_for() -> None:
    one, two = of_means([1.0, None, 0.5, 0.0]), of_means([0.0, 1.0, 0.5, None])
    found = paired_difference("m", one, two, draws=200, seed=3)
    assert (found.n, found.first_value, found.second_value) == (2, 0.75, 0.25)


def test_runs_of_other_data_are_not_compared() -> None:
    about: dict[str, Any] = {"model_id": "m", "task_id": "t", "metrics_results": {}}
    about |= {"inputs": [{}], "model_outputs": [{}]}
    one, two = (EvaluationResult(**about, metadata={GOLD: [gold]}) for gold in "AB")
    refused("other gold answers", paired_differences, one, two, 10, 0)


@pytest.mark.parametrize(("first", "second", "draws", "words"), TABLES["no_pairs"])
def test_scores_of_no_pairs(first: list[Any], second: list[Any], draws: int, words: str) -> None:
    refused(words, paired_difference, "m", of_means(first), of_means(second), draws=draws)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_a_difference_changes_its_sign_with_the_order(pairs: list[tuple[int, int]]) -> None:
    one, two = (of_means(value / 4 for value in values) for values in zip(*pairs, strict=True))
    there = paired_difference("m", one, two, draws=50)
    back = paired_difference("m", two, one, draws=50)
    assert there.difference == pytest.approx(-(back.difference or 0.0))
    assert (there.low, there.high) == pytest.approx((-(back.high or 0.0), -(back.low or 0.0)))
    assert there.p_value == back.p_value
    assert there.p_value is not None
    assert 0 < there.p_value <= 1
