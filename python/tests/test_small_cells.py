"""Small cells: which groups are hidden, so that no table tells of a few patients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.errors import UserError
from medeval.scoring.groups import hidden, partition, require_min_cell


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([50, 60, 70], [False, False, False]),
        ([11, 11], [False, False]),
        ([3, 60, 70], [True, True, False]),  # 3 is the total less the others
        ([70, 3, 60], [False, True, True]),
        ([10, 13, 40], [True, True, False]),
        ([3, 4, 70], [True, True, True]),  # 7 is the total less the other
        ([9, 10, 40], [True, True, False]),
        ([1, 1], [True, True]),
        ([3], None),  # one name is that of all
        ([11], [False]),
        ([], []),
    ],
)
def test_the_next_larger_group_is_hidden_with_a_small_one(
    sizes: list[int], expected: list[bool] | None
) -> None:
    assert hidden(sizes, [{}] * len(sizes), 11) == expected
    if None not in (expected, sizes):
        assert hidden(sizes, [{}] * len(sizes), 1) == [False] * len(sizes)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([(3, 4), (3, 5), (20, 25)], [False, False, False]),
        # Few are positive, or negative, though the group is large.
        ([(2, 14), (4, 9), (20, 25)], [True, True, False]),
        ([(14, 2), (4, 9), (20, 25)], [True, True, False]),
        # Nobody is as good as a number of the others.
        ([(0, 6), (3, 7), (20, 25)], [True, True, False]),
        # 1 positive of both would be told.
        ([(0, 6), (1, 7), (20, 25)], [True, True, True]),
    ],
)
def test_a_group_with_few_of_one_class_is_hidden(
    classes: Sequence[tuple[int, int]], expected: list[bool]
) -> None:
    counts = [{1: positive, 0: negative} for positive, negative in classes]
    assert hidden([sum(pair) for pair in classes], counts, 3) == expected


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), min_size=1), min_size=2),
    st.integers(3, 6),
)
def test_what_is_hidden_is_no_small_cell_by_itself(
    classes: list[Mapping[str, int]], min_cell: int
) -> None:
    sizes = [sum(counts.values()) for counts in classes]
    hide = hidden(sizes, classes, min_cell)
    assert hide is not None
    gone = [counts for counts, is_hidden in zip(classes, hide, strict=True) if is_hidden]
    told = [counts for counts, is_hidden in zip(classes, hide, strict=True) if not is_hidden]
    assert all(min(counts.values()) >= min_cell for counts in told)
    if gone and told:
        assert len(gone) > 1
        for key in {key for counts in gone for key in counts}:
            assert sum(counts.get(key, 0) for counts in gone) >= min_cell


def test_groups_are_in_the_order_of_their_names_the_unknown_last() -> None:
    assert partition(["white", "unknown", "asian", "white"]) == {
        "asian": [2], "white": [0, 3], "unknown": [1],
    }  # fmt: skip


def test_a_smallest_cell_of_two_hides_nothing_well() -> None:
    for good in (1, 3, 11):
        require_min_cell(good)
    with pytest.raises(UserError, match="1 or more"):
        require_min_cell(0)
    with pytest.raises(UserError, match="knows that they are single"):
        require_min_cell(2)
