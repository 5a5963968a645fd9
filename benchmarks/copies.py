"""Make a folder of MIMIC-III files that holds the patients of another one several times.

    python -m benchmarks.copies SOURCE TARGET 10

Copy k (from 0) has k million added to every SUBJECT_ID, HADM_ID and ICUSTAY_ID, so that no id of
one copy is one of another. Everything else is as it was, the order of rows inside a copy too. The
benchmark runs this as a process of its own, to stay small itself.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import duckdb

ID_STEP = 1_000_000
ID_COLUMNS = ("subject_id", "hadm_id", "icustay_id")
COPIED = (
    "patients",
    "admissions",
    "icustays",
    "diagnoses_icd",
    "chartevents",
    "labevents",
    "outputevents",
)


def make_copies(source: Path, target: Path, copies: int) -> None:
    """Write the tables of the benchmark to `target`, which appears when all of them are there."""
    unfinished = target.with_name(f"{target.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    codes = "d_icd_diagnoses"
    shutil.copyfile(_file(source, codes), unfinished / f"{codes}.csv.gz")
    with duckdb.connect() as connection:
        for table in COPIED:
            _copy_table(connection, _file(source, table), unfinished / f"{table}.csv.gz", copies)
    unfinished.replace(target)


def _file(folder: Path, table: str) -> Path:
    for path in folder.iterdir():
        if path.name.lower() == f"{table}.csv.gz":
            return path
    raise SystemExit(f"There is no {table}.csv.gz in {folder}.")


def _copy_table(
    connection: duckdb.DuckDBPyConnection, source: Path, target: Path, copies: int
) -> None:
    """Write the rows of one file once for every copy, one copy after the other."""
    connection.execute(
        "create or replace temp table original as from read_csv(?, header = true, "
        "all_varchar = true, delim = ',', quote = '\"', escape = '\"')",
        [str(source)],
    )
    names = [str(row[0]) for row in connection.execute("describe original").fetchall()]
    queries = (
        f"select {', '.join(_shifted(name, copy * ID_STEP) for name in names)} from original"  # noqa: S608
        for copy in range(copies)
    )
    place = str(target).replace("'", "''")
    connection.execute(
        f"copy ({' union all '.join(queries)}) to '{place}' (format csv, compression gzip)"
    )


def _shifted(name: str, shift: int) -> str:
    """Return the SQL of a column; an id that is no whole number is kept as it is."""
    if name.lower() not in ID_COLUMNS:
        return f'"{name}"'
    shifted = f'cast(try_cast("{name}" as bigint) + {shift} as varchar)'
    return f'coalesce({shifted}, "{name}") as "{name}"'


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path, help="folder of MIMIC-III .csv.gz files")
    parser.add_argument("target", type=Path, help="folder to make")
    parser.add_argument("copies", type=int)
    arguments = parser.parse_args()
    make_copies(arguments.source, arguments.target, arguments.copies)


if __name__ == "__main__":
    main()
