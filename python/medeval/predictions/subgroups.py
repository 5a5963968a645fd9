"""Rows divided by what the warehouse knows of their stays, with small cells kept hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from medeval.predictions.joining import Joined
from medeval.predictions.keys import Whole
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
        n_positive: how many are positive; None if that is hidden or the task has no classes.
        suppressed: why the group has no metrics; None if it has.
        suppressed_labels: labels (from 0) that are too rare in it, each with the reason.
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

    A group with fewer than `min_cell` stays, or with fewer than that many stays of one class, has
    no metrics, and neither its size nor its positives are told. Where a hidden number could be
    had by subtraction from the total, the next larger one is hidden with it.
    """
    names = sorted(
        {attributes[stay] for stay in np.unique(joined.stays)},
        key=lambda name: (name == UNKNOWN, name),
    )
    numbers = {name: number for number, name in enumerate(names)}
    group_of_stay = np.array([numbers.get(name, -1) for name in attributes])
    group_of_row = group_of_stay[joined.stays]
    members = [np.flatnonzero(group_of_row == number) for number in range(len(names))]
    stays = [_stays(joined, rows) for rows in members]
    small = [count < min_cell for count in stays]
    hide_size = hidden(stays, small, min_cell)

    binary = task.kind is Kind.BINARY
    positives = [_stays(joined, rows[joined.truth[rows] == 1]) if binary else 0 for rows in members]
    negatives = [_stays(joined, rows[joined.truth[rows] == 0]) if binary else 0 for rows in members]
    rare = [binary and min(pair) < min_cell for pair in zip(positives, negatives, strict=True)]
    hide_positives = hidden(
        positives, [a or b for a, b in zip(rare, hide_size, strict=True)], min_cell
    )
    made = []
    for number, (name, rows) in enumerate(zip(names, members, strict=True)):
        reason = None
        if small[number]:
            reason = f"fewer than {min_cell} stays"
        elif rare[number]:
            what = "positive" if positives[number] < min_cell else "negative"
            reason = f"fewer than {min_cell} {what} stays"
        made.append(
            Group(
                name,
                rows,
                None if hide_size[number] else len(rows),
                None if hide_size[number] else stays[number],
                int((joined.truth[rows] == 1).sum())
                if binary and not hide_positives[number]
                else None,
                reason,
                _rare_labels(joined.truth[rows], min_cell) if task.kind is Kind.LABELS else {},
            )
        )
    return made


def hidden(counts: Sequence[int], small: Sequence[bool], min_cell: int) -> list[bool]:
    """Return which counts to hide: the small ones, and as many more as keep them from being told.

    One hidden count is the total less the others. With two or more hidden, their sum is known; it
    tells too much while it is less than two cells that are large enough.
    """
    hide = list(small)
    if not any(hide):
        return hide
    for number in sorted(range(len(counts)), key=lambda place: counts[place]):
        chosen = [count for count, gone in zip(counts, hide, strict=True) if gone]
        if len(chosen) > 1 and sum(chosen) >= 2 * min_cell:
            break
        hide[number] = True
    return hide


def _stays(joined: Joined, rows: Whole) -> int:
    return len(np.unique(joined.stays[rows]))


def _rare_labels(truth: Doubles, min_cell: int) -> dict[int, str]:
    positive = (truth == 1).sum(axis=0)
    negative = (truth == 0).sum(axis=0)
    return {
        int(label): f"fewer than {min_cell} {'positive' if few_positive else 'negative'} stays"
        for label, few_positive in enumerate(positive < min_cell)
        if few_positive or negative[label] < min_cell
    }
