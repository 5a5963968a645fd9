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
from builds import PUBLISHED, SYNTHETIC
from commands import PROJECT_ROOT, run_medeval
from dbt_worker import Worked, Worker
from marks import slow_after
from mimic3_folder import TABLES, replace, with_cell, write, write_folder

ADMISSIONS = ("run", "--select", "stg_mimic3__admissions")
STAGING = ("run", "--select", "models/mimic3/staging")
# A table that reads the cells of three sources and no seed.
STAYS = (
    *("run", "--select", "stg_mimic3__admissions", "stg_mimic3__icustays"),
    *("stg_mimic3__patients", "int_mimic3__stay_exclusions"),
)
WHOLE = ("build", "--select", "mimic3", "--resource-type", "seed", "--resource-type", "model")
ROW_COUNTS = ("run", "--select", "+mimic3_source_tables")


class Warehouse(Worked):
    """A folder with a DuckDB warehouse that dbt builds from MIMIC-III."""

    source_alias = "mimic3_source"

    def staged(self, source: Path | None = None) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of every staging view."""
        return {
            table: sorted(self.rows(f"from mimic3.stg_mimic3__{table}", source), key=repr)
            for table in TABLES
        }

    def export(self, **env: object) -> tuple[int, str]:
        """Export a task with `MEDEVAL_` variables; return the exit code and what was said."""
        out = self.folder / "exports"
        variables = {f"MEDEVAL_{name}": str(value) for name, value in env.items()}
        variables["MEDEVAL_DUCKDB"] = str(self.path)
        done = run_medeval("export", "--task", "ihm", "--out", out, env=variables)
        return done.returncode, done.stderr


@pytest.fixture(scope="session")
def warehouse(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(worker, tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "files")


@pytest.fixture(scope="session")
def plain_rows(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rows of the staging views over a folder without any oddity."""
    files = write_folder(tmp_path_factory.mktemp("plain") / "files")
    output = warehouse.builds(*STAGING, MIMIC3_DIR=files)
    assert "WARN" not in output.replace("WARN=0", "")
    assert f"mimic3 is read from the folder {files}." in output
    return warehouse.staged()


def database(path: Path, files: Path, upper: bool = False, schema: str = "main") -> Path:
    """Make a DuckDB file as mimic-code does: typed tables, codes and values as text."""
    with duckdb.connect(path) as connection:
        connection.execute(f"create schema if not exists {schema}")
        for file in sorted(files.glob("*.csv.gz")):
            name = file.name.removesuffix(".csv.gz")
            header = gzip.decompress(file.read_bytes()).split(b"\n", 1)[0].decode().split(",")
            text = {"ICD9_CODE", "VALUE", "VALUEUOM"}.intersection(header)
            types = ", ".join(f"'{column}': 'varchar'" for column in sorted(text))
            connection.execute(
                f'create table {schema}."{name.upper() if upper else name}" as from '
                f"read_csv('{file}', types = {{{types}}}, quote = '\"', escape = '\"')"
            )
    return path


# What users have: mimic-code#780 (names), mimic-code#603 (an extra column).


def quoted(header: str) -> str:
    return ",".join(f'"{name}"' for name in header.split(","))


def as_parquet(path: Path, content: str) -> None:
    options = pa_csv.ConvertOptions(
        column_types={"ICD9_CODE": pa.string(), "VALUE": pa.string()},
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    table = pa_csv.read_csv(io.BytesIO(content.encode()), convert_options=options)
    pq.write_table(table, path)


def variation(content: str, kind: str) -> str:
    """Return a table with an extra column and another spelling of the header."""
    header, *lines = content.splitlines()
    header = {
        "lower": f"{header.lower()},mimic_id",
        "quoted": quoted(f"{header},MIMIC_ID"),
        "marked": "\ufeff" + quoted(f"{header.lower()},mimic_id"),
        "crlf": f"{header},MIMIC_ID",
    }[kind]
    line_end = "\r\n" if kind == "crlf" else "\n"
    return line_end.join([header, *(f"{line},7" for line in lines), ""])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("lower", "{upper}.csv"),
        ("quoted", "{title}.csv.gz"),
        ("marked", "{upper}.CSV"),
        ("crlf", "{lower}.CSV.GZ"),
        ("parquet", "{upper}.parquet"),
    ],
)
def test_names_are_folded_values_are_not_and_extra_columns_are_named_once(
    warehouse: Warehouse, plain_rows: dict[str, Any], tmp_path: Path, kind: str, name: str
) -> None:
    for table, content in TABLES.items():
        spelling = {"upper": table.upper(), "title": table.title(), "lower": table}
        path = tmp_path / name.format_map(spelling)
        if kind == "parquet":
            as_parquet(path, variation(content, "quoted"))
        else:
            write(path, variation(content, kind))
    output = warehouse.builds(*STAGING, MIMIC3_DIR=tmp_path)
    assert warehouse.staged() == plain_rows
    warnings = [line for line in output.splitlines() if "are ignored" in line]
    assert len(warnings) == 1
    assert warnings[0].endswith(", ".join(f"{table}.mimic_id" for table in sorted(TABLES)))


def test_two_forms_of_a_table_that_differ_in_rows_stop(warehouse: Warehouse, folder: Path) -> None:
    write(folder / "admissions.csv", TABLES["admissions"].rsplit("\n", 2)[0] + "\n")
    warehouse.stops(
        *ADMISSIONS,
        says=(f"{folder}/admissions.csv.gz (2 rows)", f"{folder}/admissions.csv (1 rows)"),
        MIMIC3_DIR=folder,
    )


# mimic-code#1881, duckdb#16251: the sniffer looks at the first rows, takes the file for unquoted
# and loses what comes after.
@pytest.mark.slow
def test_a_quoted_cell_after_thousands_of_plain_rows_is_read(
    warehouse: Warehouse, folder: Path
) -> None:
    content = "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n"
    content += "".join(f"{row},{row:05},plain,plain title\n" for row in range(10_000, 40_000))
    content += '40001,A4407,,"ostomy barrier, 4"" x 4"""\n'
    content += '40002,A4408,"","a ""b"""\n'
    content += '40003,A4409,"""","line one\nline ""two""\r\n\r\n,comma"\n'
    replace(folder, "d_icd_diagnoses", content)
    warehouse.builds("run", "--select", "stg_mimic3__d_icd_diagnoses", MIMIC3_DIR=folder)
    found = warehouse.rows("select * from mimiciii.d_icd_diagnoses order by icd9_code")
    logical = list(csv.reader(io.StringIO(content, newline="")))[1:]
    assert [tuple(cell or "" for cell in row) for row in found] == [
        tuple(row[1:]) for row in logical
    ]


# duckdb#7162.
@pytest.mark.slow
def test_a_quoted_empty_cell_is_kept_in_the_view_and_missing_in_staging(
    warehouse: Warehouse, folder: Path
) -> None:
    cells = ['"",x', ",x", '"","b"', '"NA",""']
    content = "SUBJECT_ID,HADM_ID,ITEMID,CHARTTIME,VALUE,VALUEUOM\n"
    content += "".join(f"{row},,1,,{cell}\n" for row, cell in enumerate(cells))
    replace(folder, "labevents", content)
    warehouse.builds("run", "--select", "stg_mimic3__labevents", MIMIC3_DIR=folder)
    query = "select value, valueuom from {} order by subject_id"
    kept = [("", "x"), (None, "x"), ("", "b"), ("NA", "")]
    missing = [(None, "x"), (None, "x"), (None, "b"), (None, None)]
    assert warehouse.rows(query.format("mimiciii.labevents")) == kept
    assert warehouse.rows(query.format("mimic3.stg_mimic3__labevents")) == missing

    # A DuckDB file that was made with the default settings has lost the difference.
    path = folder / "lost.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            f"create table labevents as from read_csv('{folder}/labevents.csv', all_varchar = true)"
        )
    warehouse.builds("run", "--select", "stg_mimic3__labevents", MIMIC3_DB=path)
    assert ("", "x") not in warehouse.rows(query.format("mimiciii.labevents"), path)
    assert warehouse.rows(query.format("mimic3.stg_mimic3__labevents"), path) == missing


# A name with `=` would be a column to DuckDB, a quote the end of a literal.
@pytest.mark.slow
def test_a_folder_may_be_relative_and_of_any_name(
    warehouse: Warehouse, plain_rows: dict[str, Any], folder: Path
) -> None:
    strange = shutil.move(folder, folder.with_name('Bob\'s "gender=F" & 50% {x}'))
    relative = os.path.relpath(strange, PROJECT_ROOT)
    warehouse.builds(*STAGING, MIMIC3_DIR=relative)
    assert warehouse.staged() == plain_rows


@pytest.mark.slow
@pytest.mark.parametrize("character", "*?[")
def test_a_character_of_a_pattern_in_the_path_stops(
    warehouse: Warehouse, folder: Path, character: str
) -> None:
    renamed = shutil.move(folder, folder.with_name(f"a{character}b"))
    says = (f"The path {renamed} has one of the characters * ? [ in it", "Rename the folder.")
    warehouse.stops(*ADMISSIONS, says=says, MIMIC3_DIR=renamed)


# Where the source is.


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "test"])
def test_the_demo_does_not_take_the_place_of_real_data(
    worker: Worker, tmp_path: Path, folder: Path, command: str
) -> None:
    warehouse = Warehouse(worker, tmp_path)
    warehouse.builds(*ADMISSIONS, MIMIC3_DIR=folder)
    says = (f"This warehouse holds mimic3 of {folder}", "MEDEVAL_DUCKDB=demo.duckdb")
    warehouse.stops(command, *ADMISSIONS[1:], says=says)
    warehouse.builds(*ADMISSIONS, MIMIC3_DIR=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "name", "reason"),
    [
        ("MIMIC3_DIR", "none", "The folder {} cannot be read: No such file or directory."),
        ("MIMIC3_DIR", "admissions.csv.gz", "The folder {} cannot be read: Not a directory."),
        ("MIMIC3_DB", "none", "The DuckDB file {} cannot be read: No such file or directory."),
        ("MIMIC3_DB", "admissions.csv.gz", "The file {} is not a DuckDB file."),
    ],
)
def test_the_demo_never_stands_in_for_a_wrong_path(
    warehouse: Warehouse, folder: Path, variable: str, name: str, reason: str
) -> None:
    path = folder / name
    output = warehouse.stops(*ADMISSIONS, says=(reason.format(path),), **{variable: path})
    assert "synthetic" not in output


def test_a_folder_and_a_database_stop(warehouse: Warehouse, folder: Path) -> None:
    says = ("MEDEVAL_MIMIC3_DIR and MEDEVAL_MIMIC3_DB are both set. Name one of them",)
    warehouse.stops(*ADMISSIONS, says=says, MIMIC3_DIR=folder, MIMIC3_DB=folder / "m.duckdb")


@pytest.mark.slow
def test_only_the_tables_that_the_selection_reads_must_be_there(
    warehouse: Warehouse, folder: Path
) -> None:
    for table in TABLES:
        if table not in ("admissions", "icustays"):
            (folder / f"{table}.csv.gz").unlink()
    warehouse.builds(*ADMISSIONS, MIMIC3_DIR=folder)
    missing = f"Missing in {folder}: patients.csv.gz or patients.csv or patients.parquet"
    warehouse.stops(*STAYS, says=(missing,), MIMIC3_DIR=folder)
    # Also where the model that needs it reads it through a view that was made before.
    stays = ("run", "--select", "int_mimic3__stay_exclusions")
    warehouse.stops(*stays, says=(missing,), MIMIC3_DIR=folder)


# Headers and files that cannot be used.


# mimic-code#133, ricu#80: downloads that broke off.
def test_a_gzip_file_cut_at_seventy_percent_stops(warehouse: Warehouse, folder: Path) -> None:
    header, row = TABLES["patients"].split("\n")[:2]
    rows = "".join(f"{number},{number}{row[4:]}\n" for number in range(20_000))
    path = write(folder / "patients.csv.gz", f"{header}\n{rows}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 7 // 10])
    says = (f"{path} looks truncated", "Check the file against SHA256SUMS and download it again")
    warehouse.stops(*STAYS, says=says, MIMIC3_DIR=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lost",
    [len("1:00:00,,,0\n"), len("\n")],
    ids=["inside a time", "inside the last cell"],
)
def test_a_plain_file_cut_inside_its_last_line_stops(
    warehouse: Warehouse, folder: Path, lost: int
) -> None:
    content = TABLES["patients"] + "3,12,F,2099-01-01 00:00:00,2150-01-01 01:00:00,,,0\n"
    path = replace(folder, "patients", content[:-lost])
    says = (f"{path} looks truncated: its last line, line 4, is incomplete",)
    warehouse.stops(*STAYS, says=says, MIMIC3_DIR=folder)


@pytest.mark.parametrize(
    ("line", "reason"),
    slow_after(
        1,
        [
            ("3,12,F,2099-01-01 00:00:00,,", "the header has 8 cells and this line 6"),
            ("3,12,F,2099-01-01 00:00:00,,,,0,x", "the header has 8 cells and this line 9"),
            (
                '3,12,"F"x,2099-01-01 00:00:00,,,,0',
                "a quote is not closed, or text stands behind one",
            ),
            (b"3,12,\xe9,2099-01-01 00:00:00,,,,0", "not text in UTF-8"),
        ],
    ),
    ids=["too few cells", "too many cells", "quote", "encoding"],
)
def test_a_malformed_line_stops_and_is_never_skipped(
    warehouse: Warehouse, folder: Path, line: str | bytes, reason: str
) -> None:
    data = line.encode() if isinstance(line, str) else line
    content = TABLES["patients"].encode() + data + b"\n" + b"4,13,F,2099-01-01 00:00:00,,,,0\n"
    path = replace(folder, "patients", content)
    warehouse.stops(*STAYS, says=(f"{path}, line 4: {reason}",), MIMIC3_DIR=folder)


# Cells.


@pytest.mark.parametrize(
    ("table", "column", "cell", "shown"),
    slow_after(
        2,
        [
            ("icustays", "icustay_id", "1e3", "1x3"),
            ("icustays", "los", "4,5", "4,5"),
            ("admissions", "dischtime", "2182-12-14 0", "2182-12-14 0"),
            ("patients", "dob", "2150-02-30 10:00:00", "2150-02-30 10:00:00"),
            ("patients", "dob", "it's\nnot a 'date'", "xxxxxxxx x xxxxxx"),
        ],
    ),
)
def test_a_cell_that_cannot_be_read_stops_with_file_row_and_column(
    warehouse: Warehouse, folder: Path, table: str, column: str, cell: str, shown: str
) -> None:
    path = replace(folder, table, with_cell(table, column, cell))
    place = f"{path}, row 2 (the header not counted), column {column}: '{shown}' cannot be read"
    warehouse.stops(*STAYS, says=(place,), MIMIC3_DIR=folder)


# DuckDB reads a large file in pieces, and counts lines, not rows.
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_the_row_of_a_cell_is_right_in_a_large_file(
    warehouse: Warehouse, folder: Path, suffix: str
) -> None:
    header = TABLES["admissions"].split("\n", 1)[0]
    good = "1,{0},{0},2150-01-01 08:00:00,2150-01-09 08:00:00,,,,,,,,,,,,{1},0,1\n".format
    rows = [good(number, '"one\ntwo, ""three"""') for number in range(1, 150_001)]
    rows[123_455] = rows[123_455].replace("2150-01-09 08:00:00", "2150-01-0")
    path = replace(folder, "admissions", f"{header}\n{''.join(rows)}", suffix)
    place = f"{path}, row 123456 (the header not counted), column dischtime: '2150-01-0'"
    warehouse.stops(*STAYS, says=(place,), MIMIC3_DIR=folder)


# mimic-code's DuckDB file.


@pytest.mark.slow
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_a_database_file_gives_the_rows_of_the_files(
    warehouse: Warehouse, plain_rows: dict[str, Any], folder: Path, upper: bool
) -> None:
    path = database(folder / "Bob's mimic.duckdb", folder, upper)
    output = warehouse.builds(*STAGING, MIMIC3_DB=path)
    assert f"mimic3 is read from the DuckDB file {path}." in output
    assert warehouse.staged(path) == plain_rows


@pytest.mark.slow
def test_what_a_database_file_lacks_is_named(warehouse: Warehouse, folder: Path) -> None:
    path = database(folder / "mimic.duckdb", folder, upper=True)
    with duckdb.connect(path) as connection:
        connection.execute('alter table "PATIENTS" drop column "DOB"')
        connection.execute('drop table "ICUSTAYS"')
    says = (f"Missing in {path}: the table icustays (",)
    warehouse.stops(*STAYS, says=says, MIMIC3_DB=path)
    says = (f"{path} (mimic3_source.main.PATIENTS) has no column dob.",)
    warehouse.stops("run", "--select", "stg_mimic3__patients", says=says, MIMIC3_DB=path)
    database(path, folder, schema="copy")
    says = (f"admissions stands more than once in {path}: mimic3_source.copy.admissions,",)
    warehouse.stops(*ADMISSIONS, says=says, MIMIC3_DB=path)


@pytest.fixture(scope="session")
def demo(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The floor built from the folder of the demo."""
    warehouse = Warehouse(worker, tmp_path_factory.mktemp("demo"))
    output = warehouse.builds(*WHOLE, MIMIC3_DIR=SYNTHETIC)
    assert "known edition" not in output
    return warehouse


@pytest.mark.slow
def test_a_database_file_is_only_read_and_is_attached_again(
    demo: Warehouse, tmp_path: Path
) -> None:
    path = database(tmp_path / "mimic3.duckdb", SYNTHETIC, upper=True)
    content = path.read_bytes()
    path.chmod(0o444)
    (tmp_path / "built").mkdir()
    warehouse = Warehouse(demo.worker, tmp_path / "built")
    warehouse.builds(*WHOLE, MIMIC3_DB=path)
    for table in PUBLISHED:
        query = f"from mimic3.{table} order by all"
        assert warehouse.rows(query) == demo.rows(query), table
    warehouse.builds("test", "--select", "mimic3", MIMIC3_DB=path)
    assert warehouse.export(MIMIC3_DB=path)[0] == 0
    assert path.read_bytes() == content
    assert sorted(file.name for file in tmp_path.iterdir()) == ["built", "mimic3.duckdb"]


# Builds that failed, and row counts.


def cut_at_a_line_end(folder: Path) -> Path:
    """Copy the demo with a plain CHARTEVENTS that lost its last hundred lines."""
    shutil.copytree(SYNTHETIC, folder)
    lines = gzip.decompress((folder / "chartevents.csv.gz").read_bytes()).splitlines(keepends=True)
    replace(folder, "chartevents", b"".join(lines[:-100]))
    return folder


@pytest.mark.slow
def test_a_file_cut_at_a_line_end_stops_and_no_export_follows_until_a_whole_build(
    demo: Warehouse, tmp_path: Path
) -> None:
    warehouse = Warehouse(demo.worker, tmp_path)
    shutil.copy(demo.path, warehouse.path)
    assert warehouse.export()[0] == 0
    cut = cut_at_a_line_end(tmp_path / "cut")
    truncated = (
        "CHARTEVENTS looks truncated: expected 78925 rows for medeval synthetic demo, found 78825; "
        "check the file against SHA256SUMS"
    )
    warehouse.stops(*ROW_COUNTS, says=(truncated,), MIMIC3_DIR=cut)
    refused = warehouse.export()
    assert refused[0] == 2
    assert "The last build of mimic3 failed" in refused[1]

    let_through = ("--vars", "{mimic3_check_row_counts: false}")
    output = warehouse.builds(*ROW_COUNTS, *let_through, MIMIC3_DIR=cut)
    assert "Only a part of mimic3 was built" in output
    assert warehouse.export()[0] == 2

    warehouse.builds(*WHOLE, MIMIC3_DIR=SYNTHETIC)
    assert warehouse.export()[0] == 0
    outcomes = warehouse.rows(
        "select succeeded from medeval.medeval.builds where succeeded is not null"
        " order by sequence_number"
    )
    assert [succeeded for (succeeded,) in outcomes] == [False, True, False, False, False, True]


@pytest.mark.slow
def test_a_source_of_no_known_edition_only_warns(warehouse: Warehouse, folder: Path) -> None:
    select = ("build", "--select", "+mimic3_source_tables", *WHOLE[3:])
    output = warehouse.builds(*select, MIMIC3_DIR=folder)
    assert output.count("are those of no known edition") == 1


@pytest.mark.slow
def test_a_retry_reads_the_source_again_and_ends_the_failure(worker: Worker, folder: Path) -> None:
    warehouse = Warehouse(worker, folder)
    path = folder / "mimic3.duckdb"
    replace(folder, "patients", with_cell("patients", "dob", "2182-12-14 0"), ".csv.gz")
    warehouse.stops(*STAYS, says=("column dob",), MIMIC3_DB=database(path, folder))
    path.unlink()
    write(folder / "patients.csv.gz", TABLES["patients"])
    warehouse.builds("retry", MIMIC3_DB=database(path, folder))
    outcomes = warehouse.rows(
        "select succeeded from medeval.medeval.builds order by sequence_number"
    )
    assert outcomes == [(None,), (False,), (True,)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "database"])
def test_codes_stay_text(warehouse: Warehouse, folder: Path, kind: str) -> None:
    codes = ["0042", "042", "744", "0744", "4019   ", "V4501", "E8788"]
    content = "SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n"
    content += "".join(f"10,100,{number},{code}\n" for number, code in enumerate(codes))
    write(folder / "diagnoses_icd.csv.gz", content)
    source = {"MIMIC3_DIR": folder}
    if kind == "database":
        source = {"MIMIC3_DB": database(folder / "codes.duckdb", folder)}
    warehouse.builds("run", "--select", "stg_mimic3__diagnoses_icd", **source)
    query = "select icd9_code from mimic3.stg_mimic3__diagnoses_icd order by seq_num"
    found = warehouse.rows(query, source.get("MIMIC3_DB"))
    assert [code for (code,) in found] == [code.rstrip() for code in codes]
