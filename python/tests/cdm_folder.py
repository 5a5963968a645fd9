"""Folders of MIMIC-IV files for the tests: two small admissions, in the releases' own layout."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path

import yaml

Tables = Mapping[str, Mapping[str, str]]

TABLES: Tables = yaml.safe_load(
    Path(__file__).with_name("tables").joinpath("cdm_folder.yaml").read_text(encoding="utf-8")
)
HOSP, NOTE, EXTRACT = (TABLES[module] for module in ("hosp", "note", "note_extract"))
CORE = ("admissions", "patients", "transfers")


def write_folder(folder: Path, tables: Tables = TABLES, suffix: str = ".csv.gz") -> Path:
    """Write the modules' files of one form, each module in a folder of its own."""
    for module, files in tables.items():
        (folder / module).mkdir(parents=True)
        for table, content in files.items():
            write(folder / module / f"{table}{suffix}", content)
    return folder


def as_release_1_0(folder: Path) -> Path:
    """Turn a folder into the layout of release 1.0: three tables in core, other columns."""
    (folder / "core").mkdir()
    for table in CORE:
        (folder / "hosp" / f"{table}.csv.gz").rename(folder / "core" / f"{table}.csv.gz")
    admissions = without_column(HOSP["admissions"], "admit_provider_id")
    write(folder / "core" / "admissions.csv.gz", admissions.replace(",race,", ",ethnicity,"))
    for table in ("labevents", "microbiologyevents"):
        content = without_column(HOSP[table], "order_provider_id")
        write(folder / "hosp" / f"{table}.csv.gz", content)
    return folder


def without_column(content: str, name: str) -> str:
    """Return a table without one of its columns."""
    rows = list(csv.reader(io.StringIO(content)))
    place = rows[0].index(name)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(row[:place] + row[place + 1 :] for row in rows)
    return out.getvalue()


def write(path: Path, content: str | bytes) -> Path:
    """Write a file, compressed where its name ends so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.name.lower().endswith(".gz") else data)
    return path
