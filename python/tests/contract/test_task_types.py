"""The task classes: construction, loading of rows, and evaluation at three levels."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tables import refused, table

from medeval.models.task_types import TASK_CLASSES, CommunicationTask, MedicalQATask

Row = dict[str, Any]

TABLES = table("task_types")
CLASSES = {kind.__name__: kind for kind in TASK_CLASSES.values()}
QUESTION, SECOND = TABLES["gold"]["MedicalQATask"]


def assigned(kind: str, *rows: Any) -> Any:
    """Return a task whose rows were assigned, as the documented examples do."""
    task = CLASSES[kind]("demo")
    task.dataset = list(rows)
    return task


@pytest.mark.parametrize(("kind", "row", "output", "level", "scores"), TABLES["scores"])
def test_the_examples_score_as_documented(
    kind: str, row: Row, output: Row, level: Any, scores: dict[str, float]
) -> None:
    assert assigned(kind, row).evaluate([output], level=level) == scores


@pytest.mark.parametrize("kind", CLASSES.values())
def test_a_task_made_of_an_id_has_the_defaults_of_its_class(kind: type[Any]) -> None:
    task = kind("demo", "A demo.")
    assert (task.task_id, task.name, task.description) == ("demo", "demo", "A demo.")
    assert task.task_type == kind.own_type
    assert task.input_schema == {"required": [kind.own_input, *kind.other_inputs]}
    assert task.output_schema == {"required": [kind.own_output]}
    assert task.metrics == list(kind.simple_metrics)
    assert task.inputs == [{kind.own_input: ""}]
    assert kind(task_id="demo", description="A demo.") == task
    assert kind("demo", name="Demo").name == "Demo"


@pytest.mark.parametrize(("fields", "message"), TABLES["refused"])
def test_wrong_constructions_are_refused(fields: Row, message: str) -> None:
    refused(message, MedicalQATask, **fields, error=ValidationError)
    refused("only task_id and description", MedicalQATask, "x", "y", "z", error=TypeError)


def test_rows_replace_blank_placeholders_alone() -> None:
    blank = MedicalQATask("x", inputs=[{"question": ""}], dataset=[QUESTION])
    assert (blank.inputs, blank.expected_outputs) == ([QUESTION["input"]], [QUESTION["output"]])
    kept = MedicalQATask("x", inputs=[{"question": "other"}], dataset=[QUESTION])
    assert kept.inputs == [{"question": "other"}]
    task = assigned("MedicalQATask", QUESTION)
    task.dataset = [SECOND]
    assert task.inputs == [QUESTION["input"]]
    assert task.pairs() == ([SECOND["input"]], [SECOND["output"]])
    # Assigning checks nothing, and evaluating names what is wrong.
    unusable = assigned("MedicalQATask", {"input": "text"})
    assert unusable.inputs == [{"question": ""}]
    with pytest.raises(ValueError, match=r"dataset.input\[0\] is not a mapping"):
        unusable.evaluate([{"answer": "a"}])


@pytest.mark.parametrize(("kind", "given", "expected"), TABLES["aliases"])
def test_other_names_of_the_input_are_read(kind: str, given: Row, expected: Row) -> None:
    made = CLASSES[kind]
    gold = {made.own_output: "gold"}
    nested = {"input": given, "output": gold}
    for task in (
        made("x", dataset=[nested]),
        made("x", dataset=[{**given, **gold}]),
        made("x", inputs=[given]),
        assigned(kind, nested),
    ):
        assert task.inputs == task.pairs()[0] == [expected]


def test_an_explicit_schema_keeps_its_own_keys_and_names_the_answer() -> None:
    schema = {"required": ["patient_message"]}
    row = {"input": {"patient_message": "m"}, "output": {"response": "r"}}
    task: Any = CommunicationTask("x", input_schema=schema, dataset=[row])
    assert (task.inputs, task.target) == ([{"patient_message": "m"}], "response")
    task = MedicalQATask(**TABLES["own_schema"])
    assert task.target == "label"
    assert task.inputs[0] == {"premise": "Afebrile.", "hypothesis": "Has fever."}
    scores = task.evaluate([{"label": "Contradiction"}, {"label": "neutral"}], level="proper")
    assert scores == dict.fromkeys(task.metrics, 0.5)
    assert task.evaluate([{"label": "contradiction"}, {"label": "x"}])["accuracy"] == 0.5


@pytest.mark.parametrize("outputs", [[], [QUESTION["output"]] * 2])
def test_lengths_that_differ_and_other_bad_calls(outputs: list[dict[str, str]]) -> None:
    task: Any = MedicalQATask("x", dataset=[QUESTION])
    with pytest.warns(UserWarning, match=f"{len(outputs)} model outputs for 1 references"):
        scores = task.evaluate(outputs)
    assert scores["accuracy"] == (1 if outputs else 0)
    for given in ({"strict": True}, {"level": "calculator"}, {"level": "proper"}):
        with pytest.raises(ValueError, match="model outputs for 1 references"):
            task.evaluate(outputs, **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown level 'best'"):
        task.evaluate([{"answer": "a"}], level="best")  # type: ignore[arg-type]
    for level in ("simple", "calculator", "proper"):
        with pytest.raises(ValueError, match=r"model_outputs\[0\] is a str"):
            task.evaluate(["pressure"], level=level)  # type: ignore[list-item, arg-type]
    task = MedicalQATask("x", dataset=[QUESTION], metrics=["accuracy", "acuracy"])
    refused(r"Unknown metric 'acuracy'\. Did you mean accuracy", task.evaluate, [], level="proper")


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("options", "gold", "expected"), TABLES["choices"])
def test_options_are_named_by_letter_text_or_place(options: Any, gold: Row, expected: str) -> None:
    def answer() -> Any:
        row = {"question": "q", "options": options, **gold}
        return CLASSES["MultipleChoiceTask"]("x", dataset=[row]).pairs()[1][0]["answer"]

    if expected.replace(", ", "").isupper():
        assert answer() == expected
    else:
        refused(re.escape(expected), answer, error=ValueError)


@pytest.mark.parametrize("kind", CLASSES)
def test_rows_of_a_file_give_the_gold_the_maximum(kind: str, tmp_path: Path) -> None:
    rows = TABLES["gold"][kind]
    gold = [row["output"] for row in rows]
    for form in (rows, [{**row["input"], **row["output"]} for row in rows]):
        lines = assigned(kind, *form).dataset_to_csv()
        lines += "," * lines.split()[0].count(",") + "\n"
        for name, content in (("rows.json", form), ("rows.csv", lines)):
            task = CLASSES[kind]("x")
            task.load_data(write(tmp_path, name, content))
            assert (task.inputs, task.expected_outputs) == ([row["input"] for row in rows], gold)
            best = task.evaluate(gold, level="proper")
            assert {value for metric, value in best.items() if metric != "readability"} == {1}
            worst = task.evaluate([{}, {}], level="proper")
            assert set(worst.values()) <= {0, None}


@pytest.mark.parametrize(("name", "content", "message"), TABLES["files"])
def test_bad_rows_change_nothing(tmp_path: Path, name: str, content: object, message: str) -> None:
    task = MedicalQATask("x", dataset=[QUESTION])
    before = task.model_dump()
    path = write(tmp_path, name, content)
    raised = refused(re.escape(message), task.load_data, path, error=ValueError)
    assert str(path) in raised
    assert task.model_dump() == before
