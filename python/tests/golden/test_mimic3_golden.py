"""The MIMIC-III floor against what the benchmark's own programs made of the MIMIC-III demo."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from builds import Build

pytestmark = pytest.mark.slow

TASKS = ("in_hospital_mortality", "decompensation", "length_of_stay", "phenotyping", "multitask")
LISTFILES = [f"{part}listfile.csv" for part in ("train/", "test/", "train_", "val_", "test_")]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "mimic3_demo"


@pytest.fixture(scope="module", params=["duckdb", "postgres"])
def build(request: pytest.FixtureRequest) -> Build:
    built: Build = request.getfixturevalue(f"open_demo_{request.param}")
    return built


@pytest.fixture(scope="module")
def reference_export(build: Build) -> Path:
    return build.export("--order", "reference", "--timeseries")


def read(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


@pytest.mark.parametrize("task", TASKS)
def test_listfiles_equal_the_golden(golden: Path, reference_export: Path, task: str) -> None:
    for name in LISTFILES:
        exported = (reference_export / task / name).read_bytes()
        assert exported == (golden / task / name).read_bytes(), name


def test_time_series_equal_the_golden_cell_for_cell(golden: Path, reference_export: Path) -> None:
    expected: dict[tuple[str, str], list[list[str]]] = {}
    with gzip.open(golden / "root_timeseries.csv.gz", "rt", newline="") as file:
        header, *lines = csv.reader(file)
    for subject, episode, *cells in lines:
        expected.setdefault((subject, episode), []).append(cells)
    files = list(reference_export.glob("root/*/*/episode*_timeseries.csv"))
    assert len(files) == len(expected) == 114
    for path in files:
        episode = path.name.removeprefix("episode").removesuffix("_timeseries.csv")
        found_header, *found = read(path)
        assert found_header == header[2:]
        assert found == expected[path.parent.name, episode], path


def test_counters_of_the_event_check_equal_the_golden(golden: Path, build: Build) -> None:
    expected = {
        name: int(value) for name, value in list(read(golden / "validate_events_counts.csv"))[1:]
    }
    rows = build.rows(f"select {', '.join(expected)} from mimic3.int_mimic3__event_check_counters")
    assert dict(zip(expected, rows[0], strict=True)) == expected


def test_attrition_has_the_golden_counts_after_each_step(golden: Path, build: Build) -> None:
    units = {"icustay_id": "stays", "hadm_id": "admissions", "subject_id": "subjects"}
    rules = {
        "drop_transfers": "transfer",
        "one_stay_per_admission": "several_stays_in_admission",
        "adults": "minor",
    }
    rows = build.rows(
        "select unit, rule, rows_in, rows_out from mimic3.mimic3_attrition where stage = 'cohort'"
    )
    before = {(unit, rule): rows_in for unit, rule, rows_in, _ in rows}
    after = {(unit, rule): rows_out for unit, rule, _, rows_out in rows}
    for step, identifier, count in list(read(golden / "cohort_counts.csv"))[1:]:
        unit = units[identifier]
        found = before[unit, "transfer"] if step == "start" else after[unit, rules[step]]
        assert found == int(count), (step, unit)


def test_the_demo_is_open_data_of_a_known_edition(build: Build) -> None:
    assert build.rows("select data_class, edition from mimic3.mimic3_data_class") == [
        ("open", "MIMIC-III demo 1.4")
    ]
    assert build.rows("select distinct edition from mimic3.mimic3_source_tables") == [
        ("MIMIC-III demo 1.4",)
    ]
