"""`compare` of runs that were not asked the same items: by pairs, or a sentence."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cdm_runs import folder_of, hadm_ids, plain, run_cdm
from commands import PROJECT_ROOT, run_medeval

from medeval.errors import UserError
from medeval.tasks.differences import mean_difference
from medeval.tasks.task import Method

CASES = "benchmark.jsonl"
MAPPING = "lab_test_mapping.json"


@pytest.fixture(autouse=True)
def _warehouse(asked_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(asked_duckdb))


def compared(tmp_path: Path, task: str, *runs: Path) -> list[dict[str, Any]]:
    out = tmp_path / "compared.json"
    done = run_medeval("compare", "--task", task, *runs, "--n-iters", "20", "--out", out)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["comparisons"]
    return found


def refusal(task: str, *runs: Path) -> str:
    done = run_medeval("compare", "--task", task, *runs, "--n-iters", "20")
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return plain(done.stderr)


def test_scores_of_unequal_numbers_of_items_are_no_pairs() -> None:
    with pytest.raises(UserError, match="one run has 2 items and the other 1"):
        mean_difference("m", [0.0, 1.0], [1.0], Method(10))
    with pytest.raises(UserError, match="one run has 0 items and the other 1"):
        mean_difference("m", [], [1.0], Method(10))


def test_which_run_is_better_goes_by_the_metric_of_the_task_file(tmp_path: Path) -> None:
    shipped = PROJECT_ROOT / "python/medeval/task_files/patient_communication_basic.yaml"
    text = shipped.read_text(encoding="utf-8")
    task = tmp_path / "letters.yaml"
    task.write_text(re.sub("(?m)^metrics: .*", "metrics: [rouge_l, readability]", text), "utf-8")
    runs = []
    for place in ("a", "b"):
        done = run_medeval("run", "--task", task, "--model", "demo", "--out", tmp_path / place)
        assert done.returncode == 0, done.stderr
        runs.append(folder_of(done))
    found = {one["metric"]: one["direction"] for one in compared(tmp_path, str(task), *runs)}
    assert found == {"rouge_l": "higher", "readability": "neither"}


@pytest.mark.parametrize(
    ("task", "further"),
    [
        ("yier", ()),
        ("clinical_summarization_discharge", ()),
        ("mtsamples", ("--judge-model", "local")),
        ("cdm", ()),
    ],
)
def test_runs_of_different_limits_are_compared_on_what_both_were_asked(
    task: str, further: tuple[str, ...], tmp_path: Path, asked_export: Path
) -> None:
    if task == "cdm":
        further = ("--cases", str(asked_export))
    runs = []
    for limit in ("2", "3"):
        done = run_medeval(
            "run", "--task", task, "--model", "demo", "--limit", limit, *further,
            "--out", tmp_path / limit,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs.append(folder_of(done))
    for one, two in (runs, reversed(runs)):
        found = compared(tmp_path, task, one, two)
        assert found
        # The same model on the same items.
        assert {(each["n"], each["difference"]) for each in found} <= {(2, 0.0), (1, 0.0)}
        assert (found[0]["low"], found[0]["high"]) == (0.0, 0.0)


def test_runs_of_other_questions_are_not_compared(tmp_path: Path) -> None:
    runs = []
    for name, further in (("all", ()), ("some", ("--skip-without-context",))):
        done = run_medeval(
            "run", "--task", "yier", "--model", "demo", "--limit", "40", *further,
            "--out", tmp_path / name,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs.append(folder_of(done))
    assert "answers to different questions (40 and 10)" in refusal("yier", *runs)


def test_runs_that_share_no_case_are_not_compared(tmp_path: Path, asked_export: Path) -> None:
    every = hadm_ids(asked_export)
    runs = []
    for name, ids in (("a", every[:2]), ("b", every[2:4])):
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(map(str, ids)), encoding="utf-8")
        done = run_cdm(
            tmp_path / name, asked_export, "--model", "demo", "--subset", f"{name}={path}"
        )
        runs.append(folder_of(done))
    assert "there is no item that both runs have a score for" in refusal("cdm", *runs)


@pytest.mark.parametrize("changed", [CASES, MAPPING])
def test_runs_of_two_exports_are_not_compared(
    changed: str, tmp_path: Path, asked_export: Path
) -> None:
    """The same admissions in another order, or with another table of tests, are another export."""
    other = tmp_path / "other"
    other.mkdir()
    for name in (CASES, MAPPING):
        shutil.copy(asked_export / name, other)
    lines = (other / changed).read_text(encoding="utf-8").rstrip("\n").split("\n")
    otherwise = reversed(lines) if changed == CASES else [*lines, ""]
    (other / changed).write_text("\n".join(otherwise) + "\n", encoding="utf-8")
    runs = [
        folder_of(run_cdm(tmp_path / name, cases, "--model", "demo", "--limit", "3"))
        for name, cases in (("a", asked_export), ("b", other))
    ]
    for one, two in (runs, reversed(runs)):
        told = refusal("cdm", one, two)
        assert "were made with other cases, or with other tables of tests" in told
        assert "differ by SHA-256" in told
    # The same content in another folder is the same export.
    same = tmp_path / "same"
    same.mkdir()
    for name in (CASES, MAPPING):
        shutil.copy(asked_export / name, same)
    third = folder_of(run_cdm(tmp_path / "c", same, "--model", "demo", "--limit", "2"))
    assert {each["n"] for each in compared(tmp_path, "cdm", runs[0], third)} == {2}
