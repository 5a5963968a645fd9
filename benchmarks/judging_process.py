"""The programs that bench_judging measures, each a process of its own.

python -m benchmarks.judging_process serve MILLISECONDS LIMIT
python -m benchmarks.judging_process ours URL ITEMS CONCURRENCY FOLDER
python -m benchmarks.judging_process loop URL ITEMS CONCURRENCY FOLDER
python -m benchmarks.judging_process start

`serve` prints its address and answers every request after so many milliseconds until its standard
input ends; what comes while LIMIT others are being answered is refused (0: nothing is), and at the
end it prints how many were. `ours` and `loop` answer and judge the items, and write what that took
to FOLDER/asked.json. `start` imports what a judged run needs.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.asking_process import completion, reported, serve, timed

MODEL = "bench"
JUDGES = ("judge-a", "judge-b", "judge-c")
RUBRIC = "mtsamples_procedures"
PLAN = "Rest, fluids and paracetamol; review in one week, earlier if the fever returns. " * 12
# About the lengths of the public notes and of their references.
QUESTION = "The patient was brought to the operating room and prepared in the usual manner. " * 16
REFERENCE = "Follow up in the clinic in two weeks for removal of sutures. " * 12
VERDICT = {
    name: {"explanation": "Most of what the reference names is there. " * 3, "score": 4}
    for name in ("accuracy", "completeness", "clarity")
}
_MARKER = re.compile(rb"\\n(VERDICT-[0-9a-f]{16})(?=\\n|\")")


def ours(url: str, count: int, concurrency: int, folder: Path) -> tuple[int, Callable[[], int]]:
    """Answer and judge as the project does, with journals and audit."""
    from medeval.inference.answers import read_answers
    from medeval.inference.guard import Gate
    from medeval.inference.providers import EndpointSettings, OpenAICompatible
    from medeval.inference.requests import Item
    from medeval.inference.run_folder import AUDIT, RESPONSES, RunFolder
    from medeval.inference.runner import RunOptions, run, settings_of
    from medeval.judging.judges import Judge
    from medeval.judging.options import JudgingOptions
    from medeval.judging.rubric import shipped_rubric
    from medeval.judging.running import run_judges
    from medeval.judging.subjects import Subject

    items = [
        Item(f"{number:05}", [{"role": "user", "content": question(number)}], "open")
        for number in range(count)
    ]

    def work() -> int:
        gate = Gate({}, folder / AUDIT)
        provider = OpenAICompatible(EndpointSettings(url, MODEL), gate)
        place = RunFolder(folder, settings_of(provider, "1"))
        run(items, provider, place, RunOptions("1", concurrency))
        subjects = [
            Subject(answer.item, question(int(answer.item)), answer.text, REFERENCE, "open")
            for answer in read_answers(folder / RESPONSES, items)
        ]
        # All judges together have as many calls under way as the model had.
        options = JudgingOptions(RunOptions(concurrency=concurrency // len(JUDGES)), gate)
        judges = [Judge(name, base_url=url, needs_key=False) for name in JUDGES]
        results = run_judges(subjects, judges, shipped_rubric(RUBRIC), folder, options)
        return sum(
            each.judges_used == len(JUDGES) and each.reward_judged is not None
            for each in results.subjects
        )

    return count * (1 + len(JUDGES)), work


def loop(url: str, count: int, concurrency: int, folder: Path) -> tuple[int, Callable[[], int]]:
    """Answer and judge as scripts usually do: all in memory, one file at the end."""
    from medeval.judging.judges import Judge
    from medeval.judging.prompt import JudgePrompt
    from medeval.judging.rubric import shipped_rubric
    from medeval.judging.subjects import Subject

    # The same prompts and parameters; making them is not among what is measured.
    rubric = shipped_rubric(RUBRIC)
    parameters = Judge(JUDGES[0]).all_parameters(rubric)
    prompts = [
        JudgePrompt(rubric).messages(
            Subject(f"{number:05}", question(number), PLAN, REFERENCE, "open"), 0
        )
        for number in range(count)
    ]

    def work() -> int:
        rows = asyncio.run(_gathered(url, prompts, concurrency, parameters))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "answers.jsonl").write_text(text, encoding="utf-8")
        return sum(row["reward"] is not None for row in rows)

    return count * (1 + len(JUDGES)), work


async def _gathered(
    url: str, prompts: Sequence[Any], concurrency: int, parameters: dict[str, Any]
) -> list[dict[str, Any]]:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="none", base_url=url)
    limit = asyncio.Semaphore(concurrency)

    async def ask(model: str, messages: Any, **more: Any) -> str:
        async with limit:
            made = await client.chat.completions.create(model=model, messages=messages, **more)
            return str(made.choices[0].message.content)

    async def one(number: int) -> dict[str, Any]:
        answer = await ask(MODEL, [{"role": "user", "content": question(number)}])
        told = await asyncio.gather(
            *(ask(judge, prompts[number], **parameters) for judge in JUDGES)
        )
        verdicts = [json.loads(text[text.index("{") :]) for text in told]
        scores = [own["score"] for verdict in verdicts for own in verdict.values()]
        reward = sum(scores) / (5 * len(scores))
        return {"item": number, "answer": answer, "judges": told, "reward": reward}

    return await asyncio.gather(*(one(number) for number in range(len(prompts))))


def question(number: int) -> str:
    """Return the text of an item, each of its own."""
    return f"{number}. {QUESTION}"


def start() -> int:
    """Import what a judged run needs."""
    import openai  # noqa: F401

    import medeval.cli
    import medeval.commands.run_flow
    import medeval.judging.running
    import medeval.tasks.mtsamples  # noqa: F401

    return 0


def reply(body: bytes) -> bytes:
    """Return a plan, or a verdict behind the marker that the prompt asks for."""
    markers = _MARKER.findall(body)
    text = f"{markers[-1].decode()}\n{json.dumps(VERDICT)}" if markers else PLAN
    return completion(MODEL, text, prompt_tokens=900, completion_tokens=120)


def main() -> int:
    """Run one program; 1 when an item came to no reward."""
    kind, *words = sys.argv[1:]
    if kind == "serve":
        serve(int(words[0]), int(words[1]), reply)
        return 0
    if kind == "start":
        return start()
    url, count, concurrency, name = words
    folder = Path(name)
    way = {"ours": ours, "loop": loop}[kind]
    calls, work = way(url, int(count), int(concurrency), folder)
    rewarded, took = timed(work)
    took |= {"rewarded": rewarded, "calls": calls}
    return reported(folder, took, rewarded, int(count))


if __name__ == "__main__":
    sys.exit(main())
