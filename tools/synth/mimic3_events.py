"""Ordinary events, in pieces of a fixed number of rows so that memory does not grow with them.

Rows of a table are numbered through all its units (stays, or admissions for labs); a piece is a
run of these numbers with a random stream of its own. What a piece holds therefore depends on the
seed and the plan, not on how many pieces there are in memory or in what order they are made.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from synth import arrays as ar
from synth.arrays import DAY, MINUTE, Bools, Ints
from synth.mimic3_batches import Batch
from synth.mimic3_items import CHART, CHOICES, LAB, OUTPUT, Catalogue
from synth.mimic3_model import Levels
from synth.mimic3_plan import Plan
from synth.mimic3_values import MISSING_TEXTS, ValuePool

PIECE = 131_072  # rows
ROUND = {CHART: 10, LAB: 6, OUTPUT: 1}  # events charted together

ODD_SHARE = 0.004
MISSING_SHARE = 0.005
DUPLICATE_SHARE = 0.008
ERROR_SHARE = 0.003
ABNORMAL = 1.3  # standard deviations
# Cumulated shares of events whose ids are not simply those of their stay.
NO_HADM, NO_ICUSTAY, OTHER_HADM, OTHER_ICUSTAY = 0.012, 0.032, 0.042, 0.052
OUTPATIENT_SHARE = 0.03


class OrdinaryEvents:
    """The ordinary events of one table, in unit and time order."""

    def __init__(
        self, seed: int, plan: Plan, catalogue: Catalogue, pool: ValuePool, levels: Levels
    ) -> None:
        self._seed = seed
        self._plan = plan
        self._ends = np.cumsum(plan.counts)
        self._catalogue = catalogue
        self._choices = catalogue.choices(plan.table)
        self._missing = pool.missing
        self._levels = levels

    def pieces(self) -> Iterator[Batch]:
        """Yield the events in batches of at most `PIECE`."""
        for number, low in enumerate(range(0, self._plan.rows, PIECE)):
            yield self._piece(number, low, min(low + PIECE, self._plan.rows))

    def _piece(self, number: int, low: int, high: int) -> Batch:
        plan, count = self._plan, high - low
        rng = ar.stream(self._seed, 30, plan.table, number)
        unit, inside = self._units(low, high)
        bits, time = self._times(unit, inside)
        only_numbers = plan.only_numbers[unit]
        slot = rng.integers(0, CHOICES, count)
        item = self._choices[plan.system[unit], only_numbers.astype(np.int64), slot]
        noise = rng.standard_normal(count, dtype=np.float32)
        is_abnormal = np.abs(noise) > ABNORMAL
        is_error = rng.random(count) < ERROR_SHARE
        batch = Batch(
            patient=plan.patient[unit],
            admission=plan.admission[unit],
            stay=plan.stay[unit],
            item=item,
            time=time,
            value=self._values(rng, item, only_numbers, plan.admission[unit], noise),
            unit=self._catalogue.unit[item],
            round=bits,
            flag=is_abnormal if plan.table == LAB else is_error,
        )
        self._mix_up_ids(rng, unit, batch)
        again = (rng.random(count) < DUPLICATE_SHARE) & (inside > 0)
        again[0] = False
        return batch.take(np.arange(count) - again)

    def _units(self, low: int, high: int) -> tuple[Ints, Ints]:
        """Return the unit of each row from `low` to `high`, and the row's number inside it."""
        starts = self._ends - self._plan.counts
        first, last = np.searchsorted(self._ends, [low, high - 1], side="right")
        here = np.arange(first, last + 1)
        parts = np.minimum(self._ends[here], high) - np.maximum(starts[here], low)
        unit = np.repeat(here, parts)
        return unit, np.arange(low, high) - starts[unit]

    def _times(self, unit: Ints, inside: Ints) -> tuple[npt.NDArray[np.uint64], Ints]:
        """Return each event's charting round, as mixed bits, and its time, to the minute."""
        plan, together = self._plan, ROUND[self._plan.table]
        number = inside // together
        bits = ar.mixed(self._seed + plan.table, unit, number)
        share = (number + ar.unit_interval(bits)) / -(-plan.counts[unit] // together)
        begin = plan.begin[unit]
        time = begin + (share * (plan.end[unit] - begin)).astype(np.int64)
        return bits, time - time % MINUTE

    def _values(
        self,
        rng: np.random.Generator,
        item: Ints,
        only_numbers: Bools,
        admission: Ints,
        noise: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.int32]:
        """Return each event's place in the value pool."""
        of = self._catalogue
        step = of.base[item] + of.slope[item] * self._levels[admission, of.measure[item]]
        step += of.spread[item] * noise
        np.clip(np.rint(step), 0, of.top[item], out=step)
        value: npt.NDArray[np.int32] = of.first[item] + step.astype(np.int32)
        chance = rng.random(len(item), dtype=np.float32)
        odd = np.flatnonzero((chance < ODD_SHARE) & (of.odd_count[item] > 0) & ~only_numbers)
        value[odd] = of.odd_first[item[odd]] + rng.integers(0, of.odd_count[item[odd]])
        missing = np.flatnonzero(chance > 1 - MISSING_SHARE)
        value[missing] = self._missing + rng.integers(0, len(MISSING_TEXTS), len(missing))
        return value

    def _mix_up_ids(self, rng: np.random.Generator, unit: Ints, batch: Batch) -> None:
        """Take HADM_ID or ICUSTAY_ID away, or put a sibling's in its place."""
        plan = self._plan
        chance = rng.random(len(unit))
        sibling = plan.sibling[unit]
        if plan.table == LAB:
            outpatient = np.flatnonzero(chance < OUTPATIENT_SHARE)
            days = (5 + batch.round[outpatient] % np.uint64(200)).astype(np.int64)
            batch.admission[outpatient] = -1
            batch.time[outpatient] -= days * DAY
        else:
            batch.admission[chance < NO_HADM] = -1
            batch.stay[(chance >= NO_HADM) & (chance < NO_ICUSTAY)] = -1
            other = (chance >= OTHER_HADM) & (chance < OTHER_ICUSTAY)
            batch.stay[other] = plan.stay[sibling[other]]
        other = (chance >= NO_ICUSTAY) & (chance < OTHER_HADM)
        batch.admission[other] = plan.admission[sibling[other]]
