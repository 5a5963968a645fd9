"""The names that the documents import and the flags that they give stay."""

from __future__ import annotations

from importlib import import_module

import pytest
from in_process import Main

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
    "score --task in_hospital_mortality": ("--test_listfile", "--peer-layout"),
    "run --task mtsamples_procedures": (
        *("-m", "-a", "--env-args", "--judge-model", "--judge-base-url", "--judge-api-key"),
        *("--cache-dir", "--use-think"),
    ),
    "export": ("--num-cases", "--first-only", "--layout"),
}


@pytest.mark.parametrize("module", NAMES)
def test_documented_names_are_there(module: str) -> None:
    found = import_module(module)
    assert [name for name in NAMES[module] if not hasattr(found, name)] == []


@pytest.mark.parametrize("command", FLAGS)
def test_documented_flags_are_there(command: str, main: Main) -> None:
    shown = main(*command.split(), "--help").out
    words = {word.strip(",") for word in shown.split()}
    assert set(FLAGS[command]) <= words
