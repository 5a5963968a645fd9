"""Headings of radiology reports as they are really written, from the files to what is shown."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from builds import Build, build_floor
from cdm_folder import HOSP, NOTE, write_folder
from postgres_server import Databases
from tables import table

pytestmark = pytest.mark.slow

FIRST = 20000001
FINDINGS = "EXAMINATION: CT\n\nFINDINGS: The appendix is wide.\n\n"
MARK = "qqmark"

GIVEN = table("cdm_headings")
UNSEEN = GIVEN["unseen"]
REPORTS = [*GIVEN["conclusions"], *GIVEN["parts"], UNSEEN]


def rows_of(first: str, many: list[dict[str, object]]) -> str:
    """Return a file with the columns of a table of the small folder; what is not given is empty."""
    return pd.DataFrame(many, columns=first.split("\n", 1)[0].split(",")).to_csv(index=False)


def write_reports(folder: Path) -> Path:
    """Write a folder with one admission and one report for each text, and the list of them."""
    rows: list[dict[str, object]] = [
        {
            **GIVEN["admission"],
            "subject_id": 10 + number,
            "hadm_id": FIRST + number,
            "note_id": f"{10 + number}-RR-1",
            "text": FINDINGS + text,
        }
        for number, text in enumerate(REPORTS)
    ]
    discharges = [
        {**row, **GIVEN["discharge"], "note_id": f"{row['subject_id']}-DS-1"} for row in rows
    ]
    filled = {"admissions": rows, "patients": rows}
    hosp = {name: rows_of(content, filled.get(name, [])) for name, content in HOSP.items()}
    note = {
        name: rows_of(content, discharges if name == "discharge" else rows)
        for name, content in NOTE.items()
    }
    write_folder(folder, {"hosp": hosp, "note": note})
    listed = folder / "hadm_ids.txt"
    listed.write_text("".join(f"{row['hadm_id']}\n" for row in rows), encoding="utf-8")
    return listed


def build(folder: Path, address: dict[str, str] | None = None) -> Build:
    variables = {"cdm_cohort_file": str(write_reports(folder / "files"))}
    return build_floor("cdm", folder, folder / "files", address, variables, models_only=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return build(tmp_path_factory.mktemp("headings"))


@pytest.fixture(scope="module")
def built_in_postgres(tmp_path_factory: pytest.TempPathFactory, databases: Databases) -> Build:
    return build(tmp_path_factory.mktemp("headings-postgres"), databases())


@pytest.fixture(scope="module")
def shown(built: Build) -> dict[str, str]:
    rows = dict(built.rows("select hadm_id, text from cdm.cdm_radiology_reports"))
    return {text: rows[FIRST + place] for place, text in enumerate(REPORTS)}


@pytest.mark.parametrize("text", GIVEN["conclusions"])
def test_a_conclusion_is_not_shown_under_any_heading(shown: dict[str, str], text: str) -> None:
    assert "The appendix is wide." in shown[text]
    assert MARK not in shown[text]


@pytest.mark.parametrize("text", GIVEN["parts"])
def test_a_part_of_the_findings_is_shown(shown: dict[str, str], text: str) -> None:
    assert MARK in shown[text]


def test_what_no_heading_tells_shows_as_a_number(built: Build, shown: dict[str, str]) -> None:
    assert "discussed with" in shown[UNSEEN]
    shares = built.rows(
        "select phrase, shown_count, shown_share from cdm.cdm_phrase_shares "
        "where shown_count > 0 and pathology is null order by phrase"
    )
    share = 1 / len(REPORTS)
    assert shares == [("consistent with", 1, share), ("discussed with", 1, share)]
    leaks = built.rows("select hadm_id, kind, term from cdm.cdm_leaks where kind <> 'stem'")
    assert leaks == [(FIRST + len(REPORTS) - 1, "other_name", "appy")]


def test_headings_that_were_guessed_are_counted(built: Build) -> None:
    counts = {
        (finding, detail): count
        for finding, detail, count in built.rows("select * from cdm.cdm_findings")
        if finding.startswith("report_with")
    }
    assert counts["report_with_misspelt_heading", "NOTIFICATION"] == 2
    assert counts["report_with_unknown_heading", ""] == 5


@pytest.mark.parametrize("table", GIVEN["compared"])
def test_engines_read_headings_alike(built: Build, built_in_postgres: Build, table: str) -> None:
    assert built.published(table) == built_in_postgres.published(table)
