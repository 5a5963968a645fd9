"""What a judged run takes beside a plain loop, how fast it starts, and what it loses: nothing.

python -m benchmarks.bench_judging                           # all parts, and the page
python -m benchmarks.bench_judging --only speed --runs 5     # one; the others are kept
python -m benchmarks.bench_judging --render                  # the page, nothing is measured
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.asking import PACKAGES, asked, completion, endpoint, in_turns, ratio
from benchmarks.measuring import function
from benchmarks.pages import Benchmark, Ratio, say

MODULE = "benchmarks.bench_judging"
MODEL = "bench"
JUDGES = ("judge-a", "judge-b", "judge-c")
RUBRIC = "mtsamples_procedures"
PLAN = "Rest, fluids and paracetamol; review in one week, earlier if the fever returns. " * 12
# About the lengths of the public notes and of their references.
QUESTION = "The patient was brought to the operating room and prepared in the usual manner. " * 16
REFERENCE = "Follow up in the clinic in two weeks for removal of sutures. " * 12
OPINION = {"explanation": "Most of what the reference names is there. " * 3, "score": 4}
VERDICT = json.dumps(dict.fromkeys(("accuracy", "completeness", "clarity"), OPINION))
_MARKER = re.compile(rb"\\n(VERDICT-[0-9a-f]{16})(?=\\n|\")")


def speed(
    items: int = 131, reply_ms: int = 50, concurrency: int = 64, runs: int = 5
) -> dict[str, Any]:
    """Both ways in turns; an item is four calls, of which three judges make the last."""
    return in_turns(MODULE, reply_ms, items, concurrency, runs)


def start(runs: int = 5) -> dict[str, Any]:
    """Python with all imports of a judged run."""
    taken = [function(f"{MODULE}:imports") for _ in range(runs)]
    say(f"start: {min(usage.wall_s for usage in taken):.2f} s")
    return {"runs": taken}


def limited(
    items: int = 131, reply_ms: int = 50, server_limit: int = 8, limited_concurrency: int = 32
) -> dict[str, Any]:
    """Ours against an endpoint that takes fewer calls at a time than are made."""
    with endpoint(MODULE, reply_ms, server_limit) as (url, refused):
        run = asked(MODULE, "ours", url, items, limited_concurrency)
    say(f"limited: {run['ended']} of {items} items, {refused[0]} calls refused")
    return {
        "items": items,
        "concurrency": limited_concurrency,
        "server_limit": server_limit,
        "reply_ms": reply_ms,
        "run": run,
        "refused": refused[0],
    }


def ours(url: str, count: int, concurrency: int, folder: Path) -> Callable[[], int]:
    """Answer and judge as the project does, with journals and audit."""
    from medeval.inference.guard import DataUseGuard
    from medeval.inference.openai_model import OpenAIModel
    from medeval.inference.run import AUDIT, RESPONSES, Run, RunConfig, read_answers, settings_of
    from medeval.inference.types import Sample
    from medeval.judging.jury import Judge, Jury
    from medeval.judging.prompt import Subject
    from medeval.judging.rubric import shipped_rubric
    from medeval.judging.running import Judging

    items = [
        Sample(f"{number:05}", [{"role": "user", "content": question(number)}], "open")
        for number in range(count)
    ]

    def work() -> int:
        gate = DataUseGuard({}, folder / AUDIT)
        model = OpenAIModel(url, MODEL, gate)
        Run(folder, settings_of(model, "1"), model).execute(items, RunConfig(concurrency))
        subjects = [
            Subject(answer.item, question(int(answer.item)), answer.line["text"], REFERENCE, "open")
            for answer in read_answers(folder / RESPONSES, items)
        ]
        # All judges together have as many calls under way as the model had.
        options = RunConfig(concurrency=concurrency // len(JUDGES))
        jury = Jury(judges=tuple(Judge(name, url, key_variable="none") for name in JUDGES))
        results = Judging(subjects, jury, shipped_rubric(RUBRIC), folder).run(options, gate)
        return sum(
            each.judges_used == len(JUDGES) and each.reward_judged is not None
            for each in results.subjects
        )

    return work


def loop(url: str, count: int, concurrency: int, folder: Path) -> Callable[[], int]:
    """Answer and judge as scripts usually do: all in memory, one file at the end."""
    from medeval.judging.prompt import JudgePrompt, Subject
    from medeval.judging.rubric import shipped_rubric

    # The same prompts and parameters; making them is not among what is measured.
    rubric = shipped_rubric(RUBRIC)
    parameters: dict[str, Any] = {"temperature": 0, "max_completion_tokens": 1024}
    parameters["response_format"] = rubric.response_format()
    subjects = (Subject(f"{n:05}", question(n), PLAN, REFERENCE, "open") for n in range(count))
    prompts = [JudgePrompt(rubric).messages(subject, 0) for subject in subjects]

    async def gathered() -> list[dict[str, Any]]:
        from openai import AsyncOpenAI

        client = AsyncOpenAI(api_key="none", base_url=url)
        limit = asyncio.Semaphore(concurrency)

        async def ask(model: str, messages: Any, **more: Any) -> str:
            async with limit:
                made = await client.chat.completions.create(model=model, messages=messages, **more)
                return str(made.choices[0].message.content)

        async def one(number: int) -> dict[str, Any]:
            answer = await ask(MODEL, [{"role": "user", "content": question(number)}])
            calls = (ask(judge, prompts[number], **parameters) for judge in JUDGES)
            told = await asyncio.gather(*calls)
            verdicts = [json.loads(text[text.index("{") :]) for text in told]
            scores = [own["score"] for verdict in verdicts for own in verdict.values()]
            reward = sum(scores) / (5 * len(scores))
            return {"item": number, "answer": answer, "judges": told, "reward": reward}

        return await asyncio.gather(*(one(number) for number in range(count)))

    def work() -> int:
        rows = asyncio.run(gathered())
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "answers.jsonl").write_text(text, encoding="utf-8")
        return sum(row["reward"] is not None for row in rows)

    return work


def question(number: int) -> str:
    """Return the text of an item, each of its own."""
    return f"{number}. {QUESTION}"


def ended(rewarded: int) -> int:
    """Return how many items came to a reward."""
    return rewarded


def imports() -> None:
    """Import what a judged run needs."""
    import openai  # noqa: F401

    import medeval.cli
    import medeval.commands.progress
    import medeval.judging.running
    import medeval.tasks.mtsamples.task  # noqa: F401


def reply(body: bytes) -> bytes:
    """Return a plan, or a verdict behind the marker that the prompt asks for."""
    markers = _MARKER.findall(body)
    text = f"{markers[-1].decode()}\n{VERDICT}" if markers else PLAN
    return completion(MODEL, text, prompt_tokens=900, completion_tokens=120)


def rows(name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the row of the table of all benchmarks."""
    if name == "speed":
        yield ratio("answering and judging", f"{part['items']:,} items, 3 judges", part)


BENCHMARK = Benchmark(
    "judging",
    "judging",
    {"speed": speed, "start": start, "limited": limited},
    lambda part: PACKAGES,
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
