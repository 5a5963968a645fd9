"""The inner loops, compiled by numba; the same numbers as the numpy code beside which they stand.

Imported only where numba was chosen. The compiled code is kept in the package's `__pycache__`, or
in numba's own cache folder where that cannot be written.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from medeval.scoring.results import Floats, Labels
from medeval.scoring.statistic import Counts

Function = TypeVar("Function", bound=Callable[..., Any])
Words = NDArray[np.uint32]

# MT19937: Matsumoto and Nishimura 1998, ACM TOMACS 8:3-30.
STATE_WORDS = 624
MIDDLE = 397
AHEAD = STATE_WORDS - MIDDLE
UPPER, LOWER, MATRIX = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)
TEMPER_B, TEMPER_C = np.uint32(0x9D2C5680), np.uint32(0xEFC60000)
ONE = np.uint32(1)
# Resamples that go through a ranking side by side; a row of counts is two cache lines.
LANES = 64


def load_array_support() -> None:
    """Load what numba knows of arrays without scipy.linalg, for which it only looks.

    It asks by an import whether BLAS is there, which takes longer than 100 resamples of half a
    million rows; nothing here uses it. Empty modules answer, and are taken away again, so that
    whoever needs BLAS later imports the real ones.
    """
    stand_ins = [
        name
        for name in ("scipy.linalg", "scipy.linalg.cython_blas")
        if name not in sys.modules and "numba.np.arraymath" not in sys.modules
    ]
    sys.modules.update({name: ModuleType(name) for name in stand_ins})
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        for name in stand_ins:
            del sys.modules[name]


load_array_support()


def compiled(function: Function) -> Function:
    """Compile without Python's checks; sums of floats may be reordered, as numpy's are."""
    options: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract"}}
    try:
        made: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder that could keep the compiled code
        made = numba.njit(**options)(function)
    return cast(Function, made)


def count_type(largest: int) -> type[np.uint16 | np.int32]:
    """Return the type for counts up to the largest: half the bytes where they suffice."""
    return np.uint16 if largest <= np.iinfo(np.uint16).max else np.int32


@compiled
def twist(into: Words, far: Words, these: Words, following: Words) -> None:
    """Make new words of the state; the arrays do not overlap, so that this is vectorised."""
    for place in range(len(into)):
        mixed = (these[place] & UPPER) | (following[place] & LOWER)
        into[place] = far[place] ^ (mixed >> ONE) ^ (MATRIX * (mixed & ONE))


@compiled
def next_words(state: Words, spare: Words, words: Words) -> None:
    """Make the next 624 words of the stream from the state."""
    end = STATE_WORDS - 1
    twist(spare[:AHEAD], state[MIDDLE:], state[:AHEAD], state[1:])
    twist(spare[AHEAD : 2 * AHEAD], spare[:AHEAD], state[AHEAD : 2 * AHEAD], state[AHEAD + 1 :])
    twist(spare[2 * AHEAD : end], spare[AHEAD:], state[2 * AHEAD : end], state[2 * AHEAD + 1 :])
    mixed = (state[end] & UPPER) | (spare[0] & LOWER)
    spare[end] = spare[MIDDLE - 1] ^ (mixed >> ONE) ^ (MATRIX * (mixed & ONE))
    for place in range(STATE_WORDS):
        word = spare[place]
        state[place] = word
        word ^= word >> np.uint32(11)
        word ^= (word << np.uint32(7)) & TEMPER_B
        word ^= (word << np.uint32(15)) & TEMPER_C
        words[place] = word ^ (word >> np.uint32(18))


@compiled
def next_drawn(
    words: Words, position: int, mask: np.uint32, units: np.uint32, wanted: int, drawn: Words
) -> tuple[int, int]:
    """Accept words from a position on, at most as many as are wanted; (found, next position)."""
    found = 0
    if wanted >= STATE_WORDS - position:
        # Without a branch: half of the words may be rejected, and no processor guesses which.
        rest = words[position:]
        for place in range(len(rest)):
            word = rest[place] & mask
            drawn[found] = word
            found += word < units
        return found, STATE_WORDS
    while found < wanted and position < STATE_WORDS:
        word = words[position] & mask
        drawn[found] = word
        found += word < units
        position += 1
    return found, position


@compiled
def count_rows(
    state: Words, spare: Words, words: Words, position: int, mask: np.uint32, counts: Counts
) -> int:
    """Add the next resamples to counts of shape (batch, n); returns the next position."""
    drawn = np.empty(STATE_WORDS, dtype=np.uint32)
    units = np.uint32(counts.shape[1])
    for resample in range(counts.shape[0]):
        row = counts[resample]
        wanted = counts.shape[1]
        while wanted > 0:
            if position == STATE_WORDS:
                next_words(state, spare, words)
                position = 0
            found, position = next_drawn(words, position, mask, units, wanted, drawn)
            wanted -= found
            for place in range(found):
                row[drawn[place]] += 1
    return position


@compiled
def count_labels(
    state: Words,
    spare: Words,
    words: Words,
    position: int,
    mask: np.uint32,
    rows: int,
    labels: Labels,
    counts: Counts,
) -> int:
    """Add the next resamples to counts of shape (batch, bins); returns the next position.

    Where every masked word has a label, the rejected ones a bin of their own, most words need not
    be accepted first.
    """
    drawn = np.empty(STATE_WORDS, dtype=np.uint32)
    units = np.uint32(rows)
    all_labelled = len(labels) > mask
    for resample in range(counts.shape[0]):
        row = counts[resample]
        wanted = rows
        while wanted > 0:
            if position == STATE_WORDS:
                next_words(state, spare, words)
                position = 0
            if all_labelled and wanted >= STATE_WORDS - position:
                rest = words[position:]
                for place in range(len(rest)):
                    wanted -= (rest[place] & mask) < units
                for place in range(len(rest)):
                    row[labels[rest[place] & mask]] += 1
                position = STATE_WORDS
                continue
            found, position = next_drawn(words, position, mask, units, wanted, drawn)
            wanted -= found
            for place in range(found):
                row[labels[drawn[place]]] += 1
    return position


@compiled
def binary_metrics(counts: Counts, n_steps: int) -> tuple[Floats, Floats]:
    """Return what `Binary` is made of: three metrics, shape (batch, 3), and both classes' sizes.

    Args:
        counts: as `Steps` orders the bins, shape (batch, n_bins).
        n_steps: G.
    """
    values = np.full((counts.shape[0], 3), np.nan)
    classes = np.zeros((counts.shape[0], 2))
    first_tie = 2 * n_steps + 1
    has_ties = counts.shape[1] > first_tie
    for resample in range(counts.shape[0]):
        row = counts[resample]
        positives, negatives = 0.0, 0.0 + row[n_steps]
        for step in range(n_steps):
            positives += row[n_steps + 1 + step]
            negatives += row[step]
            if has_ties:
                negatives += row[first_tie + step]
        classes[resample, 0], classes[resample, 1] = positives, negatives
        if positives == 0:
            continue
        true, false, pairs, area, best = 0.0, 0.0, 0.0, 0.0, 0.0
        for step in range(n_steps):
            before = false + row[step]
            false = before + row[first_tie + step] if has_ties else before
            gained = row[n_steps + 1 + step]
            if gained == 0:
                continue
            pairs += gained * (2 * negatives - before - false)
            height = true / (true + before) if true + before > 0 else 1.0
            true += gained
            area += gained * (height + true / (true + false))
            best = max(best, true / max(true + false, positives))
        if negatives > 0:
            values[resample, 0] = pairs / (2 * positives * negatives)
        values[resample, 1] = area / (2 * positives)
        values[resample, 2] = best
    return values, classes


@compiled
def sums_of_errors(
    counts: Counts, errors: Floats, cells: NDArray[np.uint8], n_cells: int
) -> tuple[Floats, Floats]:
    """Return sums of the three errors, shape (batch, 3), and of the rows by cell.

    Args:
        counts: of each row, shape (batch, n).
        errors: of each row, shape (3, n).
        cells: of each row, shape (n,).
        n_cells: how many cells there are.
    """
    sums = np.zeros((counts.shape[0], 3))
    confusion = np.zeros((counts.shape[0], n_cells))
    first, second, third = errors[0], errors[1], errors[2]
    for resample in range(counts.shape[0]):
        row = counts[resample]
        a, b, c = 0.0, 0.0, 0.0
        for place in range(len(row)):
            weight = np.float64(row[place])
            a += weight * first[place]
            b += weight * second[place]
            c += weight * third[place]
        sums[resample, 0], sums[resample, 1], sums[resample, 2] = a, b, c
        cell_counts = np.zeros(n_cells, dtype=np.int64)
        for place in range(len(row)):
            cell_counts[cells[place]] += row[place]
        confusion[resample] = cell_counts
    return sums, confusion


@compiled
def add_rows(lanes: Counts, rows: NDArray[np.int32], start: int, end: int, sums: Counts) -> None:
    """Add the counts of some rows, lane by lane."""
    for place in range(start, end):
        row = lanes[rows[place]]
        for lane in range(LANES):
            sums[lane] += row[lane]


@compiled
def areas(
    lanes: Counts, rows: NDArray[np.int32], ends: NDArray[np.int64], rankings: NDArray[np.int64]
) -> tuple[Floats, Floats]:
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
    place, step = 0, 0
    false = np.empty(LANES, dtype=np.int32)
    gained = np.empty(LANES, dtype=np.int32)
    tied = np.empty(LANES, dtype=np.int32)
    outranked = np.empty(LANES)
    for ranking in range(len(rankings)):
        false[:] = 0
        outranked[:] = 0
        total = positives[ranking]
        while step < rankings[ranking]:
            add_rows(lanes, rows, place, ends[step, 0], false)
            gained[:] = 0
            add_rows(lanes, rows, ends[step, 0], ends[step, 1], gained)
            for lane in range(LANES):
                total[lane] += gained[lane]
                outranked[lane] += np.float64(gained[lane]) * np.float64(false[lane])
            if ends[step, 2] > ends[step, 1]:
                tied[:] = 0
                add_rows(lanes, rows, ends[step, 1], ends[step, 2], tied)
                for lane in range(LANES):
                    outranked[lane] += 0.5 * np.float64(gained[lane]) * np.float64(tied[lane])
                    false[lane] += tied[lane]
            place = ends[step, 2]
            step += 1
        for lane in range(LANES):
            pairs = total[lane] * false[lane]
            if pairs > 0:
                values[ranking, lane] = (pairs - outranked[lane]) / pairs
    return values, positives
