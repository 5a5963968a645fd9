"""Laboratory results, cultures and reports of one admission: which are kept, and in which order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from oracles.cdm.databases import Row
from oracles.cdm.history_text import MASK, scrub
from oracles.cdm.numbers import number_text
from oracles.cdm.radiology_text import find_modality, find_region, kept_sections

Json = dict[str, Any]
CANCELLED = "CANCELLED"


class CaseFailedError(Exception):
    """The case cannot be written, and why."""


@dataclass(frozen=True)
class Mode:
    """How many results of a test are kept, and whether those after the first procedure are."""

    name: str
    most: int
    before_procedure: bool

    def keeps(self, charttime: datetime | None, first_procedure: datetime | None) -> bool:
        """Tell whether an event is early enough: on an earlier day than the first procedure."""
        if not self.before_procedure or first_procedure is None:
            return True
        return charttime is not None and charttime.date() < first_procedure.date()


DEFAULT = Mode("default", most=1, before_procedure=False)
EXTENDED = Mode("extended", most=3, before_procedure=True)
MODES = {mode.name: mode for mode in (DEFAULT, EXTENDED)}


def lab_results(rows: Iterable[Row], mode: Mode) -> list[Json]:
    """Return the first results of each test."""
    tests = defaultdict(list)
    for row in rows:
        itemid, label, fluid, category, value, number, unit, flag, comments = row[:9]
        lower, upper, charttime, storetime, labevent_id, first_procedure = row[9:]
        text = lab_text(value, number, unit, flag, comments)
        if text in (None, MASK) or not mode.keeps(charttime, first_procedure):
            continue
        result = {
            "itemid": itemid,
            "test_name": label,
            "fluid": fluid,
            "category": category,
            "value": text,
            "ref_range_lower": finite(lower),
            "ref_range_upper": finite(upper),
            "charttime": charttime,
        }
        tests[itemid].append(((*nulls_last(charttime, storetime), labevent_id), result))
    kept = ranked(tests.values(), mode.most)
    if any(result["test_name"] is None for result in kept):
        raise CaseFailedError("a laboratory item without a label")
    return sorted(kept, key=lambda r: (nulls_last(r["charttime"]), r["itemid"], r["sequence_num"]))


def lab_text(
    value: str | None,
    number: float | None,
    unit: str | None,
    flag: str | None,
    comments: str | None,
) -> str | None:
    """Return the first that is there of number, text, flag and comment, the former with unit."""
    if number is not None:
        value = number_text(number)
    if value is None or value == MASK:
        return flag if flag is not None else comments
    return value if unit is None else f"{value} {unit}"


def cultures(rows: Iterable[Row], mode: Mode) -> list[Json]:
    """Return the first cultures of each test; a culture is all rows of a test, place and time."""
    found = defaultdict(list)
    for row in rows:
        test, name, specimen, organism, comments, charttime, storetime, first_procedure = row
        tells = organism not in (None, CANCELLED) or comments not in (None, MASK)
        if tells and mode.keeps(charttime, first_procedure):
            found[test, name, specimen, charttime].append((organism, comments, storetime))
    tests = defaultdict(list)
    for (test, name, specimen, charttime), parts in found.items():
        organisms, all_comments, storetimes = zip(*parts, strict=True)
        culture = {
            "test_itemid": test,
            "test_name": name,
            "spec_type_desc": specimen,
            "organism_name": joined(organisms),
            "comments": joined(all_comments),
            "charttime": charttime,
        }
        stored = min((time for time in storetimes if time is not None), default=None)
        order = (*nulls_last(charttime, stored), *nulls_last(specimen, name))
        tests[test].append((order, culture))
    kept = ranked(tests.values(), mode.most)
    if any(culture["test_itemid"] is None for culture in kept):
        raise CaseFailedError("a culture without a test")
    return sorted(
        kept, key=lambda r: (nulls_last(r["charttime"]), r["test_itemid"], r["sequence_num"])
    )


def reports(rows: Iterable[Row], mode: Mode, pathology: str | None) -> list[Json]:
    """Return the reports whose modality, region and text are known, by their ids as texts.

    Each is kept, not the first of each kind; one that is linked to its parent several times stands
    there as often in extended mode, up to three times.
    """
    notes = defaultdict(list)
    for note_id, charttime, text, exam_name, first_procedure in rows:
        if exam_name is not None and mode.keeps(charttime, first_procedure):
            notes[note_id].append((charttime, text, exam_name))
    found = []
    for note_id in sorted(notes):
        for number, (charttime, text, exam_name) in enumerate(notes[note_id][: mode.most], start=1):
            modality, region = find_modality(exam_name, text), find_region(exam_name, text)
            kept = kept_sections(text)
            if modality and region and kept:
                found.append(
                    {
                        "note_id": note_id,
                        "exam_name": exam_name,
                        "region": region,
                        "modality": modality,
                        "text": scrub(kept, pathology),
                        "charttime": charttime,
                        "sequence_num": number,
                    }
                )
    return found


def treatments(coded: Iterable[Row], others: Iterable[Row]) -> list[Json]:
    """Return coded treatments and the others, in lower case, each title once."""
    found: dict[str, Json] = {}
    for title, code in [*coded, *((title, None) for (title,) in others)]:
        name = title.lower()
        found.setdefault(name, {"title": name, "icd_code": code, "is_coded": code is not None})
    return list(found.values())


def ranked(tests: Iterable[list[tuple[Any, Json]]], most: int) -> list[Json]:
    """Number the results of each test in their order, and return the first of each."""
    return [
        {**result, "sequence_num": number}
        for results in tests
        for number, (_, result) in enumerate(sorted(results, key=lambda r: r[0])[:most], start=1)
    ]


def nulls_last(*values: Any) -> Sequence[Any]:
    """Return what sorts as the values do, with the missing ones behind."""
    return tuple((value is None, "" if value is None else value) for value in values)


def joined(texts: Iterable[str | None]) -> str | None:
    """Join the distinct texts in byte order; missing where there is none."""
    distinct = sorted({text for text in texts if text is not None})
    return ", ".join(distinct) if distinct else None


def finite(number: float | None) -> float | None:
    """Return a number, or nothing where there is none."""
    return None if number is None or math.isnan(number) else number
