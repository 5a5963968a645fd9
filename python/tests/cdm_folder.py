"""Folders of MIMIC-IV files for the tests: two small admissions, in the releases' own layout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mimic3_folder import as_frame, write
from tables import table

Tables = Mapping[str, Mapping[str, str]]

TABLES: Tables = table("cdm_folder")
HOSP, NOTE, EXTRACT = (TABLES[module] for module in ("hosp", "note", "note_extract"))
CORE = ("admissions", "patients", "transfers")


def write_folder(folder: Path, tables: Tables = TABLES, suffix: str = ".csv.gz") -> Path:
    """Write the modules' files of one form, each module in a folder of its own."""
    for module, files in tables.items():
        (folder / module).mkdir(parents=True)
        for name, content in files.items():
            write(folder / module / f"{name}{suffix}", content)
    return folder


def as_release_1_0(folder: Path) -> Path:
    """Turn a folder into the layout of release 1.0: three tables in core, other columns."""
    (folder / "core").mkdir()
    for name in CORE:
        (folder / "hosp" / f"{name}.csv.gz").rename(folder / "core" / f"{name}.csv.gz")
    admissions = without_column(HOSP["admissions"], "admit_provider_id")
    write(folder / "core" / "admissions.csv.gz", admissions.replace(",race,", ",ethnicity,"))
    for name in ("labevents", "microbiologyevents"):
        content = without_column(HOSP[name], "order_provider_id")
        write(folder / "hosp" / f"{name}.csv.gz", content)
    return folder


def without_column(content: str, name: str) -> str:
    """Return a table without one of its columns."""
    return as_frame(content).drop(columns=name).to_csv(index=False)
