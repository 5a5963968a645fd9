"""Synthetic raw data in MIMIC-IV's layout: hospital and note tables, admission by admission."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from medeval.errors import UserError
from synth import arrays as ar
from synth.mimic4_codes import (
    diagnosis_rows,
    diagnosis_titles,
    procedure_rows,
    procedure_titles,
)
from synth.mimic4_discharge import note_row
from synth.mimic4_files import open_files
from synth.mimic4_labs import LabPool, item_rows, ordinary_columns, special_rows
from synth.mimic4_micro import culture_rows
from synth.mimic4_people import Admissions, make_admissions, stays_of
from synth.mimic4_radiology import reports_of
from synth.mimic4_stays import admission_row, patient_rows, transfer_rows
from synth.writing import CsvFile, Row

LEAST, MOST = 20, 1_000_000
CHUNK_ROWS = 200_000  # about so many laboratory rows are in memory at once
CHUNK = 1000  # and never more admissions than this
FIRST_LABEVENT, FIRST_SPECIMEN, FIRST_CULTURE = 1, 1_000_000_000, 5_000_000_000
SMALL = 2000  # up to so many admissions the files are packed tightly, beyond it quickly


def write_mimic4(
    folder: Path,
    scale: int,
    seed: int,
    events_per_stay: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, int]:
    """Write the tables into an existing folder, below `hosp` and `note`; return their row counts.

    Args:
        folder: where the two folders go.
        scale: the number of admissions of interest; three controls come with each ten.
        seed: any number from 0; the same arguments give the same bytes.
        events_per_stay: about how many laboratory results an admission has on average.
        progress: called now and then with admissions done and in all.

    Raises:
        UserError: a scale outside 20 to 1,000,000.
    """
    if not LEAST <= scale <= MOST:
        raise UserError(
            f"--scale {scale} is not possible. Give a number of admissions of interest from "
            f"{LEAST} to {MOST}."
        )
    admissions = make_admissions(seed, scale)
    total = len(admissions.case)
    size = max(1, min(CHUNK, CHUNK_ROWS // events_per_stay))
    level = 9 if total <= SMALL else 1
    pool = LabPool()
    with open_files(folder, level) as files:
        files["hosp/d_labitems"].write_rows(item_rows())
        files["hosp/d_icd_diagnoses"].write_rows(diagnosis_titles())
        files["hosp/d_icd_procedures"].write_rows(procedure_titles())
        specimens = FIRST_SPECIMEN
        for number, start in enumerate(range(0, total, size)):
            chunk = admissions.take(slice(start, start + size))
            labs = ar.stream(seed, 101, number)
            file = files["hosp/labevents"]
            ids = (FIRST_LABEVENT + file.rows, specimens)
            columns, taken = ordinary_columns(labs, chunk, events_per_stay, ids, pool)
            file.write_columns(columns)
            specimens = _write_texts(files, chunk, ar.stream(seed, 102, number), specimens + taken)
            progress(min(start + size, total), total)
        return {name: file.rows for name, file in files.items()}


def _write_texts(
    files: dict[str, CsvFile], chunk: Admissions, dice: np.random.Generator, specimens: int
) -> int:
    """Write all other rows of some admissions; return the next specimen's id."""
    rows: dict[str, list[Row]] = defaultdict(list)
    cultures = files["hosp/microbiologyevents"].rows
    labevents = FIRST_LABEVENT + files["hosp/labevents"].rows
    for stay in stays_of(chunk, dice):
        rows["hosp/admissions"].append(admission_row(stay))
        rows["hosp/transfers"] += transfer_rows(stay)
        rows["hosp/diagnoses_icd"] += diagnosis_rows(stay)
        rows["hosp/procedures_icd"] += procedure_rows(stay)
        labs = rows["hosp/labevents"]
        special = special_rows(stay, labevents + len(labs), specimens)
        labs += special
        specimens += len(special)
        micro = rows["hosp/microbiologyevents"]
        # One specimen has one number, so an admission takes as many numbers as it has rows.
        found = culture_rows(stay, 1 + cultures + len(micro), FIRST_CULTURE + cultures + len(micro))
        micro += found
        note = note_row(stay)
        if note is not None:
            rows["note/discharge"].append(note)
        reports = reports_of(stay)
        rows["note/radiology"] += reports.notes
        rows["note/radiology_detail"] += reports.details
    rows["hosp/patients"] += patient_rows(chunk)
    for name, lines in rows.items():
        files[name].write_rows(lines)
    return specimens
