"""Joined rows handed to the metrics, and their summaries handed back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from medeval.predictions.choices import Interval
from medeval.predictions.joining import Joined
from medeval.predictions.keys import Whole
from medeval.predictions.tasks import Kind, Task
from medeval.progress import progress
from medeval.scoring.binary import Binary
from medeval.scoring.bootstrap import Resampling, score
from medeval.scoring.jackknife import jackknife
from medeval.scoring.length_of_stay import LengthOfStay
from medeval.scoring.phenotyping import Phenotyping
from medeval.scoring.results import EXCLUDE, STRICT, MetricSummary, Undefined
from medeval.scoring.statistic import Statistic
from medeval.scoring.summary import summarise

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
    from medeval.scoring import extra  # here, not above: seldom asked for

    measures: dict[Kind, Measure] = {
        Kind.BINARY: extra.ExtraBinary.of,
        Kind.HOURS: extra.FixedKappa.of,
        Kind.LABELS: extra.ExtraPhenotyping.of,
    }
    return measures[kind]
