"""Reports: scores by task and overall, after each result, and across saving and loading."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import refused, table

from medeval.models import BenchmarkReport, EvaluationResult, MedicalTask

TOLERANCE = 1e-9
WEIGHTS = {"a": 0.25, "b": 0.75}
GOLDEN_CASES = 11


def result(task_id: str, model_id: str = "m", **scores: Any) -> EvaluationResult:
    return EvaluationResult(model_id=model_id, task_id=task_id, metrics_results=scores)


def report_of(*results: EvaluationResult, **fields: Any) -> BenchmarkReport:
    report = BenchmarkReport(**{"model_id": "m", **fields})
    for each in results:
        report.add_evaluation_result(each)
    return report


def three_tasks() -> BenchmarkReport:
    return report_of(result("t1", a=0.5, b=1.0), result("t2", a=0.8), result("t3", z=0.1))


@pytest.mark.parametrize("number", range(GOLDEN_CASES))
def test_scores_after_each_result_equal_the_golden_ones(shared: Path, number: int) -> None:
    path = shared / "golden" / "medaisure" / "report_aggregation.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    assert len(cases) == GOLDEN_CASES
    case = cases[number]
    report = report_of(**case.get("initial", {}))
    states = case.get("recommended_after_each", case["after_each"])
    for given_result, expected in zip(case["results"], states, strict=True):
        report.add_evaluation_result(
            result(given_result["task_id"], **given_result["metrics_results"])
        )
        assert report.overall_scores == pytest.approx(expected["overall_scores"], abs=TOLERANCE)
        assert list(report.task_scores) == list(expected["task_scores"])
        for task_id, scores in expected["task_scores"].items():
            assert report.task_scores[task_id] == pytest.approx(scores, abs=TOLERANCE)


RESULTS = st.lists(
    st.tuples(
        st.sampled_from(["t1", "t2"]),
        st.dictionaries(st.sampled_from("ab"), st.floats(-1e6, 1e6), max_size=2),
    ),
    max_size=8,
)


@given(RESULTS, st.integers(0, 8), st.booleans())
def test_means_are_those_of_all_results_wherever_the_report_was_saved(
    results: list[tuple[str, dict[str, float]]], saved_after: int, has_counts: bool
) -> None:
    report = report_of()
    for place, (task_id, scores) in enumerate(results):
        if place == saved_after:
            report.metric_counts = report.metric_counts if has_counts else {}
            report = BenchmarkReport.from_yaml(report.to_yaml())
        report.add_evaluation_result(result(task_id, **scores))
    for task_id, scores in report.task_scores.items():
        for metric, score in scores.items():
            added = [each[metric] for task, each in results if task == task_id and metric in each]
            assert score == pytest.approx(fmean(added), abs=1e-6)
            assert report.metric_counts[task_id][metric] == len(added)


def test_example_of_a_report(tmp_path: Path) -> None:
    report = BenchmarkReport(**table("documents")["report"])
    for task_id, accuracy in (("task_1", 0.5), ("task_3", 1.0)):
        report.add_evaluation_result(result(task_id, "gpt-4", accuracy=accuracy))
    assert report.task_scores["task_1"] == pytest.approx({"accuracy": 0.7, "f1_score": 0.85})
    assert report.overall_scores == pytest.approx({"accuracy": 2.5 / 3, "f1_score": 0.8})
    for name in ("benchmark_results.json", "without_suffix"):
        report.to_file(str(tmp_path / name))
        assert BenchmarkReport.from_file(tmp_path / name) == report
    text = (tmp_path / "benchmark_results.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "schema_version": 1,\n  "model_id": "gpt-4",\n  "timestamp": "')
    scores = ["overall_scores", "task_scores", "detailed_results", "metadata", "metric_counts"]
    assert list(json.loads(text)) == ["schema_version", "model_id", "timestamp", *scores]


def test_a_result_that_cannot_be_added_changes_nothing() -> None:
    report = report_of(result("t", a=0.5))
    with pytest.raises(ValueError, match="of model 'other', not of 'm'"):
        report.add_evaluation_result(result("t", "other", a=1.0))
    spoilt = result("t", a=0.5)
    spoilt.metrics_results["a"] = float("nan")
    refused(r"a\n.*must be finite", report.add_evaluation_result, spoilt, error=ValueError)
    assert (len(report.detailed_results), report.overall_scores) == (1, {"a": 0.5})


@pytest.mark.parametrize(
    ("renormalize", "second", "overall"), [(True, 0.8, 0.8375), (False, 0.2, 0.5375)]
)
def test_a_combined_score(renormalize: bool, second: float, overall: float) -> None:
    report = three_tasks()
    report.add_combined_score(WEIGHTS, renormalize_missing=renormalize)
    combined = {task: scores.get("combined_score") for task, scores in report.task_scores.items()}
    assert combined == {"t1": pytest.approx(0.875), "t2": pytest.approx(second), "t3": None}
    assert report.overall_scores["combined_score"] == pytest.approx(overall)
    assert report.overall_scores["a"] == pytest.approx(0.65)
    # Combining again leaves nothing of the first time.
    report.add_combined_score({"z": 2.0})
    assert [name for name, one in report.task_scores.items() if "combined_score" in one] == ["t3"]
    assert report.overall_scores["combined_score"] == pytest.approx(0.1)
    report.add_combined_score({"unknown": 1.0})
    assert "combined_score" not in report.overall_scores
    assert BenchmarkReport.from_json(report.to_json()) == report
    for weights in ({}, {"a": 0.0}, {"a": -1.0, "b": 2.0}, {"a": float("nan")}):
        with pytest.raises(ValueError, match=r"weights must|must be finite"):
            report.add_combined_score(weights)
    refused("into itself", report.add_combined_score, {"combined_score": 1}, error=ValueError)


def test_statistics_and_tables_over_tasks() -> None:
    report = three_tasks()
    assert report.metric_history("a") == [0.5, 0.8]
    assert report.metric_history("unknown") == []
    statistics = report.summary_statistics()
    assert list(statistics) == ["a", "b", "z"]
    assert statistics["a"] == pytest.approx({"count": 2, "mean": 0.65, "min": 0.5, "max": 0.8})
    assert report.overall_scores_to_csv().split() == ["metric,score", "a,0.65", "b,1.0", "z,0.1"]
    rows = ["t1,a,0.5", "t1,b,1.0", "t2,a,0.8", "t3,z,0.1"]
    assert report.task_scores_to_csv().split() == ["task_id,metric,score", *rows]


def test_results_are_checked_against_their_tasks() -> None:
    task = MedicalTask(task_id="t1", task_type="qa", inputs=[{}], metrics=["a"])
    report = report_of(result("t1", a=0.5))
    report.validate_against_tasks({"t1": task})
    with pytest.raises(ValueError, match=r"detailed_results\[0\]: unknown task 't1'"):
        report.validate_against_tasks({})
    report.add_evaluation_result(result("t1", b=0.5))
    with pytest.raises(ValueError, match=r"detailed_results\[1\]: .* no metric b"):
        report.validate_against_tasks({"t1": task})
    with pytest.raises(ValueError, match=r"task_scores: unknown tasks \['t2'\]"):
        report_of(task_scores={"t2": {}}).validate_against_tasks({"t1": task})


def test_plots_have_bars_or_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    plots = (three_tasks().plot_overall_scores, lambda: three_tasks().plot_task_scores("a"))
    for plot, heights in zip(plots, ([0.65, 1.0, 0.1], [0.5, 0.8]), strict=True):
        (axes,) = plot().axes
        assert [bar.get_height() for bar in axes.patches] == pytest.approx(heights)
    # Python takes a module that is None for one that is not there.
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for plot in plots:
        refused("pip install matplotlib", plot, error=ImportError)
