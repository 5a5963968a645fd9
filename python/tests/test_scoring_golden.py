"""Scores against what mimic3-benchmarks itself wrote for the same files and seed."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from medeval.predictions.scored import published
from medeval.predictions.tasks import task_named
from medeval.scoring.binary import EXCLUDE, STRICT, Undefined
from medeval.scoring.bootstrap import Engine, Resampling, Scores, score
from medeval.scoring.summary import MetricSummary, summarise

GOLDEN = ["ihm", "ihm_ties", "decomp_small", "los_small", "pheno"]
# Tiny files on which the published program ends with numbers, all of them defined.
DEFINED = ["dup_pred", "extra_rows", "los_neg_truth", "los_two_bins_apart", "los_zero_truth"]
DEFINED += ["ph_ok", "ph_shuffled_cols"]
# Those on which some are NaN with scikit-learn 1.6 and later, and it stops with earlier ones.
UNDEFINED = ["allneg_mixed_pred", "one_pos_of_20_mixed", "ph_label_no_pos"]
TOLERANCE = 1e-12  # absolute below 1, relative above
ENGINES = [
    Engine.NUMPY,
    pytest.param(
        Engine.NUMBA,
        marks=pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed"),
    ),
]
LABELS = [f"label_{label}" for label in range(1, 26)]
PREDICTIONS = [f"pred_{label}" for label in range(1, 26)]
NEW, OLD = "peer_sklearn_1.9.1", "peer_sklearn_1.0.2"


@pytest.fixture(scope="session")
def golden(shared: Path) -> Path:
    return shared / "golden" / "mimic3_scoring"


@pytest.fixture(scope="session")
def edge_cases(golden: Path) -> dict[str, Any]:
    return json.loads((golden / "edge_cases" / "edge_cases.json").read_text(encoding="utf-8"))


def joined(task: str, listfile: Path, prediction: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows in the list file's order, as often as a left join gives them."""
    truth, guess = pd.read_csv(listfile), pd.read_csv(prediction)
    if task == "pheno":
        truth.columns = ["stay", "period_length", *LABELS]
        rows = truth.merge(guess[["stay", *PREDICTIONS]], on="stay", how="left")
        return rows[LABELS].to_numpy(), rows[PREDICTIONS].to_numpy()
    keys = ["stay"] if task == "ihm" else ["stay", "period_length"]
    rows = truth.merge(guess[[*keys, "prediction"]], on=keys, how="left")
    outcome = rows["y_true"].to_numpy()
    if task == "los":
        outcome = outcome.astype(np.float32).astype(np.float64)
    return outcome, rows["prediction"].to_numpy()


def scored(
    task: str,
    listfile: Path,
    prediction: Path,
    resampling: Resampling,
    engine: Engine,
    undefined: Undefined = EXCLUDE,
) -> Scores:
    truth, guess = joined(task, listfile, prediction)
    statistic = published(task_named(task).kind)(truth, guess, undefined)
    return score(statistic, resampling, engine=engine)


def edge_case(
    golden: Path, case: dict[str, Any], name: str, engine: Engine, undefined: Undefined = EXCLUDE
) -> Scores:
    folder = golden / "edge_cases"
    return scored(
        case["task"],
        folder / f"{name}.listfile.csv",
        folder / f"{name}.prediction.csv",
        Resampling(case["n_iters"], case["seed"]),
        engine,
        undefined,
    )


def statistics(summary: MetricSummary) -> dict[str, float]:
    return {
        "value": summary.value,
        "mean": summary.mean,
        "median": summary.median,
        "std": summary.std,
        "2.5% percentile": summary.low,
        "97.5% percentile": summary.high,
    }


def assert_same(scores: Scores, expected: dict[str, Any], *, strict_nan: bool = False) -> None:
    assert list(scores.names) == [name for name in expected if name != "n_iters"]
    for name, summary in summarise(scores, strict_nan=strict_nan).items():
        assert statistics(summary) == pytest.approx(
            expected[name], rel=TOLERANCE, abs=TOLERANCE, nan_ok=True
        ), name


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GOLDEN)
def test_statistics_equal_the_published_programs(golden: Path, name: str, engine: Engine) -> None:
    folder = golden / name
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    scores = scored(
        run["task"],
        folder / "listfile.csv.gz",
        folder / "prediction.csv.gz",
        Resampling(run["n_iters"], run["seed"]),
        engine,
    )
    assert_same(scores, json.loads((folder / "expected.json").read_text(encoding="utf-8")))
    assert scores.reasons == (None,) * len(scores.names)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DEFINED)
def test_tiny_files_equal_the_published_programs(
    golden: Path, edge_cases: dict[str, Any], name: str, engine: Engine
) -> None:
    case = edge_cases[name]
    for undefined in (EXCLUDE, STRICT):
        scores = edge_case(golden, case, name, engine, undefined)
        for version in (OLD, NEW):
            assert_same(scores, case[version]["result"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", UNDEFINED)
def test_strict_nan_equals_scikit_learn_1_6_and_later(
    golden: Path, edge_cases: dict[str, Any], name: str, engine: Engine
) -> None:
    case = edge_cases[name]
    scores = edge_case(golden, case, name, engine, STRICT)
    assert_same(scores, case[NEW]["result"], strict_nan=True)


@pytest.mark.parametrize("name", ["allneg_mixed_pred", "allneg_below_half"])
def test_one_class_is_undefined_with_a_reason(
    golden: Path, edge_cases: dict[str, Any], name: str
) -> None:
    scores = edge_case(golden, edge_cases[name], name, Engine.NUMPY)
    assert scores.reasons == ("one class",) * 3
    for summary in summarise(scores).values():
        assert all(math.isnan(value) for value in statistics(summary).values())
        assert summary.n_undefined == 5


def test_resamples_of_one_class_are_left_out_and_counted(
    golden: Path, edge_cases: dict[str, Any]
) -> None:
    case, name = edge_cases["one_pos_of_20_mixed"], "one_pos_of_20_mixed"
    strict = edge_case(golden, case, name, Engine.NUMPY, STRICT)
    scores = edge_case(golden, case, name, Engine.NUMPY)
    lost = np.isnan(strict.samples[:, 0])
    assert 0 < lost.sum() < case["n_iters"]
    np.testing.assert_array_equal(np.isnan(scores.samples), np.stack([lost] * 3, axis=1))
    np.testing.assert_array_equal(scores.samples[~lost], strict.samples[~lost])
    for place, summary in enumerate(summarise(scores).values()):
        assert summary.n_undefined == lost.sum()
        assert summary.mean == pytest.approx(strict.samples[~lost, place].mean(), rel=1e-12)


@pytest.mark.parametrize("name", ["ph_label_no_pos", "ph_label_no_pos_low"])
def test_a_phenotype_without_a_positive_leaves_no_macro_mean(
    golden: Path, edge_cases: dict[str, Any], name: str
) -> None:
    scores = edge_case(golden, edge_cases[name], name, Engine.NUMPY)
    undefined = [key for key, reason in zip(scores.names, scores.reasons, strict=True) if reason]
    assert undefined[0] == "Macro ROC AUC"
    assert len(undefined) == 2
    assert scores.reasons[0] == "one class in 1 of 25 labels"


def test_no_iterations_give_the_values_alone(golden: Path, edge_cases: dict[str, Any]) -> None:
    scores = edge_case(golden, edge_cases["n_iters_0"], "n_iters_0", Engine.NUMPY)
    assert scores.samples.shape == (0, 3)
    for summary in summarise(scores).values():
        assert 0 < summary.value < 1
        assert math.isnan(summary.mean)
        assert math.isnan(summary.low)


def test_a_missing_truth_is_refused(golden: Path, edge_cases: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="truth holds missing"):
        edge_case(golden, edge_cases["los_nan_truth"], "los_nan_truth", Engine.NUMPY)
