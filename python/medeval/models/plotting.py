"""Bars of scores, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def bars(scores: Mapping[str, float], title: str) -> Any:
    """Draw scores as bars, one a name; return a matplotlib figure.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        drawing = import_module("matplotlib.figure")
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib: pip install matplotlib, or use overall_scores_to_csv and"
            " task_scores_to_csv"
        ) from error
    # A figure of its own, without pyplot: no window, and no list of figures that grows.
    figure = drawing.Figure(figsize=(max(4.0, 1.0 + 0.8 * len(scores)), 3.5), layout="constrained")
    axes = figure.subplots()
    axes.bar(list(scores), list(scores.values()))
    axes.set_title(title)
    axes.set_ylabel("Score")
    axes.tick_params(axis="x", labelrotation=30)
    return figure
