"""What a report shows, worked out once for all formats that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.models.benchmark_report import BenchmarkReport
from medeval.reporting.items import ItemPart, items_of, value_text
from medeval.reporting.lines import Line, mapping_of, overall_lines, results_of, task_lines
from medeval.reporting.privacy import may_show_text

_OUTCOMES = "outcomes"
# More would make a page that no browser opens gladly; the JSON report has all.
MOST_ITEMS = 200


@dataclass(frozen=True)
class TablePart:
    """A table beside the scores.

    Attributes:
        title: of the table.
        columns: their names.
        rows: their cells, as they are shown.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class TaskPart:
    """One task.

    Attributes:
        task_id: its id.
        title: its name; empty if it has none of its own.
        status: `ok`, `error`, `unscored`, or empty where the report does not say.
        error: why it failed.
        n_items: how many items it has; None where unknown.
        task_hash: of its content; empty where unknown.
        data_class: `open` or `credentialed`.
        lines: its scores.
        outcomes: the ledger of its items.
        warnings: what must not be overlooked, such as a judge that stopped.
        notes: what else a reader should know.
        tables: groups, judges and whatever else the task shows beside its scores.
        violations: where it or its outputs break its schemas.
        items: its items, as far as they are shown.
        n_hidden: how many items are not shown.
        is_withheld: they are not shown because the task is not open.
    """

    task_id: str
    title: str
    status: str
    error: str
    n_items: int | None
    task_hash: str
    data_class: str
    lines: Sequence[Line]
    outcomes: Mapping[str, int]
    warnings: Sequence[str]
    notes: Sequence[str]
    tables: Sequence[TablePart]
    violations: Sequence[str]
    items: Sequence[ItemPart]
    n_hidden: int
    is_withheld: bool


@dataclass(frozen=True)
class Contents:
    """A report.

    Attributes:
        model_id: the model.
        about: label and text of what is known of the run.
        overall: the scores over all tasks.
        tasks: the tasks.
        outcomes: the ledger of all items.
        failed: ids of tasks without scores because they failed.
    """

    model_id: str
    about: Sequence[tuple[str, str]]
    overall: Sequence[Line]
    tasks: Sequence[TaskPart]
    outcomes: Mapping[str, int]
    failed: Sequence[str]


def contents_of(report: BenchmarkReport, *, show_text: bool = False) -> Contents:
    """Return what a report shows.

    Args:
        report: from a run, or made by hand: what it does not say is left out.
        show_text: show inputs and outputs of tasks that are not open.
    """
    tasks = [_task_part(report, task_id, show_text) for task_id in _task_ids(report)]
    totals: dict[str, int] = {}
    for task in tasks:
        for outcome, count in task.outcomes.items():
            totals[outcome] = totals.get(outcome, 0) + count
    return Contents(
        model_id=report.model_id,
        about=_about(report),
        overall=overall_lines(report, [task.lines for task in tasks]),
        tasks=tasks,
        outcomes=totals,
        failed=[task.task_id for task in tasks if task.status == "error"],
    )


def _task_ids(report: BenchmarkReport) -> list[str]:
    found = [*report.task_scores, *(result.task_id for result in report.detailed_results)]
    return list(dict.fromkeys(found))


def _task_part(report: BenchmarkReport, task_id: str, show_text: bool) -> TaskPart:
    results = results_of(report, task_id)
    last = results[-1] if results else None
    about: Mapping[str, Any] = last.metadata if last else {}
    may_show = last is not None and (show_text or may_show_text(last))
    items = items_of(last) if last and may_show else []
    n_items = last.item_count() if last else None
    if not n_items and isinstance(ids := about.get("input_ids"), list):
        n_items = len(ids)
    outcomes: dict[str, int] = {}
    for result in results:
        for outcome, count in mapping_of(result.metadata.get(_OUTCOMES)).items():
            outcomes[outcome] = outcomes.get(outcome, 0) + int(count)
    error = mapping_of(about.get("error"))
    title = str(about.get("task_name") or "")
    return TaskPart(
        task_id=task_id,
        title="" if title == task_id else title,
        status=str(about.get("status", "")),
        error=": ".join(str(error[key]) for key in ("type", "message") if key in error),
        n_items=n_items,
        task_hash=str(about.get("task_hash", "")),
        data_class=str(about.get("data_class", "credentialed")),
        lines=task_lines(report, task_id, results),
        outcomes=outcomes,
        warnings=_texts(about.get("warnings")),
        notes=_texts(about.get("notes")),
        tables=_tables(about.get("tables")),
        violations=[str(one) for one in about.get("validation_errors", ())],
        items=items[:MOST_ITEMS],
        n_hidden=max(0, len(items) - MOST_ITEMS),
        is_withheld=bool(last and last.item_count() and not may_show),
    )


def _about(report: BenchmarkReport) -> list[tuple[str, str]]:
    about = report.metadata
    model = mapping_of(about.get("model"))
    bootstrap = mapping_of(about.get("bootstrap"))
    found = [
        ("Run", about.get("run_id")),
        ("Made", f"{report.timestamp:%Y-%m-%d %H:%M} UTC"),
        ("Model type", model.get("type")),
        ("Model as its server names it", ", ".join(_texts(about.get("models_reported")))),
        ("Endpoint", about.get("endpoint")),
        ("Model parameters", _settings(model.get("parameters"))),
        ("Prompt version", about.get("prompt_version")),
        ("medeval", about.get("medeval_version")),
        (
            "Intervals",
            f"{bootstrap['level']:.0%}, {bootstrap['draws']} resamples of items, seed"
            f" {bootstrap['seed']}; {bootstrap.get('method', 'Wilson for right or wrong')}"
            if {"level", "draws", "seed"} <= bootstrap.keys()
            else None,
        ),
    ]
    return [(label, str(text)) for label, text in found if text not in (None, "")]


def _texts(found: Any) -> list[str]:
    return [str(one) for one in found] if isinstance(found, (list, tuple)) else []


def _tables(found: Any) -> list[TablePart]:
    """Return the tables that a result tells of; what is of another form is none."""
    if not isinstance(found, list):
        return []
    return [
        TablePart(str(one["title"]), _texts(one["columns"]), [_texts(row) for row in one["rows"]])
        for one in found
        if isinstance(one, Mapping) and {"title", "columns", "rows"} <= one.keys()
    ]


def _settings(parameters: Any) -> str:
    return ", ".join(
        f"{name} = {value_text(value)}" for name, value in mapping_of(parameters).items()
    )
