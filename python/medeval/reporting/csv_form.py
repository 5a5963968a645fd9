"""A report as a table, one line a score, for spreadsheets and data frames."""

from __future__ import annotations

from collections.abc import Iterator

from medeval.models.csv_rows import table_for_spreadsheets
from medeval.reporting.contents import Contents
from medeval.reporting.lines import Line

HEADER = (
    "model_id",
    "scope",
    "task_id",
    "status",
    "name",
    "kind",
    "value",
    "low",
    "high",
    "level",
    "method",
    "n",
    "n_undefined",
    "direction",
    "note",
    "task_hash",
)


def report_csv(contents: Contents) -> str:
    """Return the table; a task without a score has a line of its own, so that it is seen."""
    return table_for_spreadsheets(HEADER, _rows(contents))


def _rows(contents: Contents) -> Iterator[list[object]]:
    for line in contents.overall:
        yield [contents.model_id, "overall", None, None, *_cells(line), None]
    for task in contents.tasks:
        start = [contents.model_id, "task", task.task_id, task.status]
        for line in task.lines:
            yield [*start, *_cells(line), task.task_hash]
        if not task.lines:
            yield [*start, *[None] * 10, task.error, task.task_hash]


def _cells(line: Line) -> list[object]:
    interval = line.interval
    ends = (
        [interval.low, interval.high, interval.level, interval.method] if interval else 4 * [None]
    )
    counted = [line.n, line.n_undefined, line.direction, line.note]
    return [line.name, line.kind, line.value, *ends, *counted]
