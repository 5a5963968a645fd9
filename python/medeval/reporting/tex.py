r"""Scores as LaTeX tables, for `booktabs`; texts are escaped, so that none of them acts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.plots import plot_name
from medeval.reporting.contents import Line, said
from medeval.reporting.pages import page, shown
from medeval.text import visible

_SPECIAL = {
    **{one: rf"\{one}" for one in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "\u2264": r"$\leq$",
    "\u2265": r"$\geq$",
    "\u00b1": r"$\pm$",
    "\u00d7": r"$\times$",
    "\u2191": r"$\uparrow$",
    "\u2193": r"$\downarrow$",
    "\u2192": r"$\rightarrow$",
}
_INTERVAL = re.compile(r"\((-?[\d.,]+) to (-?[\d.,]+)\)")
_ACTING = re.compile("|".join(map(re.escape, _SPECIAL)))


def tex_tables(report: BenchmarkReport, contents: Mapping[str, Any]) -> str:
    """Return the tables of a report.

    Args:
        report: the report.
        contents: what `contents_of` gives of it.
    """
    # What tasks call their metrics, where that is not the key.
    labels = {
        name: str(said(result.metadata, "metrics", name).get("label", name))
        for result in report.detailed_results
        for name in said(result.metadata, "metrics")
    }
    functions = {"cells": cells, "row_of": row_of, "told_once": told_once, "slug": plot_name}
    return page("report.tex", contents=contents, labels=labels, tex=escaped_tex, **functions)


def escaped_tex(value: Any) -> str:
    """Return a text as LaTeX prints it, on one line."""
    text = visible(" ".join(str(value).split()))
    # After the end of a row, `[` and `*` would be read as its options.
    start = "{}" if text.startswith(("[", "*")) else ""
    return start + _ACTING.sub(lambda found: _SPECIAL[found[0]], text)


def cells(line: Line, label: str) -> tuple[str, str]:
    """Return a metric with its direction, and its value with the interval."""
    arrow = {"lower": r" $\downarrow$", "neither": ""}.get(line.direction, r" $\uparrow$")
    name, value, ends = escaped_tex(label), _number(line.value), line.interval
    if ends is not None and ends.low is not None and ends.high is not None:
        value += f" [{_number(ends.low)}, {_number(ends.high)}]"
    return name + arrow, value


def row_of(values: Iterable[Any]) -> str:
    """Return the cells of a row, intervals as those of other tables."""
    return " & ".join(escaped_tex(_INTERVAL.sub(r"[\1, \2]", str(one))) for one in values)


def _number(value: float | None) -> str:
    """Return a score as tables show it, with fewer decimals where it is large."""
    return shown(value) if value is None or abs(value) < 100 else f"{value:,.1f}"


def told_once(lines: Sequence[Line]) -> dict[str, Any]:
    """Return what a caption says of all lines: the items if they are the same, and the methods."""
    counts = {line.n for line in lines if line.value is not None}
    methods = {line.interval.method for line in lines if line.interval}
    return {
        "n": counts.pop() if len(counts) == 1 else None,
        "methods": sorted(one.replace("_", " ") for one in methods if one),
    }
