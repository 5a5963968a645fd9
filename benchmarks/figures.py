"""Figures of several runs of one command: each, in the middle, and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median

from benchmarks.processes import Usage


def wall(used: Usage) -> float:
    """Return the wall seconds."""
    return used.wall_s


def user(used: Usage) -> float:
    """Return the user CPU seconds."""
    return used.user_s


def center(usages: list[Usage], figure: Callable[[Usage], float]) -> float:
    """Return the median of a figure."""
    return median(map(figure, usages))


def ratio(others: Iterable[float], ours: Iterable[float]) -> list[float]:
    """Divide run by run."""
    return [other / own for other, own in zip(others, ours, strict=True)]


def spread(values: Iterable[float]) -> str:
    """Write median, least and greatest."""
    numbers = sorted(values)
    if len(numbers) == 1:
        return f"{numbers[0]:.1f}"
    return f"{median(numbers):.1f} ({numbers[0]:.1f} to {numbers[-1]:.1f})"


def runs(usages: list[Usage]) -> str:
    """Say how often it was run."""
    return "one run" if len(usages) == 1 else f"{len(usages)} runs"
