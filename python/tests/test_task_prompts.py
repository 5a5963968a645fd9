"""What a chat model is asked for a task, and its reply read as an output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir
from medeval.evaluation.task_prompts import (
    TASK_PROMPT_VERSION,
    messages_for,
    output_from_reply,
    response_schema_for,
)
from medeval.models.medical_task import MedicalTask

TABLES = table("task_prompts")

LOADER = TaskLoader(bundled_tasks_dir())
BUNDLED = sorted(LOADER.discover_tasks())


def task_of(kind: str, output_schema: dict[str, Any] | None = None, **fields: Any) -> MedicalTask:
    given = {"inputs": [{"question": "?"}], **fields}
    return MedicalTask(task_id="t", task_type=kind, output_schema=output_schema or {}, **given)


QA = task_of("qa")
DIAGNOSIS = task_of("diagnostic_reasoning")


def prompt(task: MedicalTask, row: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in messages_for(task, row))


@pytest.mark.parametrize("name", BUNDLED)
def test_a_prompt_holds_its_input_and_nothing_of_its_gold(name: str) -> None:
    task = LOADER.load_task(name)
    inputs, expected = task.pairs()
    for row, shown, gold in zip(task.dataset, inputs, expected, strict=True):
        text = prompt(task, shown)
        for value in shown.values():
            assert value in text
        for value in gold.values():
            for each in value if isinstance(value, list) else [value]:
                assert each not in text
        # The gold is not looked at, so another one changes nothing.
        assert text == prompt(task, row) == prompt(task, {**row, "output": {"answer": "other"}})


def test_the_conversation_is_a_system_and_a_user_message_with_the_description() -> None:
    task = task_of("qa", description="Name the organ.")
    roles = [message["role"] for message in messages_for(task, {"question": "Which one?"})]
    assert roles == ["system", "user"]
    assert "Name the organ." in messages_for(task, {"question": "Which one?"})[0]["content"]
    assert TASK_PROMPT_VERSION == "task-1"


@pytest.mark.parametrize(
    "key", ["answer", "label", "rationale", "explanation", "differential_diagnosis", "output"]
)
def test_a_key_that_gives_the_answer_away_is_shown_only_if_the_input_schema_names_it(
    key: str,
) -> None:
    row = {"question": "Which one?", key: "GIVEN AWAY"}
    assert "GIVEN AWAY" not in prompt(QA, row)
    named = task_of("qa", input_schema={"required": ["question", key]})
    assert "GIVEN AWAY" in prompt(named, row)


def test_keys_of_the_output_schema_are_not_shown() -> None:
    schema = {"required": ["grade"], "properties": {"remark": {"example": "GOLD EXAMPLE"}}}
    task = task_of("qa", schema)
    text = prompt(task, {"question": "Which one?", "grade": "GOLD ONE", "remark": "GOLD TWO"})
    assert "GOLD" not in text
    assert "GOLD" not in json.dumps(response_schema_for(task))


def test_ids_and_empty_values_are_not_shown() -> None:
    row = {"id": "PATIENT-7", "question": "Which one?", "context": "", "age": None, "labs": []}
    text = prompt(QA, row)
    assert "PATIENT-7" not in text
    assert "Context" not in text
    assert "Age" not in text
    assert "Labs" not in text
    assert "Age:\n0" in prompt(QA, {**row, "age": 0})


def test_lists_are_shown_as_lines_and_other_values_as_json() -> None:
    text = prompt(DIAGNOSIS, {"symptoms": ["fever", "咳嗽"], "vital_signs": {"pulse": 90}})
    assert "Symptoms:\n- fever\n- 咳嗽\n\nVital signs:\n" in text
    assert '{"pulse": 90}' in text


def test_an_input_with_nothing_to_show_is_an_error() -> None:
    with pytest.raises(ValueError, match="t: an input with nothing in it"):
        messages_for(QA, {"question": " ", "answer": "yes"})


def test_a_diagnosis_is_asked_for_with_ranking_reasons_and_confidence() -> None:
    keys = ["diagnosis", "differential_diagnosis", "explanation", "confidence"]
    assert response_schema_for(DIAGNOSIS)["required"] == keys
    assert all(f'- "{key}": ' in prompt(DIAGNOSIS, {"symptoms": "x"}) for key in keys)


def test_the_output_schema_says_what_is_asked_for() -> None:
    label = {"type": "string", "enum": ["entailment", "neutral"], "description": "the relation"}
    task = task_of("qa", {"required": ["label"], "properties": {"label": label}})
    assert task.target == "label"
    assert response_schema_for(task)["properties"] == {
        "label": {"type": "string", "enum": ["entailment", "neutral"]}
    }
    assert '- "label": the relation, one of "entailment", "neutral"' in prompt(task, {"premise": 1})


def test_the_usual_answer_is_the_main_one_where_the_schema_has_it() -> None:
    assert task_of("qa", {"required": ["sources", "answer"]}).target == "answer"
    assert task_of("qa", {"required": ["grade", "sources"]}).target == "grade"
    assert task_of("qa", {"properties": {"answer": {}}}).target == "answer"


@pytest.mark.parametrize(
    "reply",
    TABLES["a_reply_is_read_however_it_is_wrapped"],
)
def test_a_reply_is_read_however_it_is_wrapped(reply: str) -> None:
    assert output_from_reply(QA, reply) == {"answer": "pancreas"}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n",
        '{"answer": "pancr',
        'Here you are: {"answer": "pancr',
        '```json\n{"answer": "pancr',
        '{"answer": null}',
        '{"answer": " "}',
        '{"answer": NaN}',
        '{"steps": [{"answer": "pancreas"}',
        '{"result": "pancreas"}',
        '["pancreas"]',
        "<think>it is the pancreas",
        "Answer:",
        '{"a":' * 20_000,
    ],
)
def test_a_reply_without_an_answer_is_none(reply: str) -> None:
    assert output_from_reply(QA, reply) is None


def test_keys_that_metrics_know_are_kept_and_spelled_as_they_are_known() -> None:
    reply = '{"Diagnosis": "PE", "Differential-Diagnosis": ["PE", "MI"], "mood": "good"}'
    assert output_from_reply(DIAGNOSIS, reply) == {
        "diagnosis": "PE",
        "differential_diagnosis": ["PE", "MI"],
    }
    assert output_from_reply(QA, '{"answer": "yes", "rationale": "seen"}') == {
        "answer": "yes",
        "rationale": "seen",
    }


def test_plain_text_is_no_answer_where_more_than_one_text_is_asked_for() -> None:
    assert output_from_reply(DIAGNOSIS, "pulmonary embolism") is None
    choices = {"label": {"enum": ["yes", "no"]}}
    task = task_of("qa", {"required": ["label"], "properties": choices})
    assert output_from_reply(task, "it could be yes or no") is None
    assert output_from_reply(task, '{"label": "no"}') == {"label": "no"}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<&[\uff1c\u25c1")))
def test_an_answer_in_json_comes_back_as_it_was(text: str) -> None:
    answer = {"answer": f"{text}."}
    assert output_from_reply(QA, f"Well: {json.dumps(answer)}") == answer
    assert output_from_reply(QA, f"```json\n{json.dumps(answer, indent=2)}\n```") == answer


@given(st.text())
def test_any_reply_is_read_or_refused(text: str) -> None:
    for task in (QA, DIAGNOSIS):
        read = output_from_reply(task, text)
        assert read is None or task.target in read
