"""Which groups to hide so that nobody can work out how many patients a small one has.

A reader is taken to know this rule, the total, and every number of the groups that are told. What
is hidden is therefore chosen so that several sets of sizes would have been told in the same words
(a secondary suppression; Willenborg and de Waal, Elements of Statistical Disclosure Control, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from medeval.errors import UserError

Hide = Sequence[bool]


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
    counts: Sequence[int],
    small: Hide,
    min_cell: int,
    hides_enough: Callable[[Hide], bool] = lambda hide: True,
) -> list[bool] | None:
    """Return which groups to hide: those that must be, and the next larger ones that protect them.

    Args:
        counts: the size of each group; the smaller one is hidden first.
        small: which must be hidden.
        min_cell: what is smaller than this is hidden.
        hides_enough: whether other numbers of the groups are safe if these are hidden.

    Returns:
        Whether each is hidden; None if all are and not even their names can be told: one name is
        that of all patients, and several that share a few say how many each has.
    """
    hide = list(small)
    if not any(hide):
        return hide
    for place in sorted(range(len(counts)), key=lambda one: counts[one]):
        is_safe = _has_names(counts, hide, min_cell) and _is_open(counts, hide, min_cell)
        if is_safe and hides_enough(hide):
            break
        hide[place] = True
    return None if all(hide) and not _has_names(counts, hide, min_cell) else hide


def total_of(counts: Sequence[int], hide: Hide) -> int:
    """Return the sum of the hidden counts, which anybody can work out."""
    return sum(count for count, is_hidden in zip(counts, hide, strict=True) if is_hidden)


def _is_open(counts: Sequence[int], hide: Hide, min_cell: int) -> bool:
    """Tell whether the smallest count that is told leaves open how the hidden ones share their sum.

    What was hidden for another's sake is not larger than what is told. If all but one must be about
    as large as that, what is left of the sum is of a small one.
    """
    told = [count for count, is_hidden in zip(counts, hide, strict=True) if not is_hidden]
    if not told:
        return True
    others = sum(hide) - 1
    left = total_of(counts, hide) - (min_cell - 1)
    # Within two patients on average; above that one is larger, and hidden for another reason.
    return not others * (min(told) - 2) <= left <= others * min(told)


def _has_names(counts: Sequence[int], hide: Hide, min_cell: int) -> bool:
    """Tell whether there are two cells' worth, and each hidden group could be a large one."""
    others = sum(hide) - 1
    total = total_of(counts, hide)
    return others > 0 and total >= 2 * min_cell and total - others >= min_cell
