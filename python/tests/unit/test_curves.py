"""Curves, calibration and confusions for plots: right by scikit-learn, and of no small cell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics

from medeval.models.plots import Plot, read_plots
from medeval.scoring.binary import Binary
from medeval.scoring.curves import Curves, calibration_plot, confusion_cells
from medeval.scoring.resample import score

Rows = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]


def rows_of(seed: int, n: int, share: float, values: int, per_stay: int) -> Rows:
    """Return truth, predictions of so many different values, and stays."""
    random = np.random.default_rng(seed)
    truth = (random.random(n) < share).astype(np.int64)
    prediction = np.round(np.clip(random.normal(0.3 + 0.3 * truth, 0.2), 0, 1) * values) / values
    return truth, prediction, np.arange(n) // per_stay


some_rows = st.builds(
    rows_of,
    st.integers(0, 10_000),
    st.integers(1, 400),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from([3, 20, 1_000_000]),
    st.sampled_from([1, 5]),
)


def drawn(rows: Rows, min_cell: int, n_iters: int = 0) -> tuple[Plot, Plot]:
    truth, prediction, stays = rows
    curves, statistic = Curves(truth, prediction, stays, min_cell), Binary(truth, prediction)
    statistic.watch = curves.add
    score(statistic, n_iters)
    roc, recall = curves.plots(None)
    return roc, recall


def test_points_are_those_of_scikit_learn() -> None:
    truth, prediction, _ = rows = rows_of(1, 900, 0.2, 50, 1)
    roc, recall = drawn(rows, 1)
    false, true, _ = metrics.roc_curve(truth, prediction, drop_intermediate=False)
    known = set(zip(false.round(12), true.round(12), strict=True))
    assert set(zip(np.round(roc.x, 12), np.round(roc.y, 12), strict=True)) <= known
    area = np.trapezoid(np.array(roc.y, float), roc.x)
    assert area == pytest.approx(metrics.roc_auc_score(truth, prediction), abs=0.002)
    precision, share, _ = metrics.precision_recall_curve(truth, prediction)
    known = set(zip(share.round(12), precision.round(12), strict=True))
    assert set(zip(np.round(recall.x, 12), np.round(recall.y, 12), strict=True)) <= known
    assert recall.level == pytest.approx(truth.mean())


@pytest.mark.parametrize("values", [7, 1_000_000])
def test_the_band_is_of_resamples_and_the_metrics_stay(values: int) -> None:
    truth, prediction, _ = rows = rows_of(2, 500, 0.3, values, 1)
    roc, recall = drawn(rows, 1, n_iters=200)
    for plot in (roc, recall):
        inside = [
            low <= y <= high
            for y, low, high in zip(plot.y, plot.low, plot.high, strict=True)
            if y is not None and low is not None and high is not None
        ]
        assert np.mean(inside) > 0.9
        assert "200 resamples of rows" in plot.method
    # Drawn again by hand, at one place.
    random, found = np.random.default_rng(0), []
    place = len(roc.x) // 2
    for _ in range(400):
        at = random.integers(0, len(truth), len(truth))
        false, true, _ = metrics.roc_curve(truth[at], prediction[at])
        found.append(np.interp(roc.x[place], false, true))
    assert [roc.low[place], roc.high[place]] == pytest.approx(
        np.quantile(found, [0.025, 0.975]), abs=0.05
    )
    watched = Binary(truth, prediction)
    watched.watch = Curves(*rows, 11).add
    plain = Binary(truth, prediction)
    assert (score(watched, 20).samples == score(plain, 20).samples).all()


@given(some_rows, st.sampled_from([2, 3, 11]))
def test_between_points_of_curves_are_no_few_stays(rows: Rows, min_cell: int) -> None:
    truth, prediction, stays = rows
    least = max(min_cell, 3)
    for plot in drawn(rows, min_cell):
        if not plot.has_values():
            assert f"fewer than {least}" in plot.note
            continue
        # What can be worked out: positives and negatives above each point.
        positives, negatives = int(truth.sum()), int((1 - truth).sum())
        true = np.round(np.array(plot.y if plot.name == "roc" else plot.x, float) * positives)
        false = np.array(plot.x, float) * negatives
        if plot.name != "roc":
            false = true / np.array(plot.y, float) - true
        counts = sorted({(int(t), round(f)) for t, f in zip(true, false, strict=True)} | {(0, 0)})
        order = np.argsort(-prediction, kind="stable")
        who = {one: stays[order][truth[order] == one] for one in (0, 1)}
        for (t, f), (more_t, more_f) in pairwise(counts):
            for one, start, end in ((1, t, more_t), (0, f, more_f)):
                between = np.unique(who[one][start:end])
                assert len(between) == 0 or len(between) >= least


@given(some_rows, st.sampled_from([2, 3, 11]))
def test_no_bin_of_calibration_has_few_stays_of_a_class(rows: Rows, min_cell: int) -> None:
    truth, prediction, stays = rows
    least, plot = max(min_cell, 3), calibration_plot(*rows, min_cell)
    assert plot is not None
    bins = np.minimum((prediction * 10).astype(int), 9)
    means = {int(one): prediction[bins == one].mean() for one in np.unique(bins)}
    shown = [next(at for at, mean in means.items() if mean == pytest.approx(x)) for x in plot.x]
    for at, n, y in zip(shown, plot.n, plot.y, strict=True):
        assert n == (bins == at).sum()
        assert y == pytest.approx(truth[bins == at].mean())
        for one in (0, 1):
            assert len(np.unique(stays[(bins == at) & (truth == one)])) >= least
    # What is hidden together is no small cell either, for it is the rest of what is told.
    rest = np.array([one not in shown for one in bins])
    if shown and rest.any():
        assert len(means) - len(shown) > 1
        assert min((truth[rest] == one).sum() for one in (0, 1)) >= least
    if len(shown) < len(means):
        assert f"fewer than {least}" in plot.note


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 25)), max_size=300),
    st.sampled_from([2, 3, 11]),
)
def test_no_cell_of_confusions_is_small(rows: list[tuple[int, int, int]], min_cell: int) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    cells, stays, least = 4 * table[:, 0] + table[:, 1], table[:, 2], max(min_cell, 3)
    found, note = confusion_cells(cells, stays, 4, min_cell)
    hidden = 0
    for at in range(16):
        size, shown = len(np.unique(stays[cells == at])), found[at // 4][at % 4]
        if shown is None:
            hidden += 1
        else:
            assert shown == (cells == at).sum()
            assert size == 0 or size >= least
    assert bool(note) == bool(hidden)
    # A single hidden cell would be all rows without those that are shown.
    if hidden == 1:
        assert len(np.unique(cells)) == 1


def test_what_is_drawn_for_one_class_or_scores_that_are_no_probabilities() -> None:
    truth, prediction, stays = rows_of(4, 60, 0.5, 1_000, 1)
    for plot in drawn((np.zeros_like(truth), prediction, stays), 1, n_iters=3):
        assert not plot.has_values()
    assert calibration_plot(truth, prediction * 2 - 1, stays, 1) is None


def test_what_is_no_plot_is_left_out() -> None:
    told, kept = (plot.model_dump(mode="json") for plot in drawn(rows_of(5, 200, 0.4, 100, 1), 1))
    faults = {"x": told["x"][1:], "low": [0.0], "y": ["much", *told["y"][1:]]}
    spoilt = [{**told, name: value} for name, value in faults.items()]
    spoilt += [{**told, "kind": "pie"}, {**told, "name": "../roc"}, "no plot"]
    for one in spoilt:
        (left,) = read_plots({"plots": [one, kept]})
        assert left.model_dump(mode="json") == kept
    assert read_plots({"plots": "none"}) == read_plots({}) == []
