"""Intervals of micro F1 by resampling questions, and the comparison of two systems.

Questions are drawn, never single options: the options of a question belong together. With clusters,
all questions that share a context are drawn together. A draw without any predicted or gold answer
has an F1 of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from medeval.errors import UserError
from medeval.scoring.resamples import RowResamples
from medeval.yier.counting import Counts
from medeval.yier.folding import canonical
from medeval.yier.score import Scored

Cluster = Literal["context"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_ITERS = 1000
LEVEL = 0.95
_TAIL = 50 * (1 - LEVEL)
BATCH = 256
# Equal in exact arithmetic, apart by rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """A percentile interval of micro F1.

    Attributes:
        value: of the data themselves.
        mean: of the draws.
        median: of the draws.
        std: of the draws.
        low: lower end.
        high: upper end.
        n_iters: how many draws.
        n_units: how many questions, or clusters of them, are drawn from.
        seed: of the draws.
        warning: why the interval says nothing.
    """

    value: float
    mean: float
    median: float
    std: float
    low: float
    high: float
    n_iters: int
    n_units: int
    seed: int
    warning: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same questions.

    Attributes:
        first: F1 of the first.
        second: F1 of the second.
        difference: first less second.
        low: lower end of the difference's interval.
        high: upper end of the difference's interval.
        p_value: two-sided, by approximate randomisation.
        n_iters: how many draws, and how many random exchanges.
        seed: of both.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    n_iters: int
    seed: int


def bootstrap(units: Sequence[Counts], *, n_iters: int = N_ITERS, seed: int = 0) -> Interval:
    """Return the interval of micro F1.

    Args:
        units: the counts of each question, or of each cluster, in an order of their own.
        n_iters: how many draws.
        seed: of the draws.
    """
    counts = _array(units)
    values = _draws([counts], n_iters, seed)[0]
    low, median, high = np.percentile(values, [_TAIL, 50, 100 - _TAIL])
    value = _f1(counts.sum(axis=0))
    warning = None
    if len(counts) == 1:
        warning = "one unit only: the interval has no width and says nothing"
    elif (counts == counts[0]).all():
        warning = "all units are alike: the interval has no width and says nothing"
    return Interval(
        float(value),
        float(values.mean()),
        float(median),
        float(values.std()),
        float(low),
        float(high),
        n_iters,
        len(counts),
        seed,
        warning,
    )


def compare(
    first: Sequence[Scored],
    second: Sequence[Scored],
    *,
    n_iters: int = N_ITERS,
    seed: int = 0,
    cluster: Cluster | None = None,
) -> Comparison:
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
    one, two = _array(units_of(first, cluster)), _array(units_of(second, cluster))
    values = _draws([one, two], n_iters, seed)
    between = values[0] - values[1]
    low, high = np.percentile(between, [_TAIL, 100 - _TAIL])
    f1s = float(_f1(one.sum(axis=0))), float(_f1(two.sum(axis=0)))
    return Comparison(
        *f1s,
        f1s[0] - f1s[1],
        float(low),
        float(high),
        _exchange_p(one, two, n_iters, seed),
        n_iters,
        seed,
    )


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


def _array(units: Sequence[Counts]) -> Integers:
    if not units:
        raise UserError("nothing to score: there is no question.")
    return np.array([(one.tp, one.n_pred, one.n_gold) for one in units], dtype=np.int64)


def _draws(systems: Sequence[Integers], n_iters: int, seed: int) -> Floats:
    """Return the F1 of each system on each draw, the same draws for all: (systems, n_iters)."""
    if n_iters < 1:
        raise UserError(f"{n_iters} draws; there must be 1 or more.")
    n_units = len(systems[0])
    resamples = RowResamples(seed, n_units)
    values = np.empty((len(systems), n_iters))
    for start in range(0, n_iters, BATCH):
        size = min(BATCH, n_iters - start)
        weights = resamples.counts(size, None, n_units)
        for place, counts in enumerate(systems):
            values[place, start : start + size] = _f1(weights @ counts)
    return values


def _f1(sums: Integers) -> Floats:
    """Return F1 of sums (..., 3); 0 where there is neither a predicted nor a gold answer."""
    both = sums[..., 1] + sums[..., 2]
    return np.asarray(2 * sums[..., 0] / np.maximum(both, 1), dtype=np.float64)


def _exchange_p(one: Integers, two: Integers, n_iters: int, seed: int) -> float:
    """Return how often a difference as large appears when each unit's answers are exchanged."""
    observed = abs(float(_f1(one.sum(axis=0)) - _f1(two.sum(axis=0))))
    random = np.random.default_rng([seed, 1])
    reached = 0
    for start in range(0, n_iters, BATCH):
        size = min(BATCH, n_iters - start)
        stay = random.integers(0, 2, size=(size, len(one)))
        mixed = _f1(stay @ one + (1 - stay) @ two) - _f1(stay @ two + (1 - stay) @ one)
        reached += int((np.abs(mixed) >= observed - ROUNDING).sum())
    return (1 + reached) / (1 + n_iters)
