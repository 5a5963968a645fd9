"""Reports as rows of the warehouse's table of published scores: values over all items, no texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path

from medeval.errors import UserError
from medeval.inference.types import canonical
from medeval.models.benchmark_report import BenchmarkReport
from medeval.published import COLUMNS
from medeval.reporting.contents import said, task_lines
from medeval.reporting.entries import Entry, direction_of, headline_of

Cells = list[object]


def published_rows(reports: Sequence[tuple[Path, BenchmarkReport]]) -> dict[str, list[Cells]]:
    """Return the rows of reports by the ids of their runs, cells in the order of the columns.

    Args:
        reports: of whole runs, and where each is.

    Raises:
        UserError: a report without the id of a run or the hash of a task, one without a score, or
            two of one run.
    """
    found: dict[str, list[Cells]] = {}
    for place, report in reports:
        run_id = report.metadata.get("run_id")
        if not run_id:
            raise UserError(f"{place} has no id of a run. Publish the folder of a run.")
        if run_id in found:
            raise UserError(f"{place}: the run {run_id} is named twice. Leave one of them away.")
        found[run_id] = [[row[name] for name in COLUMNS] for row in _rows(report, place)]
        if not found[run_id]:
            raise UserError(f"{place} has no scores to publish.")
    return found


def _rows(report: BenchmarkReport, place: Path) -> Iterator[dict[str, object]]:
    cost = Entry(report).facts()["cost"]
    of_run = {
        "run_id": report.metadata["run_id"],
        "model": report.model_id,
        "medeval_version": report.metadata.get("medeval_version"),
        "prompt_version": report.metadata.get("prompt_version"),
        # The warehouse has times without a zone: UTC.
        "made_at": report.timestamp.astimezone(UTC).replace(tzinfo=None),
        "cost": None if cost is None else float(cost),
    }
    for task_id in report.task_scores:
        results = [one for one in report.detailed_results if one.task_id == task_id]
        told = results[-1].metadata if results else {}
        if not told.get("task_hash"):
            raise UserError(
                f"{place} does not say which content of task {task_id!r} it scored (task_hash)."
                " Evaluate it anew."
            )
        headline = headline_of(report, results[-1])
        for line in task_lines(report, task_id, results):
            interval = line.interval
            ends = {
                name: getattr(interval, name) if interval else None
                for name in ("low", "high", "level")
            }
            # What nobody says is not claimed, but a headline ranks.
            known = direction_of(results, line.name) or (
                "higher" if line.name == headline else None
            )
            yield {
                **of_run,
                **ends,
                "task": task_id,
                "metric": line.name,
                "is_headline": line.name == headline,
                "value": line.value,
                "n": line.n,
                "n_undefined": line.n_undefined,
                "direction": known,
                "content_sha256": told["task_hash"],
                "data_sha256": said(told, "data").get("sha256"),
                "scored_as": canonical(said(told, "scored_as")),
            }
