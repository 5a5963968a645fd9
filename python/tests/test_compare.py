"""Comparisons: DeLong, McNemar, Holm, the paired bootstrap, the sentences and the command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner, Result

from medeval.commands import compare as command
from medeval.predictions import comparing
from medeval.predictions.tasks import task_named
from medeval.scoring import bootstrap
from medeval.scoring.binary import Binary
from medeval.scoring.bootstrap import Resampling, Scores
from medeval.scoring.compare import (
    Difference,
    Verdict,
    bootstrap_p,
    compare,
    corrected,
    least_resamples,
    sentence,
)
from medeval.scoring.length_of_stay import LengthOfStay
from medeval.scoring.significance import DeLong, delong_test, exact_p, holm
from medeval.tasks.differences import mean_difference
from medeval.tasks.task import Method

# DeLong


def kernels(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Compare each positive with each negative, as DeLong et al. write it."""
    positive, negative = scores[truth == 1], scores[truth == 0]
    return (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)


def slow_delong(
    truth: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[list[float], np.ndarray]:
    both = [kernels(truth, first), kernels(truth, second)]
    by_positive = np.cov([kernel.mean(axis=1) for kernel in both])
    by_negative = np.cov([kernel.mean(axis=0) for kernel in both])
    m, n = both[0].shape
    return [float(kernel.mean()) for kernel in both], by_positive / m + by_negative / n


@st.composite
def two_scores(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows with many ties and at least two of each class."""
    rest = draw(st.lists(st.booleans(), max_size=26))
    truth = np.array([True, False, True, False, *rest]).astype(int)
    score = st.one_of(st.integers(0, 3), st.floats(-1e3, 1e3))
    size = len(truth)
    first, second = (
        np.array(draw(st.lists(score, min_size=size, max_size=size)), dtype=float) for _ in range(2)
    )
    return truth, first, second


def against_chance(truth: Any, scores: Any) -> DeLong:
    """Test an area against that of equal scores, which has no variance: the error is the area's."""
    return delong_test(truth, scores, np.zeros(len(scores)))


@given(two_scores())
def test_delong_equals_the_comparison_of_all_pairs(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    areas, covariance = slow_delong(*rows)
    found = delong_test(*rows)
    assert [found.first, found.second] == pytest.approx(areas, abs=1e-14)
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert found.standard_error is not None
    assert found.standard_error**2 == pytest.approx(variance, abs=1e-14)
    for scores, area, own in zip(rows[1:], areas, np.diag(covariance), strict=True):
        alone = against_chance(rows[0], scores)
        assert alone.first == pytest.approx(area, abs=1e-14)
        assert alone.first == pytest.approx(roc_auc_score(rows[0], scores), abs=1e-14)
        assert alone.standard_error is not None
        assert alone.standard_error**2 == pytest.approx(own, abs=1e-14)
    if found.p_value is not None and found.standard_error > 1e-6:
        expected = 2 * norm.sf(abs(areas[0] - areas[1]) / math.sqrt(variance))
        assert found.p_value == pytest.approx(expected, abs=1e-9)


def test_delong_without_a_class_or_a_variance_says_why() -> None:
    one_class = delong_test([1, 1, 1], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1])
    assert (one_class.difference, one_class.p_value) == (None, None)
    assert one_class.reason == "the truth has one class only"
    assert against_chance([0, 0], [1, 2]).first is None

    one_positive = delong_test([1, 0, 0], [0.9, 0.2, 0.3], [0.25, 0.2, 0.3])
    assert one_positive.difference == 0.5
    assert (one_positive.standard_error, one_positive.p_value) == (None, None)
    assert one_positive.reason == "a class has one row only, so there is no variance"
    assert one_positive.first == 1

    opposite = delong_test([1, 1, 1, 0, 0, 0], [4, 5, 6, 1, 2, 3], [1, 2, 3, 4, 5, 6])
    assert (opposite.difference, opposite.standard_error, opposite.p_value) == (1, 0, None)
    assert opposite.reason is not None
    assert "variance" in opposite.reason


def noisy(
    size: int, noises: tuple[float, ...], seed: int = 1, prevalence: float = 0.3
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Make a truth and scores that see it through more or less noise of their own."""
    random = np.random.RandomState(seed)
    truth = (random.uniform(size=size) < prevalence).astype(int)
    signal = truth + random.normal(size=size)
    logits = [signal + noise * random.normal(size=size) for noise in noises]
    return truth, [1 / (1 + np.exp(-logit)) for logit in logits]


# McNemar


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0, 0),
        (0, 1),
        (3, 3),
        (5, 9),
        (10, 1),
        (59, 121),
        (700, 800),
        (2_001, 2_150),
        (90_000, 91_000),
    ],
)
def test_mcnemar_is_the_binomial_test_of_the_discordant(first: int, second: int) -> None:
    total = first + second
    exact = binomtest(first, total).pvalue if total else 1.0
    assert exact_p(first, second) == pytest.approx(exact, rel=1e-10)
    assert exact_p(second, first) == exact_p(first, second)
    least = min(first, second)
    mid = 2 * binom.cdf(least, total, 0.5) - binom.pmf(least, total, 0.5) if total else 1.0
    assert exact_p(first, second, mid_p=True) == pytest.approx(min(1.0, mid), rel=1e-10)


# Holm


def plain_holm(p_values: list[float]) -> list[float]:
    """Write the definition down: the largest product among all p values that are no larger."""
    ordered = sorted(p_values)
    size = len(ordered)
    products = [min(1.0, (size - place) * p) for place, p in enumerate(ordered)]
    return [max(products[: ordered.index(p) + 1]) for p in p_values]


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_equals_its_definition(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert adjusted == pytest.approx(plain_holm(p_values))
    for p, q in zip(p_values, adjusted, strict=True):
        assert q is not None
        assert p <= q <= min(1.0, p * len(p_values))
    assert sorted(
        zip(p_values, adjusted, strict=True), key=lambda pair: (pair[0], pair[1])
    ) == list(zip(sorted(p_values), sorted(q for q in adjusted if q is not None), strict=True))


# The paired bootstrap


def scores_of(values: list[float], samples: list[list[float]], names: tuple[str, ...]) -> Scores:
    reasons = tuple("one class" if math.isnan(value) else None for value in values)
    return Scores(names, np.array(values), np.array(samples, dtype=float), reasons)


def binary_scores(
    noises: dict[str, float], size: int = 600, n_iters: int = 400, seed: int = 1
) -> dict[str, Scores]:
    truth, columns = noisy(size, tuple(noises.values()), seed)
    resampling = Resampling(n_iters, 3)
    return {
        name: bootstrap.score(Binary.of(truth, column), resampling)
        for name, column in zip(noises, columns, strict=True)
    }


def test_the_p_value_is_as_stated() -> None:
    assert bootstrap_p(np.array([1.0, 2.0, 3.0])) == 2 * 1 / 4
    assert bootstrap_p(np.array([-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])) == 2 * 2 / 8
    assert bootstrap_p(np.array([0.0, 0.0])) == 1
    assert bootstrap_p(np.full(999, -0.5)) == 2 / 1000
    for comparisons in (1, 2, 3, 28, 84):
        needed = least_resamples(comparisons)
        assert comparisons * 2 / (1 + needed) <= 0.05 + 1e-12
        assert comparisons * 2 / needed > 0.05


def test_the_better_is_told_apart_and_the_equal_are_not() -> None:
    scores = binary_scores({"A": 0.1, "B": 2.5, "C": 2.5})
    found = {(entry.first, entry.second): entry for entry in compare(scores, ["AUC of ROC"])}
    assert list(found) == [("A", "B"), ("A", "C"), ("B", "C")]
    better, equal = found["A", "B"], found["B", "C"]
    assert better.verdict is Verdict.FIRST
    assert better.n_comparisons == 3
    assert better.low is not None
    assert better.low > 0
    assert better.adjusted_p == pytest.approx(3 * 2 / 401)
    assert sentence(better).startswith("A is better than B on AUC of ROC by 0.")
    assert "after Holm's correction for 3 comparisons)." in sentence(better)
    assert equal.verdict is Verdict.NEITHER
    assert sentence(equal).startswith("B and C cannot be told apart on AUC of ROC (B minus C is ")


def test_the_interval_is_that_of_the_paired_differences() -> None:
    scores = binary_scores({"A": 0.5, "B": 1.0})
    for place, entry in enumerate(compare(scores)):
        between = scores["A"].samples[:, place] - scores["B"].samples[:, place]
        assert [entry.low, entry.high] == pytest.approx(np.percentile(between, [2.5, 97.5]))
        assert entry.difference == pytest.approx(
            scores["A"].values[place] - scores["B"].values[place]
        )
        assert entry.p_value == bootstrap_p(between)


@pytest.mark.parametrize(
    ("direction", "verdict", "words"),
    [
        ("higher", "first is better", "A is better than B on m by 0.500 (95 %"),
        ("lower", "second is better", "B is better than A on m by 0.500 (lower is better; 95 %"),
        # More tests or longer answers are no merit and no fault.
        ("neither", "first is higher", "A is higher than B on m by 0.500 (95 %"),
    ],
)
def test_which_is_better_goes_by_the_direction_of_the_metric(
    direction: str, verdict: str, words: str
) -> None:
    found = mean_difference("m", [0.75] * 20, [0.25] * 20, Method(200), direction=direction)
    (entry,) = corrected([replace(found, first="A", second="B")])
    assert (entry.verdict, entry.n) == (verdict, 20)
    assert sentence(entry).startswith(words)


def test_errors_of_hours_are_better_where_they_are_lower() -> None:
    random = np.random.RandomState(2)
    truth = random.gamma(2, 60, size=500)
    scores = {
        name: bootstrap.score(
            LengthOfStay.of(truth, truth + spread * random.normal(size=500)), Resampling(300, 0)
        )
        for name, spread in (("near", 5.0), ("far", 60.0))
    }
    for entry in compare(scores):
        assert entry.verdict is Verdict.FIRST
        assert ("(lower is better; 95 %" in sentence(entry)) == (entry.metric != "Kappa")


def one_difference(values: tuple[float, float], samples: list[list[float]]) -> Difference:
    names = ("AUC of ROC",)
    scores = {
        name: scores_of([values[place]], [[row[place]] for row in samples], names)
        for place, name in enumerate("AB")
    }
    (found,) = compare(scores)
    return found


def test_the_sentence_has_digits_that_the_interval_supports() -> None:
    samples = [[0.8 + 0.0040 + 0.034 * step / 99, 0.8] for step in range(100)]
    found = one_difference((0.821, 0.8), samples)
    assert sentence(found) == (
        "A is better than B on AUC of ROC by 0.021 (95 % interval 0.005 to 0.037; p 0.02)."
    )
    wide = one_difference((121.0, 100.0), [[100.0 + step, 0.0] for step in range(100)])
    assert "by 21.0 (95 % interval 102.5 to 196.5" in sentence(wide)
    tiny = one_difference((0.80003, 0.8), [[0.80001 + 1e-6 * step, 0.8] for step in range(100)])
    assert "by 0.000030 (95 % interval 0.000012 to 0.000107" in sentence(tiny)


def test_what_is_undefined_is_none_with_a_reason_and_counted() -> None:
    nan = math.nan
    found = one_difference((0.9, nan), [[0.9, nan]] * 50)
    assert (found.second_value, found.difference, found.p_value) == (None, None, None)
    assert found.verdict is Verdict.UNDEFINED
    assert sentence(found) == "A and B cannot be compared on AUC of ROC: one class."

    some = one_difference((0.9, 0.5), [[0.9, 0.5]] * 50 + [[nan, nan]] * 7)
    assert (some.n_undefined, some.p_value) == (7, 2 / 51)
    none = one_difference((0.9, 0.5), [[nan, 0.5]] * 5)
    assert none.reason == "the metric is undefined in every resample"
    assert none.verdict is Verdict.UNDEFINED

    names = ("AUC of ROC", "AUC of PRC")
    one = scores_of([0.9, nan], [[0.9, nan]] * 99, names)
    two = scores_of([0.5, nan], [[0.5, nan]] * 99, names)
    defined, undefined = compare({"A": one, "B": two})
    assert (defined.n_comparisons, defined.adjusted_p) == (1, 0.02)
    assert undefined.adjusted_p is None


def test_a_difference_may_vanish_in_the_correction() -> None:
    random = np.random.RandomState(0)
    names = tuple(f"metric {number}" for number in range(30))
    between = random.normal(2.2, 1, size=(999, 30))
    one = scores_of([2.2] * 30, between.tolist(), names)
    two = scores_of([0.0] * 30, np.zeros((999, 30)).tolist(), names)
    alone = compare({"A": one, "B": two}, names[:1])[0]
    among = compare({"A": one, "B": two})[0]
    assert alone.p_value == among.p_value
    assert alone.verdict is Verdict.FIRST
    assert among.verdict is Verdict.NEITHER


# The command


app = typer.Typer(pretty_exceptions_enable=False)
app.command()(command.compare)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "200"})


def write_binary(folder: Path, *, size: int = 400, hours: int = 0) -> dict[str, Path]:
    """Write a listfile and three prediction files: one is better, two are alike."""
    rows = size * max(1, hours)
    truth, columns = noisy(rows, (0.1, 2.5, 2.5))
    stays = [f"{1000 + row // max(1, hours)}_episode1_timeseries.csv" for row in range(rows)]
    keys = [f"{stay},{5 + row % hours}.0" if hours else stay for row, stay in enumerate(stays)]
    key = "stay,period_length" if hours else "stay"
    paths = {"listfile": folder / "listfile.csv"}
    lines = [f"{name},{label}" for name, label in zip(keys, truth, strict=True)]
    paths["listfile"].write_text("\n".join([f"{key},y_true", *lines, ""]))
    order = np.random.RandomState(9).permutation(rows)
    for name, column in zip(("good", "weak", "alike"), columns, strict=True):
        paths[name] = folder / f"{name}.csv"
        lines = [f"{keys[row]},{column[row]!r},{truth[row]}" for row in order]
        lines = [line.replace("np.float64(", "").replace(")", "") for line in lines]
        paths[name].write_text("\n".join([f"{key},prediction,y_true", *lines, ""]))
    return paths


@pytest.fixture
def ihm(tmp_path: Path) -> dict[str, Path]:
    return write_binary(tmp_path)


def test_command_tells_the_better_and_writes_json(ihm: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "compared.json"
    result = run(
        "--task", "ihm", ihm["good"], ihm["weak"], ihm["alike"], "--listfile", ihm["listfile"],
        "--n-iters", 500, "--threshold", 0.5, "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "good is better than weak on AUC of ROC by 0." in result.output
    assert "weak and alike cannot be told apart on AUC of ROC, AUC of PRC and min" in result.output
    assert "good (first) and weak (second)" in result.output
    assert "Holm's correction is over 9 comparisons (3 pairs, 3 metrics)" in result.output
    written = json.loads(out.read_text())
    assert written["predictions"] == ["good", "weak", "alike"]
    assert len(written["comparisons"]) == 9
    first = written["comparisons"][0]
    assert (first["first"], first["second"], first["metric"]) == ("good", "weak", "AUC of ROC")
    assert first["verdict"] == "first is better"
    assert first["sentence"] in result.output
    assert [entry["metric"] for entry in written["delong"]] == ["AUC of ROC"] * 3
    assert written["delong"][0]["difference"] == pytest.approx(first["difference"])
    assert written["delong"][0]["first"] == "good"
    assert written["delong"][0]["first_value"] == pytest.approx(first["first_value"])
    assert written["mcnemar"][2]["sentence"] in result.output
    assert "accuracy at threshold 0.5" in written["mcnemar"][2]["sentence"]
    assert written["mcnemar"][0]["p_value"] < 0.05
    assert (written["meta"]["n"], written["meta"]["seed"]) == (400, 0)
    assert set(written["meta"]["inputs"]["predictions"]) == {"good", "weak", "alike"}


def test_command_draws_stays_where_asked(tmp_path: Path) -> None:
    files = write_binary(tmp_path, size=40, hours=5)
    args = ("--task", "decomp", files["good"], files["weak"], "--listfile", files["listfile"])
    rows = run(*args, "--n-iters", 50)
    assert "--cluster stay draws whole stays" in rows.output
    stays = run(*args, "--n-iters", 50, "--cluster", "stay")
    assert stays.exit_code == 0, stays.output
    assert "50 resamples of stays" in stays.output
    assert "DeLong's test takes every row as independent in any case." in stays.output


def test_names_are_the_shortest_that_tell_files_apart(tmp_path: Path) -> None:
    task = task_named("ihm")
    for place in ("x/a.csv", "y/a.csv", "y/b.v1.csv.gz", "y/b.v1.csv"):
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        path.write_text("")

    def names(*places: str) -> list[str]:
        return list(comparing.named_files(task, [tmp_path / place for place in places]))

    assert names("x/a.csv", "y/b.v1.csv.gz") == ["a", "b.v1"]
    assert names("x/a.csv", "y/a.csv") == ["x/a", "y/a"]
    both = names("y/b.v1.csv", "y/b.v1.csv.gz")
    assert both == [str(tmp_path / "y/b.v1.csv"), str(tmp_path / "y/b.v1.csv.gz")]


def test_phenotyping_has_a_test_for_each_label(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    size = 60
    labels = (random.uniform(size=(size, 25)) < 0.3).astype(int)
    labels[:, 3] = 0
    labels[0, 3] = 1
    stays = [f"{row}_episode1_timeseries.csv" for row in range(size)]
    titles = [f"phenotype {number}" for number in range(1, 26)]
    listfile = tmp_path / "listfile.csv"
    lines = [
        ",".join([stay, "48.0", *map(str, row)]) for stay, row in zip(stays, labels, strict=True)
    ]
    listfile.write_text("\n".join([",".join(["stay", "period_length", *titles]), *lines, ""]))
    header = ["stay", "period_length"]
    header += [f"pred_{number}" for number in range(1, 26)]
    header += [f"label_{number}" for number in range(1, 26)]
    files = []
    for name, noise in (("good", 0.2), ("weak", 4.0)):
        scores = (labels + noise * random.normal(size=labels.shape)).tolist()
        lines = [
            ",".join([stay, "48.0", *map(str, score), *map(str, row)])
            for stay, score, row in zip(stays, scores, labels.tolist(), strict=True)
        ]
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join([",".join(header), *lines, ""]))
    out = tmp_path / "out.json"
    result = run("--task", "pheno", *files, "--listfile", listfile, "--n-iters", 1200, "--out", out)
    assert result.exit_code == 0, result.output
    assert "good is better than weak on Macro ROC AUC by" in result.output
    assert "phenotype 4" in result.output
    written = json.loads(out.read_text())
    assert len(written["comparisons"]) == 28
    assert len(written["delong"]) == 25
    rare = written["comparisons"][6]
    assert rare["metric"] == "ROC AUC of task 4"
    assert rare["reason"] == "it rests on 1 independent unit only"
    assert rare["verdict"] == "cannot be told apart"
    assert written["delong"][3]["reason"] == "a class has one row only, so there is no variance"
    assert written["comparisons"][0]["n_comparisons"] == 27
