"""Values of metrics with their intervals, and items without a score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from test_metrics import MEAN, SHARE, aggregate

from medeval.metrics.metric import Item
from medeval.scoring.table import wilson


def scored(value: float | None) -> Item:
    return Item({}, {}, {"value": value}, "value")


def test_undefined_items_are_left_out_and_counted() -> None:
    found = aggregate(MEAN, [scored(1.0), scored(None), scored(0.5)])
    assert (found.value, found.n, found.n_undefined, found.reason) == (0.75, 2, 1, "no number")
    assert MEAN.column([scored(1.0), scored(None)]).item_scores == [1.0, None]
    none = aggregate(MEAN, [scored(None)])
    assert (none.value, none.low, none.reason) == (None, None, "no number")
    assert aggregate(MEAN, []).reason == "no items"
    one = aggregate(MEAN, [scored(0.5)])
    assert (one.value, one.low, one.high, one.method, one.reason) == (0.5, None, None, "", None)


def test_a_bootstrap_interval_is_the_percentiles_of_the_means() -> None:
    scores = np.random.default_rng(7).random(200)
    items = [scored(float(score)) for score in scores]
    found = aggregate(MEAN, items, draws=2000, seed=1)
    assert (found.method, found.level, found.n) == ("bootstrap_percentile", 0.95, 200)
    half = 1.96 * scores.std() / np.sqrt(len(scores))
    assert found.low == pytest.approx(scores.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(scores.mean() + half, abs=0.1 * half)
    assert found == aggregate(MEAN, items, draws=2000, seed=1)
    assert found != aggregate(MEAN, items, draws=2000, seed=2)


@given(st.integers(1, 300), st.data())
def test_scores_of_0_and_1_get_wilsons_interval_which_equals_scipys(
    n: int, data: st.DataObject
) -> None:
    successes = data.draw(st.integers(0, n))
    items = [scored(float(place < successes)) for place in range(n)]
    found = aggregate(SHARE, [*items, scored(None)])
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.value, found.n, found.method) == (successes / n, n, "wilson")
    assert (found.low, found.high) == wilson(successes / n, n)
