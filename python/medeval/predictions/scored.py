"""From two files to all that is told of them: the whole way of the command `score`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.predictions.attributes import Group, clusters, groups, read_attributes
from medeval.predictions.files import Source, provenance, read_predictions, read_source, read_truth
from medeval.predictions.inputs import FLOOR, listed_rows
from medeval.predictions.joining import Joined, Whole, join
from medeval.predictions.layout import entries, undefined, undefined_sentences
from medeval.predictions.tasks import Cluster, Grouping, Interval, Kind, Task
from medeval.progress import progress
from medeval.scoring.binary import EXCLUDE, STRICT, Binary, Undefined
from medeval.scoring.bootstrap import Resampling, Statistic, jackknife, score
from medeval.scoring.groups import require_min_cell
from medeval.scoring.length_of_stay import LengthOfStay
from medeval.scoring.phenotyping import Phenotyping
from medeval.scoring.summary import MetricSummary, summarise

GENERATOR = "MT19937, as numpy.random.RandomState(seed).randint"
ALIKE = "The hours of one stay are alike, and here each is drawn as if it stood alone: the"
# Makes the statistic of truth and predictions.
Measure = Callable[..., Statistic]


@dataclass(frozen=True)
class Method:
    """How numbers become values with intervals.

    Attributes:
        n_iters: resamples.
        seed: of the generator that draws them.
        interval: how an interval is made of them.
        strict_nan: let one undefined resample make a statistic undefined.
        extra: also compute the metrics that mimic3-benchmarks does not have.
    """

    n_iters: int
    seed: int
    interval: Interval = Interval.PERCENTILE
    strict_nan: bool = False
    extra: bool = False


@dataclass(frozen=True)
class Evaluated:
    """The published metrics and, if asked for, the others, by name."""

    metrics: dict[str, MetricSummary]
    extra: dict[str, MetricSummary]

    def without(self, names: Collection[str]) -> Evaluated:
        """Return the same without some metrics."""
        return replace(
            self,
            metrics={name: found for name, found in self.metrics.items() if name not in names},
        )


@dataclass(frozen=True)
class Request:
    """What a user asked for.

    Attributes:
        task: what is scored.
        prediction: the prediction file.
        listfile: the truth; None takes the warehouse's test rows.
        method: resamples, seed, interval.
        cluster: what is resampled as one unit; None is the row.
        groupings: what to divide the rows by.
        min_cell: the least number of stays of a group that is shown.
        allow_duplicates: count a key as often as it is there.
        strict: take warnings for errors.
        target: the dbt target; None is the default one.
        as_built: take tables of another source than the one that is named now.
    """

    task: Task
    prediction: Path
    listfile: Path | None
    method: Method
    cluster: Cluster | None = None
    groupings: tuple[Grouping, ...] = ()
    min_cell: int = 11
    allow_duplicates: bool = False
    strict: bool = False
    target: str | None = None
    as_built: bool = False


@dataclass(frozen=True)
class Inputs:
    """Joined rows and where they come from; `attributes` holds each stay's groups."""

    joined: Joined
    prediction: Source
    listfile: Source
    data_class: str | None
    attributes: dict[Grouping, list[str]]


@dataclass(frozen=True)
class Scored:
    """All results of one request."""

    request: Request
    inputs: Inputs
    result: Evaluated
    subgroups: dict[Grouping, list[tuple[Group, Evaluated | None]]] = field(default_factory=dict)

    def content(self, *, peer_layout: bool) -> dict[str, Any]:
        """Return what is written: the published keys, then `extra`, `subgroups` and `meta`."""
        method = self.request.method
        bare_nan = peer_layout or method.strict_nan
        metrics = entries(self.result.metrics, method.n_iters, bare_nan=bare_nan)
        content: dict[str, Any] = {"n_iters": method.n_iters, **metrics}
        if peer_layout:
            return content
        if self.result.extra:
            content["extra"] = entries(self.result.extra, method.n_iters, bare_nan=bare_nan)
        if self.subgroups:
            content["subgroups"] = {
                grouping.value: {
                    group.name: self._group(group, evaluated, bare_nan=bare_nan)
                    for group, evaluated in cells
                }
                for grouping, cells in self.subgroups.items()
            }
        content["meta"] = self._meta()
        return content

    def warnings(self) -> list[str]:
        """Return what the user should know: of the rows, and of resamples without a value."""
        method = self.request.method
        sentences = undefined_sentences(
            {**self.result.metrics, **self.result.extra},
            method.n_iters,
            strict_nan=method.strict_nan,
        )
        return [*self.inputs.joined.warnings, *sentences]

    def sentences(self) -> Iterator[str]:
        """Say what was scored, and what an interval stands for."""
        request = self.request
        joined = self.inputs.joined
        method = request.method
        task = request.task
        rows, stays = len(joined.stays), len(np.unique(joined.stays))
        counted = f"{rows:,} rows of {stays:,} stays" if rows != stays else f"{rows:,} stays"
        if task.kind is Kind.BINARY:
            counted += f", {int(joined.truth.sum()):,} positive"
        yield f"{task.name}: {counted}; truth from {self.inputs.listfile.name}."
        if method.n_iters:
            unit = f"{request.cluster.value}s" if request.cluster else "rows"
            kind = "BCa" if method.interval is Interval.BCA else "percentile"
            yield (
                f"Intervals: 95 %, {kind}, from {method.n_iters:,} resamples of {unit}, seed"
                f" {method.seed}."
            )
            if task.has_sample_times and request.cluster is None:
                yield f"{ALIKE} intervals are too narrow. --cluster stay draws whole stays."
        few = f"fewer than {request.min_cell} stays in all or of one class (--min-cell)"
        for grouping, cells in self.subgroups.items():
            suppressed = sum(found is None for _, found in cells)
            if not cells:
                yield f"By {grouping.value}: nothing can be told, for it would tell of {few}."
            elif suppressed:
                yield (
                    f"By {grouping.value}: {suppressed:,} of {len(cells):,} groups are hidden,"
                    f" since one of them has {few}, or such a one could be worked out from it."
                )

    def _group(
        self, group: Group, evaluated: Evaluated | None, *, bare_nan: bool
    ) -> dict[str, Any]:
        told: dict[str, Any] = {
            "n": group.n,
            "n_stays": group.n_stays,
            "n_positive": group.n_positive,
            "suppressed": group.suppressed,
            "metrics": None,
        }
        if evaluated is not None:
            n_iters = self.request.method.n_iters
            metrics = {**evaluated.metrics, **evaluated.extra}
            told["metrics"] = entries(metrics, n_iters, bare_nan=bare_nan)
            told["undefined"] = undefined(metrics, n_iters)
            if group.suppressed_labels:
                told["suppressed_metrics"] = {
                    f"ROC AUC of task {label + 1}": reason
                    for label, reason in group.suppressed_labels.items()
                }
        return told

    def _meta(self) -> dict[str, Any]:
        request, inputs = self.request, self.inputs
        method = request.method
        joined = inputs.joined
        return {
            "task": request.task.name,
            "n": len(joined.stays),
            "n_stays": len(np.unique(joined.stays)),
            "n_iters": method.n_iters,
            "seed": method.seed,
            "generator": GENERATOR,
            "interval": {"method": method.interval.value, "level": 0.95},
            "cluster": request.cluster.value if request.cluster else None,
            "strict_nan": method.strict_nan,
            "undefined": undefined({**self.result.metrics, **self.result.extra}, method.n_iters),
            "warnings": self.warnings(),
            "min_cell": request.min_cell if self.subgroups else None,
            **provenance(
                {"prediction": inputs.prediction.described()},
                inputs.listfile,
                inputs.data_class,
                is_file=request.listfile is not None,
            ),
        }


def score_files(request: Request) -> Scored:
    """Read, join and score.

    Raises:
        UserError: the input does not fit, or a smallest cell that hides nothing well; with
            `strict`, also if there is anything to warn of.
    """
    if request.groupings:
        require_min_cell(request.min_cell)
    inputs = read_inputs(request)
    joined = inputs.joined
    if request.strict and joined.warnings:
        raise UserError("\n".join([*joined.warnings, "--strict takes this for an error."]))
    numbers = clusters(joined, request.cluster)
    rows = np.arange(len(joined.stays))
    label = request.task.name
    result = evaluate(request.task, joined, rows, numbers, request.method, label)
    subgroups: dict[Grouping, list[tuple[Group, Evaluated | None]]] = {}
    for grouping, attributes in inputs.attributes.items():
        cells: list[tuple[Group, Evaluated | None]] = []
        for group in groups(request.task, joined, attributes, request.min_cell):
            evaluated = None
            if group.suppressed is None:
                label = f"{grouping.value} {group.name}"
                evaluated = evaluate(
                    request.task, joined, group.rows, numbers, request.method, label
                ).without([f"ROC AUC of task {number + 1}" for number in group.suppressed_labels])
            cells.append((group, evaluated))
        subgroups[grouping] = cells
    return Scored(request, inputs, result, subgroups)


def read_inputs(request: Request) -> Inputs:
    """Read both files and, if any grouping asks for it, what the warehouse knows of the stays.

    Raises:
        UserError: a file or the warehouse cannot be read, or the rows do not fit together.
    """
    prediction = read_source(request.prediction)
    predictions = read_predictions(request.task, prediction)

    def joined_with(listfile: Source) -> Joined:
        truth = read_truth(request.task, listfile)
        return join(request.task, truth, predictions, allow_duplicates=request.allow_duplicates)

    listfile = None if request.listfile is None else read_source(request.listfile)
    if listfile is not None and not request.groupings:
        return Inputs(joined_with(listfile), prediction, listfile, None, {})
    # Here, not above: files alone need no warehouse, and it takes a while to load.
    from medeval.builds import open_built

    with open_built(FLOOR, request.target, as_built=request.as_built) as warehouse:
        data_class = None
        if listfile is None:
            listfile, data_class = listed_rows(request.task, warehouse)
        joined = joined_with(listfile)
        attributes = read_attributes(warehouse, joined, request.groupings)
    return Inputs(joined, prediction, listfile, data_class, attributes)


def evaluate(
    task: Task, joined: Joined, rows: Whole, clusters: Whole | None, method: Method, label: str
) -> Evaluated:
    """Score some of the joined rows.

    Args:
        task: says which metrics.
        joined: truth and predictions.
        rows: which of them, in order.
        clusters: each joined row's cluster; None resamples rows.
        method: resamples, seed, interval.
        label: stands beside the progress bar.
    """
    truth, prediction = joined.truth[rows], joined.prediction[rows]
    own = None if clusters is None else clusters[rows]
    resampling = Resampling(method.n_iters, method.seed, own)

    def summaries(of: Measure, label: str, **options: Undefined) -> dict[str, MetricSummary]:
        with progress(label, lambda: method.n_iters) as advance:
            scores = score(of(truth, prediction, **options), resampling, progress=advance)
        bca = method.interval is Interval.BCA and method.n_iters > 0
        return summarise(
            scores,
            method="bca" if bca else "percentile",
            strict_nan=method.strict_nan,
            jackknife=jackknife(of(truth, prediction), own) if bca else None,
        )

    undefined = STRICT if method.strict_nan else EXCLUDE
    return Evaluated(
        summaries(published(task.kind), label, undefined=undefined),
        summaries(others(task.kind), f"{label}, extra") if method.extra else {},
    )


def published(kind: Kind) -> Measure:
    """Return what computes the metrics of mimic3-benchmarks."""
    measures: dict[Kind, Measure] = {
        Kind.BINARY: Binary.of,
        Kind.HOURS: LengthOfStay.of,
        Kind.LABELS: Phenotyping.of,
    }
    return measures[kind]


def others(kind: Kind) -> Measure:
    """Return what computes the metrics beside them."""
    # Here, not above: seldom asked for.
    from medeval.scoring.extra import ExtraBinary, ExtraPhenotyping, FixedKappa

    measures: dict[Kind, Measure] = {
        Kind.BINARY: ExtraBinary.of,
        Kind.HOURS: FixedKappa.of,
        Kind.LABELS: ExtraPhenotyping.of,
    }
    return measures[kind]
