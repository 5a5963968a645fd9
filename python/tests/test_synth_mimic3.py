"""The synthetic MIMIC-III data: same bytes, right layout, every special case, bounded memory."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from commands import run_medeval

from medeval import cli
from synth.files import DATA, CsvFile, read_rows
from synth.mimic3_people import CASES as KNOWN_CASES
from synth.run import write_synthetic

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "demo" / "mimic3"
SEEDS = ROOT / "seeds" / "mimic3"
DEMO_SCALE, DEMO_SEED, DEMO_EVENTS = 240, 20261127, 250

COLUMNS = {
    "patients": "SUBJECT_ID GENDER DOB DOD DOD_HOSP DOD_SSN EXPIRE_FLAG",
    "admissions": "SUBJECT_ID HADM_ID ADMITTIME DISCHTIME DEATHTIME ADMISSION_TYPE "
    "ADMISSION_LOCATION DISCHARGE_LOCATION INSURANCE LANGUAGE RELIGION MARITAL_STATUS ETHNICITY "
    "EDREGTIME EDOUTTIME DIAGNOSIS HOSPITAL_EXPIRE_FLAG HAS_CHARTEVENTS_DATA",
    "icustays": "SUBJECT_ID HADM_ID ICUSTAY_ID DBSOURCE FIRST_CAREUNIT LAST_CAREUNIT FIRST_WARDID "
    "LAST_WARDID INTIME OUTTIME LOS",
    "diagnoses_icd": "SUBJECT_ID HADM_ID SEQ_NUM ICD9_CODE",
    "d_icd_diagnoses": "ICD9_CODE SHORT_TITLE LONG_TITLE",
    "d_items": "ITEMID LABEL ABBREVIATION DBSOURCE LINKSTO CATEGORY UNITNAME PARAM_TYPE CONCEPTID",
    "d_labitems": "ITEMID LABEL FLUID CATEGORY LOINC_CODE",
    "chartevents": "SUBJECT_ID HADM_ID ICUSTAY_ID ITEMID CHARTTIME STORETIME CGID VALUE VALUENUM "
    "VALUEUOM WARNING ERROR RESULTSTATUS STOPPED",
    "labevents": "SUBJECT_ID HADM_ID ITEMID CHARTTIME VALUE VALUENUM VALUEUOM FLAG",
    "outputevents": "SUBJECT_ID HADM_ID ICUSTAY_ID CHARTTIME ITEMID VALUE VALUEUOM STORETIME CGID "
    "STOPPED NEWBOTTLE ISERROR",
}

# The benchmark's rules as far as the cases below need them.
VIEWS = """
create view stays as
    select s.* exclude (row_id), a.admittime, a.dischtime, a.deathtime, a.ethnicity, p.dob, p.dod,
        a.admission_type
    from icustays_typed as s
    join admissions_typed as a using (subject_id, hadm_id)
    join patients_typed as p using (subject_id);
create view untransferred as
    select *, count(*) over (partition by hadm_id) as in_admission,
        (epoch(intime) - epoch(dob)) / 3600 / 24 / 365 as years,
        coalesce(dod between admittime and dischtime, false) as dod_inside,
        coalesce(deathtime between admittime and dischtime, false) as death_inside
    from stays where first_wardid = last_wardid and first_careunit = last_careunit;
create table cohort as
    select *, case when years < 0 then 90 else years end as age,
        dod_inside or death_inside as mortality,
        row_number() over (partition by subject_id order by intime, outtime) as episode,
        coalesce(outtime, intime + interval '400 days') as leaves
    from untransferred
    where in_admission = 1 and case when years < 0 then 90 else years end >= 18;
create table events as
    select 'chartevents' as source, subject_id, hadm_id, icustay_id, itemid, charttime, value,
        valueuom, error from chartevents
    union all
    select 'labevents', subject_id, hadm_id, null, itemid, charttime, value, valueuom, null
    from labevents
    union all
    select 'outputevents', subject_id, hadm_id, icustay_id, itemid, charttime, value, valueuom,
        iserror from outputevents;
create table placed as
    select e.* replace (e.charttime::timestamp as charttime), c.icustay_id as stay_id, c.intime,
        c.outtime, c.leaves, c.los,
        e.value is null or e.value in ('NA', 'NULL', 'nan', 'NaN', 'N/A', 'null', 'n/a', '#N/A',
            '<NA>', '-1.#IND') as is_missing,
        m.variable
    from events as e
    join cohort as c on e.subject_id = c.subject_id and e.hadm_id = c.hadm_id
    left join item_variables as m on e.itemid = m.itemid
    where e.icustay_id is null or e.icustay_id = c.icustay_id;
create table checked as select * from placed where not is_missing;
create view series as select * from checked where variable is not null;
create view coded as
    select d.subject_id, d.hadm_id, d.icd9_code, g.phenotype_id
    from diagnoses_icd as d join d_icd_diagnoses as t using (icd9_code)
    left join icd9_phenotypes as g using (icd9_code);
create table listed as
    select c.*,
        case when t.subject_id is not null then 'test' when v.subject_id is not null then 'val'
            else 'train' end as part
    from cohort as c
    left join test_subjects as t on c.subject_id = t.subject_id
    left join validation_subjects as v on c.subject_id = v.subject_id
    where c.hadm_id in (select hadm_id from coded) and c.los is not null
        and c.icustay_id in (
            select stay_id from series where charttime >= intime
                and epoch(charttime) - epoch(intime) <= los * 86400);
create view numeric_subjects as
    select subject_id from checked group by subject_id
    having bool_and(try_cast(value as double) is not null);
create view first_seen as
    select stay_id, subject_id, arg_min(value, charttime) as value,
        arg_min(variable, charttime) as variable
    from series where charttime > intime group by all;
"""

# Each finds at least one row in a set of 240 patients.
CASES = {
    "several admissions": "from admissions group by subject_id having count(*) > 1",
    "several stays in an admission": "from untransferred where in_admission > 1",
    "other ward": "from stays where first_wardid <> last_wardid and first_careunit = last_careunit",
    "other care unit": "from stays where first_careunit <> last_careunit",
    "missing ward": "from stays where first_wardid is null and last_wardid is not null",
    "missing wards": "from stays where first_wardid is null and last_wardid is null",
    "two stays, one transferred": "from cohort where hadm_id in "
    "(select hadm_id from stays group by hadm_id having count(*) = 2)",
    "several episodes": "from cohort group by subject_id having count(*) = 2",
    "more than ten episodes": "from cohort group by subject_id having count(*) > 10",
    "newborn": "from stays where dob = date_trunc('day', intime) and admission_type = 'NEWBORN'",
    "minor": "from stays where date_diff('day', dob, intime) between 1000 and 6000",
    "age of exactly 18 * 365 days": "from cohort where age = 18",
    "one second under 18": "from stays where epoch(intime) - epoch(dob) = 18 * 365 * 86400 - 1",
    "age of about 300": "from cohort where age between 299 and 302",
    "born after INTIME": "from cohort where years < 0 and age = 90",
    "missing OUTTIME": "from cohort where outtime is null and los is not null",
    "missing LOS": "from cohort where outtime is not null and los is null",
    "missing OUTTIME and LOS": "from cohort where outtime is null and los is null",
    "four decimals": "from cohort where regexp_matches(los_text, '^[0-9]+[.][0-9]{4}$')",
    "LOS of 2 days": "from cohort where los = 2 and epoch(outtime) - epoch(intime) = 172800",
    "LOS just below 2 days": "from cohort where los = 1.9999",
    "stay of 4 hours": "from cohort where epoch(outtime) - epoch(intime) = 4 * 3600",
    "stay of 5 hours": "from cohort where epoch(outtime) - epoch(intime) = 5 * 3600",
    "24 LOS before OUTTIME": "from cohort where epoch(outtime) - epoch(intime) - los * 86400 > 3.9",
    "death": "from cohort where death_inside and dod_inside and deathtime = dischtime",
    "death by DOD alone": "from cohort where dod_inside and deathtime is null",
    "death on the day of admission": "from cohort where death_inside and not dod_inside "
    "and deathtime > intime and deathtime < leaves + interval '1 hour'",
    "DOD before ADMITTIME": "from cohort "
    "where dod = date_trunc('day', admittime) and deathtime is null and not mortality",
    "DEATHTIME outside the admission": "from cohort "
    "where deathtime > dischtime and deathtime < outtime and not mortality",
    "DEATHTIME before INTIME": "from cohort where mortality and deathtime < intime",
    "DEATHTIME at a whole hour": "from cohort where deathtime < outtime "
    "and epoch(deathtime) - epoch(intime) = 34 * 3600",
    "equal INTIME": "from cohort group by subject_id, intime having count(distinct outtime) = 2",
    "missing ETHNICITY": "from cohort where ethnicity is null",
    "admission without stay": "from admissions where hadm_id not in (select hadm_id from icustays)",
    "both systems": "from cohort where dbsource = 'both'",
    "leading zero": "from coded where icd9_code like '0%' and phenotype_id is not null",
    "V code": "from coded where icd9_code like 'V%'",
    "E code": "from coded where icd9_code like 'E%'",
    "unknown 585": "from diagnoses_icd where icd9_code = '585'",
    "unknown 5185": "from diagnoses_icd where icd9_code = '5185'",
    "unknown 2765": "from diagnoses_icd where icd9_code = '2765'",
    "kidney disease by an unknown code only": "from cohort where hadm_id in "
    "(select hadm_id from diagnoses_icd where icd9_code = '585') and hadm_id in "
    "(select hadm_id from coded) and hadm_id not in "
    "(select hadm_id from coded where phenotype_id = '5')",
    "missing code": "from diagnoses_icd where icd9_code is null and seq_num is null",
    "no diagnosis row": "from cohort where hadm_id not in (select hadm_id from diagnoses_icd) "
    "and icustay_id in (select stay_id from series)",
    "unknown codes only": "from cohort where hadm_id in (select hadm_id from diagnoses_icd) "
    "and hadm_id not in (select hadm_id from coded) "
    "and icustay_id in (select stay_id from series)",
    "title with commas": "from d_icd_diagnoses where long_title like '%,%'",
    "title that ends in a quote": "from d_icd_diagnoses where long_title like '%\"'",
    "missing HADM_ID, known stay": "from chartevents where hadm_id is null "
    "and icustay_id in (select icustay_id from cohort)",
    "HADM_ID of a dropped stay": "from chartevents as e join stays as s "
    "using (subject_id, hadm_id) where s.icustay_id not in (select icustay_id from cohort) "
    "and subject_id in (select subject_id from cohort)",
    "HADM_ID of another subject": "from chartevents as e join admissions as a "
    "using (hadm_id) where e.subject_id <> a.subject_id",
    "missing ICUSTAY_ID": "from placed where source = 'chartevents' and icustay_id is null",
    "ICUSTAY_ID of another stay": "from chartevents as e join cohort as c "
    "using (subject_id, hadm_id) where e.icustay_id <> c.icustay_id",
    "lab before the stay": "from series where source = 'labevents' and charttime < intime",
    "lab after the stay": "from series where source = 'labevents' and charttime > outtime",
    "lab of an outpatient": "from labevents where hadm_id is null",
    "sibling's event inside": "from series as e join cohort as c on e.subject_id = c.subject_id "
    "and e.stay_id <> c.icustay_id and e.charttime between c.intime and c.outtime "
    "where e.charttime < e.intime",
    "two stays at one time": "from series group by subject_id, charttime "
    "having count(distinct stay_id) = 2",
    "subject without events": "from cohort where subject_id not in (select subject_id from events)",
    "gap in the numbering": "from cohort where episode = 1 and icustay_id not in "
    "(select stay_id from placed) and subject_id in (select subject_id from placed)",
    "all events outside": "from series group by stay_id "
    "having bool_and(charttime < intime or charttime > outtime) "
    "and bool_or(charttime < intime) and bool_or(charttime > outtime)",
    "event at INTIME": "from series where charttime = intime",
    "event at OUTTIME": "from series where charttime = outtime",
    "event at 48 hours": "from series where epoch(charttime) - epoch(intime) = 172800",
    "event a second before INTIME": "from series where epoch(charttime) - epoch(intime) = -1",
    "event at OUTTIME, past 24 LOS": "from series where charttime = outtime "
    "and epoch(charttime) - epoch(intime) > los * 86400 + 1",
    "event of the stay after 48 hours of LOS 1.9999": "from series where los = 1.9999 "
    "and epoch(charttime) - epoch(intime) = 172800",
    "exact duplicates": "from (select * exclude (row_id), count(*) as same from chartevents "
    "group by all) where same > 2",
    "tie": "from series group by subject_id, charttime, variable having count(distinct value) > 1",
    "tie of texts": "from series where variable = 'Heart Rate' group by subject_id, charttime "
    "having bool_or(value = '9') and bool_or(value = '120')",
    "tie of chart and lab": "from series where variable = 'Glucose' "
    "group by subject_id, charttime having count(distinct source) = 2",
    "other items": "from checked where source = 'chartevents' and variable is null",
    "output": "from checked where source = 'outputevents'",
    "error": "from series where error = '1'",
    "number-only subjects": "from numeric_subjects having count(*) >= 3",
    "number-only, negative first": "from first_seen join numeric_subjects using (subject_id) "
    "where variable = 'Glucose' and value = '-5'",
    "number-only, exponent first": "from first_seen join numeric_subjects using (subject_id) "
    "where variable = 'Glucose' and value = '1e2'",
    "temperature of 79": "from series where variable = 'Temperature' and value = '79'",
    "temperature of 77.5": "from series where variable = 'Temperature' and value = '77.5'",
    "long decimals": "from series where variable = 'Temperature' and length(value) > 15",
    "FiO2 fraction": "from series where variable = 'Fraction inspired oxygen' and value = '0.5' "
    "and valueuom is null",
    "FiO2 percent": "from series where variable = 'Fraction inspired oxygen' and value = '50'",
    "FiO2 torr": "from series where variable = 'Fraction inspired oxygen' "
    "and lower(valueuom) like '%torr%' and value like '.4%'",
    "saturation of at most 1": "from series where variable = 'Oxygen saturation' "
    "and value in ('.97', '0.95', '1')",
    "weight in pounds by unit": "from series where variable = 'Weight' and valueuom = 'lb'",
    "weight in ounces by unit": "from series where variable = 'Weight' and valueuom = 'oz'",
    "weight in ounces by label": "from series where itemid = '3582'",
    "height of 75 inches": "from series where itemid = '1394' and value = '75'",
    "comma and quotes": "from checked where value = 'Family called, \"will visit\" at noon'",
    "line break": "from checked where value like E'%line\\n%'",
}
TEXTS = {
    "Systolic blood pressure": ["120/80", "120/"],
    "Diastolic blood pressure": ["120/80", "/80"],
    "Glucose": [">500", "<1", "12.", ".5", "-5", " 90", "1e2", "ERROR"],
    "Glascow coma scale eye opening": ["None", "Spontaneously", "4 Spontaneously", "4"],
    "Glascow coma scale verbal response": ["1.0 ET/Trach", "5"],
    "Heart Rate": [">60/minute"],
    "Respiratory rate": ["inf"],
    "Capillary refill rate": ["Normal <3 secs", "Brisk", "Delayed", "Other/Remarks"],
}


def make(folder: Path, *, scale: int = 40, seed: int = 5, events: int = 40) -> dict[str, int]:
    return write_synthetic("mimic3", scale, seed, events, folder)


def read_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module", autouse=True)
def _in_checkout() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield


@pytest.fixture(scope="module", params=["demo", "other seed"])
def data(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = DEMO
    if request.param != "demo":
        folder = tmp_path_factory.mktemp("synth") / "mimic3"
        make(folder, scale=240, seed=11, events=60)
    connection = duckdb.connect()
    # One thread: the cases are small and the machine is shared.
    connection.execute("set threads = 1")
    reads = {name: folder / f"{name}.csv.gz" for name in COLUMNS}
    reads |= {path.stem: path for path in SEEDS.glob("*.csv")}
    for name, path in reads.items():
        connection.execute(
            f"create table {name} as select * from read_csv('{path}', header = true, "
            "all_varchar = true, delim = ',', quote = '\"', escape = '\"')"
        )
    for name in ("patients", "admissions", "icustays"):
        times = [
            column
            for (column,) in connection.execute(
                f"select column_name from (describe {name}) where column_name like '%TIME' "
                "or column_name like 'DO_' or column_name like 'DOD%'"
            ).fetchall()
        ]
        casts = ", ".join(f"{column}::timestamp as {column}" for column in times)
        extra = ", LOS as los_text" if name == "icustays" else ""
        casts += ", LOS::double as LOS" if name == "icustays" else ""
        connection.execute(
            f"create view {name}_typed as select * replace ({casts}){extra} from {name}"
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
    for number, changed in enumerate(({"seed": 6}, {"events": 41}, {"scale": 41})):
        make(tmp_path / str(number), **changed)
        for name in ("chartevents", "labevents"):
            file = f"{name}.csv.gz"
            assert (tmp_path / "a" / file).read_bytes() != (
                tmp_path / str(number) / file
            ).read_bytes()


def test_the_gzip_header_names_no_file_and_no_time(tmp_path: Path) -> None:
    make(tmp_path / "a")
    header = (tmp_path / "a" / "patients.csv.gz").read_bytes()[:8]
    assert header[3] == 0
    assert header[4:8] == bytes(4)


def test_the_demo_is_what_the_command_makes(tmp_path: Path) -> None:
    """Unpacked, since another zlib may pack the same text into other bytes."""
    made = tmp_path / "mimic3"
    write_synthetic("mimic3", DEMO_SCALE, DEMO_SEED, DEMO_EVENTS, made)
    assert [p.name for p in sorted(made.iterdir())] == [p.name for p in sorted(DEMO.iterdir())]
    for name in COLUMNS:
        file = f"{name}.csv.gz"
        assert gzip.decompress((made / file).read_bytes()) == gzip.decompress(
            (DEMO / file).read_bytes()
        ), f"{file}: make the demo again as demo/README.md says"
    notes = [json.loads((folder / "synthetic.json").read_text()) for folder in (made, DEMO)]
    for note in notes:
        del note["medeval_version"]
    assert notes[0] == notes[1]


def test_the_demo_is_small_and_large_enough(data: duckdb.DuckDBPyConnection) -> None:
    assert sum(path.stat().st_size for path in DEMO.iterdir()) < 3_000_000
    assert count(data, "from cohort") >= 200


def test_the_readme_has_the_command(tmp_path: Path) -> None:
    text = (ROOT / "demo" / "README.md").read_text(encoding="utf-8")
    command = f"synth mimic3 --scale {DEMO_SCALE} --seed {DEMO_SEED} --out demo/mimic3 --replace"
    assert command in text


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_rows_and_row_ids(data: duckdb.DuckDBPyConnection, table: str) -> None:
    found = data.execute(f"select * from {table} limit 0").description
    assert [column[0] for column in found] == ["ROW_ID", *COLUMNS[table].split()]
    assert count(data, f"from {table} where row_id::bigint <> rowid + 1") == 0
    assert count(data, f"from {table}") > 10


def test_note_has_the_row_counts(data: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    rows = make(tmp_path / "a")
    note = json.loads((tmp_path / "a" / "synthetic.json").read_text())
    assert note["rows"] == rows
    assert {key: note[key] for key in ("kind", "scale", "seed", "events_per_stay")} == {
        "kind": "mimic3",
        "scale": 40,
        "seed": 5,
        "events_per_stay": 40,
    }
    for table, expected in rows.items():
        file = tmp_path / "a" / f"{table}.csv.gz"
        source = f"from read_csv('{file}', all_varchar = true, quote = '\"', escape = '\"')"
        assert count(data, source) == expected


def test_keys_are_unique_and_point_somewhere(data: duckdb.DuckDBPyConnection) -> None:
    for table, key in (
        ("patients", "subject_id"),
        ("admissions", "hadm_id"),
        ("icustays", "icustay_id"),
        ("d_icd_diagnoses", "icd9_code"),
        ("d_items", "itemid"),
        ("d_labitems", "itemid"),
    ):
        assert count(data, f"from {table} group by {key} having count(*) > 1") == 0
    assert count(data, "from icustays") == count(data, "from stays")
    assert count(data, "from events anti join patients using (subject_id)") == 0
    for table, dictionary in (("chartevents", "d_items"), ("labevents", "d_labitems")):
        assert count(data, f"from {table} anti join {dictionary} using (itemid)") == 0
    assert count(data, "from patients where subject_id::int not between 1 and 99999") == 0


def test_times_are_written_in_full(data: duckdb.DuckDBPyConnection) -> None:
    shape = "'^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$'"
    for source in ("events", "chartevents", "outputevents"):
        column = "charttime" if source == "events" else "storetime"
        assert count(data, f"from {source} where not regexp_matches({column}, {shape})") == 0
    assert count(data, f"from patients where not regexp_matches(dob, {shape})") == 0
    assert count(data, "from patients where dob not like '% 00:00:00'") == 0


def test_los_agrees_with_the_times(data: duckdb.DuckDBPyConnection) -> None:
    away = "abs((epoch(outtime) - epoch(intime)) / 86400 - los)"
    assert count(data, f"from stays where {away} > 0.0000500001") == 0


@pytest.mark.parametrize("case", CASES)
def test_special_case_is_there(data: duckdb.DuckDBPyConnection, case: str) -> None:
    assert count(data, CASES[case]) > 0


def test_the_events_are_those_of_known_cases() -> None:
    assert {row["case"] for row in read_rows(DATA / "mimic3_events.csv")} <= {*KNOWN_CASES.names}


@pytest.mark.parametrize("variable", TEXTS)
def test_texts_are_there(data: duckdb.DuckDBPyConnection, variable: str) -> None:
    for text in TEXTS[variable]:
        found = data.execute(
            "select count(*) from series where variable = ? and value = ?", [variable, text]
        ).fetchone()
        assert found is not None
        assert found[0] > 0, text


def test_missing_texts_are_there(data: duckdb.DuckDBPyConnection) -> None:
    for text in ("NA", "NULL", "nan"):
        assert count(data, f"from placed where variable is not null and value = '{text}'") > 0
    assert count(data, "from placed where variable is not null and value is null") > 0


def test_all_items_appear(data: duckdb.DuckDBPyConnection) -> None:
    assert count(data, "from (select distinct itemid from series)") == 114


def test_most_subjects_have_texts(data: duckdb.DuckDBPyConnection) -> None:
    subjects = count(data, "from (select distinct subject_id from checked)")
    assert count(data, "from numeric_subjects") < subjects / 10


def test_parts_are_filled(data: duckdb.DuckDBPyConnection) -> None:
    parts = dict(
        data.execute("select part, count(distinct subject_id) from listed group by 1").fetchall()
    )
    assert parts["train"] > 100
    assert parts["val"] > 20
    assert parts["test"] > 40


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_both_classes(data: duckdb.DuckDBPyConnection, part: str) -> None:
    here = f"from listed where part = '{part}'"
    for phenotype in range(1, 26):
        having = f"hadm_id in (select hadm_id from coded where phenotype_id = '{phenotype}')"
        assert count(data, f"{here} and {having}") > 0, phenotype
        assert count(data, f"{here} and not {having}") > 0, phenotype
    for mortality in ("mortality", "not mortality"):
        assert count(data, f"{here} and los >= 2 and {mortality}") > 0
    dying = "epoch(deathtime) - epoch(intime) between 6 * 3600 and los * 86400"
    assert count(data, f"{here} and mortality and {dying}") > 0


def test_death_can_be_predicted(data: duckdb.DuckDBPyConnection) -> None:
    means = dict(
        data.execute(
            "select mortality, avg(valuenum::double) from labevents join cohort "
            "using (subject_id, hadm_id) where itemid = '50813' group by 1"
        ).fetchall()
    )
    assert means[True] > means[False] + 1


def test_subjects_are_drawn_from_the_whole_range(tmp_path: Path) -> None:
    make(tmp_path / "a", scale=20, events=1)
    lines = gzip.decompress((tmp_path / "a" / "patients.csv.gz").read_bytes()).decode().split("\n")
    subjects = [int(line.split(",")[1]) for line in lines[1:-1]]
    assert len(set(subjects)) == 20
    assert subjects == sorted(subjects)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mimic5", "--scale", "20", "--seed", "1"], "Unknown kind 'mimic5'"),
        (["mimic3", "--scale", "19", "--seed", "1"], "--scale 19 is not possible"),
        (["mimic3", "--scale", "100000", "--seed", "1"], "--scale 100000 is not possible"),
        (["mimic3", "--scale", "20", "--seed", "-1"], "--seed -1 is negative"),
        (
            ["mimic3", "--scale", "20", "--seed", "1", "--events-per-stay", "0"],
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
    assert run_cli(monkeypatch, [*arguments, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"medeval: {sentence}")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["mimic3", "--scale", "20", "--seed", "1", "--events-per-stay", "5"]
    out = tmp_path / "out"
    out.mkdir()
    assert run_cli(monkeypatch, [*arguments, "--out", str(out)]) == 0
    before = read_bytes(out)
    assert run_cli(monkeypatch, [*arguments, "--out", str(out)]) == 2
    assert "exists and is not empty" in capsys.readouterr().err
    assert run_cli(monkeypatch, [*arguments, "--out", str(out), "--replace"]) == 0
    assert read_bytes(out) == before

    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    assert run_cli(monkeypatch, [*arguments, "--out", str(other), "--replace"]) == 2
    assert "was not written by this command" in capsys.readouterr().err
    assert (other / "thesis.txt").read_text() == "mine"

    assert run_cli(monkeypatch, [*arguments, "--out", str(other / "thesis.txt")]) == 2
    assert "is a file" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_a_failed_run_leaves_the_old_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    make(out, scale=20, events=5)
    before = read_bytes(out)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CsvFile, "write_columns", full)
    arguments = ["mimic3", "--scale", "20", "--seed", "2", "--out", str(out), "--replace"]
    assert run_cli(monkeypatch, arguments) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert read_bytes(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def run_cli(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> int:
    monkeypatch.setattr(sys, "argv", ["medeval", "synth", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


@pytest.mark.parametrize(
    ("place", "status", "sentence"),
    [
        ("elsewhere", 2, "No dbt_project.yml in "),
        ("bare project", 2, "bare project has no folder tools/synth, which makes synthetic data"),
        ("checkout", 0, ""),
    ],
)
def test_the_installed_package_needs_a_checkout(
    tmp_path: Path, place: str, status: int, sentence: str
) -> None:
    shutil.copytree(ROOT / "python" / "medeval", tmp_path / "installed" / "medeval")
    folder = tmp_path / place
    folder.mkdir()
    if place == "bare project":
        shutil.copy(ROOT / "dbt_project.yml", folder)
    done = run_medeval(
        *("synth", "mimic3", "--scale", "20", "--seed", "1", "--events-per-stay", "5"),
        *("--out", tmp_path / "out"),
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=ROOT if place == "checkout" else folder,
    )
    assert done.returncode == status
    assert sentence in done.stderr
    assert done.stderr.count("\n") == (status == 2)
    assert (tmp_path / "out").is_dir() == (status == 0)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's peak memory")
def test_memory_does_not_grow_with_events(tmp_path: Path) -> None:
    """Ten pieces and more in less than 300 MB, libraries included."""
    program = f"""
from pathlib import Path
from synth.run import write_synthetic
rows = write_synthetic("mimic3", 200, 3, 4000, Path({str(tmp_path / "out")!r}))
status = Path("/proc/self/status").read_text()
print(sum(rows.values()), status.split("VmHWM:")[1].split()[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "tools",
        check=True,
        capture_output=True,
        text=True,
    )
    rows, peak = map(int, done.stdout.split())
    assert rows > 1_000_000
    assert peak < 300_000  # kB
