"""The catalogue of items: the benchmark's 114, some others, their units and how they are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synth.arrays import Bools, Floats, Ints
from synth.mimic3_facts import Facts, MappedItem
from synth.mimic3_model import MEASURE_PLACE, MEASURES
from synth.mimic3_patients import BOTH, CAREVUE, METAVISION
from synth.mimic3_values import ODD_TEXTS, ValuePool

CHART, LAB, OUTPUT = 0, 1, 2
FIRST_METAVISION_ITEM = 220_000
CHOICES = 8192  # slots of a choice table


@dataclass(frozen=True)
class Item:
    """One item: a value is ``scale * measure + shift`` in steps of a segment of the value pool."""

    itemid: int
    label: str
    table: int
    system: int
    measure: str
    segment: str
    unit: str = ""
    scale: float = 1.0
    shift: float = 0.0
    weight: float = 1.0


# Items outside the 114. Chart and output items are invented; lab items use common MIMIC numbers.
OTHER_ITEMS = (
    Item(9101, "Breath Sounds", CHART, CAREVUE, "Nursing text", "breath sounds", weight=25),
    Item(9102, "Skin Integrity", CHART, CAREVUE, "Nursing text", "skin", weight=20),
    Item(9103, "Rhythm", CHART, CAREVUE, "Nursing text", "rhythm", weight=20),
    Item(9104, "CVP", CHART, CAREVUE, "Central venous pressure", "whole", "mmHg", weight=15),
    Item(9105, "Tidal Volume (Set)", CHART, CAREVUE, "Tidal volume", "whole", "ml", weight=10),
    Item(229901, "Breath Sounds", CHART, METAVISION, "Nursing text", "breath sounds", weight=25),
    Item(229902, "Restraint Type", CHART, METAVISION, "Nursing text", "restraint", weight=20),
    Item(229903, "Rhythm", CHART, METAVISION, "Nursing text", "rhythm", weight=20),
    Item(
        *(229904, "Venous Pressure", CHART, METAVISION, "Central venous pressure"),
        *("whole", "mmHg"),
        weight=15,
    ),
    Item(50813, "Lactate", LAB, BOTH, "Lactate", "tenth", "mmol/L", weight=8),
    Item(50912, "Creatinine", LAB, BOTH, "Creatinine", "tenth", "mg/dL", weight=10),
    Item(51006, "Urea Nitrogen", LAB, BOTH, "Urea nitrogen", "whole", "mg/dL", weight=10),
    Item(50971, "Potassium", LAB, BOTH, "Potassium", "tenth", "mEq/L", weight=10),
    Item(50983, "Sodium", LAB, BOTH, "Sodium", "whole", "mEq/L", weight=10),
    Item(51222, "Hemoglobin", LAB, BOTH, "Hemoglobin", "tenth", "g/dL", weight=8),
    Item(51265, "Platelet Count", LAB, BOTH, "Platelets", "whole", "K/uL", weight=8),
    Item(51301, "White Blood Cells", LAB, BOTH, "White cells", "tenth", "K/uL", weight=8),
    Item(51237, "INR(PT)", LAB, BOTH, "INR", "tenth", "", weight=6),
    Item(50885, "Bilirubin, Total", LAB, BOTH, "Bilirubin", "tenth", "mg/dL", weight=4),
    Item(51506, "Urine Appearance", LAB, BOTH, "Nursing text", "specimen", weight=2),
    Item(40055, "Urine Out Foley", OUTPUT, CAREVUE, "Urine output", "whole", "ml", weight=9),
    Item(40069, "Urine Out Void", OUTPUT, CAREVUE, "Urine output", "whole", "ml"),
    Item(226559, "Foley", OUTPUT, METAVISION, "Urine output", "whole", "mL", weight=9),
    Item(226560, "Void", OUTPUT, METAVISION, "Urine output", "whole", "mL"),
)

# Mapped items that are charted most.
_FREQUENT = frozenset(
    {
        *(211, 220045, 51, 455, 8368, 8441, 220050, 220179, 220051, 220180, 52, 456, 220052),
        *(220181, 646, 220277, 618, 220210),
    }
)
_COMMON = frozenset(
    {
        *(678, 677, 223761, 184, 220739, 454, 223901, 723, 223900, 198, 807, 811, 225664, 220621),
        *(50931, 50820, 189, 3420, 223835, 780, 223830, 615, 224690, 763, 224639),
    }
)
_SEGMENTS = {
    "Capillary refill rate": "refill",
    "Temperature": "tenth",
    "Weight": "tenth",
    "pH": "hundredth",
}
_COMA_SCALE = {
    "Glascow coma scale eye opening": ("eye", -1.0),
    "Glascow coma scale motor response": ("motor", -1.0),
    "Glascow coma scale verbal response": ("verbal", 0.0),
}
_CAREVUE_UNITS = {
    "Diastolic blood pressure": "mmHg",
    "Glascow coma scale total": "points",
    "Heart Rate": "BPM",
    "Mean blood pressure": "mmHg",
    "Oxygen saturation": "%",
    "Respiratory rate": "BPM",
    "Systolic blood pressure": "mmHg",
}
# itemid: segment, unit, scale, shift
_CONVERTED = {
    189: ("torr", "torr", 0.01, 0.0),
    727: ("fraction", "", 0.01, 0.0),
    3420: ("whole", "%", 1.0, 0.0),
    3422: ("whole", "%", 1.0, 0.0),
    676: ("tenth", "Deg. C", 1.0, 0.0),
    677: ("celsius", "Deg. C", 1.8, 32.0),
    678: ("tenth", "Deg. F", 1.8, 32.0),
    679: ("tenth", "Deg. F", 1.8, 32.0),
    3654: ("tenth", "", 1.8, 32.0),
    223761: ("tenth", "?F", 1.8, 32.0),
    763: ("tenth", "kg", 1.0, 0.0),
    3581: ("tenth", "", 1 / 0.453592, 0.0),
    3582: ("whole", "", 16 / 0.453592, 0.0),
    226531: ("tenth", "", 1 / 0.453592, 0.0),
    1394: ("whole", "", 1 / 2.54, 0.0),
    226707: ("whole", "Inch", 1 / 2.54, 0.0),
    50809: ("whole", "mg/dL", 1.0, 0.0),
    50931: ("whole", "mg/dL", 1.0, 0.0),
    50817: ("whole", "%", 1.0, 0.0),
    50820: ("hundredth", "units", 1.0, 0.0),
}


def _mapped(item: MappedItem) -> Item:
    system = CAREVUE if item.itemid < FIRST_METAVISION_ITEM else METAVISION
    if item.table == "labevents":
        system = BOTH
    segment, unit, scale, shift = _CONVERTED.get(
        item.itemid,
        (
            _SEGMENTS.get(item.variable, "whole"),
            item.unit or _CAREVUE_UNITS.get(item.variable, "") * (system == CAREVUE),
            1.0,
            0.0,
        ),
    )
    if item.variable in _COMA_SCALE:
        words, shift = _COMA_SCALE[item.variable]
        segment = f"{words} {'carevue' if system == CAREVUE else 'metavision'}"
    weight = 20.0 if item.itemid in _FREQUENT else 7.0 if item.itemid in _COMMON else 0.8
    table = LAB if item.table == "labevents" else CHART
    return Item(
        *(item.itemid, item.label, table, system, item.variable),
        *(segment, unit, scale, shift, weight),
    )


class Catalogue:
    """All items as arrays, one element an item, in ITEMID order.

    A value's step in its segment is ``base + slope * level + spread * noise``, where `level` is
    the admission's distance from the measure's mean and `noise` is standard normal; its place in
    the pool is ``first`` plus the step, cut to ``[0, length)``.
    """

    def __init__(self, facts: Facts, pool: ValuePool) -> None:
        items = [*map(_mapped, facts.items), *OTHER_ITEMS]
        self.items = sorted(items, key=lambda item: item.itemid)
        self.place = {item.itemid: place for place, item in enumerate(self.items)}
        self.mapped = [self.place[item.itemid] for item in facts.items]
        segments = [pool.segments[item.segment] for item in self.items]
        measures = [MEASURES[item.measure] for item in self.items]

        def column(values: list[float]) -> Floats:
            return np.array(values)

        steps = column([s.resolution for s in segments])
        scale = column([item.scale for item in self.items]) * steps
        shift = column([item.shift for item in self.items]) * steps
        low = column([s.low for s in segments])
        self.base = (scale * column([m.mean for m in measures]) + shift - low).astype(np.float32)
        self.slope = scale.astype(np.float32)
        self.spread = (scale * column([m.within for m in measures])).astype(np.float32)
        self.first = np.array([s.start for s in segments], dtype=np.int32)
        self.top = np.array([s.high - s.low for s in segments], dtype=np.float32)
        self.measure = np.array([MEASURE_PLACE[item.measure] for item in self.items])
        self.table = np.array([item.table for item in self.items])
        self.odd_first = np.array([pool.odd.get(item.measure, 0) for item in self.items], np.int32)
        self.odd_count = np.array(
            [len(ODD_TEXTS.get(item.measure, ())) for item in self.items], np.int32
        )
        self.units = sorted({item.unit for item in self.items})
        self.unit = np.array([self.units.index(item.unit) for item in self.items], np.int32)
        self._weight = column([item.weight for item in self.items])
        self._system = np.array([item.system for item in self.items])
        self._is_number = np.array([segment.is_number for segment in segments])

    def unit_place(self, unit: str) -> int:
        """Return the place of a unit's text, appending it if it is new."""
        if unit not in self.units:
            self.units.append(unit)
        return self.units.index(unit)

    def typical(self, place: int) -> int:
        """Return the pool place of an item's mean value."""
        step = min(max(round(float(self.base[place])), 0), int(self.top[place]))
        return int(self.first[place]) + step

    def choices(self, table: int) -> Ints:
        """Return the choice table: for each (system, only numbers) `CHOICES` item places.

        Shape (3, 2, `CHOICES`); a uniform draw from the last axis follows the items' weights.
        """
        table_of = np.zeros((3, 2, CHOICES), dtype=np.int64)
        for system in (CAREVUE, METAVISION, BOTH):
            for only_numbers in (0, 1):
                fits: Bools = (self.table == table) & (self._is_number | (only_numbers == 0))
                if system != BOTH:
                    fits &= np.isin(self._system, (system, BOTH))
                share = np.cumsum(np.where(fits, self._weight, 0))
                marks = (np.arange(CHOICES) + 0.5) / CHOICES * share[-1]
                table_of[system, only_numbers] = np.searchsorted(share, marks)
        return table_of
