"""Array types, random streams and grouped arithmetic shared by the generators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Times = npt.NDArray[np.datetime64]  # seconds; NaT is missing

MINUTE = 60
HOUR = 3600
DAY = 86400


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream of one stage or piece: the same key gives the same numbers."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def seconds(count: npt.ArrayLike) -> npt.NDArray[np.timedelta64]:
    """Return whole seconds as a time span, to add to times."""
    return np.asarray(count).astype(np.int64).astype("timedelta64[s]")


def floor_day(times: Times) -> Times:
    """Return 00:00:00 of each time's day."""
    return times.astype("datetime64[D]").astype("datetime64[s]")


def floor_minute(times: Times) -> Times:
    """Return each time without its seconds."""
    return times.astype("datetime64[m]").astype("datetime64[s]")


def missing_times(count: int) -> Times:
    """Return `count` missing times."""
    return np.full(count, np.datetime64("NaT", "s"))


def starts_of(counts: Ints) -> Ints:
    """Return where each group starts when groups of these sizes are laid end to end."""
    return np.cumsum(counts) - counts


def ordinals(counts: Ints) -> Ints:
    """Return 0, 1, 2, ... inside each group: ``[2, 3]`` gives ``[0, 1, 0, 1, 2]``."""
    return np.arange(int(counts.sum())) - np.repeat(starts_of(counts), counts)


def running_before(values: Ints, counts: Ints) -> Ints:
    """Return, for each member of each group, the sum of the members before it."""
    before = np.cumsum(values) - values
    filled = counts > 0
    return before - np.repeat(before[starts_of(counts)[filled]], counts[filled])


def mixed(seed: int, *keys: Ints) -> npt.NDArray[np.uint64]:
    """Return 64 well-mixed bits for each combination of keys (the finaliser of splitmix64).

    A piece of a table asks here for what its rows share with rows of another piece, such as the
    charting time of one round, so that nothing depends on where the pieces are cut.
    """
    bits = np.full(keys[0].shape, seed, dtype=np.uint64)
    for key in keys:
        bits ^= key.astype(np.uint64)
        bits += np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    return bits


def unit_interval(bits: npt.NDArray[np.uint64]) -> Floats:
    """Return a number in [0, 1) from the upper half of each element's bits."""
    return (bits >> np.uint64(32)).astype(np.float64) * 2.0**-32
