"""Agreement of raters on one scale: shares, weighted kappa and intraclass correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats


# Means of several scores that are equal may differ in their last digit.
ROUNDING = 1e-9


def within(scores: Floats, distance: float) -> float | None:
    """Return the share of pairs of scores of one item that lie so close; None without a pair.

    Args:
        scores: shape (items, judges), NaN for a gap.
        distance: 0 for the very same score.
    """
    import numpy as np

    first, second = np.triu_indices(scores.shape[1], k=1)
    apart = np.abs(scores[:, first] - scores[:, second])
    apart = apart[np.isfinite(apart)]
    return float((apart <= distance + ROUNDING).mean()) if len(apart) else None


def quadratic_kappa(pairs: Floats) -> float | None:
    """Return Cohen's kappa with quadratic weights of two judges.

    With these weights kappa is a function of means and variances (J. L. Fleiss and J. Cohen 1973,
    Educational and Psychological Measurement 33), so scores between the whole numbers need no
    categories of their own.

    Args:
        pairs: shape (items, 2), NaN for a gap.

    Returns:
        None where it has no meaning: no item with both, or the same single score in all.
    """
    import numpy as np

    both = pairs[np.isfinite(pairs).all(axis=1)]
    if not len(both):
        return None
    first, second = both[:, 0], both[:, 1]
    expected = first.var() + second.var() + (first.mean() - second.mean()) ** 2
    if expected == 0:
        return None
    return float(1 - ((first - second) ** 2).mean() / expected)


class Anova(NamedTuple):
    """Mean squares of items by judges, and the numbers of both."""

    items: float
    judges: float
    error: float
    n: int
    k: int


def icc_2_1(scores: Floats) -> float | None:
    """Return ICC(2,1): how far one judge of many may stand for the others, levels included.

    Source: P. E. Shrout and J. L. Fleiss, Intraclass correlations, Psychological Bulletin 86 (1979)
    420-428.

    Args:
        scores: shape (items, judges); items with a gap do not count.

    Returns:
        None where it has no meaning: fewer than two whole items or judges, or no differences.
    """
    found = _anova(scores)
    if found is None:
        return None
    spread = found.items + (found.k - 1) * found.error
    spread += found.k * (found.judges - found.error) / found.n
    return (found.items - found.error) / spread if spread else None


def icc_3_k(scores: Floats) -> float | None:
    """Return ICC(3,k): how far the mean of these judges ranks the items alike; see `icc_2_1`."""
    found = _anova(scores)
    if found is None or not found.items:
        return None
    return (found.items - found.error) / found.items


def _anova(scores: Floats) -> Anova | None:
    """Return the two-way analysis of variance of the items that all judges scored."""
    import numpy as np

    whole = scores[np.isfinite(scores).all(axis=1)]
    n, k = whole.shape
    if n < 2 or k < 2:
        return None
    mean = whole.mean()
    of_items = whole.mean(axis=1)
    of_judges = whole.mean(axis=0)
    rest = whole - of_items[:, None] - of_judges[None, :] + mean
    return Anova(
        items=float(k * ((of_items - mean) ** 2).sum() / (n - 1)),
        judges=float(n * ((of_judges - mean) ** 2).sum() / (k - 1)),
        error=float((rest**2).sum() / ((n - 1) * (k - 1))),
        n=n,
        k=k,
    )
