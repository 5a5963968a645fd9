"""What rows have in common: whom they are drawn with, and the groups of their stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from medeval.errors import UserError
from medeval.predictions.joining import Joined, Whole
from medeval.predictions.tasks import Cluster, Grouping, Kind, Task
from medeval.scoring.groups import UNKNOWN, hidden, partition

if TYPE_CHECKING:
    from medeval.warehouse import Warehouse

AGE_BANDS = ((18, "18-44"), (45, "45-64"), (65, "65-74"), (75, "75-84"), (85, "85+"))

# MIMIC-III spells ethnicity in 41 ways; each begins with one of these or is left to `other`.
ETHNICITY_GROUPS = (
    ("WHITE", "white"),
    ("BLACK", "black"),
    ("CARIBBEAN", "black"),
    ("HISPANIC", "hispanic"),
    ("ASIAN", "asian"),
    ("AMERICAN INDIAN", "american_indian"),
    ("UNKNOWN", UNKNOWN),
    ("UNABLE TO OBTAIN", UNKNOWN),
    ("PATIENT DECLINED", UNKNOWN),
)


def as_it_is(value: object) -> str:
    """Return what the table says."""
    return str(value) if value else UNKNOWN


def age_band(value: object) -> str:
    """Return the band of an age in years."""
    if not isinstance(value, int | float):
        return UNKNOWN
    return next((name for start, name in reversed(AGE_BANDS) if value >= start), UNKNOWN)


def ethnicity(value: object) -> str:
    """Return the group of one of MIMIC-III's spellings."""
    text = str(value or "").strip().upper()
    if not text:
        return UNKNOWN
    return next((name for start, name in ETHNICITY_GROUPS if text.startswith(start)), "other")


GROUPINGS: dict[Grouping, tuple[str, Callable[[object], str]]] = {
    Grouping.SEX: ("gender", as_it_is),
    Grouping.AGE_BAND: ("analysis_age", age_band),
    Grouping.ETHNICITY: ("ethnicity", ethnicity),
    Grouping.CARE_UNIT: ("last_careunit", as_it_is),
}


def read_attributes(
    warehouse: Warehouse, joined: Joined, groupings: Sequence[Grouping]
) -> dict[Grouping, list[str]]:
    """Return for each grouping the group of every stay, in the order of `joined.names`.

    Raises:
        UserError: the warehouse lacks the table or a stay.
    """
    from medeval.builds import newest_build
    from medeval.warehouse import flat, schema_name

    if not groupings:
        return {}
    newest_build(warehouse, "mimic3", ["mimic3_stays"])
    columns = [GROUPINGS[grouping][0] for grouping in groupings]
    found = {
        str(row[0]): row[1:]
        for row in flat(warehouse.select(["stay", *columns], schema_name("mimic3"), "mimic3_stays"))
    }
    used = [joined.names[stay] for stay in np.unique(joined.stays)]
    missing = [name for name in used if name not in found]
    if missing:
        raise UserError(
            f"--by: {len(missing):,} of {len(used):,} stays are not in the warehouse (target"
            f" {warehouse.target.name}): {'; '.join(missing[:10])}. Is it built from the same data?"
        )
    nothing = (None,) * len(columns)
    rows = [found.get(name, nothing) for name in joined.names]
    return {
        grouping: [GROUPINGS[grouping][1](row[place]) for row in rows]
        for place, grouping in enumerate(groupings)
    }


def clusters(joined: Joined, cluster: Cluster | None) -> Whole | None:
    """Return each row's cluster as a number from 0; None if every row stands for itself.

    Clusters are numbered by their name, so that no file's order of rows changes the numbers.

    Raises:
        UserError: subjects are asked for, and a stay's name does not begin with one.
    """
    if cluster is None:
        return None
    used, stay_of_row = np.unique(joined.stays, return_inverse=True)
    names = [joined.names[stay] for stay in used]
    if cluster is Cluster.SUBJECT:
        bad = [name for name in names if "_" not in name]
        if bad:
            raise UserError(
                f"--cluster subject: {len(bad):,} stays are not named"
                f" <subject>_episode<n>_timeseries.csv: {'; '.join(bad[:10])}."
            )
        names = [name.partition("_")[0] for name in names]
    numbers = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return np.asarray(numbers[stay_of_row])


@dataclass(frozen=True)
class Group:
    """One group of rows, and what may be told of it.

    Attributes:
        name: the group.
        rows: its rows.
        n: how many; None if that is hidden.
        n_stays: of how many stays; None if that is hidden.
        n_positive: how many are positive; None if that is hidden, or the task has no classes.
        suppressed: why nothing is told of the group; None if it is.
        suppressed_labels: labels (from 0) that are hidden in it, each with the reason.
    """

    name: str
    rows: Whole
    n: int | None
    n_stays: int | None
    n_positive: int | None
    suppressed: str | None = None
    suppressed_labels: dict[int, str] = field(default_factory=dict)


def groups(task: Task, joined: Joined, attributes: list[str], min_cell: int) -> list[Group]:
    """Divide rows into groups; small ones are hidden, see `scoring.groups`.

    A group is small with fewer than `min_cell` stays, or with fewer than that many stays of one
    class, even none; of phenotyping, labels are hidden one by one.

    Args:
        task: what is scored.
        joined: its rows.
        attributes: the group of every stay, in the order of `joined.names`.
        min_cell: the smallest group that is shown.
    """
    used, stay_of_row = np.unique(joined.stays, return_inverse=True)
    members = {
        name: np.flatnonzero(np.isin(stay_of_row, stays))
        for name, stays in partition([attributes[stay] for stay in used]).items()
    }

    def stays_of(rows: Whole) -> int:
        return len(np.unique(joined.stays[rows]))

    binary = task.kind is Kind.BINARY
    classes = [
        {value: stays_of(rows[joined.truth[rows] == value]) for value in (1, 0)} if binary else {}
        for rows in members.values()
    ]
    sizes = [stays_of(rows) for rows in members.values()]
    hide = hidden(sizes, classes, min_cell)
    if hide is None:
        return []
    rare: dict[str, list[int]] = {name: [] for name in members}
    if task.kind is Kind.LABELS:
        parts = {"": np.empty(0, dtype=np.int64)}  # what is hidden, known together from the total
        for (name, rows), is_hidden in zip(members.items(), hide, strict=True):
            if is_hidden:
                parts[""] = np.concatenate([parts[""], rows])
            else:
                parts[name] = rows
        parts = {name: rows for name, rows in parts.items() if len(rows)}
        for label in range(joined.truth.shape[1]):
            positive = [int(joined.truth[rows, label].sum()) for rows in parts.values()]
            counts = [
                {1: n, 0: len(rows) - n} for n, rows in zip(positive, parts.values(), strict=True)
            ]
            fewer = [min(count.values()) for count in counts]
            gone = hidden(fewer, counts, min_cell) or [True]
            for name, is_gone in zip(parts, gone, strict=True):
                if is_gone and name:
                    rare[name].append(label)
    reason = hidden_reason(min_cell, has_classes=binary)
    of_label = hidden_reason(min_cell, has_classes=True)
    return [
        Group(name, rows, None, None, None, reason)
        if is_hidden
        else Group(
            name,
            rows,
            len(rows),
            size,
            int((joined.truth[rows] == 1).sum()) if binary else None,
            None,
            dict.fromkeys(rare[name], of_label),
        )
        for (name, rows), size, is_hidden in zip(members.items(), sizes, hide, strict=True)
    ]


def hidden_reason(min_cell: int, *, has_classes: bool) -> str:
    """Return why a group, or a label of it, is hidden: the same of all, small or not."""
    few = f"fewer than {min_cell}{' positive or negative' if has_classes else ''} stays"
    return f"hidden: {few}, or what has so few could be worked out from it"
