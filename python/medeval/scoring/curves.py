"""A binary outcome as plots: ROC and precision-recall curves with their bands, and calibration.

Both curves go through the same thresholds: the first scores at which each whole percent of the
positives, or of the negatives, is reached. Between two of them lie the smallest cell's number of
patients at least, of each class that lies there at all; a threshold with fewer is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from medeval.files import toml_beside
from medeval.models.plots import Plot
from medeval.scoring.binary import ERROR_BINS, Curve, outcomes
from medeval.scoring.groups import hidden
from medeval.scoring.resample import TAILS, Floats, Integers
from medeval.scoring.table import wilson

PLACES = 100
# Ends of bands need no more, and curves are kept for a while.
MOST_RESAMPLES = 500
# So far products of shares and totals are whole numbers that should be.
DECIMALS = 9
PLOTS = toml_beside(__file__, "plots.toml")


def least_shown(min_cell: int) -> int:
    """Return the smallest number of patients that is drawn; 2 would tell of single ones."""
    return 3 if min_cell == 2 else min_cell


class Curves:
    """The curves of a score, and of its resamples as far as `add` was told of them.

    Attributes:
        true: positives down to each threshold, shape (k,); the last one takes all rows.
        false: negatives down to it, shape (k,).
    """

    def __init__(
        self, truth: ArrayLike, prediction: ArrayLike, patients: Integers, min_cell: int
    ) -> None:
        """Find the thresholds.

        Args:
            truth: 0 or 1, shape (n,).
            prediction: scores, shape (n,); only their order counts.
            patients: or stays, that the rows are of, shape (n,).
            min_cell: the smallest number of them that is told.
        """
        positive, scores = outcomes(truth, prediction, 1)
        order = np.argsort(-scores, kind="stable")
        positive, scores, patients = positive[order], scores[order], patients[order]
        # Behind the last row of each distinct score.
        ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]) + 1, len(scores))
        true = np.cumsum(positive)[ends - 1] if len(scores) else ends
        false = ends - true
        # The first ends at which each percent of a class is reached.
        percents = np.arange(1, PLACES + 1)
        places = [np.searchsorted(one, -(-percents * one[-1] // PLACES)) for one in (true, false)]
        wanted = ends[np.unique(np.concatenate(places))]
        has_both = bool(true[-1] and false[-1])
        self._least = least_shown(min_cell)
        kept = _thinned(wanted, positive, patients, self._least) if has_both else []
        at = np.isin(ends, kept)
        self.true, self.false = true[at], false[at]
        self._recalls, self._false_shares = (
            one / max(int(one[-1]), 1) if len(one) else one.astype(np.float64)
            for one in (self.true, self.false)
        )
        self._resamples: list[tuple[Floats, Floats]] = []

    def add(self, curve: Curve) -> None:
        """Take the curves of a batch; the first one is of the data themselves."""
        size = max(0, MOST_RESAMPLES + 1 - len(self._resamples)) if len(self.true) > 1 else 0
        whole = curve.n_negatives, curve.false_before, curve.false, curve.positives, curve.true
        for negatives, before, false, own, true in zip(*(one[:size] for one in whole), strict=True):
            positives = own.sum()
            if not positives or not negatives:
                continue
            # Within a score that both classes have, the curve rises evenly.
            places, heights = np.stack([before, false], 1), np.stack([true - own, true], 1)
            wanted = np.round(self._false_shares * negatives, DECIMALS)
            found = np.interp(wanted, places.ravel(), heights.ravel())
            reached = np.searchsorted(true, np.round(self._recalls * positives, DECIMALS))
            precise = true[reached] / (true[reached] + false[reached])
            self._resamples.append((found / positives, precise))

    def plots(self, cluster: str | None) -> list[Plot]:
        """Return both curves; without a point, and with the reason, where the rows are too few.

        Args:
            cluster: what was drawn as one unit; None for rows.
        """
        if len(self.true) < 2:
            why = PLOTS["too_few"].format(least=max(1, self._least))
            return [Plot(note=why, **PLOTS[name]) for name in ("roc", "precision_recall")]
        resamples, ends = self._resamples[1:], []
        for one in range(2) if resamples else ():
            values = np.array([pair[one] for pair in resamples])
            ends.append([np.quantile(values, tail, axis=0) for tail in TAILS])
        band = f"bootstrap_percentile, at each place, {len(resamples):,} resamples"
        method = f"{band} of {cluster or 'row'}s" if resamples else ""
        # Of several points at one place the highest, which a resample's value there is of, too.
        highest = np.append(np.diff(self.false) > 0, True)
        roc = _lists(self._false_shares, self._recalls, ends[:1], highest)
        # It starts where nothing is taken for positive.
        roc = {name: [0.0, *values] for name, values in roc.items()}
        highest = np.append(True, np.diff(self.true) > 0) & (self.true > 0)
        precision = self.true / (self.true + self.false)
        recall = _lists(self._recalls, precision, ends[1:], highest)
        share = float(precision[-1])
        return [
            Plot(**PLOTS["roc"], **roc, method=method),
            Plot(**PLOTS["precision_recall"], **recall, method=method, level=share),
        ]


def _lists(
    x: Floats, y: Floats, ends: Sequence[Sequence[Floats]], at: NDArray[np.bool_]
) -> dict[str, Any]:
    """Return a curve at some places as lists, with a band if there is one."""
    bands = dict(zip(("low", "high"), ends[0], strict=True)) if ends else {}
    return {name: one[at].tolist() for name, one in {"x": x, "y": y, **bands}.items()}


def _thinned(
    ends: Integers, positive: NDArray[np.bool_], patients: Integers, least: int
) -> list[int]:
    """Return the ends between which lie enough patients of each class that lies there at all.

    Args:
        ends: in rising order, shape (k,).
        positive: of the rows in order, shape (n,).
        patients: likewise.
        least: how many are enough.

    Returns:
        Some of the ends, the last one of all among them; nothing if all rows are too few.
    """
    # Of each class, which patients there are since the end before.
    pending = np.zeros((2, int(patients.max(initial=0)) + 1), dtype=np.bool_)
    kept, start = list[tuple[int, NDArray[np.bool_]]](), 0

    def keep_if_enough(end: int) -> None:
        nonlocal pending
        counts = np.count_nonzero(pending, axis=1)
        if ((counts == 0) | (counts >= least)).all():
            kept.append((end, pending))
            pending = np.zeros_like(pending)

    for end in map(int, ends):
        pending[positive[start:end].view(np.int8), patients[start:end]] = True
        keep_if_enough(end)
        start = end
    # What is left over goes to the part before.
    while kept and pending.any():
        pending = pending | kept.pop()[1]
        keep_if_enough(start)
    return [end for end, _ in kept]


def patients_by_bin(bins: Integers, patients: Integers, n_bins: int) -> Integers:
    """Return how many different patients the rows of each bin are of, shape (n_bins,)."""
    width = int(patients.max(initial=0)) + 1
    return np.bincount(np.unique(bins * width + patients) // width, minlength=n_bins)


def calibration_plot(
    truth: ArrayLike, prediction: ArrayLike, patients: Integers, min_cell: int
) -> Plot | None:
    """Return observed shares over the ten bins of the expected calibration error.

    Arguments are those of `Curves`. A bin with fewer patients of a class than `min_cell` is hidden,
    and with it what it could be worked out from.

    Returns:
        None where predictions are no probabilities.
    """
    positive, scores = outcomes(truth, prediction, 1)
    if not len(scores) or scores.min() < 0 or scores.max() > 1:
        return None
    bins = np.minimum((scores * ERROR_BINS).astype(np.int64), ERROR_BINS - 1)
    n, true, predicted = (
        np.bincount(bins, weights, ERROR_BINS) for weights in (None, positive, scores)
    )
    used = np.flatnonzero(n)
    of_class = {
        one: patients_by_bin(bins[positive == one], patients[positive == one], ERROR_BINS)
        for one in (True, False)
    }
    sizes = patients_by_bin(bins, patients, ERROR_BINS)[used].tolist()
    classes = [{one: int(count[at]) for one, count in of_class.items()} for at in used]
    hide, note = _hidden(sizes, classes, min_cell, "bins", "stays with or without the outcome")
    shown = used[~hide]
    shares = true[shown] / n[shown]
    ends = [wilson(float(one), int(rows)) for one, rows in zip(shares, n[shown], strict=True)]
    return Plot(
        **PLOTS["calibration"],
        x=(predicted[shown] / n[shown]).tolist(),
        y=shares.tolist(),
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
        n=[int(one) for one in n[shown]],
        note=note,
    )


def confusion_cells(
    cells: Integers, patients: Integers, k: int, min_cell: int
) -> tuple[list[list[int | None]], str]:
    """Return a confusion with its small cells hidden, and what is said of that.

    Args:
        cells: cell of each row, k times the truth's bin plus the prediction's, shape (n,).
        patients: or stays, that the rows are of, shape (n,).
        k: how many bins there are.
        min_cell: the smallest number of patients that is told.

    Returns:
        Rows in each cell, None where hidden; and a sentence, empty if none is.
    """
    rows = np.bincount(cells, minlength=k * k)
    used = np.flatnonzero(rows)
    sizes = patients_by_bin(cells, patients, k * k)[used].tolist()
    hide, note = _hidden(sizes, [{}] * len(used), min_cell, "cells with any row", "stays")
    shown: list[int | None] = [int(one) for one in rows]
    for at in used[hide]:
        shown[at] = None
    return [shown[row * k : (row + 1) * k] for row in range(k)], note


def _hidden(
    sizes: Sequence[int], classes: Sequence[Mapping[Any, int]], min_cell: int, what: str, who: str
) -> tuple[NDArray[np.bool_], str]:
    """Return which parts are hidden, and what is said of that; see `groups.hidden`."""
    least = least_shown(min_cell)
    hide = np.array(hidden(sizes, classes, least) or [True] * len(sizes), dtype=np.bool_)
    gone = int(hide.sum())
    counts = {"hidden": gone, "all": len(hide), "least": least}
    said = PLOTS["hidden"].format(**counts, what=what, who=who)
    return hide, said if gone else ""
