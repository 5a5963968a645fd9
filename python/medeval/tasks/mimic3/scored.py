"""From two files to all that is told of them: the whole way of the command `score`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.progress import progress
from medeval.scoring.binary import Binary
from medeval.scoring.bootstrap import Resampling, Statistic, jackknife, score
from medeval.scoring.extra import ExtraBinary, ExtraPhenotyping, FixedKappa
from medeval.scoring.groups import require_min_cell
from medeval.scoring.length_of_stay import LengthOfStay
from medeval.scoring.phenotyping import Phenotyping
from medeval.scoring.summary import MetricSummary, summarise
from medeval.tasks.mimic3.attributes import Group, clusters, groups
from medeval.tasks.mimic3.inputs import Inputs, Request, read_inputs
from medeval.tasks.mimic3.joining import Joined, Whole
from medeval.tasks.mimic3.layout import LABEL_METRIC, entries, undefined, undefined_sentences
from medeval.tasks.mimic3.tasks import Grouping, Interval, Kind

# Makes the statistic of truth and predictions.
Measure = Callable[..., Statistic]
# The metrics of mimic3-benchmarks, and those beside them.
PUBLISHED: dict[Kind, Measure] = {
    Kind.BINARY: Binary,
    Kind.HOURS: LengthOfStay,
    Kind.LABELS: Phenotyping,
}
OTHERS: dict[Kind, Measure] = {
    Kind.BINARY: ExtraBinary,
    Kind.HOURS: FixedKappa,
    Kind.LABELS: ExtraPhenotyping,
}
ALIKE = "The hours of one stay are alike, and here each is drawn as if it stood alone: the"


@dataclass(frozen=True)
class Evaluated:
    """The published metrics and, if asked for, the others, by name."""

    metrics: dict[str, MetricSummary]
    extra: dict[str, MetricSummary]


@dataclass(frozen=True)
class Scored:
    """All results of one request."""

    request: Request
    inputs: Inputs
    result: Evaluated
    subgroups: dict[Grouping, list[tuple[Group, Evaluated | None]]] = field(default_factory=dict)

    def content(self, *, peer_layout: bool) -> dict[str, Any]:
        """Return what is written: the published keys, then `extra`, `subgroups` and `meta`."""
        request = self.request
        n_iters = request.n_iters
        bare_nan = peer_layout or request.strict_nan
        content = {"n_iters": n_iters, **entries(self.result.metrics, n_iters, bare_nan=bare_nan)}
        if peer_layout:
            return content
        if self.result.extra:
            content["extra"] = entries(self.result.extra, n_iters, bare_nan=bare_nan)
        if self.subgroups:
            content["subgroups"] = {
                grouping.value: {
                    group.name: self._group(group, evaluated, bare_nan=bare_nan)
                    for group, evaluated in cells
                }
                for grouping, cells in self.subgroups.items()
            }
        prediction, *_ = self.inputs.sources.values()
        content["meta"] = {
            "task": request.task.name,
            **self.inputs.about(request, {"prediction": prediction.described()}),
            "interval": {"method": request.interval.value, "level": 0.95},
            "strict_nan": request.strict_nan,
            "undefined": undefined({**self.result.metrics, **self.result.extra}, n_iters),
            "warnings": self.warnings(),
            "min_cell": request.min_cell if self.subgroups else None,
        }
        return content

    def warnings(self) -> list[str]:
        """Return what the user should know: of the rows, and of resamples without a value."""
        every, request = {**self.result.metrics, **self.result.extra}, self.request
        said = undefined_sentences(every, request.n_iters, strict_nan=request.strict_nan)
        return [*self.inputs.rows.warnings, *said]

    def sentences(self) -> Iterator[str]:
        """Say what was scored, and what an interval stands for."""
        request = self.request
        joined = self.inputs.rows
        task = request.task
        rows, stays = len(joined.stays), len(np.unique(joined.stays))
        counted = f"{rows:,} rows of {stays:,} stays" if rows != stays else f"{rows:,} stays"
        if task.kind is Kind.BINARY:
            counted += f", {int(joined.truth.sum()):,} positive"
        yield f"{task.name}: {counted}; truth from {self.inputs.listfile.name}."
        if request.n_iters:
            kind = "BCa" if request.interval is Interval.BCA else "percentile"
            yield (
                f"Intervals: 95 %, {kind}, from {request.n_iters:,} resamples of"
                f" {request.cluster or 'row'}s, seed {request.seed}."
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
        names = ("n", "n_stays", "n_positive", "suppressed")
        told = {**{name: getattr(group, name) for name in names}, "metrics": None}
        if evaluated is not None:
            n_iters = self.request.n_iters
            metrics = {**evaluated.metrics, **evaluated.extra}
            told["metrics"] = entries(metrics, n_iters, bare_nan=bare_nan)
            told["undefined"] = undefined(metrics, n_iters)
            if group.suppressed_labels:
                told["suppressed_metrics"] = {
                    f"{LABEL_METRIC}{label + 1}": reason
                    for label, reason in group.suppressed_labels.items()
                }
        return told


def score_files(request: Request) -> Scored:
    """Read, join and score.

    Raises:
        UserError: the input does not fit, or a smallest cell that hides nothing well; with
            `strict`, also if there is anything to warn of.
    """
    if request.groupings:
        require_min_cell(request.min_cell)
    inputs = read_inputs(request)
    joined = inputs.rows
    if request.strict and joined.warnings:
        raise UserError("\n".join([*joined.warnings, "--strict takes this for an error."]))
    numbers = clusters(joined, request.cluster)
    rows = np.arange(len(joined.stays))
    result = evaluate(request, joined, rows, numbers, request.task.name)
    subgroups = {}
    for grouping, attributes in inputs.attributes.items():
        cells: list[tuple[Group, Evaluated | None]] = []
        for group in groups(request.task, joined, attributes, request.min_cell):
            evaluated = None
            if group.suppressed is None:
                label = f"{grouping.value} {group.name}"
                evaluated = evaluate(request, joined, group.rows, numbers, label)
                for number in group.suppressed_labels:
                    del evaluated.metrics[f"{LABEL_METRIC}{number + 1}"]
            cells.append((group, evaluated))
        subgroups[grouping] = cells
    return Scored(request, inputs, result, subgroups)


def evaluate(
    request: Request, joined: Joined, rows: Whole, clusters: Whole | None, label: str
) -> Evaluated:
    """Score some of the joined rows.

    Args:
        request: says which metrics, resamples and intervals.
        joined: truth and predictions.
        rows: which of them, in order.
        clusters: each joined row's cluster; None resamples rows.
        label: stands beside the progress bar.
    """
    truth, prediction = joined.truth[rows], joined.prediction[rows]
    own = None if clusters is None else clusters[rows]
    resampling = Resampling(request.n_iters, request.seed, own)

    def summaries(of: Measure, label: str, **options: bool) -> dict[str, MetricSummary]:
        with progress(label, lambda: request.n_iters) as advance:
            scores = score(of(truth, prediction, **options), resampling, progress=advance)
        bca = request.interval is Interval.BCA and request.n_iters > 0
        without = jackknife(of(truth, prediction), own) if bca else None
        return summarise(scores, strict_nan=request.strict_nan, jackknife=without)

    return Evaluated(
        summaries(PUBLISHED[request.task.kind], label, strict=request.strict_nan),
        summaries(OTHERS[request.task.kind], f"{label}, extra") if request.extra else {},
    )
