"""`python -m medeval export --task cdm`, from hand-made tables."""

from __future__ import annotations

import json
import math
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from export_tables import (
    BUILDS,
    Tables,
    build,
    fill_duckdb,
    fill_postgres,
    manifest,
    refusal,
    run,
    warehouse_folder,
)
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.case_json import float8_text
from medeval.models.clinical_case import ClinicalCase

RANKED = "charttime timestamp, sequence_num integer"
# The layout of the published tables; a build may add columns.
LAYOUT = {
    "cdm.cdm_cases": (
        "hadm_id integer, list_position integer, pathology text, age integer, gender text,"
        " age_at_admission integer, has_demographics boolean, history_of_present_illness text,"
        " physical_exams text, extract_source text, data_class text"
    ),
    "cdm.cdm_case_issues": (
        "hadm_id integer, issue text, in_first_only boolean, in_extended boolean"
    ),
    "cdm.cdm_lab_results": (
        "hadm_id integer, labevent_id integer, itemid integer, test_name text, fluid text,"
        " category text, valuenum double precision, value_text text, value_origin text, unit text,"
        f" flag text, ref_range_lower double precision, ref_range_upper double precision, {RANKED}"
    ),
    "cdm.cdm_microbiology_events": (
        "hadm_id integer, test_itemid integer, test_name text, spec_type_desc text,"
        f" organism_name text, comments text, {RANKED}"
    ),
    "cdm.cdm_radiology_reports": (
        "hadm_id integer, note_id text, exam_name text, modality text, region text, text text,"
        f" {RANKED}"
    ),
    "cdm.cdm_diagnoses": "hadm_id integer, seq_num integer, title text, is_primary boolean",
    "cdm.cdm_treatments": (
        "hadm_id integer, position integer, title text, icd_code text, is_coded boolean"
    ),
    "cdm.cdm_build_settings": (
        "rules text, extract_source text, cohort_source text, cohort_file text"
    ),
    "cdm.cdm_lab_test_mapping": (
        "itemid integer, label text, fluid text, category text, result_count bigint,"
        " corresponding_ids text"
    ),
    "cdm.cdm_data_class": "data_class text, patients_md5 text, edition text",
    "medeval.builds": BUILDS,
}
for _events in ("lab_results", "microbiology_events", "radiology_reports"):
    LAYOUT[f"cdm.cdm_first_{_events}"] = LAYOUT[f"cdm.cdm_{_events}"]
FIRST, SECOND, LOST = 20000007, 20000001, 20000005
Export = Callable[..., Path]


def at(day: int, hour: int = 8) -> str:
    return f"2150-01-{day:02d} {hour:02d}:00:00"


def lab(hadm_id: int, event: int, **cells: Any) -> list[object]:
    row: dict[str, Any] = {
        "itemid": 51301,
        "test_name": "White Blood Cells",
        "fluid": "Blood",
        "category": "Hematology",
        "valuenum": 15.2,
        "value_text": None,
        "value_origin": "valuenum",
        "unit": "K/uL",
        "flag": "abnormal",
        "ref_range_lower": 4.0,
        "ref_range_upper": 11.0,
        "charttime": at(1),
        "sequence_num": 1,
    }
    assert cells.keys() <= row.keys()
    return [hadm_id, event, *(row | cells).values()]


def report(hadm_id: int, note_id: str, **cells: Any) -> list[object]:
    row: dict[str, Any] = {
        "exam_name": "CT ABDOMEN",
        "modality": "CT",
        "region": "Abdomen",
        "text": "FINDINGS: Fat stranding.",
        "charttime": at(1),
        "sequence_num": 1,
    }
    assert cells.keys() <= row.keys()
    return [hadm_id, note_id, *(row | cells).values()]


def culture(hadm_id: int, test_itemid: int | None, **cells: Any) -> list[object]:
    row: dict[str, Any] = {
        "test_name": "Blood Culture",
        "spec_type_desc": "BLOOD CULTURE",
        "organism_name": "ESCHERICHIA COLI",
        "comments": None,
        "charttime": at(1),
        "sequence_num": 1,
    }
    assert cells.keys() <= row.keys()
    return [hadm_id, test_itemid, *(row | cells).values()]


def settings(rules: str) -> list[Any]:
    return [[rules, "auto", "list", "/data/list.txt"]]


def base(rules: str = "reference") -> Tables:
    """Three cases: the first of the list has the largest id, the second is one that gets lost."""
    labs = [
        lab(FIRST, 4, itemid=50956, test_name="Lipase", charttime=None, valuenum=12.0),
        lab(FIRST, 1, itemid=51301, charttime=at(1)),
        lab(
            *(FIRST, 5),
            itemid=50000,
            valuenum=None,
            value_text="NEG",
            value_origin="value",
            ref_range_lower=None,
            ref_range_upper=None,
            flag=None,
            fluid=None,
            category=None,
            charttime=at(3),
        ),
        lab(LOST, 9, test_name=None),
        lab(SECOND, 8, valuenum=None, value_text="abnormal", value_origin="flag"),
    ]
    cultures = [culture(FIRST, 90201, charttime=None), culture(LOST, 90201)]
    reports = [report(FIRST, "1-RR-9", text="FINDINGS: \x07 \\ ok")]
    return {
        "cdm.cdm_cases": [
            [SECOND, 3, None, None, None, None, False, "", "", None, "open"],
            [LOST, 2, "pancreatitis", 60, "M", 61, True, "Pain.", "Soft.", "provided", "open"],
            [
                *(FIRST, 1, "appendicitis", 44, "F", 45, True),
                *('Pain, "sharp".  Past Medical History: \u2028é', "Tender.", "provided", "open"),
            ],
        ],
        "cdm.cdm_case_issues": [
            [LOST, "past_history_missing", True, True],
            [LOST, "lab_name_missing", False, True],
            [FIRST, "culture_test_id_missing", False, False],
        ],
        "cdm.cdm_lab_results": [*labs, lab(FIRST, 3, charttime=at(2), sequence_num=2)],
        "cdm.cdm_first_lab_results": [*labs, lab(FIRST, 2, itemid=50912, charttime=at(1))],
        "cdm.cdm_microbiology_events": [*cultures, culture(FIRST, 90201, sequence_num=2)],
        "cdm.cdm_first_microbiology_events": cultures,
        "cdm.cdm_radiology_reports": [*reports, report(FIRST, "1-AR-11", sequence_num=2)],
        "cdm.cdm_first_radiology_reports": [*reports, report(FIRST, "1-RR-10")],
        "cdm.cdm_diagnoses": [
            [FIRST, 3, "Sepsis", True],
            [FIRST, 2, "Old stroke", False],
            [FIRST, 1, "Acute appendicitis", True],
        ],
        "cdm.cdm_treatments": [
            [FIRST, 2, "drainage", None, False],
            [FIRST, 1, "laparoscopic appendectomy", "4701", True],
        ],
        "cdm.cdm_lab_test_mapping": [
            [51478, "Glucose", "Urine", "Hematology", 3, "50931,51478"],
            [50931, "Glucose", "Blood", "Chemistry", 12, "50931,51478"],
            [90201, "Blood Culture, Routine", None, None, 1, "90201"],
            [90201, "BLOOD CULTURE é", None, None, 0, "90201"],
        ],
        "cdm.cdm_build_settings": settings(rules),
        "cdm.cdm_data_class": [["open", "abc", "demo"]],
        "medeval.builds": [build(1, floor="cdm")],
    }


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return warehouse_folder(tmp_path, monkeypatch)


@pytest.fixture
def export(database: Path, tmp_path: Path) -> Export:
    """Fill the warehouse with tables, export, and return the folder."""

    def function(tables: Tables, *args: str | Path) -> Path:
        fill_duckdb(database, LAYOUT, tables)
        assert run("--task", "cdm", "--out", tmp_path / "out", *args) == 0
        return tmp_path / "out" / "cdm"

    return function


def cases(folder: Path) -> list[dict[str, Any]]:
    return list(json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))["cases"])


def task(folder: Path) -> dict[str, Any]:
    return dict(manifest(folder)["tasks"]["cdm"])


def read_lines(path: Path) -> list[str]:
    # U+2028 ends no line of JSONL.
    return path.read_text(encoding="utf-8").split("\n")[:-1]


# The layout


def test_the_benchmark_is_written_as_json_dumps_writes_it(export: Export) -> None:
    for rules in ("reference", "specification"):
        folder = export(base(rules))
        text = (folder / "benchmark.json").read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        assert "\u2028é" in text
        lines = read_lines(folder / "benchmark.jsonl")
        assert [json.loads(line) for line in lines] == cases(folder)


def result(itemid: int, value: str, charttime: str | None, number: int = 1, **more: Any) -> Any:
    """Return a laboratory result as the reference writes it."""
    return {
        "itemid": itemid,
        "test_name": "White Blood Cells",
        "fluid": "Blood",
        "category": "Hematology",
        "value": value,
        "ref_range_lower": 4.0,
        "ref_range_upper": 11.0,
        "charttime": charttime,
        "sequence_num": number,
        **more,
    }


def test_a_case_of_the_reference(export: Export) -> None:
    (first, second) = cases(export(base()))
    nothing = dict.fromkeys(("fluid", "category", "ref_range_lower", "ref_range_upper"))
    assert first == {
        "hadm_id": FIRST,
        "pathology": "appendicitis",
        "demographics": {"age": 44, "gender": "F"},
        "patient_history": 'Pain, "sharp".  Past Medical History: \u2028é',
        "lab_results": [
            result(51301, "15.2 K/uL", "2150-01-01T08:00:00"),
            result(51301, "15.2 K/uL", "2150-01-02T08:00:00", 2),
            result(50000, "NEG K/uL", "2150-01-03T08:00:00", **nothing),
            result(50956, "12 K/uL", None, test_name="Lipase"),
        ],
        "microbiology_events": [
            {
                "test_itemid": 90201,
                "test_name": "Blood Culture",
                "spec_type_desc": "BLOOD CULTURE",
                "organism_name": "ESCHERICHIA COLI",
                "comments": None,
                "charttime": charttime,
                "sequence_num": number,
            }
            for charttime, number in (("2150-01-01T08:00:00", 2), (None, 1))
        ],
        "radiology_reports": [
            {
                "note_id": note_id,
                "exam_name": "CT ABDOMEN",
                "region": "Abdomen",
                "modality": "CT",
                "text": text,
                "charttime": "2150-01-01T08:00:00",
                "sequence_num": number,
            }
            for note_id, text, number in (
                ("1-AR-11", "FINDINGS: Fat stranding.", 2),
                ("1-RR-9", "FINDINGS: \x07 \\ ok", 1),
            )
        ],
        "physical_exam_text": "Tender.",
        "ground_truth": {
            "primary_diagnosis": ["Acute appendicitis", "Sepsis"],
            "treatments": [
                {"title": "laparoscopic appendectomy", "icd_code": "4701", "is_coded": True},
                {"title": "drainage", "icd_code": None, "is_coded": False},
            ],
        },
    }
    # Without extracts, without an admission row, with nothing but one flag for a value.
    empty = {"lab_results": [result(51301, "abnormal", "2150-01-01T08:00:00")]}
    assert second == {
        "hadm_id": SECOND,
        **dict.fromkeys(("pathology", "demographics")),
        **dict.fromkeys(("patient_history", "physical_exam_text"), ""),
        **empty,
        "microbiology_events": [],
        "radiology_reports": [],
        "ground_truth": {"primary_diagnosis": [], "treatments": []},
    }
    assert list(first) == list(second)


def test_first_only_has_the_first_results_of_any_day(export: Export) -> None:
    (first, _) = cases(export(base(), "--first-only"))
    assert [row["itemid"] for row in first["lab_results"]] == [50912, 51301, 50000, 50956]
    assert [row["note_id"] for row in first["radiology_reports"]] == ["1-RR-10", "1-RR-9"]
    assert [row["charttime"] for row in first["microbiology_events"]] == [None]


def test_a_case_of_the_specification_says_what_it_is(export: Export) -> None:
    folder = export(base("specification"), "--first-only")
    first, lost, second = cases(folder)
    assert list(first) == [
        *("hadm_id", "pathology", "demographics", "history_of_present_illness", "lab_results"),
        *("microbiology_events", "radiology_reports", "physical_exams", "ground_truth"),
        *("data_class", "provenance"),
    ]
    assert first["demographics"] == {"age": 44, "gender": "F", "age_at_admission": 45}
    assert first["data_class"] == "open"
    assert first["provenance"] == {
        "rules": "specification",
        "mode": "first_only",
        "extract_source": "provided",
    }
    assert second["provenance"]["extract_source"] is None
    assert list(first["lab_results"][0]) == [
        *("itemid", "test_name", "fluid", "category", "value", "unit", "flag"),
        *("ref_range_lower", "ref_range_upper", "charttime", "sequence_num"),
    ]
    assert first["lab_results"][2]["value"] == "NEG K/uL"
    assert (first["lab_results"][2]["unit"], first["lab_results"][2]["flag"]) == ("K/uL", None)
    # Nothing is left out, and what the reference would trip over is counted.
    assert lost["lab_results"][0]["test_name"] is None
    assert task(folder)["issues"] == {"past_history_missing": 1}
    assert task(folder)["skipped"] == []
    assert not (folder / "cases_provenance.jsonl").exists()


def test_the_reference_has_class_and_provenance_in_a_file_beside_it(export: Export) -> None:
    folder = export(base())
    found = [json.loads(line) for line in read_lines(folder / "cases_provenance.jsonl")]
    provenance = {"rules": "reference", "mode": "extended"}
    assert found == [
        {
            "hadm_id": hadm_id,
            "data_class": "open",
            "provenance": {**provenance, "extract_source": source},
        }
        for hadm_id, source in ((FIRST, "provided"), (SECOND, None))
    ]


def test_tests_by_name_stand_beside_the_cases(export: Export) -> None:
    text = (export(base()) / "lab_test_mapping.json").read_text(encoding="utf-8")
    assert text.count("\n") == 6
    assert [list(test.values()) for test in json.loads(text)] == [
        [50931, "Glucose", "Blood", "Chemistry", 12, [50931, 51478]],
        [51478, "Glucose", "Urine", "Hematology", 3, [50931, 51478]],
        [90201, "BLOOD CULTURE é", None, None, 0, [90201]],
        [90201, "Blood Culture, Routine", None, None, 1, [90201]],
    ]
    assert list(json.loads(text)[0]) == [
        *("itemid", "label", "fluid", "category", "count", "corresponding_ids"),
    ]


@pytest.mark.parametrize("data_class", ["credentialed", "OPEN", "", None])
def test_what_is_not_plainly_open_is_credentialed(export: Export, data_class: str | None) -> None:
    tables = base("specification")
    tables["cdm.cdm_cases"] = [[*row[:-1], data_class] for row in tables["cdm.cdm_cases"]]
    tables["cdm.cdm_data_class"] = [[data_class, "abc", None]]
    folder = export(tables)
    assert {case["data_class"] for case in cases(folder)} == {"credentialed"}
    assert manifest(folder)["data_class"] == "credentialed"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


# What is left out, and what is said of it


def test_what_the_reference_loses_is_left_out_counted_and_named(
    export: Export, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export(base())
    assert [case["hadm_id"] for case in cases(folder)] == [FIRST, SECOND]
    found = task(folder)
    assert found["skipped"] == [
        {"hadm_id": LOST, "issues": ["lab_name_missing", "past_history_missing"]}
    ]
    assert found["issues"] == {"lab_name_missing": 1, "past_history_missing": 1}
    assert found["cases"] == 2
    assert found["listed"] == 3
    said = capsys.readouterr()
    assert "1 cases that the reference loses" in said.out
    assert "no case of cholecystitis, diverticulitis, pancreatitis" in said.err
    # The lab without a name is not in this mode.
    assert task(export(base(), "--first-only"))["skipped"] == [
        {"hadm_id": LOST, "issues": ["past_history_missing"]}
    ]


def test_the_first_of_the_list_not_of_what_is_left(export: Export) -> None:
    assert [case["hadm_id"] for case in cases(export(base(), "--num-cases", "1"))] == [FIRST]
    two = export(base(), "--num-cases", "2")
    assert [case["hadm_id"] for case in cases(two)] == [FIRST]
    assert task(two)["num_cases"] == task(two)["read"] == 2
    specified = export(base("specification"), "--num-cases", "2")
    assert [case["hadm_id"] for case in cases(specified)] == [FIRST, LOST]


def test_more_cases_than_the_list_has_means_all_and_a_warning(
    export: Export, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export(base(), "--num-cases", "4")
    assert "--num-cases 4, but the list has 3 admissions: all of them" in capsys.readouterr().err
    assert len(cases(folder)) == 2
    assert (task(folder)["num_cases"], task(folder)["read"]) == (4, 3)
    export(base(), "--num-cases", "3")
    assert "--num-cases" not in capsys.readouterr().err


# Refusals


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--task", "cdm", "--num-cases", "0"], "--num-cases is 0; it can be 1 or more"),
        (["--first-only", "--extended"], "exclude each other"),
        (["--task", "ihm", "--num-cases", "3"], "--num-cases: for cdm only"),
        (["--task", "mimic3", "--first-only"], "--first-only: for cdm only"),
        (["--task", "cdm", "--timeseries"], "--timeseries: for mimic3 only"),
        (["--task", "cdm", "--order", "reference"], "--order: for mimic3 only"),
    ],
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str], database: Path, args: list[str], message: str
) -> None:
    assert message in refusal(capsys, *args)


ALL_LOST = [[hadm_id, "history_missing", True, True] for hadm_id in (FIRST, SECOND, LOST)]


@pytest.mark.parametrize(
    ("table", "rows", "said"),
    [
        ("cdm.cdm_cases", [], "no admission is in the cohort"),
        ("cdm.cdm_case_issues", ALL_LOST, "the reference loses all 3 (history_missing 3)"),
        ("medeval.builds", [build(2, succeeded=False, floor="cdm")], "last build of cdm failed"),
        *((name, None, name) for name in LAYOUT if name.startswith("cdm.")),
    ],
)
def test_tables_that_cannot_be_exported_are_named_and_the_export_before_stays(
    capsys: pytest.CaptureFixture[str],
    database: Path,
    export: Export,
    table: str,
    rows: list[Any] | None,
    said: str,
) -> None:
    before = (export(base()) / "benchmark.json").read_bytes()
    tables = base()
    if rows is None:
        del tables[table]
    else:
        tables[table] = rows
    fill_duckdb(database, LAYOUT, tables)
    out = database.parent / "out"
    assert said in refusal(capsys, "--task", "cdm", "--out", out)
    assert (out / "cdm" / "benchmark.json").read_bytes() == before


# Engines


def test_postgres_gives_the_same_bytes_as_duckdb(
    export: Export,
    postgres_database: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in postgres_database.items():
        monkeypatch.setenv(variable, value)
    tables = base()
    schemas = ("cdm_note_extract", "mimiciv_hosp", "mimiciv_note")
    place = "; ".join(f"{postgres_database['PGDATABASE']}.{schema}" for schema in schemas)
    tables["medeval.builds"] = [[*build(1, floor="cdm")[:-3], "schema", place, True]]
    fill_postgres(postgres_database, LAYOUT, tables)
    files = (
        *("benchmark.json", "benchmark.jsonl", "cases_provenance.jsonl"),
        "lab_test_mapping.json",
    )
    for args in ([], ["--first-only"], ["--num-cases", "1"]):
        folder = export(base(), *args)
        out = tmp_path / "postgres"
        assert run("--task", "cdm", "--target", "postgres", "--out", out, *args) == 0
        for name in files:
            assert (folder / name).read_bytes() == (out / "cdm" / name).read_bytes()


# Pure functions


@pytest.mark.parametrize(
    ("number", "text"),
    [
        # Case C-39.
        (1.0, "1"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        # The edges of the form without an exponent.
        (0.0001, "0.0001"),
        (0.000099, "9.9e-05"),
        (999999999999999.9, "999999999999999.9"),
        (-1e15, "-1e+15"),
        (1234567890123456.0, "1.234567890123456e+15"),
        (123456789012345680.0, "1.2345678901234568e+17"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        # Half-way between two doubles: PostgreSQL takes no digits that are.
        (1e23, "9.999999999999999e+22"),
        (-0.0, "-0"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_double_as_text(number: float, text: str) -> None:
    assert float8_text(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_reads_back_to_it(number: float) -> None:
    text = float8_text(number)
    assert struct.pack("<d", float(text)) == struct.pack("<d", number)
    assert not text.endswith(".0")
    has_exponent = number != 0 and not 1e-4 <= abs(number) < 1e15
    assert ("e" in text) == has_exponent
    digits = len(text.split("e")[0].replace(".", "").strip("-0"))
    shortest = len(repr(number).split("e")[0].replace(".", "").strip("-0"))
    assert shortest <= digits <= max(17, shortest)


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ({"valuenum": 1e-5, "ref_range_lower": math.inf, "unit": None}, "1e-05"),
        ({"valuenum": math.nan, "ref_range_lower": math.nan, "unit": "%"}, "NaN %"),
        ({"value_origin": "value", "value_text": 'a "b"\\', "unit": "µ\t"}, 'a "b"\\ µ\t'),
        ({"value_origin": "comments", "value_text": "HOLD. \x1f"}, "HOLD. \x1f"),
    ],
)
def test_the_value_of_a_lab(export: Export, cells: dict[str, Any], value: str) -> None:
    tables = base()
    shown = {"valuenum": None, "ref_range_lower": None, "ref_range_upper": 1e-5, **cells}
    tables["cdm.cdm_lab_results"] = [lab(FIRST, 1, **shown)]
    (result,) = cases(export(tables))[0]["lab_results"]
    assert (result["ref_range_lower"], result["ref_range_upper"]) == (None, 1e-5)
    assert result["value"] == value


def test_every_exported_case_is_a_clinical_case(export: Export) -> None:
    for rules in ("reference", "specification"):
        for line in read_lines(export(base(rules)) / "benchmark.jsonl"):
            case = ClinicalCase.model_validate_json(line)
            written = case.as_json("reference" if rules == "reference" else "specification")
            assert json.dumps(written) == json.dumps(json.loads(line))
