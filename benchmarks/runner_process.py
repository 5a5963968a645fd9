"""The programs that bench_runner measures, each a process of its own.

python -m benchmarks.runner_process serve MILLISECONDS
python -m benchmarks.runner_process ours URL ITEMS CONCURRENCY FOLDER
python -m benchmarks.runner_process loop URL ITEMS CONCURRENCY FOLDER

`serve` prints its address and answers every request after so many milliseconds until its standard
input ends. `ours` asks as the project does. `loop` asks as scripts usually do: a task per item
behind a semaphore, all answers in a list and one file at the end. Both write what the asking itself
took to FOLDER/asked.json; the client is imported before.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.runner_results import ASKED
from medeval.inference.guard import Gate
from medeval.inference.providers import EndpointSettings, OpenAICompatible
from medeval.inference.requests import Item
from medeval.inference.run_folder import AUDIT, RESPONSES, RunFolder
from medeval.inference.runner import RunOptions, run, settings_of

MODEL = "bench"
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


def items(count: int) -> Iterator[Item]:
    """Yield the items, each with a text of its own."""
    for number in range(count):
        messages = [{"role": "user", "content": f"{number}. {NOTE}"}]
        yield Item(f"{number:08}", messages, "open")


@contextmanager
def timed(folder: Path) -> Iterator[None]:
    """Write down what a block took, by the clock and of the CPU."""
    import openai  # noqa: F401  so that its import is in neither figure

    wall, cpu = time.perf_counter(), time.process_time()
    yield
    took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    (folder / ASKED).write_text(json.dumps(took), encoding="utf-8")


def ours(url: str, count: int, concurrency: int, folder: Path) -> Path:
    """Ask as the project does, with journal and audit; return the file of the answers."""
    with timed(folder):
        provider = OpenAICompatible(EndpointSettings(url, MODEL), Gate({}, folder / AUDIT))
        place = RunFolder(folder, settings_of(provider, "1"))
        run(items(count), provider, place, RunOptions("1", concurrency))
    return folder / RESPONSES


def loop(url: str, count: int, concurrency: int, folder: Path) -> Path:
    """Ask as scripts usually do; return the file of the answers."""
    answers = folder / "answers.jsonl"
    with timed(folder):
        texts = asyncio.run(_gathered(url, count, concurrency))
        answers.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    return answers


async def _gathered(url: str, count: int, concurrency: int) -> list[dict[str, str | None]]:
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

    return await asyncio.gather(*(one(item) for item in items(count)))


async def serve(seconds: float) -> None:
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
                if seconds:
                    await asyncio.sleep(seconds)
                writer.write(response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"http://{host}:{port}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


def main() -> int:
    """Run one program; 1 when an item was not answered."""
    kind, *words = sys.argv[1:]
    if kind == "serve":
        asyncio.run(serve(int(words[0]) / 1000))
        return 0
    url, count, concurrency, folder = words
    ask = {"ours": ours, "loop": loop}[kind]
    answers = ask(url, int(count), int(concurrency), Path(folder))
    with answers.open(encoding="utf-8") as file:
        answered = sum(json.loads(line)["text"] == "A" for line in file)
    if answered != int(count):
        print(f"{answered} of {count} items were answered", file=sys.stderr)
    return int(answered != int(count))


if __name__ == "__main__":
    sys.exit(main())
