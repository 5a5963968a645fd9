"""Reports of one task that are written by hand, as `score` leaves them in the folder of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_report(
    path: Path,
    model: str,
    task: str,
    scores: Mapping[str, float],
    about: Mapping[str, Any] | None = None,
    **result: Any,
) -> Path:
    """Write a report.

    Args:
        path: of the file, whose folder is made.
        model: its name.
        task: its name.
        scores: of the task and in all.
        about: further fields of the report.
        result: further fields of its one result.
    """
    named = {"model_id": model, "timestamp": "2026-01-02T03:04:05Z"}
    report = {
        **named,
        "overall_scores": scores,
        "task_scores": {task: scores},
        "detailed_results": [{**named, "task_id": task, "metrics_results": scores, **result}],
        "metadata": {},
        **(about or {}),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report), encoding="utf-8")
    return path
