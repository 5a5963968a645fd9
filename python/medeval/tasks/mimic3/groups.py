"""What ICU stays have in common: whom they are drawn with, and the groups they are divided into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from medeval.builds import newest_build
from medeval.errors import UserError
from medeval.scoring.groups import UNKNOWN, age_band, hidden, partition
from medeval.scoring.resample import Integers
from medeval.tasks.mimic3.metrics import LABEL_METRIC
from medeval.tasks.mimic3.task import LAYOUT, IcuTask
from medeval.warehouse import Warehouse, flat, schema_name

if TYPE_CHECKING:
    from medeval.tasks.mimic3.predictions import Rows


def ethnicity(value: object) -> str:
    """Return the group of one of MIMIC-III's spellings."""
    text = str(value or "").strip().upper()
    groups = LAYOUT["ethnicities"].items()
    found = next((name for name, starts in groups if text.startswith(tuple(starts))), "other")
    return found if text else UNKNOWN


# By what rows can be divided: the column of mimic3_stays, and what makes a group of it.
GROUPINGS: dict[str, tuple[str, Callable[[object], str]]] = {
    "sex": ("gender", lambda value: str(value or UNKNOWN)),
    "age_band": ("analysis_age", age_band),
    "ethnicity": ("ethnicity", ethnicity),
    "care_unit": ("last_careunit", lambda value: str(value or UNKNOWN)),
}


def numbered_clusters(joined: Rows, cluster: str | None) -> Integers | None:
    """Return each row's cluster as a number from 0; None if every row stands for itself.

    Clusters are numbered by their name, so that no file's order of rows changes the numbers.

    Raises:
        UserError: no such clusters, or subjects and a stay's name does not begin with one.
    """
    if cluster is None:
        return None
    if cluster not in ("stay", "subject"):
        raise UserError(f"--cluster {cluster}: there are stay, subject.")
    used, stay_of_row = np.unique(joined.stays, return_inverse=True)
    names = [joined.names[stay] for stay in used]
    if cluster == "subject":
        if bad := [name for name in names if "_" not in name]:
            told = f"{len(bad):,} stays are not named <subject>_episode<n>_timeseries.csv"
            raise UserError(f"--cluster subject: {told}: {'; '.join(bad[:10])}.")
        names = [name.partition("_")[0] for name in names]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)[stay_of_row]


def read_groups(
    warehouse: Warehouse, joined: Rows, groupings: Sequence[str]
) -> dict[str, list[str]]:
    """Return for each grouping the group of every stay, in the order of `joined.names`.

    Raises:
        UserError: the warehouse lacks the table or a stay.
    """
    newest_build(warehouse, "mimic3", ["mimic3_stays"])
    columns = [GROUPINGS[grouping][0] for grouping in groupings]
    read = flat(warehouse.select(["stay", *columns], schema_name("mimic3"), "mimic3_stays"))
    found = {str(stay): cells for stay, *cells in read}
    used = [joined.names[stay] for stay in np.unique(joined.stays)]
    if missing := [name for name in used if name not in found]:
        raise UserError(
            f"--by: {len(missing):,} of {len(used):,} stays are not in the warehouse (target"
            f" {warehouse.target.name}): {'; '.join(missing[:10])}. Is it built from the same data?"
        )
    rows = [found.get(name, [None] * len(columns)) for name in joined.names]
    return {
        grouping: [GROUPINGS[grouping][1](row[place]) for row in rows]
        for place, grouping in enumerate(groupings)
    }


def divided(
    task: type[IcuTask], joined: Rows, grouping: str, min_cell: int
) -> Iterator[tuple[str, Rows, dict[str, Any], dict[str, str]]]:
    """Divide rows into groups; small ones are hidden, see `scoring.groups`.

    A group is small with fewer than `min_cell` stays, or with fewer than that many stays of one
    class, even none; of phenotyping, labels are hidden one by one.

    Args:
        task: what is scored.
        joined: its rows.
        grouping: one of those of `joined.groups`.
        min_cell: the smallest group that is shown.

    Yields:
        Its name, its rows, what is told of its size and why nothing is (`suppressed`), and the
        metrics of labels that are hidden in it, each with the reason.
    """
    used, stay_of_row = np.unique(joined.stays, return_inverse=True)
    members = {
        name: np.flatnonzero(np.isin(stay_of_row, stays))
        for name, stays in partition([joined.groups[grouping][stay] for stay in used]).items()
    }
    is_binary = task.kind == "binary"
    parts = [joined.part(rows) for rows in members.values()]
    sizes = [len(np.unique(part.stays)) for part in parts]
    classes = [
        {one: len(np.unique(part.stays[part.truth == one])) for one in (1, 0) if is_binary}
        for part in parts
    ]
    hide = hidden(sizes, classes, min_cell)
    if hide is None:
        return
    shown = [rows for rows, is_hidden in zip(members.values(), hide, strict=True) if not is_hidden]
    rare = iter(rare_labels(joined, shown, min_cell) if task.kind == "labels" else [])
    # The same of all that are hidden, small or not.
    reason = "hidden: fewer than {}{} stays, or what has so few could be worked out from it"
    of_class = reason.format(min_cell, " positive or negative")
    why = of_class if is_binary else reason.format(min_cell, "")
    for name, part, size, is_hidden in zip(members, parts, sizes, hide, strict=True):
        about: dict[str, Any] = dict.fromkeys(("n", "n_stays", "n_positive"))
        labels = [] if is_hidden else next(rare, [])
        if not is_hidden:
            about |= {"n": len(part.stays), "n_stays": size}
            about["n_positive"] = int((part.truth == 1).sum()) if is_binary else None
        about["suppressed"] = why if is_hidden else None
        yield name, part, about, {f"{LABEL_METRIC}{label + 1}": of_class for label in labels}


def rare_labels(joined: Rows, shown: list[Integers], min_cell: int) -> list[list[int]]:
    """Return which labels (from 0) are hidden in each group that is shown.

    All hidden groups count together: what is told of the others tells of them, by the total.
    """
    rest = np.setdiff1d(np.arange(len(joined.stays)), np.concatenate([np.empty(0, int), *shown]))
    parts = [*([rest] if len(rest) else []), *shown]
    rare: list[list[int]] = [[] for _ in shown]
    for label, column in enumerate(joined.truth.T):
        positive = [int(column[rows].sum()) for rows in parts]
        counts = [{1: n, 0: len(rows) - n} for n, rows in zip(positive, parts, strict=True)]
        fewer = [min(count.values()) for count in counts]
        gone = hidden(fewer, counts, min_cell) or [True] * len(parts)
        for labels, is_gone in zip(rare, gone[len(gone) - len(rare) :], strict=True):
            if is_gone:
                labels.append(label)
    return rare
