"""Texts are folded, searched and sorted alike whatever locale a PostgreSQL database has."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import cdm_folder
import mimic3_folder
import psycopg
import pytest
from builds import Build
from commands import run_medeval
from postgres_server import connect, new_database, server

pytestmark = pytest.mark.slow

# In Turkish the lower case of I has no dot, and the upper case of i has one.
EVENTS = (
    mimic3_folder.TABLES["chartevents"]
    + """\
3,10,100,200,226707,2150-01-01 11:00:00,2150-01-01 11:05:00,1,70,70,INCHES,,,,NotStopd
4,10,100,200,1394,2150-01-01 12:00:00,2150-01-01 12:05:00,1,61,61,,,,,NotStopd
5,10,100,200,226707,2150-01-01 13:00:00,2150-01-01 13:05:00,1,165,165,CM,,,,NotStopd
6,10,100,200,226531,2150-01-01 13:00:00,2150-01-01 13:05:00,1,180,180,LBS,,,,NotStopd
7,10,100,200,190,2150-01-01 13:00:00,2150-01-01 13:05:00,1,0.5,0.5,TORR,,,,NotStopd
8,10,100,200,184,2150-01-01 13:00:00,2150-01-01 13:05:00,1,3 To SPEECH I,,,,,,NotStopd
9,10,100,200,184,2150-01-01 13:00:00,2150-01-01 13:05:00,1,3 to speech i,,,,,,NotStopd
"""
)
MIMIC3 = {**mimic3_folder.TABLES, "chartevents": EVENTS}

PROCEDURES = """\
icd_code,icd_version,long_title
4701,9,IRRIGATION OF MÉNIÈRE'S LABYRINTH IN ÅNGSTRÖM ΣΊΣΥΦΟΣ ĐÌNH DİKİŞ
"""
DIAGNOSES = """\
icd_code,icd_version,long_title
5409,9,ACUTE APPENDICITIS WITHOUT MENTION OF PERITONITIS
5770,9,ACUTE PANCREATITIS
"""
REPORTS = """\
note_id,subject_id,hadm_id,note_type,note_seq,charttime,storetime,text
10-RR-1,10,20000001,RR,1,2150-01-01 10:00:00,2150-01-01 11:00:00,"EXAMINATION: CT

INDICATION: pain

FINDINGS: The appendix is dilated, in APPENDICITIS as in appendicitis.

iMPRESSION: Acute appendicitis.
"
11-RR-1,11,20000002,RR,1,2151-01-01 10:00:00,2151-01-01 11:00:00,"INDICATION: pain

FINDINGS: Édème. Stranding.

impresion : Acute pancreatitis.
"
"""
NAMES = """\
note_id,subject_id,field_name,field_value,field_ordinal
10-RR-1,10,exam_name,ct abdomen with iv contrast,1
11-RR-1,11,exam_name,Liver or Gallbladder us (single organ),1
11-RR-1,11,exam_name,Échographie,1
"""
CULTURES = (
    cdm_folder.HOSP["microbiologyevents"]
    + """\
2,10,20000001,1,P1,2150-01-01 00:00:00,2150-01-01 09:00:00,70012,BLOOD CULTURE,1,\
2150-01-03 00:00:00,2150-01-03 09:00:00,90201,"Blood Culture, Routine",,b. subtilis,,,,,,,,,no İ
3,10,20000001,1,P1,2150-01-01 00:00:00,2150-01-01 09:00:00,70012,BLOOD CULTURE,1,\
2150-01-03 00:00:00,2150-01-03 09:00:00,90201,"Blood Culture, Routine",,B. SUBTILIS,\
,,,,,,,,NO \u0131
"""
)
TEXTS = """\
hadm_id,allergies,chief_complaint,discharge_diagnosis,discharge_condition,discharge_medications,\
major_procedure,medications_on_admission,pertinent_results,physical_examination,\
past_medical_history,history_of_present_illness,brief_hospital_course,discharge_instructions
20000001,,,,,,,,,"PHYSICAL EXAM: Tender in the RIGHT lower part, as in APPENDICITIS; APPENDICEAL.

PHYSICAL EXAM ON DISCHARGE: not tender",PAST MEDICAL HISTORY: None.,Pain.,,
20000002,,,,,,,,,"Tender in the EPIGASTRIUM, without any guarding.

Labs and IMAGING: none",PMHX: Pancreat\u0131t\u0131s in 2149.,Pain.,,
"""
NAMED = """\
hadm_id,title,is_primary,seq_num
20000001,ACUTE APPENDICITIS,True,1
20000002,ACUTE PANCREATITIS,True,1
"""
MIMIC4 = {
    "hosp": {
        **cdm_folder.HOSP,
        "d_icd_procedures": PROCEDURES,
        "d_icd_diagnoses": DIAGNOSES,
        "microbiologyevents": CULTURES,
    },
    "note": {**cdm_folder.NOTE, "radiology": REPORTS, "radiology_detail": NAMES},
    "note_extract": {
        **cdm_folder.EXTRACT,
        "discharge_free_text": TEXTS,
        "discharge_diagnosis": NAMED,
    },
}
TABLES = {
    "mimic3": ["mimic3_episode_timeseries"],
    "cdm": [
        *("cdm_attrition", "cdm_cases", "cdm_leaks", "cdm_microbiology_events"),
        *("cdm_phrase_shares", "cdm_radiology_reports", "cdm_treatments"),
    ],
}
LOCALES = ("C", "Turkish")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("raw")
    mimic3_folder.write_folder(folder / "mimic3", MIMIC3)
    cdm_folder.write_folder(folder / "mimic4", MIMIC4)
    return {
        "MEDEVAL_MIMIC3_DIR": str(folder / "mimic3"),
        "MEDEVAL_MIMIC4_DIR": str(folder / "mimic4"),
        "MEDEVAL_MIMIC4_NOTE_DIR": str(folder / "mimic4"),
        "MEDEVAL_CDM_EXTRACT_DIR": str(folder / "mimic4" / "note_extract"),
    }


def build(target: str, folder: Path, env: dict[str, str]) -> Build:
    made = Build(target, folder, env)
    parents = [f"+{table}" for tables in TABLES.values() for table in tables]
    kinds = ["--resource-type", "seed", "--resource-type", "model"]
    made.dbt("build", "--select", *parents, *kinds)
    return made


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory, folders: dict[str, str]) -> Build:
    return build("duckdb", tmp_path_factory.mktemp("duckdb"), folders)


def turkish_database(stack: ExitStack, address: dict[str, str]) -> dict[str, str]:
    """Give a database in Turkish: of ICU, or where the server has none, of the C library."""
    icu = "locale 'C.UTF-8' locale_provider icu icu_locale 'tr-TR'"
    try:
        return stack.enter_context(new_database(address, icu))
    except psycopg.errors.FeatureNotSupported:
        localedef = shutil.which("localedef")
    if not localedef or os.environ.get("MEDEVAL_TEST_PGHOST"):
        pytest.skip("the server has no ICU, and its C library no Turkish")
    # The server has a user of its own, who has to read it.
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="medeval-locale-")))
    folder.chmod(0o755)
    made = subprocess.run(
        [localedef, "-i", "tr_TR", "-f", "UTF-8", folder / "tr_TR.UTF-8"],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"localedef makes no Turkish locale: {made.stderr.decode()}")
    with mock.patch.dict(os.environ, LOCPATH=str(folder), LC_ALL="C"):
        own_address = stack.enter_context(server())
    return stack.enter_context(new_database(own_address, "locale 'tr_TR.UTF-8'"))


@pytest.fixture(scope="module", params=LOCALES)
def on_postgres(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: dict[str, str],
    folders: dict[str, str],
) -> Iterator[Build]:
    folder = tmp_path_factory.mktemp(f"postgres-{request.param}")
    with ExitStack() as stack:
        if request.param == "C":
            address = stack.enter_context(new_database(postgres_server, "locale 'C'"))
        else:
            address = turkish_database(stack, postgres_server)
        with connect(address) as connection:
            query = "select lower('I') = 'i', lower('É') = 'é'"
            folds = connection.execute(query).fetchone()
            assert folds == ((True, False) if request.param == "C" else (False, True))
        for kind in ("mimic3", "mimic4"):
            done = run_medeval("load", kind, env={**address, **folders})
            assert done.returncode == 0, done.stdout + done.stderr
        yield build("postgres", folder, address)


@pytest.mark.parametrize(
    ("schema", "table"), [(schema, table) for schema, tables in TABLES.items() for table in tables]
)
def test_published_tables_are_the_same_in_every_locale(
    on_duckdb: Build, on_postgres: Build, schema: str, table: str
) -> None:
    names, rows = on_duckdb.published(table, schema)
    assert rows, "an empty table proves nothing"
    assert on_postgres.published(table, schema) == (names, rows)


def test_inches_are_told_in_any_case(on_duckdb: Build) -> None:
    heights = on_duckdb.rows(
        "select height from mimic3.mimic3_episode_timeseries where height > 0 order by hours"
    )
    assert heights == [(178.0,), (155.0,), (165.0,)]


def test_accented_titles_are_in_lower_case(on_duckdb: Build) -> None:
    titles = on_duckdb.rows("select title from cdm.cdm_treatments where is_coded")
    assert titles == [("irrigation of ménière's labyrinth in ångström σίσυφοσ đình dikiş",)]
