"""What is hidden stays hidden from a reader who knows the rule, the total and all that is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.predictions.joining import Joined
from medeval.predictions.small_cells import hidden, require_min_cell
from medeval.predictions.subgroups import groups
from medeval.predictions.tasks import LABELS, task_named

# What is told of some groups: the size of each, None if hidden; None if they are not even named.
Told = tuple[int | None, ...] | None


@cache
def told(counts: tuple[int, ...], min_cell: int) -> Told:
    hide = hidden(counts, [count < min_cell for count in counts], min_cell)
    if hide is None:
        return None
    return tuple(
        None if is_hidden else count for count, is_hidden in zip(counts, hide, strict=True)
    )


def parts(total: int, n: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """Yield all ways to divide a number."""
    if n == 1:
        if total >= least:
            yield (total,)
        return
    for first in range(least, total - least * (n - 1) + 1):
        for rest in parts(total - first, n - 1, least):
            yield (first, *rest)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([50, 60, 70], [False, False, False]),
        ([3, 60, 70], [True, True, False]),  # 3 is the total less the others
        ([3, 4, 70], [True, True, True]),  # 7 in two cells tells nearly all
        ([10, 13, 40], [True, True, False]),
        ([9, 10, 40], [True, True, True]),
        ([11, 11], [False, False]),
        # 22 in two groups of which one is small, the other not larger than 12: 10 and 12.
        ([10, 12, 12], [True, True, True]),
        ([10, 12, 12, 500], [True, True, True, False]),
        ([1, 11, 11], [True, True, True]),
        # The small ones are hidden wherever they stand.
        ([70, 3, 60], [False, True, True]),
        # Of one name or a few patients not even the names are told.
        ([3], None),
        ([1, 1], None),
        ([10, 10], None),
        ([1, 11], None),
        ([2, 20], [True, True]),
        # 22 patients in 22 groups are one each.
        ([1] * 22, None),
    ],
)
def test_the_next_larger_groups_are_hidden_with_a_small_one(
    counts: list[int], expected: list[bool] | None
) -> None:
    assert hidden(counts, [count < 11 for count in counts], 11) == expected


def test_other_numbers_of_the_groups_have_a_say() -> None:
    counts, small = [12, 30, 40, 50], [True, False, False, False]
    assert hidden(counts, small, 11) == [True, True, False, False]
    assert hidden(counts, small, 11, lambda hide: sum(hide) > 2) == [True, True, True, False]
    # If nothing is enough, all are hidden, but their names tell no size.
    assert hidden(counts, small, 11, lambda hide: False) == [True] * 4
    assert hidden(counts, [False] * 4, 11, lambda hide: False) == [False] * 4


def test_a_smallest_cell_of_two_hides_nothing_well() -> None:
    for good in (1, 3, 11):
        require_min_cell(good)
    with pytest.raises(UserError, match="1 or more"):
        require_min_cell(0)
    with pytest.raises(UserError, match="knows that they are single"):
        require_min_cell(2)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5).filter(lambda found: sum(found) <= 22),
    st.integers(3, 6),
)
@example([2, 2, 2, 2, 2, 4], 3)
@example([5, 3, 3, 3, 3], 4)
@example([3, 3, 3, 4, 4], 4)
def test_no_small_size_can_be_worked_out(sizes: list[int], min_cell: int) -> None:
    counts = tuple(sizes)
    seen = told(counts, min_cell)
    if seen is None:
        # A reader knows neither the names nor their number.
        assert min(counts) < min_cell
        return
    assert all(one in (None, count) for one, count in zip(seen, counts, strict=True))
    possible = [other for other in parts(sum(counts), len(counts)) if told(other, min_cell) == seen]
    for place, count in enumerate(counts):
        if count < min_cell:
            assert seen[place] is None
            assert len({other[place] for other in possible}) > 1
    if None in seen:
        # Nor what sizes there are, of whatever group.
        assert len({tuple(sorted(other)) for other in possible}) > 1


def joined(stays: Sequence[Sequence[float]]) -> tuple[Joined, list[str]]:
    """Rows with the truth of each stay of each group."""
    truth = np.array([value for found in stays for value in found], dtype=np.float64)
    names = [f"s{number}" for number in range(len(truth))]
    numbers = np.arange(len(truth))
    rows = Joined(names, numbers, truth, np.zeros_like(truth), ("y_true",), ())
    return rows, [f"g{group}" for group, found in enumerate(stays) for _ in found]


@cache
def told_of_classes(
    pairs: tuple[tuple[int, int], ...], min_cell: int
) -> tuple[tuple[str, int | None, int | None, int | None, str | None], ...]:
    rows, attributes = joined([[1.0] * a + [0.0] * b for a, b in pairs])
    return tuple(
        (one.name, one.n, one.n_stays, one.n_positive, one.suppressed)
        for one in groups(task_named("ihm"), rows, attributes, min_cell)
    )


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (((3, 4), (3, 5), (20, 25)), [7, 8, 45]),
        # Few are positive, or negative, though the group is large.
        (((2, 14), (4, 9), (20, 25)), [None, None, 45]),
        (((14, 2), (4, 9), (20, 25)), [None, None, 45]),
        # 1 positive of both would be told.
        (((0, 6), (1, 7), (20, 25)), [None, None, None]),
    ],
)
def test_a_group_with_few_of_one_class_is_hidden(
    pairs: tuple[tuple[int, int], ...], expected: list[int | None]
) -> None:
    assert [n for _, n, *_ in told_of_classes(pairs, 3)] == expected


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=3))
def test_no_small_class_of_a_group_can_be_worked_out(found: list[tuple[int, int]]) -> None:
    pairs = tuple((a, b) for a, b in found if a + b)
    positive, negative = (sum(pair[which] for pair in pairs) for which in (0, 1))
    seen = told_of_classes(pairs, 3)
    if not seen or positive + negative > 20:
        return
    possible = [
        other
        for some in parts(positive, len(pairs), 0)
        for others in parts(negative, len(pairs), 0)
        if min(map(sum, other := tuple(zip(some, others, strict=True)))) > 0
        and told_of_classes(other, 3) == seen
    ]
    assert pairs in possible
    gone = [pair for pair, (_, n, *_) in zip(pairs, seen, strict=True) if n is None]
    if len(gone) < len(pairs):
        # Nor is a class of the hidden groups together small.
        assert all(sum(counts) >= 3 for counts in zip(*gone, strict=True))
    for place, pair in enumerate(pairs):
        for which in (0, 1):
            if 0 < pair[which] < 3:
                assert len({other[place][which] for other in possible}) > 1


@cache
def told_of_label(
    positive: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[tuple[int | None, int | None], ...]:
    """What is told of a label: how many have it in each group, None if hidden."""
    rows, attributes = joined(
        [[1.0] * count + [0.0] * (n - count) for count, n in zip(positive, sizes, strict=True)]
    )
    truth = np.repeat(rows.truth[:, None], LABELS, axis=1)
    made = groups(
        task_named("pheno"),
        Joined(rows.names, rows.stays, truth, truth, (), ()),
        attributes,
        3,
    )
    return tuple(
        (one.n, None if 0 in one.suppressed_labels or one.suppressed else count)
        for one, count in zip(made, positive, strict=True)
    )


@pytest.mark.parametrize(
    ("positive", "sizes", "expected"),
    [
        # 1 of 8 is hidden with 5 of the next group; 1 and 4 tell too much of each other.
        ((1, 5, 9), (8, 12, 30), [None, None, 9]),
        ((1, 4, 9), (8, 12, 30), [None, None, None]),
        # As few that do not have it.
        ((7, 7, 9), (8, 12, 30), [None, None, 9]),
        # Two groups that are hidden anyway, of 6 with the label, are enough for the third.
        ((2, 4, 1, 4, 9), (2, 10, 14, 20, 40), [None, None, None, 4, 9]),
        # What they have together could be worked out like one group's.
        ((0, 2, 4, 8, 9), (2, 10, 14, 20, 40), [None, None, None, 8, 9]),
        ((3, 3, 4, 5, 9), (6, 9, 14, 20, 40), [3, 3, 4, 5, 9]),
    ],
)
def test_a_rare_label_is_hidden_with_that_of_another_group(
    positive: tuple[int, ...], sizes: tuple[int, ...], expected: list[int | None]
) -> None:
    assert [count for _, count in told_of_label(positive, sizes)] == expected


@given(
    st.lists(
        st.integers(3, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        min_size=2,
        max_size=3,
    )
)
def test_no_rare_label_of_a_group_can_be_worked_out(found: list[tuple[int, int]]) -> None:
    positive, sizes = (tuple(part) for part in zip(*found, strict=True))
    seen = told_of_label(positive, sizes)
    possible = [
        other
        for other in product(*(range(n + 1) for n in sizes))
        if sum(other) == sum(positive) and told_of_label(other, sizes) == seen
    ]
    for place, (count, n) in enumerate(found):
        if 0 < count < 3 or 0 < n - count < 3:
            assert len({other[place] for other in possible}) > 1
