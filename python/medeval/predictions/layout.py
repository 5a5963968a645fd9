"""The result as JSON: the layout that mimic3-benchmarks writes, and what is ours beside it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.models.text_files import save_text

if TYPE_CHECKING:
    from medeval.scoring.results import MetricSummary

Metrics = Mapping[str, "MetricSummary"]


def entries(
    metrics: Metrics, n_iters: int, *, bare_nan: bool
) -> dict[str, dict[str, float | None]]:
    """Return one object a metric, keys in the published order; without resamples `value` alone.

    Args:
        metrics: by name, in the order to be written.
        n_iters: how many resamples there were.
        bare_nan: keep an undefined number as NaN; else it is None.
    """

    def number(value: float) -> float | None:
        return float(value) if math.isfinite(value) or bare_nan else None

    written = {}
    for name, metric in metrics.items():
        entry = {"value": number(metric.value)}
        if n_iters:
            entry |= {
                "mean": number(metric.mean),
                "median": number(metric.median),
                "std": number(metric.std),
                "2.5% percentile": number(metric.low),
                "97.5% percentile": number(metric.high),
            }
        written[name] = entry
    return written


def write_json(path: Path, content: Mapping[str, Any], *, bare_nan: bool) -> None:
    """Write one line of JSON, whole or not at all; readable by its owner only.

    Raises:
        UserError: the file cannot be written.
    """
    save_text(path, json.dumps(content, allow_nan=bare_nan, ensure_ascii=False) + "\n")


def require_writable(path: Path) -> None:
    """Stop before the work is done if its result will have no place.

    Raises:
        UserError: the folder is not there or closed, or the path is a folder.
    """
    if path.is_dir():
        raise UserError(f"--out {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--out {path}: the folder {path.parent} cannot be written.")
