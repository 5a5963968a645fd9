"""Headings of radiology reports as they are really written, from the files to what is shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from builds import Build, build_cdm_duckdb, build_cdm_postgres
from cdm_folder import HOSP, NOTE, write_folder
from postgres_server import new_database

pytestmark = pytest.mark.slow

FIRST = 20000001
FINDINGS = "EXAMINATION: CT\n\nFINDINGS: The appendix is wide.\n\n"
MARK = "qqmark"

# How a conclusion may begin, each with what is told behind it.
HEADINGS = (
    *("IMPRESSON:", "IMPRRESSION:", "IMPESSION:", "IMPERSSION:", "IMPRSSION:", "Impresson:"),
    *("CONLUSION:", "NOTIFCATION:", "N OTIFICATION:", "PFI:", "PFI REPORT", "pfi report"),
    *("KEY FINDINGS:", "NOTE:", "Notes:", "IMPRESSON", "impresson"),
)
CONCLUSIONS = [
    *(f"{heading}\n\n1. {MARK}" for heading in HEADINGS),
    f"impresson: {MARK}",
    f"Imprsion: {MARK}",
    f"IMPRESSON 1. {MARK}",
    f"Impresson - {MARK}",
    f"Final impresson: {MARK}",
    f"Impresson and plan: {MARK}",
    f"No fluid. IMPRESSON: {MARK}",
    f"no fluidIMPRESSON: {MARK}",
    f"the last conlusion: {MARK}",
    f"I M P R E S S O N: {MARK}",
    f"I.M.P.R.E.S.S.I.O.N: {MARK}",
    f"IMPRESS1ON: {MARK}",
    f"\uff29\uff2d\uff30\uff32\uff25\uff33\uff33\uff29\uff2f\uff2e\uff1a {MARK}",
    f"\u0406\u041c\u0420RESSION\u2236 {MARK}",
    f"\u0406mpressi\u043en\n{MARK}",
    f"I\u0301MPRESSION: {MARK}",
    f"\U0001d408\U0001d40cPRESSION\n{MARK}",
    f"IMPRES\u200eSION: {MARK}",
    f"A/P: {MARK}",
    f"TAKE HOME MESSAGE: {MARK}",
    f"IMPRSN: {MARK}",
    f"\u7ed3\u8bba\uff1a {MARK}",
    f"\u0417\u0410\u041a\u041b\u042e\u0427\u0415\u041d\u0418\u0415: {MARK}",
]
# What stands within the findings, and stays.
PARTS = [
    f"LIVER: {MARK}",
    f"Liver: {MARK}",
    f"GALL BLADDER AND BILE DUCTS: {MARK}",
    f"L4-5: {MARK}",
    f"CT ABDOMEN AND PELVIS WITHOUT CONTRAST: {MARK}",
    f"MURPHY'S SIGN: {MARK}",
    f"Of note: {MARK}",
    f"Compression: {MARK}",
    f"Collections: {MARK}",
    f"it gives the\nimpresson of a {MARK}",
]
# Nobody can know that this concludes.
UNSEEN = "Bottom of the matter: discussed with the surgeon, consistent with a short appy."
REPORTS = [*CONCLUSIONS, *PARTS, UNSEEN]


def rows_of(first: Mapping[str, str], table: str, many: list[dict[str, object]]) -> str:
    """Return a file with the columns of a table of the small folder."""
    stream = io.StringIO()
    names = next(csv.reader(io.StringIO(first[table])))
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(many)
    return stream.getvalue()


def write_reports(folder: Path) -> Path:
    """Write a folder with one admission and one report for each text, and the list of them."""
    people = [{"subject_id": 10 + i, "hadm_id": FIRST + i} for i in range(len(REPORTS))]
    times = {"admittime": "2150-01-01 08:00:00", "dischtime": "2150-01-05 08:00:00"}
    patient = {"gender": "F", "anchor_age": 44, "anchor_year": 2150}
    notes = [
        {"note_id": f"{person['subject_id']}-RR-1", "subject_id": person["subject_id"]}
        for person in people
    ]
    hosp = {
        **{name: content.split("\n")[0] + "\n" for name, content in HOSP.items()},
        "admissions": rows_of(HOSP, "admissions", [{**person, **times} for person in people]),
        "patients": rows_of(
            HOSP,
            "patients",
            [{"subject_id": person["subject_id"], **patient} for person in people],
        ),
    }
    exam = {"field_name": "exam_name", "field_value": "CT ABDOMEN", "field_ordinal": 1}
    radiology = [
        {
            **note,
            "hadm_id": person["hadm_id"],
            "note_type": "RR",
            "note_seq": 1,
            "charttime": "2150-01-01 10:00:00",
            "text": FINDINGS + text,
        }
        for note, person, text in zip(notes, people, REPORTS, strict=True)
    ]
    discharge = [
        {
            "note_id": f"{person['subject_id']}-DS-1",
            **person,
            "note_type": "DS",
            "note_seq": 1,
            "charttime": "2150-01-05 00:00:00",
            "text": "Discharge Diagnosis:\nAcute appendicitis\n",
        }
        for person in people
    ]
    note = {
        "radiology_detail": rows_of(NOTE, "radiology_detail", [{**row, **exam} for row in notes]),
        "radiology": rows_of(NOTE, "radiology", radiology),
        "discharge": rows_of(NOTE, "discharge", discharge),
    }
    write_folder(folder, {"hosp": hosp, "note": note})
    listed = folder / "hadm_ids.txt"
    listed.write_text("".join(f"{person['hadm_id']}\n" for person in people), encoding="utf-8")
    return listed


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("headings")
    variables = {"cdm_cohort_file": str(write_reports(folder / "files"))}
    return build_cdm_duckdb(folder, folder / "files", variables, models_only=True)


@pytest.fixture(scope="module")
def shown(built: Build) -> dict[str, str]:
    rows = dict(built.rows("select hadm_id, text from cdm.cdm_radiology_reports"))
    return {text: rows[FIRST + place] for place, text in enumerate(REPORTS)}


@pytest.mark.parametrize("text", CONCLUSIONS)
def test_a_conclusion_is_not_shown_however_its_heading_is_written(
    shown: dict[str, str], text: str
) -> None:
    assert "The appendix is wide." in shown[text]
    assert MARK not in shown[text]


@pytest.mark.parametrize("text", PARTS)
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


@pytest.fixture(scope="module")
def built_on_postgres(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: dict[str, str]
) -> Iterator[Build]:
    folder = tmp_path_factory.mktemp("headings-postgres")
    variables = {"cdm_cohort_file": str(write_reports(folder / "files"))}
    with new_database(postgres_server) as address:
        yield build_cdm_postgres(folder, folder / "files", address, variables, models_only=True)


@pytest.mark.parametrize(
    "table",
    [
        "cdm_radiology_reports",
        "cdm_leaks",
        "cdm_findings",
        "cdm_phrase_shares",
        "int_cdm__radiology_misspelt_headings",
        "int_cdm__radiology_unknown_headings",
    ],
)
def test_headings_are_read_alike_on_every_engine(
    built: Build, built_on_postgres: Build, table: str
) -> None:
    names, rows = built.published(table, "cdm")
    assert rows
    assert (names, rows) == built_on_postgres.published(table, "cdm")
