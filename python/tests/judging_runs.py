"""Judgings against the tests' own endpoint, and the replies that its judges give."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_runs import QUICK
from model_server import Body, prompt_of

from medeval.inference.run import RunConfig
from medeval.judging.audit import PARTS, audit
from medeval.judging.jury import Judge, Jury
from medeval.judging.prompt import STANDARD, Subject, Variant
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


def subject(name: str, answer: str = "", **more: Any) -> Subject:
    filled = {"reference": f"reference {name}", "data_class": "open", **more}
    return Subject(name, f"notes {name}", answer or f"plan {name}", **filled)


def subjects(count: int) -> list[Subject]:
    return [subject(f"case-{number:03}") for number in range(count)]


@dataclass(frozen=True)
class How:
    """How a judging of the tests is made: `run` is the runner's, the rest is the jury's."""

    run: RunConfig = QUICKLY
    repeats: int = 1
    re_asks: int = 1
    seed: int = 0
    variant: Variant = STANDARD
    answering_model: str = ""


def judging(
    listed: Sequence[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    how: How | None = None,
) -> Judging:
    how = how or How()
    jury = Jury(judges=tuple(judges), repeats=how.repeats, re_asks=how.re_asks, seed=how.seed)
    return Judging(listed, jury, rubric, folder, how.variant, how.answering_model)


def run_judges(
    listed: Sequence[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    how: How | None = None,
) -> JudgingResults:
    return judging(listed, judges, rubric, folder, how).run((how or How()).run)


def read_results(
    listed: Sequence[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    how: How | None = None,
) -> JudgingResults:
    return judging(listed, judges, rubric, folder, how).results()


def audited(
    listed: Sequence[Subject],
    judges: Sequence[Judge],
    folder: Path,
    parts: Sequence[str] = PARTS,
    how: How | None = None,
    **more: Any,
) -> dict[str, Any]:
    one = judging(listed, judges, RUBRIC, folder, how)
    return audit(one, (how or How()).run, parts=parts, **more)


def judge_at(url: str, model: str = "tested-judge", **changed: Any) -> Judge:
    usual = {"base_url": url, "key_variable": "none", "timeout": 5.0}
    return Judge(model, **{**usual, **changed})


def judged(
    url: str, folder: Path, listed: Sequence[Subject], how: How | None = None, **changed: Any
) -> JudgingResults:
    """Have one judge of the server judge; `changed` goes to the judge."""
    return run_judges(listed, [judge_at(url, **changed)], RUBRIC, folder, how)


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
