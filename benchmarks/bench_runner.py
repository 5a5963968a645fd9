"""What a run adds to the client it stands on: journal, audit and bounds beside a plain loop.

python -m benchmarks.bench_runner
python -m benchmarks.bench_runner --items 20000 --concurrency 64

Both ask the same endpoint on this machine, which answers at once, in the same call: ours with a
journal, an audit and items from an iterator; the baseline as it is usually written, a task per
item behind a semaphore, all answers in a list and one file at the end. Both start a process, and
its start is in the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.processes import CommandFailedError, Usage, measure
from medeval.inference.guard import Gate
from medeval.inference.providers import EndpointSettings, OpenAICompatible
from medeval.inference.requests import Item
from medeval.inference.run_folder import AUDIT, RunFolder
from medeval.inference.runner import RunOptions, run, settings_of

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "benchmarks.bench_runner"]
MODEL = "answers-at-once"
OURS, LOOP = "ours", "loop"
# About the length of a note, so that holding all of them at once shows in the memory.
NOTE = "The patient was admitted with abdominal pain. " * 150
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": MODEL,
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 1500, "completion_tokens": 1, "total_tokens": 1501},
}


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_runner",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--items", type=int, default=5000, help="asked by each (default: 5000)")
    add("--concurrency", type=int, default=32, help="under way at a time (default: 32)")
    add("--runs", type=int, default=3, help="of each, the best counts (default: 3)")
    add("--serve", action="store_true", help=argparse.SUPPRESS)
    add("--ask", choices=[OURS, LOOP], help=argparse.SUPPRESS)
    add("--url", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if min(arguments.items, arguments.concurrency, arguments.runs) < 1:
        parser.error("items, concurrency and runs are counted from 1")
    return arguments


def items(count: int) -> Iterator[Item]:
    """Yield the items, each with a text of its own."""
    for number in range(count):
        messages = [{"role": "user", "content": f"{number}. {NOTE}"}]
        yield Item(f"{number:08}", messages, "open")


def ask_with_a_run(url: str, count: int, concurrency: int, folder: Path) -> None:
    """Ask as the project does."""
    provider = OpenAICompatible(EndpointSettings(url, MODEL), Gate({}, folder / AUDIT))
    place = RunFolder(folder, settings_of(provider, "1"))
    ended = run(items(count), provider, place, RunOptions("1", concurrency))
    if ended.progress.ledger.counts["answered"] != count:
        raise CommandFailedError(str(ended.progress.as_json()))


async def ask_in_a_loop(url: str, count: int, concurrency: int, folder: Path) -> None:
    """Ask as scripts usually do."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="none", base_url=url)
    limit = asyncio.Semaphore(concurrency)

    async def one(item: Item) -> dict[str, str | None]:
        async with limit:
            completion = await client.chat.completions.create(
                model=MODEL,
                messages=[{"role": "user", "content": str(item.messages[0]["content"])}],
            )
            return {"item": item.id, "text": completion.choices[0].message.content}

    answers = await asyncio.gather(*(one(item) for item in items(count)))
    text = "".join(json.dumps(answer) + "\n" for answer in answers)
    (folder / "answers.jsonl").write_text(text, encoding="utf-8")


async def serve() -> None:
    """Answer every request with the same completion until standard input ends."""
    body = json.dumps(COMPLETION).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    response = head.encode() + b"\r\n\r\n" + body

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                headers = asked.decode("latin-1").lower().split("\r\n")
                lengths = [line for line in headers if line.startswith("content-length:")]
                await reader.readexactly(int(lengths[0].split(":")[1]))
                writer.write(response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


@contextmanager
def endpoint() -> Iterator[str]:
    """Run the server in a process of its own and give its address."""
    command = [*PROGRAM, "--serve"]
    process = subprocess.Popen(  # noqa: S603  the benchmark's own command
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout  # noqa: S101  it is a pipe
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


def measured(kind: str, url: str, arguments: argparse.Namespace) -> Usage:
    """Measure one way of asking, in a process of its own."""
    sizes = ["--items", str(arguments.items), "--concurrency", str(arguments.concurrency)]
    return measure([*PROGRAM, "--ask", kind, "--url", url, *sizes], ROOT)


def table(best: dict[str, Usage], arguments: argparse.Namespace) -> Table:
    """Return the figures of both and their ratios."""
    title = f"{arguments.items:,} items, {arguments.concurrency} at a time"
    shown = Table("", "wall s", "user CPU s", "peak MB", title=title, box=box.SIMPLE)
    for kind, used in best.items():
        shown.add_row(kind, f"{used.wall_s:.2f}", f"{used.user_s:.2f}", f"{used.peak_mb:.0f}")
    ours, loop = best[OURS], best[LOOP]
    shown.add_row(
        "ours / loop",
        f"{ours.wall_s / loop.wall_s:.2f}",
        f"{ours.user_s / loop.user_s:.2f}",
        f"{ours.peak_mb / loop.peak_mb:.2f}",
    )
    return shown


def main() -> int:
    """Measure both, one after the other and in turns, and print them."""
    arguments = parse()
    if arguments.serve:
        asyncio.run(serve())
        return 0
    if arguments.ask:
        with tempfile.TemporaryDirectory() as name:
            sizes = (arguments.url, arguments.items, arguments.concurrency, Path(name))
            if arguments.ask == OURS:
                ask_with_a_run(*sizes)
            else:
                asyncio.run(ask_in_a_loop(*sizes))
        return 0
    console = Console()
    used: dict[str, list[Usage]] = {OURS: [], LOOP: []}
    with endpoint() as url:
        for number in range(1, arguments.runs + 1):
            for kind, usages in used.items():
                usages.append(measured(kind, url, arguments))
                console.print(f"{kind}, run {number}: {usages[-1].wall_s:.2f} s")
    best = {kind: min(usages, key=lambda usage: usage.wall_s) for kind, usages in used.items()}
    console.print(table(best, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
