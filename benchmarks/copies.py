"""Make a folder of MIMIC-III files that holds the patients of another one several times.

Copy k (from 0) has k million added to every SUBJECT_ID, HADM_ID and ICUSTAY_ID, so that no id of
one copy is one of another. Everything else is as it was, the order of rows inside a copy too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

ID_STEP = 1_000_000
ID_COLUMNS = ("subject_id", "hadm_id", "icustay_id")
COPIED = ("patients", "admissions", "icustays", "diagnoses_icd")
EVENTS = ("chartevents", "labevents", "outputevents")
CODES = "d_icd_diagnoses"


def make(source: str, target: str, copies: str) -> None:
    """Write the tables of the benchmark to `target`, which appears when all of them are there."""
    unfinished = Path(f"{target}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    files = {path.name.lower(): path for path in Path(source).iterdir()}
    shutil.copyfile(files[f"{CODES}.csv.gz"], unfinished / f"{CODES}.csv.gz")
    with duckdb.connect() as connection:
        for table in (*COPIED, *EVENTS):
            name = f"{table}.csv.gz"
            connection.execute(
                "create or replace temp table original as from read_csv(?, header = true, "
                "all_varchar = true, delim = ',', quote = '\"', escape = '\"')",
                [str(files[name])],
            )
            columns = [str(row[0]) for row in connection.execute("describe original").fetchall()]
            queries = (
                f"select {', '.join(_shifted(name, copy * ID_STEP) for name in columns)}"  # noqa: S608
                " from original"
                for copy in range(int(copies))
            )
            place = str(unfinished / name).replace("'", "''")
            connection.execute(
                f"copy ({' union all '.join(queries)}) to '{place}' (format csv, compression gzip)"
            )
    unfinished.replace(target)


def _shifted(name: str, shift: int) -> str:
    """Return the SQL of a column; an id that is no whole number is kept as it is."""
    if name.lower() not in ID_COLUMNS:
        return f'"{name}"'
    shifted = f'cast(try_cast("{name}" as bigint) + {shift} as varchar)'
    return f'coalesce({shifted}, "{name}") as "{name}"'
