"""Tasks for the runners of others; each module needs the extra `adapters`.

What they share is here: answers that another runner got, scored as a run of ours is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from medeval.files import json_lines
from medeval.inference.guard import DataUseGuard
from medeval.inference.python_model import PythonModel
from medeval.inference.run import AUDIT, RESPONSES, RunConfig
from medeval.inference.types import Episode, Model, Sample
from medeval.judging.jury import jury_of
from medeval.tasks.judged import judge, judged
from medeval.tasks.self_check import passing_run
from medeval.tasks.task import AskedTask, Method


def asked(
    task: AskedTask, model: Model, samples: Iterable[Sample | Episode]
) -> list[dict[str, Any]]:
    """Ask samples of a task, each with its retries and rounds, and return the lines of their ends.

    Raises:
        UserError: text that may not go to the model.
    """
    with TemporaryDirectory() as place:
        run = passing_run(task, model, Path(place))
        run.execute(samples, RunConfig(can_read=task.can_read))
        return [dict(line) for line in run.lines()]


def metrics_of(
    task: AskedTask,
    lines: Sequence[Mapping[str, Any]],
    judges: Sequence[str] = (),
    endpoints: Path = Path("endpoints.toml"),
) -> dict[str, float]:
    """Score the lines of `asked`; where they are of the first items only, those are all there are.

    Args:
        task: that was asked.
        lines: of the samples, in any order.
        judges: who judges, where the task has a judge.
        endpoints: the declarations of where credentialed text may go.
    """
    given = {line["item"] for line in lines}
    order = list(dict.fromkeys(item.id for item in task.items()))
    limit = len(given) if given == set(order[: len(given)]) else None

    def score() -> dict[str, float]:
        with TemporaryDirectory() as place:
            run = passing_run(task, replayed(Path(place)), Path(place), limit)
            (run.folder / RESPONSES).write_text(json_lines(lines), encoding="utf-8")
            if judges and judged(task) is not None:
                judge(task, run.folder, jury_of(judges), endpoints=endpoints)
            return dict(task.score(run.folder, Method(n_iters=0)).result.metrics_results)

    # A thread of its own, for runners whose event loop calls this; judging needs one too.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(score).result()


def replayed(folder: Path, replies: Mapping[tuple[str, int], str] | None = None) -> PythonModel:
    """Return the model of replies that are there, by the id and the sample of their items."""
    known, guard = replies or {}, DataUseGuard({}, folder / AUDIT)
    return PythonModel(lambda item: known[item.id, item.sample], "lm-eval", guard)
