"""Krippendorff's alpha for ordinal scores, with gaps.

Source: K. Krippendorff, Content Analysis (4th ed. 2018), chapter 12. Own, since the package of that
name is under the GPL; held against its figures in the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats


def ordinal_alpha(scores: Floats) -> float | None:
    """Return alpha; None where it has no meaning: no item with two scores, or one value only.

    Args:
        scores: shape (items, judges), NaN for a gap. Items with fewer than two scores do not count.
    """
    import numpy as np

    given = np.isfinite(scores)
    paired = scores[given.sum(axis=1) >= 2]
    values = np.unique(paired[np.isfinite(paired)])
    if len(values) < 2:
        return None
    counts = (paired[:, :, None] == values).sum(axis=1).astype(np.float64)
    # Each pair of an item's scores weighs so that the item weighs as much as it has scores.
    weighed = counts / (counts.sum(axis=1, keepdims=True) - 1)
    # As a product of matrices: means of several people have many values.
    coincidences = weighed.T @ counts - np.diag(weighed.sum(axis=0))
    totals = coincidences.sum(axis=0)
    # Between two values lie all scores from one to the other, half of each end.
    middle = np.cumsum(totals) - totals / 2
    distances = (middle[:, None] - middle[None, :]) ** 2
    observed = float((coincidences * distances).sum())
    expected = float((np.outer(totals, totals) * distances).sum()) / (float(totals.sum()) - 1)
    return 1 - observed / expected
