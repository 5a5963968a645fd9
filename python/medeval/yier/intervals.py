"""Intervals of micro F1 by resampling questions, and the comparison of two systems.

Questions are drawn, never single options: the options of a question belong together. With clusters,
all questions that share a context are drawn together. A draw without any predicted or gold answer
has an F1 of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from medeval.errors import UserError
from medeval.models.scores import Interval
from medeval.scoring.compare import Difference, paired_difference
from medeval.scoring.table import Ratio, sampled_interval, samples
from medeval.yier.counting import Counts
from medeval.yier.folding import canonical
from medeval.yier.score import Scored

Cluster = Literal["context"]
N_ITERS = 1000
NOTHING = "nothing to score: there is no question."


class F1Interval(Interval):
    """The percentile interval of micro F1, of the questions or of clusters of them.

    Attributes:
        mean: of the draws.
        median: of the draws.
        std: of the draws.
        n_iters: how many draws.
        seed: of the draws.
        warning: why the interval says nothing.
    """

    mean: float
    median: float
    std: float
    n_iters: int
    seed: int
    warning: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the values by name; `n_units` questions, or clusters of them, are drawn from."""
        names = ("value", "mean", "median", "std", "low", "high", "n_iters")
        found = {name: getattr(self, name) for name in names}
        return {**found, "n_units": self.n, "seed": self.seed, "warning": self.warning}


def bootstrap(units: Sequence[Counts], *, n_iters: int = N_ITERS, seed: int = 0) -> F1Interval:
    """Return the interval of micro F1.

    Args:
        units: the counts of each question, or of each cluster, in an order of their own.
        n_iters: how many draws.
        seed: of the draws.
    """
    if n_iters < 1:
        raise UserError(f"{n_iters} draws; there must be 1 or more.")
    # Without any predicted or gold answer F1 is 0.
    column = Ratio(*zip(*_ratios(units), strict=True), empty=0.0)
    warning = None
    if len(units) == 1:
        warning = "one unit only: the interval has no width and says nothing"
    elif len(set(units)) == 1:
        warning = "all units are alike: the interval has no width and says nothing"
    draws = samples(column, n_iters, seed)
    return F1Interval(
        **sampled_interval(column.value(), draws, len(units), "").model_dump(),
        mean=float(draws.mean()),
        median=float(np.median(draws)),
        std=float(draws.std()),
        n_iters=n_iters,
        seed=seed,
        warning=warning,
    )


def compare(
    first: Sequence[Scored],
    second: Sequence[Scored],
    *,
    n_iters: int = N_ITERS,
    seed: int = 0,
    cluster: Cluster | None = None,
) -> Difference:
    """Compare two systems' scores on the same questions: paired draws, random exchanges.

    Raises:
        UserError: not the same questions.
    """
    ids = [
        [entry.answered.record.sample_id for entry in _ordered(some)] for some in (first, second)
    ]
    if ids[0] != ids[1]:
        raise UserError(
            f"the two systems have answers to different questions ({len(ids[0]):,} and"
            f" {len(ids[1]):,}); score both against the same file."
        )
    if n_iters < 1:
        raise UserError(f"{n_iters} draws; there must be 1 or more.")
    one, two = (_ratios(units_of(some, cluster)) for some in (first, second))
    return paired_difference("f1", one, two, len(first), draws=n_iters, seed=seed)


def units_of(scored: Sequence[Scored], cluster: Cluster | None = None) -> list[Counts]:
    """Return what is drawn: questions by sample_id, or those that share a context together.

    A question without a context is a unit of its own.
    """
    units: dict[tuple[str, str], Counts] = {}
    for entry in _ordered(scored):
        record = entry.answered.record
        shared = cluster == "context" and record.context is not None
        key = ("context", canonical(record.context or "")) if shared else ("id", record.sample_id)
        units[key] = units.get(key, Counts(0, 0, 0)) + entry.counted.counts
    return list(units.values())


def _ordered(scored: Sequence[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda entry: entry.answered.record.sample_id)


def _ratios(units: Sequence[Counts]) -> list[tuple[int, int]]:
    """Return twice the right answers of each unit, and its predicted and gold ones."""
    if not units:
        raise UserError(NOTHING)
    return [(2 * one.tp, one.n_pred + one.n_gold) for one in units]
