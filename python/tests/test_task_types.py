"""The task classes: construction, loading of rows, and evaluation at three levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tables import table

from medeval.errors import UserError
from medeval.models.csv_rows import rows_to_csv
from medeval.models.task_types import (
    ClinicalSummarizationTask,
    CommunicationTask,
    DiagnosticReasoningTask,
    EvaluatedTask,
    MedicalQATask,
)

TABLES = table("task_types")

QUESTION = {"input": {"question": "What does a cuff measure?"}, "output": {"answer": "pressure"}}
GOLD_ROWS: dict[type[EvaluatedTask], list[dict[str, Any]]] = {
    MedicalQATask: [
        QUESTION,
        {"input": {"question": "First drug for T2DM?"}, "output": {"answer": "Metformin"}},
    ],
    DiagnosticReasoningTask: [
        {
            "input": {"case": "60M chest pain, troponin 0.9"},
            "output": {"diagnosis": "MI", "rationale": "Because of chest pain, troponin 0.9"},
        },
        {
            "input": {"case": "30F fever and cough"},
            "output": {"diagnosis": "pneumonia", "rationale": "Given fever and cough"},
        },
    ],
    ClinicalSummarizationTask: [
        {
            "input": {"document": "Patient with HTN on 5 mg of lisinopril. No fever."},
            "output": {"summary": "HTN, lisinopril 5 mg, no fever"},
        },
        {
            "input": {"document": "Asthma for 10 years, uses albuterol."},
            "output": {"summary": "Asthma 10 years, albuterol"},
        },
    ],
    CommunicationTask: [
        {
            "input": {"prompt": "I have a fever. What can I take?"},
            "output": {"response": "Take paracetamol for the fever, 500 mg, and rest."},
        },
        {
            "input": {"prompt": "Do I need antibiotics for a cough?"},
            "output": {"response": "A cough seldom needs antibiotics. Come back after 7 days."},
        },
    ],
}
CLASSES = list(GOLD_ROWS)


def task_of(kind: type[EvaluatedTask]) -> EvaluatedTask:
    return kind("demo", dataset=GOLD_ROWS[kind])


def test_the_documented_question_scores_1() -> None:
    task = MedicalQATask("qa-demo")
    task.dataset = [{"input": {"question": "q"}, "output": {"answer": "blood pressure"}}]
    scores = task.evaluate([{"answer": "blood pressure"}])
    assert scores == {"accuracy": 1.0, "clinical_correctness": 1.0}


def test_the_documented_diagnosis_scores_1() -> None:
    task = DiagnosticReasoningTask("dx-demo")
    task.dataset = [{"input": {"case": "60M chest pain"}, "output": {"diagnosis": "ACS"}}]
    scores = task.evaluate([{"diagnosis": "ACS", "explanation": "because of ST elevation"}])
    assert scores == {"diagnostic_accuracy": 1.0, "reasoning_quality": 1.0}


def test_the_documented_summary_scores_as_documented() -> None:
    task = ClinicalSummarizationTask("sum-demo")
    task.dataset = [
        {"input": {"document": "Patient with HTN and DM."}, "output": {"summary": "HTN, DM."}}
    ]
    outputs = [{"summary": "HTN, DM."}]
    scores = {"rouge_l": 1.0, "clinical_relevance": 0.0, "factual_consistency": 1.0}
    assert task.evaluate(outputs) == scores
    # The true metric knows what HTN and DM are.
    assert task.evaluate(outputs, level="proper") == {**scores, "clinical_relevance": 1.0}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_task_made_of_an_id_has_the_defaults_of_its_class(kind: type[EvaluatedTask]) -> None:
    task = kind("demo", "A demo.")
    assert (task.task_id, task.name, task.description) == ("demo", "demo", "A demo.")
    assert task.task_type == kind.own_type
    assert task.input_schema == {"required": [kind.own_input]}
    assert task.output_schema == {"required": [kind.own_output]}
    assert task.metrics == list(kind.simple_metrics)
    assert task.inputs == [{kind.own_input: ""}]
    assert kind(task_id="demo", description="A demo.") == task
    assert kind("demo", name="Demo").name == "Demo"


def test_wrong_constructions_are_refused() -> None:
    with pytest.raises(ValidationError, match="MedicalQATask is for task_type 'qa'"):
        MedicalQATask("x", task_type="summarization")
    with pytest.raises(TypeError, match="only task_id and description"):
        MedicalQATask("x", "y", "z")
    with pytest.raises(ValidationError, match="task_id"):
        MedicalQATask()
    with pytest.raises(ValidationError, match="task_id"):
        MedicalQATask(" ")
    with pytest.raises(ValidationError, match="at least one item"):
        MedicalQATask("x", inputs=[])
    with pytest.raises(ValidationError, match="at least one item"):
        MedicalQATask("x", inputs=[], dataset=[QUESTION])
    with pytest.raises(ValidationError, match="question"):
        MedicalQATask("x", dataset=[{"input": {"q": "?"}, "output": {"answer": "a"}}])


def test_rows_replace_blank_placeholders_alone() -> None:
    blank = MedicalQATask("x", inputs=[{"question": ""}], dataset=[QUESTION])
    assert blank.inputs == [QUESTION["input"]]
    assert blank.expected_outputs == [QUESTION["output"]]
    kept = MedicalQATask("x", inputs=[{"question": "other"}], dataset=[QUESTION])
    assert kept.inputs == [{"question": "other"}]
    assigned = MedicalQATask("x")
    assigned.dataset = [QUESTION]
    assert assigned.inputs == [QUESTION["input"]]
    assigned.dataset = [{"input": {"question": "new"}, "output": {"answer": "a"}}]
    assert assigned.inputs == [QUESTION["input"]]
    assert assigned.pairs() == ([{"question": "new"}], [{"answer": "a"}])


def test_assigning_rows_that_cannot_be_used_checks_nothing() -> None:
    task = MedicalQATask("x")
    task.dataset = [{"input": "text"}]
    assert task.inputs == [{"question": ""}]
    with pytest.raises(ValueError, match=r"dataset.input\[0\] is not a mapping"):
        task.evaluate([{"answer": "a"}])


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (DiagnosticReasoningTask, {"symptoms": "fever"}, {"case": "fever"}),
        (
            DiagnosticReasoningTask,
            {"symptoms": ["fever", "cough"], "age": 45},
            {"age": 45, "case": "fever; cough"},
        ),
        (
            DiagnosticReasoningTask,
            {"case": "a case", "symptoms": "fever"},
            {"case": "a case", "symptoms": "fever"},
        ),
        (ClinicalSummarizationTask, {"text": "t"}, {"document": "t"}),
        (ClinicalSummarizationTask, {"note": "n"}, {"document": "n"}),
        (CommunicationTask, {"patient_message": "m"}, {"prompt": "m"}),
        (
            CommunicationTask,
            {"patient_message": "m", "context": "c"},
            {"prompt": "m\n\nContext: c"},
        ),
    ],
)
def test_other_names_of_the_input_are_read(
    kind: type[EvaluatedTask], given: dict[str, Any], expected: dict[str, Any]
) -> None:
    nested = kind("x", dataset=[{"input": given, "output": {kind.own_output: "gold"}}])
    flat = kind("x", dataset=[{**given, kind.own_output: "gold"}])
    bare = kind("x", inputs=[given])
    assigned = kind("x")
    assigned.dataset = [{"input": given, "output": {kind.own_output: "gold"}}]
    for task in (nested, flat, bare, assigned):
        assert task.inputs == [expected]
        assert task.pairs()[0] == [expected]


def test_the_answer_is_the_key_that_the_schema_asks_for() -> None:
    task = MedicalQATask(
        "nli",
        metrics=["accuracy", "f1_score", "precision", "recall"],
        input_schema={"required": ["premise", "hypothesis"]},
        output_schema={"required": ["label"]},
        dataset=[
            {"premise": "Afebrile.", "hypothesis": "Has fever.", "label": "contradiction"},
            {"premise": "T 39.5.", "hypothesis": "Has fever.", "label": "entailment"},
        ],
    )
    assert task.target == "label"
    assert task.inputs[0] == {"premise": "Afebrile.", "hypothesis": "Has fever."}
    scores = task.evaluate([{"label": "Contradiction"}, {"label": "neutral"}], level="proper")
    assert scores == {"accuracy": 0.5, "f1_score": 0.5, "precision": 0.5, "recall": 0.5}
    assert task.evaluate([{"label": "contradiction"}, {"label": "x"}])["accuracy"] == 0.5


@pytest.mark.parametrize("kind", CLASSES)
def test_the_gold_scores_1_and_an_empty_output_0_or_nothing(kind: type[EvaluatedTask]) -> None:
    task = task_of(kind)
    gold = [row["output"] for row in GOLD_ROWS[kind]]
    for name, value in task.evaluate(gold, level="proper").items():
        assert value == 1 or name == "readability", name
    for name, value in task.evaluate([{}, {}], level="proper").items():
        assert value in (0, None), name


def test_references_are_the_outputs_of_the_rows_where_there_are_any() -> None:
    task = MedicalQATask("x", dataset=[QUESTION])
    task.expected_outputs = [{"answer": "other"}]
    assert task.evaluate([{"answer": "pressure"}])["accuracy"] == 1
    without = MedicalQATask("x", dataset=[{"input": {"question": "q"}}])
    without.expected_outputs = [{"answer": "other"}]
    assert without.evaluate([{"answer": "other"}])["accuracy"] == 1


@pytest.mark.parametrize("outputs", [[], [{"answer": "pressure"}] * 2])
def test_lengths_that_differ(outputs: list[dict[str, str]]) -> None:
    task = MedicalQATask("x", dataset=[QUESTION])
    with pytest.warns(UserWarning, match=f"{len(outputs)} model outputs for 1 references"):
        scores = task.evaluate(outputs)
    assert scores["accuracy"] == (1 if outputs else 0)
    with pytest.raises(ValueError, match="model outputs for 1 references"):
        task.evaluate(outputs, strict=True)
    for level in ("calculator", "proper"):
        with pytest.raises(ValueError, match="model outputs for 1 references"):
            task.evaluate(outputs, level=level)


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", ["json", "csv"])
@pytest.mark.parametrize("kind", CLASSES)
def test_rows_are_read_from_a_file(kind: type[EvaluatedTask], suffix: str, tmp_path: Path) -> None:
    rows = GOLD_ROWS[kind]
    nested = rows if suffix == "json" else rows_to_csv(rows)
    flat_rows = [{**row["input"], **row["output"]} for row in rows]
    flat = flat_rows if suffix == "json" else rows_to_csv(flat_rows)
    for name, content in (("nested", nested), ("flat", flat)):
        task = kind("x")
        task.load_data(write(tmp_path, f"{name}.{suffix}", content))
        assert task.inputs == [row["input"] for row in rows]
        assert task.expected_outputs == [row["output"] for row in rows]
        assert len(task.dataset) == 2
        gold = [row["output"] for row in rows]
        assert all(
            value == 1 or name == "readability"
            for name, value in task.evaluate(gold, level="proper").items()
        )


def test_rows_without_an_output_have_an_empty_expected_one(tmp_path: Path) -> None:
    task = MedicalQATask("x")
    task.load_data(write(tmp_path, "rows.json", [QUESTION, {"input": {"question": "open"}}]))
    assert task.expected_outputs == [QUESTION["output"], {}]
    task.load_data(write(tmp_path, "rows.csv", 'input,output\n"{""question"": ""q""}",\n'))
    assert (task.inputs, task.expected_outputs) == ([{"question": "q"}], [{}])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    TABLES["rows_that_cannot_be_used_change_nothing"],
)
def test_rows_that_cannot_be_used_change_nothing(
    tmp_path: Path, name: str, content: object, message: str
) -> None:
    task = MedicalQATask("x", dataset=[QUESTION])
    before = task.model_dump()
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=message) as raised:
        task.load_data(path)
    assert str(path) in str(raised.value)
    assert task.model_dump() == before


def test_bad_calls_are_refused() -> None:
    task = MedicalQATask("x", dataset=[QUESTION])
    with pytest.raises(ValueError, match="unknown level 'best'"):
        task.evaluate([{"answer": "a"}], level="best")  # type: ignore[arg-type]
    for level in ("simple", "calculator", "proper"):
        with pytest.raises(ValueError, match=r"model_outputs\[0\] is a str"):
            task.evaluate(["pressure"], level=level)  # type: ignore[list-item]


def test_an_unknown_metric_is_an_error_before_anything_is_scored() -> None:
    task = MedicalQATask("x", dataset=[QUESTION], metrics=["accuracy", "acuracy"])
    with pytest.raises(UserError, match=r"Unknown metric 'acuracy'\. Did you mean accuracy"):
        task.evaluate([], level="proper")


def test_an_explicit_schema_keeps_its_own_keys() -> None:
    schema = {"required": ["patient_message"]}
    row = {"input": {"patient_message": "m"}, "output": {"response": "r"}}
    task = CommunicationTask("x", input_schema=schema, dataset=[row])
    assert task.inputs == [{"patient_message": "m"}]
    assert task.target == "response"
