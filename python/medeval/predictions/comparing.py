"""Prediction files of one task against each other: read, scored on the same resamples, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.predictions.choices import Cluster

if TYPE_CHECKING:
    from medeval.predictions.files import Source
    from medeval.predictions.joining import Joined
    from medeval.predictions.keys import Whole
    from medeval.predictions.tasks import Task
    from medeval.scoring.compare import AnswerDifference, AreaDifference, Difference
    from medeval.scoring.results import Scores

ENDINGS = (".gz", ".csv", ".parquet")


@dataclass(frozen=True)
class Request:
    """What a user asked for; `predictions` are files by the names to call them."""

    task: Task
    predictions: dict[str, Path]
    listfile: Path | None
    n_iters: int
    seed: int
    cluster: Cluster | None
    metrics: tuple[str, ...]
    threshold: float | None
    target: str | None
    as_built: bool = False


@dataclass(frozen=True)
class Inputs:
    """The rows of every prediction file beside one truth, and where they come from."""

    joined: dict[str, Joined]
    sources: dict[str, Source]
    listfile: Source
    data_class: str | None

    @property
    def rows(self) -> Joined:
        """Return the rows of one prediction; stays and truth are the same in all."""
        return next(iter(self.joined.values()))


@dataclass(frozen=True)
class Compared:
    """All results of one request."""

    request: Request
    inputs: Inputs
    differences: tuple[Difference, ...]
    areas: tuple[AreaDifference, ...]
    answers: tuple[AnswerDifference, ...]


def named_files(task: Task, paths: Sequence[Path]) -> dict[str, Path]:
    """Return prediction files by the shortest names that tell them apart.

    A run is called as its folder, a file as itself without its ending, with as many folders before
    it as it takes.

    Raises:
        UserError: fewer than two, one of them twice, or one that is no prediction file.
    """
    from medeval.predictions.runs import prediction_file

    if len(paths) < 2:
        raise UserError("compare takes two or more prediction files or runs of one task.")

    def no_baseline(wanted: Task) -> Path:
        raise UserError(f"Name the predictions of {wanted.name} to compare.")

    files = [prediction_file(path, task, no_baseline) for path in paths]
    whole = [path.resolve() for path in paths]
    for place, file in enumerate(files):
        if file.resolve() in [other.resolve() for other in files[:place]]:
            raise UserError(f"{paths[place]} is named twice.")
    longest = max(len(path.parts) for path in whole)
    names: list[str] = []
    for length in range(1, longest + 1):
        names = ["/".join([*path.parts[-length:-1], _stem(path)]) for path in whole]
        if len(set(names)) == len(names):
            return dict(zip(names, files, strict=True))
    # Only endings are different.
    return dict(zip([str(path) for path in paths], files, strict=True))


def chosen_metrics(task: Task, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics to compare by, in the task's order; upper and lower case are the same.

    Raises:
        UserError: the task has no such metric.
    """
    every = task_metrics(task)
    if not wanted:
        return every
    keys = {name.strip().casefold() for name in wanted}
    known = {name.casefold() for name in every}
    if unknown := [name for name in wanted if name.strip().casefold() not in known]:
        raise UserError(
            f"{task.name} has no metric {', '.join(map(repr, unknown))}. It has:"
            f" {', '.join(every)}."
        )
    return tuple(name for name in every if name.casefold() in keys)


def task_metrics(task: Task) -> tuple[str, ...]:
    """Return the metrics of a task in the published order."""
    from medeval.predictions.tasks import LABELS, Kind
    from medeval.predictions.terminal import LABEL_METRIC
    from medeval.scoring import binary, length_of_stay, phenotyping

    if task.kind is Kind.BINARY:
        return binary.NAMES
    if task.kind is Kind.HOURS:
        return length_of_stay.NAMES
    labels = (f"{LABEL_METRIC}{number}" for number in range(1, LABELS + 1))
    return (*phenotyping.MEANS, *labels)


def compare_files(request: Request) -> Compared:
    """Read, score and compare.

    Raises:
        UserError: a file or the warehouse cannot be read, or rows do not fit the truth.
    """
    from medeval.predictions.clusters import clusters
    from medeval.predictions.tasks import Kind
    from medeval.scoring.compare import compare as compare_scores
    from medeval.scoring.compare import compare_answers

    inputs = read_inputs(request)
    numbers = clusters(inputs.rows, request.cluster)
    scores = {name: _score(request, name, inputs.joined[name], numbers) for name in inputs.joined}
    units = independent_units(request.task, inputs.rows, numbers)
    answers: tuple[AnswerDifference, ...] = ()
    if request.threshold is not None and request.task.kind is Kind.BINARY:
        answers = compare_answers(
            {
                name: (joined.prediction > request.threshold) == (joined.truth == 1)
                for name, joined in inputs.joined.items()
            }
        )
    return Compared(
        request,
        inputs,
        compare_scores(scores, request.metrics, units=units),
        _areas(request, inputs),
        answers,
    )


def read_inputs(request: Request) -> Inputs:
    """Read the truth once, and join every prediction file with it.

    Raises:
        UserError: a file or the warehouse cannot be read, or rows do not fit the truth.
    """
    from medeval.predictions.files import read_source
    from medeval.predictions.joining import join
    from medeval.predictions.tables import read_predictions, read_truth

    data_class = None
    if request.listfile is not None:
        listfile = read_source(request.listfile)
    else:
        listfile, data_class = _warehouse_truth(request)
    truth = read_truth(request.task, listfile)
    joined, sources = {}, {}
    for name, path in request.predictions.items():
        sources[name] = read_source(path)
        joined[name] = join(request.task, truth, read_predictions(request.task, sources[name]))
    return Inputs(joined, sources, listfile, data_class)


def independent_units(task: Task, joined: Joined, numbers: Whole | None) -> dict[str, int]:
    """Return on how many rows or clusters each metric rests.

    A metric that needs both classes rests on those of the rarer one; means over labels rest on all.

    Args:
        task: what is scored.
        joined: its rows.
        numbers: each row's cluster; None if every row stands for itself.
    """
    import numpy as np

    from medeval.predictions.tasks import Kind

    def count(rows: Any) -> int:
        return int(rows.sum()) if numbers is None else len(np.unique(numbers[rows]))

    def rarer(column: Any) -> int:
        return min(count(column == 1), count(column != 1))

    every = dict.fromkeys(task_metrics(task), count(np.ones(len(joined.stays), dtype=np.bool_)))
    if task.kind is Kind.BINARY:
        return dict.fromkeys(every, rarer(joined.truth))
    if task.kind is Kind.LABELS:
        labels = list(every)[-joined.truth.shape[1] :]
        every |= {name: rarer(column) for name, column in zip(labels, joined.truth.T, strict=True)}
    return every


def warnings(compared: Compared) -> list[str]:
    """Return what the user should know: of the rows, and of comparisons that cannot succeed."""
    from medeval.scoring.compare import least_resamples

    request = compared.request
    found = [warning for joined in compared.inputs.joined.values() for warning in joined.warnings]
    made = max(entry.n_comparisons for entry in compared.differences)
    if made and request.n_iters < (needed := least_resamples(made)):
        found.append(
            f"{request.n_iters:,} resamples are too few for {made:,} comparisons: no difference"
            f" can be significant. Take at least --n-iters {needed}."
        )
    found += [
        f"{entry.first} and {entry.second}: {entry.metric} is undefined in"
        f" {entry.n_undefined:,} of {request.n_iters:,} resamples; the others count."
        for entry in compared.differences
        if 0 < entry.n_undefined < request.n_iters
    ]
    return found


def _score(request: Request, name: str, joined: Joined, numbers: Whole | None) -> Scores:
    from medeval.predictions.evaluating import published
    from medeval.progress import progress
    from medeval.scoring.bootstrap import Resampling, score

    resampling = Resampling(request.n_iters, request.seed, numbers)
    with progress(name, lambda: request.n_iters) as advance:
        statistic = published(request.task.kind)(joined.truth, joined.prediction)
        return score(statistic, resampling, progress=advance)


def _areas(request: Request, inputs: Inputs) -> tuple[AreaDifference, ...]:
    """Test the areas under one ROC curve; means of areas have no such test."""
    from medeval.predictions.tasks import Kind
    from medeval.predictions.terminal import LABEL_METRIC
    from medeval.scoring.binary import NAMES
    from medeval.scoring.compare import compare_areas

    truth = inputs.rows.truth
    predictions = {name: joined.prediction for name, joined in inputs.joined.items()}
    if request.task.kind is Kind.BINARY and NAMES[0] in request.metrics:
        return compare_areas(NAMES[:1], truth, predictions)
    if request.task.kind is not Kind.LABELS:
        return ()
    names = [name for name in request.metrics if name.startswith(LABEL_METRIC)]
    columns = [int(name.removeprefix(LABEL_METRIC)) - 1 for name in names]
    chosen = {name: prediction[:, columns] for name, prediction in predictions.items()}
    return compare_areas(names, truth[:, columns], chosen)


def _warehouse_truth(request: Request) -> tuple[Source, str]:
    from medeval.builds import open_built
    from medeval.predictions.listfiles import FLOOR, warehouse_listfile

    with open_built(FLOOR, request.target, as_built=request.as_built) as warehouse:
        found = warehouse_listfile(request.task, warehouse)
    return found.source, found.data_class


def _stem(path: Path) -> str:
    name = path.name
    if path.is_dir():
        return name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name or path.name
