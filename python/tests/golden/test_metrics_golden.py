"""Metrics against the published task project; rouge-score and hand work are in test_metrics.py."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tables import refused

from medeval.models.medical_task import TaskType
from medeval.models.task_types import TASK_CLASSES

Row = dict[str, Any]

TOLERANCE = 1e-9
FAMILIES = {"qa": 30, "diagnostic": 18, "summarization": 28, "communication": 8}
TYPES = dict(
    zip(FAMILIES, ("qa", "diagnostic_reasoning", "summarization", "communication"), strict=True)
)
CLASSES = {family: TASK_CLASSES[TaskType(kind)] for family, kind in TYPES.items()}
CASES = [(family, number) for family, size in FAMILIES.items() for number in range(size)]
each_case = pytest.mark.parametrize(("family", "number"), CASES)


@pytest.fixture(scope="module")
def golden(shared: Path) -> Row:
    folder = shared / "golden" / "medaisure"
    return {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in FAMILIES
    }


def task_of(family: str, case: Row) -> Any:
    task = CLASSES[family]("golden")
    task.expected_outputs = case["references"]
    return task


def assert_same(found: dict[str, float | None], expected: dict[str, float | None]) -> None:
    assert list(found) == list(expected)
    for name, value in expected.items():
        same = None if value is None else pytest.approx(value, rel=0, abs=TOLERANCE)
        assert found[name] == same, name


def test_no_golden_case_is_left_out(golden: Row) -> None:
    assert {family: len(golden[family]["cases"]) for family in FAMILIES} == FAMILIES


@each_case
def test_level_simple_gives_published_numbers(golden: Row, family: str, number: int) -> None:
    case = golden[family]["cases"][number]
    if "simple" not in case:
        assert family == "communication"
        return
    task, outputs = task_of(family, case), case["predictions"]
    if len(outputs) == len(case["references"]):
        values = task.evaluate(outputs)
    else:
        with pytest.warns(UserWarning, match="the surplus is ignored"):
            values = task.evaluate(outputs)
        refused("references", task.evaluate, outputs, strict=True, error=ValueError)
    assert_same(values, case["simple"]["result"])


@each_case
def test_level_calculator_gives_published_numbers(golden: Row, family: str, number: int) -> None:
    case = golden[family]["cases"][number]
    task, outputs = task_of(family, case), case["predictions"]
    if "raises" in case["calculator"]:
        assert case["calculator"]["raises"] == "ValueError"
        refused("references", task.evaluate, outputs, level="calculator", error=ValueError)
        return
    values = task.evaluate(outputs, level="calculator")
    known = {name: None if math.isnan(value or 0) else value for name, value in values.items()}
    assert_same(known, case["calculator"])
