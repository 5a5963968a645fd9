"""The harness: from tasks and a model to a report, with every item accounted for."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness_runs import (
    BUNDLED,
    BUNDLED_IDS,
    SECRET_TEXT,
    Model,
    always,
    evaluate,
    harness_for,
    number_of,
    oracle,
    questions,
    right_below,
)
from tables import at, table

from medeval.errors import UserError
from medeval.evaluation.harness import EvaluationHarness
from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir
from medeval.evaluation.task_registry import TaskRegistry
from medeval.models import BenchmarkReport, EvaluationResult
from medeval.models.medical_task import MedicalTask
from medeval.models.task_types import MedicalQATask

Row = dict[str, Any]

TABLES = table("harness")
BOOTSTRAP = "bootstrap_percentile_within_tasks"
ERROR = {"error": {"type": "timeout", "attempts": 3}}


def result_of(folder: Path, model: Model, task: MedicalTask, **options: Any) -> EvaluationResult:
    (result,) = evaluate(folder, model, [task], **options).detailed_results
    return result


@pytest.mark.parametrize("task_id", BUNDLED_IDS)
def test_an_oracle_scores_one_and_an_empty_model_nothing(task_id: str, tmp_path: Path) -> None:
    task = BUNDLED.load_task(task_id)
    best = evaluate(tmp_path, oracle(task), [task])
    assert set(task.metrics) <= set(best.task_scores[task_id])
    assert set(best.task_scores[task_id].values()) == set(best.overall_scores.values()) == {1.0}
    assert best.detailed_results[0].metadata["status"] == "ok"
    result = result_of(tmp_path, always({}), task)
    assert set(result.metrics_results.values()) <= {0.0}
    outcomes = result.metadata["outcomes"]
    assert outcomes["empty"] == outcomes["asked"]
    for metric in set(result.metadata["metrics"]) - set(result.metrics_results):
        about = result.metadata["metrics"][metric]
        assert (about["n"], about["n_undefined"]) == (0, outcomes["asked"])
        assert about["reason"]


@pytest.mark.parametrize("row", TABLES["evaluations"])
def test_a_report_has_what_its_line_says(row: Row, tmp_path: Path) -> None:
    answers, tasks = row.get("answers", {}), []

    def answer(shown: Row) -> Any:
        number = number_of(shown) if shown else 0
        known = str(number) if number < row.get("knows", 9) else "unknown"
        return answers.get(number, {"answer": known})

    for name, fields in row["tasks"].items():
        task = questions(fields.get("count", 4), name)
        task.metrics, rows = fields.get("metrics", task.metrics), fields.get("rows", {})
        task.dataset = [rows.get(number, one) for number, one in enumerate(task.dataset)]
        tasks.append(task)
    report = evaluate(tmp_path, Model(answer), tasks, **row.get("options", {}))
    written = json.loads(report.to_json())
    for place, value in row["has"].items():
        is_number = isinstance(value, float) or place.startswith("task_scores")
        assert at(written, place) == (pytest.approx(value) if is_number else value), place
    if row.get("is_valid"):
        report.validate_against_tasks({task.task_id: task for task in tasks})


def test_a_failed_task_has_no_scores_and_no_part_in_any_mean(tmp_path: Path) -> None:
    (tmp_path / "torn.yaml").write_text("a: [", encoding="utf-8")
    odd, rows = questions(1, "odd"), questions(1, "rows")
    odd.dataset = [{"input": {"question": object()}, "output": {"answer": "x"}}]
    rows.dataset = ["no row"]  # type: ignore[list-item]
    model = Model(lambda row: {"answer": str(number_of(row))} if len(model.asked) > 4 else 1 / 0)
    errors: list[tuple[str, Exception]] = []
    tasks = [questions(4, "bad"), odd, rows, MedicalQATask("blank"), questions(4, "good")]
    with harness_for(tmp_path, *tasks, on_error=lambda *told: errors.append(told)) as harness:
        ids = [task.task_id for task in tasks]
        refs = [*ids[:4], "nowhere", str(tmp_path / "torn.yaml"), "good"]
        report = harness.evaluate("tested", refs, "interface", model=model)
    assert len(model.asked) == 8
    assert report.overall_scores == {"accuracy": 1.0, "diagnostics": 1.0}
    failed = refs[:-1]
    assert report.metadata["failed_tasks"] == [task_id for task_id, _ in errors] == failed
    assert type(errors[0][1]).__name__ == "ItemsFailedError"
    messages = {one.task_id: one.metadata.get("error") for one in report.detailed_results}
    assert "4 of 4 items failed (ZeroDivisionError)" in messages["bad"]["message"]
    assert "has no rows" in messages["blank"]["message"]
    kinds = [messages[task_id]["type"] for task_id in failed[-2:]]
    assert kinds == ["FileNotFoundError", "ValueError"]
    result = report.detailed_results[0]
    assert (result.metadata["status"], result.metrics_results) == ("error", {})
    assert (result.metadata["outcomes"]["errored"], report.task_scores["bad"]) == (4, {})
    assert report.metadata["tasks"]["bad"]["status"] == "error"


@pytest.mark.parametrize(("rows", "answer", "error", "message"), TABLES["strict"])
def test_strict_raises_at_the_first_fault(
    tmp_path: Path, rows: list[Row], answer: Any, error: str, message: str
) -> None:
    task, model, ended = questions(2), always(answer), []
    task.dataset = rows or task.dataset
    harness = {"on_task_end": lambda task_id, _: ended.append(task_id)}
    with pytest.raises((ValueError, RuntimeError), match=re.escape(message)) as caught:
        evaluate(tmp_path, model, [task], strict_validation=True, harness=harness)
    assert (type(caught.value).__name__, ended) == (error, [])
    # What can be told without the model is told before it is asked.
    assert bool(model.asked) == (not rows)
    with pytest.raises(FileNotFoundError):
        harness_for(tmp_path).evaluate("m", ["nowhere"], "interface", strict_validation=True)


@pytest.mark.parametrize(("options", "error", "message"), TABLES["models"])
def test_mistakes_come_before_calls(tmp_path: Path, options: Row, error: str, message: str) -> None:
    copied = (bundled_tasks_dir() / "clinical_qa_basic.yaml").read_text(encoding="utf-8")
    (tmp_path / "copy.yaml").write_text(copied, encoding="utf-8")
    model = right_below(2)
    given = {"task_ids": ["questions"], **options}
    given["task_ids"] = [ref.replace("copy", f"{tmp_path}/copy") for ref in given["task_ids"]]
    runner = ModelRunner()
    runner.load_model("mine", "interface", model=model)
    several = questions(2, "several", metrics=["accuracy", "brier", "readability"])
    tasks = [questions(2), questions(2, "odd", metrics=["acuracy"]), several]
    with pytest.raises((UserError, FileNotFoundError), match=re.escape(message)) as caught:
        harness_for(tmp_path, *tasks, runner=runner).evaluate(**given)
    assert type(caught.value).__name__ == error
    assert model.asked == []
    assert not (tmp_path / "results").exists()


def test_a_model_never_sees_the_gold_nor_changes_the_task(tmp_path: Path) -> None:
    task = questions(2, dataset=[{"question": f"What is {n}?", "answer": str(n)} for n in (0, 1)])

    class Meddler(Model):
        def predict(self, rows: list[Row]) -> list[Any]:
            assert all("answer" not in row for row in rows)
            return [{"answer": row.pop("question")} for row in rows]

    result = result_of(tmp_path, Meddler(lambda row: row), task)
    assert result.inputs == [{"question": f"What is {n}?"} for n in (0, 1)]
    pairs: Row = {"inputs": result.inputs, "metrics": ["accuracy"]}
    gold = [{"answer": "0"}, {"answer": "1"}]
    # Pairs are used where there is no data set; without gold they are answered and not scored.
    task = MedicalTask(task_id="pairs", task_type="qa", expected_outputs=gold, **pairs)
    assert result_of(tmp_path, right_below(1), task).metrics_results["accuracy"] == 0.5
    result = result_of(tmp_path, right_below(1), MedicalTask(task_id="b", task_type="qa", **pairs))
    assert (result.metadata["status"], result.metrics_results) == ("unscored", {})
    assert result.model_outputs == [{"answer": "0"}, {"answer": "unknown"}]


def test_outputs_that_are_not_one_for_each_input_always_raise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelRunner, "run_model", lambda *_, **__: [{"answer": "0"}] * 3)
    with pytest.raises(ValueError, match="returned 3 outputs for 4 inputs"):
        evaluate(tmp_path, right_below(4), [questions(4)])


def test_callbacks_are_called_in_order(tmp_path: Path) -> None:
    seen: list[Any] = []
    names = ("on_progress", "on_task_start", "on_metrics", "on_task_end", "on_error")
    callbacks = {name: partial(lambda *told: seen.append(told), name) for name in names}
    evaluate(tmp_path, right_below(2), [questions(2), MedicalQATask("blank")], harness=callbacks)
    told = [[name, *(getattr(one, "task_id", one) for one in more)] for name, *more in seen]
    assert isinstance(told[-1].pop(), UserError)
    assert told == TABLES["callbacks"]

    def stop(*_: Any) -> None:
        raise KeyError("enough")

    # What a callback raises is not taken for a failed task.
    with pytest.raises(KeyError, match="enough"):
        evaluate(tmp_path, right_below(2), [questions(2)], harness={"on_task_end": stop})


def test_a_harness_takes_a_folder_or_a_loader_or_a_registry(tmp_path: Path) -> None:
    loader = TaskLoader(bundled_tasks_dir())
    assert EvaluationHarness(loader=loader).tasks.discover() == loader.discover_tasks()
    assert set(EvaluationHarness().tasks.discover()) == set(BUNDLED_IDS)
    with pytest.raises(ValueError, match="give one of"):
        EvaluationHarness(tmp_path, registry=TaskRegistry(loader=loader))


def test_the_saved_report_is_the_report_and_others_are_written_as_asked(tmp_path: Path) -> None:
    report = evaluate(tmp_path, right_below(2), [questions(4)])
    path = tmp_path / "results" / f"{report.metadata['run_id']}.json"
    assert BenchmarkReport.from_file(path) == report
    assert path.stat().st_mode & 0o077 == 0
    given = {"report_formats": ["md", "yml", "html"], "report_dir": tmp_path / "reports"}
    report = evaluate(tmp_path / "a", always({}), [questions(2)], save_results=False, **given)
    name = f"{report.metadata['run_id']}-report"
    written = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert written == [f"{name}.html", f"{name}.md", f"{name}.yaml"]
    assert not (tmp_path / "a" / "results").exists()


def test_text_of_a_task_that_is_not_open_is_not_saved_with_the_answers(tmp_path: Path) -> None:
    row = {"input": {"question": f"{SECRET_TEXT}. What is 0?"}, "output": {"answer": "0"}}
    closed = questions(dataset=[row], data_class="credentialed")
    report = evaluate(tmp_path, right_below(1), [closed], report_formats=["html", "md", "csv"])
    assert SECRET_TEXT in report.to_json()
    written = list((tmp_path / "results").iterdir())
    assert len(written) == 4
    assert SECRET_TEXT not in "".join(path.read_text(encoding="utf-8") for path in written)
    saved = BenchmarkReport.from_file(next(p for p in written if p.suffix == ".json"))
    assert saved.detailed_results[0].model_outputs == [{"answer": "0"}]
    assert saved.task_scores == report.task_scores


def test_what_a_model_raises_is_not_quoted_for_a_task_that_is_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a model calls an error is not quoted unless it is a name.
    model = always({"error": {"type": SECRET_TEXT, "attempts": 1}})
    result = result_of(tmp_path, model, questions(2, data_class="credentialed"))
    assert result.metadata["error"]["message"] == "questions: 2 of 2 items failed (other)"

    def raising(*_: Any, **__: Any) -> None:
        raise RuntimeError(SECRET_TEXT)

    monkeypatch.setattr(ModelRunner, "run_model", raising)
    for data_class, quoted in (("open", True), ("credentialed", False)):
        report = evaluate(tmp_path, always({}), [questions(2, data_class=data_class)])
        assert report.detailed_results[0].metadata["error"]["type"] == "RuntimeError"
        assert (SECRET_TEXT in report.to_json()) == quoted


def test_the_interval_of_a_mean_is_that_of_items_drawn_within_tasks(tmp_path: Path) -> None:
    names = ["accuracy", "token_f1", "f1", "exact_match"]
    tasks = [questions(200, "a", names), questions(400, "b"), questions(1, "c", names[-1:])]
    means = {"combined_weights": {"accuracy": 1, "token_f1": 1}}
    means["category_map"] = {"pooled": ["accuracy", "f1"]}
    report = evaluate(tmp_path, right_below(100), tasks, harness={"draws": 4000}, **means)
    found = report.metadata["intervals"]["overall_scores"]
    shares = [(0.5, 200), (0.25, 400)]
    # The standard error of a mean of two independent means.
    half = 1.96 * np.sqrt(sum(share * (1 - share) / n for share, n in shares)) / 2
    overall = found["accuracy"]
    assert (overall["method"], overall["n"], overall["level"]) == (BOOTSTRAP, 600, 0.95)
    assert overall["low"] == pytest.approx(0.375 - half, abs=0.003)
    assert overall["high"] == pytest.approx(0.375 + half, abs=0.003)
    # Of one task alone, so the task's own.
    assert found["token_f1"]["method"] == "wilson"
    # The metrics of an item are drawn together: of two that are alike the mean varies as they do.
    both = report.metadata["intervals"]["task_scores"]["a"]["combined_score"]
    assert both["method"] == BOOTSTRAP
    assert both["high"] - both["low"] == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 200), rel=0.05)
    # There is none where items cannot vary: of one item, or with a metric of the whole task.
    assert not {"exact_match", "pooled"} & found.keys()
    none = evaluate(tmp_path, right_below(4), tasks[:1], harness={"draws": 0})
    assert none.metadata["intervals"]["task_scores"] == {}
