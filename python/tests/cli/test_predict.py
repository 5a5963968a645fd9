"""`python -m medeval predict`: the prediction files of the ICU baselines."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from builds import Build
from in_process import Main
from tables import slow_after

NAMES = ("in_hospital_mortality", "decompensation", "length_of_stay", "phenotyping")
Rows = list[dict[str, str]]
# The rows that a command predicts from a build, and the run's folder.
Predict = Callable[..., tuple[Path, Rows]]


@pytest.fixture
def predict(monkeypatch: pytest.MonkeyPatch, main: Main, tmp_path: Path) -> Predict:
    def function(build: Build, name: str, *words: str) -> tuple[Path, Rows]:
        build.use(monkeypatch)
        before = {*tmp_path.iterdir()}
        main("predict", "--task", name, "--out", tmp_path, *words, code=0)
        (folder,) = {*tmp_path.iterdir()} - before
        with (folder / "predictions.csv").open(encoding="utf-8", newline="") as file:
            return folder, list(csv.DictReader(file))

    return function


@pytest.mark.parametrize("name", slow_after(1, NAMES))
def test_predictions_have_every_test_row(demo_mimic3: Build, predict: Predict, name: str) -> None:
    folder, rows = predict(demo_mimic3, name)
    assert folder.name.endswith(f"-{name}-logistic")
    keys = ["stay"] if name == "in_hospital_mortality" else ["stay", "period_length"]
    predictions = [column for column in rows[0] if column.startswith("pred")]
    truths = [column for column in rows[0] if column not in (*keys, *predictions)]
    assert list(rows[0]) == [*keys, *predictions, *truths]
    assert len(predictions) == len(truths) == (25 if name == "phenotyping" else 1)
    listed = demo_mimic3.rows(
        f"select {', '.join([*keys, *truths])} from mimic3.mimic3_{name} where partition = 'test'"
        f" order by {', '.join(keys)}"
    )
    shown = [[row[key] for key in (*keys, *truths)] for row in rows]
    assert shown == [[cell_text(cell) for cell in row] for row in listed]
    values = np.array([[float(row[key]) for key in predictions] for row in rows])
    assert np.isfinite(values).all()
    if name != "length_of_stay":
        assert ((values >= 0) & (values <= 1)).all()
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert (record["task"], record["data_class"]) == (name, "open")
    assert record["rows"]["test"] == len(rows)
    assert record["rows"]["validation"] > 0
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def cell_text(cell: object) -> str:
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["in_hospital_mortality", "length_of_stay"])
def test_a_seed_gives_the_same_bytes(demo_mimic3: Build, predict: Predict, name: str) -> None:
    words = ("--target", "duckdb", "--seed", "3")
    first, second = (predict(demo_mimic3, name, *words)[0] for _ in range(2))
    content = (first / "predictions.csv").read_bytes()
    assert content == (second / "predictions.csv").read_bytes()


def test_engines_predict_alike(
    demo_mimic3: Build, features_postgres: Build, predict: Predict
) -> None:
    found = [
        [float(row["prediction"]) for row in predict(build, "length_of_stay")[1]]
        for build in (demo_mimic3, features_postgres)
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)
