"""Letters of models: two share one if and only if they do not differ."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from medeval.reporting.entries import compact_letters


@given(st.data())
def test_two_share_a_letter_if_and_only_if_they_do_not_differ(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    pairs = list(combinations(range(count), 2))
    differing = [pair for pair in pairs if data.draw(st.booleans())]
    letters = compact_letters(count, differing)
    assert all(letters)
    assert "a" in letters[0]
    for one, two in pairs:
        assert bool({*letters[one]} & {*letters[two]}) == ((one, two) not in differing)


def test_one_between_two_that_differ_has_both_letters() -> None:
    assert compact_letters(3, [(0, 2)]) == ["a", "ab", "b"]
    assert compact_letters(3, []) == ["a", "a", "a"]
    assert compact_letters(2, [(0, 1)]) == ["a", "b"]
