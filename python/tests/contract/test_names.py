"""The names that the documents import and the flags that they give stay."""

from __future__ import annotations

from importlib import import_module

import pytest
import typer

from medeval.cli import app
from medeval.commands.options import task_flags
from medeval.tasks import registry

NAMES = {
    "medeval.models": ("MedicalTask", "TaskType", "EvaluationResult", "BenchmarkReport"),
    "medeval.models.medical_task": ("MedicalTask", "TaskType"),
    "medeval.models.task_types": (
        *("MedicalQATask", "DiagnosticReasoningTask", "ClinicalSummarizationTask"),
        "CommunicationTask",
    ),
    "medeval.evaluation.validators": (
        *("DEFAULT_SCHEMAS", "ensure_task_schemas", "validate_task_dataset"),
    ),
    "medeval.evaluation.task_loader": ("TaskLoader",),
    "medeval.evaluation.task_registry": ("TaskRegistry",),
    "medeval.evaluation.model_runner": ("ModelRunner",),
    "medeval.evaluation.harness": ("EvaluationHarness",),
}
FLAGS = {
    "score": ("--n_iters", "--save_file"),
    "run": ("-m", "-a", "--env-args", "--judge-model", "--judge-base-url", "--judge-api-key"),
    "export": ("--num-cases", "--first-only", "--layout"),
}
OF_TASKS = {
    ("in_hospital_mortality", "ScoreOptions"): ("--test_listfile", "--peer-layout"),
    ("mtsamples_procedures", "Options"): ("--cache-dir", "--use-think"),
}


@pytest.mark.parametrize("module", NAMES)
def test_documented_names_are_there(module: str) -> None:
    found = import_module(module)
    assert [name for name in NAMES[module] if not hasattr(found, name)] == []


def test_documented_flags_are_there() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command, wanted in FLAGS.items():
        words = {word for one in commands[command].params for word in one.opts}
        assert set(wanted) <= words, command
    for (task, kind), wanted in OF_TASKS.items():
        flags = task_flags(getattr(registry.task_class(task), kind), "")
        assert set(wanted) <= {word for one in flags for word in one.opts}, task
