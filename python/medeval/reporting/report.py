"""A report as people and programs read it: what it shows, and the forms in which it is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.rows import table_for_spreadsheets
from medeval.models.text_files import write_text
from medeval.reporting.lines import (
    LINE_CELLS,
    Line,
    overall_lines,
    page,
    said,
    shown,
    task_lines,
)

FORMATS = ("json", "yaml", "md", "csv", "html")
_OTHER_NAMES = {"yml": "yaml", "markdown": "md", "htm": "html"}
Text = Annotated[str, BeforeValidator(str)]
# What became of items, from good to bad; each has a class of the page's style.
OUTCOME_ORDER = (
    *("answered", "unparsed", "refused", "truncated", "truncated_reasoning", "empty", "errored"),
)
# More would make a page that no browser opens gladly; the JSON report has all.
MOST_ITEMS = 200
_HEADER = (
    *("model_id", "scope", "task_id", "status", "name", "kind", *LINE_CELLS),
    *("direction", "note", "task_hash"),
)


class ShownTable(BaseModel):
    """A table that a task shows beside its scores."""

    title: Text
    columns: list[Text]
    rows: list[list[Text]]


class TaskPart(BaseModel):
    """One task as it is shown: what its last result says, and what is found by counting.

    What the result says in another form than it should have is as if it were not said.

    Attributes:
        task_id: its id.
        task_name: its name; empty if it has none of its own.
        status: `ok`, `error`, `unscored`, or empty where the report does not say.
        failure: why it failed, in a line.
        task_hash: of its content; empty where unknown.
        data_class: `open` or `credentialed`.
        warnings: what must not be overlooked, such as a judge that stopped.
        notes: what else a reader should know.
        tables: groups, judges and whatever else the task shows beside its scores.
        validation_errors: where it or its outputs break its schemas.
        lines: its scores.
        outcomes: the ledger of its items.
        n_items: how many items it has; None where unknown.
        items: its items, as far as they are shown: id, input, output, outcome, scores by metric.
        n_hidden: how many items are not shown.
        is_withheld: they are not shown because the task is not open.
    """

    task_id: str
    task_name: Text = ""
    status: Text = ""
    failure: str = ""
    task_hash: Text = ""
    data_class: Text = "credentialed"
    warnings: list[Text] = []
    notes: list[Text] = []
    tables: list[ShownTable] = []
    validation_errors: list[Text] = []
    lines: list[Line] = []
    outcomes: dict[str, int] = {}
    n_items: int | None = None
    items: list[dict[str, Any]] = []
    n_hidden: int = 0
    is_withheld: bool = False

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_nothing(
        cls, value: Any, read: ValidatorFunctionWrapHandler, field: ValidationInfo
    ) -> Any:
        try:
            return read(value)
        except ValidationError:
            return cls.model_fields[str(field.field_name)].get_default()


def contents_of(report: BenchmarkReport, *, show_text: bool = False) -> dict[str, Any]:
    """Return what the pages of a report show.

    Args:
        report: from a run, or made by hand: what it does not say is left out.
        show_text: show inputs and outputs of tasks that are not open.

    Returns:
        The model's id, `about` with label and text of what is known of the run, the scores over all
        tasks, the tasks, and the ledger of all items.
    """
    found = [*report.task_scores, *(result.task_id for result in report.detailed_results)]
    tasks = [_task_part(report, task_id, show_text) for task_id in dict.fromkeys(found)]
    return {
        "model_id": report.model_id,
        "about": _about(report),
        "overall": overall_lines(report, [task.lines for task in tasks]),
        "tasks": tasks,
        "outcomes": _summed(task.outcomes for task in tasks),
    }


def _summed(ledgers: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return one ledger of several, in the order in which outcomes first come."""
    total: Counter[str] = Counter()
    for ledger in ledgers:
        total.update({outcome: int(number) for outcome, number in ledger.items()})
    return dict(total)


def _task_part(report: BenchmarkReport, task_id: str, show_text: bool) -> TaskPart:
    results = [one for one in report.detailed_results if one.task_id == task_id]
    # Of a report without results the scores are shown alone.
    last = results[-1] if results else EvaluationResult(model_id=report.model_id, task_id=task_id)
    may_show = show_text or may_show_text(last)
    count = last.item_count()
    ids = last.metadata.get("input_ids")
    n_items = len(ids) if not count and isinstance(ids, list) else count
    name, error = last.metadata.get("task_name") or "", said(last.metadata, "error")
    return TaskPart.model_validate(
        {
            **last.metadata,
            "task_id": task_id,
            "task_name": "" if name == task_id else name,
            "failure": ": ".join(str(error[key]) for key in ("type", "message") if key in error),
            "lines": task_lines(report, task_id, results),
            "outcomes": _summed(said(one.metadata, "outcomes") for one in results),
            "n_items": n_items if results else None,
            "items": list(islice(_items(last), MOST_ITEMS)) if may_show else [],
            "n_hidden": max(0, count - MOST_ITEMS) if may_show else 0,
            "is_withheld": bool(count) and not may_show,
        }
    )


def _about(report: BenchmarkReport) -> list[tuple[str, str]]:
    about, bootstrap = report.metadata, said(report.metadata, "bootstrap")
    parameters = {name: _text(value) for name, value in said(about, "model", "parameters").items()}
    reported = about.get("models_reported")
    models = reported if isinstance(reported, list | tuple) else ()
    intervals = ""
    if {"level", "draws", "seed"} <= bootstrap.keys():
        intervals = (
            f"{bootstrap['level']:.0%}, {bootstrap['draws']} resamples of items, seed"
            f" {bootstrap['seed']}; {bootstrap.get('method', 'Wilson for right or wrong')}"
        )
    found = {
        "Run": about.get("run_id"),
        "Made": f"{report.timestamp:%Y-%m-%d %H:%M} UTC",
        "Model type": said(about, "model").get("type"),
        "Model as its server names it": ", ".join(map(str, models)),
        "Endpoint": about.get("endpoint"),
        "Model parameters": ", ".join(f"{name} = {text}" for name, text in parameters.items()),
        "Prompt version": about.get("prompt_version"),
        "medeval": about.get("medeval_version"),
        "Intervals": intervals,
    }
    return [(label, str(text)) for label, text in found.items() if text not in (None, "")]


def _items(result: EvaluationResult) -> Iterator[dict[str, Any]]:
    """Yield each item of a result with what was asked and answered, as text."""
    count = result.item_count()
    ids = result.metadata.get("input_ids") or range(count)
    outcomes = result.metadata.get("item_outcomes") or []
    columns = [ids, result.inputs, result.model_outputs, outcomes]
    for index, (name, asked, output, outcome) in enumerate(islice(zip_longest(*columns), count)):
        yield {
            "id": str(index if name is None else name),
            "shown": "\n".join(f"{key}: {_text(value)}" for key, value in (asked or {}).items()),
            "output": "\n".join(f"{key}: {_text(value)}" for key, value in (output or {}).items()),
            "outcome": str(outcome or ""),
            "scores": {
                metric: "" if scores[index] is None else shown(scores[index])
                for metric, scores in (result.item_scores or {}).items()
                if index < len(scores)
            },
        }


def _text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def may_show_text(result: EvaluationResult) -> bool:
    """Tell whether inputs and outputs are open; a result that does not say so is not."""
    return result.metadata.get("data_class") == "open"


def _rows(contents: Mapping[str, Any]) -> Iterator[list[object]]:
    """Yield the lines of the table; a task without a score has one too, so that it is seen."""
    for line in contents["overall"]:
        yield [contents["model_id"], "overall", None, None, *_cells(line), None]
    for task in contents["tasks"]:
        about = [contents["model_id"], "task", task.task_id, task.status]
        for cells in map(_cells, task.lines) if task.lines else [[*[None] * 10, task.failure]]:
            yield [*about, *cells, task.task_hash]


def _cells(line: Line) -> list[object]:
    return [line.name, line.kind, *line.cells(), line.direction, line.note]


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
    chosen = format_named(format)
    if chosen in ("json", "yaml"):
        # Scores and counts stay, text of patients goes.
        gone: dict[str, Any] = (
            {"inputs": []} if keep_outputs else {"inputs": [], "model_outputs": []}
        )
        kept = [
            one if show_text or may_show_text(one) else one.model_copy(update=gone)
            for one in report.detailed_results
        ]
        return report.model_copy(update={"detailed_results": kept}).convert(chosen)
    contents = contents_of(report, show_text=show_text)
    if chosen == "csv":
        return table_for_spreadsheets(_HEADER, _rows(contents))
    drawn = [name for name in OUTCOME_ORDER if name in contents["outcomes"]]
    others = [name for name in contents["outcomes"] if name not in ("asked", *drawn)]
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
    chosen = format_named(format if format is not None else place.suffix.removeprefix("."))
    text = rendered(report, chosen, show_text=show_text, keep_outputs=keep_outputs)
    write_text(place, text if text.endswith("\n") else text + "\n")


def format_named(name: str) -> str:
    """Return a format under its usual name.

    Raises:
        UserError: there is none.
    """
    asked = name.strip().lower().removeprefix(".")
    chosen = _OTHER_NAMES.get(asked, asked)
    if chosen not in FORMATS:
        raise UserError(f"Unknown report format {name!r}. Use one of {', '.join(FORMATS)}.")
    return chosen
