"""Medical tasks: what is accepted and refused, what is written and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tables import table

from medeval.models import BenchmarkReport, EvaluationResult, MedicalTask, TaskType
from medeval.models import medical_task as medical_task_module
from medeval.models.csv_rows import rows_from_csv, rows_to_csv
from medeval.models.yaml_text import read_yaml, write_yaml

TABLES = table("medical_task")

QUESTION = {"question": "What does BP stand for?"}
ANSWER = {"answer": "blood pressure"}
MINIMAL: dict[str, Any] = {"task_id": "t", "task_type": "qa", "inputs": [QUESTION]}
NESTED_ROW = {"input": QUESTION, "output": ANSWER}

MODELS = {model.__name__: model for model in (MedicalTask, EvaluationResult, BenchmarkReport)}


def fields_at_fault(error: ValidationError) -> list[str]:
    return sorted({str(each["loc"][0]) if each["loc"] else "__root__" for each in error.errors()})


def refused(**changes: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        MedicalTask(**{**MINIMAL, **changes})
    return fields_at_fault(caught.value)


def floats_restored(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: floats_restored(each) for key, each in value.items()}
    return [floats_restored(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("number", range(1, 50))
def test_accepts_and_refuses_as_the_golden_cases(shared: Path, number: int) -> None:
    path = shared / "golden" / "medaisure" / "validation.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 49
    case = cases[number - 1]
    observed = case["expected"]
    expected = {**observed, **case.get("recommended", {})}
    model, arguments = MODELS[case["model"]], floats_restored(case["kwargs"])
    if expected["accepts"]:
        written = model(**arguments).model_dump(mode="json")
        assert {name: written[name] for name in observed["value"]} == observed["value"]
        extra = arguments.keys() - model.model_fields.keys()
        assert {name: written[name] for name in extra} == {n: arguments[n] for n in extra}
    else:
        with pytest.raises(ValidationError) as caught:
            model(**arguments)
        if "fields" in expected:
            assert fields_at_fault(caught.value) == expected["fields"]


def test_task_types_equal_their_text() -> None:
    assert [str(kind) for kind in TaskType] == [
        "diagnostic_reasoning",
        "qa",
        "summarization",
        "communication",
    ]
    assert TaskType.QA == "qa"
    assert medical_task_module.TaskType is TaskType


@pytest.mark.parametrize(
    ("field", "value"),
    TABLES["a_broken_rule_is_an_error_of_its_field"],
)
def test_a_broken_rule_is_an_error_of_its_field(field: str, value: Any) -> None:
    assert refused(**{field: value}) == [field]


def test_a_newer_layout_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValidationError, match=r"layout 2, .* reads is 1"):
        MedicalTask(**MINIMAL, schema_version=2)
    assert MedicalTask(**MINIMAL, schema_version="1").schema_version == 1


def test_inputs_may_be_left_out_only_where_the_dataset_has_rows() -> None:
    rows = {"task_id": "t", "task_type": "qa", "dataset": [NESTED_ROW]}
    assert MedicalTask(**rows).inputs == []
    for dataset in ([], None):
        with pytest.raises(ValidationError) as caught:
            MedicalTask(**{**rows, "dataset": dataset})
        assert "inputs" in fields_at_fault(caught.value)


@pytest.mark.parametrize("task", [MINIMAL, {**MINIMAL, "dataset": [NESTED_ROW], "difficulty": "x"}])
def test_python_and_json_values_give_an_equal_task(task: dict[str, Any]) -> None:
    made = MedicalTask(**task)
    assert MedicalTask.model_validate(made.model_dump()) == made
    assert MedicalTask.model_validate_json(made.model_dump_json(indent=2)) == made
    assert MedicalTask.from_dict(made.to_dict()) == made
    assert MedicalTask.from_json(made.to_json()) == made
    assert MedicalTask.from_yaml(made.to_yaml()) == made


def test_unknown_fields_are_kept_and_stand_where_they_stood(tmp_path: Path) -> None:
    given = {**MINIMAL, "difficulty": "hard", "source": {"year": 2024}}
    task = MedicalTask.from_dict(given)
    assert task.extra == {"difficulty": "hard", "source": {"year": 2024}}
    for name in ("task.json", "task.yaml"):
        task.save(tmp_path / name)
        read = MedicalTask.from_file(tmp_path / name)
        assert read == task
        assert read.to_dict()["difficulty"] == "hard"


def test_metrics_given_as_maps_keep_what_is_said_of_them() -> None:
    metrics = [{"name": "accuracy", "description": "share of right answers"}, "f1_score"]
    task = MedicalTask.from_dict({**MINIMAL, "metrics": metrics})
    assert task.metrics == ["accuracy", "f1_score"]
    details = {"accuracy": {"description": "share of right answers"}}
    assert task.to_dict()["metric_details"] == details
    assert MedicalTask.from_json(task.to_json()) == task


def test_data_is_credentialed_unless_the_file_says_open() -> None:
    assert MedicalTask(**MINIMAL).data_class == "credentialed"
    assert MedicalTask(**MINIMAL).to_dict()["data_class"] == "credentialed"
    assert MedicalTask(**MINIMAL, data_class="open").data_class == "open"
    assert refused(data_class="public") == ["data_class"]


def test_nested_rows_are_checked_against_the_own_schemas_alone() -> None:
    schemas = {"input_schema": {"required": ["question"]}}
    assert refused(**schemas, dataset=[{"input": {"q": 1}}]) == ["dataset"]
    assert refused(output_schema={"required": ["answer"]}, dataset=[{"output": {}}]) == ["dataset"]
    MedicalTask(**MINIMAL, **schemas, dataset=[{"q": 1}])
    MedicalTask(**MINIMAL, dataset=[{"input": {"q": 1}}])


def test_assigning_checks_nothing_and_validate_does() -> None:
    task = MedicalTask(**MINIMAL)
    task.validate()
    task.dataset = [{"input": {"q": 1}, "output": ANSWER}]
    with pytest.raises(ValueError, match=r"dataset\.input\[0\] missing required keys"):
        task.validate()
    task.dataset = [NESTED_ROW]
    task.validate()
    task.metrics = [""]
    with pytest.raises(ValidationError):
        task.validate()


def test_save_takes_its_format_from_the_suffix_or_the_argument(tmp_path: Path) -> None:
    task = MedicalTask(**{**MINIMAL, "description": "Übelkeit, 恶心"})
    for name in ("a.json", "b.yaml", "deep/er/c.yml", "d.JSON"):
        task.save(tmp_path / name)
        assert MedicalTask.from_file(str(tmp_path / name)) == task
    task.save(tmp_path / "e.txt", format="yaml")
    assert yaml.safe_load((tmp_path / "e.txt").read_text(encoding="utf-8"))["task_id"] == "t"
    assert "恶心" in (tmp_path / "b.yaml").read_text(encoding="utf-8")
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.json",
        "b.yaml",
        "d.JSON",
        "deep",
        "e.txt",
    ]


def test_other_formats_and_missing_files_are_errors(tmp_path: Path) -> None:
    task = MedicalTask(**MINIMAL)
    for name in ("a.txt", "a"):
        with pytest.raises(ValueError, match="unsupported format"):
            task.save(tmp_path / name)
        with pytest.raises(ValueError, match="unsupported format"):
            MedicalTask.from_file(tmp_path / name)
    with pytest.raises(ValueError, match="unsupported format 'xml'"):
        task.convert("xml")
    with pytest.raises(FileNotFoundError):
        MedicalTask.from_file(tmp_path / "a.json")
    (tmp_path / "list.yaml").write_text("- a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="not a mapping"):
        MedicalTask.from_file(tmp_path / "list.yaml")
    (tmp_path / "latin.yaml").write_bytes("task_id: é\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not UTF-8"):
        MedicalTask.from_file(tmp_path / "latin.yaml")


def test_errors_do_not_repeat_what_a_patient_told() -> None:
    with pytest.raises(ValidationError) as caught:
        MedicalTask(**{**MINIMAL, "inputs": ["I am afraid to tell"]})
    assert "afraid" not in str(caught.value)
    with pytest.raises(ValueError, match="line 3") as broken:
        MedicalTask.from_yaml("inputs:\n- {afraid: [\n")
    assert "afraid" not in str(broken.value)


def test_the_dataset_as_csv_has_all_keys_in_their_first_order() -> None:
    task = MedicalTask(**MINIMAL)
    assert task.dataset_to_csv() == ""
    task.dataset = [{"b": "x, y", "a": 1}, {"a": None, "c": ["é"]}]
    assert task.dataset_to_csv().splitlines() == ["b,a,c", '"x, y",1,', ',,"[""é""]"']


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_yaml_gives_back_what_was_written(value: Any) -> None:
    assert read_yaml(write_yaml(value)) == value


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "12:30", "2150-01-01", "0389", "1_000", "0x1F"]
)
def test_unquoted_text_of_yaml_stays_text(text: str) -> None:
    assert read_yaml(f"answer: {text}") == {"answer": text}


def test_a_key_of_yaml_that_stands_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 2: the key 'answer' stands twice"):
        read_yaml("answer: a\nanswer: b\n")


@given(st.lists(st.dictionaries(TEXT.filter(bool), TEXT, min_size=1), max_size=4))
def test_csv_of_texts_comes_back(rows: list[dict[str, str]]) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    assert rows_from_csv(rows_to_csv(rows)) == [
        {key: row.get(key, "") for key in keys} for row in rows
    ]


def test_example_of_what_is_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        MedicalTask(
            task_id="", task_type="invalid_type", inputs=[], expected_outputs=[{}], metrics=[""]
        )
    assert fields_at_fault(caught.value) == ["inputs", "metrics", "task_id", "task_type"]


@pytest.mark.parametrize("task_type", ["QA", " qa", "diagnostic-reasoning", 1, None])
def test_task_types_match_exactly(task_type: Any) -> None:
    assert refused(task_type=task_type) == ["task_type"]


def test_example_of_a_question_task() -> None:
    task = MedicalTask(
        task_id="task_123",
        task_type=TaskType.QA,
        description="Answer a question.",
        inputs=[QUESTION],
        expected_outputs=[ANSWER],
        metrics=["accuracy", "f1_score"],
    )
    assert task.expected_outputs == [ANSWER]
    assert (task.name, task.dataset, task.schema_version) == (None, [], 1)


def test_example_of_a_diagnostic_task() -> None:
    task = MedicalTask(
        task_id="diagnosis",
        task_type=TaskType.DIAGNOSTIC_REASONING,
        inputs=[{"symptoms": ["fever", "cough", "dyspnoea"], "age": 45, "gender": "M"}],
        expected_outputs=[
            {
                "diagnosis": "pneumonia",
                "confidence": 0.92,
                "differential_diagnosis": ["bronchitis", "tuberculosis"],
            }
        ],
        metrics=["accuracy", "precision", "recall", "f1_score"],
    )
    task.validate()
    assert MedicalTask.model_validate_json(task.model_dump_json(indent=2)) == task
    result = EvaluationResult(
        model_id="m",
        task_id=task.task_id,
        inputs=task.inputs,
        model_outputs=task.expected_outputs,
        metrics_results={"accuracy": 1.0},
        metadata={"model_version": "1", "evaluation_time_seconds": 2.5},
    )
    result.validate_against_task(task)
    assert result.timestamp.utcoffset() is not None
