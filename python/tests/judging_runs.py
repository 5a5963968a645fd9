"""Judgings against the tests' own endpoint, and the replies that its judges give."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from inference_runs import QUICK
from model_server import Body, prompt_of

from medeval.inference.run import RunConfig
from medeval.judging.judges import Judge
from medeval.judging.options import JudgingOptions
from medeval.judging.results import JudgingResults
from medeval.judging.rubric import Rubric, shipped_rubric
from medeval.judging.running import run_judges
from medeval.judging.subjects import Subject

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


def subject(name: str, answer: str = "", **more: Any) -> Subject:
    filled = {"reference": f"reference {name}", "data_class": "open", **more}
    return Subject(name, f"notes {name}", answer or f"plan {name}", **filled)


def subjects(count: int) -> list[Subject]:
    return [subject(f"case-{number:03}") for number in range(count)]


def judge_at(url: str, model: str = "tested-judge", **changed: Any) -> Judge:
    usual = {"base_url": url, "needs_key": False, "timeout": 5.0}
    return Judge(model, **{**usual, **changed})


def judged(
    url: str,
    folder: Path,
    listed: Sequence[Subject],
    options: JudgingOptions | None = None,
    **changed: Any,
) -> JudgingResults:
    """Have one judge of the server judge; `changed` goes to the judge."""
    options = options or JudgingOptions(QUICKLY)
    return run_judges(listed, [judge_at(url, **changed)], RUBRIC, folder, options)


def case_of(body: Body) -> str:
    """Return which of the subjects a request is about."""
    found = re.search(r"notes (case-\d+|\w+)", prompt_of(body))
    assert found is not None
    return found[1]


def marker_of(body: Body) -> str:
    return re.findall(r"^VERDICT-[0-9a-f]{16}$", prompt_of(body), re.MULTILINE)[-1]


def by_case(replies: dict[str, str | dict[str, Any]]) -> Callable[[Body], str | dict[str, Any]]:
    """Return a script's reply that depends on the subject; others get a good verdict."""
    return lambda body: replies.get(case_of(body), GOOD)


def lines(folder: Path, name: str = "judgments.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]
