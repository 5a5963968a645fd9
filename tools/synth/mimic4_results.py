"""Laboratory results and cultures of the MIMIC-IV data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth import draws
from synth.draws import DAY, MINUTE, Columns, Floats, Ints
from synth.files import DATA, Row, cells, pick, read_groups, read_rows, read_yaml, text_cells
from synth.mimic4_stay import CASES, Stay, later, midnight

SAID: dict[str, Any] = read_yaml("mimic4_results.yml")
LISTED = read_rows(DATA / "mimic4_lab_items.csv")
ITEMS = [item for item in LISTED if item["panel"]]  # what is drawn; the rest is only listed
LAB_CASES = read_groups("mimic4_lab_cases.csv", "case")
CULTURE_CASES = read_groups("mimic4_culture_cases.csv", "case")
PATHOLOGIES = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")
COLUMNS: dict[str, list[str]] = read_yaml("tables.yml")["mimic4"]

_FIRST, _LATER = (
    np.array([panel[turn] for panel in SAID["panels"].values()]) for turn in ("first", "later")
)
_PANEL = np.array([list(SAID["panels"]).index(item["panel"]) for item in ITEMS])


def _numbers(column: str) -> Floats:
    return np.array([float(item[column] or 0) for item in ITEMS])


_LOW, _HIGH, _MEAN, _SPREAD = map(_numbers, ("low", "high", "mean", "spread"))
_DECIMALS = _numbers("decimals").astype(np.int64)
# How far the mean moves: a column for each pathology, then one for all other diseases.
_SHIFT = np.column_stack([*map(_numbers, PATHOLOGIES), np.zeros(len(ITEMS))])
_IS_WORD = _SPREAD == 0
_ITEM_CELLS = {column: text_cells(item[column] for item in ITEMS) for column in ("itemid", "unit")}
_LIMIT_CELLS = [cells(np.where(_IS_WORD, np.nan, limit)) for limit in (_LOW, _HIGH)]
_WORDS, _REMARKS = text_cells(SAID["words"]), text_cells(SAID["remarks"])
_CULTURES: dict[str, Any] = SAID["cultures"]


def item_rows() -> list[Row]:
    """Return the dictionary of tests."""
    columns = COLUMNS["hosp/d_labitems"]
    return sorted(tuple(item[column] for column in columns) for item in LISTED)


def _rounds(rng: np.random.Generator, admissions: Columns, events: int) -> Ints:
    """Return how many times each admission has blood or urine taken."""
    sizes = np.bincount(_PANEL)
    more = max(0.0, (events - float(sizes @ _FIRST)) / float(sizes @ _LATER))
    rounds = 1 + rng.poisson(more, len(admissions.case))
    rounds[CASES.has(admissions.case, "no_labs")] = 0
    return rounds


def ordinary_labs(
    rng: np.random.Generator, admissions: Columns, events: int, labevent: int, specimen: int
) -> tuple[dict[str, pa.Array], int]:
    """Return the ordinary rows of some admissions by column, and the number of specimens.

    Args:
        rng: the random stream of these admissions.
        admissions: whose rows they are.
        events: about how many rows an admission has.
        labevent: the first labevent_id.
        specimen: the first specimen_id.
    """
    rounds = _rounds(rng, admissions, events)
    number = draws.ordinals(rounds)
    count = len(number)
    owner = admissions.take(np.repeat(np.arange(len(rounds)), rounds))
    start = np.where(np.isnat(owner.edregtime), owner.admittime, owner.edregtime)
    span = (owner.dischtime - start).astype(np.int64)
    first = rng.uniform(10 * MINUTE, 110 * MINUTE, count)
    rest = (number + rng.random(count)) / np.maximum(np.repeat(rounds, rounds), 1) * span
    charttime = draws.floor(start + draws.seconds(np.where(number == 0, first, rest)), "m")
    # A few were taken long before or after, when the patient was not in the hospital.
    chance = rng.random(count)
    outside = (number > 0) & (chance < 0.03)
    away = np.where(chance < 0.015, -20 * DAY, span + 9 * DAY)
    charttime[outside] = start[outside] + draws.seconds(away[outside])
    lost = outside | ((charttime < owner.admittime) & (rng.random(count) < 0.6))
    storetime = charttime + draws.seconds(rng.integers(20, 150, count) * MINUTE)
    storetime[rng.random(count) < 0.02] = np.datetime64("NaT", "s")

    panels = np.where((number == 0)[:, None], _FIRST, _LATER)
    turn, item = np.nonzero((rng.random(panels.shape) < panels)[:, _PANEL])
    value, valuenum, remark = _values(rng, owner.condition[turn], item)
    abnormal = np.where((valuenum < _LOW[item]) | (valuenum > _HIGH[item]), 0, -1)
    is_urine = _PANEL[item] == len(_FIRST) - 1
    hadm = pc.if_else(
        pa.array(lost[turn]), pa.scalar(None, pa.string()), cells(owner.hadm_id[turn])
    )
    found = {
        "labevent_id": cells(labevent + np.arange(len(turn))),
        "subject_id": cells(owner.subject_id[turn]),
        "hadm_id": hadm,
        "specimen_id": cells(specimen + turn * 2 + is_urine),
        "itemid": pick(_ITEM_CELLS["itemid"], item),
        "charttime": cells(charttime[turn]),
        "storetime": cells(storetime[turn]),
        "value": value,
        "valuenum": cells(valuenum),
        "valueuom": pick(_ITEM_CELLS["unit"], item),
        "ref_range_lower": pick(_LIMIT_CELLS[0], item),
        "ref_range_upper": pick(_LIMIT_CELLS[1], item),
        "flag": pick(text_cells(["abnormal"]), abnormal),
        "priority": pick(
            text_cells(["STAT", "ROUTINE"]), (rng.random(len(turn)) < 0.4).astype(np.int64)
        ),
        "comments": remark,
    }
    return found, 2 * count


def _values(
    rng: np.random.Generator, condition: Ints, item: Ints
) -> tuple[pa.Array, Floats, pa.Array]:
    """Return value, valuenum and comments of each result."""
    count, decimals, is_word = len(item), _DECIMALS[item], _IS_WORD[item]
    mean = _MEAN[item] + _SHIFT[item, np.minimum(condition, len(PATHOLOGIES))]
    spread = np.maximum(_SPREAD[item], 0.22 * np.abs(mean) * (mean > 300))
    scale = 10**decimals
    whole = np.rint((mean + rng.normal(0, 1, count) * spread) * scale)
    whole = np.maximum(whole, 1).astype(np.int64)
    number = whole / scale
    before, after = np.divmod(whole, scale)
    text = cells(before)
    for places in range(1, 4):
        padded = pc.utf8_lpad(cells(after), places, "0")
        joined = pc.binary_join_element_wise(cells(before), padded, ".")
        text = pc.if_else(pa.array(decimals == places), joined, text)
    words = pick(_WORDS, rng.integers(0, len(_WORDS), count))
    text = pc.if_else(pa.array(is_word), words, text)
    chance = rng.random(count)
    masked, remarked = chance < 0.008, chance < 0.016
    text = pc.if_else(pa.array(masked), pa.scalar("___"), text)
    text = pc.if_else(pa.array(remarked & ~masked), pa.scalar(None, pa.string()), text)
    number[is_word | remarked] = np.nan
    remark = rng.integers(0, len(_REMARKS), count)
    return text, number, pick(_REMARKS, np.where(remarked | (chance > 0.98), remark, -1))


def special_labs(stay: Stay, labevent: int, specimen: int) -> list[Row]:
    """Return the rows of a special case, numbered from these ids, each of its own specimen."""
    rows: list[Row] = []
    for place, given in enumerate(LAB_CASES.get(stay.case, ())):
        time = stay.time(given["anchor"], given["seconds"])
        known: dict[str, object] = {
            "labevent_id": labevent + place,
            "subject_id": stay.subject_id,
            "hadm_id": None if given["lost"] else stay.hadm_id,
            "specimen_id": specimen + place,
            "charttime": time,
            "storetime": later(time, int(given["stored"])) if time and given["stored"] else None,
            "priority": "STAT",
        }
        rows.append(tuple((given | known).get(column) for column in COLUMNS["hosp/labevents"]))
    return rows


def cultures(stay: Stay, microevent: int, specimen: int) -> list[Row]:
    """Return an admission's rows, numbered from these ids; each culture is one specimen."""
    rows: list[Row] = []
    for place, culture in enumerate([*_ordinary_cultures(stay), *_special_cultures(stay)]):
        time, stored = culture["time"], culture["stored"]
        kept = later(time, int(stored)) if stored else None
        specimen_kind, specimen_name, *test = _CULTURES["tests"][culture["test"]]
        for result in [*_isolates(culture)] * int(culture["copies"]):
            rows.append(
                (
                    microevent + len(rows),
                    stay.subject_id,
                    None if culture["lost"] else stay.hadm_id,
                    specimen + place,
                    None,
                    midnight(time),
                    None if culture["by_day"] else time,
                    *(specimen_kind, specimen_name, 1, kept and midnight(kept), kept, *test),
                    *(*result, culture["comments"]),
                )
            )
    return rows


def _isolates(culture: dict[str, Any]) -> Iterator[Row]:
    """Give organism, isolate, quantity, antibiotic and dilution of a culture's rows."""
    if not culture["organisms"]:
        yield (None,) * 10
    for isolate, organism in enumerate(culture["organisms"], 1):
        if not culture["susceptible"]:
            yield *organism, isolate, *(None,) * 7
            continue
        for place, antibiotic in enumerate(_CULTURES["antibiotics"]):
            level = ("<=", "2", "S") if place != isolate % 3 else ("=>", "32", "R")
            yield *organism, isolate, None, *antibiotic, "".join(level[:2]), *level


def _ordinary_cultures(stay: Stay) -> Iterator[dict[str, Any]]:
    dice = stay.dice
    for test, chance in _CULTURES["ordinary"]:
        if not dice.chance(chance):
            continue
        time = later(stay.arrival, dice.whole(20, 2000) * MINUTE)
        grows = dice.chance(0.2)
        yield {
            "test": test,
            "time": time,
            "organisms": dice.some(_CULTURES["organisms"], dice.whole(1, 2)) if grows else [],
            "comments": None if grows else dice.pick(_CULTURES["remarks"]),
            "by_day": dice.chance(0.15),
            "lost": time < stay.admittime and dice.chance(0.5),
            "susceptible": grows and dice.chance(0.7),
            "stored": 2 * DAY,
            "copies": 1,
        }


def _special_cultures(stay: Stay) -> Iterator[dict[str, Any]]:
    names = dict([*_CULTURES["organisms"], _CULTURES["cancelled"]])
    for row in CULTURE_CASES.get(stay.case, ()):
        organisms = [(int(number), names[int(number)]) for number in row["organisms"].split()]
        time = stay.time(row["anchor"], row["seconds"])
        yield row | {"time": time, "organisms": organisms}
