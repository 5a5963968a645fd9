"""Replies of a server that is broken or means no good: each is the end of its item, no more."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from inference_runs import QUICK, ask, content, open_items
from model_server import Fault, Script, model_server, prompt_of

from medeval.inference.openai_replies import LONGEST
from medeval.inference.run import RunConfig

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
