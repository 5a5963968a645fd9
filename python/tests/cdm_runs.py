"""Runs of CDM by the command line, and what their folders hold."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from commands import folder_in as folder_in
from commands import folder_of as folder_of
from commands import run_medeval


def run_cdm(out: Path, cases: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    return run_medeval("run", "--task", "cdm", "--cases", cases, "--out", out, *args)


def scored(folder: Path, *args: str | Path) -> dict[str, Any]:
    done = run_medeval("score", "--task", "cdm", folder, *args)
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    result: dict[str, Any] = report["detailed_results"][0]
    return result


def lines(folder: Path, name: str = "responses.jsonl") -> list[dict[str, Any]]:
    text = (folder / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def plain(printed: str) -> str:
    """Return what was printed with its lines joined."""
    return " ".join(printed.split())


def hadm_ids(folder: Path) -> list[int]:
    """Return the cases of an export in its order."""
    return [case["hadm_id"] for case in lines(folder, "benchmark.jsonl")]
