"""A key that gives the answer away reaches no model, by whatever way a task is put to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness_runs import Model, evaluate
from model_server import Script, model_server, prompt_of

from medeval.evaluation.model_runner import ModelRunner
from medeval.evaluation.task_loader import TaskLoader
from medeval.evaluation.task_prompts import shown_input
from medeval.models.medical_task import MedicalTask
from medeval.models.task_types import DiagnosticReasoningTask, MedicalQATask

GOLD = "GOLDX"
OUTPUT = [{"answer": GOLD}]
NESTED = [{"input": {"question": "q", "answer": GOLD, "age": 5}, "output": OUTPUT[0]}]
FLAT_KEYS = ["Answer", "correct answer", "Correct-Answer", "gold", "confidence", "ground_truth"]


def asked_of(task: MedicalTask, folder: Path) -> list[Any]:
    model = Model(lambda row: {"answer": "x"})
    evaluate(folder, model, [task])
    return model.asked


@pytest.mark.parametrize(
    "fields",
    [
        {"dataset": NESTED},
        {"inputs": [NESTED[0]["input"]], "expected_outputs": OUTPUT},
        {"dataset": [{"question": "q", "age": 5, "answer": GOLD}]},
    ],
    ids=["nested", "inputs", "flat"],
)
def test_an_answer_among_the_inputs_is_shown_to_no_model(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    task = MedicalQATask("q", metrics=["accuracy"], data_class="open", **fields)
    assert asked_of(task, tmp_path) == [{"question": "q", "age": 5}]
    assert task.pairs() == ([{"question": "q", "age": 5}], OUTPUT)


def test_what_an_input_schema_names_is_shown(tmp_path: Path) -> None:
    row = {"input": {"question": "q", "answer": "a guess", "label": "b"}, "output": OUTPUT[0]}
    schema = {"required": ["question"], "properties": {"answer": {"type": "string"}}}
    task = MedicalQATask("q", dataset=[row], input_schema=schema, data_class="open")
    assert asked_of(task, tmp_path) == [{"question": "q", "answer": "a guess"}]


@pytest.mark.parametrize("key", FLAT_KEYS)
def test_usual_names_of_answers_are_not_shown_of_flat_rows(key: str) -> None:
    task = MedicalQATask("q", dataset=[{"question": "q", key: GOLD}])
    assert task.pairs() == ([{"question": "q"}], [{key: GOLD}])
    assert shown_input(task, {"question": "q", key: GOLD}) == {"question": "q"}


def test_the_runner_shows_a_model_no_answer_of_the_task_it_is_told_of() -> None:
    task = DiagnosticReasoningTask("d")
    model = Model(lambda row: {"diagnosis": "x"})
    runner = ModelRunner()
    runner.load_model("m", "interface", model=model)
    rows = [{"case": "c", "diagnosis": GOLD, "label": GOLD}]
    runner.run_model("m", rows, task=task)
    assert model.asked == [{"case": "c"}]
    assert rows == [{"case": "c", "diagnosis": GOLD, "label": GOLD}]


def test_a_file_with_answers_in_its_inputs_keeps_them_and_shows_none(tmp_path: Path) -> None:
    path = tmp_path / "leaky.json"
    fields = {"task_id": "leaky", "task_type": "qa", "data_class": "open", "dataset": NESTED}
    path.write_text(json.dumps(fields), encoding="utf-8")
    task = TaskLoader(tmp_path).load_task("leaky")
    assert task.inputs == [{"question": "q", "age": 5}]
    assert task.dataset == NESTED
    runner = ModelRunner(folder=tmp_path / "models")
    with model_server(Script(reply=lambda body: '{"answer": "x"}')) as server:
        runner.load_model("m", "openai", base_url=server.url)
        runner.run_model("m", [NESTED[0]["input"]], task=task)
        (body,) = server.seen.bodies
    assert GOLD not in json.dumps(body)
    assert "Age:" in prompt_of(body)
