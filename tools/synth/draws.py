"""Random streams, columns of equal length and grouped arithmetic, shared by the data sets."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Times = npt.NDArray[np.datetime64]  # seconds; NaT is missing
T = TypeVar("T")

MINUTE, HOUR, DAY = 60, 3600, 86400


class Columns(SimpleNamespace):
    """Arrays of one length by name: a table in memory, one element a row."""

    def take(self, places: Ints | slice) -> Self:
        """Return the rows at these places."""
        return type(self)(**{name: column[places] for name, column in vars(self).items()})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all the parts, one after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(**dict(zip(vars(parts[0]), map(np.concatenate, columns), strict=True)))


class Cases:
    """The special cases: of every `cycle` places each `stride`-th, from `first`, is the next."""

    ORDINARY = -1

    def __init__(self, special: dict[str, Any]) -> None:
        self.names = list(special["cases"])
        self.cycle, self.stride, self.first = (
            int(special[name]) for name in ("cycle", "stride", "first")
        )

    def assign(self, count: int) -> Ints:
        """Return the case of each of `count` places, as a place in `names` or `ORDINARY`."""
        slot, rest = np.divmod(np.arange(count) % self.cycle, self.stride)
        special = (rest == self.first) & (slot < len(self.names))
        return np.where(special, slot, self.ORDINARY)

    def has(self, case: Ints, *names: str) -> Bools:
        """Return where one of the named cases is."""
        return np.isin(case, [self.names.index(name) for name in names])


class Dice:
    """The random draws of one admission, in the order in which they are asked for."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = numbers
        self._next = 0

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        number = self._numbers[self._next % len(self._numbers)]
        self._next += 1
        return number

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.unit() < probability

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + int(self.unit() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self.unit() * len(options))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """Return up to `count` different options, in their own order."""
        order = sorted(range(len(options)), key=lambda _: self.unit())[:count]
        return [options[place] for place in sorted(order)]


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream of one stage or piece: the same key gives the same numbers."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def seconds(count: npt.ArrayLike) -> npt.NDArray[np.timedelta64]:
    """Return whole seconds as a time span, to add to times."""
    return np.asarray(count).astype(np.int64).astype("timedelta64[s]")


def floor(times: Times, unit: str) -> Times:
    """Return the start of each time's minute (``m``) or day (``D``)."""
    return times.astype(f"datetime64[{unit}]").astype("datetime64[s]")


def missing_times(count: int) -> Times:
    """Return `count` missing times."""
    return np.full(count, np.datetime64("NaT", "s"))


def ordinals(counts: Ints) -> Ints:
    """Return 0, 1, 2, ... inside each group: ``[2, 3]`` gives ``[0, 1, 0, 1, 2]``."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def running_before(values: Ints, counts: Ints) -> Ints:
    """Return, for each member of each group, the sum of the members before it."""
    before: Ints = np.cumsum(values) - values
    inside: Ints = before - before[np.arange(len(values)) - ordinals(counts)]
    return inside


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
