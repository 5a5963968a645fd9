"""How scores are shown: as JSON in the layout of mimic3-benchmarks, as tables, and in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medeval.terminal import interval, shown

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.scoring.summary import MetricSummary
    from medeval.tasks.mimic3.attributes import Group

Metrics = Mapping[str, "MetricSummary"]
LABEL_METRIC = "ROC AUC of task "
# The published keys, and what holds their values.
KEYS = {
    "value": "value",
    "mean": "mean",
    "median": "median",
    "std": "std",
    "2.5% percentile": "low",
    "97.5% percentile": "high",
}
NAMED = 3
NO_INTERVAL = "all resamples lie on one side of the value, so there is no BCa interval"


def entries(
    metrics: Metrics, n_iters: int, *, bare_nan: bool
) -> dict[str, dict[str, float | None]]:
    """Return one object a metric, keys in the published order; without resamples `value` alone.

    Args:
        metrics: by name, in the order to be written.
        n_iters: how many resamples there were.
        bare_nan: keep an undefined number as NaN; else it is None.
    """
    found: dict[str, dict[str, float | None]] = {}
    for name, metric in metrics.items():
        found[name] = {}
        for key, own in list(KEYS.items())[: None if n_iters else 1]:
            value = float(getattr(metric, own))
            found[name][key] = value if math.isfinite(value) or bare_nan else None
    return found


def metrics_table(metrics: Metrics, n_iters: int, names: Mapping[str, str], title: str) -> Table:
    """Return a table with one line a metric.

    Args:
        metrics: by name, in order.
        n_iters: how many resamples there were; without any, only values are shown.
        names: what to call some metrics instead of their keys.
        title: stands above the table.
    """
    some_undefined = any(metric.n_undefined for metric in metrics.values())
    more = ["95 % interval", "mean", *["undefined"] * some_undefined] if n_iters else []
    table = _table(title, "metric", "value", *more)
    for name, metric in metrics.items():
        cells = [interval(metric.low, metric.high), shown(metric.mean), f"{metric.n_undefined:,}"]
        table.add_row(names.get(name, name), shown(metric.value), *cells[: len(more)])
    return table


def subgroup_table(
    title: str, cells: Sequence[tuple[Group, Metrics | None]], first: Sequence[str]
) -> Table:
    """Return a table with one line a group: its size and the metrics named in `first`."""
    has_classes = any(group.n_positive is not None for group, _ in cells)
    table = _table(title, "group", "n", *["positive"] * has_classes)
    for name in first:
        table.add_column(name, justify="right")
    for group, metrics in cells:
        counts = [group.n, group.n_positive][: 1 + has_classes]
        line = [group.name, *("hidden" if count is None else f"{count:,}" for count in counts)]
        found = [metrics[name] for name in first] if metrics else []
        values = [
            f"{shown(one.value)} ({interval(one.low, one.high)})"
            if math.isfinite(one.low)
            else shown(one.value)
            for one in found
        ]
        table.add_row(*line, *(values or [group.suppressed or ""]))
    return table


def _table(title: str, first: str, *numbers: str) -> Table:
    from rich.table import Table

    table = Table(first, title=title, title_justify="left")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def label_names(columns: Sequence[str]) -> dict[str, str]:
    """Return what to call the metrics of single labels: number and phenotype."""
    numbered = list(enumerate(columns, start=1))
    if all(name == f"label_{number}" for number, name in numbered):
        return {}
    return {f"{LABEL_METRIC}{number}": f"{number} {name}" for number, name in numbered}


def undefined(metrics: Metrics, n_iters: int) -> dict[str, dict[str, Any]]:
    """Return the metrics to tell of: in how many resamples they are undefined, and why.

    A reason of None means that the metric has a value and an interval, from the other resamples.
    """
    told = {}
    for name, metric in metrics.items():
        reason = metric.reason
        if not reason and n_iters > metric.n_undefined and not math.isfinite(metric.low):
            reason = None if math.isnan(metric.mean) else NO_INTERVAL
        if metric.n_undefined or reason:
            told[name] = {"n_undefined": int(metric.n_undefined), "reason": reason}
    return told


def undefined_sentences(metrics: Metrics, n_iters: int, *, strict_nan: bool) -> Iterator[str]:
    """Say it in as few sentences as there are reasons."""
    by_reason: dict[str | None, list[str]] = {}
    told = undefined(metrics, n_iters)
    for name, entry in told.items():
        by_reason.setdefault(entry["reason"], []).append(name)
    for reason, names in by_reason.items():
        many = len(names) > 1
        verb = "are" if many else "is"
        listed = ", ".join(names)
        if len(names) > NAMED + 1:
            listed = f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more metrics"
        if reason == NO_INTERVAL:
            yield f"{listed}: {reason}."
        elif reason is not None:
            yield f"{listed} {verb} undefined: {reason}."
        else:
            most = max(told[name]["n_undefined"] for name in names)
            some = f"up to {most:,}" if many else f"{most:,}"
            rest = "are NaN (--strict-nan)" if strict_nan else "are those of the others"
            yield (
                f"{listed} {verb} undefined in {some} of {n_iters:,} resamples; the"
                f" statistics {rest}."
            )
