"""The harness: from tasks and a model to a report, with every item accounted for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

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

from medeval.errors import UserError
from medeval.evaluation.harness import EvaluationHarness, ItemsFailedError, MisalignedError
from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir
from medeval.evaluation.task_registry import TaskRegistry
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import Row
from medeval.models.task_types import MedicalQATask


@pytest.mark.parametrize("task_id", BUNDLED_IDS)
def test_an_oracle_scores_one_and_an_empty_model_zero_or_nothing(
    task_id: str, tmp_path: Path
) -> None:
    task = BUNDLED.load_task(task_id)
    with EvaluationHarness(results_dir=tmp_path, draws=50) as harness:
        best = harness.evaluate("oracle", [task_id], "interface", model=oracle(task))
        worst = harness.evaluate("empty", [task_id], "interface", model=always({}))
    assert set(task.metrics) <= set(best.task_scores[task_id])
    assert set(best.task_scores[task_id].values()) == set(best.overall_scores.values()) == {1.0}
    assert best.detailed_results[0].metadata["status"] == "ok"
    assert set(worst.task_scores[task_id].values()) <= {0.0}
    (result,) = worst.detailed_results
    outcomes = result.metadata["outcomes"]
    assert outcomes["empty"] == outcomes["asked"]
    for metric in set(result.metadata["metrics"]) - set(result.metrics_results):
        about = result.metadata["metrics"][metric]
        assert (about["n"], about["n_undefined"]) == (0, outcomes["asked"])
        assert about["reason"]


def test_a_task_that_cannot_be_run_fails_and_asks_nothing(tmp_path: Path) -> None:
    odd = questions(1)
    odd.dataset = [{"input": {"question": object()}, "output": {"answer": "x"}}]
    also = questions(1, "also")
    also.dataset = ["no row"]  # type: ignore[list-item]
    model = always({"answer": "x"})
    report = evaluate(tmp_path, model, [odd, also, MedicalQATask("blank")])
    assert report.metadata["failed_tasks"] == ["questions", "also", "blank"]
    assert "has no rows" in report.detailed_results[2].metadata["error"]["message"]
    assert model.asked == []


def broken_rows() -> MedicalQATask:
    task = questions(2)
    task.dataset = [{"input": {}, "output": {"answer": "x"}}]
    return task


@pytest.mark.parametrize(
    ("task", "answer", "error", "message"),
    [
        (broken_rows(), {}, ValueError, r"questions: inputs\[0\] missing required keys"),
        (questions(2), {"reply": "x"}, ValueError, r"model_outputs\[0\] missing required keys"),
        (questions(2), None, ItemsFailedError, r"2 of 2 items failed \(NotAMapping\)"),
    ],
)
def test_strict_raises_at_the_first_violation_or_failed_item(
    tmp_path: Path, task: MedicalQATask, answer: Any, error: type[Exception], message: str
) -> None:
    model, ended = always(answer), []
    with pytest.raises(error, match=message):
        evaluate(
            tmp_path,
            model,
            [task],
            strict_validation=True,
            harness={"on_task_end": lambda task_id, _: ended.append(task_id)},
        )
    assert ended == []
    # What can be told without the model is told before it is asked.
    assert bool(model.asked) == (not message.startswith("questions"))
    with pytest.raises(FileNotFoundError):
        harness_for(tmp_path).evaluate("m", ["nowhere"], "interface", strict_validation=True)


def test_a_score_has_item_scores_an_interval_and_a_number(tmp_path: Path) -> None:
    task = questions(5, metrics=["accuracy", "f1"])
    result = evaluate(tmp_path, right_below(3), [task]).detailed_results[0]
    assert result.metrics_results["accuracy"] == pytest.approx(0.6)
    assert result.item_scores == {"accuracy": [1.0, 1.0, 1.0, 0.0, 0.0]}
    assert result.intervals is not None
    assert (result.intervals["accuracy"].method, result.intervals["accuracy"].n) == ("wilson", 5)
    assert result.intervals["f1"].method == "bootstrap_percentile"
    assert result.metadata["metrics"]["f1"]["description"].endswith("(macro average)")


def test_the_field_that_is_scored_is_that_of_the_task_type(tmp_path: Path) -> None:
    label = always({"label": "0", "answer": "1"})
    task = questions(2, metrics=["accuracy"])
    assert evaluate(tmp_path, label, [task]).overall_scores["accuracy"] == 0.5


def test_a_failed_item_stays_in_the_denominator(tmp_path: Path) -> None:
    def answer(row: Row) -> Any:
        failed = {"error": {"type": "timeout", "attempts": 3}}
        return failed if number_of(row) == 1 else {"answer": str(number_of(row))}

    result = evaluate(tmp_path, Model(answer), [questions(4)]).detailed_results[0]
    assert result.metrics_results["accuracy"] == 0.75
    assert result.metadata["outcomes"]["asked"] == 4
    assert result.metadata["outcomes"]["answered"] == 3
    assert result.metadata["outcomes"]["errored"] == 1
    assert result.metadata["item_outcomes"] == ["answered", "errored", "answered", "answered"]
    assert result.model_outputs[1] == {"error": {"type": "timeout", "attempts": 3}}


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ({"answer": "x"}, "answered"),
        ({"answer": " ", "note": ""}, "empty"),
        ({}, "empty"),
        ({"reply": "x"}, "unparsed"),
        ({"error": {"type": "refused", "attempts": 1}}, "refused"),
        ({"error": {"type": "truncated_reasoning", "attempts": 1}}, "truncated_reasoning"),
        ({"error": {"type": "unparsed", "attempts": 1}}, "unparsed"),
        ({"error": {"type": "ValueError", "attempts": 1}}, "errored"),
        ("a bare text", "errored"),
        ({"answer": math.nan}, "errored"),
        ({"answer": object()}, "errored"),
    ],
)
def test_every_item_comes_to_one_outcome(output: Any, outcome: str, tmp_path: Path) -> None:
    model = Model(lambda row: output if number_of(row) else {"answer": "0"})
    result = evaluate(tmp_path, model, [questions(2)]).detailed_results[0]
    assert result.metadata["item_outcomes"] == ["answered", outcome]
    assert sum(result.metadata["outcomes"].values()) == 2 * result.metadata["outcomes"]["asked"]
    json.loads(result.to_json())


def test_a_failed_task_has_no_scores_and_no_part_in_any_mean(tmp_path: Path) -> None:
    good, bad = questions(4, "good"), questions(4, "bad")
    model = Model(lambda row: {"answer": str(number_of(row))} if bad_is_over(model) else 1 / 0)

    def bad_is_over(model: Model) -> bool:
        return len(model.asked) > 4

    errors: list[tuple[str, Exception]] = []
    report = evaluate(
        tmp_path,
        model,
        [bad, good],
        harness={"on_error": lambda task_id, error: errors.append((task_id, error))},
    )
    assert report.overall_scores["accuracy"] == 1.0
    assert report.task_scores["bad"] == {}
    result = report.detailed_results[0]
    assert result.metadata["status"] == "error"
    assert result.metrics_results == {}
    assert "4 of 4 items failed (ZeroDivisionError)" in result.metadata["error"]["message"]
    assert result.metadata["outcomes"]["errored"] == 4
    assert report.metadata["failed_tasks"] == ["bad"]
    assert report.metadata["tasks"]["bad"]["status"] == "error"
    assert report.metadata["outcomes"]["asked"] == 8
    assert [task_id for task_id, _ in errors] == ["bad"]
    assert isinstance(errors[0][1], ItemsFailedError)


def test_a_task_that_cannot_be_loaded_is_shown_as_failed(tmp_path: Path) -> None:
    (tmp_path / "torn.yaml").write_text("a: [", encoding="utf-8")
    harness = EvaluationHarness(tmp_path, tmp_path / "results", draws=0)
    harness.tasks.register(questions(2))
    report = harness.evaluate(
        "tested", ["nowhere", "torn", "questions"], "interface", model=right_below(2)
    )
    assert report.metadata["failed_tasks"] == ["nowhere", "torn"]
    kinds = [one.metadata.get("error", {}).get("type") for one in report.detailed_results]
    assert kinds == ["FileNotFoundError", "ValueError", None]
    assert report.overall_scores == {"accuracy": 1.0, "diagnostics": 1.0}


def test_an_unknown_metric_is_an_error_before_any_call(tmp_path: Path) -> None:
    model = always({})
    tasks = [questions(2, "fine"), questions(2, "odd", metrics=["acuracy"])]
    with pytest.raises(UserError, match=r"Task 'odd': Unknown metric 'acuracy'. Did you mean acc"):
        evaluate(tmp_path, model, tasks)
    assert model.asked == []
    assert not (tmp_path / "results").exists()


def test_inputs_and_expected_outputs_are_used_where_there_is_no_dataset(tmp_path: Path) -> None:
    task = MedicalTask(
        task_id="pairs",
        task_type=TaskType.QA,
        inputs=[{"question": "What is 0?"}, {"question": "What is 1?"}],
        expected_outputs=[{"answer": "0"}, {"answer": "1"}],
        metrics=["accuracy"],
    )
    model = right_below(1)
    report = evaluate(tmp_path, model, [task])
    assert model.asked == task.inputs
    assert report.task_scores["pairs"]["accuracy"] == 0.5


def test_a_task_without_gold_is_answered_and_not_scored(tmp_path: Path) -> None:
    task = MedicalTask(task_id="blind", task_type="qa", inputs=[{"question": "What is 0?"}])
    result = evaluate(tmp_path, right_below(1), [task]).detailed_results[0]
    assert result.metadata["status"] == "unscored"
    assert (result.metrics_results, result.model_outputs) == ({}, [{"answer": "0"}])


def test_a_model_never_sees_the_gold_nor_changes_the_task(tmp_path: Path) -> None:
    task = questions(2, dataset=[{"question": f"What is {n}?", "answer": str(n)} for n in (0, 1)])

    class Meddler(Model):
        def predict(self, rows: list[Row]) -> list[Any]:
            assert all("answer" not in row for row in rows)
            return [{"answer": row.pop("question")} for row in rows]

    report = evaluate(tmp_path, Meddler(lambda row: row), [task])
    assert report.detailed_results[0].inputs == [{"question": f"What is {n}?"} for n in (0, 1)]


class Misaligned(ModelRunner):
    """A runner that loses the first output."""

    def run_model(self, *given: Any, **more: Any) -> list[Row]:
        return super().run_model(*given, **more)[1:]


def test_outputs_that_are_not_one_for_each_input_always_raise(tmp_path: Path) -> None:
    with pytest.raises(MisalignedError, match="returned 3 outputs for 4 inputs"):
        evaluate(tmp_path, right_below(4), [questions(4)], harness={"runner": Misaligned()})


def test_violations_are_noted_and_the_work_goes_on(tmp_path: Path) -> None:
    task = questions(3)
    task.dataset = [{"input": {}, "output": {"answer": "x"}}, *task.dataset[1:]]
    task.metrics = ["accuracy", "accuracy"]
    report = evaluate(tmp_path, always({"reply": "1"}), [task, questions(3, "other")])
    first, second = (one.metadata["validation_errors"] for one in report.detailed_results)
    missing = [f"model_outputs[{n}] missing required keys: ['answer']" for n in range(3)]
    twice = "metrics: Value error, listed more than once: ['accuracy']"
    assert first == [twice, "inputs[0] missing required keys: ['question']", *missing]
    assert second == missing
    # Each once, in the order in which they came up.
    assert report.metadata["validation_errors"] == first
    assert report.detailed_results[0].metadata["status"] == "ok"


def test_callbacks_are_called_in_order(tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []
    callbacks = {
        "on_progress": lambda *told: seen.append(("progress", *told)),
        "on_task_start": lambda *told: seen.append(("start", *told)),
        "on_metrics": lambda task_id, scores: seen.append(("metrics", task_id, scores)),
        "on_task_end": lambda task_id, result: seen.append(("end", task_id, result.task_id)),
        "on_error": lambda task_id, error: seen.append(("error", task_id, type(error))),
    }
    evaluate(tmp_path, right_below(2), [questions(2), MedicalQATask("blank")], harness=callbacks)
    assert seen == [
        ("progress", 1, 2, "questions"),
        ("start", "questions"),
        ("metrics", "questions", {"accuracy": 1.0}),
        ("end", "questions", "questions"),
        ("progress", 2, 2, "blank"),
        ("start", "blank"),
        ("error", "blank", UserError),
    ]

    def stop(*_: Any) -> None:
        raise KeyError("enough")

    # What a callback raises is not taken for a failed task.
    with pytest.raises(KeyError, match="enough"):
        evaluate(tmp_path, right_below(2), [questions(2)], harness={"on_task_end": stop})


def test_a_model_that_was_loaded_is_let_go_of_and_others_are_not(tmp_path: Path) -> None:
    runner = ModelRunner()
    runner.load_model("mine", "interface", model=right_below(2))
    with harness_for(tmp_path, questions(2), runner=runner) as harness:
        harness.evaluate("other", ["questions"], "interface", model=right_below(1))
        assert runner.loaded == ("mine",)
        report = harness.evaluate("mine", ["questions"])
    assert report.overall_scores["accuracy"] == 1.0
    assert report.metadata["model"]["type"] == "interface"
    assert runner.loaded == ("mine",)


def test_a_model_is_never_mistaken_for_one_that_is_loaded(tmp_path: Path) -> None:
    runner = ModelRunner()
    runner.load_model("mine", "interface", model=right_below(2))
    harness = harness_for(tmp_path, questions(2), runner=runner)
    with pytest.raises(UserError, match="is loaded in the runner"):
        harness.evaluate("mine", ["questions"], "interface", model=right_below(1))
    with pytest.raises(UserError, match="name its model_type"):
        harness.evaluate("absent", ["questions"])
    with pytest.raises(UserError, match="name its model_type"):
        harness.evaluate("mine", ["questions"], path="model.py")
    with pytest.raises(FileNotFoundError, match="no model file"):
        harness.evaluate("absent", ["questions"], "local", path=tmp_path / "absent.py")
    assert not (tmp_path / "results").exists()


def test_no_task_and_two_of_one_name_are_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No task to evaluate"):
        harness_for(tmp_path).evaluate("m", [], "interface", model=always({}))
    copy = tmp_path / "copy.yaml"
    copy.write_text(
        (bundled_tasks_dir() / "clinical_qa_basic.yaml").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    with pytest.raises(UserError, match="Two of the tasks are called 'clinical_qa_basic'"):
        harness_for(tmp_path).evaluate(
            "m", ["clinical_qa_basic", str(copy)], "interface", model=always({})
        )


def test_a_harness_takes_a_folder_or_a_loader_or_a_registry(tmp_path: Path) -> None:
    loader = TaskLoader(bundled_tasks_dir())
    assert EvaluationHarness(loader=loader).tasks.discover() == loader.discover_tasks()
    assert set(EvaluationHarness().tasks.discover()) == set(BUNDLED_IDS)
    with pytest.raises(ValueError, match="give one of"):
        EvaluationHarness(tmp_path, registry=TaskRegistry(loader=loader))


def test_the_saved_report_is_the_report_and_for_its_owner_only(tmp_path: Path) -> None:
    report = evaluate(tmp_path, right_below(2), [questions(4)])
    path = tmp_path / "results" / f"{report.metadata['run_id']}.json"
    assert BenchmarkReport.from_file(path) == report
    assert path.stat().st_mode & 0o077 == 0
    evaluate(tmp_path / "none", right_below(2), [questions(4)], save_results=False)
    assert not (tmp_path / "none" / "results").exists()


def test_text_of_a_task_that_is_not_open_is_not_saved_with_the_answers(tmp_path: Path) -> None:
    closed = questions(
        dataset=[{"input": {"question": f"{SECRET_TEXT}. What is 0?"}, "output": {"answer": "0"}}],
        data_class="credentialed",
    )
    report = evaluate(tmp_path, right_below(1), [closed], report_formats=["html", "md", "csv"])
    assert SECRET_TEXT in report.to_json()
    written = list((tmp_path / "results").iterdir())
    assert len(written) == 4
    for path in written:
        assert SECRET_TEXT not in path.read_text(encoding="utf-8")
    saved = BenchmarkReport.from_file(next(p for p in written if p.suffix == ".json"))
    assert saved.detailed_results[0].model_outputs == [{"answer": "0"}]
    assert saved.task_scores == report.task_scores


def test_what_a_model_raises_is_not_quoted_for_a_task_that_is_not_open(tmp_path: Path) -> None:
    class Quoting(ModelRunner):
        def run_model(self, *given: Any, **more: Any) -> list[Row]:
            raise RuntimeError(SECRET_TEXT)

    for data_class, quoted in (("open", True), ("credentialed", False)):
        task = questions(2, data_class=data_class)
        report = evaluate(tmp_path, always({}), [task], harness={"runner": Quoting()})
        error = report.detailed_results[0].metadata["error"]
        assert error["type"] == "RuntimeError"
        assert (SECRET_TEXT in report.to_json()) == quoted


def test_reports_are_written_in_the_formats_that_are_asked_for(tmp_path: Path) -> None:
    model = always({})
    with pytest.raises(UserError, match="Unknown report format 'pdf'"):
        evaluate(tmp_path, model, [questions(2)], report_formats=["md", "pdf"])
    assert model.asked == []
    report = evaluate(
        tmp_path,
        model,
        [questions(2)],
        report_formats=["md", "yml", "html"],
        report_dir=tmp_path / "reports",
        save_results=False,
    )
    name = f"{report.metadata['run_id']}-report"
    written = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert written == [f"{name}.html", f"{name}.md", f"{name}.yaml"]


def test_what_a_model_calls_an_error_is_not_quoted_unless_it_is_a_name(tmp_path: Path) -> None:
    model = always({"error": {"type": SECRET_TEXT, "attempts": 1}})
    report = evaluate(tmp_path, model, [questions(2, data_class="credentialed")])
    error = report.detailed_results[0].metadata["error"]
    assert error["message"] == "questions: 2 of 2 items failed (other)"
