"""Results of a model on a task: rules, times, CSV, and the check against the task."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tables import table

from medeval.models import EvaluationResult, Interval, MedicalTask, TaskType

TABLES = table("evaluation_result")

IDS = {"model_id": "gpt-4", "task_id": "task_123"}
INPUTS = [{"question": "What does BP stand for?"}]
OUTPUTS = [{"answer": "blood pressure"}]


def result(**fields: Any) -> EvaluationResult:
    return EvaluationResult(**{**IDS, **fields})


def refused(**fields: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        result(**fields)
    return sorted({str(each["loc"][0]) for each in caught.value.errors()})


def test_example_of_a_result(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    made = result(
        inputs=INPUTS,
        model_outputs=OUTPUTS,
        metrics_results={"accuracy": 0.9, "f1_score": 0.85},
        metadata={"model_version": "1.0.0"},
        timestamp=now,
    )
    assert made.timestamp == now
    for name in ("result.json", "result.yaml"):
        made.save(tmp_path / name)
        assert EvaluationResult.from_file(tmp_path / name) == made
    assert EvaluationResult.model_validate(made.model_dump()) == made
    assert EvaluationResult.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_id", " "),
        ("task_id", ""),
        ("inputs", None),
        ("model_outputs", None),
        ("metadata", None),
        ("schema_version", 2),
        ("metrics_results", {"a": "0.5"}),
        ("metrics_results", {"a": None}),
        ("metrics_results", {"a": float("nan")}),
        ("metrics_results", {"a": float("-inf")}),
        ("metrics_results", {"a": 10**400}),
        ("metrics_results", {1: 0.5}),
        ("metrics_results", [0.5]),
    ],
)
def test_a_broken_rule_is_an_error_of_its_field(field: str, value: Any) -> None:
    assert refused(**{field: value}) == [field]


def test_scores_may_be_any_finite_number() -> None:
    scores = {"a": 1, "b": -3.5, "c": 120.0, "d": True, "e": np.float32(0.5), "f": np.float64(2)}
    assert result(metrics_results=scores).metrics_results == {
        "a": 1.0,
        "b": -3.5,
        "c": 120.0,
        "d": 1.0,
        "e": 0.5,
        "f": 2.0,
    }
    assert result(metrics_results=None).metrics_results == {}


def test_answers_are_as_many_as_inputs_or_left_out() -> None:
    assert refused(inputs=[{}], model_outputs=[{}, {}]) == ["model_outputs"]
    assert refused(inputs=[{}], model_outputs=[]) == ["model_outputs"]
    assert result(inputs=[{}]).model_outputs == []
    assert result(model_outputs=[{}]).item_count() == 1
    assert result(inputs=[{}, {}]).item_count() == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024-03-01T10:00:00", "2024-03-01T10:00:00Z"),
        ("2024-03-01T10:00:00+05:30", "2024-03-01T04:30:00Z"),
        (1709287200, "2024-03-01T10:00:00Z"),
        (datetime(2024, 3, 1, 10), "2024-03-01T10:00:00Z"),  # noqa: DTZ001 - naive is the case
        (datetime(2024, 3, 1, 10, tzinfo=timezone(timedelta(hours=-2))), "2024-03-01T12:00:00Z"),
    ],
)
def test_times_are_utc(given: Any, expected: str) -> None:
    made = result(timestamp=given)
    assert made.timestamp.utcoffset() == timedelta(0)
    assert json.loads(made.to_json())["timestamp"] == expected


def test_item_scores_and_intervals_are_optional_and_come_back() -> None:
    assert not {"item_scores", "intervals"} & result().model_dump().keys()
    made = result(
        inputs=[{}, {}],
        item_scores={"accuracy": [1, None]},
        intervals={
            "accuracy": {"low": 0.2, "high": 1.0, "level": 0.95, "method": "wilson", "n": 1},
            "rouge_l": {"low": None, "high": None, "level": 0.95, "method": "bootstrap", "n": 0},
        },
    )
    assert made.item_scores == {"accuracy": [1.0, None]}
    assert made.intervals is not None
    assert made.intervals["accuracy"] == Interval(
        low=0.2, high=1.0, level=0.95, method="wilson", n=1
    )
    assert EvaluationResult.from_json(made.to_json()) == made
    assert refused(inputs=[{}], item_scores={"a": [1, 1]}) == ["item_scores"]
    assert refused(model_outputs=[{}], item_scores={"a": []}) == ["item_scores"]
    assert refused(item_scores={"a": [float("nan")]}) == ["item_scores"]


def test_inputs_and_answers_as_csv() -> None:
    made = result(inputs=INPUTS * 2, model_outputs=[{"answer": "a"}, {"confidence": 0.5}])
    assert made.outputs_to_csv().splitlines() == ["answer,confidence", "a,", ",0.5"]
    read = EvaluationResult.from_inputs_csv("m", "t", made.inputs_to_csv())
    assert (read.model_id, read.task_id, read.inputs) == ("m", "t", INPUTS * 2)
    read = EvaluationResult.from_outputs_csv("m", "t", made.outputs_to_csv())
    assert read.model_outputs == [
        {"answer": "a", "confidence": ""},
        {"answer": "", "confidence": "0.5"},
    ]
    assert EvaluationResult.from_inputs_csv("m", "t", "").inputs == []


@pytest.fixture
def task() -> MedicalTask:
    return MedicalTask(
        task_id="task_123",
        task_type=TaskType.QA,
        inputs=INPUTS,
        metrics=["accuracy"],
        input_schema={"required": ["question"]},
        output_schema={"required": ["answer"]},
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    TABLES["a_result_that_cannot_be_the_tasks"],
)
def test_a_result_that_cannot_be_the_tasks(
    task: MedicalTask, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        result(**fields).validate_against_task(task)


@given(
    st.dictionaries(st.text("ab", min_size=1), st.floats(allow_nan=False, allow_infinity=False)),
    st.datetimes(timezones=st.timezones(), min_value=datetime(1900, 1, 1)),  # noqa: DTZ001
)
def test_any_result_comes_back_from_its_json(scores: dict[str, float], time: datetime) -> None:
    made = result(metrics_results=scores, timestamp=time)
    assert EvaluationResult.from_json(made.to_json()) == made


def test_summary_of_metrics() -> None:
    made = result(metrics_results={"accuracy": 0.9})
    assert made.metric_summary() == {
        "accuracy": {"count": 1.0, "mean": 0.9, "min": 0.9, "max": 0.9}
    }
    assert made.has_metric("accuracy")
    assert not made.has_metric("f1_score")
