"""The scores of a report, line by line, and the pages that show them: HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import Interval
from medeval.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

Kind = Literal["metric", "category", "combined"]
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&~])")


@dataclass(frozen=True)
class Line:
    """One score.

    Attributes:
        name: of the metric, category or combined score.
        kind: which of these it is.
        value: None where it is not defined.
        interval: None where there is none.
        n: the number of items behind it, for an overall score of tasks; None where unknown.
        n_undefined: items without a score.
        note: what it measures or is made of, and why items have none.
        direction: which way is better.
        is_count: it counts something, so it has no place on a scale from 0 to 1.
    """

    name: str
    kind: Kind
    value: float | None
    interval: Interval | None = None
    n: int | None = None
    n_undefined: int = 0
    note: str = ""
    direction: str = "higher"
    is_count: bool = False


def results_of(report: BenchmarkReport, task_id: str) -> list[EvaluationResult]:
    """Return the results of a task."""
    return [one for one in report.detailed_results if one.task_id == task_id]


def task_lines(
    report: BenchmarkReport, task_id: str, results: Sequence[EvaluationResult]
) -> list[Line]:
    """Return the scores of a task; a metric that is undefined for all items has a line too."""
    scores = report.task_scores.get(task_id, {})
    categories = mapping_of(mapping_of(report.metadata.get("categories")).get(task_id))
    combined = mapping_of(report.metadata.get("combined"))
    rolled = mapping_of(mapping_of(report.metadata.get("intervals")).get("task_scores"))
    known = mapping_of(rolled.get(task_id))
    only = results[0] if len(results) == 1 else None
    about = mapping_of(only.metadata.get("metrics")) if only else {}
    lines = []
    for name in [*about, *(name for name in scores if name not in about)]:
        value = scores.get(name)
        if name in categories or name == combined.get("name"):
            kind: Kind = "category" if name in categories else "combined"
            parts = categories.get(name) or [
                part for part in mapping_of(combined.get("weights")) if part in scores
            ]
            note = f"mean of {', '.join(map(str, parts))}"
            note = note if kind == "category" else f"weighted {note}"
            between = read_interval(known.get(name))
            lines.append(Line(name, kind, value, between, between.n if between else None, 0, note))
            continue
        metric = mapping_of(about.get(name))
        # Several results have an interval each, and their mean has none.
        interval = (only.intervals or {}).get(name) if only else None
        undefined = int(metric.get("n_undefined", 0))
        n = metric.get("n", interval.n if interval else None)
        note = str(metric.get("description") or "")
        if undefined and metric.get("reason"):
            note = f"{note}; undefined: {metric['reason']}" if note else str(metric["reason"])
        direction = str(metric.get("direction", "higher"))
        is_count = metric.get("scale") == "count"
        lines.append(Line(name, "metric", value, interval, n, undefined, note, direction, is_count))
    return lines


def overall_lines(report: BenchmarkReport, tasks: Sequence[Sequence[Line]]) -> list[Line]:
    """Return the scores over all tasks.

    Args:
        report: the report.
        tasks: the lines of each task.
    """
    known = mapping_of(mapping_of(report.metadata.get("intervals")).get("overall_scores"))
    overall = []
    for name, value in report.overall_scores.items():
        of_tasks = [line for lines in tasks for line in lines if line.name == name]
        having = [line for line in of_tasks if line.value is not None]
        count = len(having)
        only = having[0].interval if count == 1 else None
        interval = read_interval(known.get(name)) or only
        sizes = [line.n for line in having if line.n is not None]
        n = sum(sizes) if sizes and len(sizes) == count else None
        n = interval.n if interval else n
        overall.append(
            Line(
                name,
                having[0].kind if having else "metric",
                value,
                interval,
                n,
                sum(line.n_undefined for line in of_tasks),
                f"mean of {count} tasks" if count != 1 else "1 task",
                having[0].direction if having else "higher",
                any(line.is_count for line in having),
            )
        )
    return overall


def shown(value: float | None) -> str:
    """Return a score as tables show it."""
    return "undefined" if value is None else f"{value:.3f}"


def shown_interval(interval: Interval | None) -> str:
    """Return an interval as tables show it; empty for none."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.3f} to {interval.high:.3f}"


def interval_cells(interval: Interval | None) -> list[object]:
    """Return both ends, level and method, as a row of a table has them."""
    if interval is None:
        return [None] * 4
    return [interval.low, interval.high, interval.level, interval.method]


def read_interval(value: Any) -> Interval | None:
    """Return an interval from metadata; None for anything else."""
    try:
        return Interval.model_validate(value)
    except ValidationError:
        return None


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a mapping from metadata; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def page(template: str, **values: Any) -> str:
    """Return a page; all text in it is shown as it is, and none of it acts."""
    return _environment(template.endswith(".html")).get_template(template).render(**values)


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))


@cache
def _environment(is_html: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("medeval.reporting"),
        autoescape=is_html,  # noqa: S701  in Markdown each text is escaped by `plain`
        finalize=lambda value: visible(value) if is_html and type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not is_html,
    )
    environment.filters |= {
        "plain": escaped,
        "score": shown,
        "interval": shown_interval,
    }
    return environment
