"""Scoring against scikit-learn as oracle, and the rules of resampling and intervals."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from tables import table

from medeval.scoring.binary import Binary
from medeval.scoring.resample import Statistic, draw_rows, jackknife, score, summarise
from medeval.tasks.mimic3 import metrics as icu
from medeval.tasks.mimic3.metrics import EDGES_HOURS, LengthOfStay, Phenotyping

TABLES = table("scoring")
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

# Few distinct scores make ties; a float has none.
score_values = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1))
binary_rows = st.lists(st.tuples(st.integers(0, 1), score_values), min_size=1, max_size=40)
hours = st.one_of(
    st.sampled_from([0.0, -0.05, 23.99, 24.0, 48.0, 168.0, 336.0, 400.0]), st.floats(0, 500)
)
hour_rows = st.lists(st.tuples(hours, st.one_of(hours, st.floats(-9, 0))), min_size=1, max_size=40)


def quiet(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call scikit-learn, which warns where a metric is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def values(statistic: Statistic) -> Any:
    return score(statistic).values


def labels_data(rows: int, labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random((rows, labels)) < random.uniform(0.05, 0.6, labels)
    return truth.astype(int), np.round(random.normal(truth * 1.2), 2)


def binary_data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    truth, guess = labels_data(rows, 1)
    return truth[:, 0], np.round(1 / (1 + np.exp(-guess[:, 0])), 3)


def hours_data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    truth = random.lognormal(4, 1.2, rows).astype(np.float32).astype(np.float64)
    return truth, truth * random.lognormal(0, 0.8, rows) - 5


# Metrics


@given(binary_rows)
def test_binary_metrics_equal_scikit_learn(rows: list[tuple[int, float]]) -> None:
    truth, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    precisions, recalls, _ = quiet(metrics.precision_recall_curve, truth, scores)
    expected = [
        quiet(metrics.roc_auc_score, truth, scores),
        metrics.auc(recalls, precisions),
        np.minimum(precisions, recalls).max(),
    ]
    np.testing.assert_allclose(values(Binary(truth, scores, strict=True)), expected, **CLOSE)
    one_class = truth.min() == truth.max()
    default = score(Binary(truth, scores))
    expected = [np.nan] * 3 if one_class else expected
    np.testing.assert_allclose(default.values, expected, **CLOSE)
    assert default.reasons == (("one class",) * 3 if one_class else (None,) * 3)
    average = np.nan if one_class else metrics.average_precision_score(truth, scores)
    np.testing.assert_allclose(values(icu.ExtraBinary(truth, scores))[0], average, **CLOSE)


@given(hour_rows)
def test_length_of_stay_metrics_equal_scikit_learn(rows: list[tuple[float, float]]) -> None:
    truth, guess = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    scores = score(LengthOfStay(truth, guess))
    fixed = values(icu.FixedKappa(truth, guess))
    guess = np.maximum(guess, 0)
    bins = np.digitize(truth, EDGES_HOURS), np.digitize(guess, EDGES_HOURS)
    expected = [
        quiet(metrics.cohen_kappa_score, *bins, weights="linear"),
        metrics.mean_absolute_error(truth, guess),
        metrics.mean_squared_error(truth, guess),
        np.mean(np.abs((truth - guess) / (truth + 0.1))) * 100,
    ]
    np.testing.assert_allclose(scores.values, expected, **CLOSE)
    assert (scores.reasons[0] == "one bin") == np.isnan(scores.values[0])
    kappa = quiet(metrics.cohen_kappa_score, *bins, weights="linear", labels=range(10))
    np.testing.assert_allclose(fixed, [kappa], **CLOSE)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 10**6))
def test_phenotyping_metrics_equal_scikit_learn(rows: int, labels: int, seed: int) -> None:
    truth, guess = labels_data(rows, labels + 1, seed)
    expected = np.hstack(
        [
            quiet(metrics.roc_auc_score, truth, guess, average=average)
            for average in ("macro", "micro", "weighted", None)
        ]
    )
    np.testing.assert_allclose(values(Phenotyping(truth, guess, strict=True)), expected, **CLOSE)
    if not truth.any():
        expected[2] = np.nan  # scikit-learn says 0
    np.testing.assert_allclose(values(Phenotyping(truth, guess)), expected, **CLOSE)


def test_calibration_equals_scikit_learn() -> None:
    truth, guess = binary_data(400)
    _, brier, slope, error = values(icu.ExtraBinary(truth, guess))
    assert brier == pytest.approx(metrics.brier_score_loss(truth, guess), rel=1e-12)
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.log(guess / (1 - guess))[:, None], truth
    )
    assert slope == pytest.approx(fitted.coef_[0, 0], rel=1e-5)
    place = np.minimum((guess * 10).astype(int), 9)
    gaps = [abs(np.sum((guess - truth)[place == one])) / 400 for one in range(10)]
    assert error == pytest.approx(sum(gaps), rel=1e-12)


@pytest.mark.parametrize(("truth", "guess", "reasons"), TABLES["no_slope"])
def test_there_is_no_slope_without_overlap_or_probabilities(
    truth: list[int], guess: list[float], reasons: list[str | None]
) -> None:
    found = score(icu.ExtraBinary(truth, guess), 3, 0)
    assert list(found.reasons) == reasons
    assert [None if value else "undefined" for value in np.isfinite(found.values)] == [
        reason and "undefined" for reason in reasons
    ]


# Resamples


@given(rows=st.integers(1, 5000), seed=st.integers(0, 2**32 - 1), iterations=st.integers(1, 4))
def test_resamples_are_those_of_random_state(rows: int, seed: int, iterations: int) -> None:
    random = np.random.RandomState(seed)
    expected = [
        np.bincount(random.randint(0, rows, size=rows), minlength=rows)
        for _ in range(2 * iterations)
    ]
    draw = draw_rows(seed, rows)
    for part in (expected[:iterations], expected[iterations:]):
        np.testing.assert_array_equal(draw(iterations), part)
    labels = np.arange(rows) % 7
    labelled = draw_rows(seed, rows, labels, 7)(2 * iterations)
    np.testing.assert_array_equal(
        labelled, [np.bincount(labels, weights=one, minlength=7) for one in expected]
    )


@pytest.mark.parametrize("clusters", [None, np.random.default_rng(3).integers(1000, 1030, 120)])
@pytest.mark.parametrize(
    ("make", "data"),
    [
        *((make, binary_data(120)) for make in (Binary, icu.ExtraBinary)),
        *((make, hours_data(120)) for make in (LengthOfStay, icu.FixedKappa)),
        *((Phenotyping, labels_data(120, 25)), (icu.ExtraPhenotyping, labels_data(120, 3))),
    ],
)
def test_rows_or_whole_clusters_are_drawn_and_left_out(
    make: Callable[..., Statistic], data: tuple[np.ndarray, np.ndarray], clusters: np.ndarray | None
) -> None:
    truth, guess = data
    of_row = np.arange(120) if clusters is None else clusters
    ids = np.unique(of_row)
    random = np.random.RandomState(4)
    drawn = [
        np.concatenate([np.flatnonzero(of_row == ids[one]) for one in random.randint(0, n, n)])
        for n in [len(ids)] * 10
    ]
    expected = [values(make(truth[rows], guess[rows])) for rows in drawn]
    found = score(make(truth, guess), 10, 4, clusters)
    np.testing.assert_allclose(found.samples, expected, rtol=1e-8)
    without = [values(make(truth[of_row != one], guess[of_row != one])) for one in ids]
    np.testing.assert_allclose(jackknife(make(truth, guess), clusters), without, rtol=1e-8)
    if clusters is not None:  # whatever the order of the rows
        order = np.random.default_rng(5).permutation(120)
        shuffled = make(truth[order], guess[order])
        found = score(shuffled, 10, 4, clusters[order])
        np.testing.assert_allclose(found.samples, expected, rtol=1e-8)


# Intervals


def test_bca_equals_scipy() -> None:
    data = np.random.default_rng(1).lognormal(0, 1, 60)
    # The mean absolute error is the mean of the data.
    statistic = LengthOfStay(np.zeros(60), data)
    scores = score(statistic, 999, 3)
    summary = summarise(scores, jackknife=jackknife(statistic))["MAD"]
    earlier = SimpleNamespace(bootstrap_distribution=scores.samples[:, 1])
    expected = stats.bootstrap(
        (data,), np.mean, n_resamples=0, method="BCa", bootstrap_result=earlier
    ).confidence_interval
    assert (summary.low, summary.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


# Imports and memory


def python(program: str) -> str:
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("program", "unloaded"), TABLES["unloaded"])
def test_what_is_slow_to_load_is_loaded_only_for_its_use(program: str, unloaded: str) -> None:
    found = f"import sys; print([name for name in {unloaded.split()} if name in sys.modules])"
    assert python(f"{program}\n{found}") == "[]\n"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_iterations() -> None:
    few, many = map(int, python(TABLES["memory"]).split())
    assert many < few + 20
    assert many < 300
