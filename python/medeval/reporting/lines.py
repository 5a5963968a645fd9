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
LINE_CELLS = ("value", "low", "high", "level", "method", "n", "n_undefined")
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

    def cells(self) -> list[object]:
        """Return what a row of a table has of it, see `LINE_CELLS`."""
        one = self.interval
        ends = [one.low, one.high, one.level, one.method] if one else [None] * 4
        return [self.value, *ends, self.n, self.n_undefined]


def task_lines(
    report: BenchmarkReport, task_id: str, results: Sequence[EvaluationResult]
) -> list[Line]:
    """Return the scores of a task; a metric that is undefined for all items has a line too."""
    scores = report.task_scores.get(task_id, {})
    categories = said(report.metadata, "categories", task_id)
    combined = said(report.metadata, "combined")
    intervals = said(report.metadata, "intervals", "task_scores", task_id)
    # Several results have an interval each, and their mean has none.
    only = results[0] if len(results) == 1 else None
    about = said(only.metadata, "metrics") if only else {}
    lines = []
    for name in dict.fromkeys([*about, *scores]):
        metric = said(about, name)
        kind: Kind = "metric"
        interval = (only.intervals or {}).get(name) if only else None
        undefined = int(metric.get("n_undefined", 0))
        notes = [str(metric.get("description") or "")]
        if "coverage" in metric:
            notes.append(f"coverage {metric['coverage']:.2f}")
        if undefined and metric.get("reason"):
            notes.append(f"{'undefined: ' if notes[0] else ''}{metric['reason']}")
        if name in categories or name == combined.get("name"):
            metric, undefined, interval = {}, 0, read_interval(intervals.get(name))
            weighted = [part for part in said(combined, "weights") if part in scores]
            is_category = name in categories
            kind = "category" if is_category else "combined"
            parts = ", ".join(map(str, categories[name] if is_category else weighted))
            notes = [f"{'mean' if is_category else 'weighted mean'} of {parts}"]
        n, note = metric.get("n", interval and interval.n), "; ".join(filter(None, notes))
        how = str(metric.get("direction", "higher")), metric.get("scale") == "count"
        lines.append(Line(name, kind, scores.get(name), interval, n, undefined, note, *how))
    return lines


def overall_lines(report: BenchmarkReport, tasks: Sequence[Sequence[Line]]) -> list[Line]:
    """Return the scores over all tasks.

    Args:
        report: the report.
        tasks: the lines of each task.
    """
    intervals = said(report.metadata, "intervals", "overall_scores")
    overall = []
    for name, value in report.overall_scores.items():
        of_tasks = [line for lines in tasks for line in lines if line.name == name]
        having = [line for line in of_tasks if line.value is not None]
        first = having[0] if having else Line(name, "metric", None)
        interval = read_interval(intervals.get(name)) or (
            first.interval if len(having) == 1 else None
        )
        known = [line.n for line in having if line.n is not None]
        n = sum(known) if known and len(known) == len(having) else None
        n = interval.n if interval else n
        undefined = sum(line.n_undefined for line in of_tasks)
        note = "1 task" if len(having) == 1 else f"mean of {len(having)} tasks"
        how = first.direction, any(line.is_count for line in having)
        overall.append(Line(name, first.kind, value, interval, n, undefined, note, *how))
    return overall


def shown(value: float | None) -> str:
    """Return a score as tables show it."""
    return "undefined" if value is None else f"{value:.3f}"


def shown_interval(interval: Interval | None) -> str:
    """Return an interval as tables show it; empty for none."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.3f} to {interval.high:.3f}"


def read_interval(value: Any) -> Interval | None:
    """Return an interval from metadata; None for anything else."""
    try:
        return Interval.model_validate(value)
    except ValidationError:
        return None


def said(metadata: Any, *path: str) -> Mapping[str, Any]:
    """Return the mapping at a path of metadata; an empty one if there is anything else."""
    for name in path:
        metadata = metadata.get(name) if isinstance(metadata, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


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
    environment.filters |= {"plain": escaped, "score": shown, "interval": shown_interval}
    return environment
