"""What a run adds to the client it stands on: time, CPU and memory beside a plain loop.

python -m benchmarks.bench_runner                            # both parts, and the page
python -m benchmarks.bench_runner --only speed --runs 5      # one; the other is kept
python -m benchmarks.bench_runner --render                   # the page, nothing is measured
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.asking import PACKAGES, asked, completion, endpoint, in_turns, ratio
from benchmarks.pages import Benchmark, Ratio, say

if TYPE_CHECKING:
    from medeval.inference.types import Sample

MODULE = "benchmarks.bench_runner"
MODEL, ANSWER = "bench", "A"
# About the length of a note, so that holding all of them at once shows in the memory.
NOTE = "The patient was admitted with abdominal pain. " * 150
REPLY = completion(MODEL, ANSWER, prompt_tokens=1500, completion_tokens=1)


def speed(
    requests: int = 1000, reply_ms: int = 50, concurrency: int = 64, runs: int = 5
) -> dict[str, Any]:
    """Both ways in turns, against an endpoint that takes its time."""
    return in_turns(MODULE, reply_ms, requests, concurrency, runs)


def memory(concurrency: int = 64, few: int = 5_000, many: int = 50_000) -> dict[str, Any]:
    """Both ways with few items and with many, against an endpoint that answers at once."""
    found: dict[str, Any] = {"concurrency": concurrency}
    with endpoint(MODULE, 0) as (url, _):
        for name, count in (("few", few), ("many", many)):
            runs = {way: asked(MODULE, way, url, count, concurrency) for way in ("ours", "loop")}
            found[name] = {"items": count, "runs": runs}
            say(f"{count:,} items: " + "; ".join(f"{way} {runs[way]['usage']}" for way in runs))
    return found


def items(count: int) -> Iterator[Sample]:
    """Yield the items, each with a text of its own."""
    from medeval.inference.types import Sample

    for number in range(count):
        yield Sample(f"{number:08}", [{"role": "user", "content": f"{number}. {NOTE}"}], "open")


def ours(url: str, count: int, concurrency: int, folder: Path) -> Callable[[], Path]:
    """Ask as the project does, with journal and audit; the work returns the file of the answers."""
    from medeval.inference.guard import DataUseGuard
    from medeval.inference.openai_model import OpenAIModel
    from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, settings_of

    def work() -> Path:
        model = OpenAIModel(url, MODEL, DataUseGuard({}, folder / AUDIT))
        run = Run(folder, settings_of(model, "1"), model)
        run.execute(items(count), RunConfig(concurrency))
        return folder / RESPONSES

    return work


def loop(url: str, count: int, concurrency: int, folder: Path) -> Callable[[], Path]:
    """Ask as scripts usually do: a task per item behind a semaphore, one file at the end."""
    import medeval.inference.engine  # noqa: F401  so that both processes hold the same modules

    async def gathered() -> list[dict[str, str | None]]:
        from openai import AsyncOpenAI

        client = AsyncOpenAI(api_key="none", base_url=url)
        limit = asyncio.Semaphore(concurrency)

        async def one(item: Sample) -> dict[str, str | None]:
            async with limit:
                told = str(item.messages[0]["content"])
                made = await client.chat.completions.create(
                    model=MODEL, messages=[{"role": "user", "content": told}]
                )
                return {"item": item.id, "text": made.choices[0].message.content}

        return await asyncio.gather(*(one(item) for item in items(count)))

    def work() -> Path:
        answers = folder / "answers.jsonl"
        text = "".join(json.dumps(line) + "\n" for line in asyncio.run(gathered()))
        answers.write_text(text, encoding="utf-8")
        return answers

    return work


def ended(answers: Path) -> int:
    """Return how many items have their answer in a file."""
    with answers.open(encoding="utf-8") as file:
        return sum(json.loads(line)["text"] == ANSWER for line in file)


def reply(body: bytes) -> bytes:
    """Return the same answer to everything."""
    return REPLY


def rows(name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the row of the table of all benchmarks."""
    if name == "speed":
        yield ratio("asking", f"{part['items']:,} requests", part)


BENCHMARK = Benchmark(
    "runner",
    "runner",
    {"speed": speed, "memory": memory},
    lambda part: PACKAGES,
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
