"""What a notebook or a program needs: a task evaluated, predictions scored, runs as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.documents import described
from medeval.models.scores import Interval
from medeval.reporting.report import said
from medeval.tasks import registry

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from medeval.inference.types import Message

_RUNS = ("run", "task", "model", "started_at", "asked", "answered", "headline", "value", "folder")
_SCORES = (
    *("run", "task", "model", "metric", "is_headline", "value", "low", "high", "level"),
    *("method", "n", "n_undefined", "data_sha256"),
)


def evaluate(
    task: str,
    model: str | Callable[[Sequence[Message]], str],
    *,
    options: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    key_variable: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    limit: int | None = None,
    judges: str | Sequence[str] = (),
    out: str | Path = "runs",
    endpoints: str | Path = "endpoints.toml",
    concurrency: int = 32,
    n_iters: int = 1000,
    seed: int = 0,
) -> BenchmarkReport:
    """Evaluate a model on a task: ask, have judged, score; the run's folder keeps everything.

    Args:
        task: as `run --task` takes it.
        model: as `run --model` takes it, or a function from the messages to the reply.
        options: of the task, by the names that `run --task NAME --help` shows.
        base_url: of the endpoint, up to and with /v1.
        key_variable: the environment variable that holds the endpoint's key.
        parameters: of the model, such as `temperature`.
        limit: only the first so many items.
        judges: a model that judges, or several, where the task has a rubric; `local` is a rule.
        out: the folder of runs.
        endpoints: the declarations of where credentialed text may go.
        concurrency: calls under way at a time.
        n_iters: resamples of the score; 0 gives values only.
        seed: of the resamples.

    Returns:
        The report, which is also in `scores.json` of the run's folder.

    Raises:
        UserError: no such task or model, options that cannot be meant, text that may not go there,
            or judges that cannot judge; nobody is asked then.
    """
    from medeval.inference.run import RunConfig
    from medeval.judging.jury import jury_of
    from medeval.tasks.for_reports import report_of
    from medeval.tasks.judged import check_before, judge
    from medeval.tasks.task import Method
    from medeval.tasks.task_run import ModelChoice, TaskRun

    numbers = (("limit", 1, limit), ("concurrency", 1, concurrency), ("n_iters", 0, n_iters))
    for what, least, number in (*numbers, ("seed", 0, seed)):
        if number is not None and not (isinstance(number, int) and number >= least):
            raise UserError(f"{what} is a whole number from {least}, not {number!r}.")
    asked = registry.start(task, options or {})
    name = model if isinstance(model, str) else getattr(model, "__qualname__", "function")
    function = None if isinstance(model, str) else model
    choice = ModelChoice(name, base_url, key_variable, parameters or {}, call=function)
    places = Path(endpoints)
    jury = jury_of([judges] if isinstance(judges, str) else judges) if judges else None
    if jury is not None:
        check_before(asked, jury, places)
    run = TaskRun(asked, choice, runs=Path(out), endpoints=places, limit=limit)
    run.evaluate(RunConfig(concurrency=concurrency))
    if jury is not None:
        judge(asked, run.folder, jury, RunConfig(concurrency=concurrency), places)
    report = report_of(run.task.score(run.folder, Method(n_iters, seed)))
    report.save(run.folder / registry.SCORES)
    return report


def score(
    task: str,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    stays: ArrayLike | None = None,
    n_iters: int | None = None,
    seed: int = 0,
) -> dict[str, Interval]:
    """Score predictions that are arrays, with the metrics and intervals of `score --task`.

    Args:
        task: one that is answered by predictions, such as `in_hospital_mortality`.
        y_true: the truth, shape (n,); of `phenotyping` (n, 25); of `length_of_stay` in hours.
        y_pred: probabilities, or hours of `length_of_stay`; of the truth's shape.
        stays: the stay of each row, which is then drawn as a whole; None draws rows.
        n_iters: resamples; None takes the task's number, 0 gives values only.
        seed: of the resamples.

    Returns:
        Each metric with its interval; a value of None is undefined, with the reason.

    Raises:
        UserError: no such task, or arrays that do not fit.
    """
    kind = registry.task_class(registry.canonical_name(task))
    name = registry.recorded_name(task)
    return kind.score_arrays(name, y_true, y_pred, stays, n_iters=n_iters, seed=seed)


def runs(folder: str | Path = "runs") -> pd.DataFrame:
    """Return the runs of a folder, the oldest first.

    Args:
        folder: of runs.

    Returns:
        A row a run: its name, task, model, start, items asked and answered, and where it is
        scored the headline metric and its value. What a run does not say is missing.
    """
    import pandas as pd

    return pd.DataFrame(run_rows(folder), columns=list(_RUNS))


def run_rows(folder: str | Path) -> list[dict[str, Any]]:
    """Return the rows of `runs`, None for what is missing; `fault` says why scores have no row."""
    rows = []
    for place in sorted(Path(folder).glob("*/run.json")):
        try:
            about = json.loads(place.read_bytes())
            row = dict.fromkeys(_RUNS) | {"task": about["task"], "folder": str(place.parent)}
            row |= {"started_at": about.get("started_at"), "run": place.parent.name}
            row["model"] = about.get("settings", about)["model"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # something else that somebody keeps there
        try:
            report = _report_in(place.parent)
        except UserError as error:
            report, row["fault"] = None, str(error)
        for result in report.detailed_results if report else ():
            ledger, headline = said(result.metadata, "ledger"), result.metadata.get("headline")
            row |= {"asked": ledger.get("asked"), "answered": ledger.get("answered")}
            row |= {"headline": headline, "value": result.metrics_results.get(str(headline))}
        rows.append(row)
    return rows


def read_report(place: Path) -> BenchmarkReport:
    """Read the report of a run.

    Raises:
        UserError: the file is none, or cannot be read.
    """
    try:
        return BenchmarkReport.from_file(place)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or described(error, "the file")[0]
        raise UserError(f"{place} is no report of a benchmark: {told}") from None


def scores(*folders: str | Path) -> pd.DataFrame:
    """Return the scores of runs, a row a metric.

    Args:
        folders: of scored runs; without any, all in `runs/`.

    Returns:
        Value, ends and level of the interval, its method, items behind it and without a score,
        and the hash of the data: scores on other data stand on other ground.

    Raises:
        UserError: a folder that is named holds no scores.
    """
    import pandas as pd

    from medeval.reporting.entries import score_rows

    places = [Path(one) for one in folders] or sorted(Path("runs").glob("*/"))
    rows = []
    for place in places:
        report = _report_in(place)
        found = list(score_rows(report)) if report else []
        if folders and not found:
            raise UserError(f"{place} has no scores. Score it: `python -m medeval score {place}`.")
        rows += [{**one, "run": place.name} for one in found]
    return pd.DataFrame(rows, columns=list(_SCORES))


def _report_in(folder: Path) -> BenchmarkReport | None:
    """Return the report of a run; None if it is not scored."""
    place = folder / registry.SCORES
    return read_report(place) if place.is_file() else None
