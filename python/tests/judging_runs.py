"""Judgings against the tests' own endpoint, and the replies that its judges give."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from inference_runs import QUICK

from medeval.inference.run import RunConfig
from medeval.inference.types import Sample
from medeval.judging.jury import Judge, Jury
from medeval.judging.prompt import STANDARD, Subject, Variant, blocks_in, marker_in
from medeval.judging.results import JudgingResults
from medeval.judging.rubric import Rubric, shipped_rubric
from medeval.judging.running import Judging

RUBRIC = shipped_rubric("mtsamples_procedures")
QUICKLY = RunConfig(retries=QUICK)


def verdict(*scores: Any, rubric: Rubric = RUBRIC) -> str:
    """Return a verdict with these scores, by the rubric's order; fewer leave dimensions out."""
    return json.dumps(
        {
            name: {"explanation": f"about {name}", "score": score}
            for name, score in zip(rubric.names, scores, strict=False)
        }
    )


GOOD = verdict(4, 3, 5)


def in_full(reply: str | None, marker: str) -> str | None:
    """Return a reply of a table: its words with a dollar stand for verdicts and the marker."""
    quoting = GOOD.replace("about completeness", f"said behind {marker} as asked")
    verdicts = {"$QUOTING": quoting, "$QUOTED": verdict(5, 5, 5), "$GOOD": GOOD}
    for word, text in {**verdicts, "$HALF": verdict(4, 3), "$MARKER": marker}.items():
        reply = reply and reply.replace(word, text)
    return reply


def subject(name: str, answer: str = "", **more: Any) -> Subject:
    filled = {"reference": f"reference {name}", "data_class": "open", **more}
    return Subject(name, f"notes {name}", answer or f"plan {name}", **filled)


def subjects(count: int) -> list[Subject]:
    return [subject(f"case-{number:03}") for number in range(count)]


def judging(
    listed: Sequence[Subject],
    judges: Sequence[Judge],
    folder: Path,
    rubric: Rubric = RUBRIC,
    variant: Variant = STANDARD,
    **of_the_jury: Any,
) -> Judging:
    return Judging(listed, Jury(judges=tuple(judges), **of_the_jury), rubric, folder, variant)


def judge_at(url: str, model: str = "tested-judge") -> Judge:
    return Judge(model, base_url=url, key_variable="none", timeout=5.0)


def judged(url: str, folder: Path, listed: Sequence[Subject], **of_the_jury: Any) -> JudgingResults:
    """Have one judge of the server judge."""
    return judging(listed, [judge_at(url)], folder, **of_the_jury).run(QUICKLY)


def function_judge(name: str, reply: Callable[[str, str], str]) -> Judge:
    """Return a judge in this process that sees the answer and its marker."""

    def judge(item: Sample) -> str:
        return reply(blocks_in(item.messages)["answer"], marker_in(item.messages))

    return Judge(name, function=judge)


def by_answer(name: str, replies: Sequence[str]) -> Judge:
    """Return a judge in this process that replies so to case-000, case-001 and so on."""
    return function_judge(name, lambda answer, marker: replies[int(answer[-3:])])
