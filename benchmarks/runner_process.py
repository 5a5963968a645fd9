"""The programs that bench_runner measures, each a process of its own.

python -m benchmarks.runner_process serve MILLISECONDS LIMIT
python -m benchmarks.runner_process ours URL ITEMS CONCURRENCY FOLDER
python -m benchmarks.runner_process loop URL ITEMS CONCURRENCY FOLDER

`serve` prints its address and answers every request after so many milliseconds until its standard
input ends; what comes while LIMIT others are being answered is refused (0: nothing is), and at the
end it prints how many were. `ours` asks as the project does. `loop` asks as scripts usually do: a
task per item behind a semaphore, all answers in a list and one file at the end. Both write what the
asking itself took to FOLDER/asked.json; the client is imported before.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.asking_process import completion, reported, serve, timed
from medeval.inference.guard import Gate
from medeval.inference.providers import EndpointSettings, OpenAICompatible
from medeval.inference.requests import Item
from medeval.inference.run_folder import AUDIT, RESPONSES, RunFolder
from medeval.inference.runner import RunOptions, run, settings_of

MODEL, ANSWER = "bench", "A"
# About the length of a note, so that holding all of them at once shows in the memory.
NOTE = "The patient was admitted with abdominal pain. " * 150


def items(count: int) -> Iterator[Item]:
    """Yield the items, each with a text of its own."""
    for number in range(count):
        messages = [{"role": "user", "content": f"{number}. {NOTE}"}]
        yield Item(f"{number:08}", messages, "open")


def ours(url: str, count: int, concurrency: int, folder: Path) -> Path:
    """Ask as the project does, with journal and audit; return the file of the answers."""
    provider = OpenAICompatible(EndpointSettings(url, MODEL), Gate({}, folder / AUDIT))
    place = RunFolder(folder, settings_of(provider, "1"))
    run(items(count), provider, place, RunOptions("1", concurrency))
    return folder / RESPONSES


def loop(url: str, count: int, concurrency: int, folder: Path) -> Path:
    """Ask as scripts usually do; return the file of the answers."""
    answers = folder / "answers.jsonl"
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


def answered(path: Path) -> int:
    """Return how many items have their answer in a file."""
    with path.open(encoding="utf-8") as file:
        return sum(json.loads(line)["text"] == ANSWER for line in file)


def main() -> int:
    """Run one program; 1 when an item was not answered."""
    kind, *words = sys.argv[1:]
    if kind == "serve":
        body = completion(MODEL, ANSWER, prompt_tokens=1500, completion_tokens=1)
        serve(int(words[0]), int(words[1]), lambda asked: body)
        return 0
    url, count, concurrency, name = words
    folder = Path(name)
    way = {"ours": ours, "loop": loop}[kind]
    answers, took = timed(lambda: way(url, int(count), int(concurrency), folder))
    return reported(folder, took, answered(answers), int(count))


if __name__ == "__main__":
    sys.exit(main())
