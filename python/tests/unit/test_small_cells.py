"""Small cells: which groups are hidden, so that no table tells of a few patients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import refused, table

from medeval.scoring.groups import hidden, partition, require_min_cell
from medeval.tasks.mimic3.groups import ethnicity

# Sizes, or positive and negative, of groups, with which of them are hidden.
SIZES, CLASSES = table("small_cells").values()


@pytest.mark.parametrize(("sizes", "expected"), SIZES)
def test_the_next_larger_group_is_hidden_too(sizes: list[int], expected: list[bool] | None) -> None:
    assert hidden(sizes, [{}] * len(sizes), 11) == expected
    if expected:
        assert hidden(sizes, [{}] * len(sizes), 1) == [False] * len(sizes)


@pytest.mark.parametrize(("classes", "expected"), CLASSES)
def test_a_group_of_few_is_hidden(classes: Sequence[tuple[int, int]], expected: list[bool]) -> None:
    counts = [{1: positive, 0: negative} for positive, negative in classes]
    assert hidden([sum(pair) for pair in classes], counts, 3) == expected


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), min_size=1), min_size=2),
    st.integers(3, 6),
)
def test_what_is_hidden_is_no_small_cell(classes: list[Mapping[str, int]], min_cell: int) -> None:
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
    refused("1 or more", require_min_cell, 0)
    refused("knows that they are single", require_min_cell, 2)


@pytest.mark.parametrize(("spelling", "group"), table("score_command")["ethnicity"])
def test_ethnicity_groups(spelling: str | None, group: str) -> None:
    assert ethnicity(spelling) == group
