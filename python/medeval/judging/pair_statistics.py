"""Agreement of pairs of raters on all resamples at once.

The same statistics as in `correlations` and `krippendorff`, which say where they come from, written
as sums over items: a resample is then a row of weights, how often each item was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medeval.judging.correlations import ROUNDING
from medeval.models.scores import DRAWS
from medeval.scoring.table import row_weights, sampled_interval

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

STATISTICS = (
    "exact",
    "within_1",
    "quadratic_kappa",
    "krippendorff_alpha",
    "icc_2_1",
    "icc_3_k",
)
_NO_VALUE = "too few answers have scores of both, or all scores are the same"
# What is left of a variance that is 0 after it was calculated with floats.
_NOTHING = 1e-12


def pair_agreement(scores: Floats, pairs: Sequence[tuple[int, int]], seed: int) -> dict[str, Any]:
    """Return the statistics of pairs of raters: the mean over pairs, with intervals over items.

    A pair weighs as much as it has items with scores of both, so that raters who shared few items
    decide little.

    Args:
        scores: shape (items, raters), NaN for a gap.
        pairs: columns that are compared.
        seed: of the resamples, which are the same for all statistics.

    Returns:
        For each of `STATISTICS` an interval by name; `n` counts the items with scores
        of a pair.
    """
    import numpy as np

    has_pair = np.zeros(len(scores), dtype=np.bool_)
    for one, other in pairs:
        has_pair |= np.isfinite(scores[:, [one, other]]).all(axis=1)
    n = int(has_pair.sum())
    if not n:
        nothing = np.empty(0)
        return {
            name: sampled_interval(None, nothing, 0, _NO_VALUE).model_dump() for name in STATISTICS
        }
    rows, weights = row_weights(scores[has_pair], DRAWS, seed)
    sums = {name: np.zeros(len(weights)) for name in STATISTICS}
    counts = {name: np.zeros(len(weights)) for name in STATISTICS}
    for one, other in pairs:
        both = np.isfinite(rows[:, [one, other]]).all(axis=1)
        own = weights[:, both].astype(np.float64)
        drawn = own.sum(axis=1)
        for name, values in _statistics(rows[both, one], rows[both, other], own).items():
            is_defined = np.isfinite(values)
            sums[name] += np.where(is_defined, values * drawn, 0)
            counts[name] += np.where(is_defined, drawn, 0)
    return {name: _estimate(sums[name], counts[name], n) for name in STATISTICS}


def _estimate(sums: Floats, counts: Floats, n: int) -> dict[str, Any]:
    import numpy as np

    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    value = float(means[0]) if counts[0] else None
    return sampled_interval(value, means[1:], n, _NO_VALUE).model_dump()


def _statistics(first: Floats, second: Floats, weights: Floats) -> dict[str, Floats]:
    """Return each statistic of two raters by resample, NaN where it has no meaning."""
    import numpy as np

    n = weights.sum(axis=1)
    if not len(first):
        return {name: np.full(len(weights), np.nan) for name in STATISTICS}
    apart = np.abs(first - second)
    # Around their centre the squares lose no digits.
    centre = (first.mean() + second.mean()) / 2
    first, second = first - centre, second - centre
    with np.errstate(divide="ignore", invalid="ignore"):
        means = weights @ first / n, weights @ second / n
        variances = [
            weights @ scores**2 / n - mean**2
            for scores, mean in zip((first, second), means, strict=True)
        ]
        shift = (means[0] - means[1]) ** 2
        differences = weights @ apart**2 / n
        middle = (first + second) / 2
        # Mean squares of the analysis of variance of items by two raters.
        items = 2 * n * (weights @ middle**2 / n - (weights @ middle / n) ** 2) / (n - 1)
        raters = n * shift / 2
        error = n * (differences - shift) / 2 / (n - 1)
        found = {
            "exact": weights @ (apart <= ROUNDING) / n,
            "within_1": weights @ (apart <= 1 + ROUNDING) / n,
            "quadratic_kappa": 1 - _ratio(differences, variances[0] + variances[1] + shift),
            "krippendorff_alpha": _ordinal_alpha(first, second, weights),
            "icc_2_1": _ratio(items - error, items + error + 2 * (raters - error) / n),
            "icc_3_k": _ratio(items - error, items),
        }
    for name in ("icc_2_1", "icc_3_k"):
        found[name] = np.where(n >= 2, found[name], np.nan)
    return found


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return a ratio; NaN where the whole is nothing."""
    import numpy as np

    ratios: Floats = np.where(np.abs(whole) > _NOTHING, part / whole, np.nan)
    return ratios


def _ordinal_alpha(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Return Krippendorff's alpha of two raters; each item is a pair and its reverse."""
    import numpy as np

    scores = np.round(np.concatenate([first, second]), 9)
    values, places = np.unique(scores, return_inverse=True)
    of_first, of_second = places[: len(first)], places[len(first) :]
    one_hot = np.eye(len(values))
    totals = weights @ (one_hot[of_first] + one_hot[of_second])
    middles = np.cumsum(totals, axis=1) - totals / 2
    observed = 2 * (weights * (middles[:, of_first] - middles[:, of_second]) ** 2).sum(axis=1)
    all_scores = totals.sum(axis=1)
    squares = (totals * middles**2).sum(axis=1)
    expected = 2 * (all_scores * squares - (totals * middles).sum(axis=1) ** 2) / (all_scores - 1)
    has_two = (totals > 0).sum(axis=1) >= 2
    alpha: Floats = np.where(has_two, 1 - observed / expected, np.nan)
    return alpha
