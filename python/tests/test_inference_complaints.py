"""What endpoints complain of: a prompt that is too long, and a role that they do not take."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import answering, bedside, case, in_order, loops
from inference_runs import ask, content, named_parts, open_items, provider_of, run_record
from model_server import Body, Fault, Script, error, model_server

from medeval.cdm.transcripts import read_transcripts
from medeval.inference.errors import TOO_LONG, Failure, Kind, failure_of_response
from medeval.inference.openai_model import SYSTEM_ROLE, ParameterFallbacks
from medeval.inference.tokens import ServerTokens
from medeval.inference.types import Item, Outcome

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = "x" * 300


def failure(status: int, message: str, **more: Any) -> Failure:
    return failure_of_response(status, {}, json.dumps({"error": {"message": message, **more}}), NOW)


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (400, "This model's maximum context length is 8192 tokens.", {}),
        (400, "input length and `max_tokens` exceed context limit: 190 + 20 > 200", {}),
        (400, "Too many tokens in prompt", {}),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081", {}),
        (422, "`inputs` must have less than 4096 tokens. Given: 5000", {}),
        (400, "Range of input length should be [1, 6000]", {}),
        (400, "This model's maximum prompt length is 131072 but the request has 200000", {}),
        (400, "Prompt exceeds max length", {"code": "1261"}),
        (400, "?", {"code": "1261"}),
        (400, "Your request exceeded model token limit: 8192", {}),
        (400, "the prompt goes beyond the session_len 4096", {}),
        (500, "context size exceeded", {}),
        (400, "The number of tokens to keep is greater than the context length", {}),
        (400, "Your input exceeds the context window of this model.", {"param": "input"}),
        (400, "too long", {"code": "string_above_max_length", "param": "messages[1].content"}),
        (400, f"litellm.BadRequestError: {LONG_AGO}: prompt is too long: 210 tokens", {}),
        (400, "Provider returned error", {"metadata": {"raw": "context_length_exceeded"}}),
        (413, "Request Entity Too Large", {}),
        # vLLM: the reply asked for has no room behind this prompt.
        (
            400,
            "'max_tokens' is too large: 1024. This model's maximum context length is 8192 tokens"
            " and your request has 7500 input tokens (1024 > 8192 - 7500).",
            {"param": "max_tokens"},
        ),
    ],
)  # fmt: skip
def test_a_prompt_that_is_too_long_is_known_by_its_words(
    status: int, message: str, more: dict[str, Any]
) -> None:
    found = failure(status, message, **more)
    assert (found.kind, found.code, found.is_passing) == (Kind.REQUEST, TOO_LONG, False)
    assert found.without_detail().is_overflow
    assert len(found.detail) <= 200


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (400, "Unsupported parameter: context_window", {}),
        (400, "max_tokens must be below max_model_len", {}),
        (400, "max_tokens must not exceed the maximum context length", {}),
        (400, "exceeds the context length", {"param": "max_tokens"}),
        (400, "input is too long for field user", {}),
        (400, "too long", {"code": "string_above_max_length", "param": "user"}),
        (400, "Too many tokens per minute", {}),
        (
            400,
            "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens"
            " and your request has 75 input tokens (9000 > 8192 - 75).",
            {},
        ),
        (404, "maximum context length", {}),
        (503, "context size exceeded", {}),
        (500, "The server had an error", {}),
    ],
)
def test_another_complaint_is_no_prompt_that_is_too_long(
    status: int, message: str, more: dict[str, Any]
) -> None:
    found = failure(status, message, **more)
    assert found.code != TOO_LONG
    assert not found.is_overflow


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "System role not supported"),
        (422, "Template error: invalid operation: System role not supported (in <string>:1)"),
        (500, f"While executing {LONG_AGO}: Jinja Exception: System role not supported"),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (400, "Only user and assistant roles are supported!"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    ],
)
def test_a_system_message_that_is_refused_goes_as_words_of_the_user(
    tmp_path: Path, status: int, message: str
) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        has_one = any(one["role"] == "system" for one in body["messages"])
        return error(status, message) if has_one else None

    with model_server(Script(fault, in_order(answering()))) as server:
        bedside(server.url, tmp_path, loops([case(1), case(2)]))
        bodies = server.seen.bodies
    assert [one.outcome for one in read_transcripts(tmp_path, [case(1), case(2)])] == [
        Outcome.ANSWERED
    ] * 2
    # Learned once, recorded, and nothing of it lost.
    assert len(bodies) == 3
    assert run_record(tmp_path)["learned"] == {SYSTEM_ROLE: "user"}
    system, user = bodies[0]["messages"]
    (only,) = bodies[-1]["messages"]
    assert only["role"] == "user"
    assert only["content"].startswith(system["content"] + "\n\nHistory of the patient:")
    assert bodies[1]["messages"][0]["content"] == f"{system['content']}\n\n{user['content']}"


def test_a_refused_role_without_a_system_message_is_an_error(tmp_path: Path) -> None:
    fault = error(400, "Conversation roles must alternate user/assistant/user/assistant/...")
    with model_server(Script(lambda body, before: fault)) as server:
        ask(server.url, tmp_path, open_items(1))
        assert server.seen.requests == 1
    assert content(tmp_path)[0]["outcome"] == "errored"
    own = "After the optional system message, conversation roles must alternate user/assistant/..."
    messages = [{"role": "system", "content": "s"}, {"role": "tool", "content": "t"}]
    assert not named_parts(failure(400, own), {}, messages)


def test_system_messages_without_words_of_the_user_behind_them() -> None:
    adaptation = ParameterFallbacks()
    adaptation.recall({SYSTEM_ROLE: "user"})
    system = {"role": "system", "content": "s"}
    reply = {"role": "assistant", "content": "a"}
    user = {"role": "user", "content": "s"}
    assert adaptation.messages([system]) == [user]
    assert adaptation.messages([system, reply]) == [user, reply]
    assert adaptation.messages([reply]) == [reply]
    assert ParameterFallbacks().messages([system, reply]) == [system, reply]


@pytest.mark.parametrize(
    "message",
    [
        "Invalid schema for response_format 'x': schema must be of type object",
        "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'.",
    ],
)
def test_another_fault_of_a_form_teaches_nothing(message: str) -> None:
    assert not named_parts(failure(400, message), {"response_format": {"type": "json_object"}})


def test_a_tokenizer_that_takes_no_system_message_counts_without(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault:
        has_one = any(one["role"] == "system" for one in body["messages"])
        return error(400, "System role not supported") if has_one else Fault(200, {"count": 7})

    async def counted(url: str) -> int:
        provider = provider_of(url, tmp_path)
        messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
        try:
            return await ServerTokens(provider).count(Item("a", messages, "open"))
        finally:
            await provider.close()

    with model_server(Script(fault)) as server:
        assert asyncio.run(counted(server.url)) == 7
        assert server.seen.bodies[-1]["messages"] == [{"role": "user", "content": "s\n\nu"}]
