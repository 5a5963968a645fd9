"""Whether the way from question to score holds: models whose score is known beforehand go it.

A model that answers with the gold must score the maximum, one that says nothing the minimum, and
gold answers that are given to other items must score like chance. Each is asked, journalled, read
and scored like any other model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, Run, RunConfig, settings_of
from medeval.inference.types import Model
from medeval.judging.jury import LOCAL, jury_of
from medeval.tasks.judged import judge
from medeval.tasks.task import EMPTY, ORACLE, SHUFFLED, AskedTask, Check, Method, TaskScore

Gold = TypeVar("Gold")

# Sums of floats, not more.
ROUNDING = 1e-9
# So many ways of giving gold answers to other items are tried, at most.
_MOST_ROTATIONS = 20


def check_task(task: AskedTask) -> Iterator[Check]:
    """Yield what was found, one by one."""
    oracle, empty = _scored(task, ORACLE), _scored(task, EMPTY)
    for metric, bounds in task.bounds().items():
        both = (("the gold answers", oracle), ("no answers", empty))
        for (who, scored), wanted in zip(both, bounds, strict=True):
            value = scored.result.metrics_results.get(metric)
            # Without an answer some metrics are undefined, which is right as well.
            passed = wanted == 0.0 if value is None else abs(value - wanted) <= ROUNDING
            told = "undefined" if value is None else f"{value:.4f}"
            yield Check(f"{metric}: {who} must score {wanted:g}", passed, told)
    shuffled = _scored(task, SHUFFLED)
    value = shuffled.result.metrics_results.get(shuffled.headline)
    n = len(shuffled.result.inputs)
    if value is None or n < 2:
        passed, told = n < 2, "one item only, there is no other" if n < 2 else "undefined"
    else:
        passed = value < oracle.result.metrics_results[oracle.headline]
        told = "with two items there is one way only to give gold to another"
        if n > 2:
            # Sampling, and a little.
            chance, far = task.chance(), 0.05 + 0.5 / sqrt(n)
            passed = passed and abs(value - chance) <= far
            told = f"chance is {chance:.4f}, within {far:.2f} of it"
        told = f"{value:.4f}; {told}"
    name = f"{shuffled.headline}: gold answers of other items must score like chance"
    yield Check(name, passed, told)


def _scored(task: AskedTask, kind: str) -> TaskScore:
    with TemporaryDirectory() as place:
        path = Path(place)
        model = task.local_provider(kind, DataUseGuard({}, path / AUDIT))
        task = task.prepared(model)
        run = passing_run(task, model, path)
        run.execute(task.samples(), RunConfig(can_read=task.can_read))
        if getattr(task, "rubric", None) is not None:
            judge(task, path, jury_of([LOCAL]))
        return task.score(path, Method(n_iters=0))


def passing_run(task: AskedTask, model: Model, folder: Path, limit: int | None = None) -> Run:
    """Return a run of a task that no user sees, in a folder that is there."""
    settings = {**settings_of(model, task.prompt_version), **task.settings()}
    run = Run(folder, settings, model, about={"task": task.name, "limit": limit})
    task.keep(folder)
    return run


def rotations(gold: Sequence[Gold]) -> Iterator[Sequence[Gold]]:
    """Yield some ways of giving each gold answer to another item, for `AskedTask.chance`."""
    steps = range(1, len(gold))
    for step in steps[:: max(1, len(steps) // _MOST_ROTATIONS)]:
        yield [*gold[step:], *gold[:step]]
