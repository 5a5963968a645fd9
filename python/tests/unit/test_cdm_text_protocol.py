"""Replies in the one layout of the text protocol, and final answers, as their tables say.

How JSON itself is read is held by readers/test_replies.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from cdm_cases import facts, table
from hypothesis import given
from hypothesis import strategies as st

from medeval.tasks.cdm.facts import ARGUMENTS, prompt
from medeval.tasks.cdm.text_protocol import (
    FinalAnswer,
    arguments_in,
    partial_answer,
    read_answer,
    read_text_reply,
    treatments_in,
)
from medeval.tasks.cdm.tools import TOOLS, understood

ROWS = table("cdm_replies")
COLITIS = FinalAnswer("Colitis", ("a", "b"), "t")


@pytest.mark.parametrize(("text", "is_as_asked"), ROWS["actions"])
def test_an_action_is_read_and_a_deviation_is_counted(text: str, is_as_asked: bool) -> None:
    reply = read_text_reply(text, TOOLS)
    ((call, arguments),) = reply.calls
    assert (call.name, arguments) == ("request_lab_test", {"test_name": "CBC"})
    assert (reply.answer, not reply.customs) == (None, is_as_asked)


@pytest.mark.parametrize("given_as", ROWS["inputs"])
def test_two_arguments_are_told_apart(given_as: str) -> None:
    reply = read_text_reply(f"Action: request_imaging\nAction Input: {given_as}", TOOLS)
    ((_, arguments),) = reply.calls
    assert arguments is not None
    request = understood(arguments["region"], arguments["modality"], facts().imaging)
    assert request == ("Abdomen", "CT", None)


@pytest.mark.parametrize(("text", "is_as_asked"), ROWS["answers"])
def test_answer_in_the_layout_is_read(text: str, is_as_asked: bool) -> None:
    reply = read_text_reply(text, TOOLS)
    assert (reply.calls, bool(reply.customs), reply.answer) == ((), not is_as_asked, COLITIS)


@pytest.mark.parametrize(("text", "action"), ROWS["no_answers"])
def test_what_is_in_another_layout_is_no_answer(text: str, action: str) -> None:
    reply = read_text_reply(text, TOOLS)
    assert ("".join(call.name for call, _ in reply.calls), reply.answer) == (action, None)
    assert "rebound" not in str(reply.message["content"])


@given(st.lists(st.sampled_from([*ROWS["parts"], *TOOLS]), max_size=30).map("".join))
def test_no_layout_breaks_the_reading(text: str) -> None:
    reply = read_text_reply(text, TOOLS)
    assert text.startswith(str(reply.message["content"]).removesuffix(prompt("no_reply")))
    assert not (reply.calls and reply.answer)
    for names in ARGUMENTS.values():
        arguments_in(text, names)


@pytest.mark.parametrize("kind", ["json_answers", "no_json_answers"])
def test_whole_answers_are_read_under_each_of_their_names(kind: str) -> None:
    whole = COLITIS if kind == "json_answers" else None
    assert [text for text in ROWS[kind] if read_answer(text) != whole] == []


@pytest.mark.parametrize(("text", "treatments"), ROWS["treatments"])
def test_treatments_are_told_apart(text: str, treatments: list[str]) -> None:
    assert list(treatments_in(text)) == treatments


TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300)
TRIMMED = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() == text)


@given(TEXT, TRIMMED, st.lists(TRIMMED))
def test_what_is_written_as_asked_is_read_as_written_and_no_text_breaks_the_reading(
    text: str, diagnosis: str, treatment: list[str]
) -> None:
    answer = FinalAnswer(diagnosis, tuple(treatment), "because")
    assert read_answer(f"```json\n{json.dumps(asdict(answer), indent=2)}\n```") == answer
    read_answer(text)
    partial_answer(text)
