"""Which admissions there are: pathologies, controls, and the special cases.

Of every 130 admissions of interest each second one is a special case, so that a data set of 130
holds every case and a larger one holds each in the same proportion. The others are ordinary.
"""

from __future__ import annotations

import numpy as np

from synth.arrays import Bools, Ints

CYCLE = 130
STRIDE = 2

PATHOLOGIES = ("appendicitis", "cholecystitis", "diverticulitis", "pancreatitis")
OTHERS = ("gastroenteritis", "ureteric stone", "bowel obstruction", "ovarian cyst", "urinary")
CONDITIONS = PATHOLOGIES + OTHERS
_PATTERN = "AACPACDPAACPACPADCAP"  # twenty admissions of interest

# What a control is: another disease; another one with the pathology as a second code; a pathology
# treated first in another hospital; another disease after the pathology of years ago.
INTEREST, OTHER, SECONDARY, TRANSFERRED, FORMER = range(5)
_CONTROLS = (OTHER, SECONDARY, OTHER, TRANSFERRED, FORMER, OTHER)

CASES = (
    # procedures and the days around them
    "no_procedure",
    "same_day_procedure",
    "sequence_against_dates",
    "midnight",
    "procedure_codes",  # a code without a title, a code of both versions, a repeated code
    # laboratory
    "lab_tie",
    "lab_forms",
    "lab_cap",
    "lab_comments",
    "lab_items",  # an item that the dictionary lacks, and one without a label
    "missing_charttime",
    "no_labs",
    # microbiology
    "cultures_by_day",
    "culture_organisms",
    "culture_duplicates",
    "culture_specimens",
    "culture_tie",
    # rows without hadm_id
    "window",
    "overlapping",
    "readmitted",
    "no_transfers",
    # radiology
    "report_without_findings",
    "report_empty_findings",
    "report_joint_heading",
    "report_mixed_case",
    "report_spaced_colon",
    "report_glued_heading",
    "report_wet_read",
    "report_addendum",
    "report_crlf",
    "report_capital_line",
    "report_other_conclusion",
    "report_repeated_heading",
    "report_leak",
    "report_inner_impression",
    "report_names",
    "report_pelvis",
    "report_many",
    "report_chest_only",
    # discharge notes
    "note_crlf",
    "note_masked_headings",
    "note_capitals",
    "note_same_line",
    "note_aliases",
    "note_unicode",
    "note_leak",
    "note_broken_leak",
    "note_stems",
    "note_without_history",
    "note_without_past_history",
    "note_without_results",
    "note_without_diagnosis",
    "note_masked_diagnosis",
    "note_repeated_diagnosis",
    "note_other_diagnosis",
    "note_two_diagnoses",
    "note_short_exam",
    "note_exam_by_line",
    "note_exam_by_capitals",
    "note_exam_with_labs",
    "note_procedure_list",
    "note_repeated_headings",
    "note_missing",
    # people
    "oldest",
)
ORDINARY = len(CASES)
JOINING = ("overlapping", "readmitted")  # a later admission of the patient before


def case_number(name: str) -> int:
    """Return the number that stands for a case in arrays."""
    return CASES.index(name)


def has_case(case: Ints, *names: str) -> Bools:
    """Return where one of the named cases is."""
    return np.isin(case, [case_number(name) for name in names])


def assign_cases(count: int) -> Ints:
    """Return the case of each of `count` admissions of interest."""
    place = np.arange(count) % CYCLE
    special = (place % STRIDE == 1) & (place // STRIDE < len(CASES))
    return np.where(special, place // STRIDE, ORDINARY)


def assign_conditions(count: int) -> Ints:
    """Return the pathology of each of `count` admissions of interest."""
    pattern = np.array(["ACDP".index(letter) for letter in _PATTERN])
    return pattern[np.arange(count) % len(pattern)]


def assign_controls(count: int) -> tuple[Ints, Ints, Ints]:
    """Return kind, main condition and concealed pathology of each of `count` controls."""
    number = np.arange(count)
    kind = np.array(_CONTROLS)[number % len(_CONTROLS)]
    pathology = (number // 2) % len(PATHOLOGIES)
    other = len(PATHOLOGIES) + number % len(OTHERS)
    return kind, np.where(kind == TRANSFERRED, pathology, other), pathology
