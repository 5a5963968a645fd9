"""Point values and their bootstrap (Efron 1979; plain or of whole clusters)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medeval.scoring.engine import Engine, choose
from medeval.scoring.resamples import BinResamples, ClusterResamples, Resamples, RowResamples
from medeval.scoring.results import Advance, Integers, Scores
from medeval.scoring.statistic import Statistic

# Numbers per batch: few enough to stay in the processor's cache, enough to hide numpy's calls.
# numba needs them for other reasons only: it takes up to 64 resamples through a ranking at a time.
BATCH_NUMBERS = {Engine.NUMPY: 1 << 19, Engine.NUMBA: 1 << 20}
MOST_AT_ONCE = 64
LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Resampling:
    """How the data are resampled.

    Attributes:
        n_iters: number of resamples; 0 gives point values only.
        seed: of `numpy.random.RandomState`, 0 to 2^32 - 1.
        clusters: cluster id of each row, shape (n,): whole clusters are resampled; None resamples
            rows.
        replay: draw the rows that numpy's legacy generator draws, as mimic3-benchmarks does; else
            bins of like rows are drawn at once, whatever the order of the rows.
    """

    n_iters: int
    seed: int
    clusters: Integers | None = None
    replay: bool = True

    def __post_init__(self) -> None:
        """Refuse what no generator takes."""
        if self.n_iters < 0:
            raise ValueError(f"n_iters is {self.n_iters}, but cannot be below 0")
        if self.replay and not 0 <= self.seed <= LARGEST_SEED:
            raise ValueError(f"seed is {self.seed}, but must lie in 0 to {LARGEST_SEED}")


def score(
    statistic: Statistic,
    resampling: Resampling,
    *,
    engine: Engine = Engine.AUTO,
    progress: Advance | None = None,
) -> Scores:
    """Return the metrics on the data and on every resample.

    Args:
        statistic: the metrics of the data.
        resampling: what is drawn, and how often.
        engine: numpy or numba; the numbers are the same.
        progress: called with the number of resamples done since the last call.
    """
    shape = (resampling.n_iters, len(statistic.names))
    if not statistic.rows:
        none = np.full(shape[1], np.nan)
        return Scores(statistic.names, none, np.full(shape, np.nan), ("no rows",) * shape[1])
    if resampling.clusters is not None and len(resampling.clusters) != statistic.rows:
        raise ValueError(f"{len(resampling.clusters)} cluster ids for {statistic.rows} rows")
    chosen = choose(engine, statistic.rows * resampling.n_iters * statistic.rankings)
    # By the same engine as the samples, with which BCa intervals compare them.
    values = statistic.from_bins(all_rows(statistic), chosen)[0]
    samples = np.empty(shape)
    if resampling.n_iters:
        resamples = draw(statistic, resampling, chosen)
        done = 0
        for size in batches(statistic, resampling, chosen):
            counts = resamples.counts(size, statistic.labels, statistic.n_bins)
            samples[done : done + size] = statistic.from_bins(counts, chosen)
            done += size
            if progress is not None:
                progress(size)
    return Scores(statistic.names, values, samples, statistic.reasons(values))


def all_rows(statistic: Statistic) -> Integers:
    """Return the counts of the data themselves, shape (1, n_bins)."""
    if statistic.labels is None:
        return np.ones((1, statistic.rows), dtype=np.int64)
    return np.bincount(statistic.labels, minlength=statistic.n_bins)[None, :]


def draw(statistic: Statistic, resampling: Resampling, engine: Engine) -> Resamples:
    """Return the resamples as they are counted by this engine."""
    if not resampling.replay:
        return BinResamples(resampling.seed, all_rows(statistic)[0])
    if resampling.clusters is not None:
        return ClusterResamples(resampling.seed, resampling.clusters)
    if engine is Engine.NUMBA:
        from medeval.scoring.fast_resamples import FastRowResamples  # numba is slow to load

        return FastRowResamples(resampling.seed, statistic.rows)
    return RowResamples(resampling.seed, statistic.rows)


def batches(statistic: Statistic, resampling: Resampling, engine: Engine) -> list[int]:
    """Return how many resamples are done at a time; memory does not grow with n_iters."""
    size = max(1, BATCH_NUMBERS[engine] // max(statistic.rows, statistic.n_bins))
    size = min(size, MOST_AT_ONCE)
    whole, rest = divmod(resampling.n_iters, size)
    return [size] * whole + [rest] * bool(rest)
