"""What is scored: which files are meant, and their rows beside the truth."""

from __future__ import annotations

import json
import platform
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import medeval
from medeval.errors import UserError
from medeval.tasks.mimic3.files import Source, read_rows, read_source, source_of
from medeval.tasks.mimic3.joining import Joined, join
from medeval.tasks.mimic3.tasks import (
    Cluster,
    Grouping,
    Interval,
    Kind,
    Task,
    is_icu_task,
    task_named,
)

if TYPE_CHECKING:
    from medeval.warehouse import Warehouse

FLOOR = "mimic3"
RUNS = Path("runs")
PREDICTIONS = "predictions.csv"
RUN = "run.json"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asked for.

    Attributes:
        task: what is scored.
        predictions: prediction files by the names to call them.
        listfile: the truth; None takes the warehouse's test rows.
        n_iters: resamples.
        seed: of the generator that draws them.
        cluster: what is resampled as one unit; None is the row.
        groupings: what to divide the rows by.
        allow_duplicates: count a key as often as it is there.
        target: the dbt target; None is the default one.
        as_built: take tables of another source than the one that is named now.
        interval: how an interval is made of the resamples.
        strict_nan: let one undefined resample make a statistic undefined.
        extra: also compute the metrics that mimic3-benchmarks does not have.
        min_cell: the least number of stays of a group that is shown.
        strict: take warnings for errors.
        metrics: by which several predictions are compared.
        threshold: above it a probability says yes; None compares no answers.
    """

    task: Task
    predictions: dict[str, Path]
    listfile: Path | None
    n_iters: int
    seed: int
    cluster: Cluster | None = None
    groupings: tuple[Grouping, ...] = ()
    allow_duplicates: bool = False
    target: str | None = None
    as_built: bool = False
    interval: Interval = Interval.PERCENTILE
    strict_nan: bool = False
    extra: bool = False
    min_cell: int = 11
    strict: bool = False
    metrics: tuple[str, ...] = ()
    threshold: float | None = None


@dataclass(frozen=True)
class Inputs:
    """The rows of every prediction file beside one truth, and where they come from.

    Attributes:
        joined: of each prediction file by its name.
        sources: the files.
        listfile: the truth.
        data_class: of the warehouse's truth; None for a file.
        attributes: the group of each stay.
    """

    joined: dict[str, Joined]
    sources: dict[str, Source]
    listfile: Source
    data_class: str | None
    attributes: dict[Grouping, list[str]]

    @property
    def rows(self) -> Joined:
        """Return the rows of one prediction; stays and truth are the same in all."""
        return next(iter(self.joined.values()))

    def about(self, request: Request, predictions: dict[str, Any]) -> dict[str, Any]:
        """Return how results say what they were made of.

        Args:
            request: what was asked for.
            predictions: what is said of the prediction files.
        """
        truth = {**self.listfile.described(), "data_class": self.data_class}
        return {
            "n": len(self.rows.stays),
            "n_stays": len(np.unique(self.rows.stays)),
            "n_iters": request.n_iters,
            "seed": request.seed,
            "generator": "MT19937, as numpy.random.RandomState(seed).randint",
            "cluster": request.cluster.value if request.cluster else None,
            "inputs": {**predictions, "listfile": truth},
            "versions": {
                "medeval": medeval.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
        }


def read_inputs(request: Request) -> Inputs:
    """Read all files and, if any grouping asks for it, what the warehouse knows of the stays.

    Raises:
        UserError: a file or the warehouse cannot be read, or the rows do not fit together.
    """
    sources = {name: read_source(path) for name, path in request.predictions.items()}
    task, data_class, attributes = request.task, None, {}
    predictions = {name: read_rows(task, source) for name, source in sources.items()}
    listfile = None if request.listfile is None else read_source(request.listfile)
    with ExitStack() as stack:
        warehouse = None
        if listfile is None or request.groupings:
            # Here, not above: files alone need no warehouse, and it takes a while to load.
            from medeval.builds import open_built

            built = open_built(FLOOR, request.target, as_built=request.as_built)
            warehouse = stack.enter_context(built)
            if listfile is None:
                listfile, data_class = listed_rows(task, warehouse)
        truth = read_rows(task, listfile, is_listfile=True)
        joined = {
            name: join(task, truth, rows, allow_duplicates=request.allow_duplicates)
            for name, rows in predictions.items()
        }
        if warehouse is not None and request.groupings:
            from medeval.tasks.mimic3.attributes import read_attributes

            some = next(iter(joined.values()))
            attributes = read_attributes(warehouse, some, request.groupings)
    return Inputs(joined, sources, listfile, data_class, attributes)


def prediction_file(path: Path, task: Task) -> Path:
    """Return the file to score, which a user named by itself or by the folder of its run.

    Raises:
        UserError: there is no such file, or the run is of another task.
    """
    if not path.is_dir():
        return path
    recorded = _task_of(path)
    if recorded not in (None, task.name):
        raise UserError(f"{path} is a run of {recorded}, not of {task.name}.")
    found = path / PREDICTIONS
    if not found.is_file():
        raise UserError(f"{path} holds no {PREDICTIONS}.")
    return found


def newest_or_trained(task: Task, target: str | None, seed: int, as_built: bool) -> Path:
    """Return the folder of the task's newest run with predictions, else of a baseline's new run.

    Raises:
        UserError: the baseline's features are not there, or of an older build.
    """
    # Names of runs start with their time.
    files = sorted(RUNS.glob(f"*/{PREDICTIONS}"), reverse=True)
    path = next((file.parent for file in files if _task_of(file.parent) == task.name), None)
    if path is None:
        # Here, not above: every other way starts without scikit-learn.
        from medeval.tasks.mimic3.baseline import predict_to_run

        print(
            f"medeval: there is no run of {task.name} in {RUNS}/: training the logistic baseline"
            f" first, as `python -m medeval predict --task {task.name} --model logistic` does.",
            file=sys.stderr,
        )
        path = predict_to_run(
            task.name, "logistic", target=target, out=RUNS, seed=seed, as_built=as_built
        )
    return path


def listed_rows(task: Task, warehouse: Warehouse) -> tuple[Source, str]:
    """Return the test rows of a task, byte for byte as `export` writes them, and their data class.

    The rows take the way through the listfile's text on purpose: truth and hours are then rounded
    as in the file that a model was given, and the hash is that of the exported file.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    # Here, not above: files alone need no warehouse, and it takes a while to load.
    from medeval.builds import newest_build, read_source
    from medeval.tasks.mimic3.export import Order, header_of, listfile_batches

    listed = f"mimic3_{task.name}"
    tables = [listed, "mimic3_data_class", "mimic3_source_tables"]
    newest_build(warehouse, FLOOR, [*tables, "phenotypes"] if task.kind is Kind.LABELS else tables)
    lines = [header_of(warehouse, task.name).encode()]
    for batch, _ in listfile_batches(warehouse, task.name, "test", Order.CANONICAL):
        lines += batch
    name = f"{listed} (test rows, target {warehouse.target.name})"
    return source_of(name, b"".join(lines)), read_source(warehouse, FLOOR)["data_class"]


def _task_of(folder: Path) -> str | None:
    """Return the task that a run's record names; None if there is no record that says."""
    try:
        recorded = str(json.loads((folder / RUN).read_text(encoding="utf-8"))["task"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return task_named(recorded).name if is_icu_task(recorded) else recorded
