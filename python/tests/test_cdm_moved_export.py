"""An export that has been moved since a run began: the run goes on, is scored and compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cdm_runs import folder_of, lines, plain, run_cdm, scored, settings_in
from commands import run_medeval

FILES = ("benchmark.jsonl", "lab_test_mapping.json")


@pytest.fixture
def export(tmp_path: Path, asked_export: Path) -> Path:
    """A copy of the demo's cases that may be moved."""
    place = tmp_path / "export"
    place.mkdir()
    for name in FILES:
        shutil.copy(asked_export / name, place)
    return place


@pytest.fixture
def run(tmp_path: Path, export: Path) -> Path:
    """The folder of a run of two cases."""
    return folder_of(run_cdm(tmp_path / "runs", export, "--model", "demo", "--limit", "2"))


def test_a_run_goes_on_with_cases_that_were_moved(tmp_path: Path, export: Path, run: Path) -> None:
    before = settings_in(run)
    moved = export.rename(tmp_path / "moved here")
    lost = run_medeval("run", "--resume", run)
    assert lost.returncode == 2
    assert "--cases names another folder" in plain(lost.stderr)
    done = run_medeval("run", "--resume", run, "--cases", moved, "--limit", "4")
    assert done.returncode == 0, done.stderr
    assert len(lines(run)) == 4
    # Where the cases are is no setting, so the record stays what it was.
    assert settings_in(run) == before
    assert f"score --task cdm {run} --cases '{moved}'" in done.stdout
    assert scored(run, "--cases", moved)["metadata"]["n"] == 4


def test_a_folder_that_became_a_link_is_no_other_setting(
    tmp_path: Path, export: Path, run: Path
) -> None:
    moved = export.rename(tmp_path / "moved")
    export.symlink_to(moved)
    done = run_medeval("run", "--resume", run, "--limit", "3")
    assert done.returncode == 0, done.stderr
    assert len(lines(run)) == 3


@pytest.mark.parametrize("name", FILES)
def test_other_cases_are_refused_wherever_they_are(
    tmp_path: Path, export: Path, run: Path, name: str
) -> None:
    other = tmp_path / "other"
    shutil.copytree(export, other)
    (other / name).write_bytes((other / name).read_bytes() + b"\n")
    commands = (
        ("run", "--resume", run, "--limit", "4"),
        ("compare", "--task", "cdm", run, run),
        ("score", "--task", "cdm", run),
    )
    for command in commands:
        done = run_medeval(*command, "--cases", other)
        assert done.returncode == 2, command
        assert "its SHA-256 differs" in plain(done.stderr)
    # Or if they have taken the place of those that were.
    shutil.copy(other / name, export / name)
    done = run_medeval("run", "--resume", run, "--limit", "4")
    assert done.returncode == 2
    assert "its SHA-256 differs" in plain(done.stderr)
    assert len(lines(run)) == 2


def test_a_run_of_a_subset_goes_on_with_cases_that_were_moved(tmp_path: Path, export: Path) -> None:
    ids = [case["hadm_id"] for case in lines(export, "benchmark.jsonl")][5:8]
    path = tmp_path / "ids.txt"
    path.write_text("\n".join(map(str, ids)), encoding="utf-8")
    subset = ("--subset", f"readers={path}", "--limit", "1")
    run = folder_of(run_cdm(tmp_path / "runs", export, "--model", "demo", *subset))
    moved = export.rename(tmp_path / "moved")
    done = run_medeval("run", "--resume", run, "--cases", moved, "--limit", "3")
    assert done.returncode == 0, done.stderr
    assert sorted(int(line["item"]) for line in lines(run)) == sorted(ids)
    kept = (moved / FILES[0]).read_text(encoding="utf-8").split("\n")
    (moved / FILES[0]).write_text("\n".join(kept[:6]), encoding="utf-8")
    done = run_medeval("run", "--resume", run, "--cases", moved)
    assert done.returncode == 2
    assert "lacks 2 of the cases of the subset" in plain(done.stderr)


def test_runs_are_compared_with_cases_that_were_moved(
    tmp_path: Path, export: Path, run: Path
) -> None:
    moved = export.rename(tmp_path / "moved")
    command = ("compare", "--task", "cdm", run, run, "--n-iters", "10")
    assert run_medeval(*command).returncode == 2
    done = run_medeval(*command, "--cases", moved)
    assert done.returncode == 0, done.stderr
    journal = run / "responses.jsonl"
    kept = journal.read_text(encoding="utf-8").split("\n")[0]
    journal.write_text(kept + "\n", encoding="utf-8")
    done = run_medeval(*command, "--cases", moved)
    assert done.returncode == 2
    assert f"run --resume {run} --cases {moved}`" in plain(done.stderr)


def test_runs_of_other_tasks_have_no_cases(tmp_path: Path, export: Path) -> None:
    done = run_medeval(
        "run", "--task", "yier", "--model", "demo", "--limit", "1", "--out", tmp_path / "runs"
    )
    run = folder_of(done)
    done = run_medeval("run", "--resume", run, "--cases", export)
    assert done.returncode == 2
    assert "is a run of yier, which has no --cases" in plain(done.stderr)
    done = run_medeval("compare", "--task", "yier", run, run, "--cases", export)
    assert done.returncode == 2
    assert "is a run of yier, which has no --cases" in plain(done.stderr)
    done = run_medeval("compare", "--task", "ihm", "a.csv", "b.csv", "--cases", export)
    assert done.returncode == 2
    assert "ihm has no place for --cases" in plain(done.stderr)


def test_other_options_of_the_task_are_still_those_of_the_record(export: Path, run: Path) -> None:
    given = ("--env-args", '{"cases": "elsewhere", "max_rounds": 3}')
    done = run_medeval("run", "--resume", run, "--cases", export, *given)
    assert done.returncode == 2
    assert "leave --cases, --max-rounds away" in plain(done.stderr)
