"""The synthetic MIMIC-IV data: same bytes, right layout, every special case, bounded memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator, Sized
from pathlib import Path

import duckdb
import numpy as np
import pytest

from medeval import cli
from synth import mimic4
from synth.files import CsvFile, read_groups
from synth.mimic4 import make_admissions
from synth.mimic4_stay import CASES, SPECIAL
from synth.run import write_synthetic

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "demo" / "mimic4"
DEMO_SCALE, DEMO_SEED, DEMO_EVENTS = 130, 20261127, 100

NOTE = "note_id subject_id hadm_id note_type note_seq charttime storetime text"
COLUMNS = {
    "hosp/admissions": "subject_id hadm_id admittime dischtime deathtime admission_type "
    "admit_provider_id admission_location discharge_location insurance language marital_status "
    "race edregtime edouttime hospital_expire_flag",
    "hosp/patients": "subject_id gender anchor_age anchor_year anchor_year_group dod",
    "hosp/transfers": "subject_id hadm_id transfer_id eventtype careunit intime outtime",
    "hosp/labevents": "labevent_id subject_id hadm_id specimen_id itemid order_provider_id "
    "charttime storetime value valuenum valueuom ref_range_lower ref_range_upper flag priority "
    "comments",
    "hosp/d_labitems": "itemid label fluid category",
    "hosp/microbiologyevents": "microevent_id subject_id hadm_id micro_specimen_id "
    "order_provider_id chartdate charttime spec_itemid spec_type_desc test_seq storedate storetime "
    "test_itemid test_name org_itemid org_name isolate_num quantity ab_itemid ab_name "
    "dilution_text dilution_comparison dilution_value interpretation comments",
    "hosp/procedures_icd": "subject_id hadm_id seq_num chartdate icd_code icd_version",
    "hosp/d_icd_procedures": "icd_code icd_version long_title",
    "hosp/diagnoses_icd": "subject_id hadm_id seq_num icd_code icd_version",
    "hosp/d_icd_diagnoses": "icd_code icd_version long_title",
    "note/discharge": NOTE,
    "note/radiology": NOTE,
    "note/radiology_detail": "note_id subject_id field_name field_value field_ordinal",
}
PATHOLOGIES = {
    "acute appendicitis": ["5409", "K3580"],
    "acute cholecystitis": ["5750", "K810"],
    "diverticulitis": ["56211", "K5732"],
    "acute pancreatitis": ["5770", "K8590"],
}
TERMS = "(appendicitis|cholecystitis|diverticulitis|pancreatitis)"

VIEWS = f"""
create view titled as
    select d.*, lower(t.long_title) as title from diagnoses_icd as d
    join d_icd_diagnoses as t using (icd_code, icd_version);
create view cases as
    select a.*, p.anchor_age, p.anchor_year, p.gender, t.icd_code, t.title,
        (select min(chartdate)::timestamp from procedures_icd as c where c.hadm_id = a.hadm_id)
            as first_day
    from admissions as a join patients as p using (subject_id)
    join titled as t on t.hadm_id = a.hadm_id and t.seq_num = '1';
create view interest as select * from cases where regexp_matches(title, '{TERMS}')
    and admission_location = 'EMERGENCY ROOM';
create view spans as
    select subject_id, hadm_id, min(intime::timestamp) - interval 1 day as first_time,
        max(intime::timestamp) as last_time
    from transfers where hadm_id is not null group by all;
create view labs as
    select l.* replace (l.charttime::timestamp as charttime) from labevents as l;
create view cultures as
    select m.* replace (m.charttime::timestamp as charttime) from microbiologyevents as m;
create view reports as
    select r.*, (select string_agg(field_value, ' ' order by field_ordinal)
        from radiology_detail as d where d.note_id = r.note_id and field_name = 'exam_name')
        as exam_name
    from radiology as r;
create view notes as
    select d.*, regexp_extract(text, '(?s)Present Illness:\\s(.*?)\\n \\r?\\nPast', 1) as history,
        regexp_extract(text, '(?s)Physical Exam:\\s(.*?)\\n \\r?\\n(Pertinent|Brief)', 1) as exam
    from discharge as d;
"""

# Each finds at least one row in the demo.
FOUND = {
    "no procedure": "from interest where first_day is null",
    "procedure on the day of admission": "from interest join labs using (hadm_id) "
    "where first_day = admittime::date and admittime like '% 08:00:00' "
    "and strftime(charttime, '%H:%M') = '08:30'",
    "seq_num against the dates": "from procedures_icd as a join procedures_icd as b "
    "using (hadm_id) where a.seq_num = '1' and b.seq_num = '4' and a.chartdate > b.chartdate",
    "procedure code without title": "from procedures_icd as p anti join d_icd_procedures as d "
    "using (icd_code, icd_version)",
    "procedure code of both versions": "from procedures_icd group by hadm_id, icd_code "
    "having count(distinct icd_version) = 2",
    "repeated procedure": "from procedures_icd group by hadm_id, icd_code, icd_version "
    "having count(*) = 2",
    "ICD-9 and ICD-10 procedures": "from procedures_icd having count(distinct icd_version) = 2",
    "a second before the day of the procedure": "from labs join cases using (hadm_id) "
    "where charttime = first_day - interval 1 second",
    "midnight of the procedure": "from labs join cases using (hadm_id) where charttime = first_day",
    "report at midnight": "from radiology join cases using (hadm_id) "
    "where charttime::timestamp = first_day",
    "lab before and after the procedure": "from labs join cases using (hadm_id) group by hadm_id "
    "having bool_or(charttime < first_day) and bool_or(charttime > first_day)",
    "tie of five": "from labs where value is not null "
    "group by hadm_id, itemid, charttime, storetime having count(distinct value) = 5",
    "tie, missing storetime": "from labs where charttime is not null group by hadm_id, itemid, "
    "charttime having count(*) = 2 and count(storetime) = 1",
    "five of one test before the procedure": "from labs join cases using (hadm_id) "
    "where charttime < first_day and valuenum is not null and itemid = '50813' "
    "and value like '%.1' group by hadm_id having count(*) >= 5",
    "comment in place of a value": "from labs where value is null and valuenum is null "
    "and comments <> '___'",
    "mask with a flag": "from labs where value = '___' and valuenum is null and flag = 'abnormal'",
    "mask with a number": "from labs where value = '___' and valuenum is not null",
    "masked comment": "from labs where value is null and comments = '___'",
    "comment of two lines": "from labs where comments like E'%\\n%' and comments like '%\"%'",
    "words for values": "from labs where value in ('NEG', 'POS', 'TR') "
    "having count(distinct value) = 3",
    "unknown item": "from labs anti join d_labitems using (itemid)",
    "item without a label": "from labs join d_labitems using (itemid) where label is null",
    "one label, two items": "from d_labitems group by label having count(distinct fluid) = 2",
    "lab without charttime": "from labs where charttime is null",
    "no labs": "from interest anti join labs using (hadm_id)",
    "lab without hadm_id": "from labs join spans using (subject_id) where labs.hadm_id is null "
    "and charttime between first_time and last_time",
    "lab far outside": "from labs anti join spans on labs.subject_id = spans.subject_id "
    "and charttime between first_time and last_time where labs.hadm_id is null",
    "lab at the start of the window": "from labs join spans using (subject_id) "
    "where labs.hadm_id is null and charttime = first_time",
    "lab a second before the window": "from labs join spans using (subject_id) "
    "where labs.hadm_id is null and charttime = first_time - interval 1 second",
    "lab at the end of the window": "from labs join spans using (subject_id) "
    "where labs.hadm_id is null and charttime = last_time",
    "lab a second after the window": "from labs join spans using (subject_id) "
    "where labs.hadm_id is null and charttime = last_time + interval 1 second",
    "lab in two windows": "from labs join spans using (subject_id) where labs.hadm_id is null "
    "and charttime between first_time and last_time group by labevent_id having count(*) = 2",
    "overlapping admissions": "from admissions as a join admissions as b using (subject_id) "
    "where a.hadm_id <> b.hadm_id and b.admittime between a.admittime and a.dischtime",
    "readmission": "from admissions as a join admissions as b using (subject_id) "
    "where b.admittime > a.dischtime",
    "no transfers": "from interest anti join transfers using (hadm_id)",
    "visit without admission": "from transfers where hadm_id is null and eventtype = 'ED'",
    "culture by day": "from cultures where charttime is null and chartdate like '% 00:00:00' "
    "having count(distinct hadm_id) > 3",
    "culture by day on the procedure's day": "from cultures join cases using (hadm_id) "
    "where charttime is null and chartdate::timestamp = first_day",
    "three organisms": "from cultures group by micro_specimen_id "
    "having count(distinct org_name) = 3",
    "isolates by antibiotics": "from cultures group by micro_specimen_id, org_name "
    "having count(distinct ab_name) = 3",
    "cancelled, with a comment": "from cultures where org_name = 'CANCELLED' and comments <> '___'",
    "cancelled, masked": "from cultures where org_name = 'CANCELLED' and comments = '___'",
    "organism, masked comment": "from cultures where org_name <> 'CANCELLED' and comments = '___'",
    "no organism": "from cultures where org_name is null and comments is not null",
    "duplicate culture": "from (select * exclude (microevent_id), count(*) as same "
    "from cultures group by all) where same = 2",
    "one test on two specimens": "from cultures group by hadm_id, test_itemid "
    "having count(distinct spec_type_desc) = 2 and count(distinct charttime) > 1",
    "tie of two specimens": "from cultures group by hadm_id, test_itemid, charttime, storetime "
    "having count(distinct spec_type_desc) = 2",
    "culture without hadm_id": "from cultures join spans using (subject_id) "
    "where cultures.hadm_id is null and charttime = first_time",
    "culture without storetime": "from cultures where storetime is null",
    "report without hadm_id": "from radiology join spans using (subject_id) "
    "where radiology.hadm_id is null and charttime::timestamp = first_time",
    "report without storetime": "from radiology where storetime is null",
    "no findings": "from reports where note_type = 'RR' "
    "and not regexp_matches(text, '(?i)findings ?[:/]')",
    "empty findings": r"from reports where regexp_matches(text, 'FINDINGS:\s+IMPRESSION:')",
    "joint heading": "from reports where text like '%FINDINGS/IMPRESSION:%'",
    "mixed case": "from reports where text like '%Findings:%' and text like '%Impression:%'",
    "space before the colon": "from reports where text like '%Findings :%'",
    "glued heading": "from reports where text like '%.FINDINGS:%'",
    "wet read": "from reports where text like '%WET READ:%'",
    "recommendations": "from reports where text like '%RECOMMENDATION(S):%'",
    "notification": "from reports where text like '%NOTIFICATION:%'",
    "addendum": "from radiology as r join radiology_detail as d using (note_id) join radiology "
    "as parent on parent.note_id = d.field_value where r.note_type = 'AR' "
    "and d.field_name = 'parent_note_id'",
    "report with CRLF": "from reports where text like E'%\\r\\n%' and text like '%≥%'",
    "line in capitals": "from reports where text like E'%\\nPLEASE NOTE\\n%'",
    "other conclusion": "from reports where text like '%FINAL IMPRESSION:%' "
    "and text like '%SUMMARY:%'",
    "repeated heading": "from reports where text like '%FINDINGS:%FINDINGS:%'",
    "disease named in the findings": "from reports "
    f"where regexp_matches(text, '(?s)FINDINGS:.*Taken together: [^:]*{TERMS}')",
    "impression inside the findings": "from reports "
    r"where regexp_matches(text, '(?s)FINDINGS:.*\nImpression: .*IMPRESSION:')",
    "several names": "from radiology_detail where field_name = 'exam_name' group by note_id "
    "having count(*) = 2",
    "neither name nor parent": "from reports where note_type = 'RR' and exam_name is null",
    "pelvis": "from reports where exam_name like 'CT PELVIS%'",
    "more than three of one kind": "from reports where exam_name like 'CT ABD%' "
    "group by subject_id having count(*) > 4 and count(distinct charttime) < count(*)",
    "chest only": "from interest join reports using (hadm_id) group by hadm_id "
    "having bool_and(exam_name like 'CHEST%')",
    "disease named in a report": f"from reports where regexp_matches(text, '{TERMS}')",
    "note with CRLF": "from discharge where text like E'%\\r\\n%'",
    "masked headings": "from discharge where text like '%___ of Present Illness:%' "
    "and text like '%Physical ___:%' and text like '%___ Diagnosis:%'",
    "headings in capitals": "from discharge where text like '%HISTORY OF PRESENT ILLNESS:%'",
    "heading and body in a line": "from discharge where text like '%Present Illness: ___ year%'",
    "other headings": "from discharge where text like '%History of Presenting Illness:%' "
    "and text like E'%\\nPE:%'",
    "Unicode": "from discharge where text like '%°C%' "
    "and contains(text, chr(8232)) and contains(text, chr(11)) and contains(text, chr(160))",
    "disease in the history": f"from notes where regexp_matches(history, '(?i){TERMS}')",
    "disease broken over CRLF": rf"from discharge where regexp_matches(text, 'acute\r\n{TERMS}')",
    "stems in the history": "from notes where regexp_matches(history, "
    "'(appendicitides|pericholecystic|diverticulosis|peripancreatic)')",
    "no history": "from discharge where text not ilike '%ing Illness:%' "
    "and text not ilike '%Present Illness:%'",
    "no past history": "from discharge where text not ilike '%Past Medical History:%' "
    "and text not ilike '%Past ___ History:%'",
    "no results": "from discharge where text not ilike '% Results:%'",
    "no diagnosis heading": "from discharge where text not ilike '% Diagnosis:%' "
    r"and not regexp_matches(text, '\n___:\n')",
    "masked diagnosis heading": r"from discharge where regexp_matches(text, '\n___:\n')",
    "repeated diagnosis heading": "from discharge "
    "where text like '%Discharge Diagnosis:%Discharge Diagnosis:%'",
    "diagnosis not in the note": "from interest join discharge using (hadm_id) "
    "where text like '%cause unknown%'",
    "two pathologies": "from titled group by hadm_id "
    f"having count(*) filter (regexp_matches(title, '{TERMS}')) = 2",
    "primary and secondary": "from discharge where text like '%PRIMARY DIAGNOSIS:%1.%'",
    "short exam": "from notes where length(exam) < 40 and exam <> ''",
    "admission and discharge exam": "from notes where exam like 'Admission Physical Exam:%' "
    "and exam like '%Discharge Physical Exam:%'",
    "discharge exam by a line": r"from notes where regexp_matches(exam, '\nDischarge exam by')",
    "discharge exam in capitals": "from notes where exam like '%DISCHARGE PHYSICAL%'",
    "the word discharge": "from notes where exam like '%no discharge from%'",
    "labs in the exam": "from notes where exam like '%Labs:%WBC 14%'",
    "heading over two lines": r"from discharge where regexp_matches(text, 'THIS\nADMISSION:')",
    "heading twice": "from discharge "
    "where text like '%Past Medical History:%Past Medical History:%' and text like '%PE: %'",
    "no discharge note": "from interest anti join discharge using (hadm_id)",
    "death": "from cases join patients using (subject_id) join discharge using (hadm_id) "
    "where hospital_expire_flag = '1' and deathtime = dischtime and dod = dischtime[:10] "
    "and discharge_location = 'DIED' and text ilike '%Discharge Disposition:%Expired%'",
    "quotes in a note": "from discharge where text like '%\"the worst ever\"%'",
    "age of 91": "from interest where anchor_age = '91'",
    "pathology as second code": "from titled join cases using (hadm_id) "
    f"where titled.seq_num <> '1' and regexp_matches(titled.title, '{TERMS}') "
    f"and not regexp_matches(cases.title, '{TERMS}')",
    "sent from another hospital": "from cases where admission_location like 'TRANSFER%' "
    f"and regexp_matches(title, '{TERMS}')",
    "pathology of years ago": "from discharge join cases using (hadm_id) "
    "where text like '%in ___, treated elsewhere%'",
}
VALUES = ["1", "1.0", "0.1", "1e-7", "123456789.123", "140", "7.35000", "<0.01", "___"]


def make(folder: Path, *, scale: int = 40, seed: int = 5, events: int = 40) -> dict[str, int]:
    return write_synthetic("mimic4", scale, seed, events, folder)


def read_bytes(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def read_csv(path: Path) -> list[list[str]]:
    text = gzip.decompress(path.read_bytes()).decode()
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.fixture(scope="module", params=["demo", "other seed"])
def data(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = DEMO
    if request.param != "demo":
        folder = tmp_path_factory.mktemp("synth") / "mimic4"
        make(folder, scale=2 * CASES.cycle, seed=11, events=60)
    connection = duckdb.connect()
    # One thread: the cases are small and the machine is shared.
    connection.execute("set threads = 1")
    for name in COLUMNS:
        connection.execute(
            f"create table {name.split('/')[1]} as select * from read_csv("
            f"'{folder / name}.csv.gz', header = true, all_varchar = true, delim = ',', "
            "quote = '\"', escape = '\"')"
        )
    connection.execute(VIEWS)
    yield connection
    connection.close()


def count(data: duckdb.DuckDBPyConnection, source: str) -> int:
    row = data.execute(f"select count(*) from (select 1 {source})").fetchone()
    assert row is not None
    return int(row[0])


def test_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b")
    assert read_bytes(tmp_path / "a") == read_bytes(tmp_path / "b")


def test_seed_scale_and_events_change_the_data(tmp_path: Path) -> None:
    make(tmp_path / "a")
    for number, changed in enumerate(({"seed": 6}, {"events": 80}, {"scale": 41})):
        make(tmp_path / str(number), **changed)
        file = "hosp/labevents.csv.gz"
        assert (tmp_path / "a" / file).read_bytes() != (tmp_path / str(number) / file).read_bytes()


def test_the_gzip_header_names_no_file_and_no_time(tmp_path: Path) -> None:
    make(tmp_path / "a", scale=20)
    header = (tmp_path / "a" / "note" / "discharge.csv.gz").read_bytes()[:8]
    assert header[3] == 0
    assert header[4:8] == bytes(4)


def test_the_demo_is_what_the_command_makes(tmp_path: Path) -> None:
    """Unpacked, since another zlib may pack the same text into other bytes."""
    folder = tmp_path / "mimic4"
    write_synthetic("mimic4", DEMO_SCALE, DEMO_SEED, DEMO_EVENTS, folder)
    made, demo = read_bytes(folder), read_bytes(DEMO)
    assert list(made) == list(demo)
    for file in made:
        if file.endswith(".gz"):
            assert gzip.decompress(made[file]) == gzip.decompress(demo[file]), (
                f"{file}: make the demo again as demo/README.md says"
            )
    notes = [json.loads(files["synthetic.json"]) for files in (made, demo)]
    for note in notes:
        del note["medeval_version"]
    assert notes[0] == notes[1]


def test_the_demo_is_small() -> None:
    assert sum(len(content) for content in read_bytes(DEMO).values()) < 1_500_000


def test_the_readme_has_the_command() -> None:
    text = (ROOT / "demo" / "README.md").read_text(encoding="utf-8")
    command = (
        f"synth mimic4 --scale {DEMO_SCALE} --seed {DEMO_SEED} --events-per-stay {DEMO_EVENTS} "
        "--out demo/mimic4 --replace"
    )
    assert command in text


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_and_logical_rows(table: str) -> None:
    header, *rows = read_csv(DEMO / f"{table}.csv.gz")
    assert header == COLUMNS[table].split()
    assert {len(row) for row in rows} == {len(header)}
    assert len(rows) == json.loads((DEMO / "synthetic.json").read_text())["rows"][table]


@pytest.mark.parametrize("table", ["discharge", "radiology"])
def test_notes_of_many_lines_are_one_row_each(data: duckdb.DuckDBPyConnection, table: str) -> None:
    assert count(data, f"from {table} where text like E'%\\n%\\n%'") == count(data, f"from {table}")
    wrong = "note_id <> subject_id || '-' || note_type || '-' || note_seq"
    assert count(data, f"from {table} where {wrong}") == 0


@pytest.mark.parametrize("case", FOUND)
def test_special_case_is_there(data: duckdb.DuckDBPyConnection, case: str) -> None:
    assert count(data, FOUND[case]) > 0


def test_forms_of_values_are_kept(data: duckdb.DuckDBPyConnection) -> None:
    for value in VALUES:
        assert count(data, f"from labs where value = '{value}'") > 0, value
    for number in ("1.0", "1e-7", "7.35000", "123456789.123"):
        assert count(data, f"from labs where valuenum = '{number}'") > 0, number


@pytest.mark.parametrize("pathology", PATHOLOGIES)
def test_every_pathology_is_there(data: duckdb.DuckDBPyConnection, pathology: str) -> None:
    here = f"from interest where title like '%{pathology}%'"
    assert count(data, here) >= 12
    for code in PATHOLOGIES[pathology]:
        assert count(data, f"from titled where icd_code = '{code}'") > 0, code


def test_most_admissions_of_interest_meet_the_published_rule(
    data: duckdb.DuckDBPyConnection,
) -> None:
    rule = f"""
        from interest join notes using (hadm_id)
        where length(exam) >= 40 and history <> '' and not regexp_matches(history, '(?i){TERMS}')
            and interest.subject_id in (select subject_id from labs)
            and interest.subject_id in (select subject_id from reports
                where regexp_matches(exam_name, '(ABD|LIVER|ABDOMEN)'))
    """
    assert count(data, rule) > 0.6 * count(data, "from interest")


def test_keys_are_unique_and_point_somewhere(data: duckdb.DuckDBPyConnection) -> None:
    for table, key in (
        ("patients", "subject_id"),
        ("admissions", "hadm_id"),
        ("transfers", "transfer_id"),
        ("labevents", "labevent_id"),
        ("d_labitems", "itemid"),
        ("microbiologyevents", "microevent_id"),
        ("procedures_icd", "hadm_id, seq_num"),
        ("diagnoses_icd", "hadm_id, seq_num"),
        ("d_icd_procedures", "icd_code, icd_version"),
        ("d_icd_diagnoses", "icd_code, icd_version"),
        ("discharge", "hadm_id"),
        ("discharge", "note_id"),
        ("radiology", "note_id"),
        ("radiology_detail", "note_id, field_name, field_ordinal"),
    ):
        assert count(data, f"from {table} group by {key} having count(*) > 1") == 0, table
    for table in COLUMNS:
        name = table.split("/")[1]
        if "subject_id" in COLUMNS[table]:
            assert count(data, f"from {name} anti join patients using (subject_id)") == 0, name
        if "hadm_id" in COLUMNS[table]:
            known = f"from {name} where hadm_id not in (select hadm_id from admissions)"
            assert count(data, known) == 0, name
    assert count(data, "from radiology_detail anti join radiology using (note_id)") == 0
    assert count(data, "from diagnoses_icd anti join titled using (hadm_id, seq_num)") == 0
    assert count(data, "from labs group by specimen_id having count(distinct hadm_id) > 1") == 0
    ids = "subject_id::int not between 10000000 and 19999999"
    assert count(data, f"from patients where {ids}") == 0
    ids = "hadm_id::int not between 20000000 and 29999999"
    assert count(data, f"from admissions where {ids}") == 0


def test_times_are_written_in_full(data: duckdb.DuckDBPyConnection) -> None:
    shape = "'^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$'"
    for table, columns in COLUMNS.items():
        for column in columns.split():
            if not column.endswith("time") and column not in ("storedate", "chartdate"):
                continue
            if table != "hosp/procedures_icd":
                source = f"from {table.split('/')[1]} where not regexp_matches({column}, {shape})"
                assert count(data, source) == 0, (table, column)
    dates = (
        "from procedures_icd where not regexp_matches(chartdate, '^[0-9]{4}-[0-9]{2}-[0-9]{2}$')"
    )
    assert count(data, dates) == 0


def test_times_are_in_order(data: duckdb.DuckDBPyConnection) -> None:
    assert count(data, "from admissions where dischtime <= admittime") == 0
    assert count(data, "from admissions where edregtime >= admittime") == 0
    assert count(data, "from transfers where outtime < intime") == 0
    away = "from procedures_icd join admissions using (hadm_id) where chartdate::date < "
    assert count(data, away + "admittime::date") == 0
    assert count(data, "from cases where first_day::date > dischtime::date") == 0


def test_laboratory_values_tell_the_pathology(data: duckdb.DuckDBPyConnection) -> None:
    means = dict(
        data.execute(
            "select title like '%pancreatitis%', avg(valuenum::double) from labs "
            "join cases using (hadm_id) where itemid = '50956' group by 1"
        ).fetchall()
    )
    assert means[True] > 3 * means[False]


def test_the_mean_number_of_labs(tmp_path: Path) -> None:
    rows = make(tmp_path / "a", scale=100, events=400)
    assert 350 < rows["hosp/labevents"] / rows["hosp/admissions"] < 450


def test_every_cycle_holds_every_case() -> None:
    admissions = make_admissions(3, CASES.cycle)
    assert all(CASES.has(admissions.case, name).sum() == 1 for name in CASES.names)
    assert np.all(np.diff(admissions.subject_id) >= 0)


@pytest.mark.parametrize("kind", ["lab", "culture", "report"])
def test_the_rows_of_special_cases_are_those_of_known_cases(kind: str) -> None:
    assert {*read_groups(f"mimic4_{kind}_cases.csv", "case")} <= {*CASES.names}
    assert {*SPECIAL["notes"], *SPECIAL["procedure_day"]} <= {*CASES.names}


def test_subjects_lie_in_the_range_at_the_largest_scale() -> None:
    admissions = make_admissions(1, mimic4.SCALES[-1])
    for ids, first in ((admissions.subject_id, 10_000_000), (admissions.hadm_id, 20_000_000)):
        assert first < ids.min()
        assert ids.max() < first + 10_000_000
    assert len(np.unique(admissions.hadm_id)) == len(admissions.hadm_id)


def test_chunks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def write_columns(self: CsvFile, columns: dict[str, Sized]) -> None:
        sizes.append(len(columns["itemid"]))

    monkeypatch.setattr(CsvFile, "write_columns", write_columns)
    monkeypatch.setattr(mimic4, "CHUNK_ROWS", 2000)
    make(tmp_path / "a", scale=100, events=100)
    assert len(sizes) == 7
    assert max(sizes) < 4000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mimic4", "--scale", "19", "--seed", "1"], "--scale 19 is not possible"),
        (["mimic4", "--scale", "1000001", "--seed", "1"], "--scale 1000001 is not possible"),
        (["mimic4", "--scale", "20", "--seed", "-1"], "--seed -1 is negative"),
        (
            ["mimic4", "--scale", "20", "--seed", "1", "--events-per-stay", "0"],
            "--events-per-stay 0 is too small",
        ),
    ],
)
def test_refusals(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["medeval", "synth", *arguments, "--out", str(tmp_path / "out")]
    )
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"medeval: {sentence}")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
