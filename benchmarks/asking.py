"""An endpoint that answers after a fixed time, and ways of asking it, each a process of its own.

A benchmark's module has two functions for each way. `ours` and `loop` take an address, a number of
items, a concurrency and a folder, and return the work itself; `ended` says how many items the work
brought to their end, and `reply` is the body that answers a request's body.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT, function, function_command
from benchmarks.pages import Ratio, largest, say

PACKAGES = ("medeval", "openai", "httpx2")
_REFUSAL = b'{"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}'
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@contextmanager
def endpoint(module: str, milliseconds: int, limit: int = 0) -> Iterator[tuple[str, list[int]]]:
    """Run a server in a process of its own.

    Args:
        module: whose `reply` it gives.
        milliseconds: that every answer takes.
        limit: what comes while so many others are being answered is refused; 0: nothing is.

    Yields:
        Its address, and a list that holds the number of refused calls when it has ended.
    """
    refused: list[int] = []
    words = function_command("benchmarks.asking:serve", module, milliseconds, limit)
    pipe = subprocess.PIPE
    process = subprocess.Popen(list(map(str, words)), cwd=ROOT, stdin=pipe, stdout=pipe, text=True)  # noqa: S603  our own
    try:
        assert process.stdout  # noqa: S101  it is a pipe
        yield process.stdout.readline().strip(), refused
    finally:
        refused.append(int(process.communicate()[0]))


def asked(module: str, way: str, url: str, count: int, concurrency: int) -> dict[str, Any]:
    """Measure one way of asking: what the asking took, and the whole process."""
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as folder:
        words = (module, way, url, count, concurrency, folder)
        usage = function("benchmarks.asking:timed", *words)
        took = json.loads((Path(folder) / "asked.json").read_text(encoding="utf-8"))
    return {**took, "usage": usage}


def in_turns(
    module: str, milliseconds: int, count: int, concurrency: int, runs: int
) -> dict[str, Any]:
    """Measure both ways in turns, so that what else happens meets both, and ours on fewer items."""
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "loop": []}
    with endpoint(module, milliseconds) as (url, _):
        for number in range(1, runs + 1):
            for way, taken in found.items():
                taken.append(asked(module, way, url, count, concurrency))
                took = taken[-1]
                say(f"{way}, run {number}: {took['wall_s']:.2f} s, CPU {took['cpu_s']:.2f} s")
        fewer = [round(count * part / 10) for part in (1, 2, 4)]
        growth = [asked(module, "ours", url, few, concurrency) for few in fewer]
    size = {"items": count, "concurrency": concurrency, "reply_ms": milliseconds}
    return {**size, "runs": found, "growth": growth}


def ratio(what: str, n: str, part: dict[str, Any]) -> Ratio:
    """Return the row of both ways for the table of all benchmarks; each way's best run counts."""
    ours, loop = part["runs"]["ours"], part["runs"]["loop"]
    fastest = min(run["wall_s"] for run in ours)
    return Ratio(
        what,
        "bare AsyncOpenAI loop",
        n,
        "wall s of the asking",
        fastest,
        min(run["wall_s"] for run in loop),
        largest(run["usage"] for run in ours),
        largest(run["usage"] for run in loop),
        [*(run["wall_s"] for run in part["growth"]), fastest],
    )


def timed(module: str, way: str, url: str, count: str, concurrency: str, folder: str) -> None:
    """Do the work of one way, write what it took, and end with 1 unless every item ended."""
    import openai  # noqa: F401  so that its import is in neither figure

    programs = import_module(module)
    work = getattr(programs, way)(url, int(count), int(concurrency), Path(folder))
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    ended = programs.ended(result)
    text = json.dumps({**took, "ended": ended})
    (Path(folder) / "asked.json").write_text(text, encoding="utf-8")
    if ended != int(count):
        sys.exit(f"{ended} of {count} items came to their end")


def completion(model: str, text: str, prompt_tokens: int, completion_tokens: int) -> bytes:
    """Return the body of a reply in OpenAI's form."""
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    usage["total_tokens"] = prompt_tokens + completion_tokens
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": model}
    return json.dumps({**body, "choices": choices, "usage": usage}).encode()


def serve(module: str, milliseconds: str, limit: str) -> None:
    """Print an address, answer there until standard input ends, and print how many were refused."""
    reply = import_module(module).reply
    asyncio.run(_serve(int(milliseconds) / 1000, int(limit), reply))


async def _serve(seconds: float, limit: int, reply: Callable[[bytes], bytes]) -> None:
    refused = under_way = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal refused, under_way
        try:
            while True:
                length = _LENGTH.search(await reader.readuntil(b"\r\n\r\n"))
                body = await reader.readexactly(int(length[1]) if length else 0)
                status, told = "429 Too Many Requests", _REFUSAL
                if limit and under_way >= limit:
                    refused += 1
                else:
                    under_way += 1
                    try:
                        await asyncio.sleep(seconds)
                    finally:
                        under_way -= 1
                    status, told = "200 OK", reply(body)
                head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: "
                writer.write(f"{head}{len(told)}\r\n\r\n".encode() + told)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(refused, flush=True)
    server.close()
