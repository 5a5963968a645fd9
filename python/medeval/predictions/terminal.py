"""The result as a table on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from medeval.predictions.subgroups import Group
from medeval.predictions.tasks import LABELS

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.predictions.layout import Metrics

LABEL_METRIC = "ROC AUC of task "


def metrics_table(metrics: Metrics, n_iters: int, names: Mapping[str, str], title: str) -> Table:
    """Return a table with one line a metric.

    Args:
        metrics: by name, in order.
        n_iters: how many resamples there were; without any, only values are shown.
        names: what to call some metrics instead of their keys.
        title: stands above the table.
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right", no_wrap=True)
    some_undefined = any(metric.n_undefined for metric in metrics.values())
    if n_iters:
        table.add_column("95 % interval", justify="right", no_wrap=True)
        table.add_column("mean", justify="right", no_wrap=True)
        if some_undefined:
            table.add_column("undefined", justify="right", no_wrap=True)
    for name, metric in metrics.items():
        cells = [names.get(name, name), shown(metric.value)]
        if n_iters:
            cells += [interval(metric.low, metric.high), shown(metric.mean)]
            if some_undefined:
                cells.append(f"{metric.n_undefined:,}")
        table.add_row(*cells)
    return table


def subgroup_table(
    title: str, cells: Sequence[tuple[Group, Metrics | None]], first: Sequence[str]
) -> Table:
    """Return a table with one line a group: its size and the metrics named in `first`."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("group")
    table.add_column("n", justify="right", no_wrap=True)
    has_classes = any(group.n_positive is not None for group, _ in cells)
    if has_classes:
        table.add_column("positive", justify="right", no_wrap=True)
    for name in first:
        table.add_column(name, justify="right")
    for group, metrics in cells:
        line = [group.name, _count(group.n)]
        if has_classes:
            line.append(_count(group.n_positive))
        if metrics is None:
            line += [group.suppressed or "", *[""] * (len(first) - 1)]
        else:
            line += [
                f"{shown(metrics[name].value)} ({interval(metrics[name].low, metrics[name].high)})"
                if math.isfinite(metrics[name].low)
                else shown(metrics[name].value)
                for name in first
            ]
        table.add_row(*line)
    return table


def label_names(columns: Sequence[str]) -> dict[str, str]:
    """Return what to call the metrics of single labels: number and phenotype."""
    own = [f"label_{number}" for number in range(1, LABELS + 1)]
    if list(columns) == own:
        return {}
    return {
        f"{LABEL_METRIC}{number}": f"{number} {name}"
        for number, name in enumerate(columns, start=1)
    }


def shown(value: float) -> str:
    """Return a number as the table shows it."""
    if not math.isfinite(value):
        return "undefined"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


def interval(low: float, high: float) -> str:
    """Return an interval as the table shows it."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "undefined"
    return f"{shown(low)} to {shown(high)}"


def _count(value: int | None) -> str:
    return "hidden" if value is None else f"{value:,}"
