"""MIMIC-IV, its notes and extracts as users have them, read in place on DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cdm_folder import TABLES, as_release_1_0, write_folder
from dbt_worker import Worked, Worker
from folder_changes import database
from mimic3_folder import replace

STAGING = ("run", "--select", "models/cdm/staging")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "files")


def named(folder: Path) -> dict[str, Path]:
    """Name a folder with all modules."""
    places = {"MIMIC4_DIR": folder, "MIMIC4_NOTE_DIR": folder}
    return {**places, "CDM_EXTRACT_DIR": folder / "note_extract"}


@pytest.fixture(scope="session")
def plain_rows(worker: Worker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rows of the staging views over folders without any oddity."""
    warehouse = Worked(worker, tmp_path_factory.mktemp("plain"))
    files = write_folder(warehouse.folder / "files")
    output = warehouse.builds(*STAGING, **named(files))
    assert "WARN" not in output.replace("WARN=0", "")
    assert f"mimic4_hosp is read from the folder {files}." in output
    rows = warehouse.staged("cdm")
    assert [view for view in rows if not rows[view]] == ["cdm.stg_cdm__cohort_list"]
    return rows


@pytest.mark.slow
def test_capital_names(built: Worked, plain_rows: dict[str, Any], tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "files", suffix=".csv")
    for path in folder.glob("*/*.csv"):
        header, rest = path.read_text().split("\n", 1)
        path.write_text(f"{header.upper()}\n{rest}")
        path.rename(path.with_name(path.name.upper()))
    built.builds(*STAGING, **named(folder))
    assert built.staged("cdm") == plain_rows


@pytest.mark.slow
@pytest.mark.parametrize("notes_inside", [True, False])
def test_a_database_file_gives_the_rows_of_the_files(
    built: Worked, plain_rows: dict[str, Any], folder: Path, notes_inside: bool
) -> None:
    """mimic-code's file has the hospital module in a schema, and the notes in another or not."""
    path = folder / "mimic4.duckdb"
    for module in ("hosp", "note") if notes_inside else ("hosp",):
        database(path, folder / module, f"mimiciv_{module}")
    variables = {"MIMIC4_DB": path, "CDM_EXTRACT_DIR": folder / "note_extract"}
    if not notes_inside:
        variables["MIMIC4_NOTE_DIR"] = folder
    built.builds(*STAGING, **variables)
    assert built.staged("cdm", mimic4_source=path) == plain_rows


NOTES = [
    'line one\nline "two"\r\n\r\n,comma',
    "a\x01\x02\x07\x0b\x1f\x7fb\u0085c\u2028d\u00a0",
    "x" * 3_000_000 + "\nend",
]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_note_keeps_every_byte(built: Worked, folder: Path, suffix: str) -> None:
    """Case C-02: line breaks, quotes, control characters, and more than DuckDB's usual line."""
    content = TABLES["note"]["radiology"].split("\n", 1)[0] + "\n"
    for number, text in enumerate(NOTES):
        quoted = text.replace('"', '""')
        content += f'10-RR-{number},10,,RR,1,2150-01-01 10:00:00,,"{quoted}"\n'
    replace(folder / "note", "radiology", content, suffix)
    built.builds("run", "--select", "stg_cdm__radiology", **named(folder))
    found = built.rows("select text from cdm.stg_cdm__radiology order by note_id")
    assert found == [(text,) for text in NOTES]


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True], ids=["above hosp", "hosp"])
def test_release_1_0_as_downloaded(
    built: Worked, plain_rows: dict[str, Any], folder: Path, inside: bool
) -> None:
    """It has three tables in `core`, no `order_provider_id`, and calls race `ethnicity`."""
    as_release_1_0(folder)
    variables = named(folder) | ({"MIMIC4_DIR": folder / "hosp"} if inside else {})
    output = built.builds(*STAGING, **variables)
    assert "are ignored" not in output
    assert built.staged("cdm") == plain_rows
