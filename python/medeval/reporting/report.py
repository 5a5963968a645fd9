"""Reports: what they show, and their forms: JSON, YAML, Markdown, CSV, HTML and LaTeX.

Scores are lines, also those over all tasks; a task is its lines, its items, and what is known of
the run. LaTeX tables are for `booktabs`; texts in them are escaped, so that none of them acts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.types import Outcome
from medeval.models.about import About
from medeval.models.benchmark_report import OF_ITEMS, BenchmarkReport, EvaluationResult
from medeval.models.plots import plot_name, read_plots
from medeval.models.scores import Interval
from medeval.models.text_files import table_for_spreadsheets, write_text
from medeval.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

Kind = Literal["metric", "category", "combined"]
LINE_CELLS = ("value", "low", "high", "level", "method", "n", "n_undefined")
# Rows that a page has without its script, which finds and shows the others, so many at a time.
MOST_ITEMS = 200
# Characters of a text that is folded.
LONG_TEXT = 600
# Characters of the others' text: more would make a page that no browser opens gladly.
MOST_TEXT = 10_000_000
# Of an item: what the model was shown, what it answered, what it should have, why it scores so.
TEXTS = ("shown", "output", "gold", "verdict")


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
        label: what its task calls it, where that is not the name.
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
    label: str = ""

    def cells(self) -> list[object]:
        """Return what a row of a table has of it, see `LINE_CELLS`."""
        one = self.interval
        ends = [one.low, one.high, one.level, one.method] if one else [None] * 4
        return [self.value, *ends, self.n, self.n_undefined]


def task_lines(
    report: BenchmarkReport, task_id: str, results: Sequence[EvaluationResult]
) -> list[Line]:
    """Return the scores of a task; a metric that is undefined for all items has a line too."""
    scores, combined = report.task_scores.get(task_id, {}), said(report.metadata, "combined")
    rolled_up: dict[str, tuple[Kind, str]] = {}
    if (name := combined.get("name")) in scores:
        weighted = ", ".join(part for part in said(combined, "weights") if part in scores)
        rolled_up[str(name)] = "combined", f"weighted mean of {weighted}"
    for name, parts in said(report.metadata, "categories", task_id).items():
        rolled_up[name] = "category", f"mean of {', '.join(map(str, parts))}"
    intervals = said(report.metadata, "intervals", "task_scores", task_id)
    # Several results have an interval each, and their mean has none.
    only = results[0] if len(results) == 1 else None
    about = said(only.metadata, "metrics") if only else {}
    lines = []
    for name in dict.fromkeys([*about, *scores]):
        value, metric = scores.get(name), said(about, name)
        if name in rolled_up:
            (kind, note), own = rolled_up[name], intervals.get(name)
            interval = Interval.model_validate(own) if own else None
            n = interval.n if interval else None
            lines.append(Line(name, kind, value, interval, n, note=note))
            continue
        interval = (only.intervals or {}).get(name) if only else None
        undefined = int(metric.get("n_undefined", 0))
        notes = [str(metric.get("description") or metric.get("label") or "")]
        if "coverage" in metric:
            notes.append(f"coverage {metric['coverage']:.2f}")
        if undefined and metric.get("reason"):
            notes.append(f"{'undefined: ' if notes[0] else ''}{metric['reason']}")
        n, note = metric.get("n", interval and interval.n), "; ".join(filter(None, notes))
        how = str(metric.get("direction", "higher")), metric.get("scale") == "count"
        label = str(metric.get("label", ""))
        lines.append(Line(name, "metric", value, interval, n, undefined, note, *how, label))
    return lines


def overall_lines(report: BenchmarkReport, tasks: Sequence[Sequence[Line]]) -> Iterator[Line]:
    """Yield the scores over all tasks.

    Args:
        report: the report.
        tasks: the lines of each task.
    """
    intervals = said(report.metadata, "intervals", "overall_scores")
    for name, value in report.overall_scores.items():
        of_tasks = [line for lines in tasks for line in lines if line.name == name]
        having = [line for line in of_tasks if line.value is not None]
        first, count = having[0] if having else Line(name, "metric", None), len(having)
        interval = first.interval if count == 1 else None
        if own := intervals.get(name):
            interval = Interval.model_validate(own)
        counts = [line.n for line in having if line.n is not None]
        yield replace(
            first,
            value=value,
            interval=interval,
            n=interval.n if interval else sum(counts) if len(counts) == count > 0 else None,
            n_undefined=sum(line.n_undefined for line in of_tasks),
            note="1 task" if count == 1 else f"mean of {count} tasks",
            is_count=any(line.is_count for line in having),
        )


def said(metadata: Any, *path: str) -> Mapping[str, Any]:
    """Return the mapping at a path of metadata; an empty one if there is anything else."""
    for name in path:
        metadata = metadata.get(name) if isinstance(metadata, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def _summed(ledgers: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return one ledger of several, in the order in which outcomes first come."""
    total: Counter[str] = Counter()
    for ledger in ledgers:
        total.update({outcome: int(number) for outcome, number in ledger.items()})
    return dict(total)


def _task_part(
    report: BenchmarkReport,
    task_id: str,
    results: Sequence[EvaluationResult],
    show_text: bool,
    about: About,
) -> SimpleNamespace:
    """Return one task as it is shown: what its last result says, and what is found by counting.

    What a result does not say, or says in another form than a list, is left out.
    """
    # Of a report without results the scores are shown alone.
    last = results[-1] if results else EvaluationResult(model_id=report.model_id, task_id=task_id)
    told, may_show, count = last.metadata, show_text or may_show_text(last), last.item_count()
    lists = {
        name: found if isinstance(found := told.get(name), list) else []
        for name in ("warnings", "notes", "tables", "validation_errors", "input_ids")
    }
    name, error = told.get("task_name") or "", said(told, "error")
    lines = task_lines(report, task_id, results)
    items = list(items_of(last)) if may_show else []
    more = _rows(items[MOST_ITEMS:])
    return SimpleNamespace(
        **lists,
        about=about,
        title=about.title or name or task_id,
        result=last,
        headline=next((one for one in lines if one.name == told.get("headline")), None),
        plots=read_plots(told),
        task_id=task_id,
        task_name="" if name == task_id else name,
        status=told.get("status") or "",
        failure=": ".join(str(error[key]) for key in ("type", "message") if key in error),
        task_hash=str(told.get("task_hash") or ""),
        lines=lines,
        outcomes=_summed(said(one.metadata, "outcomes") for one in results),
        n_items=count or len(lists["input_ids"]) if results else None,
        # Predictions are scored without any item in the report.
        n_scored=count or max((line.n or 0 for line in lines), default=0),
        items=items[:MOST_ITEMS],
        more=more,
        has_groups=any(one["groups"] for one in items),
        n_without_text=sum(not any(row[1 : 1 + len(TEXTS)]) for row in more),
        is_withheld=bool(count) and not may_show,
    )


def items_of(result: EvaluationResult) -> Iterator[dict[str, Any]]:
    """Yield each item of a result, with what was asked and answered and why it scores so."""
    told = [result.metadata.get(name) for name in OF_ITEMS]
    listed = [own if isinstance(own, list) else [] for own in told]
    columns = zip_longest(result.item_ids(), result.inputs, result.model_outputs, *listed)
    for index, (name, *parts, groups, outcome) in enumerate(islice(columns, result.item_count())):
        yield {
            "id": name,
            **dict(zip(TEXTS, map(_lines, parts), strict=True)),
            "outcome": str(outcome or ""),
            "groups": _lines(groups),
            "scores": {
                metric: "" if scores[index] is None else shown(scores[index])
                for metric, scores in (result.item_scores or {}).items()
                if index < len(scores)
            },
        }


def _rows(items: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return items as the script of a page takes them: id, `TEXTS`, outcome, groups, scores."""
    rows, room = [], MOST_TEXT
    for one in items:
        texts = [one[name] for name in TEXTS]
        room -= sum(map(len, texts))
        texts = texts if room >= 0 else [""] * len(TEXTS)
        cells = (one["id"], *texts, one["outcome"], one["groups"], *one["scores"].values())
        rows.append([visible(cell) for cell in cells])
    return rows


def _lines(value: Any) -> str:
    """Return a mapping as lines of keys and values, and nothing as an empty text."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_text(one)}" for key, one in value.items())
    return "" if value is None else _text(value)


def _text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def may_show_text(result: EvaluationResult) -> bool:
    """Tell whether inputs and outputs are open; a result that does not say so is not."""
    return result.metadata.get("data_class") == "open"


_ACTING_IN_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#&~])")


def shown(value: float | None) -> str:
    """Return a score as tables show it."""
    return "undefined" if value is None else f"{value:.3f}"


def shown_interval(interval: Interval | None) -> str:
    """Return an interval as tables show it; empty for none."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.3f} to {interval.high:.3f}"


def page(template: str, **values: Any) -> str:
    """Return a page; all text in it is shown as it is, and none of it acts."""
    return _environment(template.endswith(".html")).get_template(template).render(**values)


def escaped(value: Any) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return _ACTING_IN_MARKDOWN.sub(r"\\\1", visible(" ".join(str(value).split())))


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
    filters: dict[str, Any] = {"plain": escaped, "score": shown, "interval": shown_interval}
    environment.filters |= {**filters, "text": _text, "said": said}
    sizes: dict[str, Any] = {"MOST_ITEMS": MOST_ITEMS, "LONG_TEXT": LONG_TEXT}
    environment.globals |= {**sizes, "tex": escaped_tex, "slug": plot_name}
    return environment


FORMATS = ("json", "yaml", "md", "csv", "html", "tex")
_OTHER_NAMES = {"yml": "yaml", "markdown": "md", "htm": "html", "latex": "tex"}
_HEADER = (
    *("model_id", "scope", "task_id", "status", "name", "kind", *LINE_CELLS),
    *("direction", "note", "task_hash"),
)


def _csv_rows(
    model_id: str, overall: Iterable[Line], tasks: Iterable[SimpleNamespace]
) -> Iterator[list[object]]:
    """Yield the lines of the table; a task without a score has one too, so that it is seen."""
    for line in overall:
        yield [model_id, "overall", None, None, *_cells(line), None]
    for task in tasks:
        about = [model_id, "task", task.task_id, task.status]
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
    abouts: Mapping[str, About] | None = None,
    asked_with: str = "",
) -> str:
    """Return a report as text.

    Args:
        report: the report.
        format: json, yaml, md, csv, html or tex. The first two can be read back as a report.
        show_text: with inputs and outputs of tasks that are not open.
        keep_outputs: json and yaml: with outputs, but without inputs, of these tasks.
        abouts: what benchmarks say of themselves, by task.
        asked_with: the options of the task that were chosen.

    Raises:
        UserError: the format is none.
    """
    chosen = format_named(format)
    if chosen in ("json", "yaml"):
        # Scores and counts stay, text of patients goes.
        gone: dict[str, Any] = {"inputs": [], **({} if keep_outputs else {"model_outputs": []})}
        kept = [
            one if show_text or may_show_text(one) else one.model_copy(update=gone)
            for one in report.detailed_results
        ]
        return report.model_copy(update={"detailed_results": kept}).convert(chosen)
    tasks = [
        _task_part(report, task_id, results, show_text, (abouts or {}).get(task_id, About()))
        for task_id, results in report.results_by_task().items()
    ]
    overall = list(overall_lines(report, [task.lines for task in tasks]))
    if chosen == "csv":
        return table_for_spreadsheets(_HEADER, _csv_rows(report.model_id, overall, tasks))
    outcomes = _summed(task.outcomes for task in tasks)
    # From good to bad; each has a class of the page's style.
    drawn = [name for name in map(str, Outcome) if name in outcomes]
    others = [name for name in outcomes if name not in ("asked", *drawn)]
    return page(
        f"report.{chosen}",
        report=report,
        tasks=tasks,
        overall=overall,
        outcomes=outcomes,
        asked_with=asked_with,
        drawn=drawn,
        outcome_names=drawn + others,
    )


def write_report(
    report: BenchmarkReport,
    path: str | Path,
    format: str | None = None,  # noqa: A002  as in the models' save
    **chosen: Any,
) -> None:
    """Write a report to a file, which is replaced as a whole and readable for its owner only.

    Args:
        report: the report.
        path: the file; missing folders are made.
        format: json, yaml, md, csv, html or tex; without it the suffix decides.
        chosen: `show_text`, `keep_outputs`, `abouts` and `asked_with`, as `rendered` takes them.

    Raises:
        UserError: the format or suffix is none of these.
    """
    place = Path(path)
    text = rendered(report, place.suffix.removeprefix(".") if format is None else format, **chosen)
    write_text(place, text if text.endswith("\n") else text + "\n")


def format_named(name: str, formats: Sequence[str] = FORMATS, otherwise: str = "") -> str:
    """Return a format under its usual name.

    Raises:
        UserError: there is none, in the words of `otherwise` if they are given.
    """
    asked = name.strip().lower().removeprefix(".")
    chosen = _OTHER_NAMES.get(asked, asked)
    if chosen not in formats:
        told = f"Unknown report format {name!r}. Use one of {', '.join(formats)}."
        raise UserError(otherwise or told)
    return chosen


# What stands in LaTeX for signs that act there, or that its fonts lack.
_SPECIAL: dict[str, str] = toml_beside(__file__, "templates/latex.toml")
_INTERVAL = re.compile(r"\((-?[\d.,]+) to (-?[\d.,]+)\)")
_ACTING = re.compile("|".join(map(re.escape, _SPECIAL)))


def escaped_tex(value: Any) -> str:
    """Return a text as LaTeX prints it, on one line, intervals in brackets."""
    text = _INTERVAL.sub(r"[\1, \2]", visible(" ".join(str(value).split())))
    # After the end of a row, `[` and `*` would be read as its options.
    start = "{}" if text.startswith(("[", "*")) else ""
    return start + _ACTING.sub(lambda found: _SPECIAL[found[0]], text)
