"""Metrics without a value, or without one in some resamples: counted, with the reason."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from medeval.predictions.layout import Metrics

NAMED = 3
NO_INTERVAL = "all resamples lie on one side of the value, so there is no BCa interval"


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
        if reason == NO_INTERVAL:
            yield f"{_listed(names)}: {reason}."
        elif reason is not None:
            yield f"{_listed(names)} {verb} undefined: {reason}."
        else:
            most = max(told[name]["n_undefined"] for name in names)
            some = f"up to {most:,}" if many else f"{most:,}"
            rest = "are NaN (--strict-nan)" if strict_nan else "are those of the others"
            yield (
                f"{_listed(names)} {verb} undefined in {some} of {n_iters:,} resamples; the"
                f" statistics {rest}."
            )


def _listed(names: list[str]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more metrics"
