"""`oracles/patient_by_patient.py`, a second way to the MIMIC-III listfiles, beside the SQL.

It is written from the benchmark's rules and shares no code with the models, so that where both
agree, a slip of one of them is unlikely.
"""

from __future__ import annotations

import csv
import gzip
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from commands import run_dbt, run_medeval

pytestmark = pytest.mark.slow

TASKS = ("in_hospital_mortality", "decompensation", "length_of_stay", "phenotyping", "multitask")
PARTITIONS = ("train", "test")
Rows = list[list[str]]


def patient_by_patient(source: Path, folder: Path) -> Path:
    program = Path(__file__).parent / "oracles" / "patient_by_patient.py"
    series = ["--timeseries", str(folder / "timeseries")]
    subprocess.run(
        [sys.executable, str(program), str(source), str(folder / "listfiles"), *series], check=True
    )
    return folder


@pytest.fixture(scope="module")
def of_shared_demo(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    return patient_by_patient(shared / "data" / "mimic3_demo", folder)


@pytest.fixture(scope="module")
def of_demo(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return patient_by_patient(project_root / "demo" / "mimic3", tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the models and the export make of demo/mimic3."""
    folder = tmp_path_factory.mktemp("warehouse")
    warehouse = {"MEDEVAL_DUCKDB": str(folder / "medeval.duckdb")}
    kinds = ["--resource-type", "seed", "--resource-type", "model"]
    build = run_dbt("build", "--select", "mimic3", *kinds, env=warehouse)
    assert build.returncode == 0, build.stdout
    export = run_medeval("export", "--timeseries", "--out", folder, env=warehouse)
    assert export.returncode == 0, export.stderr
    return folder / "mimic3"


def read_rows(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def golden_time_series(path: Path) -> Iterator[tuple[str, Rows]]:
    """Split the stacked time series into (name of the stay, rows with the header)."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)[2:]
        for (subject, episode), rows in groupby(reader, key=lambda row: (row[0], row[1])):
            name = f"{subject}_episode{episode}_timeseries.csv"
            yield name, [header, *(row[2:] for row in rows)]


def same_cell(ours: str, theirs: str) -> bool:
    """Equal texts, or numbers within 1e-12 (the contract's tolerance for time series)."""
    if ours == theirs:
        return True
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-12)
    except ValueError:
        return False


def differing_cells(ours: Rows, theirs: Rows) -> list[tuple[str, str]]:
    assert [len(row) for row in ours] == [len(row) for row in theirs]
    return [
        (mine, other)
        for pair in zip(ours, theirs, strict=True)
        for mine, other in zip(*pair, strict=True)
        if not same_cell(mine, other)
    ]


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("task", TASKS)
def test_rows_are_those_of_the_golden_listfiles(
    task: str, partition: str, of_shared_demo: Path, shared: Path
) -> None:
    place = Path(task) / partition / "listfile.csv"
    golden = read_rows(shared / "golden" / "mimic3_demo" / place)
    rows = read_rows(of_shared_demo / "listfiles" / place)
    assert rows[0] == golden[0]
    assert Counter(map(tuple, rows)) == Counter(map(tuple, golden))


def test_time_series_are_the_golden_ones(of_shared_demo: Path, shared: Path) -> None:
    path = shared / "golden" / "mimic3_demo" / "root_timeseries.csv.gz"
    golden = dict(golden_time_series(path))
    folder = of_shared_demo / "timeseries"
    assert {file.name for file in folder.iterdir()} == golden.keys()
    assert len(golden) == 114
    for name, rows in golden.items():
        assert differing_cells(read_rows(folder / name), rows) == [], name


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("task", TASKS)
def test_sql_gives_the_same_listfile_byte_for_byte(
    task: str, partition: str, of_demo: Path, exported: Path
) -> None:
    place = Path(task) / partition / "listfile.csv"
    assert (exported / place).read_bytes() == (of_demo / "listfiles" / place).read_bytes()


def test_sql_gives_the_same_time_series(of_demo: Path, exported: Path) -> None:
    ours = {path.name: path for path in (of_demo / "timeseries").iterdir()}
    theirs = {
        f"{path.parent.name}_{path.name}": path
        for path in (exported / "root").glob("*/*/episode*_timeseries.csv")
    }
    assert ours.keys() == theirs.keys()
    assert len(ours) > 200
    for name, path in ours.items():
        assert differing_cells(read_rows(path), read_rows(theirs[name])) == [], name
