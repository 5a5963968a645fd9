"""CDM's scores as tables: by pathology with intervals, by both score versions, what cases did."""

from __future__ import annotations

from collections.abc import Mapping

from medeval.cdm.aggregate import Aggregate
from medeval.cdm.case_means import Mean
from medeval.cdm.scoring import COUNTS
from medeval.tasks.task import Table


def headline_by_pathology(found: Aggregate, headline: str) -> Table:
    """Return one score with its interval for each pathology, failed cases as zero."""
    return Table(
        "by pathology",
        ("pathology", "n", "failed", headline, "95 % interval"),
        [
            (
                name,
                f"{means[headline].n:,}",
                f"{means[headline].n_failed:,}",
                _number(means[headline].mean_failures_as_zero),
                _between(means[headline]),
            )
            for name, means in found.by_pathology.items()
        ],
    )


def scores_by_pathology(found: Aggregate) -> Table:
    """Return every score with its interval for each pathology.

    Failed cases count as zero, but in counts, which are means over the answered cases.
    """
    names = list(found.overall)
    return Table(
        "scores by pathology",
        ("score", *found.by_pathology),
        [
            (name, *(_cell(name, means[name]) for means in found.by_pathology.values()))
            for name in names
        ],
    )


def by_version(
    found: Aggregate, version: int, beside: Aggregate, other: int, headline: str
) -> Table:
    """Return the scores by both versions of the rules, the chosen one first."""
    names = sorted(found.overall, key=lambda name: name != headline)
    return Table(
        "by score version",
        ("score", f"version {version}", f"version {other}"),
        [
            (name, *(_number(_value(name, one.overall[name])) for one in (found, beside)))
            for name in names
        ],
    )


def conduct_table(conduct: Mapping[str, int | Mapping[str, int]]) -> Table:
    """Return what the model did over all cases."""
    rows = []
    for name, value in conduct.items():
        if isinstance(value, Mapping):
            rows += [(f"context: {key.replace('_', ' ')}", f"{n:,}") for key, n in value.items()]
        else:
            rows.append((name.replace("_", " "), f"{value:,}"))
    return Table("what was done, over all cases", ("", "number"), rows)


def _cell(name: str, mean: Mean) -> str:
    value = _number(_value(name, mean))
    between = _between(mean, is_count=name in COUNTS)
    return f"{value} ({between})" if between else value


def _value(name: str, mean: Mean) -> float | None:
    return mean.mean if name in COUNTS else mean.mean_failures_as_zero


def _between(mean: Mean, *, is_count: bool = False) -> str:
    low, high = (
        (mean.low, mean.high)
        if is_count
        else (mean.low_failures_as_zero, mean.high_failures_as_zero)
    )
    return "" if low is None or high is None else f"{low:.4f} to {high:.4f}"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
