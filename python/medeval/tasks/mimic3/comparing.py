"""Prediction files of one task against each other: read, scored on the same resamples, compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.progress import progress
from medeval.scoring import binary, length_of_stay, phenotyping
from medeval.scoring.bootstrap import Resampling, score
from medeval.scoring.compare import (
    LEVEL,
    Difference,
    PairTest,
    answer_sentence,
    compare,
    family,
    least_resamples,
)
from medeval.scoring.significance import DeLong, McNemar, delong_test, mcnemar
from medeval.tasks.mimic3.attributes import clusters
from medeval.tasks.mimic3.inputs import Inputs, Request, prediction_file, read_inputs
from medeval.tasks.mimic3.joining import Joined, Whole, counted
from medeval.tasks.mimic3.layout import LABEL_METRIC
from medeval.tasks.mimic3.scored import ALIKE, PUBLISHED
from medeval.tasks.mimic3.tasks import LABELS, Kind, Task

ENDINGS = re.compile(r"(\.parquet)?(\.csv)?(\.gz)?$")
# The metrics of each kind of task, in the published order.
METRICS = {
    Kind.BINARY: binary.NAMES,
    Kind.HOURS: length_of_stay.NAMES,
    Kind.LABELS: (
        *phenotyping.MEANS,
        *(f"{LABEL_METRIC}{number}" for number in range(1, LABELS + 1)),
    ),
}


@dataclass(frozen=True)
class Compared:
    """All results of one request."""

    request: Request
    inputs: Inputs
    differences: tuple[Difference, ...]
    areas: tuple[PairTest[DeLong], ...]
    answers: tuple[PairTest[McNemar], ...]

    def content(self, comparisons: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what is written as JSON."""
        request, inputs = self.request, self.inputs
        files = {name: source.described() for name, source in inputs.sources.items()}
        delong = [
            {
                **{key: getattr(entry, key) for key in ("first", "second", "metric")},
                **asdict(entry.test),
                "adjusted_p": entry.adjusted_p,
            }
            for entry in self.areas
        ]
        answers = [
            {
                **{key: getattr(entry, key) for key in ("first", "second")},
                "threshold": request.threshold,
                **asdict(entry.test),
                "adjusted_p": entry.adjusted_p,
                "sentence": answer_sentence(entry),
            }
            for entry in self.answers
        ]
        return {
            "task": request.task.name,
            "predictions": list(request.predictions),
            "comparisons": comparisons,
            "delong": delong,
            **({} if request.threshold is None else {"mcnemar": answers}),
            "meta": {
                **inputs.about(request, {"predictions": files}),
                "interval": {"method": "percentile of paired differences", "level": LEVEL},
                "p_value": "two-sided, 2 min(1 + below, 1 + above) / (1 + resamples)",
                "correction": "Holm over all pairs and metrics; DeLong and McNemar each by itself",
                "warnings": self.warnings(),
            },
        }

    def warnings(self) -> list[str]:
        """Return what the user should know: of the rows, and of comparisons that cannot succeed."""
        n_iters = self.request.n_iters
        found = [warning for joined in self.inputs.joined.values() for warning in joined.warnings]
        made = self.differences[0].n_comparisons
        if made and n_iters < (needed := least_resamples(made)):
            found.append(
                f"{n_iters:,} resamples are too few for {made:,} comparisons: no difference"
                f" can be significant. Take at least --n-iters {needed}."
            )
        found += [
            f"{entry.first} and {entry.second}: {entry.metric} is undefined in"
            f" {entry.n_undefined:,} of {n_iters:,} resamples; the others count."
            for entry in self.differences
            if 0 < entry.n_undefined < n_iters
        ]
        return found

    def method_sentences(self) -> tuple[list[str], list[str]]:
        """Say how the numbers came about, and what they do not take into account."""
        request = self.request
        count, metrics = len(request.predictions), len(request.metrics)
        made = self.differences[0].n_comparisons
        said = [
            f"{request.task.name}: {len(self.inputs.rows.stays):,} rows; truth from"
            f" {self.inputs.listfile.name}.",
            f"Intervals of differences (first minus second): 95 %, percentile, from"
            f" {request.n_iters:,} resamples of {request.cluster or 'row'}s, the same for all, seed"
            f" {request.seed}. p values are two-sided; Holm's correction is over"
            f" {counted(made, 'comparison')}"
            f" ({counted(count * (count - 1) // 2, 'pair')}, {counted(metrics, 'metric')}).",
        ]
        further = []
        if request.task.has_sample_times and request.cluster is None:
            further.append(
                f"{ALIKE} differences look surer than they are. --cluster stay draws whole stays."
            )
        tests = ["DeLong's"] * bool(self.areas) + ["McNemar's"] * bool(self.answers)
        if tests and (request.task.has_sample_times or request.cluster):
            verb = "test takes" if len(tests) == 1 else "tests take"
            further.append(f"{' and '.join(tests)} {verb} every row as independent in any case.")
        return said, further


def named_files(task: Task, paths: Sequence[Path]) -> dict[str, Path]:
    """Return prediction files by the shortest names that tell them apart.

    A run is called as its folder, a file as itself without its ending, with as many folders before
    it as it takes.

    Raises:
        UserError: fewer than two, one of them twice, or one that is no prediction file.
    """
    if len(paths) < 2:
        raise UserError("compare takes two or more prediction files or runs of one task.")
    files = [prediction_file(path, task) for path in paths]
    whole = [file.resolve() for file in files]
    for place, path in enumerate(paths):
        if whole[place] in whole[:place]:
            raise UserError(f"{path} is named twice.")
    places = [path.resolve() for path in paths]
    stems = [
        place.name if place.is_dir() else ENDINGS.sub("", place.name) or place.name
        for place in places
    ]
    for length in range(1, max(len(place.parts) for place in places) + 1):
        parts = [place.parts[-length:-1] for place in places]
        names = ["/".join([*above, stem]) for above, stem in zip(parts, stems, strict=True)]
        if len(set(names)) == len(names):
            return dict(zip(names, files, strict=True))
    # Only endings are different.
    return dict(zip(map(str, paths), files, strict=True))


def chosen_metrics(task: Task, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics to compare by, in the task's order; upper and lower case are the same.

    Raises:
        UserError: the task has no such metric.
    """
    every = METRICS[task.kind]
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


def compare_files(request: Request) -> Compared:
    """Read, score and compare.

    Raises:
        UserError: a file or the warehouse cannot be read, or rows do not fit the truth.
    """
    inputs = read_inputs(request)
    kind, truth = request.task.kind, inputs.rows.truth
    numbers = clusters(inputs.rows, request.cluster)
    resampling = Resampling(request.n_iters, request.seed, numbers)
    scores = {}
    for name, joined in inputs.joined.items():
        with progress(name, lambda: request.n_iters) as advance:
            statistic = PUBLISHED[kind](joined.truth, joined.prediction)
            scores[name] = score(statistic, resampling, progress=advance)
    units = independent_units(request.task, inputs.rows, numbers)
    differences = compare(scores, request.metrics, units=units)
    predicted = {name: joined.prediction for name, joined in inputs.joined.items()}
    pairs = list(combinations(predicted, 2))
    answers = []
    if request.threshold is not None and kind is Kind.BINARY:
        right = {name: (one > request.threshold) == (truth == 1) for name, one in predicted.items()}
        accuracy = f"accuracy at threshold {request.threshold:g}"
        answers = [(*pair, accuracy, mcnemar(*map(right.__getitem__, pair))) for pair in pairs]
    # The area under one ROC curve has a test; means of areas have none.
    ranked = {Kind.BINARY: binary.NAMES[:1], Kind.HOURS: (), Kind.LABELS: METRICS[kind][-LABELS:]}
    areas = [
        (
            *pair,
            metric,
            delong_test(*(one.reshape(len(one), -1)[:, place] for one in (truth, first, second))),
        )
        for pair in pairs
        for first, second in [map(predicted.__getitem__, pair)]
        for place, metric in enumerate(ranked[kind])
        if metric in request.metrics
    ]
    return Compared(request, inputs, differences, family(areas), family(answers))


def independent_units(task: Task, joined: Joined, numbers: Whole | None) -> dict[str, int]:
    """Return on how many rows or clusters each metric rests.

    A metric that needs both classes rests on those of the rarer one; means over labels rest on all.

    Args:
        task: what is scored.
        joined: its rows.
        numbers: each row's cluster; None if every row stands for itself.
    """

    def count(rows: Any) -> int:
        return int(rows.sum()) if numbers is None else len(np.unique(numbers[rows]))

    metrics, truth = METRICS[task.kind], joined.truth
    units = dict.fromkeys(metrics, count(np.ones(len(joined.stays), dtype=np.bool_)))
    columns = {}
    if task.kind is Kind.BINARY:
        columns = dict.fromkeys(metrics, truth)
    elif task.kind is Kind.LABELS:
        columns = dict(zip(metrics[-LABELS:], truth.T, strict=True))
    for metric, column in columns.items():
        units[metric] = min(count(column == 1), count(column != 1))
    return units
