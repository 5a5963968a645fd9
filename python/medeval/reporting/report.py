r"""The forms in which a report is written: JSON, YAML, Markdown, CSV, HTML and LaTeX.

LaTeX tables are for `booktabs`; texts in them are escaped, so that none of them acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.types import Outcome
from medeval.models.about import About
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.plots import plot_name
from medeval.models.text_files import table_for_spreadsheets, write_text
from medeval.reporting.contents import LINE_CELLS, Line, contents_of, may_show_text, page
from medeval.text import visible

FORMATS = ("json", "yaml", "md", "csv", "html", "tex")
_OTHER_NAMES = {"yml": "yaml", "markdown": "md", "htm": "html", "latex": "tex"}
_HEADER = (
    *("model_id", "scope", "task_id", "status", "name", "kind", *LINE_CELLS),
    *("direction", "note", "task_hash"),
)


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
    contents = contents_of(report, show_text, abouts or {}, asked_with)
    if chosen == "csv":
        return table_for_spreadsheets(_HEADER, _rows(contents))
    if chosen == "tex":
        return page("report.tex", contents=contents, tex=escaped_tex, slug=plot_name)
    # From good to bad; each has a class of the page's style.
    drawn = [name for name in map(str, Outcome) if name in contents["outcomes"]]
    others = [name for name in contents["outcomes"] if name not in ("asked", *drawn)]
    return page(f"report.{chosen}", contents=contents, outcome_names=drawn + others, drawn=drawn)


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
