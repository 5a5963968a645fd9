"""`oracles/patient_by_patient.py`, a second way to the MIMIC-III listfiles, beside the SQL.

It is written from the benchmark's rules and shares no code with the models, so that where both
agree, a slip of one of them is unlikely.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builds import Build
from commands import PROJECT_ROOT

pytestmark = pytest.mark.slow

TASKS = ("in_hospital_mortality", "decompensation", "length_of_stay", "phenotyping", "multitask")
LISTFILES = [f"{task}/{part}/listfile.csv" for task, part in product(TASKS, ("train", "test"))]


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


@pytest.mark.parametrize("listfile", LISTFILES)
def test_sql_gives_the_same_listfile(listfile: str, of_demo: Path, exported: Path) -> None:
    assert (exported / listfile).read_bytes() == (of_demo / listfile).read_bytes()


def test_sql_gives_the_same_time_series(of_demo: Path, exported: Path) -> None:
    """Equal texts, or numbers within 1e-12 (the contract's tolerance for time series)."""
    theirs = {
        f"{path.parent.name}_{path.name}": path
        for path in (exported / "root").glob("*/*/episode*_timeseries.csv")
    }
    ours = {path.name: path for path in (of_demo / "timeseries").iterdir()}
    assert ours.keys() == theirs.keys()
    assert len(ours) >= 200
    as_written: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False}
    for name, path in ours.items():
        one, other = (pd.read_csv(each, **as_written).to_numpy() for each in (path, theirs[name]))
        assert one.shape == other.shape, name
        differs = one != other
        numbers = one[differs].astype(float), other[differs].astype(float)
        np.testing.assert_allclose(*numbers, rtol=1e-12, err_msg=name)
