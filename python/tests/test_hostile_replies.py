"""Replies of a server that is broken or means no good: each is the end of its item, no more."""

# Full-width signs are what models write.

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

from medeval.inference.errors import Failure, failure_of_response
from medeval.inference.openai_replies import LONGEST, read_reply
from medeval.inference.run import RunConfig
from medeval.inference.types import Completion

ONCE = RunConfig(retries=QUICK.__class__(attempts=1), concurrency=2)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return json.dumps(body, ensure_ascii=False).encode()


def outcomes(folder: Path, fault: Fault) -> list[dict[str, Any]]:
    """Ask for two items, of which the first is answered with the fault."""

    def first(body: dict[str, Any], before: int) -> Fault | None:
        return fault if prompt_of(body).endswith("item-000") else None

    with model_server(Script(first)) as server:
        ended = ask(server.url, folder, open_items(2), ONCE)
    assert ended.stopped == ""
    lines = content(folder)
    assert [line["item"] for line in lines] == ["item-000", "item-001"]
    assert lines[1]["outcome"] == "answered"
    return lines


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(completion("A" * LONGEST)), {"Content-Encoding": "gzip"}),
        (gzip.compress(b" " * 3 * LONGEST), {"Content-Encoding": "gzip"}),
        (zlib.compress(completion("A" * LONGEST)), {"Content-Encoding": "deflate"}),
        (gzip.compress(gzip.compress(b"0" * LONGEST)), {"Content-Encoding": "gzip, gzip"}),
        (completion("A" * LONGEST), {}),
        (b"\x1f\x8bno", {"Content-Encoding": "gzip"}),
        (completion("A"), {"Content-Encoding": "br"}),
    ],
    ids=["gzip", "blanks", "deflate", "twice", "plain", "damaged", "unknown"],
)
@pytest.mark.parametrize("status", [200, 400])
def test_a_reply_is_cut_at_its_size_after_decompression(
    tmp_path: Path, body: bytes, headers: dict[str, str], status: int
) -> None:
    line = outcomes(tmp_path, Fault(status, body, headers))[0]
    assert (line["outcome"], line["error"]["kind"]) == ("errored", "broken_reply")
    assert (tmp_path / "responses.jsonl").stat().st_size < 5000


@pytest.mark.parametrize("charset", ["base64", "rot13", "iso-8859-1", "utf-16", "idna", "zlib"])
def test_json_is_utf_8_whatever_the_header_says(tmp_path: Path, charset: str) -> None:
    header = {"Content-Type": f"application/json; charset={charset}"}
    answered = outcomes(tmp_path / "a", Fault(200, completion("答案：é"), header))[0]
    assert (answered["outcome"], answered["text"]) == ("answered", "答案：é")
    refused = outcomes(tmp_path / "b", Fault(400, '{"error": {"message": "é"}}', header))[0]
    assert refused["error"]["detail"] == "é"


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"error": {"message": "x", "code": "4" * 5000}}),
        json.dumps({"error": {"message": "x", "status": "\uff14\uff10\uff10"}}),
        '{"error": {"message": "x", "code": ' + "4" * 5000 + "}}",
        '{"error": {"message": "x", "code": 1e999}}',
        json.dumps({"error": {"message": f"{'9' * 5000} input tokens ({'9' * 5000} > 9 - 9)"}}),
        json.dumps({"error": {"message": f"try again in {'9' * 5000}s", "code": 429}}),
        "[" * 100_000,
        '{"choices": ' * 100_000,
        '{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": '
        + "9" * 5000
        + "}}",
    ],
)
def test_numbers_and_nests_without_end_are_the_end_of_their_item(tmp_path: Path, body: str) -> None:
    for status in (200, 400):
        line = outcomes(tmp_path / str(status), Fault(status, body))[0]
        assert line["outcome"] == "errored"


def test_a_count_of_tokens_that_nobody_can_have_is_unknown(tmp_path: Path) -> None:
    body = json.loads(completion("a"))
    body["usage"] = {"prompt_tokens": 10**4200, "completion_tokens": 3}
    line = outcomes(tmp_path, Fault(200, body))[0]
    assert (line["usage"]["input_tokens"], line["usage"]["output_tokens"]) == (None, 3)


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
    assert isinstance(read_reply(text, header), Completion | Failure)
    told = {"Retry-After": header, "retry-after-ms": header}
    assert isinstance(failure_of_response(status, told, text, NOW, header), Failure)
