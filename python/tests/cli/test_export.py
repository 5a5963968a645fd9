"""`python -m medeval export` of the demo: to a folder, or to standard output."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_medeval


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("yier", "yier/questions.jsonl"),
        ("mtsamples_procedures", "mtsamples/examples.jsonl"),
        ("multitask", ""),
    ],
)
def test_export_to_standard_output_is_the_one_file_of_the_export(
    asked_duckdb: Path, tmp_path: Path, task: str, file: str
) -> None:
    env = {"MEDEVAL_DUCKDB": str(asked_duckdb), "TMPDIR": str(tmp_path / "staged")}
    (tmp_path / "staged").mkdir()
    piped = run_medeval("export", "--task", task, "--out", "-", env=env)
    assert [*tmp_path.glob("staged/*")] == []
    if not file:
        assert (piped.returncode, piped.stdout) == (2, "")
        assert "multitask is 5 files (" in piped.stderr
        return
    assert piped.returncode == 0, piped.stderr
    assert f"{Path(file).name}: {len(piped.stdout.splitlines()):,} rows, data class open" in (
        piped.stderr
    )
    done = run_medeval("export", "--task", task, "--out", tmp_path / "out", env=env)
    assert done.returncode == 0
    assert piped.stdout == (tmp_path / "out" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "tasks", [(), ("--task", "yier", "--task", "mtsamples"), ("--task", "mimic3")]
)
def test_export_of_several_tasks_to_standard_output_is_refused(tasks: tuple[str, ...]) -> None:
    done = run_medeval("export", *tasks, "--out", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--out - takes one task" in done.stderr
