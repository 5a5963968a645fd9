"""Rows divided by what the warehouse knows of their stays, with small cells kept hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from medeval.predictions.joining import Joined
from medeval.predictions.keys import Whole
from medeval.predictions.small_cells import Hide, hidden, require_min_cell, total_of
from medeval.predictions.tables import Doubles
from medeval.predictions.tasks import Kind, Task

UNKNOWN = "unknown"


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
    """Divide rows into groups; small ones are hidden so that nothing tells their size.

    Of a group with fewer than `min_cell` stays, or with fewer than that many stays of one class,
    nothing is told but its name, nor of so many others that its size could be worked out. All have
    the same reason: which of them is the small one is not told either. Where names alone would
    tell a number, there are no groups.

    Raises:
        UserError: a `min_cell` that hides nothing well.
    """
    require_min_cell(min_cell)
    names = sorted(
        {attributes[stay] for stay in np.unique(joined.stays)},
        key=lambda name: (name == UNKNOWN, name),
    )
    numbers = {name: number for number, name in enumerate(names)}
    group_of_stay = np.array([numbers.get(name, -1) for name in attributes])
    group_of_row = group_of_stay[joined.stays]
    members = [np.flatnonzero(group_of_row == number) for number in range(len(names))]
    stays = [_stays(joined, rows) for rows in members]
    binary = task.kind is Kind.BINARY
    classes = [_of_class(joined, members, value) for value in (1, 0)] if binary else []
    small = [_is_small(counts, min_cell) for counts in zip(stays, *classes, strict=True)]
    hide = hidden(stays, small, min_cell, lambda some: _are_enough(classes, some, min_cell))
    if hide is None:
        return []
    reason = hidden_reason(min_cell, has_classes=binary)
    rare: list[list[int]] = [[] for _ in members]
    if task.kind is Kind.LABELS:
        rare = _rare_labels(joined.truth, members, hide, min_cell)
    return [
        Group(
            name,
            rows,
            None if is_hidden else len(rows),
            None if is_hidden else n_stays,
            None if is_hidden or not binary else int((joined.truth[rows] == 1).sum()),
            reason if is_hidden else None,
            dict.fromkeys(labels, hidden_reason(min_cell, has_classes=True)),
        )
        for name, rows, n_stays, is_hidden, labels in zip(
            names, members, stays, hide, rare, strict=True
        )
    ]


def hidden_reason(min_cell: int, *, has_classes: bool) -> str:
    """Return why a group, or a label of it, is hidden: the same of all, small or not."""
    few = f"fewer than {min_cell}{' positive or negative' if has_classes else ''} stays"
    return f"hidden: {few}, or what has so few could be worked out from it"


def _is_small(counts: Sequence[int], min_cell: int) -> bool:
    """Tell whether a count is small; a class without a stay is, unless nothing is to be hidden."""
    return min_cell > 1 and min(counts) < min_cell


def _are_enough(classes: Sequence[Sequence[int]], hide: Hide, min_cell: int) -> bool:
    """Tell whether the hidden groups together have no class that is small."""
    return all(total_of(counts, hide) >= min_cell for counts in classes)


def _stays(joined: Joined, rows: Whole) -> int:
    return len(np.unique(joined.stays[rows]))


def _of_class(joined: Joined, members: Sequence[Whole], value: int) -> list[int]:
    return [_stays(joined, rows[joined.truth[rows] == value]) for rows in members]


def _rare_labels(
    truth: Doubles, members: Sequence[Whole], hide: Hide, min_cell: int
) -> list[list[int]]:
    """Return the labels (from 0) that are hidden in each group that is not hidden itself.

    What the hidden groups have together is known as well as what one group has, so they count as
    one more; their labels are hidden anyway.
    """
    told = [place for place, is_hidden in enumerate(hide) if not is_hidden]
    parts = [members[place] for place in told]
    if len(told) < len(members):
        gone = [rows for rows, is_hidden in zip(members, hide, strict=True) if is_hidden]
        parts.append(np.concatenate(gone))
    found: list[list[int]] = [[] for _ in members]
    for label in range(truth.shape[1]):
        positive = [int((truth[rows, label] == 1).sum()) for rows in parts]
        negative = [int((truth[rows, label] == 0).sum()) for rows in parts]
        for place in _hidden_parts((positive, negative), len(told), min_cell):
            found[told[place]].append(label)
    return found


def _hidden_parts(classes: Sequence[Sequence[int]], n_told: int, min_cell: int) -> list[int]:
    fewer = [min(counts) for counts in zip(*classes, strict=True)]
    small = [_is_small([count], min_cell) for count in fewer]
    if any(small):
        small[n_told:] = [True] * (len(small) - n_told)
    hide = hidden(fewer, small, min_cell, lambda some: _are_enough(classes, some, min_cell))
    return [place for place in range(n_told) if hide is None or hide[place]]
