"""Which groups to hide, so that no table tells of fewer patients than the smallest cell.

A group is hidden if it is small, in all or of one class. If that is the only one, or if all hidden
groups together are small, the next larger one is hidden too: else the number could be worked out
from the total. A single group that is small is not even named: its name is that of all. All have
the same reason in the same words, so that nobody sees which the small one is. (Secondary
suppression; Willenborg and de Waal, Elements of Statistical Disclosure Control, 2001.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from medeval.errors import UserError

UNKNOWN = "unknown"
AGE_BANDS = ((18, "18-44"), (45, "45-64"), (65, "65-74"), (75, "75-84"), (85, "85+"))


def age_band(value: object) -> str:
    """Return the band of an age in years."""
    if not isinstance(value, int | float):
        return UNKNOWN
    return next((name for start, name in reversed(AGE_BANDS) if value >= start), UNKNOWN)


def partition(labels: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of each label, labels in order, the unknown last."""
    places: dict[str, list[int]] = {
        name: [] for name in sorted(set(labels), key=lambda name: (name == UNKNOWN, name))
    }
    for place, label in enumerate(labels):
        places[label].append(place)
    return places


def require_min_cell(min_cell: int) -> None:
    """Refuse a smallest cell that hides nothing well.

    Raises:
        UserError: below 1, or 2: a cell that is known to have fewer than two has one.
    """
    if min_cell < 1:
        raise UserError("The smallest cell is 1 or more.")
    if min_cell == 2:
        raise UserError(
            "A smallest cell of 2 hides single patients, and whoever sees that they are hidden"
            " knows that they are single. Take 1, which hides nothing, or 3 or more (--min-cell)."
        )


def hidden(
    sizes: Sequence[int], classes: Sequence[Mapping[Any, int]], min_cell: int
) -> list[bool] | None:
    """Return which groups are hidden; None if there is one only, which is then not named either.

    Args:
        sizes: how many patients each group has; of two, the smaller one is hidden first.
        classes: how many of each class they are; a class that is not named may be known to be none.
        min_cell: what is smaller than this is hidden; 1 hides nothing.
    """

    def are_few(places: Collection[int]) -> bool:
        counts: Counter[Any] = Counter()
        for place in places:
            counts.update(classes[place])
        return min([sum(sizes[place] for place in places), *counts.values()]) < min_cell

    order = sorted(range(len(sizes)), key=lambda place: sizes[place])
    hide = {place for place in order if min_cell > 1 and are_few([place])}
    for place in order:
        if not hide or (len(hide) > 1 and not are_few(hide)):
            break
        hide.add(place)
    return None if hide and len(sizes) == 1 else [place in hide for place in range(len(sizes))]
