"""Records that are no questions: `run` and `score` say how many they leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_medeval


def file_of(folder: Path, name: str, damaged: int) -> Path:
    """A file of six records, the first of which are no questions."""
    rows: list[dict[str, Any]] = [
        {
            "question": f"question {number}?",
            "selection": [] if number < damaged else ["one", "two"],
            "answer_choices": ["one"],
            "sample_id": f"q{number}",
        }
        for number in range(6)
    ]
    path = folder / name
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_a_run_says_what_it_leaves_out_whenever_it_starts(tmp_path: Path) -> None:
    questions = file_of(tmp_path, "questions.json", 4)
    training = file_of(tmp_path, "training.json", 1)
    runs = tmp_path / "runs"
    done = run_medeval(
        "run", "--task", "yier", "--model", "demo", "--questions", questions, "--examples",
        training, "--shots", "2", "--out", runs,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = [
        f"medeval: {count} records of {path} cannot be used and are left out;"
        for count, path in ((4, questions), (1, training))
    ]
    assert all(sentence in done.stderr for sentence in said)
    (folder,) = runs.iterdir()
    again = run_medeval("run", "--resume", folder)
    assert again.returncode == 0, again.stderr
    assert all(sentence in again.stderr for sentence in said)
    scored = run_medeval("score", "--task", "yier", folder)
    assert "4 records of the file cannot be used and are left out" in scored.stderr


@pytest.mark.parametrize("damaged", [0, 3])
def test_a_score_of_a_file_says_what_it_leaves_out(tmp_path: Path, damaged: int) -> None:
    gold = file_of(tmp_path, "gold.json", damaged)
    rows = json.loads(gold.read_text(encoding="utf-8"))[damaged:]
    handed_in = tmp_path / "predictions.json"
    handed_in.write_text(json.dumps([{**row, "predict_answers": ["one"]} for row in rows]))
    done = run_medeval("score", "--task", "yier", handed_in, "--gold", gold)
    assert done.returncode == 0, done.stderr
    assert ("3 records of the file cannot be used" in done.stderr) == bool(damaged)


def test_a_run_of_whole_files_says_nothing(tmp_path: Path) -> None:
    questions = file_of(tmp_path, "questions.json", 0)
    done = run_medeval(
        "run", "--task", "yier", "--model", "demo", "--questions", questions, "--out", tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
