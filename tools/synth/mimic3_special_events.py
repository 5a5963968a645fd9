"""Events placed by hand: one template a row, given to every patient of its case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth import arrays as ar
from synth.arrays import HOUR, MINUTE, Ints
from synth.mimic3_batches import Batch
from synth.mimic3_cases import CASE_PLACE
from synth.mimic3_items import CHART, LAB, OUTPUT, Catalogue
from synth.mimic3_patients import Population
from synth.mimic3_values import ValuePool

# Items that the templates name.
HEART_RATE, RESPIRATORY_RATE, SPO2, SAO2 = 211, 618, 646, 834
SYSTOLIC, SYSTOLIC_CUFF, DIASTOLIC, DIASTOLIC_CUFF, MEAN_PRESSURE = 51, 455, 8368, 8441, 52
TEMPERATURE_C, TEMPERATURE_F, TEMPERATURE_METAVISION = 676, 678, 223761
GLUCOSE, GLUCOSE_FINGER, GLUCOSE_LAB, PH, PH_LAB, LACTATE_LAB = 811, 807, 50931, 780, 50820, 50813
EYE, MOTOR, VERBAL, COMA_TOTAL, REFILL = 184, 454, 723, 198, 3348
FIO2, FIO2_ANALYZED, FIO2_METAVISION = 3420, 189, 223835
WEIGHT, WEIGHT_LB, WEIGHT_OZ, WEIGHT_ADMISSION_LB = 763, 3581, 3582, 226531
HEIGHT_INCHES, HEIGHT, HEIGHT_CM = 1394, 226707, 226730
BREATH_SOUNDS, SKIN, URINE = 9101, 9102, 40055

# Where HADM_ID and ICUSTAY_ID of a template come from.
OWN, EMPTY, SECOND, STRANGER = "own", "empty", "second admission", "next patient"


@dataclass(frozen=True)
class Template:
    """One event of each patient of a case.

    It is charted `seconds` after INTIME (or OUTTIME) of the stay of admission `anchor` and has
    the ids of the stay of admission `admission`, but for `hadm` and `icustay`. `value` None is
    the item's mean; `unit` None is the item's own.
    """

    case: str
    seconds: float
    item: int
    value: str | None = None
    unit: str | None = None
    hadm: str = OWN
    icustay: str = OWN
    admission: int = 0
    anchor: int = 0
    after_out: bool = False
    error: bool = False


def _series(
    case: str, item: int, *values: str | tuple[str, str], start: float = HOUR
) -> list[Template]:
    """One item's values, each 7 minutes after the other; a pair is a value and its unit."""
    pairs = [(value, None) if isinstance(value, str) else value for value in values]
    return [
        Template(case, start + 7 * MINUTE * place, item, value, unit)
        for place, (value, unit) in enumerate(pairs)
    ]


def _texts() -> list[Template]:
    case = "value_texts"
    note = 'Family called, "will visit" at noon'
    return [
        *_series(case, GLUCOSE, ">500", "<1", "12.", ".5", "-5", " 90", "1e2", "ERROR", "90"),
        *_series(case, GLUCOSE_LAB, "141", "+90", "90.5.1", "1,000"),
        *_series(case, PH_LAB, "7.31", "7.", "UNABLE TO REPORT"),
        *_series(case, SAO2, ".97", "0.95", "1", "1.0", "0", "98"),
        *_series(case, FIO2, "50", ("0.5", ""), ("0.5", "torr"), ("100", "Torr"), ("1", "")),
        *_series(case, FIO2_ANALYZED, ".40000000596046448", ("60", "%")),
        *_series(case, TEMPERATURE_F, "79", "77.5", "98.6", "78.9", "37.2"),
        *_series(case, TEMPERATURE_C, "37", "98.6", "79.0", "1e2", " 36.5"),
        *_series(case, TEMPERATURE_METAVISION, "77.5", "100.4"),
        *_series(case, REFILL, "Normal <3 secs", "Brisk", "Abnormal >3 secs", "Delayed"),
        *_series(case, REFILL, "Other/Remarks", "normal <3 secs", start=3 * HOUR),
        *_series(case, HEART_RATE, ">60/minute", "9", "120", "Other/Remarks"),
        *_series(case, RESPIRATORY_RATE, "inf", ">60/minute", "18"),
        *_series(case, EYE, "None", "Spontaneously", "4 Spontaneously", "4"),
        *_series(case, VERBAL, "1.0 ET/Trach", "No Response-ETT", "5", "5 Oriented"),
        *_series(case, MOTOR, "6 Obeys Commands", "Obeys Commands", "6.0"),
        *_series(case, COMA_TOTAL, "15", "11T", "None"),
        *_series(case, WEIGHT, "81.6", ("180", "lb"), ("2880", "oz"), ("80", "KG")),
        *_series(case, WEIGHT_LB, "176", start=4 * HOUR),
        *_series(case, WEIGHT_OZ, "2822", start=5 * HOUR),
        *_series(case, WEIGHT_ADMISSION_LB, "179.5", start=6 * HOUR),
        *_series(case, HEIGHT_INCHES, "75", "70"),
        *_series(case, HEIGHT, "69", start=4 * HOUR),
        *_series(case, HEIGHT_CM, "175", ("68", "Inches"), start=5 * HOUR),
        *_series(case, SYSTOLIC, "120/80", "118", start=2 * HOUR),
        *_series(case, SYSTOLIC_CUFF, "134/72", start=3 * HOUR),
        *_series(case, DIASTOLIC, "120/80", "64", start=2 * HOUR),
        *_series(case, DIASTOLIC_CUFF, "134/72", start=3 * HOUR),
        *_series(case, MEAN_PRESSURE, "", "NA", "NULL", "nan", "#N/A", "-1.#IND", "None"),
        *_series(case, BREATH_SOUNDS, note, "First line\nsecond line", "None", "12"),
        Template(case, 2 * HOUR, HEART_RATE, "88", error=True),
        Template(case, 8 * HOUR, TEMPERATURE_METAVISION, "212", error=True),
        Template(case, 2 * HOUR, URINE, "150"),
    ]


def _malformed() -> list[Template]:
    """Values that stop the benchmark's own scripts; a build treats them as missing."""
    case = "malformed_values"
    return [
        *_series(case, SYSTOLIC, "120/", "/80", "120/80/60", "12O/80", "120 / 80", "unable"),
        *_series(case, DIASTOLIC, "120/", "/80", "-1/80", "1.5/80", "palp"),
        *_series(case, TEMPERATURE_F, "ERROR", "98,6", "98.6 F"),
        *_series(case, WEIGHT, "80 kg", "bed scale broken"),
        *_series(case, HEIGHT_INCHES, "5'10\"", "unknown"),
        *_series(case, FIO2, "RA", "40%", "1e999"),
    ]


def _identifiers() -> list[Template]:
    case, hour = "wrong_ids", HOUR
    return [
        Template(case, 1 * hour, HEART_RATE, "81", hadm=EMPTY),
        Template(case, 2 * hour, HEART_RATE, "82", hadm=EMPTY, icustay=EMPTY),
        Template(case, 3 * hour, HEART_RATE, "83", hadm=SECOND),
        Template(case, 4 * hour, HEART_RATE, "84", hadm=SECOND, icustay=SECOND),
        Template(case, 5 * hour, HEART_RATE, "85", hadm=STRANGER),
        Template(case, 6 * hour, HEART_RATE, "86", hadm=STRANGER, icustay=STRANGER),
        Template(case, 7 * hour, HEART_RATE, "87", icustay=EMPTY),
        Template(case, 8 * hour, HEART_RATE, "88", icustay=SECOND),
        Template(case, 9 * hour, HEART_RATE, "89", icustay=STRANGER),
        Template(case, 10 * hour, GLUCOSE_LAB, "101"),
        Template(case, 11 * hour, GLUCOSE_LAB, "102", hadm=EMPTY),
        Template(case, 12 * hour, GLUCOSE_LAB, "103", hadm=SECOND),
        Template(case, 13 * hour, GLUCOSE_LAB, "104", hadm=STRANGER),
        Template(case, -3 * hour, GLUCOSE_LAB, "105"),
        Template(case, 3 * hour, GLUCOSE_LAB, "106", after_out=True),
        Template(case, -90 * 24 * hour, GLUCOSE_LAB, "107", hadm=EMPTY),
        Template(case, 14 * hour, URINE, "61", hadm=EMPTY),
        Template(case, 15 * hour, URINE, "62", icustay=EMPTY),
    ]


def _siblings() -> list[Template]:
    """Events of the second admission's stay, charted inside the first one's."""
    case, hour = "sibling_events", HOUR
    return [
        Template(case, 5 * hour, HEART_RATE, "91", admission=1),
        Template(case, 6 * hour, GLUCOSE_LAB, "191", admission=1),
        Template(case, 7 * hour, HEART_RATE, "92"),
        Template(case, 7 * hour, RESPIRATORY_RATE, "22", admission=1),
        Template(case, 8 * hour, HEART_RATE, "93"),
        Template(case, 8 * hour, HEART_RATE, "94", admission=1),
        Template(case, -2 * hour, GLUCOSE_LAB, "192", admission=1),
        Template(case, 4 * hour, HEART_RATE, "95", admission=2, anchor=1),
    ]


def _times() -> list[Template]:
    case = "time_edges"
    edges = [
        *((-1, False), (0, False), (1, False), (48 * HOUR, False), (48 * HOUR + 1, False)),
        *((-1, True), (0, True), (1, True)),
    ]
    found = [
        Template(name, second, item, None, after_out=after_out)
        for name in (case, "los_two_days", "los_shorter_than_stay")
        for second, after_out in edges
        for item in (HEART_RATE, GLUCOSE_LAB)
    ]
    found += [Template("los_below_two_days", 48 * HOUR, HEART_RATE, "77")]
    found += [Template("death_after_34_hours", 34 * HOUR, HEART_RATE, "40")]
    return found


def _repeats() -> list[Template]:
    case, hour = "duplicates", HOUR
    return [
        *[Template(case, 1 * hour, HEART_RATE, "81")] * 3,
        *[Template(case, 1 * hour, GLUCOSE_LAB, "131")] * 2,
        *[Template(case, 1 * hour, URINE, "45")] * 2,
        *[Template(case, 2 * hour, HEART_RATE, value) for value in ("9", "120", "81", "81.0")],
        *[Template(case, 2 * hour, TEMPERATURE_F, value) for value in ("98.6", "9", "100")],
        Template(case, 2 * hour, TEMPERATURE_C, "37"),
        Template(case, 3 * hour, GLUCOSE, "99"),
        Template(case, 3 * hour, GLUCOSE_FINGER, "100"),
        Template(case, 3 * hour, GLUCOSE_LAB, "100"),
        Template(case, 3 * hour, GLUCOSE, "9"),
        Template(case, 4 * hour, EYE, "None"),
        Template(case, 4 * hour, EYE, "4 Spontaneously"),
        Template(case, 4 * hour, EYE, "NULL"),
    ]


def _numbers() -> list[Template]:
    """Their ordinary events start ten hours after INTIME, so these set the first observation."""
    return [
        Template("number_only_negative", 6.5 * HOUR, GLUCOSE, "-5"),
        Template("number_only_negative", 12 * HOUR, GLUCOSE_LAB, "-3"),
        Template("number_only_negative", 13 * HOUR, HEART_RATE, "81"),
        Template("number_only_exponent", 6.5 * HOUR, GLUCOSE, "1e2"),
        Template("number_only_exponent", 13 * HOUR, HEART_RATE, "81.50"),
        Template("number_only", 12 * HOUR, SPO2, "97"),
    ]


def _elsewhere() -> list[Template]:
    return [
        Template("events_outside", -4 * HOUR, GLUCOSE_LAB, "115"),
        Template("events_outside", -20 * MINUTE, HEART_RATE, "99"),
        Template("events_outside", 5 * MINUTE, HEART_RATE, "101", after_out=True),
        Template("equal_intime", 6 * HOUR, HEART_RATE, "96", admission=0),
        Template("equal_intime", 6 * HOUR, RESPIRATORY_RATE, "24", admission=1),
    ]


def templates(catalogue: Catalogue) -> list[Template]:
    """Return all templates; the case `every_item` has each of the benchmark's items once."""
    every = [
        Template("every_item", (place + 1) * 25 * MINUTE, catalogue.items[item].itemid)
        for place, item in enumerate(catalogue.mapped)
    ]
    return [
        *(*_texts(), *_malformed(), *_identifiers(), *_siblings(), *_times(), *_repeats()),
        *(*_numbers(), *_elsewhere(), *every),
    ]


def special_events(
    seed: int, population: Population, catalogue: Catalogue, pool: ValuePool
) -> dict[int, Batch]:
    """Return the special events of each table, template by template.

    New values and units are appended to the pool and the catalogue: call it before they are
    rendered.
    """
    found: dict[int, list[Batch]] = {CHART: [], LAB: [], OUTPUT: []}
    for template in templates(catalogue):
        item = catalogue.place[template.item]
        unit = catalogue.items[item].unit if template.unit is None else template.unit
        batch = _expand(seed, template, population, is_lab=catalogue.items[item].table == LAB)
        batch.item[:] = item
        batch.unit[:] = catalogue.unit_place(unit)
        batch.value[:] = (
            catalogue.typical(item) if template.value is None else pool.place(template.value)
        )
        found[catalogue.items[item].table].append(batch)
    return {table: _concatenated(batches) for table, batches in found.items()}


def _expand(seed: int, template: Template, population: Population, *, is_lab: bool) -> Batch:
    """Give a template to the patients of its case; item, value and unit are filled in later."""
    stays = population.stays
    anchor = population.stays_of(template.case, admission=template.anchor)
    stay = population.stays_of(template.case, admission=template.admission)
    nobody = np.full(len(stay), -1)
    ids = {
        OWN: stay,
        EMPTY: nobody,
        SECOND: population.stays_of(template.case, admission=1),
        STRANGER: _strangers(population, stay),
    }
    hadm, icustay = ids[template.hadm], ids[EMPTY if is_lab else template.icustay]
    start = (stays.outtime if template.after_out else stays.intime)[anchor].astype(np.int64)
    return Batch(
        patient=stays.patient[stay],
        admission=np.where(hadm < 0, -1, stays.admission[hadm]),
        stay=icustay,
        item=nobody.copy(),
        time=start + int(template.seconds),
        value=nobody.astype(np.int32),
        unit=nobody.astype(np.int32),
        round=ar.mixed(seed, np.full(len(stay), CASE_PLACE[template.case]), stay),
        flag=np.full(len(stay), template.error),
    )


def _strangers(population: Population, stay: Ints) -> Ints:
    """Return the first stay of the next patient that has one."""
    patient = population.stays.patient
    return np.searchsorted(patient, patient[stay], side="right") % len(patient)


def _concatenated(batches: Sequence[Batch]) -> Batch:
    columns = zip(*(vars(batch).values() for batch in batches), strict=True)
    return Batch(*map(np.concatenate, columns))
