"""Answers by rule: from the question alone, the same every time, and far from perfect."""

from __future__ import annotations

import inspect

import pytest
from harness_runs import BUNDLED, BUNDLED_IDS
from tables import table

from medeval.evaluation import demo_answers
from medeval.evaluation.demo_answers import demo_answer
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row, required_keys


@pytest.mark.parametrize("name", BUNDLED_IDS)
def test_every_bundled_row_gets_an_output_that_ignores_its_gold(name: str) -> None:
    task = BUNDLED.load_task(name)
    assert len(task.dataset) >= 25
    right = 0
    for row, shown in zip(task.dataset, task.pairs()[0], strict=True):
        output = demo_answer(task, shown)
        assert set(required_keys(task.output_schema)) <= set(output)
        assert output[task.target]
        wrong = dict.fromkeys(row["output"], "something else")
        assert output == demo_answer(task, row) == demo_answer(task, {**row, "output": wrong})
        right += output[task.target] == row["output"][task.target]
        assert row["output"][task.target] not in inspect.getsource(demo_answers)
    assert right < 0.2 * len(task.dataset)


@pytest.mark.parametrize(("kind", "schema", "row", "expected"), table("demo_answers")["answers"])
def test_the_rules_answer(kind: str, schema: Row, row: Row, expected: Row) -> None:
    task = MedicalTask(task_id="t", task_type=kind, inputs=[{"x": "?"}], output_schema=schema)
    output = demo_answer(task, row)
    assert {name: output[name] for name in expected} == expected
    assert 0 <= output.get("confidence", 0) < 1
