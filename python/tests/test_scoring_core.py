"""Scoring against scikit-learn as oracle, and the rules of resampling and intervals."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from medeval.scoring import bootstrap, extra
from medeval.scoring.binary import STRICT, Binary, Undefined
from medeval.scoring.bootstrap import (
    Engine,
    Resampling,
    Scores,
    Statistic,
    jackknife,
)
from medeval.scoring.length_of_stay import EDGES_HOURS, LengthOfStay
from medeval.scoring.phenotyping import Phenotyping
from medeval.scoring.resample import FastRowResamples, RowResamples
from medeval.scoring.summary import summarise

HAS_NUMBA = find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
# To compile it takes seconds.
ENGINES = [Engine.NUMPY, pytest.param(Engine.NUMBA, marks=[needs_numba, pytest.mark.slow])]
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


def binary_oracle(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """What the published program computes, with scikit-learn 1.6 or later."""
    precisions, recalls, _ = quiet(metrics.precision_recall_curve, truth, scores)
    return np.array(
        [
            quiet(metrics.roc_auc_score, truth, scores),
            metrics.auc(recalls, precisions),
            np.minimum(precisions, recalls).max(),
        ]
    )


def hours_oracle(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    guess = np.maximum(guess, 0)
    bins = np.digitize(truth, EDGES_HOURS), np.digitize(guess, EDGES_HOURS)
    return np.array(
        [
            quiet(metrics.cohen_kappa_score, *bins, weights="linear"),
            metrics.mean_absolute_error(truth, guess),
            metrics.mean_squared_error(truth, guess),
            np.mean(np.abs((truth - guess) / (truth + 0.1))) * 100,
        ]
    )


def labels_oracle(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    averages = [
        quiet(metrics.roc_auc_score, truth, scores, average=average)
        for average in ("macro", "micro", "weighted", None)
    ]
    return np.concatenate([np.atleast_1d(average) for average in averages])


def binary_data(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random(rows) < 0.3
    return truth.astype(int), np.round(random.normal(truth * 1.2), 2)


def hours_data(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.lognormal(4, 1.2, rows).astype(np.float32).astype(np.float64)
    return truth, truth * random.lognormal(0, 0.8, rows) - 5


def labels_data(rows: int, seed: int = 0, labels: int = 25) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random((rows, labels)) < random.uniform(0.05, 0.6, labels)
    return truth.astype(int), np.round(random.normal(truth * 1.2), 2)


Data = Callable[..., tuple[np.ndarray, np.ndarray]]
Make = Callable[..., Statistic]
TASKS = [
    pytest.param(binary_data, Binary.of, binary_oracle, id="binary"),
    pytest.param(hours_data, LengthOfStay.of, hours_oracle, id="length_of_stay"),
    pytest.param(labels_data, Phenotyping.of, labels_oracle, id="phenotyping"),
]
VALUES_ONLY = Resampling(0, 0)


# Metrics


@given(binary_rows)
def test_binary_metrics_equal_scikit_learn(rows: list[tuple[int, float]]) -> None:
    truth, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    expected = binary_oracle(truth, scores)
    strict = bootstrap.score(Binary.of(truth, scores, undefined=STRICT), VALUES_ONLY)
    np.testing.assert_allclose(strict.values, expected, **CLOSE)
    one_class = truth.min() == truth.max()
    default = bootstrap.score(Binary.of(truth, scores), VALUES_ONLY)
    expected = np.full(3, np.nan) if one_class else expected
    np.testing.assert_allclose(default.values, expected, **CLOSE)
    assert default.reasons == (("one class",) * 3 if one_class else (None,) * 3)
    average = bootstrap.score(extra.ExtraBinary.of(truth, scores), VALUES_ONLY).values[0]
    expected_average = np.nan if one_class else metrics.average_precision_score(truth, scores)
    np.testing.assert_allclose(average, expected_average, **CLOSE)


@given(hour_rows)
def test_length_of_stay_metrics_equal_scikit_learn(rows: list[tuple[float, float]]) -> None:
    truth, guess = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    scores = bootstrap.score(LengthOfStay.of(truth, guess), VALUES_ONLY)
    np.testing.assert_allclose(scores.values, hours_oracle(truth, guess), **CLOSE)
    assert (scores.reasons[0] == "one bin") == np.isnan(scores.values[0])
    fixed = bootstrap.score(extra.FixedKappa.of(truth, guess), VALUES_ONLY).values[0]
    bins = np.digitize(truth, EDGES_HOURS), np.digitize(np.maximum(guess, 0), EDGES_HOURS)
    expected = quiet(metrics.cohen_kappa_score, *bins, weights="linear", labels=range(10))
    np.testing.assert_allclose(fixed, expected, **CLOSE)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 10**6))
def test_phenotyping_metrics_equal_scikit_learn(rows: int, labels: int, seed: int) -> None:
    truth, guess = labels_data(rows, seed, labels + 1)
    scores = bootstrap.score(Phenotyping.of(truth, guess, undefined=STRICT), VALUES_ONLY)
    expected = labels_oracle(truth, guess)
    np.testing.assert_allclose(scores.values, expected, **CLOSE)
    if not truth.any():
        expected[2] = np.nan  # scikit-learn says 0
    default = bootstrap.score(Phenotyping.of(truth, guess), VALUES_ONLY)
    np.testing.assert_allclose(default.values, expected, **CLOSE)


@pytest.mark.parametrize(
    ("statistic", "shape"),
    [(Binary.of, 0), (Phenotyping.of, (0, 25)), (LengthOfStay.of, 0)],
)
def test_no_rows_are_undefined_and_do_not_stop(statistic: Make, shape: Any) -> None:
    scores = bootstrap.score(statistic(np.empty(shape), np.empty(shape)), Resampling(3, 0))
    assert set(scores.reasons) == {"no rows"}
    assert scores.samples.shape == (3, len(scores.names))
    assert np.isnan(scores.samples).all()


# Resamples


@pytest.mark.parametrize("engine", ENGINES)
@given(rows=st.integers(1, 5000), seed=st.integers(0, 2**32 - 1), iterations=st.integers(1, 4))
def test_resamples_are_those_of_random_state(
    engine: Engine, rows: int, seed: int, iterations: int
) -> None:
    random = np.random.RandomState(seed)
    expected = [
        np.bincount(random.randint(0, rows, size=rows), minlength=rows)
        for _ in range(2 * iterations)
    ]
    resamples = resamples_of(engine, seed, rows)
    for part in (expected[:iterations], expected[iterations:]):
        np.testing.assert_array_equal(resamples.counts(iterations, None, rows), part)
    labels = np.arange(rows) % 7
    labelled = resamples_of(engine, seed, rows).counts(2 * iterations, labels, 7)
    np.testing.assert_array_equal(
        labelled, [np.bincount(labels, weights=one, minlength=7) for one in expected]
    )


def resamples_of(engine: Engine, seed: int, rows: int) -> Any:
    if engine is Engine.NUMPY or rows == 1:
        return RowResamples(seed, rows)
    return FastRowResamples(seed, rows)


@needs_numba
@pytest.mark.parametrize(("data", "statistic", "oracle"), TASKS)
@pytest.mark.parametrize(
    "rows",
    [2, pytest.param(3, marks=pytest.mark.slow), 17, pytest.param(1000, marks=pytest.mark.slow)],
)
def test_numba_gives_the_numbers_of_numpy(
    data: Data, statistic: Make, oracle: Any, rows: int
) -> None:
    truth, guess = data(rows, seed=rows)
    for undefined in Undefined:
        numpy, numba = (
            bootstrap.score(
                statistic(truth, guess, undefined=undefined), Resampling(130, 5), engine=engine
            ).samples
            for engine in (Engine.NUMPY, Engine.NUMBA)
        )
        np.testing.assert_allclose(numba, numpy, **CLOSE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("data", "statistic", "oracle"), TASKS)
def test_whole_clusters_are_drawn(
    data: Data, statistic: Make, oracle: Callable[..., np.ndarray], engine: Engine
) -> None:
    truth, guess = data(120)
    clusters = np.random.default_rng(3).integers(1000, 1030, 120)
    ids = np.unique(clusters)
    random = np.random.RandomState(4)
    expected = []
    for _ in range(20):
        drawn = ids[random.randint(0, len(ids), size=len(ids))]
        rows = np.concatenate([np.flatnonzero(clusters == one) for one in drawn])
        expected.append(oracle(truth[rows], guess[rows]))
    scores = bootstrap.score(
        statistic(truth, guess, undefined=STRICT), Resampling(20, 4, clusters), engine=engine
    )
    np.testing.assert_allclose(scores.samples, expected, **CLOSE)
    order = np.random.default_rng(5).permutation(120)
    shuffled = bootstrap.score(
        statistic(truth[order], guess[order], undefined=STRICT), Resampling(20, 4, clusters[order])
    )
    np.testing.assert_allclose(shuffled.samples, expected, **CLOSE)


# Intervals


def test_percentiles_leave_undefined_resamples_out_or_pass_them_on() -> None:
    samples = np.array([[0.1], [np.nan], [0.4], [0.2]])
    scores = Scores(("a",), np.array([0.3]), samples, (None,))
    summary = summarise(scores)["a"]
    defined = samples[[0, 2, 3], 0]
    assert summary.n_undefined == 1
    assert (summary.mean, summary.median) == (np.mean(defined), 0.2)
    assert summary.std == np.std(defined)
    assert (summary.low, summary.high) == tuple(np.percentile(defined, [2.5, 97.5]))
    strict = summarise(scores, strict_nan=True)["a"]
    assert strict.value == 0.3
    assert np.isnan([strict.mean, strict.median, strict.std, strict.low, strict.high]).all()


def test_bca_equals_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    data = np.random.default_rng(1).lognormal(0, 1, 60)
    truth, guess = np.zeros(60), data  # the mean absolute error is the mean of the data
    scores = bootstrap.score(LengthOfStay.of(truth, guess), Resampling(999, 3))
    without = jackknife(LengthOfStay.of(truth, guess))
    summary = summarise(scores, jackknife=without)["MAD"]
    expected = stats.bootstrap(
        (data,),
        np.mean,
        n_resamples=0,
        method="BCa",
        bootstrap_result=_Distribution(scores.samples[:, 1]),
    )
    interval = expected.confidence_interval
    assert (summary.low, summary.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


class _Distribution:
    """What scipy reads of an earlier bootstrap."""

    def __init__(self, distribution: np.ndarray) -> None:
        self.bootstrap_distribution = distribution


@pytest.mark.parametrize("clusters", [None, np.arange(60) // 3])
def test_jackknife_leaves_out_rows_or_clusters(clusters: np.ndarray | None) -> None:
    truth, guess = binary_data(60)
    units = np.arange(60) if clusters is None else clusters
    expected = [
        binary_oracle(truth[units != unit], guess[units != unit]) for unit in np.unique(units)
    ]
    np.testing.assert_allclose(jackknife(Binary.of(truth, guess), clusters), expected, **CLOSE)


# Further metrics


def test_calibration_equals_scikit_learn() -> None:
    truth, guess = binary_data(400)
    guess = np.round(1 / (1 + np.exp(-guess)), 3)
    values = bootstrap.score(extra.ExtraBinary.of(truth, guess), VALUES_ONLY).values
    assert values[1] == pytest.approx(metrics.brier_score_loss(truth, guess), rel=1e-12)
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.log(guess / (1 - guess))[:, None], truth
    )
    assert values[2] == pytest.approx(fitted.coef_[0, 0], rel=1e-5)
    place = np.minimum((guess * 10).astype(int), 9)
    gaps = [
        np.mean(place == one) * abs(np.mean((guess - truth)[place == one]))
        for one in np.unique(place)
    ]
    assert values[3] == pytest.approx(sum(gaps), rel=1e-12)


@pytest.mark.parametrize("clusters", [None, np.arange(90) // 4])
def test_further_metrics_use_the_same_resamples(clusters: np.ndarray | None) -> None:
    truth, guess = binary_data(90)
    guess = 1 / (1 + np.exp(-guess))
    scores = bootstrap.score(extra.ExtraBinary.of(truth, guess), Resampling(8, 9, clusters))
    units = np.arange(90) if clusters is None else clusters
    random = np.random.RandomState(9)
    for sample in scores.samples:
        drawn = random.randint(0, units.max() + 1, size=units.max() + 1)
        rows = np.concatenate([np.flatnonzero(units == one) for one in drawn])
        expected = bootstrap.score(
            extra.ExtraBinary.of(truth[rows], guess[rows]), VALUES_ONLY
        ).values
        np.testing.assert_allclose(sample, expected, rtol=1e-8)
    labels = bootstrap.score(
        extra.ExtraPhenotyping.of(*labels_data(90)), Resampling(3, 9, clusters)
    )
    assert labels.samples.shape == (3, 3)
    assert "outside" in str(labels.reasons[1])


def test_there_is_no_slope_without_overlap_or_probabilities() -> None:
    apart = bootstrap.score(extra.ExtraBinary.of([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]), VALUES_ONLY)
    assert apart.reasons == (None, None, "no finite slope", None)
    beyond = bootstrap.score(extra.ExtraBinary.of([0, 0, 1, 1], [0.1, 0.9, 0.8, 1.9]), VALUES_ONLY)
    assert beyond.reasons == (None, *["predictions outside 0 to 1"] * 3)
    one = bootstrap.score(extra.ExtraBinary.of([1, 1], [0.0, 1.0]), VALUES_ONLY)
    assert one.reasons == ("one class", None, "one class", None)
    none = bootstrap.score(extra.ExtraBinary.of([], []), Resampling(2, 0))
    assert np.isnan(none.samples).all()


# Engines, imports and memory


def python(program: str) -> str:
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_and_small_tasks_load_neither_scipy_nor_scikit_learn_nor_numba() -> None:
    program = (
        "import sys; from medeval.scoring import binary, bootstrap, extra, summary\n"
        "truth, guess = [0, 1, 1], [0.2, 0.3, 0.1]\n"
        "bootstrap.score(binary.Binary.of(truth, guess), bootstrap.Resampling(9, 0))\n"
        "print([name for name in ('scipy', 'sklearn', 'numba', 'pandas') if name in sys.modules])"
    )
    assert python(program).strip() == "[]"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_iterations(engine: Engine) -> None:
    program = f"""
from pathlib import Path
import numpy as np
from medeval.scoring import binary, bootstrap, length_of_stay
status = Path("/proc/self/status")
random = np.random.default_rng(0)
truth, guess = random.integers(0, 2, 100_000), random.random(100_000)
def score(iterations):
    resampling = bootstrap.Resampling(iterations, 0)
    for statistic in (
        binary.Binary.of(truth, guess), length_of_stay.LengthOfStay.of(truth * 9.0, guess * 9)
    ):
        bootstrap.score(statistic, resampling, engine="{engine}")
    # Not ru_maxrss, which starts from what the parent held at the fork.
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1024
score(2)
print(score(8), score(40))
"""
    few, many = map(int, python(program).split())
    assert many < few + 20
    assert many < 300
