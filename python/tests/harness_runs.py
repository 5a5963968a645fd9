"""Models, tasks and evaluations for the tests of the harness and its reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medeval.evaluation.harness import EvaluationHarness
from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir
from medeval.evaluation.task_registry import TaskRegistry
from medeval.models import BenchmarkReport
from medeval.models.medical_task import MedicalTask
from medeval.models.task_types import MedicalQATask

Row = dict[str, Any]

BUNDLED = TaskLoader(bundled_tasks_dir())
BUNDLED_IDS = sorted(BUNDLED.discover_tasks())
SECRET_TEXT = "Mrs Quince fell on Tuesday"


class Model:
    """An object as the runner's type `interface` takes it; it counts what it is asked."""

    def __init__(self, answer: Callable[[Row], Any]) -> None:
        self.model_id = "tested"
        self.metadata: Row = {}
        self.asked: list[Row] = []
        self._answer = answer

    def predict(self, rows: list[Row]) -> list[Any]:
        self.asked += rows
        return [self._answer(row) for row in rows]


def oracle(*tasks: MedicalTask) -> Model:
    """Return a model that answers every input of the tasks with the gold."""
    gold = {
        _key(shown): expected
        for task in tasks
        for shown, expected in zip(*task.pairs(), strict=True)
    }
    return Model(lambda row: gold[_key(row)])


def always(output: Any) -> Model:
    return Model(lambda _: output)


def questions(
    count: int = 4,
    task_id: str = "questions",
    metrics: Sequence[str] = ("accuracy",),
    **fields: Any,
) -> MedicalQATask:
    """Return an open task in which the answer to question i is i."""
    rows = [
        {"input": {"question": f"What is {number}?"}, "output": {"answer": str(number)}}
        for number in range(count)
    ]
    given = {"dataset": rows, "metrics": list(metrics), "data_class": "open", **fields}
    return MedicalQATask(task_id, **given)


def number_of(row: Row) -> int:
    return int(str(row["question"]).split()[-1].rstrip("?"))


def right_below(limit: int) -> Model:
    """Return a model that knows the answers to the first questions only."""
    return Model(
        lambda row: {"answer": str(number_of(row)) if number_of(row) < limit else "unknown"}
    )


def harness_for(folder: Path, *tasks: MedicalTask, **options: Any) -> EvaluationHarness:
    registry = TaskRegistry(bundled_tasks_dir())
    for task in tasks:
        registry.register(task)
    given = {"results_dir": folder / "results", "runner": ModelRunner(folder=folder), "draws": 50}
    return EvaluationHarness(registry=registry, **{**given, **options})


def evaluate(
    folder: Path,
    model: Model,
    tasks: Sequence[MedicalTask],
    model_id: str = "tested",
    harness: Mapping[str, Any] | None = None,
    **options: Any,
) -> BenchmarkReport:
    """Evaluate a model on tasks that are registered for it."""
    with harness_for(folder, *tasks, **(harness or {})) as ready:
        return ready.evaluate(
            model_id, [task.task_id for task in tasks], "interface", model=model, **options
        )


def _key(row: Row) -> str:
    return json.dumps(row, sort_keys=True)
