"""Default schemas and the check of data sets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tables import table

from medeval.evaluation.validators import (
    DEFAULT_SCHEMAS,
    ensure_task_schemas,
    validate_record_against_schema,
    validate_task_dataset,
)
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import split_rows

TABLES = table("validators")

DATASET_CASES = [f"dv{number:02}" for number in range(1, 18)]


def task_with(dataset: list[Any], task_type: str = "qa", **schemas: Any) -> MedicalTask:
    """A task whose rows were assigned, so that nothing has checked them yet."""
    task = MedicalTask(task_id="t", task_type=task_type, inputs=[{}], **schemas)
    task.dataset = dataset
    return task


def golden(shared: Path) -> dict[str, Any]:
    path = shared / "golden" / "medaisure" / "dataset_validation.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_defaults_are_the_golden_ones(shared: Path) -> None:
    expected = golden(shared)
    assert [case["id"] for case in expected["cases"]] == DATASET_CASES
    assert {
        kind.value: {"input": shown["required"], "output": hidden["required"]}
        for kind, (shown, hidden) in DEFAULT_SCHEMAS.items()
    } == expected["default_required"]


@pytest.mark.parametrize("name", DATASET_CASES)
def test_datasets_pass_and_fail_as_the_golden_cases(shared: Path, name: str) -> None:
    case = next(case for case in golden(shared)["cases"] if case["id"] == name)
    expected = case.get("recommended", case["expected"])
    shown, hidden = ensure_task_schemas(
        case["task_type"], case["input_schema"], case["output_schema"]
    )
    for schemas in (
        {"input_schema": shown, "output_schema": hidden},
        {"input_schema": case["input_schema"] or {}, "output_schema": case["output_schema"] or {}},
    ):
        task = task_with(case["dataset"], case["task_type"], **schemas)
        if expected["valid"]:
            validate_task_dataset(task)
        else:
            with pytest.raises(ValueError, match="dataset") as caught:
                validate_task_dataset(task)
            for fragment in expected.get("message_contains", []):
                assert fragment in str(caught.value)


@pytest.mark.parametrize("task_type", list(TaskType))
def test_each_side_has_its_default_only_when_it_is_empty(task_type: TaskType) -> None:
    default = DEFAULT_SCHEMAS[task_type]
    assert ensure_task_schemas(task_type, None, {}) == default
    own = {"required": ["own"]}
    assert ensure_task_schemas(task_type, own, None) == (own, default[1])
    assert ensure_task_schemas(task_type.value, {}, own) == (default[0], own)
    for explicit in ({"required": []}, {"type": "object"}):
        assert ensure_task_schemas(task_type, explicit, explicit) == (explicit, explicit)


def test_a_record_is_checked_for_presence_only() -> None:
    schema = {"required": ["a", "b", "c"]}
    validate_record_against_schema({"a": None, "b": "", "c": 0}, schema)
    with pytest.raises(ValueError, match=re.escape("row[3] missing required keys: ['b', 'c']")):
        validate_record_against_schema({"a": 1}, schema, label="row", index=3)
    with pytest.raises(ValueError, match=re.escape("row missing required keys: ['a', 'b', 'c']")):
        validate_record_against_schema({}, schema, label="row")
    validate_record_against_schema({}, {})


@pytest.mark.parametrize(
    ("row", "message"),
    TABLES["a_row_that_cannot_be_run_is_named"],
)
def test_a_row_that_cannot_be_run_is_named(row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        validate_task_dataset(task_with([{"question": "q"}, row]))


def test_rows_that_can_be_run_pass() -> None:
    rows = [{"question": None}, {"input": {"question": ""}, "output": {"answer": 1, "more": 2}}]
    validate_task_dataset(task_with(rows))
    case = [{"input": {"case": "60M chest pain"}, "output": {"diagnosis": "ACS"}}]
    validate_task_dataset(
        task_with(case, "diagnostic_reasoning", input_schema={"required": ["case"]})
    )
    with pytest.raises(ValueError, match="symptoms"):
        validate_task_dataset(task_with(case, "diagnostic_reasoning"))


@pytest.mark.parametrize("task_type", list(TaskType))
def test_no_key_that_gives_the_answer_away_is_shown(task_type: TaskType) -> None:
    shown, expected = DEFAULT_SCHEMAS[task_type]
    row = {"id": 1, shown["required"][0]: "q", expected["required"][0]: "gold", "label": "gold"}
    row |= {"rationale": "gold", "grade": "gold"}
    schema = {**expected, "properties": {"grade": {"type": "string"}}}
    inputs, outputs = split_rows([row], task_type, None, schema)
    assert inputs == [{"id": 1, shown["required"][0]: "q"}]
    assert set(outputs[0].values()) == {"gold"}


def test_a_key_that_the_input_schema_asks_for_is_shown() -> None:
    row = {"label": "CT head", "answer": "normal"}
    inputs, outputs = split_rows([row], TaskType.QA, {"required": ["label"]}, None)
    assert (inputs, outputs) == ([{"label": "CT head"}], [{"answer": "normal"}])
