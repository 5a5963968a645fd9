"""MIMIC-III as users have it, read in place on DuckDB: what is legal, and what stops a build."""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from builds import MODELS_ONLY, PUBLISHED, SYNTHETIC
from commands import PROJECT_ROOT, run_medeval
from dbt_worker import Worked, Worker
from folder_changes import database
from mimic3_folder import GIVEN, TABLES, replace, write, write_folder

ADMISSIONS = ("run", "--select", "stg_mimic3__admissions")
STAGING = ("run", "--select", "models/mimic3/staging")
# A table that reads the cells of three sources and no seed.
STAYS = (
    *("run", "--select", "stg_mimic3__admissions", "stg_mimic3__icustays"),
    *("stg_mimic3__patients", "int_mimic3__stay_exclusions"),
)
WHOLE = ("build", "--select", "mimic3", *MODELS_ONLY)
ROW_COUNTS = ("run", "--select", "+mimic3_source_tables")


def export(built: Worked, code: int, **env: str) -> str:
    """Export a task, which must end with a code; return what was said."""
    out, variables = built.folder / "exports", {"MEDEVAL_DUCKDB": str(built.path), **env}
    return run_medeval("export", "--task", "ihm", "--out", out, env=variables, code=code).stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "files")


@pytest.fixture(scope="session")
def plain_rows(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rows of the staging views over a folder without any oddity."""
    warehouse = Worked(worker, tmp_path_factory.mktemp("plain"))
    files = write_folder(warehouse.folder / "files")
    output = warehouse.builds(*STAGING, MIMIC3_DIR=files)
    assert "WARN" not in output.replace("WARN=0", "")
    assert f"mimic3 is read from the folder {files}." in output
    return warehouse.staged("mimic3")


# What users have: mimic-code#780 (names), mimic-code#603 (an extra column).


def as_parquet(path: Path, content: str) -> None:
    options = pa_csv.ConvertOptions(
        column_types={"ICD9_CODE": pa.string(), "VALUE": pa.string()},
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    table = pa_csv.read_csv(io.BytesIO(content.encode()), convert_options=options)
    pq.write_table(table, path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "quote", "start", "line_end"), GIVEN["forms"])
def test_names_are_folded_values_are_not_and_extra_columns_are_named_once(
    built: Worked,
    plain_rows: dict[str, Any],
    tmp_path: Path,
    name: str,
    quote: str,
    start: str,
    line_end: str,
) -> None:
    # A name with `=` would be a column to DuckDB, a quote the end of a literal.
    folder = tmp_path / 'Bob\'s "gender=F" & 50% {x}'
    folder.mkdir()
    for table, content in TABLES.items():
        header, *lines = content.splitlines()
        header = header.lower() if name.startswith("{lower}") else header
        columns = [f"{quote}{column}{quote}" for column in (*header.split(","), "MIMIC_ID")]
        rows = [start + ",".join(columns), *(f"{line},7" for line in lines), ""]
        path = folder / name.format(upper=table.upper(), title=table.title(), lower=table)
        (as_parquet if path.suffix == ".parquet" else write)(path, line_end.join(rows))
    output = built.builds(*STAGING, MIMIC3_DIR=os.path.relpath(folder, PROJECT_ROOT))
    assert built.staged("mimic3") == plain_rows
    (warning,) = (line for line in output.splitlines() if "are ignored" in line)
    assert warning.endswith(", ".join(f"{table}.mimic_id" for table in sorted(TABLES)))


# mimic-code#1881, duckdb#16251: the sniffer looks at the first rows, takes the file for unquoted
# and loses what comes after.
@pytest.mark.slow
def test_a_quoted_cell_after_many_plain_rows_is_read(built: Worked, folder: Path) -> None:
    content = "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n"
    content += "".join(f"{row},{row:05},plain,plain title\n" for row in range(10_000, 40_000))
    content += '40001,A4407,,"ostomy barrier, 4"" x 4"""\n'
    content += '40002,A4408,"","a ""b"""\n'
    content += '40003,A4409,"""","line one\nline ""two""\r\n\r\n,comma"\n'
    replace(folder, "d_icd_diagnoses", content)
    built.builds("run", "--select", "stg_mimic3__d_icd_diagnoses", MIMIC3_DIR=folder)
    found = built.rows("select * from mimiciii.d_icd_diagnoses order by icd9_code")
    logical = list(csv.reader(io.StringIO(content, newline="")))[1:]
    assert [tuple(cell or "" for cell in row) for row in found] == [
        tuple(row[1:]) for row in logical
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "database"])
@pytest.mark.parametrize("case", GIVEN["reads"], ids=lambda case: case["id"])
def test_codes_stay_text_and_empty_cells_are_missing(
    built: Worked, folder: Path, case: dict[str, Any], kind: str
) -> None:
    write(folder / f"{case['table']}.csv.gz", case["content"])
    places, named = {"staged": f"mimic3.stg_mimic3__{case['table']}"}, {}
    source = {"MIMIC3_DIR": folder}
    if kind == "database":
        named = {"mimic3_source": database(folder / "made.duckdb", folder)}
        source = {"MIMIC3_DB": named["mimic3_source"]}
    else:  # such a database file has lost the difference
        places["raw"] = f"mimiciii.{case['table']}"
    built.builds("run", "--select", f"stg_mimic3__{case['table']}", **source)
    for kept, place in places.items():
        query = f"select {case['columns']} from {place} order by {case['order']}"
        assert built.rows(query, **named) == [tuple(row) for row in case[kept]]


# What cannot be read.


# mimic-code#133, ricu#80: downloads that broke off.
def test_a_gzip_file_cut_at_seventy_percent_stops(built: Worked, folder: Path) -> None:
    header, row = TABLES["patients"].split("\n")[:2]
    rows = "".join(f"{number},{number}{row[4:]}\n" for number in range(20_000))
    path = write(folder / "patients.csv.gz", f"{header}\n{rows}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 7 // 10])
    says = (f"{path} looks truncated", "Check the file against SHA256SUMS and download it again")
    built.stops(*STAYS, says=says, MIMIC3_DIR=folder)


# DuckDB reads a large file in pieces, and counts lines, not rows.
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_cell_of_a_large_file_is_placed(built: Worked, folder: Path, suffix: str) -> None:
    header = TABLES["admissions"].split("\n", 1)[0]
    good = "1,{0},{0},2150-01-01 08:00:00,2150-01-09 08:00:00,,,,,,,,,,,,{1},0,1\n".format
    rows = [good(number, '"one\ntwo, ""three"""') for number in range(1, 150_001)]
    rows[123_455] = rows[123_455].replace("2150-01-09 08:00:00", "2150-01-0")
    path = replace(folder, "admissions", f"{header}\n{''.join(rows)}", suffix)
    place = f"{path}, row 123456 (the header not counted), column dischtime: '2150-01-0'"
    built.stops(*STAYS, says=(place,), MIMIC3_DIR=folder)


# mimic-code's DuckDB file.


@pytest.mark.slow
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_a_database_file_gives_the_rows_of_the_files(
    built: Worked, plain_rows: dict[str, Any], folder: Path, upper: bool
) -> None:
    path = database(folder / "Bob's mimic.duckdb", folder, upper=upper)
    output = built.builds(*STAGING, MIMIC3_DB=path)
    assert f"mimic3 is read from the DuckDB file {path}." in output
    assert built.staged("mimic3", mimic3_source=path) == plain_rows


@pytest.mark.slow
def test_what_a_database_file_lacks_is_named(built: Worked, folder: Path) -> None:
    path = database(folder / "mimic.duckdb", folder, upper=True)
    with duckdb.connect(path) as connection:
        connection.execute('alter table "PATIENTS" drop column "DOB"')
        connection.execute('drop table "ICUSTAYS"')
    says = (f"Missing in {path}: the table icustays.",)
    built.stops(*STAYS, says=says, MIMIC3_DB=path)
    says = (f"{path} (mimic3_source.main.PATIENTS) has no column dob.",)
    built.stops("run", "--select", "stg_mimic3__patients", says=says, MIMIC3_DB=path)
    database(path, folder, schema="copy")
    says = (f"The table admissions is twice in {path} (mimic3_source.copy.admissions): ",)
    built.stops(*ADMISSIONS, says=says, MIMIC3_DB=path)


@pytest.fixture(scope="session")
def demo(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    """The floor built from the folder of the demo."""
    warehouse = Worked(worker, tmp_path_factory.mktemp("demo"))
    output = warehouse.builds(*WHOLE, MIMIC3_DIR=SYNTHETIC)
    assert "known edition" not in output
    return warehouse


@pytest.mark.slow
def test_a_database_file_is_read_only_and_attached_again(
    demo: Worked, built: Worked, folder: Path
) -> None:
    path = database(folder / "mimic3.duckdb", SYNTHETIC, upper=True)
    content, beside = path.read_bytes(), sorted(folder.iterdir())
    path.chmod(0o444)
    built.builds(*WHOLE, MIMIC3_DB=path)
    for table in PUBLISHED:
        query = f"from mimic3.{table} order by all"
        assert built.rows(query) == demo.rows(query), table
    built.builds("test", "--select", "mimic3", MIMIC3_DB=path)
    export(built, 0, MEDEVAL_MIMIC3_DB=str(path))
    assert path.read_bytes() == content
    assert sorted(folder.iterdir()) == beside


# Builds that failed, and row counts.


@pytest.mark.slow
def test_a_file_cut_at_a_line_end_keeps_exports_back(
    demo: Worked, built: Worked, tmp_path: Path
) -> None:
    shutil.copy(demo.path, built.path)
    export(built, 0)
    # The demo with a plain CHARTEVENTS that lost its last hundred lines.
    cut = Path(shutil.copytree(SYNTHETIC, tmp_path / "cut"))
    lines = gzip.decompress((cut / "chartevents.csv.gz").read_bytes()).splitlines(keepends=True)
    replace(cut, "chartevents", b"".join(lines[:-100]))
    truncated = (
        "CHARTEVENTS looks truncated: expected 78925 rows for medeval synthetic demo, found 78825; "
        "check the file against SHA256SUMS"
    )
    built.stops(*ROW_COUNTS, says=(truncated,), MIMIC3_DIR=cut)
    assert "The last build of mimic3 failed" in export(built, 2)

    let_through = ("--vars", "{mimic3_check_row_counts: false}")
    output = built.builds(*ROW_COUNTS, *let_through, MIMIC3_DIR=cut)
    assert "Only a part of mimic3 was built" in output
    export(built, 2)

    built.builds(*WHOLE, MIMIC3_DIR=SYNTHETIC)
    export(built, 0)
    outcomes = built.rows(
        "select succeeded from medeval.medeval.builds where succeeded is not null"
        " order by sequence_number"
    )
    assert [succeeded for (succeeded,) in outcomes] == [False, True, False, False, False, True]
