"""The command `score`: published numbers, joining by key, every way a file can be wrong."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from medeval.cli import app
from medeval.errors import UserError
from medeval.predictions.attributes import ethnicity

GOLDENS = ("ihm", "ihm_ties", "pheno", "decomp_small", "los_small")
STATISTICS = ("value", "mean", "median", "std", "2.5% percentile", "97.5% percentile")
BINARY = ("AUC of ROC", "AUC of PRC", "min(+P, Se)")


@dataclass(frozen=True)
class Outcome:
    """How one call of the command ended."""

    code: int
    out: str
    err: str
    file: Path
    text: str = ""

    @property
    def result(self) -> dict[str, Any]:
        return json.loads(self.text)


def call(folder: Path, *args: object) -> Outcome:
    """Run the command as `python -m medeval score` does, writing into a folder."""
    file = folder / "result.json"
    words = [str(arg) for arg in args]
    if "--out" not in words:
        words += ["--out", str(file)]
    done = CliRunner().invoke(app, ["score", *words], env={"COLUMNS": "160"})
    if isinstance(done.exception, UserError):
        return Outcome(2, done.stdout, done.stderr + str(done.exception), file)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return Outcome(done.exit_code, done.stdout, done.stderr, file, text)


def write(path: Path, header: str, rows: Iterable[Sequence[object]]) -> Path:
    text = "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"
    path.write_text(text, encoding="utf-8")
    return path


def name(number: int, episode: int = 1) -> str:
    return f"{number}_episode{episode}_timeseries.csv"


@dataclass
class Case:
    """Two files of one task as rows, to be changed before they are written."""

    folder: Path
    task: str
    list_header: str
    listed: list[list[Any]]
    prediction_header: str
    predicted: list[list[Any]]

    def files(self) -> tuple[Path, Path]:
        listfile = write(self.folder / "listfile.csv", self.list_header, self.listed)
        prediction = write(self.folder / "prediction.csv", self.prediction_header, self.predicted)
        return listfile, prediction

    def score(self, *args: object) -> Outcome:
        listfile, prediction = self.files()
        return self.score_files(listfile, prediction, *args)

    def score_files(self, listfile: Path, prediction: Path, *args: object) -> Outcome:
        wanted = ["--task", self.task, prediction, "--listfile", listfile, *args]
        if "--n-iters" not in args:
            wanted += ["--n-iters", "20"]
        return call(self.folder, *wanted)


Change = Callable[[Case], object]


def mortality(folder: Path, rows: int = 40) -> Case:
    random = np.random.default_rng(1)
    truth = (np.arange(rows) % 3 == 0).astype(int)
    scores = random.random(rows).round(3)
    listed: list[list[Any]] = [[name(100 + i), truth[i]] for i in range(rows)]
    predicted = [[stay, scores[i], y] for i, (stay, y) in enumerate(listed)]
    return Case(folder, "ihm", "stay,y_true", listed, "stay,prediction,y_true", predicted)


def hourly(folder: Path, task: str) -> Case:
    random = np.random.default_rng(2)
    keys = [(name(100 + i), hour) for i in range(12) for hour in range(5, 10)]
    truth = (
        [int(random.random() < 0.3) for _ in keys]
        if task == "decomp"
        else [round(float(value), 6) for value in random.exponential(90, len(keys))]
    )
    scores = random.random(len(keys)) if task == "decomp" else random.exponential(90, len(keys))
    listed: list[list[Any]] = [
        [stay, f"{hour}.000000", y] for (stay, hour), y in zip(keys, truth, strict=True)
    ]
    predicted: list[list[Any]] = [
        [stay, hour, round(float(p), 6), y]
        for (stay, hour), y, p in zip(keys, truth, scores, strict=True)
    ]
    return Case(
        folder,
        task,
        "stay,period_length,y_true",
        listed,
        "stay,period_length,prediction,y_true",
        predicted,
    )


def phenotypes(folder: Path, rows: int = 40) -> Case:
    random = np.random.default_rng(3)
    truth = (random.random((rows, 25)) < 0.4).astype(int)
    scores = random.random((rows, 25)).round(3)
    numbers = range(1, 26)
    listed: list[list[Any]] = [[name(100 + i), f"{i + 0.5:.6f}", *truth[i]] for i in range(rows)]
    predicted: list[list[Any]] = [
        [name(100 + i), i + 0.5, *scores[i], *truth[i]] for i in range(rows)
    ]
    labels = ",".join(f"label_{number}" for number in numbers)
    return Case(
        folder,
        "pheno",
        "stay,period_length," + ",".join(f"Phenotype {number}; of a kind" for number in numbers),
        listed,
        "stay,period_length," + ",".join(f"pred_{number}" for number in numbers) + "," + labels,
        predicted,
    )


CASES: dict[str, Callable[[Path], Case]] = {
    "ihm": mortality,
    "decomp": lambda folder: hourly(folder, "decomp"),
    "los": lambda folder: hourly(folder, "los"),
    "pheno": phenotypes,
}


def assert_close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare two results in the published layout, keys and their order included."""
    assert list(found) == list(expected)
    for metric, statistics in expected.items():
        if metric == "n_iters":
            assert found[metric] == statistics
            continue
        assert list(found[metric]) == list(statistics), metric
        for statistic, value in statistics.items():
            relative = 1e-9 if metric in ("MSE", "MAPE") else 0.0
            assert found[metric][statistic] == pytest.approx(
                value, abs=1e-9, rel=relative, nan_ok=True
            ), (metric, statistic)


# --- the published numbers ---------------------------------------------------------------------


@pytest.mark.parametrize("golden", GOLDENS)
def test_published_numbers(golden: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "golden" / "mimic3_scoring" / golden
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    done = call(
        tmp_path,
        "--task",
        run["task"],
        folder / "prediction.csv.gz",
        "--test_listfile",
        folder / "listfile.csv.gz",
        "--n_iters",
        run["n_iters"],
        "--seed",
        run["seed"],
        "--strict",
    )
    assert done.code == 0, done.err
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found = done.result
    meta = found.pop("meta")
    assert_close(found, expected)
    assert meta["seed"] == run["seed"]
    assert meta["undefined"] == {}


EDGE_CASES = (
    "allneg_below_half",
    "allneg_mixed_pred",
    "dup_pred",
    "extra_rows",
    "los_nan_truth",
    "los_neg_truth",
    "los_two_bins_apart",
    "los_zero_truth",
    "missing_rows",
    "n_iters_0",
    "one_pos_of_20_mixed",
    "ph_28cols",
    "ph_label_no_pos",
    "ph_label_no_pos_low",
    "ph_ok",
    "ph_shuffled_cols",
    "truth_float_vs_int",
    "truth_mismatch",
)
REFUSED = {
    "dup_pred": "more than once",
    "los_nan_truth": "with an empty or NaN truth",
    "missing_rows": "have no prediction",
    "ph_28cols": "27",
    "truth_mismatch": "truth differs",
}


def edge_case(folder: Path, shared: Path, case: str, *args: object) -> tuple[Outcome, Any]:
    edges = shared / "golden" / "mimic3_scoring" / "edge_cases"
    cases = json.loads((edges / "edge_cases.json").read_text(encoding="utf-8"))
    assert set(cases) == set(EDGE_CASES)
    record = cases[case]
    done = call(
        folder,
        "--task",
        record["task"],
        edges / f"{case}.prediction.csv",
        "--listfile",
        edges / f"{case}.listfile.csv",
        "--n-iters",
        record["n_iters"],
        "--seed",
        record["seed"],
        *args,
    )
    return done, record["peer_sklearn_1.9.1"].get("result")


@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases(case: str, shared: Path, tmp_path: Path) -> None:
    done, expected = edge_case(tmp_path, shared, case)
    if case in REFUSED:
        assert done.code == 2
        assert REFUSED[case] in done.err
        assert not done.file.exists()
        return
    assert done.code == 0, done.err
    found = done.result
    meta = found.pop("meta")
    if expected is None:
        return
    whole = [
        metric
        for metric, entry in expected.items()
        if metric != "n_iters" and metric not in meta["undefined"] and math.isfinite(entry["mean"])
    ]
    for metric in whole:
        assert_close({metric: found[metric]}, {metric: expected[metric]})
    assert list(found) == list(expected)


@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases_as_the_benchmark_has_them(case: str, shared: Path, tmp_path: Path) -> None:
    done, expected = edge_case(
        tmp_path, shared, case, "--peer-layout", "--strict-nan", "--allow-duplicates"
    )
    if expected is None:
        return
    assert done.code == 0, done.err
    assert_close(done.result, expected)


def test_edge_cases_that_the_benchmark_loses(shared: Path, tmp_path: Path) -> None:
    done, _ = edge_case(tmp_path, shared, "allneg_below_half")
    assert done.result["AUC of ROC"] == dict.fromkeys(STATISTICS)
    done, _ = edge_case(tmp_path, shared, "n_iters_0")
    found = done.result
    assert [list(found[metric]) for metric in BINARY] == [["value"]] * 3
    done, _ = edge_case(tmp_path, shared, "truth_float_vs_int")
    assert done.result["AUC of ROC"]["value"] is not None


# --- one class only ----------------------------------------------------------------------------


def test_one_class_is_null_with_a_reason(tmp_path: Path) -> None:
    case = mortality(tmp_path, 20)
    for row in (*case.listed, *case.predicted):
        row[-1] = 0
    done = case.score("--n-iters", "50")
    assert done.code == 0
    assert "NaN" not in done.file.read_text(encoding="utf-8")
    found = done.result
    for metric in BINARY:
        assert found[metric] == dict.fromkeys(STATISTICS)
        assert found["meta"]["undefined"][metric]["n_undefined"] == 50
        assert "class" in found["meta"]["undefined"][metric]["reason"]
    assert "undefined" in done.err


def test_one_positive_of_twenty_counts_undefined_resamples(tmp_path: Path) -> None:
    case = mortality(tmp_path, 20)
    for number, (listed, predicted) in enumerate(zip(case.listed, case.predicted, strict=True)):
        listed[-1] = predicted[-1] = int(number == 7)
    done = case.score("--n-iters", "1000")
    assert done.code == 0
    found = done.result
    entry = found["meta"]["undefined"]["AUC of ROC"]
    # (19/20)^20 is 0.358: so many resamples miss the one positive.
    assert 300 < entry["n_undefined"] < 420
    assert all(math.isfinite(found["AUC of ROC"][statistic]) for statistic in STATISTICS)
    assert entry["reason"] is None
    assert "undefined in up to" in done.err
    strict = case.score("--n-iters", "1000", "--strict-nan").result
    assert math.isnan(strict["AUC of ROC"]["mean"])
    assert math.isfinite(strict["AUC of PRC"]["mean"])


# --- joining by key ----------------------------------------------------------------------------


@pytest.mark.parametrize("task", CASES)
def test_shuffled_predictions_change_nothing(task: str, tmp_path: Path) -> None:
    case = CASES[task](tmp_path)
    before = case.score().result
    np.random.default_rng(0).shuffle(case.predicted)  # type: ignore[arg-type]
    after = case.score().result
    for found in (before, after):
        found["meta"].pop("inputs")
    assert before == after


@pytest.mark.parametrize("task", CASES)
def test_formats_give_the_same_numbers(task: str, tmp_path: Path) -> None:
    case = CASES[task](tmp_path)
    plain = case.score().result
    listfile, prediction = case.files()
    text = prediction.read_text(encoding="utf-8")

    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    header, *rows = csv.reader(text.splitlines())
    columns: dict[str, Any] = {
        column: pa.array([row[place] for row in rows])
        if column == "stay"
        else pa.array([float(row[place]) for row in rows])
        for place, column in enumerate(header)
    }
    table = tmp_path / "table.parquet"
    pq.write_table(pa.table(columns), table)
    for file in (marked, packed, table):
        found = case.score_files(listfile, file).result
        for result in (found, plain):
            result["meta"].pop("inputs", None)
        assert found == plain, file.name
    again = tmp_path / "listfile_crlf.csv"
    again.write_bytes(b"\xef\xbb\xbf" + listfile.read_bytes().replace(b"\n", b"\r\n"))
    found = case.score_files(again, prediction).result
    found["meta"].pop("inputs")
    assert found == plain


def put(row: int, column: int, value: object) -> Change:
    """Change a cell of the predictions."""
    return lambda case: case.predicted[row].__setitem__(column, value)


def truth(row: int, value: object) -> Change:
    """Change a truth in both files."""

    def change(case: Case) -> None:
        case.listed[row][-1] = case.predicted[row][-1] = value

    return change


def without_endings(case: Case) -> None:
    for row in case.predicted:
        row[0] = row[0].removesuffix("_timeseries.csv")


def two_columns_changed(case: Case) -> None:
    for row in case.listed:
        row[2 + 3], row[2 + 7] = row[2 + 7], row[2 + 3]


def one_column_less(case: Case) -> None:
    case.list_header = case.list_header.rpartition(",")[0]
    case.listed = [row[:-1] for row in case.listed]


def other_header(before: str, after: str) -> Change:
    def change(case: Case) -> None:
        case.prediction_header = case.prediction_header.replace(before, after)

    return change


@pytest.mark.parametrize(
    ("task", "change", "words"),
    [
        # Rows.
        ("ihm", lambda case: case.predicted.pop(3), f"1 of the 40 rows|{name(103)}"),
        ("decomp", lambda case: case.predicted.pop(3), "1 of the |hour 8"),
        ("los", lambda case: case.predicted.pop(3), "1 of the |hour 8"),
        ("pheno", lambda case: case.predicted.pop(3), "1 of the 40 rows"),
        ("ihm", without_endings, "40 of the 40 rows|without `_timeseries.csv`"),
        (
            "ihm",
            lambda case: case.listed.append(list(case.listed[2])),
            f"1 key is more than once|listfile.csv|{name(102)}",
        ),
        # The truth.
        (
            "ihm",
            lambda case: case.predicted[6].__setitem__(2, 1 - case.predicted[6][2]),
            f"truth differs| in 1 row|{name(106)} (",
        ),
        (
            "los",
            lambda case: (truth(6, 50.5)(case), put(6, 3, 51.5)(case)),
            "(50.5 in the listfile, 51.5 in the predictions)",
        ),
        # The names of the listfile's columns alone would not tell.
        (
            "pheno",
            two_columns_changed,
            "column label_4 (Phenotype 4; of a kind)|also differs in 1 other column: label_8",
        ),
        ("pheno", put(0, 1, 7), "column period_length|(0.5 in the listfile, 7 in the predictions)"),
        ("los", truth(5, ""), "an empty or NaN truth|hour 5"),
        ("ihm", truth(3, 2), "neither 0 nor 1"),
        # Cells.
        ("ihm", put(5, 1, ""), f"an empty or NaN prediction|{name(105)}"),
        ("los", put(5, 2, "NA"), "an empty or NaN prediction"),
        ("pheno", put(5, 8, "nan"), "1 row|pred_7"),
        ("los", put(5, 2, "-inf"), "infinite prediction"),
        ("ihm", put(3, 1, "high"), "row 5, column prediction: 'high'"),
        ("ihm", lambda case: case.predicted[3].append(1), "row 5: 4 cells where the header has 3"),
        ("decomp", put(3, 1, ""), "period_length is empty"),
        # Columns.
        ("ihm", other_header("stay", "other"), "has no column stay"),
        ("ihm", other_header("prediction", "other"), "has no column prediction"),
        ("pheno", other_header("pred_25", "p"), "has no column pred_25"),
        ("pheno", one_column_less, "has 26 columns"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(
    task: str, change: Change, words: str, tmp_path: Path
) -> None:
    case = CASES[task](tmp_path)
    change(case)
    done = case.score()
    assert done.code == 2
    for some in words.split("|"):
        assert some in done.err
    assert not done.file.exists()


def test_first_ten_missing_rows_are_named(tmp_path: Path) -> None:
    case = mortality(tmp_path)
    del case.predicted[5:17]
    done = case.score()
    assert done.code == 2
    assert "12 of the 40 rows" in done.err
    assert [name(100 + i) in done.err for i in range(5, 17)] == [True] * 10 + [False] * 2
    assert "and 2 more" in done.err


@pytest.mark.parametrize("task", CASES)
def test_duplicate_row_is_named_and_may_be_allowed(task: str, tmp_path: Path) -> None:
    case = CASES[task](tmp_path)
    case.predicted.append(list(case.predicted[4]))
    done = case.score()
    assert done.code == 2
    assert "1 key is more than once" in done.err
    assert case.predicted[4][0] in done.err
    assert "--allow-duplicates" in done.err
    allowed = case.score("--allow-duplicates")
    assert allowed.result["meta"]["n"] == len(case.listed) + 1


@pytest.mark.parametrize("task", CASES)
def test_extra_row_is_a_counted_warning(task: str, tmp_path: Path) -> None:
    case = CASES[task](tmp_path)
    plain = case.score()
    assert plain.code == 0
    case.predicted.insert(0, [name(9), *case.predicted[0][1:]])
    done = case.score()
    assert done.code == 0
    assert "1 row of" in done.err
    assert "left out" in done.err
    metrics = [{k: v for k, v in out.result.items() if k != "meta"} for out in (done, plain)]
    assert metrics[0] == metrics[1]
    assert len(done.result["meta"]["warnings"]) == len(plain.result["meta"]["warnings"]) + 1
    done.file.unlink()
    strict = case.score("--strict")
    assert strict.code == 2
    assert "1 row of" in strict.err
    assert not strict.file.exists()


def reversed_columns(case: Case) -> None:
    case.prediction_header = ",".join(reversed(case.prediction_header.split(",")))
    case.predicted = [list(reversed(row)) for row in case.predicted]


def with_decimals(case: Case) -> None:
    for row in case.predicted:
        row[-1] = f"{row[-1]}.0"


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ("pheno", reversed_columns),
        ("ihm", with_decimals),
        ("decomp", put(2, 1, "7.00000001")),  # of single floats that is 7
        ("decomp", put(2, 1, "07")),
    ],
)
def test_how_columns_and_numbers_are_written_changes_nothing(
    task: str, change: Change, tmp_path: Path
) -> None:
    case = CASES[task](tmp_path)
    before = case.score().result
    change(case)
    after = case.score().result
    assert {**before, "meta": None} == {**after, "meta": None}


def test_length_of_stay_keeps_the_rounding_to_single_floats(tmp_path: Path) -> None:
    case = hourly(tmp_path, "los")
    case.listed, case.predicted = case.listed[:2], case.predicted[:2]
    for row in (case.listed[0], case.predicted[0]):
        row[-1] = 480.3664
    for row in (case.listed[1], case.predicted[1]):
        row[-1] = 0.1
    case.predicted[0][2] = 480.3664
    case.predicted[1][2] = 0.1
    found = case.score("--n-iters", "0").result
    rounding = abs(float(np.float32(480.3664)) - 480.3664) + abs(float(np.float32(0.1)) - 0.1)
    assert rounding > 0
    assert found["MAD"]["value"] == pytest.approx(rounding / 2, rel=1e-9)


def test_all_findings_are_told_at_once(tmp_path: Path) -> None:
    case = mortality(tmp_path)
    case.predicted[0][1] = ""
    case.predicted[1][1] = "inf"
    case.predicted[2][2] = 1 - case.predicted[2][2]
    case.predicted.append(list(case.predicted[5]))
    del case.predicted[10]
    done = case.score()
    assert done.code == 2
    for number, what in (
        (100, "NaN prediction"),
        (101, "infinite prediction"),
        (102, "truth differs"),
        (105, "more than once"),
        (110, "have no prediction"),
    ):
        line = next(line for line in done.err.splitlines() if what in line)
        assert name(number) in line, what


@pytest.mark.parametrize(
    ("task", "changes", "words"),
    [
        ("ihm", [put(0, 1, -0.1), put(1, 1, 1.1)], "2 predictions are outside [0, 1]"),
        ("los", [truth(0, -0.000001)], "1 row with a true length of stay below 0"),
    ],
)
def test_what_is_odd_is_a_counted_warning(
    task: str, changes: Sequence[Change], words: str, tmp_path: Path
) -> None:
    case = CASES[task](tmp_path)
    for change in changes:
        change(case)
    done = case.score()
    assert (done.code, words in done.err) == (0, True)
    assert case.score("--strict").code == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"stay,prediction,y_true\n", "no rows"),
        (b"stay,prediction,y_true", "no rows"),
        (b"stay,prediction,y_true\nM\xfcller,0.5,1\n", "not UTF-8 text"),
        (
            b"stay,prediction,y_true\n" + b"a,0.5,1\n" * 2000 + b"M\xfcller,0.5,1\n",
            "row 2002, column stay: is not UTF-8 text",
        ),
        # Without a time in it, since workers compare the names of tests.
        (gzip.compress(b"stay,prediction,y_true\n" * 200, mtime=0)[:-20], "gzip"),
        (b"PAR1 is not enough", "Parquet"),
    ],
)
def test_file_that_cannot_be_read(content: bytes, words: str, tmp_path: Path) -> None:
    case = mortality(tmp_path)
    listfile, _ = case.files()
    file = tmp_path / "odd.csv"
    file.write_bytes(content)
    done = case.score_files(listfile, file)
    assert done.code == 2
    assert words in done.err
    assert "odd.csv" in done.err


def test_result_replaces_the_old_one_only_when_it_is_complete(tmp_path: Path) -> None:
    case = mortality(tmp_path)
    first = case.score()
    assert first.code == 0
    before = first.file.read_text(encoding="utf-8")
    assert before.endswith("}\n")
    assert before.count("\n") == 1
    case.predicted.pop()
    assert case.score().code == 2
    assert first.file.read_text(encoding="utf-8") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "listfile.csv",
        "prediction.csv",
        "result.json",
    ]


# --- layout ------------------------------------------------------------------------------------


# --- clusters ----------------------------------------------------------------------------------


def test_clusters_widen_the_interval_of_rows_that_are_alike(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    case = hourly(tmp_path, "decomp")
    case.listed, case.predicted = [], []
    for stay in range(60):
        truth, value = int(stay % 4 == 0), random.normal(stay % 4 == 0)
        for hour in range(20):
            listed = [name(1000 + stay // 2, stay % 2 + 1), hour, truth]
            noise = 0.05 * random.normal()
            case.listed.append(listed)
            case.predicted.append([*listed[:2], 1 / (1 + math.exp(-value - noise)), truth])
    width = {}
    for cluster in (None, "stay", "subject"):
        options = ["--cluster", cluster] if cluster else []
        done = case.score("--n-iters", "200", *options)
        assert done.code == 0, done.err
        found = done.result
        assert found["meta"]["cluster"] == cluster
        entry = found["AUC of ROC"]
        width[cluster] = entry["97.5% percentile"] - entry["2.5% percentile"]
    assert width["stay"] > 2 * width[None]
    assert width["subject"] != width["stay"]


def test_subject_of_a_stay_must_be_in_its_name(tmp_path: Path) -> None:
    case = mortality(tmp_path)
    case.listed[0][0] = case.predicted[0][0] = "anonymous"
    done = case.score("--cluster", "subject")
    assert done.code == 2
    assert "anonymous" in done.err


# --- runs --------------------------------------------------------------------------------------


def make_run(folder: Path, task: str, prediction: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "predictions.csv").write_bytes(prediction.read_bytes())
    (folder / "run.json").write_text(json.dumps({"task": task}), encoding="utf-8")


def test_newest_run_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = mortality(tmp_path)
    listfile, prediction = case.files()
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "runs" / "20260101-ihm-new", "in_hospital_mortality", prediction)
    case.predicted[0][1] = 0.987
    _, other = case.files()
    make_run(tmp_path / "runs" / "20250101-ihm-old", "in_hospital_mortality", other)
    make_run(tmp_path / "runs" / "20270101-decomp-x", "decompensation", other)
    done = call(tmp_path, "--task", "ihm", "--listfile", listfile, "--n-iters", "2")
    assert done.code == 0, done.err
    assert "20260101-ihm-new" in done.err
    named = call(
        tmp_path, "--task", "ihm", "runs/20250101-ihm-old", "--listfile", listfile, "--n-iters", "2"
    )
    assert named.code == 0
    wrong = call(tmp_path, "--task", "ihm", "runs/20270101-decomp-x", "--listfile", listfile)
    assert wrong.code == 2
    assert "is a run of decompensation" in wrong.err
    (tmp_path / "runs" / "20250101-ihm-old" / "predictions.csv").unlink()
    empty = call(tmp_path, "--task", "ihm", "runs/20250101-ihm-old", "--listfile", listfile)
    assert empty.code == 2
    assert "holds no predictions.csv" in empty.err


def test_without_a_run_a_baseline_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = mortality(tmp_path)
    listfile, prediction = case.files()
    monkeypatch.chdir(tmp_path)
    asked: list[tuple[Any, ...]] = []

    def predict_to_run(task: str, model: str, **options: Any) -> Path:
        asked.append((task, model, options["out"], options["seed"]))
        folder = Path(options["out"]) / "20260101-ihm-logistic"
        make_run(folder, task, prediction)
        return folder

    monkeypatch.setattr("medeval.baselines.run.predict_to_run", predict_to_run)
    done = call(tmp_path, "--task", "ihm", "--listfile", listfile, "--n-iters", "2", "--seed", "3")
    assert done.code == 0, done.err
    assert asked == [("in_hospital_mortality", "logistic", Path("runs"), 3)]
    assert "training the logistic baseline first" in done.err


# --- the warehouse -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stay:
    """One stay of the small warehouse."""

    stay: str
    gender: str | None
    age: float
    ethnicity: str | None
    care_unit: str
    mortality: int


def small_stays() -> list[Stay]:
    return [
        Stay(
            name(1000 + number),
            "F" if number % 2 else "M",
            25 + number * 0.7,
            "WHITE - RUSSIAN" if number < 60 else "BLACK/AFRICAN" if number < 85 else None,
            "MICU" if number < 45 else "CCU" if number < 86 else "TSICU",
            int(number % 3 == 0),
        )
        for number in range(90)
    ]


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Stay]:
    """A warehouse file with only what the command reads; it becomes the default target."""
    path = tmp_path / "small.duckdb"
    stays = small_stays()
    labels = ", ".join(f"label_{number} integer" for number in range(1, 26))
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema mimic3")
        connection.execute("create schema medeval")
        connection.execute(
            "create table medeval.builds as select 1 as sequence_number, 'mimic3' as floor,"
            " true as succeeded, 'id' as invocation_id, 'then' as started_at, '1' as dbt_version,"
            " '1' as project_version, 'duckdb' as target, 'demo' as source_kind,"
            " 'here' as source_location"
        )
        connection.execute(
            "create table mimic3.mimic3_data_class as select 'open' as data_class, 'x' as edition,"
            " 'y' as patients_md5"
        )
        connection.execute(
            "create table mimic3.mimic3_source_tables (source_table varchar, row_count bigint,"
            " edition varchar)"
        )
        connection.execute(
            "create table mimic3.phenotypes as select i as phenotype_id,"
            " 'Disease ' || i as phenotype_name from range(1, 26) as numbers (i)"
        )
        connection.execute(
            "create table mimic3.mimic3_stays (stay varchar, gender varchar, analysis_age double,"
            " ethnicity varchar, last_careunit varchar)"
        )
        common = "stay varchar, partition varchar, subject_id integer"
        for task, columns in (
            ("in_hospital_mortality", "y_true integer"),
            ("decompensation", "period_length double, y_true integer"),
            ("length_of_stay", "period_length double, y_true double"),
            ("phenotyping", f"period_length double, {labels}"),
        ):
            connection.execute(f"create table mimic3.mimic3_{task} ({common}, {columns})")
        for number, entry in enumerate(reversed(stays)):
            part = "train" if number % 30 == 29 else "test"
            row = [entry.stay, part, number]
            connection.execute(
                "insert into mimic3.mimic3_stays values (?, ?, ?, ?, ?)",
                [entry.stay, entry.gender, entry.age, entry.ethnicity, entry.care_unit],
            )
            connection.execute(
                "insert into mimic3.mimic3_in_hospital_mortality values (?, ?, ?, ?)",
                [*row, entry.mortality],
            )
            for hour in (6.0, 5.0):
                connection.execute(
                    "insert into mimic3.mimic3_decompensation values (?, ?, ?, ?, ?)",
                    [*row, hour, entry.mortality],
                )
                connection.execute(
                    "insert into mimic3.mimic3_length_of_stay values (?, ?, ?, ?, ?)",
                    [*row, hour, 60.61200000000019 + number - hour],
                )
            connection.execute(
                f"insert into mimic3.mimic3_phenotyping values ({', '.join('?' * 29)})",
                [*row, 60.612, *[int((number + label) % 3 == 0) for label in range(25)]],
            )
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(path))
    monkeypatch.setenv("MEDEVAL_TARGET", "duckdb")
    return stays


def warehouse_prediction(folder: Path, stays: list[Stay], rows: slice = slice(None)) -> Path:
    random = np.random.default_rng(5)
    tested = [entry for number, entry in enumerate(reversed(stays)) if number % 30 != 29]
    return write(
        folder / "prediction.csv",
        "stay,prediction,y_true",
        [(entry.stay, random.random().__round__(4), entry.mortality) for entry in tested[rows]],
    )


def test_listfile_is_the_test_rows_of_the_warehouse(warehouse: list[Stay], tmp_path: Path) -> None:
    prediction = warehouse_prediction(tmp_path, warehouse)
    done = call(tmp_path, "--task", "ihm", prediction, "--n-iters", "20")
    assert done.code == 0, done.err
    found = done.result
    assert found["meta"]["n"] == 87
    assert found["meta"]["inputs"]["listfile"]["data_class"] == "open"
    tested = sorted(row[:-4] for row in (tmp_path / "prediction.csv").read_text().splitlines()[1:])
    assert len(tested) == 87
    listed = write(
        tmp_path / "listfile.csv",
        "stay,y_true",
        sorted(
            (entry.stay, entry.mortality)
            for number, entry in enumerate(reversed(warehouse))
            if number % 30 != 29
        ),
    )
    named = call(tmp_path, "--task", "ihm", prediction, "--listfile", listed, "--n-iters", "20")
    assert {metric: found[metric] for metric in BINARY} == {
        metric: named.result[metric] for metric in BINARY
    }
    digest = hashlib.sha256(listed.read_bytes()).hexdigest()
    assert found["meta"]["inputs"]["listfile"]["sha256"] == digest


@pytest.mark.parametrize("task", ["decomp", "los", "pheno"])
def test_truth_of_the_warehouse_is_rounded_as_a_listfile(
    task: str, warehouse: list[Stay], tmp_path: Path
) -> None:
    rows: list[Sequence[object]] = []
    for number, entry in enumerate(reversed(warehouse)):
        if number % 30 == 29:
            continue
        if task == "pheno":
            truth = [int((number + label) % 3 == 0) for label in range(25)]
            rows.append((entry.stay, "60.612000", *[0.5] * 25, *truth))
            continue
        for hour in (5, 6):
            value = f"{60.612 + number - hour:.6f}" if task == "los" else entry.mortality
            rows.append((entry.stay, hour, 0.5, value))
    header = CASES[task](tmp_path).prediction_header
    prediction = write(tmp_path / "prediction.csv", header, rows)
    done = call(tmp_path, "--task", task, prediction, "--n-iters", "2")
    assert done.code == 0, done.err
    if task == "pheno":
        assert "25 Disease 25" in done.out


# --- subgroups ---------------------------------------------------------------------------------

HIDDEN = {
    "n": None,
    "n_stays": None,
    "n_positive": None,
    "suppressed": (
        "hidden: fewer than 11 positive or negative stays, or what has so few could be worked out"
        " from it"
    ),
    "metrics": None,
}


def test_subgroups_have_intervals_and_small_cells_are_hidden(
    warehouse: list[Stay], tmp_path: Path
) -> None:
    prediction = warehouse_prediction(tmp_path, warehouse)
    options = ["--by", "sex", "--by", "care_unit", "--by", "ethnicity", "--by", "age_band"]
    done = call(tmp_path, "--task", "ihm", prediction, "--n-iters", "50", *options)
    assert done.code == 0, done.err
    found = done.result
    assert list(found)[-2:] == ["subgroups", "meta"]
    groups = found["subgroups"]
    assert list(groups) == ["sex", "care_unit", "ethnicity", "age_band"]
    assert set(groups["sex"]) == {"F", "M"}
    for cell in groups["sex"].values():
        assert cell["n"] == cell["n_stays"] > 30
        assert cell["n_positive"] > 10
        assert list(cell["metrics"]) == list(BINARY)
        assert list(cell["metrics"]["AUC of ROC"]) == list(STATISTICS)

    # 4 stays of TSICU could be had from the total, so a second unit is hidden, and nothing tells
    # which of the two is the small one.
    assert groups["care_unit"]["TSICU"] == groups["care_unit"]["CCU"] == HIDDEN
    assert groups["care_unit"]["MICU"]["n"] is not None
    assert set(groups["ethnicity"]) == {"white", "black", "unknown"}
    assert "hidden" in done.out
    told = " ".join(done.out.split())
    assert (
        "By care_unit: 2 of 3 groups are hidden, since one of them has fewer than 11 stays in all"
        " or of one class (--min-cell), or such a one could be worked out from it."
    ) in told
    assert "By sex" not in told


def test_subgroup_equals_a_score_of_its_rows(warehouse: list[Stay], tmp_path: Path) -> None:
    prediction = warehouse_prediction(tmp_path, warehouse)
    cell = call(tmp_path, "--task", "ihm", prediction, "--n-iters", "30", "--by", "sex").result[
        "subgroups"
    ]["sex"]["F"]
    women = {entry.stay for entry in warehouse if entry.gender == "F"}
    tested = [row.split(",") for row in prediction.read_text().splitlines()[1:]]
    listed = sorted([stay, truth] for stay, _, truth in tested if stay in women)
    listfile = write(tmp_path / "women.csv", "stay,y_true", listed)
    alone = call(tmp_path, "--task", "ihm", prediction, "--listfile", listfile, "--n-iters", "30")
    assert {metric: alone.result[metric] for metric in BINARY} == cell["metrics"]


def test_rare_labels_of_a_subgroup_are_hidden(warehouse: list[Stay], tmp_path: Path) -> None:
    rows: list[Sequence[object]] = []
    random = np.random.default_rng(6)
    for number, entry in enumerate(reversed(warehouse)):
        if number % 30 != 29:
            truth = [int((number + label) % 3 == 0) for label in range(25)]
            rows.append((entry.stay, "60.612", *random.random(25).round(3), *truth))
    case = phenotypes(tmp_path)
    prediction = write(tmp_path / "prediction.csv", case.prediction_header, rows)
    done = call(
        tmp_path,
        *("--task", "pheno", prediction, "--n-iters", "5", "--by", "ethnicity", "--min-cell", "5"),
    )
    assert done.code == 0, done.err
    groups = done.result["subgroups"]["ethnicity"]
    # 1 or 2 positive stays of 5 could be had from the total, so a second group has none either.
    for group in ("unknown", "black"):
        cell = groups[group]
        assert cell["metrics"]["Micro ROC AUC"]["value"] is not None
        assert cell["suppressed_metrics"]["ROC AUC of task 1"] == HIDDEN["suppressed"].replace(
            "11", "5"
        )
        assert "ROC AUC of task 1" not in cell["metrics"]
    assert "ROC AUC of task 1" in groups["white"]["metrics"]


def test_hourly_cells_count_stays(warehouse: list[Stay], tmp_path: Path) -> None:
    rows: list[Sequence[object]] = [
        (entry.stay, hour, (hour * number % 17) / 17, entry.mortality)
        for number, entry in enumerate(reversed(warehouse))
        if number % 30 != 29
        for hour in (5, 6)
    ]
    header = hourly(tmp_path, "decomp").prediction_header
    prediction = write(tmp_path / "prediction.csv", header, rows)
    done = call(
        tmp_path,
        *("--task", "decomp", prediction, "--n-iters", "5"),
        *("--by", "care_unit", "--by", "sex", "--min-cell", "5", "--cluster", "stay"),
    )
    assert done.code == 0, done.err
    groups = done.result["subgroups"]
    # 4 stays with 8 rows are fewer than 5.
    assert groups["care_unit"]["TSICU"]["n"] is groups["care_unit"]["CCU"]["n"] is None
    assert groups["sex"]["F"]["n"] == 2 * groups["sex"]["F"]["n_stays"]


def test_subgroups_need_the_stays_in_the_warehouse(warehouse: list[Stay], tmp_path: Path) -> None:
    done = mortality(tmp_path).score("--by", "sex")
    assert done.code == 2
    assert "40 of 40 stays are not in the warehouse" in done.err
    assert name(100) in done.err


@pytest.mark.parametrize(
    ("spelling", "group"),
    [
        ("WHITE", "white"),
        ("WHITE - EASTERN EUROPEAN", "white"),
        ("BLACK/CAPE VERDEAN", "black"),
        ("CARIBBEAN ISLAND", "black"),
        ("HISPANIC/LATINO - PUERTO RICAN", "hispanic"),
        ("HISPANIC OR LATINO", "hispanic"),
        ("ASIAN - VIETNAMESE", "asian"),
        ("AMERICAN INDIAN/ALASKA NATIVE", "american_indian"),
        ("PORTUGUESE", "other"),
        ("MULTI RACE ETHNICITY", "other"),
        ("UNKNOWN/NOT SPECIFIED", "unknown"),
        ("UNABLE TO OBTAIN", "unknown"),
        ("PATIENT DECLINED TO ANSWER", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_ethnicity_groups(spelling: str | None, group: str) -> None:
    assert ethnicity(spelling) == group
