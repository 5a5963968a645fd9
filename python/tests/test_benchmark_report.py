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
from pydantic import ValidationError

from medeval.models import BenchmarkReport, EvaluationResult, MedicalTask

TOLERANCE = 1e-9
WEIGHTS = {"a": 0.25, "b": 0.75}
PRESET: dict[str, Any] = {
    "overall_scores": {"accuracy": 0.85, "f1_score": 0.8},
    "task_scores": {
        "task_1": {"accuracy": 0.9, "f1_score": 0.85},
        "task_2": {"accuracy": 0.8, "f1_score": 0.75},
    },
    "metadata": {"run_id": "run_123"},
}
AGGREGATION_CASES = [f"agg{number:02}" for number in range(1, 12)]


def result(task_id: str, model_id: str = "m", **scores: Any) -> EvaluationResult:
    return EvaluationResult(model_id=model_id, task_id=task_id, metrics_results=scores)


def report_of(*results: EvaluationResult, **fields: Any) -> BenchmarkReport:
    report = BenchmarkReport(model_id="m", **fields)
    for each in results:
        report.add_evaluation_result(each)
    return report


def golden(shared: Path) -> dict[str, Any]:
    path = shared / "golden" / "medaisure" / "report_aggregation.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_golden_cases_are_these(shared: Path) -> None:
    assert [case["id"] for case in golden(shared)["cases"]] == AGGREGATION_CASES


@pytest.mark.parametrize("name", AGGREGATION_CASES)
def test_scores_after_each_result_equal_the_golden_ones(shared: Path, name: str) -> None:
    case = next(case for case in golden(shared)["cases"] if case["id"] == name)
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


@pytest.mark.parametrize("name", ["r.json", "r.yaml", "r.yml", "r"])
@pytest.mark.parametrize("has_counts", [True, False])
def test_a_mean_goes_on_after_loading(tmp_path: Path, name: str, has_counts: bool) -> None:
    report = report_of(result("t", a=0.5), result("t", a=0.7), result("u", b=1.0))
    if not has_counts:
        report.metric_counts = {}
    report.to_file(tmp_path / name)
    read = BenchmarkReport.from_file(str(tmp_path / name))
    assert read == report
    read.add_evaluation_result(result("t", a=0.1))
    assert read.task_scores["t"]["a"] == pytest.approx(0.4333333333)
    assert read.metric_counts["t"] == {"a": 3}


def test_results_of_another_model_are_refused() -> None:
    report = report_of(result("t", a=0.5))
    with pytest.raises(ValueError, match="of model 'other', not of 'm'"):
        report.add_evaluation_result(result("t", "other", a=1.0))
    assert len(report.detailed_results) == 1
    assert report.overall_scores == {"a": 0.5}
    with pytest.raises(ValidationError, match=r"detailed_results\[0\] is of model"):
        BenchmarkReport(model_id="m", detailed_results=[result("t", "other")])


@pytest.mark.parametrize("value", ["high", None, float("nan"), float("inf")])
def test_scores_are_finite_numbers(value: Any) -> None:
    for field in ({"overall_scores": {"a": value}}, {"task_scores": {"t": {"a": value}}}):
        with pytest.raises(ValidationError):
            BenchmarkReport(model_id="m", **field)


def test_a_score_that_was_taken_out_begins_anew() -> None:
    report = report_of(result("t", a=0.5, b=0.1), result("t", a=0.7), result("u", a=0.2))
    del report.task_scores["t"]["a"], report.task_scores["u"]
    read = BenchmarkReport.from_json(report.to_json())
    assert read.metric_counts == {"t": {"b": 1}}
    for each in (report, read):
        each.add_evaluation_result(result("t", a=0.1))
        assert each.task_scores == {"t": {"a": 0.1, "b": 0.1}}
        assert each.metric_counts["t"]["a"] == 1


def test_fields_are_written_in_their_order_and_indented_by_two(tmp_path: Path) -> None:
    report_of(result("t", a=1.0)).to_file(tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "schema_version": 1,\n  "model_id": "m",\n  "timestamp": "')
    assert list(json.loads(text)) == [
        "schema_version",
        "model_id",
        "timestamp",
        "overall_scores",
        "task_scores",
        "detailed_results",
        "metadata",
        "metric_counts",
    ]
    assert "metric_counts" not in BenchmarkReport(model_id="m").to_dict()


def test_example_of_a_report(tmp_path: Path) -> None:
    report = BenchmarkReport(model_id="gpt-4", **PRESET)
    for task_id, accuracy in (("task_1", 0.5), ("task_3", 1.0)):
        report.add_evaluation_result(result(task_id, "gpt-4", accuracy=accuracy))
    assert report.task_scores["task_1"] == pytest.approx({"accuracy": 0.7, "f1_score": 0.85})
    assert report.overall_scores == pytest.approx({"accuracy": 2.5 / 3, "f1_score": 0.8})
    path = tmp_path / "benchmark_results.json"
    report.to_file(str(path))
    assert BenchmarkReport.from_file(path) == BenchmarkReport.from_file(str(path)) == report


def three_tasks() -> BenchmarkReport:
    return report_of(result("t1", a=0.5, b=1.0), result("t2", a=0.8), result("t3", z=0.1))


@pytest.mark.parametrize(
    ("renormalize", "second", "overall"), [(True, 0.8, 0.8375), (False, 0.2, 0.5375)]
)
def test_a_combined_score(renormalize: bool, second: float, overall: float) -> None:
    report = three_tasks()
    report.add_combined_score(WEIGHTS, renormalize_missing=renormalize)
    assert report.task_scores["t1"]["combined_score"] == pytest.approx(0.875)
    assert report.task_scores["t2"]["combined_score"] == pytest.approx(second)
    assert "combined_score" not in report.task_scores["t3"]
    assert report.overall_scores["combined_score"] == pytest.approx(overall)
    assert report.overall_scores["a"] == pytest.approx(0.65)


def test_combining_again_leaves_nothing_of_the_first_time() -> None:
    report = three_tasks()
    report.add_combined_score(WEIGHTS, "total")
    report.add_combined_score({"z": 2.0}, "total")
    assert [task for task, scores in report.task_scores.items() if "total" in scores] == ["t3"]
    assert report.overall_scores["total"] == pytest.approx(0.1)
    report.add_combined_score({"unknown": 1.0}, "total")
    assert "total" not in report.overall_scores
    assert BenchmarkReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    "weights", [{}, {"a": 0.0}, {"a": -1.0, "b": 2.0}, {"a": float("nan")}, {"combined_score": 1}]
)
def test_weights_that_cannot_be_used(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"weights must|must be finite|into itself"):
        three_tasks().add_combined_score(weights)


def test_statistics_over_tasks() -> None:
    report = three_tasks()
    assert report.metric_history("a") == [0.5, 0.8]
    assert report.metric_history("unknown") == []
    statistics = report.summary_statistics()
    assert list(statistics) == ["a", "b", "z"]
    assert statistics["a"] == pytest.approx({"count": 2, "mean": 0.65, "min": 0.5, "max": 0.8})


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


def test_plots_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Python takes a module that is None for one that is not there.
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for plot in (three_tasks().plot_overall_scores, lambda: three_tasks().plot_task_scores("a")):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            plot()


def test_plots_have_a_bar_for_each_score() -> None:
    (axes,) = three_tasks().plot_overall_scores().axes
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.65, 1.0, 0.1])
    (axes,) = three_tasks().plot_task_scores("a").axes
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.5, 0.8])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t1", "t2"]),
            st.dictionaries(st.sampled_from("ab"), st.floats(-1e6, 1e6), max_size=2),
        ),
        max_size=8,
    ),
    st.integers(0, 8),
)
def test_means_are_those_of_all_results_wherever_the_report_was_saved(
    results: list[tuple[str, dict[str, float]]], saved_after: int
) -> None:
    report = report_of()
    for place, (task_id, scores) in enumerate(results):
        if place == saved_after:
            report = BenchmarkReport.from_yaml(report.to_yaml())
        report.add_evaluation_result(result(task_id, **scores))
    for task_id, scores in report.task_scores.items():
        for metric, score in scores.items():
            given_scores = [
                each[metric] for task, each in results if task == task_id and metric in each
            ]
            assert score == pytest.approx(fmean(given_scores), abs=1e-6)


def test_results_given_to_the_constructor_fill_no_scores() -> None:
    report = BenchmarkReport(model_id="m", detailed_results=[result("t", a=0.5)])
    assert (report.task_scores, report.overall_scores) == ({}, {})


def test_a_score_that_was_made_not_a_number_is_refused_at_add() -> None:
    spoilt = result("t", a=0.5)
    spoilt.metrics_results["a"] = float("nan")
    report = report_of()
    with pytest.raises(ValueError, match=r"a\n.*must be finite"):
        report.add_evaluation_result(spoilt)
    assert (report.detailed_results, report.task_scores) == ([], {})


def test_scores_as_csv() -> None:
    report = three_tasks()
    assert report.overall_scores_to_csv().splitlines() == [
        "metric,score",
        "a,0.65",
        "b,1.0",
        "z,0.1",
    ]
    assert report.task_scores_to_csv().splitlines() == [
        "task_id,metric,score",
        "t1,a,0.5",
        "t1,b,1.0",
        "t2,a,0.8",
        "t3,z,0.1",
    ]
