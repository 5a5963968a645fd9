"""Failures are told apart before anything is tried again: by a table of what endpoints answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows_of

from medeval.inference.errors import FOR_ALL, PASSING, Failure, failure_of_response
from medeval.inference.openai_replies import read_reply
from medeval.inference.types import Reply

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
GIVEN = {"status", "message", "error", "headers", "body", "asked"}


@pytest.mark.parametrize("row", rows_of("endpoint_errors"))
def test_error_of_an_endpoint_is_classified(row: dict[str, Any]) -> None:
    error = {"message": row.get("message", ""), **row.get("error", {})}
    body = row.get("body", json.dumps({"error": error}, ensure_ascii=False))
    asked, status = row.get("asked", ""), row["status"]
    found: Reply | Failure
    if status == 200:
        found = read_reply(body, asked)
    else:
        found = failure_of_response(status, row.get("headers", {}), body, NOW, asked)
    assert isinstance(found, Failure)
    read = {
        "kind": found.kind,
        "passes": found.kind in PASSING,
        "stops": found.kind in FOR_ALL,
        "wait": found.retry_after,
        "complaint": found.code,
        "by_words": found.is_by_words,
        "tools": found.refuses_tools,
        "detail": found.detail,
    }
    expected = {name: value for name, value in row.items() if name not in GIVEN}
    assert expected
    assert {name: read[name] for name in expected} == expected
    # What the endpoint wrote is in the detail only, and short.
    assert len(found.detail) <= 200
    shown = json.dumps(found.recorded(is_open=False)) + found.sentence()
    assert "patient" not in shown


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from([
            *("error", "code", "type", "param", "message", "status", "choices", "content", "usage"),
            *("prompt_tokens", "tool_calls", "function", "arguments", "object", "retryDelay"),
        ]), inner),
    max_leaves=12,
)  # fmt: skip


@given(JSON, st.text(), st.sampled_from([200, 302, 400, 403, 413, 429, 500, 599]))
def test_whatever_comes_is_a_reply_or_a_failure(body: Any, header: str, status: int) -> None:
    text = json.dumps(body)
    assert isinstance(read_reply(text, header), Reply | Failure)
    told = {"Retry-After": header, "retry-after-ms": header}
    assert isinstance(failure_of_response(status, told, text, NOW, header), Failure)
