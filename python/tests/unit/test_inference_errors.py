"""Failures are told apart by what endpoints answer, and hostile replies end one item, no more."""

from __future__ import annotations

import gzip
import json
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import QUICK, ask, content, open_items
from model_server import Fault, Script, model_server, prompt_of
from tables import rows_of

from medeval.inference.errors import FOR_ALL, PASSING, Failure, failure_of_response
from medeval.inference.openai_replies import LONGEST, read_reply
from medeval.inference.run import RunConfig
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


@pytest.mark.parametrize("told", ["{error} {request}", "{request} {error}"])
def test_complaint_beside_a_long_request_that_it_repeats_is_read(told: str) -> None:
    request = "the balance of the patient is insufficient " * 2_500
    error = "This model's maximum context length is 8192 tokens"
    message = told.format(error=error, request=request)
    for body in (message, json.dumps({"error": {"message": message}})):
        found = failure_of_response(400, {}, body, NOW, request)
        assert found.code == "context_length_exceeded"
        assert "patient" not in found.detail
        assert failure_of_response(429, {}, body, NOW, request).kind == "limit"


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


# Replies of a server that is broken or means no good


GZIP = {"Content-Encoding": "gzip"}


def completion(text: str, **more: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}
    return json.dumps(body, ensure_ascii=False).encode()


def events(*pieces: dict[str, Any]) -> str:
    each = ({"choices": [{"index": 0, "delta": {}, **piece}]} for piece in pieces)
    return "".join(f"data: {json.dumps(event)}\n\n" for event in each) + "data: [DONE]\n\n"


def answered_with(folder: Path, faults: list[Fault]) -> list[dict[str, Any]]:
    """Ask for an item that each fault answers, and one more, which is answered."""
    script = Script(lambda body, before: dict(enumerate(faults)).get(int(prompt_of(body)[-3:])))
    options = RunConfig(retries=QUICK.__class__(attempts=1), concurrency=1)
    with model_server(script) as server:
        # The one that is answered goes first: another form would stop the run before an answer.
        ended = ask(server.url, folder, open_items(len(faults) + 1)[::-1], options)
    assert ended.stopped == ""
    *found, last = content(folder)
    assert (last["outcome"], len(found)) == ("answered", len(faults))
    return found


SIZES = [
    (gzip.compress(completion("A" * LONGEST)), GZIP),
    (gzip.compress(b" " * 3 * LONGEST), GZIP),
    (zlib.compress(completion("A" * LONGEST)), {"Content-Encoding": "deflate"}),
    (gzip.compress(gzip.compress(b"0" * LONGEST)), {"Content-Encoding": "gzip, gzip"}),
    (completion("A" * LONGEST), {}),
    (b"\x1f\x8bno", GZIP),
    (completion("A"), {"Content-Encoding": "br"}),
]


def test_a_reply_is_cut_at_its_size_after_decompression(tmp_path: Path) -> None:
    faults = [Fault(status, body, headers) for body, headers in SIZES for status in (200, 400)]
    kinds = {line["error"]["kind"] for line in answered_with(tmp_path, faults)}
    assert kinds == {"broken_reply"}
    assert (tmp_path / "responses.jsonl").stat().st_size < 1000 * len(faults)


def test_numbers_and_nests_without_end_are_the_end_of_their_item(tmp_path: Path) -> None:
    many = "9" * 5000
    bodies = [
        json.dumps({"error": {"message": "x", "code": "4" * 5000}}),
        json.dumps({"error": {"message": "x", "status": "\uff14\uff10\uff10"}}),
        '{"error": {"message": "x", "code": ' + "4" * 5000 + "}}",
        '{"error": {"message": "x", "code": 1e999}}',
        json.dumps({"error": {"message": f"{many} input tokens ({many} > 9 - 9)"}}),
        json.dumps({"error": {"message": f"try again in {many}s", "code": 429}}),
        *("[" * 200_000, '{"choices": ' * 100_000),
        '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": ' + many + "}}",
        events({"delta": {"tool_calls": [{}] * 9000}}, {"finish_reason": "stop"}),
    ]
    faults = [Fault(status, body) for body in bodies for status in (200, 400)]
    outcomes = {line["outcome"] for line in answered_with(tmp_path, faults)}
    assert outcomes == {"errored"}


def test_long_streams_and_counts_that_nobody_can_have_are_read(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10**4200, "completion_tokens": 3}
    pieces = [{"delta": {"content": "A" * 40}}] * 50_000
    counted, streamed = answered_with(
        tmp_path,
        [
            Fault(200, completion("A", usage=usage)),
            Fault(200, events(*pieces, {"finish_reason": "stop"})),
        ],
    )
    assert (counted["usage"]["input_tokens"], counted["usage"]["output_tokens"]) == (None, 3)
    assert streamed["text"] == "A" * 2_000_000
