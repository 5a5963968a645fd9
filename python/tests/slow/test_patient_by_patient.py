"""`oracles/patient_by_patient.py`, a second way to the MIMIC-III listfiles, beside the SQL.

It is written from the benchmark's rules and shares no code with the models, so that where both
agree, a slip of one of them is unlikely.
"""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from itertools import chain, product
from pathlib import Path

import pytest
from builds import Build
from commands import PROJECT_ROOT

pytestmark = pytest.mark.slow

TASKS = ("in_hospital_mortality", "decompensation", "length_of_stay", "phenotyping", "multitask")
LISTFILES = [f"{task}/{part}/listfile.csv" for task, part in product(TASKS, ("train", "test"))]
Rows = list[list[str]]


def patient_by_patient(source: Path, folder: Path) -> Path:
    program = Path(__file__).parents[1] / "oracles" / "patient_by_patient.py"
    subprocess.run([sys.executable, program, source, folder, folder / "timeseries"], check=True)
    return folder


@pytest.fixture(scope="module")
def of_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return patient_by_patient(PROJECT_ROOT / "demo" / "mimic3", tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def exported(demo_mimic3: Build) -> Path:
    """What the models and the export make of demo/mimic3."""
    return demo_mimic3.export("--timeseries")


def read_rows(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def same_cell(ours: str, theirs: str) -> bool:
    """Equal texts, or numbers within 1e-12 (the contract's tolerance for time series)."""
    if ours == theirs:
        return True
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-12)
    except ValueError:
        return False


def check_series(folder: Path, expected: dict[str, Rows], at_least: int) -> None:
    """Each file of the folder has the cells that are expected of it."""
    assert {file.name for file in folder.iterdir()} == expected.keys()
    assert len(expected) >= at_least
    for name, theirs in expected.items():
        ours = read_rows(folder / name)
        assert [len(row) for row in ours] == [len(row) for row in theirs], name
        cells = zip(chain.from_iterable(ours), chain.from_iterable(theirs), strict=True)
        assert [pair for pair in cells if not same_cell(*pair)] == [], name


@pytest.mark.parametrize("listfile", LISTFILES)
def test_sql_gives_the_same_listfile(listfile: str, of_demo: Path, exported: Path) -> None:
    assert (exported / listfile).read_bytes() == (of_demo / listfile).read_bytes()


def test_sql_gives_the_same_time_series(of_demo: Path, exported: Path) -> None:
    theirs = {
        f"{path.parent.name}_{path.name}": read_rows(path)
        for path in (exported / "root").glob("*/*/episode*_timeseries.csv")
    }
    check_series(of_demo / "timeseries", theirs, 200)
