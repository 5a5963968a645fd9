"""Which files are scored: the predictions that are meant, and the truth where none is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.predictions.files import Source, source_of
from medeval.predictions.tasks import Kind, Task, task_named
from medeval.warehouse import Warehouse, schema_name

FLOOR = "mimic3"
RUNS = Path("runs")
PREDICTIONS = "predictions.csv"
RUN = "run.json"

Predict = Callable[[Task], Path]


def prediction_file(path: Path | None, task: Task, predict: Predict) -> Path:
    """Return the file to score.

    Args:
        path: what the user named: a file, a run's folder, or nothing.
        task: what is scored.
        predict: makes a run of the task if there is none; returns its folder or its file.

    Raises:
        UserError: there is no such file, or the run is of another task.
    """
    if path is None:
        path = newest_run(task, RUNS)
        if path is None:
            path = predict(task)
        print(f"medeval: scoring {path}", file=sys.stderr)
    if not path.is_dir():
        return path
    recorded = _task_of(path)
    if recorded not in (None, task.name):
        raise UserError(f"{path} is a run of {recorded}, not of {task.name}.")
    found = path / PREDICTIONS
    if not found.is_file():
        raise UserError(f"{path} holds no {PREDICTIONS}.")
    return found


def newest_run(task: Task, runs: Path) -> Path | None:
    """Return the task's newest run with predictions; names of runs start with their time."""
    if not runs.is_dir():
        return None
    folders = sorted((entry for entry in runs.iterdir() if entry.is_dir()), reverse=True)
    for folder in folders:
        if (folder / PREDICTIONS).is_file() and _task_of(folder) == task.name:
            return folder
    return None


def train_baseline(task: Task, target: str | None, seed: int, as_built: bool) -> Path:
    """Train the logistic baseline and predict the test rows; returns the run's folder.

    Raises:
        UserError: the features are not there, or of an older build.
    """
    # Here, not above: every other way starts without scikit-learn.
    from medeval.baselines.run import predict_to_run

    print(
        f"medeval: there is no run of {task.name} in {RUNS}/: training the logistic baseline"
        f" first, as `python -m medeval predict --task {task.name} --model logistic` does.",
        file=sys.stderr,
    )
    return predict_to_run(
        task.name, "logistic", target=target, out=RUNS, seed=seed, as_built=as_built
    )


def warehouse_truth(task: Task, target: str | None, as_built: bool) -> tuple[Source, str]:
    """Open the warehouse and return the test rows of a task and their data class.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    from medeval.builds import open_built

    with open_built(FLOOR, target, as_built=as_built) as warehouse:
        return listed_rows(task, warehouse)


def listed_rows(task: Task, warehouse: Warehouse) -> tuple[Source, str]:
    """Return the test rows of a task, byte for byte as `export` writes them, and their data class.

    The rows take the way through the listfile's text on purpose: truth and hours are then rounded
    as in the file that a model was given, and the hash is that of the exported file.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    # Here, not above: files alone need no warehouse, and it takes a while to load.
    from medeval.builds import newest_build, read_source
    from medeval.mimic3.export import LISTFILES, RowOrder, order_by, phenotype_names

    listfile = LISTFILES[task.name]
    tables = [listfile.table, "mimic3_data_class", "mimic3_source_tables"]
    labelled = task.kind is Kind.LABELS
    newest_build(warehouse, FLOOR, [*tables, "phenotypes"] if labelled else tables)
    header = listfile.header
    if labelled:
        header = ",".join([header, *phenotype_names(warehouse)])
    ordered = order_by(RowOrder.SORTED, has_sample_times=listfile.has_sample_times)
    batches = warehouse.select(
        listfile.columns,
        schema_name(FLOOR),
        listfile.table,
        f"where partition = $1 {ordered}",
        ("test",),
    )
    text = "".join([f"{header}\n", *("".join(listfile.lines(batch)) for batch in batches)])
    name = f"{listfile.table} (test rows, target {warehouse.target.name})"
    return source_of(name, text.encode()), read_source(warehouse, FLOOR)["data_class"]


def _task_of(folder: Path) -> str | None:
    """Return the task that a run's record names; None if there is no record that says."""
    try:
        record: Any = json.loads((folder / RUN).read_text(encoding="utf-8"))
        recorded = str(record["task"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        return task_named(recorded).name
    except UserError:
        return recorded
