"""What the measured programs have in common: an endpoint, and a watch on the asking itself."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
# What the asking took and brought, in the folder of each measured process.
ASKED = "asked.json"
_REFUSAL = b'{"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}'
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def timed(work: Callable[[], Result]) -> tuple[Result, dict[str, float]]:
    """Do the work; return what it returns, and what it took by the clock and of the CPU."""
    import openai  # noqa: F401  so that its import is in neither figure

    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def reported(folder: Path, took: Mapping[str, float], ended: int, count: int) -> int:
    """Write down what the work took and brought.

    Args:
        folder: gets the file.
        took: is written into it.
        ended: items that came to their end.
        count: all items.

    Returns:
        The exit code: 1 when an item did not come to its end.
    """
    (folder / ASKED).write_text(json.dumps(took), encoding="utf-8")
    if ended != count:
        print(f"{ended} of {count} items came to their end", file=sys.stderr)
    return int(ended != count)


def completion(model: str, text: str, prompt_tokens: int, completion_tokens: int) -> bytes:
    """Return the body of a reply in OpenAI's form."""
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }
    ).encode()


def serve(milliseconds: int, limit: int, reply: Callable[[bytes], bytes]) -> None:
    """Print an address, answer there until standard input ends, and print how many were refused.

    Args:
        milliseconds: that every answer takes.
        limit: what comes while so many others are being answered is refused; 0: nothing is.
        reply: returns the body that answers a request's body.
    """
    asyncio.run(_serve(milliseconds / 1000, limit, reply))


async def _serve(seconds: float, limit: int, reply: Callable[[bytes], bytes]) -> None:
    refused = under_way = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal refused, under_way
        try:
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(asked)
                body = await reader.readexactly(int(length[1]) if length else 0)
                if limit and under_way >= limit:
                    refused += 1
                    writer.write(_response("429 Too Many Requests", _REFUSAL))
                else:
                    under_way += 1
                    try:
                        await asyncio.sleep(seconds)
                    finally:
                        under_way -= 1
                    writer.write(_response("200 OK", reply(body)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(refused, flush=True)
    server.close()


def _response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body
