"""Documents of tasks, results and reports: what is taken and refused, written and read back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tables import refused, table

from medeval.evaluation.validators import (
    DEFAULT_SCHEMAS,
    ensure_task_schemas,
    validate_task_dataset,
)
from medeval.models import BenchmarkReport, EvaluationResult, MedicalTask

Row = dict[str, Any]

TABLES = table("documents")
MODELS = {model.__name__: model for model in (MedicalTask, EvaluationResult, BenchmarkReport)}
MINIMAL: dict[str, Row] = TABLES["minimal"]
GOLDEN_CASES = {"validation": range(49), "dataset_validation": range(17)}


def document(kind: str = "MedicalTask", **fields: Any) -> Any:
    given = {**MINIMAL[kind], **fields}
    return MODELS[kind](**{name: one for name, one in given.items() if one != "left out"})


def fields_at_fault(error: ValidationError) -> list[str]:
    return sorted({str(each["loc"][0]) if each["loc"] else "__root__" for each in error.errors()})


@pytest.mark.parametrize(("kind", "fields", "expected"), TABLES["documents"])
def test_a_document_is_read_or_refused(
    kind: str, fields: Row, expected: Any, tmp_path: Path
) -> None:
    if isinstance(expected, str):
        at_fault, _, words = expected.partition(": ")
        with pytest.raises(ValidationError) as caught:
            document(kind, **fields)
        assert fields_at_fault(caught.value) == at_fault.split()
        assert words in str(caught.value)
        assert "afraid" not in str(caught.value)  # what a patient told
        return
    made = document(kind, **fields)
    written = made.model_dump(mode="json")
    assert {name: written[name] for name in expected} == expected
    # What is optional and was not given is not written.
    optional = {"item_scores", "intervals", "metric_counts"} - expected.keys()
    assert not optional & json.loads(made.to_json()).keys()
    model = MODELS[kind]
    assert model.model_validate(made.model_dump()) == made
    assert model.model_validate_json(made.model_dump_json(indent=2)) == made
    assert model.from_dict(made.to_dict()) == made
    assert model.from_json(made.to_json()) == model.from_yaml(made.to_yaml()) == made
    for name in ("a.json", "b.yaml", "deep/er/c.yml", "d.JSON"):
        made.save(tmp_path / name)
        assert model.from_file(str(tmp_path / name)) == made


def golden(shared: Path, name: str) -> Row:
    path = shared / "golden" / "medaisure" / f"{name}.json"
    found: Row = json.loads(path.read_text(encoding="utf-8"))
    assert len(found["cases"]) == len(GOLDEN_CASES[name])
    return found


def floats_restored(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"$float"}:
            return float(value["$float"])
        return {key: floats_restored(each) for key, each in value.items()}
    return [floats_restored(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("number", GOLDEN_CASES["validation"])
def test_accepts_and_refuses_as_the_golden_cases(shared: Path, number: int) -> None:
    case = golden(shared, "validation")["cases"][number]
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


def assigned(dataset: list[Any], task_type: str = "qa", **schemas: Any) -> MedicalTask:
    """Return a task whose rows nothing has checked yet."""
    task: MedicalTask = document(task_type=task_type, inputs=[{}], **schemas)
    task.dataset = dataset
    return task


@pytest.mark.parametrize("number", GOLDEN_CASES["dataset_validation"])
def test_datasets_pass_and_fail_as_the_golden_cases(shared: Path, number: int) -> None:
    found = golden(shared, "dataset_validation")
    assert {
        kind.value: {"input": shown["required"], "output": hidden["required"]}
        for kind, (shown, hidden) in DEFAULT_SCHEMAS.items()
    } == found["default_required"]
    case = found["cases"][number]
    expected = case.get("recommended", case["expected"])
    own = case["input_schema"], case["output_schema"]
    for shown, hidden in (ensure_task_schemas(case["task_type"], *own), own):
        schemas = {"input_schema": shown or {}, "output_schema": hidden or {}}
        task = assigned(case["dataset"], case["task_type"], **schemas)
        if expected["valid"]:
            validate_task_dataset(task)
        else:
            caught = refused("dataset", validate_task_dataset, task, error=ValueError)
            for fragment in expected.get("message_contains", []):
                assert fragment in caught


@pytest.mark.parametrize(("task_type", "schemas", "rows", "message"), TABLES["rows"])
def test_rows_are_held(task_type: str, schemas: Row, rows: list[Any], message: str | None) -> None:
    task = assigned(rows, task_type, **schemas)
    for check in (lambda: validate_task_dataset(task), lambda: task.validate()):
        if message is None:
            check()
        else:
            refused(re.escape(message) + "|valid dictionary", check, error=ValueError)
    if message is None:
        task.metrics = [""]
        refused("", task.validate, error=ValidationError)


@pytest.mark.parametrize(("row", "schemas", "shown"), TABLES["shown"])
def test_what_gives_the_answer_away_is_not_shown(row: Row, schemas: Row, shown: Row) -> None:
    nested = {"input": row, "output": {"answer": "gold"}}
    flat, split = (
        MedicalTask(task_id="t", task_type="qa", dataset=[one], **schemas).pairs()
        for one in (row, nested)
    )
    assert flat[0] == [shown]
    assert set(flat[1][0].values()) == {"gold"}
    assert split == ([shown], [{"answer": "gold"}])


def test_save_takes_its_format_from_the_suffix_or_the_argument(tmp_path: Path) -> None:
    task = document(description="Übelkeit, 恶心")
    task.save(tmp_path / "e.txt", format="yaml")
    assert "恶心" in (tmp_path / "e.txt").read_text(encoding="utf-8")
    task.save(tmp_path / "a.json")
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o600
    for name in ("a.txt", "a"):
        refused("unsupported format", task.save, tmp_path / name, error=ValueError)
        refused("unsupported format", MedicalTask.from_file, tmp_path / name, error=ValueError)
    refused("unsupported format 'xml'", task.convert, "xml", error=ValueError)
    assert task.convert("yml") == task.to_yaml()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "e.txt"]
    refused("", MedicalTask.from_file, tmp_path / "b.json", error=FileNotFoundError)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
# A document holds what JSON can say, which has no infinite number.
FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_yaml_gives_back_what_was_written(value: Any) -> None:
    task = document(notes={"value": value})
    assert MedicalTask.from_yaml(task.to_yaml()) == task


@pytest.mark.parametrize("written", [".inf", "-.inf", ".nan"])
def test_number_that_json_cannot_say_is_an_error_and_not_null(written: str, tmp_path: Path) -> None:
    number = float(written.replace(".", ""))
    fault = rf"notes\.rows\[1\] is {number}, which JSON cannot say"
    about = {"notes": {"rows": [1.0, number]}}
    refused(fault, document, **about, error=ValueError)
    with pytest.raises(ValueError, match=fault):
        MedicalTask.from_yaml(f"{document().to_yaml()}notes: {{rows: [1.0, {written}]}}\n")
    # What is put in later is found when it is written, in a report's results as well.
    result = document("EvaluationResult")
    report = document("BenchmarkReport", detailed_results=[result])
    result.metadata |= about
    for suffix in ("json", "yaml"):
        for one, where in ((result, ""), (report, r"detailed_results\[0\]\.")):
            with pytest.raises(ValueError, match=rf"{where}metadata\.{fault}"):
                one.save(tmp_path / f"a.{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("text", "expected"), [*TABLES["yaml"], (f"a: {'9' * 5000}", "digits")])
def test_text_of_yaml_stays_text_and_a_fault_has_its_line(text: str, expected: Any) -> None:
    if isinstance(expected, dict):
        about = json.dumps(MINIMAL["MedicalTask"])[1:-1].replace(', "', '\n"')
        assert MedicalTask.from_yaml(f"{about}\n{text}").extra == expected
    else:
        caught = refused(expected, MedicalTask.from_yaml, text, error=ValueError)
        assert "afraid" not in caught


@given(st.lists(st.dictionaries(TEXT.filter(bool), TEXT, min_size=1), max_size=4))
def test_csv_of_texts_comes_back(rows: list[dict[str, str]]) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    text = document("EvaluationResult", inputs=rows).inputs_to_csv()
    read = EvaluationResult.from_inputs_csv("m", "t", text)
    whole = [{key: row.get(key, "") for key in keys} for row in rows]
    assert (read.model_id, read.task_id, read.inputs) == ("m", "t", whole)


def test_rows_as_csv_have_all_keys_in_their_first_order() -> None:
    task = assigned([{"b": "x, y", "a": 1}, {"a": None, "c": ["é"]}])
    assert task.dataset_to_csv().splitlines() == ["b,a,c", '"x, y",1,', ',,"[""é""]"']
    assert assigned([]).dataset_to_csv() == ""
    outputs = [{"answer": "a"}, {"confidence": 0.5}]
    made = document("EvaluationResult", model_outputs=outputs)
    read = EvaluationResult.from_outputs_csv("m", "t", made.outputs_to_csv())
    blank = {"answer": "", "confidence": ""}
    assert read.model_outputs == [{**blank, "answer": "a"}, {**blank, "confidence": "0.5"}]


@pytest.mark.parametrize(("fields", "message"), TABLES["results"])
def test_a_result_is_checked_against_its_task(fields: Row, message: str | None) -> None:
    required = {"input_schema": ["question"], "output_schema": ["answer"]}
    schemas = {name: {"required": keys} for name, keys in required.items()}
    task = document(task_id="task_123", metrics=["accuracy"], **schemas)
    result = document("EvaluationResult", **fields)
    if message is None:
        result.validate_against_task(task)
    else:
        refused(re.escape(message), result.validate_against_task, task, error=ValueError)


def test_fields_are_selected_by_their_name() -> None:
    task = document(difficulty="hard", notes={"a": 1, "b": [2]})
    assert task.to_dict(include={"task_id", "notes"}) == {"task_id": "t", "notes": task.notes}
    assert json.loads(task.to_json(include={"difficulty"})) == {"difficulty": "hard"}
    left = task.to_dict(exclude={"notes", "difficulty"})
    assert task.to_dict().keys() - left.keys() == {"notes", "difficulty"}


def test_numbers_of_numpy_are_scores_and_items_are_counted() -> None:
    made = document("EvaluationResult", metrics_results={"a": np.float32(0.5), "b": np.float64(2)})
    assert made.metrics_results == {"a": 0.5, "b": 2.0}
    same = {"count": 1.0} | dict.fromkeys(("mean", "min", "max"), 0.5)
    assert (made.metric_summary()["a"], made.has_metric("c")) == (same, False)
    assert document("EvaluationResult", model_outputs=[{}]).item_count() == 1
    unanswered = document("EvaluationResult", inputs=[{}, {}])
    assert (unanswered.item_count(), unanswered.model_outputs) == (2, [])
    assert EvaluationResult.from_json(unanswered.to_json()) == unanswered
