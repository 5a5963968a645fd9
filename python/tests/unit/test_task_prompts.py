"""What a model is shown of a task, its reply read as an output, and what the demo answers."""

from __future__ import annotations

import inspect
import json
from fnmatch import fnmatchcase as fnmatch
from typing import Any

import pytest
from harness_runs import BUNDLED, BUNDLED_IDS
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from medeval.evaluation import task_prompts
from medeval.evaluation.task_prompts import (
    TASK_PROMPT_VERSION,
    demo_answer,
    messages_for,
    output_from_reply,
    parameters_for,
)
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row, required_keys
from medeval.models.task_types import TASK_CLASSES

TABLES = table("task_prompts")


def task_of(kind: str, **fields: Any) -> MedicalTask:
    return MedicalTask(task_id="t", task_type=kind, inputs=[{"question": "?"}], **fields)


QA = task_of("qa")


def prompt(task: MedicalTask, row: Row) -> str:
    messages = messages_for(task)(row)
    assert [one["role"] for one in messages] in (["system", "user"], ["user"])
    return "\n".join(one["content"] for one in messages)


@pytest.mark.parametrize("name", BUNDLED_IDS)
def test_a_prompt_holds_its_input_and_nothing_of_its_gold(name: str) -> None:
    task = BUNDLED.load_task(name)
    inputs, expected = task.pairs()
    for row, shown, gold in zip(task.dataset, inputs, expected, strict=True):
        text = prompt(task, shown)
        assert all(value in text for value in shown.values())
        for value in gold.values():
            assert not any(one in text for one in (value if isinstance(value, list) else [value]))
        # The gold is not looked at, so another one changes nothing.
        assert text == prompt(task, row) == prompt(task, {**row, "output": {"answer": "other"}})


@pytest.mark.parametrize(("kind", "fields", "row", "held", "withheld"), TABLES["prompts"])
def test_a_prompt_shows_what_it_may(
    kind: str, fields: Row, row: Row, held: list[str], withheld: list[str]
) -> None:
    task = task_of(kind, **fields)
    text = prompt(task, row)
    assert [part for part in held if part not in text] == []
    asked = text + json.dumps(parameters_for(task))
    assert [part for part in withheld if part in asked] == []


@pytest.mark.parametrize(("kind", "fields", "row", "said"), TABLES["conversations"])
def test_examples_stand_before_questions(kind: str, fields: Row, row: Row, said: list[str]) -> None:
    task = TASK_CLASSES[kind]("t", inputs=[row], **fields)
    messages = messages_for(task)(row)
    roles = [one["role"] for one in messages if one["role"] != "system"]
    assert roles == ["user", "assistant", "user"]
    assert len(messages) == len(said)
    for message, pattern in zip(messages, said, strict=True):
        assert fnmatch(message["content"], pattern.replace("[", "[[]")), message["content"]
    asks_for_json = kind == "qa" and not fields.get("prompt")
    assert bool(parameters_for(task)) == asks_for_json


@pytest.mark.parametrize(("reply", "answer"), TABLES["choices"])
def test_a_reply_is_read_as_the_letters_of_options(reply: str, answer: str | None) -> None:
    row = {"question": "q", "options": ["one", "two", "three", "four"]}
    task = TASK_CLASSES["multiple_choice"]("t", inputs=[row])
    assert output_from_reply(task, reply, row) == (answer and {"answer": answer})


def test_a_prompt_without_a_form_takes_the_reply_as_the_answer() -> None:
    task = task_of("diagnostic_reasoning", prompt="{question}")
    assert output_from_reply(task, "pulmonary embolism") == {"diagnosis": "pulmonary embolism"}
    assert output_from_reply(task, '{"diagnosis": "PE"}') == {"diagnosis": "PE"}


def test_an_input_with_nothing_to_show_is_an_error() -> None:
    with pytest.raises(ValueError, match="t: an input with nothing in it"):
        messages_for(QA)({"question": " ", "answer": "yes"})
    assert TASK_PROMPT_VERSION == "task-1"


@pytest.mark.parametrize(("schema", "target"), TABLES["targets"])
def test_the_output_schema_names_the_answer(schema: Row, target: str) -> None:
    task = task_of("qa", output_schema=schema)
    assert task.target == target
    keys = {*schema.get("required", ()), *schema.get("properties", ())}
    form = parameters_for(task)["response_format"]
    assert set(form["json_schema"]["schema"]["required"]) == keys


@pytest.mark.parametrize(
    ("kind", "schema", "reply", "output"), [*TABLES["replies"], ("qa", {}, '{"a":' * 20_000, None)]
)
def test_a_reply_is_read_however_wrapped(kind: str, schema: Row, reply: str, output: Any) -> None:
    assert output_from_reply(task_of(kind, output_schema=schema), reply) == output


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<&[\uff1c\u25c1")))
def test_an_answer_in_json_comes_back_as_it_was(text: str) -> None:
    answer = {"answer": f"{text}."}
    assert output_from_reply(QA, f"Well: {json.dumps(answer)}") == answer
    assert output_from_reply(QA, f"```json\n{json.dumps(answer, indent=2)}\n```") == answer


# The demo: from the question alone, the same every time, and far from perfect


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
        assert row["output"][task.target] not in inspect.getsource(task_prompts)
    assert right < 0.2 * len(task.dataset)


@pytest.mark.parametrize(("kind", "schema", "row", "expected"), table("demo_answers")["answers"])
def test_the_rules_answer(kind: str, schema: Row, row: Row, expected: Row) -> None:
    task = MedicalTask(task_id="t", task_type=kind, inputs=[{"x": "?"}], output_schema=schema)
    output = demo_answer(task, row)
    assert {name: output[name] for name in expected} == expected
    assert 0 <= output.get("confidence", 0) < 1
