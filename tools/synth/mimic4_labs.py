"""Laboratory results: ordinary rounds drawn as arrays, and the rows of the special cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth import arrays as ar
from synth.arrays import DAY, HOUR, MINUTE, Floats, Ints, Times
from synth.mimic4_cases import has_case
from synth.mimic4_people import Admissions, Stay, day_of, later, moment
from synth.writing import Row, cells, pick, text_cells

PANELS = ("blood count", "chemistry", "liver", "pancreas", "inflammation", "coagulation", "urine")
PANEL_CHANCE = np.array([0.85, 0.9, 0.45, 0.3, 0.25, 0.2, 0.15])
FIRST_CHANCE = np.array([1.0, 1.0, 0.95, 0.9, 0.8, 0.5, 0.7])


@dataclass(frozen=True)
class Item:
    """One test: its dictionary row, its panel and where its values lie.

    `shift` moves the mean for the four pathologies, in the order of the pathologies.
    """

    itemid: int
    label: str
    fluid: str
    category: str
    panel: int
    unit: str
    low: float
    high: float
    mean: float
    spread: float
    decimals: int
    shift: tuple[float, float, float, float] = (0, 0, 0, 0)


_B, _U, _C, _H = "Blood", "Urine", "Chemistry", "Hematology"
ITEMS = (
    Item(51301, "White Blood Cells", _B, _H, 0, "K/uL", 4, 10, 9, 2.5, 1, (5, 4, 4, 3)),
    Item(51222, "Hemoglobin", _B, _H, 0, "g/dL", 12, 16, 12.8, 1.6, 1),
    Item(51221, "Hematocrit", _B, _H, 0, "%", 36, 48, 38.5, 4.5, 1),
    Item(51265, "Platelet Count", _B, _H, 0, "K/uL", 150, 400, 240, 70, 0),
    Item(51279, "Red Blood Cells", _B, _H, 0, "m/uL", 4.2, 5.4, 4.3, 0.5, 2),
    Item(51250, "MCV", _B, _H, 0, "fL", 82, 98, 90, 5, 0),
    Item(51256, "Neutrophils", _B, _H, 0, "%", 34, 71, 70, 9, 1, (9, 7, 7, 5)),
    Item(50983, "Sodium", _B, _C, 1, "mEq/L", 133, 145, 138, 3, 0),
    Item(50971, "Potassium", _B, _C, 1, "mEq/L", 3.3, 5.1, 4.1, 0.5, 1),
    Item(50902, "Chloride", _B, _C, 1, "mEq/L", 96, 108, 102, 4, 0),
    Item(50882, "Bicarbonate", _B, _C, 1, "mEq/L", 22, 32, 25, 3, 0),
    Item(50912, "Creatinine", _B, _C, 1, "mg/dL", 0.4, 1.1, 0.95, 0.3, 1),
    Item(51006, "Urea Nitrogen", _B, _C, 1, "mg/dL", 6, 20, 15, 6, 0, (0, 0, 0, 4)),
    Item(50931, "Glucose", _B, _C, 1, "mg/dL", 70, 100, 112, 25, 0, (0, 0, 0, 20)),
    Item(50893, "Calcium, Total", _B, _C, 1, "mg/dL", 8.4, 10.3, 8.9, 0.6, 1, (0, 0, 0, -0.6)),
    Item(50960, "Magnesium", _B, _C, 1, "mg/dL", 1.6, 2.6, 1.9, 0.2, 1),
    Item(50970, "Phosphate", _B, _C, 1, "mg/dL", 2.7, 4.5, 3.3, 0.6, 1),
    Item(
        50861, "Alanine Aminotransferase (ALT)", _B, _C, 2, "IU/L", 0, 40, 30, 12, 0, (0, 40, 0, 90)
    ),
    Item(
        50878,
        "Asparate Aminotransferase (AST)",
        _B,
        _C,
        2,
        "IU/L",
        0,
        40,
        32,
        12,
        0,
        (0, 35, 0, 80),
    ),
    Item(50863, "Alkaline Phosphatase", _B, _C, 2, "IU/L", 35, 105, 80, 22, 0, (0, 50, 0, 45)),
    Item(50885, "Bilirubin, Total", _B, _C, 2, "mg/dL", 0, 1.5, 0.7, 0.3, 1, (0.2, 0.9, 0, 0.8)),
    Item(50883, "Bilirubin, Direct", _B, _C, 2, "mg/dL", 0, 0.3, 0.2, 0.1, 1, (0, 0.5, 0, 0.4)),
    Item(50862, "Albumin", _B, _C, 2, "g/dL", 3.5, 5.2, 3.8, 0.5, 1),
    Item(
        50954, "Lactate Dehydrogenase (LD)", _B, _C, 2, "IU/L", 94, 250, 200, 45, 0, (0, 0, 0, 90)
    ),
    Item(50956, "Lipase", _B, _C, 3, "IU/L", 0, 60, 35, 14, 0, (0, 10, 0, 1400)),
    Item(50867, "Amylase", _B, _C, 3, "IU/L", 0, 100, 60, 20, 0, (0, 10, 0, 520)),
    Item(51000, "Triglycerides", _B, _C, 3, "mg/dL", 0, 149, 120, 45, 0, (0, 0, 0, 110)),
    Item(50889, "C-Reactive Protein", _B, _C, 4, "mg/L", 0, 5, 12, 6, 1, (70, 75, 85, 95)),
    Item(50813, "Lactate", _B, "Blood Gas", 4, "mmol/L", 0.5, 2, 1.4, 0.5, 1, (0, 0.2, 0.2, 0.6)),
    Item(51237, "INR(PT)", _B, _H, 5, "", 0.9, 1.1, 1.1, 0.1, 1),
    Item(51274, "PT", _B, _H, 5, "sec", 9.4, 12.5, 12.1, 1.2, 1),
    Item(51275, "PTT", _B, _H, 5, "sec", 25, 36.5, 29.5, 3.5, 1),
    Item(51498, "Specific Gravity", _U, _H, 6, " ", 1.001, 1.035, 1.017, 0.007, 3),
    Item(51491, "pH", _U, _H, 6, "units", 5, 8, 6, 0.7, 1),
    Item(51492, "Protein", _U, _H, 6, "mg/dL", 0, 0, 12, 9, 0),
    Item(51487, "Nitrite", _U, _H, 6, "", 0, 0, 0, 0, 0),
    Item(51466, "Blood", _U, _H, 6, "", 0, 0, 0, 0, 0),
)
WORDS = ("NEG", "NEG", "NEG", "POS", "TR", "SM", "MOD")  # results of the items without spread
GAS_PH, GAS_GLUCOSE, UNLABELLED, UNLISTED = 50820, 50809, 52999, 59999
REMARKS = (
    "SLIGHT HEMOLYSIS, RESULT MAY READ HIGH.",
    "SPECIMEN RECEIVED LATE.",
    "Checked by repeat, called to the ward.",
    "NEG.",
    "Less than 0.30; reported as a comment only.",
)
_PANEL = np.array([item.panel for item in ITEMS])
_SHIFT = np.array([(*item.shift, 0.0) for item in ITEMS])


def item_rows() -> list[Row]:
    """Return the dictionary of tests."""
    rows: list[Row] = [(item.itemid, item.label, item.fluid, item.category) for item in ITEMS]
    rows += [
        (GAS_GLUCOSE, "Glucose", _B, "Blood Gas"),  # the label of another item too
        (51478, "Glucose", _U, _H),
        (GAS_PH, "pH", _B, "Blood Gas"),
        (UNLABELLED, None, None, None),
    ]
    return sorted(rows, key=lambda row: str(row[0]))


def rounds_of(rng: np.random.Generator, admissions: Admissions, events: int) -> Ints:
    """Return how many times each admission has blood or urine taken."""
    sizes = np.bincount(_PANEL)
    more = max(0.0, (events - float(sizes @ FIRST_CHANCE)) / float(sizes @ PANEL_CHANCE))
    rounds = 1 + rng.poisson(more, len(admissions.case))
    rounds[has_case(admissions.case, "no_labs")] = 0
    return rounds


class LabPool:
    """Cells of the columns that few texts fill, made once."""

    def __init__(self) -> None:
        self.itemid = text_cells(str(item.itemid) for item in ITEMS)
        self.unit = text_cells(item.unit for item in ITEMS)
        words = np.array([item.spread == 0 for item in ITEMS])
        self.low = cells(np.where(words, np.nan, [item.low for item in ITEMS]))
        self.high = cells(np.where(words, np.nan, [item.high for item in ITEMS]))
        self.words = text_cells(WORDS)
        self.remarks = text_cells([*REMARKS, "___"])
        self.priority = text_cells(["STAT", "ROUTINE"])
        self.flag = text_cells(["abnormal"])
        self.masks = text_cells(["___"])


def ordinary_columns(
    rng: np.random.Generator,
    admissions: Admissions,
    events: int,
    ids: tuple[int, int],
    pool: LabPool,
) -> tuple[list[pa.Array], int]:
    """Return the ordinary rows of some admissions as columns, and the number of specimens.

    Args:
        rng: the random stream of these admissions.
        admissions: whose rows they are.
        events: about how many rows an admission has.
        ids: the first labevent_id and the first specimen_id.
        pool: the cells of the columns that few texts fill.
    """
    rounds = rounds_of(rng, admissions, events)
    owner = np.repeat(np.arange(len(rounds)), rounds)
    number = ar.ordinals(rounds)
    count = len(owner)
    admit, discharge = admissions.admittime[owner], admissions.dischtime[owner]
    start: Times = np.where(
        np.isnat(admissions.edregtime[owner]), admit, admissions.edregtime[owner]
    )
    span = (discharge - start).astype(np.int64)
    first = rng.uniform(10 * MINUTE, 110 * MINUTE, count)
    rest = (number + rng.random(count)) / np.maximum(rounds[owner], 1) * span
    after = ar.seconds(np.where(number == 0, first, rest))
    charttime = ar.floor_minute(start + after)
    # A few were taken long before or after, when the patient was not in the hospital.
    chance = rng.random(count)
    outside = (number > 0) & (chance < 0.03)
    away = np.where(chance < 0.015, -20 * DAY, span + 9 * DAY)
    charttime[outside] = start[outside] + ar.seconds(away[outside])
    lost = outside | ((charttime < admit) & (rng.random(count) < 0.6))
    storetime = charttime + ar.seconds(rng.integers(20, 150, count) * MINUTE)
    storetime[rng.random(count) < 0.02] = np.datetime64("NaT", "s")

    taken = rng.random((count, len(PANELS))) < np.where(
        (number == 0)[:, None], FIRST_CHANCE, PANEL_CHANCE
    )
    turn, item = np.nonzero(taken[:, _PANEL])
    rows = len(turn)
    value, valuenum, texts = _values(rng, admissions.condition[owner][turn], item, pool)
    low = np.array([i.low for i in ITEMS])[item]
    high = np.array([i.high for i in ITEMS])[item]
    abnormal = np.where((valuenum < low) | (valuenum > high), 0, -1)
    specimen = ids[1] + turn * 2 + (_PANEL[item] == len(PANELS) - 1)
    hadm = pc.if_else(
        pa.array(lost[turn]), pa.scalar(None, pa.string()), cells(admissions.hadm_id[owner][turn])
    )
    columns = [
        cells(ids[0] + np.arange(rows)),
        cells(admissions.subject_id[owner][turn]),
        hadm,
        cells(specimen),
        pick(pool.itemid, item),
        pa.nulls(rows, pa.string()),
        cells(charttime[turn]),
        cells(storetime[turn]),
        value,
        cells(valuenum),
        pick(pool.unit, item),
        pick(pool.low, item),
        pick(pool.high, item),
        pick(pool.flag, abnormal),
        pick(pool.priority, (rng.random(rows) < 0.4).astype(np.int64)),
        texts,
    ]
    return columns, 2 * count


def _values(
    rng: np.random.Generator, condition: Ints, item: Ints, pool: LabPool
) -> tuple[pa.Array, Floats, pa.Array]:
    decimals = np.array([i.decimals for i in ITEMS])[item]
    spread = np.array([i.spread for i in ITEMS])[item]
    mean = np.array([i.mean for i in ITEMS])[item] + _SHIFT[item, np.minimum(condition, 4)]
    scale = 10**decimals
    drawn = mean + rng.normal(0, 1, len(item)) * np.maximum(
        spread, 0.22 * np.abs(mean) * (mean > 300)
    )
    whole = np.maximum(np.rint(drawn * scale), 1).astype(np.int64)
    number = whole / scale
    before, after = np.divmod(whole, scale)
    text = cells(before)
    for places in range(1, 4):
        padded = pc.utf8_lpad(cells(after), places, "0")
        joined = pc.binary_join_element_wise(cells(before), padded, ".")
        text = pc.if_else(pa.array(decimals == places), joined, text)
    worded = spread == 0
    word = pick(pool.words, rng.integers(0, len(WORDS), len(item)))
    text = pc.if_else(pa.array(worded), word, text)
    chance = rng.random(len(item))
    masked, remarked = chance < 0.008, chance < 0.016
    text = pc.if_else(pa.array(masked), pick(pool.masks, np.zeros(len(item), dtype=np.int64)), text)
    text = pc.if_else(pa.array(remarked & ~masked), pa.scalar(None, pa.string()), text)
    number[worded | remarked] = np.nan
    remark = np.where(remarked | (chance > 0.98), rng.integers(0, len(REMARKS) + 1, len(item)), -1)
    return text, number, pick(pool.remarks, remark)


@dataclass
class _Special:
    """One row of a special case, before it has ids."""

    itemid: int
    charttime: np.datetime64 | None
    value: str | None
    number: str | None = None
    unit: str | None = None
    stored: int | None = 45 * MINUTE
    comment: str | None = None
    flag: str | None = None
    lost: bool = False


def special_rows(stay: Stay, labevent: int, specimen: int) -> list[Row]:
    """Return the rows of a special case, numbered from these ids, each of its own specimen."""
    rows: list[Row] = []
    for place, row in enumerate(_special(stay)):
        stored = None
        if row.charttime is not None and row.stored is not None:
            stored = moment(later(row.charttime, row.stored))
        rows.append(
            (
                labevent + place,
                stay.subject,
                None if row.lost else stay.hadm,
                specimen + place,
                row.itemid,
                None,
                moment(row.charttime),
                stored,
                row.value,
                row.number,
                row.unit,
                None,
                None,
                row.flag,
                "STAT",
                row.comment,
            )
        )
    return rows


VALUE_FORMS = (
    # value, valuenum, valueuom
    ("1", "1", "mg/dL"),
    ("1.0", "1.0", None),
    ("0.1", "0.1", "mg/dL"),
    ("1e-7", "1e-7", "mg/dL"),
    ("123456789.123", "123456789.123", None),
    ("140", "140", "mEq/L"),
    ("7.35000", "7.35000", "units"),
    ("<0.01", "0.01", "ng/mL"),
    (">1000", None, "IU/L"),
    ("___", None, "mg/dL"),
    ("___", "2.5", "mg/dL"),
    ("12.0", "12", "mg/dL"),
    ("0.30000000000000004", "0.30000000000000004", None),
)


def _special(stay: Stay) -> Iterator[_Special]:
    start, case = later(stay.start, 30 * MINUTE), stay.case
    midnight = day_of(stay.admit, max(stay.procedure_day, 0))
    if case == "lab_tie":
        for value in ("96", "101", "88", "140", "93"):
            yield _Special(50931, start, value, value, "mg/dL")
        yield _Special(50971, start, "4.4", "4.4", "mEq/L", stored=None)
        yield _Special(50971, start, "4.9", "4.9", "mEq/L", stored=HOUR)
    elif case == "lab_forms":
        for place, (value, number, unit) in enumerate(VALUE_FORMS):
            yield _Special(ITEMS[place].itemid, later(stay.start, MINUTE), value, number, unit)
        yield _Special(GAS_PH, start, "7.35000", "7.35000", "units")
        yield _Special(GAS_GLUCOSE, start, "118", "118", "mg/dL")
    elif case == "lab_cap":
        # Five results of one test before the procedure, with blanks between, and two after it.
        for hours in range(5):
            time = later(start, hours * HOUR)
            yield _Special(50813, time, f"{2 + hours}.1", f"{2 + hours}.1", "mmol/L")
            yield _Special(50813, later(time, MINUTE), "___")
        for hours in (0, 12):
            yield _Special(50813, later(midnight, hours * HOUR), "1.1", "1.1", "mmol/L")
    elif case == "lab_comments":
        yield _Special(51487, start, None, comment="NEGATIVE, BY DIPSTICK.")
        yield _Special(51466, start, None, comment="___")
        yield _Special(51492, start, "___", flag="abnormal")
        yield _Special(
            51237, start, None, None, "ratio", comment='Seen as "trace", see note\nbelow.'
        )
    elif case == "lab_items":
        yield _Special(UNLISTED, start, "3", "3", "mg/dL")
        yield _Special(UNLABELLED, start, "4", "4", "mg/dL")
    elif case == "missing_charttime":
        yield _Special(50956, None, "77", "77", "IU/L")
        yield _Special(50867, None, "81", "81", "IU/L", lost=True)
    elif case == "midnight":
        for seconds, value in ((-1, "1.1"), (0, "1.2"), (1, "1.3")):
            yield _Special(50813, later(midnight, seconds), value, value, "mmol/L")
    elif case == "same_day_procedure":
        for minutes in (30, 60):
            yield _Special(51301, later(stay.admit, minutes * MINUTE), "15.2", "15.2", "K/uL")
    elif case == "window":
        # From a day before the first transfer to the last transfer, both included.
        begin = later(stay.start, -DAY)
        for time, value in (
            (later(begin, -1), "1.1"),
            (begin, "1.2"),
            (stay.discharge, "1.3"),
            (later(stay.discharge, 1), "1.4"),
        ):
            yield _Special(50813, time, value, value, "mmol/L", lost=True)
    elif case in ("overlapping", "no_transfers"):
        yield _Special(50813, later(stay.admit, HOUR), "2.2", "2.2", "mmol/L", lost=True)
