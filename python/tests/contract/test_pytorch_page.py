"""The page about PyTorch: its code runs on an export, with a stand-in for PyTorch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from builds import Build
from commands import PROJECT_ROOT, run_medeval
from listfile_readers import READERS

PAGE = (PROJECT_ROOT / "docs" / "pytorch.md").read_text(encoding="utf-8")
DATASET, MODEL, SCORES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
# Eye opening, motor and verbal response: 1 to 4, 6 and 5.
RESPONSES = [4, 5, 7]


def run(names: dict[str, Any], *blocks: str) -> None:
    for code in blocks:
        exec(compile(code, "docs/pytorch.md", "exec"), names)


@pytest.fixture(scope="module")
def layout(demo_mimic3: Build) -> Path:
    return demo_mimic3.export("--layout", "mimic3-benchmarks").parent / "mimic3-benchmarks"


@pytest.fixture
def exported(layout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The export of the page, in the current folder, which has the project's seeds."""
    (tmp_path / "exports").symlink_to(layout.parent)
    (tmp_path / "seeds").symlink_to(PROJECT_ROOT / "seeds")
    monkeypatch.chdir(tmp_path)
    return layout


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the first block defines, with arrays of numpy for PyTorch's tensors."""
    torch, data = ModuleType("torch"), ModuleType("torch.utils.data")
    torch.tensor = np.array  # type: ignore[attr-defined]
    data.Dataset = object  # type: ignore[attr-defined]
    for name, module in {"torch": torch, "torch.utils": ModuleType("torch.utils")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "torch.utils.data", data)
    return {}


@pytest.mark.parametrize("task", [task for task in READERS if task != "multitask"])
def test_examples_are_those_of_the_reader(exported: Path, names: dict[str, Any], task: str) -> None:
    run(names, DATASET)
    scored = 0
    for part in ("train", "val", "test"):
        samples = names["Samples"](exported / task, part)
        folder = exported / task / ("test" if part == "test" else "train")
        reader = READERS[task](folder, exported / task / f"{part}_listfile.csv")
        assert len(samples) == reader.get_number_of_examples() > 0
        for index in range(0, len(samples), 1 if len(samples) < 100 else 37):
            values, labels = samples[index]
            example = reader.read_example(index)
            assert values.shape == (len(example["X"]), 18)
            assert values[:, 0].tolist() == [float(row[0]) for row in example["X"]]
            assert labels.tolist() == np.atleast_1d(example["y"]).tolist()
            charted = values[:, RESPONSES]
            scored += np.count_nonzero(~np.isnan(charted))
            assert np.nanmin(charted, initial=1) >= 1
            assert np.nanmax(charted, initial=1) <= 6
    assert scored > 100


def test_a_walk_puts_the_blocks_of_the_page_into_one_program(tmp_path: Path) -> None:
    walk = (PROJECT_ROOT / "docs" / "first_icu.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^awk .*", walk, flags=re.MULTILINE)
    (tmp_path / "docs").symlink_to(PROJECT_ROOT / "docs")
    subprocess.run(line, shell=True, cwd=tmp_path, check=True)
    program = (tmp_path / "train.py").read_text(encoding="utf-8")
    assert program == DATASET + MODEL + SCORES


# Cells by the column of their variable; what is no number is missing.
CELLS = [("1e-05", 3, 1e-05), ("4 Spontaneously", 4, 4.0), ("1.0 ET/Trach", 7, 1.0)]
CELLS += [("spontaneously", 4, 4.0), ("No Response", 7, 1.0), ("Spontaneously", 5, np.nan)]
CELLS += [(">60/minute", 13, np.nan), ("12 to 14", 13, np.nan), ("inf", 9, np.nan), ("", 1, np.nan)]


def test_a_cell_of_the_page_is_a_number_or_missing(exported: Path, names: dict[str, Any]) -> None:
    run(names, DATASET)
    found = [names["number"](text, variable) for text, variable, _ in CELLS]
    np.testing.assert_array_equal(found, [value for *_, value in CELLS])


def test_the_scores_of_the_page_are_those_of_the_command(
    exported: Path, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    run(names, DATASET)
    count = len(names["Samples"](names["TASK"], "test"))
    names["predictions"] = [(7 * place % 10) / 10 for place in range(count)]
    run(names, SCORES)
    assert capsys.readouterr().out.startswith("AUC of ROC: 0.")
    listfile = exported / "in-hospital-mortality/test_listfile.csv"
    arguments = ["predictions.csv", "--listfile", listfile, "--out", "scores.json"]
    run_medeval("score", "--task", "in_hospital_mortality", *arguments, cwd=Path.cwd(), code=0)
    written = json.loads(Path("scores.json").read_text())
    for name, metric in names["scores"].items():
        assert written[name]["value"] == metric.value
        assert written[name]["2.5% percentile"] == metric.low
        assert written[name]["97.5% percentile"] == metric.high


def test_the_page_runs_with_pytorch(exported: Path) -> None:
    pytest.importorskip("torch")
    names: dict[str, Any] = {}
    run(names, DATASET, MODEL, SCORES)
    assert len(names["predictions"]) == len(names["samples"])
    assert 0 <= names["scores"]["AUC of ROC"].value <= 1
