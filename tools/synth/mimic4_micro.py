"""Cultures: one row an isolate and antibiotic, a day without a time, several organisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synth.arrays import DAY, HOUR, MINUTE
from synth.mimic4_people import Stay, day_of, later, moment
from synth.writing import Row

# spec_itemid, spec_type_desc, test_itemid, test_name
BLOOD = (70012, "BLOOD CULTURE", 90201, "Blood Culture, Routine")
URINE = (70079, "URINE", 90039, "URINE CULTURE")
FLUID = (70037, "PERITONEAL FLUID", 90115, "FLUID CULTURE")
ABSCESS = (70011, "ABSCESS", 90115, "FLUID CULTURE")
GRAM = (70037, "PERITONEAL FLUID", 90260, "GRAM STAIN")
ORGANISMS = (
    (80002, "ESCHERICHIA COLI"),
    (80004, "KLEBSIELLA PNEUMONIAE"),
    (80053, "ENTEROCOCCUS SP."),
    (80103, "BACTEROIDES FRAGILIS GROUP"),
)
CANCELLED = (90760, "CANCELLED")
ANTIBIOTICS = ((90004, "AMPICILLIN"), (90012, "GENTAMICIN"), (90019, "CIPROFLOXACIN"))
REMARKS = (
    "No growth after five days of incubation.  ",
    "NO GROWTH.  ",
    "Mixed flora, consistent with contamination.  ",
    "Smear: polymorphs seen, no organisms seen.  ",
)
Test = tuple[int, str, int, str]


@dataclass
class _Culture:
    """One culture before it has ids; `susceptible` adds a row for each antibiotic."""

    test: Test
    time: np.datetime64
    organisms: tuple[tuple[int, str], ...] = ()
    comment: str | None = None
    by_day: bool = False
    lost: bool = False
    susceptible: bool = False
    stored: int | None = 2 * DAY
    copies: int = 1


def culture_rows(stay: Stay, microevent: int, specimen: int) -> list[Row]:
    """Return an admission's rows, numbered from these ids; each culture is one specimen."""
    rows: list[Row] = []
    for place, culture in enumerate([*_ordinary(stay), *_special(stay)]):
        for _ in range(culture.copies):
            for cells in _results(culture):
                rows.append(
                    (
                        microevent + len(rows),
                        stay.subject,
                        None if culture.lost else stay.hadm,
                        specimen + place,
                        None,
                        moment(day_of(culture.time)),
                        None if culture.by_day else moment(culture.time),
                        culture.test[0],
                        culture.test[1],
                        1,
                        *_stored(culture),
                        culture.test[2],
                        culture.test[3],
                        *cells,
                        culture.comment,
                    )
                )
    return rows


def _stored(culture: _Culture) -> Row:
    if culture.stored is None:
        return None, None
    time = later(culture.time, culture.stored)
    return moment(day_of(time)), moment(time)


def _results(culture: _Culture) -> Iterator[Row]:
    if not culture.organisms:
        yield (None,) * 10
    for isolate, organism in enumerate(culture.organisms, 1):
        if not culture.susceptible:
            yield *organism, isolate, *(None,) * 7
            continue
        for place, antibiotic in enumerate(ANTIBIOTICS):
            level = ("<=", "2", "S") if place != isolate % 3 else ("=>", "32", "R")
            text = f"{level[0]}{level[1]}"
            yield *organism, isolate, None, *antibiotic, text, *level


def _ordinary(stay: Stay) -> Iterator[_Culture]:
    dice = stay.dice
    for test, chance in ((BLOOD, 0.45), (BLOOD, 0.3), (URINE, 0.5), (FLUID, 0.12)):
        if not dice.chance(chance):
            continue
        time = later(stay.start, dice.whole(20, 2000) * MINUTE)
        grows = dice.chance(0.2)
        yield _Culture(
            test,
            time,
            organisms=tuple(dice.some(ORGANISMS, dice.whole(1, 2))) if grows else (),
            comment=None if grows else dice.pick(REMARKS),
            by_day=dice.chance(0.15),
            lost=bool(time < stay.admit) and dice.chance(0.5),
            susceptible=grows and dice.chance(0.7),
        )


def _special(stay: Stay) -> Iterator[_Culture]:
    start, case = later(stay.start, HOUR), stay.case
    procedure = day_of(stay.admit, max(stay.procedure_day, 0))
    if case == "cultures_by_day":
        for days in (-1, 0, 1):
            time = later(procedure, days * DAY + 18 * HOUR)
            yield _Culture(URINE, time, comment=f"Known by the day only, {days}.", by_day=True)
    elif case == "culture_organisms":
        yield _Culture(FLUID, start, ORGANISMS[:3], susceptible=True)
        yield _Culture(GRAM, start, (CANCELLED,), comment="Too little material.")
        yield _Culture(URINE, start, (CANCELLED,), comment="___")
        yield _Culture(ABSCESS, later(start, HOUR), ORGANISMS[3:], comment="___")
    elif case == "culture_duplicates":
        yield _Culture(BLOOD, start, ORGANISMS[:1], susceptible=True, copies=2)
        yield _Culture(BLOOD, later(start, HOUR), comment=REMARKS[0], copies=2)
    elif case == "culture_specimens":
        yield _Culture(FLUID, start, comment=REMARKS[1])
        yield _Culture(ABSCESS, later(start, 2 * HOUR), ORGANISMS[3:])
    elif case == "culture_tie":
        yield _Culture(FLUID, start, ORGANISMS[1:2], stored=DAY)
        yield _Culture(ABSCESS, start, ORGANISMS[2:3], stored=DAY)
    elif case == "midnight":
        for seconds in (-1, 0, 1):
            yield _Culture(BLOOD, later(procedure, seconds), comment=f"Edge {seconds}.")
    elif case == "missing_charttime":
        yield _Culture(BLOOD, start, comment=REMARKS[0], by_day=True, stored=None)
    elif case == "window":
        begin = later(stay.start, -DAY)
        for time in (later(begin, -1), begin, stay.discharge, later(stay.discharge, 1)):
            yield _Culture(URINE, time, comment="No admission given.", lost=True)
