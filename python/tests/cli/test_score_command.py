"""The command `score` of predictions: published numbers, forms of files, truth and groups.

What does not fit, what is undefined and which run is taken: `cli/scenarios/commands.yaml`.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import PROJECT_ROOT
from in_process import Done, Main
from tables import refused, table

import medeval
from medeval.scoring.binary import Binary

pytestmark = pytest.mark.usefixtures("checkout")
INPUTS = PROJECT_ROOT / "python" / "tests" / "cli" / "inputs"
TASKS = ("ihm", "decomp", "los", "pheno")
Rows = list[list[str]]


@pytest.fixture
def warehouse(asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))


def score(main: Main, task: str, prediction: Path, *words: str | Path) -> Done:
    return main("score", "--task", task, prediction, "--out", "result.json", *words)


def result(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(Path("result.json").read_text(encoding="utf-8"))
    return found


def scored(main: Main, task: str, prediction: Path, *words: str | Path) -> dict[str, Any]:
    return result(score(main, task, prediction, *words))


def assert_close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare two results in the published layout, keys and their order included."""
    assert list(found) == list(expected)
    for metric, statistics in expected.items():
        if metric == "n_iters":
            assert found[metric] == statistics
            continue
        assert list(found[metric]) == list(statistics), metric
        relative = 1e-9 if metric in ("MSE", "MAPE") else 0.0
        for statistic, value in statistics.items():
            close = pytest.approx(value, abs=1e-9, rel=relative, nan_ok=True)
            assert found[metric][statistic] == close, (metric, statistic)


@pytest.mark.parametrize("golden", ["ihm", "ihm_ties", "pheno", "decomp_small", "los_small"])
def test_published_numbers(golden: str, shared: Path, main: Main) -> None:
    folder = shared / "golden" / "mimic3_scoring" / golden
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    found = scored(
        main, run["task"], folder / "prediction.csv.gz",
        "--test_listfile", folder / "listfile.csv.gz", "--n_iters", str(run["n_iters"]),
        "--seed", str(run["seed"]), "--strict",
    )  # fmt: skip
    meta = found.pop("meta")
    assert_close(found, json.loads((folder / "expected.json").read_text(encoding="utf-8")))
    assert (meta["seed"], meta["undefined"]) == (run["seed"], {})


# The edge cases of the published program: what is said of those that are refused, and the scores of
# those that it loses.
EDGE_CASES = table("score_command")["edge_cases"]


def edge_case(main: Main, shared: Path, case: str, *words: str) -> tuple[Done, Any]:
    edges = shared / "golden" / "mimic3_scoring" / "edge_cases"
    cases = json.loads((edges / "edge_cases.json").read_text(encoding="utf-8"))
    assert set(cases) == set(EDGE_CASES)
    record = cases[case]
    done = score(
        main, record["task"], edges / f"{case}.prediction.csv",
        "--listfile", edges / f"{case}.listfile.csv", "--n-iters", str(record["n_iters"]),
        "--seed", str(record["seed"]), *words,
    )  # fmt: skip
    return done, record["peer_sklearn_1.9.1"].get("result")


@pytest.mark.parametrize(("case", "told"), EDGE_CASES.items())
def test_edge_cases(case: str, told: Any, shared: Path, main: Main) -> None:
    done, expected = edge_case(main, shared, case)
    if isinstance(told, str):
        assert done.code == 2
        assert told in done.err
        assert not Path("result.json").exists()
        return
    found = result(done)
    meta = found.pop("meta")
    assert_close({metric: found[metric] for metric in told}, told)
    if expected is None:
        return
    for metric, entry in expected.items():
        is_whole = metric != "n_iters" and metric not in meta["undefined"]
        if is_whole and math.isfinite(entry["mean"]):
            assert_close({metric: found[metric]}, {metric: entry})
    assert list(found) == list(expected)


@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases_as_the_benchmark_has_them(case: str, shared: Path, main: Main) -> None:
    done, expected = edge_case(
        main, shared, case, "--peer-layout", "--strict-nan", "--allow-duplicates"
    )
    if expected is not None:
        assert_close(result(done), expected)


# How a file is written


def as_csv(rows: Rows) -> str:
    return "".join(",".join(row) + "\n" for row in rows)


def shuffled(rows: Rows) -> str:
    return as_csv([rows[0], *random.Random(0).sample(rows[1:], len(rows) - 1)])


def with_other_numbers(rows: Rows) -> str:
    """Truths with decimals, hours with zeros before them and with what single floats lose."""
    hour = rows[0].index("period_length") if "period_length" in rows[0] else None
    changed = [[*row[:-1], f"{float(row[-1])}"] for row in rows[1:]]
    if hour is not None:
        changed[0][hour] = f"0{changed[0][hour]}"
        changed[1][hour] = f"{float(changed[1][hour]) + 1e-8:.8f}"
    return as_csv([rows[0], *changed])


def as_parquet(rows: Rows) -> bytes:
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    numbers: bytes = frame.astype(dict.fromkeys(frame.columns.drop("stay"), float)).to_parquet()
    return numbers


FORMS: dict[str, Callable[[Rows], str | bytes]] = {
    "shuffled.csv": shuffled,
    "reversed.csv": lambda rows: as_csv([row[::-1] for row in rows]),
    "numbers.csv": with_other_numbers,
    "marked.csv": lambda rows: b"\xef\xbb\xbf" + as_csv(rows).replace("\n", "\r\n").encode(),
    "packed.csv.gz": lambda rows: gzip.compress(as_csv(rows).encode()),
    "table.parquet": as_parquet,
}


@pytest.mark.parametrize("task", TASKS)
def test_how_files_are_written_changes_nothing(task: str, main: Main) -> None:
    listfile, prediction = INPUTS / f"{task}_listfile.csv", INPUTS / f"{task}_a.csv"
    few = ("--n-iters", "20", "--listfile")
    before = scored(main, task, prediction, *few, listfile)
    rows = list(csv.reader(prediction.read_text(encoding="utf-8").splitlines()))
    for name, form in FORMS.items():
        content = form(rows)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        found = scored(main, task, Path(name), *few, listfile)
        assert {**found, "meta": None} == {**before, "meta": None}, name
    Path("listfile.csv").write_bytes(
        b"\xef\xbb\xbf" + listfile.read_bytes().replace(b"\n", b"\r\n")
    )
    found = scored(main, task, prediction, *few, Path("listfile.csv"))
    assert {**found, "meta": None} == {**before, "meta": None}


@pytest.mark.parametrize("task", TASKS)
def test_arrays_score_as_files_do(task: str, main: Main) -> None:
    prediction = INPUTS / f"{task}_a.csv"
    rows = pd.read_csv(prediction)
    rows.filter(regex="^(?!pred)").to_csv("listfile.csv", index=False)
    words = ("--n-iters", "20", "--listfile", "listfile.csv")
    expected = scored(main, task, prediction, *words)
    truth, guess = (
        rows.filter(regex=names).to_numpy().squeeze() for names in ("^(y_true|label)", "^pred")
    )
    for metric, interval in medeval.score(task, truth, guess, n_iters=20).items():
        value, *_, low, high = expected[metric].values()
        assert (interval.value, interval.low, interval.high) == (value, low, high), metric
    refused("shape", medeval.score, task, truth[:-1], guess, n_iters=0)


HEADER, LATIN = b"stay,prediction,y_true\n", b"M\xfcller,0.5,1\n"
UNREADABLE = {
    "not UTF-8 text": HEADER + LATIN,
    "row 2002, column stay: is not UTF-8": HEADER + b"a,0.5,1\n" * 2000 + LATIN,
    "gzip": gzip.compress(HEADER * 200)[:-20],
}


@pytest.mark.parametrize("words", UNREADABLE)
def test_file_that_cannot_be_read(words: str, main: Main) -> None:
    Path("odd.csv").write_bytes(UNREADABLE[words])
    done = score(main, "ihm", Path("odd.csv"), "--listfile", INPUTS / "ihm_listfile.csv")
    assert done.code == 2
    assert words in done.err
    assert "odd.csv" in done.err


# The warehouse


@pytest.mark.usefixtures("warehouse")
def test_doctor_finds_a_scorer_that_is_wrong(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    main("doctor", "--task", "ihm", code=0)
    upright = Binary.__init__

    def upside_down(self: Binary, truth: Any, guess: Any, **options: Any) -> None:
        upright(self, truth, -guess, **options)

    monkeypatch.setattr(Binary, "__init__", upside_down)
    done = main("doctor", "--task", "ihm", code=1)
    assert "NOT  in_hospital_mortality: the truth must score the best value" in done.out


@pytest.mark.usefixtures("warehouse")
@pytest.mark.parametrize("task", TASKS)
def test_the_truth_of_the_warehouse_is_the_exported_listfile(task: str, main: Main) -> None:
    main("export", "--task", task, code=0)
    (listfile,) = Path("exports").rglob("test/listfile.csv")
    columns = pd.read_csv(INPUTS / f"{task}_a.csv", nrows=0)
    names, truths = (list(columns.filter(regex=one)) for one in ("^pred", "^(y_true|label)"))
    rows = pd.read_csv(listfile)
    rows.columns = [*rows.columns[: -len(truths)], *truths]
    rows[names] = np.random.default_rng(5).random((len(rows), len(names)))
    rows.to_csv("prediction.csv", index=False)
    found = scored(main, task, Path("prediction.csv"), "--n-iters", "2")
    named = scored(main, task, Path("prediction.csv"), "--n-iters", "2", "--listfile", listfile)
    about = found.pop("meta")["inputs"]["listfile"]
    named.pop("meta")
    assert found == named
    digest = hashlib.sha256(listfile.read_bytes()).hexdigest()
    assert (about["data_class"], about["sha256"]) == ("open", digest)
