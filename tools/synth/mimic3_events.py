"""Events of the MIMIC-III data: what can be charted, how much of it, and the rows.

Ordinary events come in pieces of a fixed number of rows, so that memory does not grow with them.
Rows of a table are numbered through all its units (stays, or admissions for labs); a piece is a
run of these numbers with a random stream of its own. What a piece holds therefore depends on the
seed and the plan, not on how many pieces there are in memory or in what order they are made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from synth import draws
from synth.draws import DAY, HOUR, MINUTE, Columns, Floats, Ints
from synth.files import DATA, SEEDS, cells, pick, read_rows, read_yaml, text_cells
from synth.mimic3_people import BOTH, CAREVUE, CASES, MEASURES, METAVISION, Population

TEXTS: dict[str, Any] = read_yaml("mimic3_values.yml")
COLUMNS: dict[str, list[str]] = read_yaml("tables.yml")["mimic3"]
# The event tables, in the order in which they are written: a table is named by its place here.
TABLES = ("chartevents", "labevents", "outputevents")
CHART, LAB, OUTPUT = range(3)
SHARES = (1, 0.2, 0.06)  # of events, to each chart event of a stay
LEAST = (8, 4, 1)  # events of a stay or admission
ROUND = (10, 6, 1)  # events charted together
FIRST_METAVISION_ITEM = 220_000
CHOICES = 8192  # slots of a choice table
PIECE = 131_072  # rows

ODD_SHARE, MISSING_SHARE, DUPLICATE_SHARE, ERROR_SHARE = 0.004, 0.005, 0.008, 0.003
ABNORMAL = 1.3  # standard deviations
# Cumulated shares of events whose ids are not simply those of their stay.
NO_HADM, NO_ICUSTAY, OTHER_HADM, OTHER_ICUSTAY = 0.012, 0.032, 0.042, 0.052
OUTPATIENT_SHARE = 0.03
LATE = ("number_only_negative", "number_only_exponent")  # a special event is their first
CAREGIVERS = 4096


class Catalogue:
    """All items, in ITEMID order, and all texts of VALUE, in one pool.

    A value's step in its segment of the pool is ``base + slope * level + spread * noise``, where
    `level` is the admission's distance from the measure's mean and `noise` is standard normal; its
    place in the pool is ``first`` plus the step, cut to ``[0, top]``.
    """

    def __init__(self) -> None:
        # The benchmark's items have their names from its seed.
        named = read_rows(SEEDS / "mimic3" / "item_variables.csv")
        known = {row["itemid"]: row for row in named}
        self.items = [
            row | known.get(row["itemid"], {}) for row in read_rows(DATA / "mimic3_items.csv")
        ]
        self.itemid = np.array([int(item["itemid"]) for item in self.items])
        self.place = {int(itemid): place for place, itemid in enumerate(self.itemid)}
        self.table = np.array([TABLES.index(item["source_table"]) for item in self.items])
        by_number = np.where(self.itemid < FIRST_METAVISION_ITEM, CAREVUE, METAVISION)
        self.system = np.where(self.table == LAB, BOTH, by_number)

        self.texts: list[str] = []
        segments = {name: self._numbers(name, **run) for name, run in TEXTS["numbers"].items()}
        for name, words in TEXTS["words"].items():
            segments[name] = (self._add(words), 1, 0, len(words) - 1)
        self.missing = self._add(TEXTS["missing"])
        odd = {measure: self._add(texts) for measure, texts in TEXTS["odd"].items()}

        measured = [item["variable"] for item in self.items]
        first, steps, low, high = np.array([segments[item["segment"]] for item in self.items]).T
        scale = self._column("scale") * steps
        mean, within = (
            np.array([MEASURES[name][part] for name in measured]) for part in ("mean", "within")
        )
        shift = self._column("shift") * steps
        self.base = (scale * mean + shift - low).astype(np.float32)
        self.slope = scale.astype(np.float32)
        self.spread = (scale * within).astype(np.float32)
        self.first, self.top = first.astype(np.int32), (high - low).astype(np.float32)
        self.measure = np.array([list(MEASURES).index(name) for name in measured])
        self.odd_first = np.array([odd.get(name, 0) for name in measured], np.int32)
        counts = [len(TEXTS["odd"].get(name, ())) for name in measured]
        self.odd_count = np.array(counts, np.int32)
        self.units = sorted({item["unit"] for item in self.items})
        self.unit = np.array([self.units.index(item["unit"]) for item in self.items], np.int32)
        self._weight = self._column("weight")
        self._is_number = np.array([item["segment"] in TEXTS["numbers"] for item in self.items])

    def _column(self, name: str) -> Floats:
        return np.array([float(item[name]) for item in self.items])

    def _add(self, texts: Iterable[str]) -> int:
        """Append texts, kept together, and return the place of the first."""
        start = len(self.texts)
        self.texts += texts
        return start

    def _numbers(self, name: str, steps: int, low: int, high: int) -> tuple[int, int, int, int]:
        """Append a run of numbers, and return its place and itself."""
        run = range(low, high + 1)
        if name == "celsius":  # worked out from Fahrenheit in single precision: 13 decimals or more
            texts = [_single((step / steps - 32) / 1.8) for step in run]
        elif name == "torr":  # as CareVue prints it: single precision without the leading zero
            texts = [_single(step / steps).removeprefix("0") for step in run]
        else:
            texts = [f"{step / steps:g}" for step in run]
        return self._add(texts), steps, low, high

    def typical(self, place: int) -> int:
        """Return the pool place of an item's mean value."""
        step = min(max(round(float(self.base[place])), 0), int(self.top[place]))
        return int(self.first[place]) + step

    def choices(self, table: int) -> Ints:
        """Return the choice table: for each (system, only numbers) `CHOICES` item places.

        Shape (3, 2, `CHOICES`); a uniform draw from the last axis follows the items' weights.
        """
        found = np.zeros((3, 2, CHOICES), dtype=np.int64)
        for system in (CAREVUE, METAVISION, BOTH):
            for only_numbers in (0, 1):
                fits = (self.table == table) & (self._is_number | (only_numbers == 0))
                if system != BOTH:
                    fits &= np.isin(self.system, (system, BOTH))
                share = np.cumsum(np.where(fits, self._weight, 0))
                marks = (np.arange(CHOICES) + 0.5) / CHOICES * share[-1]
                found[system, only_numbers] = np.searchsorted(share, marks)
        return found


def _single(number: float) -> str:
    return f"{float(np.float32(number)):.17g}"


def _number_of(text: str) -> str:
    """Return what VALUENUM holds for a text: ``"4 Spontaneously"`` has 4, ``">500"`` nothing."""
    found = re.match(r"[-+]?(\d+\.?\d*|\.\d+)(e\d+)?(?=\s|/|$)", text.strip())
    number = float(found.group()) if found else math.inf
    return f"{number:.15g}" if math.isfinite(number) else ""


def plan_events(seed: int, population: Population, table: int, events_per_stay: int) -> Columns:
    """Decide how many ordinary events each unit gets, and between which times.

    A unit is a stay, or for labs an admission (its `stay` is -1); its `counts` events lie between
    `begin` and `end`, seconds since 1970. `sibling` is the unit whose ids are taken in error.
    """
    stays, admissions, patients = population.stays, population.admissions, population.patients
    of_admissions = table == LAB
    unit = admissions if of_admissions else stays
    count = len(unit.patient)

    def places(*cases: str) -> tuple[Ints, Ints]:
        stay = population.stays_of(*cases)
        return stays.admission[stay] if of_admissions else stay, stays.intime[stay].astype(np.int64)

    outside, intime = places("events_outside")
    late, late_intime = places(*LATE)
    if of_admissions:
        begin = admissions.admittime.astype(np.int64) - 2 * HOUR
        end = admissions.dischtime.astype(np.int64)
        weight = np.clip((end - begin) / HOUR, 12, 600) ** 0.7
        begin[outside], end[outside] = intime - 10 * HOUR, intime - HOUR
        begin[late] = late_intime + 10 * HOUR
        end[late] = np.maximum(end[late], begin[late] + HOUR)
    else:
        begin = stays.intime.astype(np.int64)
        length = np.where(np.isnan(stays.los), 2.0, stays.los) * DAY
        end = np.where(np.isnat(stays.outtime), begin + length, stays.outtime.astype(np.int64))
        death = admissions.deathtime[stays.admission]
        dies = ~np.isnat(death) & (death > stays.intime)
        end = np.where(dies, np.minimum(end, death.astype(np.int64)), end).astype(np.int64)
        weight = np.clip((end - begin) / HOUR, 6, 400) ** 0.8
        begin[outside] = end[outside] + 2 * HOUR
        end[outside] = begin[outside] + 10 * HOUR
        begin[late] += 10 * HOUR
    weight = weight * np.exp(draws.stream(seed, 31, table).normal(0, 0.3, count))
    mean = events_per_stay * SHARES[table]
    counts = np.maximum(np.round(mean * weight / weight.mean()), LEAST[table]).astype(np.int64)
    case = patients.case[unit.patient]
    counts[CASES.has(case, "no_events")] = 0
    counts[places("stay_without_events")[0]] = 0
    return Columns(
        patient=unit.patient,
        admission=np.arange(count) if of_admissions else stays.admission,
        stay=np.full(count, -1) if of_admissions else np.arange(count),
        sibling=_siblings(unit.patient, CASES.has(case, "stay_without_events")),
        counts=counts,
        begin=begin,
        end=end,
        only_numbers=CASES.has(case, "number_only", *LATE),
        system=patients.source[unit.patient],
    )


def _siblings(patient: Ints, kept_apart: npt.NDArray[np.bool_]) -> Ints:
    """Return another unit of the same patient where there is one, else another patient's.

    A stay that must stay without events gets none in error either: it is `kept_apart`.
    """
    count = len(patient)
    after, before = (np.arange(count) + 1) % count, (np.arange(count) - 1) % count
    sibling = np.where((patient[after] != patient) & (patient[before] == patient), before, after)
    return np.where(kept_apart, _strangers(patient, patient), sibling)


def _strangers(patient: Ints, of: Ints) -> Ints:
    """Return the first place of the next patient."""
    return np.searchsorted(patient, of, side="right") % len(patient)


def ordinary_events(
    seed: int, table: int, plan: Columns, catalogue: Catalogue, levels: npt.NDArray[np.float32]
) -> Iterator[Columns]:
    """Yield the ordinary events of one table, in unit and time order, at most `PIECE` at once.

    A batch has one element an event: `patient`, `admission` and `stay` are places in the
    population (-1: the cell is empty), `item` in the catalogue, `value` in the value pool and
    `unit` in the catalogue's units; `time` is in seconds since 1970. `round` holds mixed bits
    shared by what was charted together. `flag` is ERROR for chart events and an abnormal result
    for labs.
    """
    ends, together = np.cumsum(plan.counts), ROUND[table]
    choices = catalogue.choices(table)
    for number, low in enumerate(range(0, int(ends[-1]), PIECE)):
        rng = draws.stream(seed, 30, table, number)
        rows = np.arange(low, min(low + PIECE, int(ends[-1])))
        count = len(rows)
        unit = np.searchsorted(ends, rows, side="right")
        batch = plan.take(unit)
        inside = rows - (ends[unit] - batch.counts)
        turn = inside // together
        batch.round = draws.mixed(seed + table, unit, turn)
        part = (batch.round >> np.uint64(32)).astype(np.float64) * 2.0**-32  # in [0, 1)
        share = (turn + part) / -(-batch.counts // together)
        time = batch.begin + (share * (batch.end - batch.begin)).astype(np.int64)
        batch.time = time - time % MINUTE
        slot = rng.integers(0, CHOICES, count)
        batch.item = choices[batch.system, batch.only_numbers.astype(np.int64), slot]
        batch.unit = catalogue.unit[batch.item]
        noise = rng.standard_normal(count, dtype=np.float32)
        is_error = rng.random(count) < ERROR_SHARE
        batch.flag = np.abs(noise) > ABNORMAL if table == LAB else is_error
        batch.value = _values(rng, catalogue, batch, noise, levels)
        _mix_up_ids(rng, table, plan, batch)
        again = (rng.random(count) < DUPLICATE_SHARE) & (inside > 0)
        again[0] = False
        yield batch.take(np.arange(count) - again)


def _values(
    rng: np.random.Generator,
    of: Catalogue,
    batch: Columns,
    noise: npt.NDArray[np.float32],
    levels: npt.NDArray[np.float32],
) -> npt.NDArray[np.int32]:
    """Return each event's place in the value pool."""
    item = batch.item
    step = of.base[item] + of.slope[item] * levels[batch.admission, of.measure[item]]
    step += of.spread[item] * noise
    np.clip(np.rint(step), 0, of.top[item], out=step)
    value: npt.NDArray[np.int32] = of.first[item] + step.astype(np.int32)
    chance = rng.random(len(item), dtype=np.float32)
    odd = np.flatnonzero((chance < ODD_SHARE) & (of.odd_count[item] > 0) & ~batch.only_numbers)
    value[odd] = of.odd_first[item[odd]] + rng.integers(0, of.odd_count[item[odd]])
    missing = np.flatnonzero(chance > 1 - MISSING_SHARE)
    value[missing] = of.missing + rng.integers(0, len(TEXTS["missing"]), len(missing))
    return value


def _mix_up_ids(rng: np.random.Generator, table: int, plan: Columns, batch: Columns) -> None:
    """Take HADM_ID or ICUSTAY_ID away, or put a sibling's in its place."""
    chance = rng.random(len(batch.item))
    if table == LAB:
        outpatient = np.flatnonzero(chance < OUTPATIENT_SHARE)
        days = (5 + batch.round[outpatient] % np.uint64(200)).astype(np.int64)
        batch.admission[outpatient] = -1
        batch.time[outpatient] -= days * DAY
    else:
        batch.admission[chance < NO_HADM] = -1
        batch.stay[(chance >= NO_HADM) & (chance < NO_ICUSTAY)] = -1
        other = (chance >= OTHER_HADM) & (chance < OTHER_ICUSTAY)
        batch.stay[other] = plan.stay[batch.sibling[other]]
    other = (chance >= NO_ICUSTAY) & (chance < OTHER_HADM)
    batch.admission[other] = plan.admission[batch.sibling[other]]


def special_events(seed: int, population: Population, catalogue: Catalogue) -> list[Columns]:
    """Return the special events of each table: each template is given to the patients of its case.

    New values and units are appended to the catalogue: call it before they are rendered.
    """
    stays = population.stays
    found: list[list[Columns]] = [[], [], []]
    for template in read_rows(DATA / "mimic3_events.csv"):
        case, item = template["case"], catalogue.place[int(template["itemid"])]
        stay = population.stays_of(case, admission=int(template["admission"]))
        anchor = population.stays_of(case, admission=int(template["anchor"]))
        count, table = len(stay), catalogue.table[item]
        ids = {
            "own": stay,
            "empty": np.full(count, -1),
            "second admission": population.stays_of(case, admission=1),
            "next patient": _strangers(stays.patient, stays.patient[stay]),
        }
        hadm, value, unit = ids[template["hadm"]], template["value"], template["unit"]
        if unit == "(own)":
            unit = catalogue.items[item]["unit"]
        place = catalogue.typical(item) if value == "(mean)" else _place(catalogue.texts, value)
        batch = Columns(
            patient=stays.patient[stay],
            admission=np.where(hadm < 0, -1, stays.admission[hadm]),
            stay=ids["empty" if table == LAB else template["icustay"]],
            item=np.full(count, item),
            time=getattr(stays, template["from"])[anchor].astype(np.int64)
            + int(template["seconds"]),
            value=np.full(count, place, np.int32),
            unit=np.full(count, _place(catalogue.units, unit), np.int32),
            round=draws.mixed(seed, np.full(count, CASES.names.index(case)), stay),
            flag=np.full(count, template["error"] == "1"),
        )
        found[table].append(batch)
    return [Columns.joined(batches) for batches in found]


def _place(pool: list[str], text: str) -> int:
    """Return the place of a text in a pool, appending it if it is new."""
    if text not in pool:
        pool.append(text)
    return pool.index(text)


class Renderer:
    """Turns batches into CSV cells; holds the pools of texts that the cells are picked from."""

    def __init__(self, population: Population, catalogue: Catalogue) -> None:
        # VALUENUM is the number that a text is or starts with.
        values, numbers = text_cells(catalogue.texts), text_cells(map(_number_of, catalogue.texts))
        # Column, its pool and the batch's places in it.
        self._pools = {
            "SUBJECT_ID": (cells(population.patients.subject_id), "patient"),
            "HADM_ID": (cells(population.admissions.hadm_id), "admission"),
            "ICUSTAY_ID": (cells(population.stays.icustay_id), "stay"),
            "ITEMID": (cells(catalogue.itemid), "item"),
            "VALUE": (values, "value"),
            "VALUENUM": (numbers, "value"),
            "VALUEUOM": (text_cells(catalogue.units), "unit"),
            "FLAG": (text_cells(["", "abnormal"]), "flag"),
            "CGID": (cells(np.arange(14_000, 14_000 + CAREGIVERS)), "caregiver"),
            # What ends a chart event differs between the systems.
            "WARNING": (text_cells(["", "", "0", "0"]), "end"),
            "ERROR": (text_cells(["", "1", "0", "1"]), "end"),
            "STOPPED": (text_cells(["NotStopd", "NotStopd", "", ""]), "end"),
        }
        self._is_metavision = catalogue.itemid >= FIRST_METAVISION_ITEM

    def columns(self, table: int, batch: Columns) -> dict[str, pa.Array]:
        """Return the cells of one table's columns."""
        # What was charted together was stored together, 2 to 65 minutes later.
        delay = ((batch.round & np.uint64(63)) + np.uint64(2)).astype(np.int64) * MINUTE
        batch.caregiver = ((batch.round >> np.uint64(6)) % np.uint64(CAREGIVERS)).astype(np.int32)
        batch.end = self._is_metavision[batch.item].astype(np.int32) * 2 + batch.flag
        if table != CHART:
            batch.end[:] = -1
        batch.flag = batch.flag.astype(np.int32)
        found = {"CHARTTIME": cells(batch.time.astype("datetime64[s]"))}
        if table != LAB:
            found["STORETIME"] = cells((batch.time + delay).astype("datetime64[s]"))
        return found | {
            column: pick(pool, getattr(batch, places))
            for column, (pool, places) in self._pools.items()
            if column in COLUMNS[TABLES[table]]
        }
