"""Rows of the tables patients, admissions and transfers."""

from __future__ import annotations

import numpy as np

from synth.arrays import HOUR, MINUTE
from synth.mimic4_cases import TRANSFERRED
from synth.mimic4_people import Admissions, Stay, later, moment
from synth.writing import Row

_INSURANCE = ("Medicare", "Medicaid", "Private", "Other")
_MARITAL = ("MARRIED", "SINGLE", "WIDOWED", "DIVORCED", None)
_RACE = ("WHITE", "BLACK/AFRICAN AMERICAN", "ASIAN", "OTHER", "UNKNOWN")
_HOME = ("HOME", "HOME", "HOME HEALTH CARE", "SKILLED NURSING FACILITY")
_UNITS = ("Med/Surg", "Medicine", "Surgery", "Observation")
_FIRST_TRANSFER = 30_000_000


def patient_rows(admissions: Admissions) -> list[Row]:
    """Return one row for each patient whose first admission is among these."""
    rows: list[Row] = []
    for place in np.flatnonzero(admissions.ordinal == 0).tolist():
        year = int(admissions.anchor_year[place])
        group = 2008 + year % 4 * 3
        rows.append(
            (
                int(admissions.subject_id[place]),
                "F" if admissions.female[place] else "M",
                int(admissions.anchor_age[place]),
                year,
                f"{group} - {group + 2}",
                None if np.isnat(admissions.dod[place]) else str(admissions.dod[place])[:10],
            )
        )
    return rows


def admission_row(stay: Stay) -> Row:
    """Return the row of an admission."""
    dice = stay.dice
    if stay.kind == TRANSFERRED:
        source, kind = "TRANSFER FROM HOSPITAL", "URGENT"
    elif stay.ed is None:
        source, kind = "PHYSICIAN REFERRAL", "DIRECT EMER."
    else:
        source, kind = "EMERGENCY ROOM", "EW EMER."
    return (
        stay.subject,
        stay.hadm,
        moment(stay.admit),
        moment(stay.discharge),
        moment(stay.discharge) if stay.died else None,
        kind,
        f"P{dice.whole(0, 999):03d}AB",
        source,
        "DIED" if stay.died else dice.pick(_HOME),
        dice.pick(_INSURANCE),
        "English" if dice.chance(0.9) else "?",
        dice.pick(_MARITAL),
        dice.pick(_RACE),
        moment(stay.ed),
        None if stay.ed is None else moment(later(stay.admit, 50 * MINUTE)),
        int(stay.died),
    )


def transfer_rows(stay: Stay) -> list[Row]:
    """Return where the patient was; one special case has no row."""
    if stay.case == "no_transfers":
        return []
    dice, rows = stay.dice, list[Row]()
    number = _FIRST_TRANSFER + (stay.hadm - 20_000_000) * 5
    head = (stay.subject, stay.hadm)
    if dice.chance(0.06):
        # A visit to the emergency department that led to no admission.
        seen = later(stay.start, -dice.whole(500, 2000) * HOUR)
        times = (moment(seen), moment(later(seen, 5 * HOUR)))
        rows.append((stay.subject, None, number + 4, "ED", "Emergency Department", *times))
    if stay.ed is not None:
        times = (moment(stay.ed), moment(stay.admit))
        rows.append((*head, number, "ED", "Emergency Department", *times))
    moved = stay.admit
    unit = dice.pick(_UNITS)
    if dice.chance(0.3):
        moved = later(stay.admit, dice.whole(3, 20) * HOUR)
        rows.append((*head, number + 1, "admit", unit, moment(stay.admit), moment(moved)))
        unit = dice.pick(_UNITS)
    kind = "admit" if moved == stay.admit else "transfer"
    rows.append((*head, number + 2, kind, unit, moment(moved), moment(stay.discharge)))
    rows.append((*head, number + 3, "discharge", "UNKNOWN", moment(stay.discharge), None))
    return rows
