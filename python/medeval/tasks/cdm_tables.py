"""CDM's scores as tables: by pathology with intervals, by both score versions, what cases did."""

from __future__ import annotations

from collections.abc import Mapping

from medeval.cdm.aggregate import Aggregate
from medeval.cdm.case_means import Mean
from medeval.models.scores import Interval
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
                number(means[headline]),
                between_of(shown_of(means[headline])),
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
        [(name, *(_cell(means[name]) for means in found.by_pathology.values())) for name in names],
    )


def by_version(
    found: Aggregate, version: int, beside: Aggregate, other: int, headline: str
) -> Table:
    """Return the scores by both versions of the rules, the chosen one first."""
    names = sorted(found.overall, key=lambda name: name != headline)
    return Table(
        "by score version",
        ("score", f"version {version}", f"version {other}"),
        [(name, *(number(one.overall[name]) for one in (found, beside))) for name in names],
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


def _cell(mean: Mean) -> str:
    between = between_of(shown_of(mean))
    return f"{number(mean)} ({between})" if between else number(mean)


def shown_of(mean: Mean) -> Interval:
    """Return what is shown of a mean: failed cases count as zero, but in counts."""
    return mean.answered if mean.zeroed is None else mean.zeroed


def between_of(found: Interval) -> str:
    """Return the ends of an interval as tables show them; empty for none."""
    return "" if found.low is None else f"{found.low:.4f} to {found.high:.4f}"


def number(mean: Mean) -> str:
    """Return the value of a mean as tables show it."""
    value = shown_of(mean).value
    return "undefined" if value is None else f"{value:.4f}"
