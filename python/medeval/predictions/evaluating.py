"""Joined rows handed to the metrics, and their summaries handed back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from medeval.exporting.progress import progress
from medeval.predictions.choices import Interval
from medeval.predictions.joining import Joined
from medeval.predictions.keys import Whole
from medeval.predictions.tasks import Kind, Task
from medeval.scoring import tasks
from medeval.scoring.bootstrap import Resampling
from medeval.scoring.results import EXCLUDE, STRICT, Floats, MetricSummary, Scores, Undefined
from medeval.scoring.summary import summarise


@dataclass(frozen=True)
class Measure:
    """Functions of the scoring package that belong together."""

    score: Callable[..., Scores]
    jackknife: Callable[..., Floats]


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

    def summaries(measure: Measure, label: str, **options: Undefined) -> dict[str, MetricSummary]:
        with progress(label, lambda: method.n_iters) as advance:
            scores = measure.score(truth, prediction, resampling, progress=advance, **options)
        bca = method.interval is Interval.BCA and method.n_iters > 0
        return summarise(
            scores,
            method="bca" if bca else "percentile",
            strict_nan=method.strict_nan,
            jackknife=measure.jackknife(truth, prediction, own) if bca else None,
        )

    undefined = STRICT if method.strict_nan else EXCLUDE
    return Evaluated(
        summaries(published(task.kind), label, undefined=undefined),
        summaries(others(task.kind), f"{label}, extra") if method.extra else {},
    )


def published(kind: Kind) -> Measure:
    """Return what computes the metrics of mimic3-benchmarks."""
    return {
        Kind.BINARY: Measure(tasks.score_binary, tasks.jackknife_binary),
        Kind.HOURS: Measure(tasks.score_length_of_stay, tasks.jackknife_length_of_stay),
        Kind.LABELS: Measure(tasks.score_phenotyping, tasks.jackknife_phenotyping),
    }[kind]


def others(kind: Kind) -> Measure:
    """Return what computes the metrics beside them."""
    from medeval.scoring import extra  # here, not above: seldom asked for

    return {
        Kind.BINARY: Measure(extra.extra_binary, extra.jackknife_extra_binary),
        Kind.HOURS: Measure(extra.extra_length_of_stay, extra.jackknife_extra_length_of_stay),
        Kind.LABELS: Measure(extra.extra_phenotyping, extra.jackknife_extra_phenotyping),
    }[kind]
