"""A report as people and programs read it: what it shows, and the forms in which it is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.csv_rows import table_for_spreadsheets
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.text_files import write_text
from medeval.reporting.lines import (
    Line,
    interval_cells,
    mapping_of,
    overall_lines,
    page,
    results_of,
    shown,
    task_lines,
)

FORMATS = ("json", "yaml", "md", "csv", "html")
_OTHER_NAMES = {"yml": "yaml", "markdown": "md", "htm": "html"}
# What became of items, from good to bad; each has a class of the page's style.
OUTCOME_ORDER = (
    *("answered", "unparsed", "refused", "truncated", "truncated_reasoning", "empty", "errored"),
)
# More would make a page that no browser opens gladly; the JSON report has all.
MOST_ITEMS = 200
_HEADER = (
    *("model_id", "scope", "task_id", "status", "name", "kind", "value", "low", "high", "level"),
    *("method", "n", "n_undefined", "direction", "note", "task_hash"),
)


@dataclass(frozen=True)
class ItemPart:
    """One item with what was asked and answered.

    Attributes:
        id: its name within the task.
        shown: the input, as text.
        output: the model's output, as text.
        outcome: what became of it.
        scores: metric to score, as text.
    """

    id: str
    shown: str
    output: str
    outcome: str
    scores: Mapping[str, str]


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
    tables: Sequence[Mapping[str, Any]]
    violations: Sequence[str]
    items: Sequence[ItemPart]
    n_hidden: int
    is_withheld: bool

    @property
    def facts(self) -> str:
        """What is known of it, in a line."""
        known = {
            "name": self.title,
            "status": self.status,
            "items": "" if self.n_items is None else str(self.n_items),
            "content": self.task_hash[:12],
        }
        return ", ".join(f"{label} {text}" for label, text in known.items() if text)


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
    found = [*report.task_scores, *(result.task_id for result in report.detailed_results)]
    tasks = [_task_part(report, task_id, show_text) for task_id in dict.fromkeys(found)]
    return Contents(
        model_id=report.model_id,
        about=_about(report),
        overall=overall_lines(report, [task.lines for task in tasks]),
        tasks=tasks,
        outcomes=_summed(task.outcomes for task in tasks),
        failed=[task.task_id for task in tasks if task.status == "error"],
    )


def _summed(ledgers: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return one ledger of several, in the order in which outcomes first come."""
    total: dict[str, int] = {}
    for ledger in ledgers:
        for outcome, number in ledger.items():
            total[outcome] = total.get(outcome, 0) + int(number)
    return total


def _task_part(report: BenchmarkReport, task_id: str, show_text: bool) -> TaskPart:
    results = results_of(report, task_id)
    last = results[-1] if results else None
    about: Mapping[str, Any] = last.metadata if last else {}
    may_show = last is not None and (show_text or may_show_text(last))
    items = items_of(last) if last and may_show else []
    n_items = last.item_count() if last else None
    if not n_items and isinstance(ids := about.get("input_ids"), list):
        n_items = len(ids)
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
        outcomes=_summed(mapping_of(one.metadata.get("outcomes")) for one in results),
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
        (
            "Model parameters",
            ", ".join(
                f"{name} = {value_text(value)}"
                for name, value in mapping_of(model.get("parameters")).items()
            ),
        ),
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


def _tables(found: Any) -> list[dict[str, Any]]:
    """Return the tables that a result tells of; what is of another form is none."""
    return [
        {
            "title": str(one["title"]),
            "columns": _texts(one["columns"]),
            "rows": [_texts(row) for row in one["rows"]],
        }
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, Mapping) and {"title", "columns", "rows"} <= one.keys()
    ]


def items_of(result: EvaluationResult) -> list[ItemPart]:
    """Return the items of a result."""
    ids = result.metadata.get("input_ids") or []
    outcomes = result.metadata.get("item_outcomes") or []

    def text(rows: Sequence[Mapping[str, Any]], index: int) -> str:
        row = rows[index] if index < len(rows) else {}
        return "\n".join(f"{key}: {value_text(value)}" for key, value in row.items())

    return [
        ItemPart(
            id=str(ids[index]) if index < len(ids) else str(index),
            shown=text(result.inputs, index),
            output=text(result.model_outputs, index),
            outcome=str(outcomes[index]) if index < len(outcomes) else "",
            scores={
                metric: "" if scores[index] is None else shown(scores[index])
                for metric, scores in (result.item_scores or {}).items()
                if index < len(scores)
            },
        )
        for index in range(result.item_count())
    ]


def value_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def may_show_text(result: EvaluationResult) -> bool:
    """Tell whether inputs and outputs are open; a result that does not say so is not."""
    return result.metadata.get("data_class") == "open"


def without_text(
    report: BenchmarkReport, *, show_text: bool = False, keep_outputs: bool = False
) -> BenchmarkReport:
    """Return the report as it may be written: scores and counts stay, text of patients goes.

    Args:
        report: stays as it is.
        show_text: leave all text in.
        keep_outputs: leave out inputs alone, for the record of a run.
    """
    if show_text:
        return report
    gone: dict[str, list[object]]
    gone = {"inputs": []} if keep_outputs else {"inputs": [], "model_outputs": []}
    kept = [
        result if may_show_text(result) else result.model_copy(update=dict(gone))
        for result in report.detailed_results
    ]
    return report.model_copy(update={"detailed_results": kept})


def _rows(contents: Contents) -> Iterator[list[object]]:
    """Yield the lines of the table; a task without a score has one too, so that it is seen."""

    def cells(line: Line) -> list[object]:
        scored = [line.name, line.kind, line.value, *interval_cells(line.interval)]
        return [*scored, line.n, line.n_undefined, line.direction, line.note]

    for line in contents.overall:
        yield [contents.model_id, "overall", None, None, *cells(line), None]
    for task in contents.tasks:
        start = [contents.model_id, "task", task.task_id, task.status]
        for line in task.lines:
            yield [*start, *cells(line), task.task_hash]
        if not task.lines:
            yield [*start, *[None] * 10, task.error, task.task_hash]


def check_formats(formats: Iterable[str]) -> list[str]:
    """Return the formats under their usual names, each once.

    Raises:
        UserError: one of them is none.
    """
    return list(dict.fromkeys(_format(name) for name in formats))


def rendered(
    report: BenchmarkReport,
    format: str,  # noqa: A002  as in the models' save
    *,
    show_text: bool = False,
    keep_outputs: bool = False,
) -> str:
    """Return a report as text.

    Args:
        report: the report.
        format: json, yaml, md, csv or html. The first two can be read back as a report.
        show_text: with inputs and outputs of tasks that are not open.
        keep_outputs: json and yaml: with outputs, but without inputs, of these tasks.

    Raises:
        UserError: the format is none.
    """
    chosen = _format(format)
    if chosen in ("json", "yaml"):
        written = without_text(report, show_text=show_text, keep_outputs=keep_outputs)
        return written.convert(chosen)
    contents = contents_of(report, show_text=show_text)
    if chosen == "csv":
        return table_for_spreadsheets(_HEADER, _rows(contents))
    drawn = [name for name in OUTCOME_ORDER if name in contents.outcomes]
    others = [name for name in contents.outcomes if name not in ("asked", *drawn)]
    return page(f"report.{chosen}", contents=contents, outcome_names=drawn + others, drawn=drawn)


def write_report(
    report: BenchmarkReport,
    path: str | Path,
    format: str | None = None,  # noqa: A002  as in the models' save
    *,
    show_text: bool = False,
    keep_outputs: bool = False,
) -> None:
    """Write a report to a file, which is replaced as a whole and readable for its owner only.

    Args:
        report: the report.
        path: the file; missing folders are made.
        format: json, yaml, md, csv or html; without it the suffix decides.
        show_text: with inputs and outputs of tasks that are not open.
        keep_outputs: json and yaml: with outputs, but without inputs, of these tasks.

    Raises:
        UserError: the format or suffix is none of these.
    """
    place = Path(path)
    chosen = _format(format if format is not None else place.suffix.removeprefix("."))
    text = rendered(report, chosen, show_text=show_text, keep_outputs=keep_outputs)
    write_text(place, text if text.endswith("\n") else text + "\n")


def write_reports(
    report: BenchmarkReport,
    folder: Path,
    name: str,
    formats: Iterable[str],
    *,
    show_text: bool = False,
    keep_outputs: bool = False,
) -> list[Path]:
    """Write a report in several formats; return the files.

    Raises:
        UserError: a format is none; then nothing is written.
    """
    paths = {chosen: folder / f"{name}.{chosen}" for chosen in check_formats(formats)}
    for chosen, path in paths.items():
        write_report(report, path, chosen, show_text=show_text, keep_outputs=keep_outputs)
    return list(paths.values())


def _format(name: str) -> str:
    asked = name.strip().lower().removeprefix(".")
    chosen = _OTHER_NAMES.get(asked, asked)
    if chosen not in FORMATS:
        raise UserError(f"Unknown report format {name!r}. Use one of {', '.join(FORMATS)}.")
    return chosen
