"""The inner loops, compiled by numba: the numbers of the numpy code beside which they stand.

Imported only where numba was chosen. The compiled code is kept in the package's `__pycache__`, or
in numba's own cache folder where that cannot be written. The generator is here again since numpy's
own, asked for its words, takes three times as long as all the rest of a resample of hours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from medeval.scoring.resample import Counts, Floats, Integers, Labels

# numba looks for BLAS by an import that takes longer than 100 resamples of half a million rows, and
# nothing here uses it: empty modules answer, and are gone when somebody needs the real ones.
BLAS = ("scipy.linalg", "scipy.linalg.cython_blas")
stand_ins = {name: ModuleType(name) for name in BLAS if name not in sys.modules}
sys.modules.update(stand_ins)
import numba.np.arraymath  # noqa: E402

for name in stand_ins:
    del sys.modules[name]

Function = TypeVar("Function", bound=Callable[..., Any])
Words = NDArray[np.uint32]
Pair = tuple[NDArray[Any], NDArray[Any]]

# MT19937: Matsumoto and Nishimura 1998, ACM TOMACS 8:3-30.
STATE_WORDS = 624
MIDDLE = 397
AHEAD = STATE_WORDS - MIDDLE
UPPER, LOWER, MATRIX = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
TEMPER_B, TEMPER_C = np.uint32(0x9D2C5680), np.uint32(0xEFC60000)
ONE = np.uint32(1)
# Resamples that go through a ranking side by side; a row of counts is two cache lines.
LANES = 64

# Without Python's checks; sums of floats may be reordered, as numpy's are.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"reassoc"}}
compiled: Callable[[Function], Function] = cast(Any, numba.njit(**OPTIONS))


@compiled
def twist(into: Words, far: Words, these: Words, following: Words) -> None:
    """Make new words of the state; the arrays do not overlap, so that this is vectorised."""
    for place in range(len(into)):
        mixed = (these[place] & UPPER) | (following[place] & LOWER)
        into[place] = far[place] ^ (mixed >> ONE) ^ (MATRIX * (mixed & ONE))


@compiled
def next_words(state: Words, spare: Words, words: Words) -> None:
    """Make the next 624 words of the stream from the state."""
    last = STATE_WORDS - 1
    twist(spare[:AHEAD], state[MIDDLE:], state[:AHEAD], state[1:])
    twist(spare[AHEAD : 2 * AHEAD], spare[:AHEAD], state[AHEAD : 2 * AHEAD], state[AHEAD + 1 :])
    twist(spare[2 * AHEAD : last], spare[AHEAD:], state[2 * AHEAD : last], state[2 * AHEAD + 1 :])
    twist(spare[last:], spare[MIDDLE - 1 : MIDDLE], state[last:], spare[:1])
    for place in range(STATE_WORDS):
        word = spare[place]
        state[place] = word
        word ^= word >> np.uint32(11)
        word ^= (word << np.uint32(7)) & TEMPER_B
        word ^= (word << np.uint32(15)) & TEMPER_C
        words[place] = word ^ (word >> np.uint32(18))


@compiled
def count(
    stream: Words, position: int, mask: np.uint32, units: np.uint32, labels: Any, counts: Counts
) -> int:
    """Add the next resamples, by label where there are labels; returns the next word's position.

    Args:
        stream: the generator's state, room for the next one, and its words, shape (3, 624).
        position: of the next word.
        mask: the smallest 2^b - 1 that covers all rows.
        units: how many rows there are.
        labels: bin of each masked word, those that are rejected in a bin of their own, shape
            (mask + 1,); None counts each row for itself.
        counts: shape (batch, bins).
    """
    drawn = np.empty(STATE_WORDS, dtype=np.uint32)
    for resample in range(counts.shape[0]):
        row = counts[resample]
        wanted: Any = np.int64(units)
        while wanted > 0:
            if position == STATE_WORDS:
                next_words(stream[0], stream[1], stream[2])
                position = 0
            taken = stream[2, position : min(STATE_WORDS, position + wanted)]
            position += len(taken)
            # Without a branch: half of the words may be rejected, and no processor guesses which.
            found = 0
            if labels is None:
                for place in range(len(taken)):
                    drawn[found] = taken[place] & mask
                    found += drawn[found] < units
                for place in range(found):
                    row[drawn[place]] += 1
            else:
                for place in range(len(taken)):
                    found += (taken[place] & mask) < units
                for place in range(len(taken)):
                    row[labels[taken[place] & mask]] += 1
            wanted -= found
    return position


@compiled
def sums_of_errors(counts: Counts, errors: Floats, cells: Labels, n_cells: int) -> Pair:
    """Return the sums of three errors, shape (batch, 3), and of the rows by cell.

    Args:
        counts: of each row, shape (batch, n).
        errors: of each row, shape (3, n).
        cells: of each row, shape (n,).
        n_cells: how many cells there are.
    """
    sums = np.zeros((len(counts), 3))
    confusion = np.zeros((len(counts), n_cells), dtype=np.int64)
    first, second, third = errors[0], errors[1], errors[2]
    for resample in range(len(counts)):
        row, by_cell = counts[resample], confusion[resample]
        a, b, c = 0.0, 0.0, 0.0
        for place in range(len(row)):
            a += row[place] * first[place]
            b += row[place] * second[place]
            c += row[place] * third[place]
        sums[resample, 0], sums[resample, 1], sums[resample, 2] = a, b, c
        for place in range(len(row)):
            by_cell[cells[place]] += row[place]
    return sums, confusion


@compiled
def areas(lanes: Counts, rows: Labels, ends: Integers, rankings: Integers) -> Pair:
    """Return the area under each ROC curve and the positives, shape (rankings, 64) both.

    Args:
        lanes: counts of the rows in 64 resamples, shape (n, 64).
        rows: of all rankings, step by step: those of the gap, of the positives, of the ties.
        ends: where each of the three parts of each step ends in `rows`, shape (steps, 3).
        rankings: where each ranking ends in `ends`, shape (rankings,). Its last step is the gap
            below all positives.
    """
    values = np.full((len(rankings), LANES), np.nan)
    positives = np.zeros((len(rankings), LANES))
    parts = np.empty((3, LANES), dtype=np.int32)
    place, first = 0, 0
    for ranking in range(len(rankings)):
        false = np.zeros(LANES, dtype=np.int32)
        outranked = np.zeros(LANES)  # pairs in the wrong order, and half of those that are tied
        total = positives[ranking]
        for step in range(first, rankings[ranking]):
            parts[:] = 0
            for part in range(3):
                into = parts[part]
                for row in rows[place : ends[step, part]]:
                    counts = lanes[row]
                    for lane in range(LANES):
                        into[lane] += counts[lane]
                place = ends[step, part]
            for lane in range(LANES):
                above, gained, tied = false[lane] + parts[0, lane], parts[1, lane], parts[2, lane]
                total[lane] += gained
                outranked[lane] += np.float64(gained) * (above + 0.5 * tied)
                false[lane] = above + tied
        first = rankings[ranking]
        for lane in range(LANES):
            pairs = total[lane] * false[lane]
            if pairs > 0:
                values[ranking, lane] = (pairs - outranked[lane]) / pairs
    return values, positives
