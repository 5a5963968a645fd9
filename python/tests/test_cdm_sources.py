"""MIMIC-IV, its notes and extracts as users have them, read in place on DuckDB."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from cdm_folder import TABLES, as_release_1_0, write, write_folder
from dbt_worker import Worked, Worker
from marks import slow_after

STAGING = ("run", "--select", "models/cdm/staging")
CASES = ("run", "--select", "+int_cdm__candidates", "+int_cdm__free_text")
VIEWS = [(module, table) for module, tables in TABLES.items() for table in tables]


class Warehouse(Worked):
    """A folder with a DuckDB warehouse that dbt builds from MIMIC-IV."""

    source_alias = "mimic4_source"

    def staged(self, source: Path | None = None) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of every staging view."""
        return {
            table: sorted(self.rows(f"from cdm.stg_cdm__{table}", source), key=repr)
            for _, table in VIEWS
        }


@pytest.fixture(scope="session")
def warehouse(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(worker, tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "files")


def named(folder: Path, extracts: bool = True) -> dict[str, Path]:
    """Name a folder with all modules."""
    variables = {"MIMIC4_DIR": folder, "MIMIC4_NOTE_DIR": folder}
    return variables | ({"CDM_EXTRACT_DIR": folder / "note_extract"} if extracts else {})


def cohort(path: Path, content: str | bytes) -> tuple[str, str]:
    """Write a list of admissions, and return the options that name it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return ("--vars", f"{{cdm_cohort_file: '{path}'}}")


@pytest.fixture(scope="session")
def plain_rows(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rows of the staging views over folders without any oddity."""
    files = write_folder(tmp_path_factory.mktemp("plain") / "files")
    output = warehouse.builds(*STAGING, **named(files))
    assert "WARN" not in output.replace("WARN=0", "")
    assert f"mimic4_hosp is read from the folder {files}." in output
    rows = warehouse.staged()
    assert all(rows.values())
    return rows


@pytest.mark.slow
def test_names_in_capitals_and_plain_files(
    warehouse: Warehouse, plain_rows: dict[str, Any], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "files", suffix=".csv")
    for path in folder.glob("*/*.csv"):
        header, rest = path.read_text().split("\n", 1)
        path.write_text(f"{header.upper()}\n{rest}")
        path.rename(path.with_name(path.name.upper()))
    warehouse.builds(*STAGING, **named(folder))
    assert warehouse.staged() == plain_rows


@pytest.mark.slow
@pytest.mark.parametrize("notes_inside", [True, False])
def test_a_database_file_gives_the_rows_of_the_files(
    warehouse: Warehouse, plain_rows: dict[str, Any], folder: Path, notes_inside: bool
) -> None:
    """mimic-code's file has the hospital module in a schema, and the notes in another or not."""
    path = folder / "mimic4.duckdb"
    with duckdb.connect(path) as connection:
        for module in ("hosp", "note") if notes_inside else ("hosp",):
            connection.execute(f"create schema mimiciv_{module}")
            for table, content in TABLES[module].items():
                # Detected, a code loses its leading zeros and an empty column its type.
                header = content.split("\n", 1)[0].split(",")
                text = {"icd_code", "value", "deathtime", "comments", "org_name"}.intersection(
                    header
                )
                types = ", ".join(f"'{column}': 'varchar'" for column in sorted(text))
                connection.execute(
                    f"create table mimiciv_{module}.{table} as from read_csv("
                    f"'{folder}/{module}/{table}.csv.gz', types = {{{types}}}, "
                    "quote = '\"', escape = '\"')"
                )
    variables = {"MIMIC4_DB": path, "CDM_EXTRACT_DIR": folder / "note_extract"}
    if not notes_inside:
        variables["MIMIC4_NOTE_DIR"] = folder
    warehouse.builds(*STAGING, **variables)
    assert warehouse.staged(path) == plain_rows


@pytest.mark.slow
@pytest.mark.parametrize("present", ["MIMIC4_DIR", "MIMIC4_NOTE_DIR", "CDM_EXTRACT_DIR"])
def test_the_demo_never_stands_in_for_a_part(
    warehouse: Warehouse, folder: Path, present: str
) -> None:
    missing = "MEDEVAL_MIMIC4_DIR" if present != "MIMIC4_DIR" else "MEDEVAL_MIMIC4_NOTE_DIR"
    says = (f"{missing} is not set, though MEDEVAL_{present} is.", "do not mix")
    warehouse.stops(*STAGING, says=says, **{present: named(folder)[present]})


@pytest.mark.slow
def test_a_list_and_extracts_need_no_notes_and_no_diagnoses(
    warehouse: Warehouse, folder: Path, tmp_path: Path
) -> None:
    for table in ("hosp/diagnoses_icd", "hosp/d_icd_diagnoses", "note/discharge"):
        (folder / f"{table}.csv.gz").unlink()
    listed = cohort(tmp_path / "list.txt", "20000002\n20000001\n")
    warehouse.builds(*STAGING, *listed, **named(folder))
    assert warehouse.rows("from cdm.stg_cdm__cohort_list order by all") == [
        (1, 20000002),
        (2, 20000001),
    ]
    assert warehouse.rows("from cdm.stg_cdm__discharge") == []


@pytest.mark.slow
def test_without_a_list_the_selection_rule_needs_the_coded_diagnoses(
    warehouse: Warehouse, folder: Path
) -> None:
    (folder / "hosp" / "diagnoses_icd.csv.gz").unlink()
    says = ("Without a list of admissions (cdm_cohort_file)", "diagnoses_icd")
    warehouse.stops(*STAGING, says=says, **named(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extract_source", "unlinked"),
    [("auto", "discharge_free_text"), ("auto", "procedures"), ("derived", None)],
)
def test_notes_are_needed_where_extracts_are_derived(
    warehouse: Warehouse, folder: Path, tmp_path: Path, extract_source: str, unlinked: str | None
) -> None:
    (folder / "note" / "discharge.csv.gz").unlink()
    if unlinked:
        (folder / "note_extract" / f"{unlinked}.csv.gz").unlink()
    listed = cohort(tmp_path / "list.txt", "20000002\n")[1]
    choice = f"{listed[:-1]}, cdm_extract_source: {extract_source}}}"
    says = ("The discharge notes (table discharge) are not there.",)
    warehouse.stops(*STAGING, "--vars", choice, says=says, **named(folder))


@pytest.mark.slow
def test_provided_extracts_must_be_there(warehouse: Warehouse, folder: Path) -> None:
    choice = ("--vars", "{cdm_extract_source: provided}")
    says = ("there is no discharge_free_text, no discharge_diagnosis, no procedures.",)
    warehouse.stops(*STAGING, *choice, says=says, **named(folder, extracts=False))
    (folder / "note_extract" / "procedures.csv.gz").unlink()
    says = ("there is no procedures.", "MEDEVAL_CDM_EXTRACT_DIR")
    warehouse.stops(*STAGING, *choice, says=says, **named(folder))


@pytest.mark.slow
def test_a_list_with_a_byte_order_mark_blank_lines_and_windows_line_ends(
    warehouse: Warehouse, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "Bob's list.txt"
    path.write_bytes(b"\xef\xbb\xbf20000002\r\n\r\n  20000001 \r\n")
    choice = ("--vars", f'{{cdm_cohort_file: "{path}"}}')
    warehouse.builds(*STAGING, *choice, **named(folder))
    listed = warehouse.rows("from cdm.stg_cdm__cohort_list order by all")
    assert listed == [(1, 20000002), (2, 20000001)]


@pytest.mark.parametrize(
    ("table", "old", "new", "said"),
    slow_after(
        1,
        [
            (
                "hosp/labevents",
                ",15.2,15.2,",
                ",15.2,15;2,",
                "row 1 (the header not counted), column valuenum: '15;2'",
            ),
            ("note_extract/procedures", ",False,", ",no,", "column is_previous: 'xx'"),
            ("hosp/procedures_icd", "2150-01-02", "2150-02-30", "column chartdate: '2150-02-30'"),
        ],
    ),
)
def test_a_cell_that_cannot_be_read_is_named(
    warehouse: Warehouse, folder: Path, table: str, old: str, new: str, said: str
) -> None:
    module, name = table.split("/")
    content = TABLES[module][name]
    assert old in content
    write(folder / f"{table}.csv.gz", content.replace(old, new))
    model = f"stg_cdm__{name}"
    users = {
        "labevents": "int_cdm__lab_events",
        "procedures": "int_cdm__discharge_procedures",
        "procedures_icd": "int_cdm__first_procedures",
    }
    says = (f"{folder}/{table}.csv.gz, ", said)
    select = ("run", "--select", f"+{users[name]}", model)
    warehouse.builds("seed", "--select", "cdm")
    warehouse.stops(*select, says=says, **named(folder))


def test_a_column_that_is_not_there_is_named(warehouse: Warehouse, folder: Path) -> None:
    content = TABLES["hosp"]["patients"].replace("anchor_year,", "year,")
    write(folder / "hosp" / "patients.csv.gz", content)
    says = (f"{folder}/hosp/patients.csv.gz has no column anchor_year.",)
    warehouse.stops(*STAGING, says=says, **named(folder))


def note(text: str) -> str:
    header = TABLES["note"]["radiology"].split("\n", 1)[0]
    quoted = text.replace('"', '""')
    return f'{header}\n10-RR-1,10,,RR,1,2150-01-01 10:00:00,,"{quoted}"\n'


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize(
    "text",
    [
        'line one\nline "two"\r\n\r\n,comma',
        "a\x01\x02\x07\x0b\x1f\x7fb\u0085c\u2028d\u00a0",
        "x" * 3_000_000 + "\nend",
    ],
    ids=["lines", "controls", "large"],
)
def test_a_note_is_one_row_with_every_byte(
    warehouse: Warehouse, folder: Path, text: str, suffix: str
) -> None:
    """Case C-02: line breaks, quotes, control characters, and more than DuckDB's usual line."""
    (folder / "note" / "radiology.csv.gz").unlink()
    write(folder / "note" / f"radiology{suffix}", note(text))
    warehouse.builds("run", "--select", "stg_cdm__radiology", **named(folder))
    assert warehouse.rows("select text from cdm.stg_cdm__radiology") == [(text,)]


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True], ids=["above hosp", "hosp"])
def test_release_1_0_as_downloaded(
    warehouse: Warehouse, plain_rows: dict[str, Any], folder: Path, inside: bool
) -> None:
    """It has three tables in `core`, no `order_provider_id`, and calls race `ethnicity`."""
    as_release_1_0(folder)
    variables = named(folder) | ({"MIMIC4_DIR": folder / "hosp"} if inside else {})
    output = warehouse.builds(*STAGING, **variables)
    assert "are ignored" not in output
    assert warehouse.staged() == plain_rows


@pytest.mark.slow
def test_a_table_in_hosp_and_in_core(
    warehouse: Warehouse, plain_rows: dict[str, Any], folder: Path
) -> None:
    as_release_1_0(folder)
    both = folder / "hosp" / "patients.csv", folder / "core" / "patients.csv.gz"
    write(both[0], TABLES["hosp"]["patients"])
    output = warehouse.builds(*STAGING, **named(folder))
    assert f"patients is there in 2 forms with 2 rows each; {both[1]} is read." in output
    assert warehouse.staged() == plain_rows
    write(both[0], TABLES["hosp"]["patients"] + "12,F,50,2150,2008 - 2010,\n")
    says = (f"{both[1]} (2 rows), {both[0]} (3 rows). Keep the one that is complete.",)
    warehouse.stops(*STAGING, says=says, **named(folder))


@pytest.mark.slow
def test_tests_of_what_was_never_built_stop_with_one_sentence(
    worker: Worker, folder: Path, tmp_path: Path
) -> None:
    warehouse = Warehouse(worker, tmp_path)
    says = (
        "The tests of cdm and mimic3 and mimic3_features and mtsamples and yier read tables that "
        "were never built: run `dbt build --select cdm mimic3 mimic3_features mtsamples yier`.",
    )
    output = warehouse.stops("test", says=says)
    assert "ERROR=" not in output.replace("ERROR=0", "").replace("ERROR=1", "")
    models = ("--resource-type", "seed", "--resource-type", "model")
    warehouse.builds("build", "--select", "cdm", *models)
    output = warehouse.builds("test")
    left_out = [line.split("  ", 1)[1] for line in output.splitlines() if "left out" in line]
    assert left_out == [
        f"{floor} is not built, so its tests are left out (`dbt build --select {floor}`)."
        for floor in ("mimic3", "mimic3_features", "mtsamples", "yier")
    ]
    assert "PASS=" in output
    warehouse.stops("test", "--select", "yier", says=("The tests of yier read tables that were",))


@pytest.mark.slow
def test_a_part_built_with_other_rules_makes_no_whole(
    worker: Worker, tmp_path: Path, warehouse: Warehouse
) -> None:
    """Tables of two rule sets must not stand side by side in an export."""
    built = Warehouse(worker, tmp_path)
    models = ("--resource-type", "seed", "--resource-type", "model")
    built.builds("build", "--select", "cdm", *models)
    rules = ("--vars", "{cdm_rules: reference}")
    output = built.builds("run", "--select", "cdm_lab_results", *rules)
    assert "Only a part of cdm was built" in output
    shutil.rmtree(tmp_path / "spill", ignore_errors=True)
    builds = "medeval.medeval.builds"
    newest = f"select succeeded, settings from {builds} order by sequence_number desc limit 1"
    ((succeeded, settings),) = built.rows(newest)
    assert not succeeded
    assert json.loads(settings)["cdm_rules"] == "reference"


@pytest.mark.slow
def test_a_file_with_a_header_only_is_an_empty_table(warehouse: Warehouse, folder: Path) -> None:
    header = TABLES["note"]["radiology"].split("\n", 1)[0] + "\n"
    write(folder / "note" / "radiology.csv.gz", header)
    warehouse.builds("run", "--select", "stg_cdm__radiology", **named(folder))
    assert warehouse.rows("from cdm.stg_cdm__radiology") == []
