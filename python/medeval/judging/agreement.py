"""How far raters of the same answers agree: judges with each other, and judges with people.

All statistics are written as sums over items, so that a resample is a row of weights: how often
each item was drawn. Sources: weighted kappa is a function of means and variances (J. L. Fleiss and
J. Cohen 1973, Educational and Psychological Measurement 33), so scores between the whole numbers
need no categories of their own; ICC(2,1), how far one rater of many may stand for the others,
levels included, and ICC(3,k), how far the mean of these raters ranks the items alike (P. E. Shrout
and J. L. Fleiss 1979, Psychological Bulletin 86:420-428); Krippendorff's alpha for ordinal scores
with gaps (K. Krippendorff, Content Analysis, 4th ed. 2018, chapter 12). Own, since the packages
krippendorff and pingouin are under the GPL, and scikit-learn's kappa takes no fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from medeval.judging.results import JudgingResults
from medeval.models.scores import DRAWS
from medeval.scoring.table import row_weights, sampled_interval

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

STATISTICS = ("exact", "within_1", "quadratic_kappa", "krippendorff_alpha", "icc_2_1", "icc_3_k")
# Why a statistic has no value.
_NO_VALUE = "too few answers have scores of both or all, or all scores are the same"
# Means of several scores that are equal may differ in their last digit.
ROUNDING = 1e-9
# What is left of a variance that is 0 after it was calculated with floats.
_NOTHING = 1e-12


def agreement(results: JudgingResults) -> list[dict[str, Any]]:
    """Return how far each two judges of a jury agree, and all of more than two, by criterion.

    Of several judgments by one judge the first counts: a mean would hide how unsure it is.

    Returns:
        Rows of `criterion`, `who`, `with` and what `agreement_of` returns.
    """
    judges = [judge.judge for judge in results.judges]
    seats = range(len(judges))
    compared = [(judges[a], judges[b], [a, b]) for a, b in combinations(seats, 2)]
    if len(judges) > 2:
        compared.append(("all judges", "each other", [*seats]))
    return [
        {"criterion": name, "who": who, "with": other}
        | agreement_of(score_array(results, name)[:, :, 0], [group], results.prompt.seed)
        for name in results.prompt.rubric.names
        for who, other, group in compared
    ]


def score_array(results: JudgingResults, dimension: str) -> Floats:
    """Return the scores of a dimension, shape (answers, judges, repeats), NaN for a gap."""
    import numpy as np

    judges = {judge.judge: place for place, judge in enumerate(results.judges)}
    rows = [each.judgments for each in results.subjects]
    repeats = max((one["repeat"] + 1 for row in rows for one in row), default=1)
    scores = np.full((len(rows), len(judges), repeats), np.nan)
    for place, row in enumerate(rows):
        for one in row:
            # None becomes NaN.
            scores[place, judges[one["judge"]], one["repeat"]] = one["scores"].get(dimension)
    return scores


def agreement_of(scores: Floats, groups: Sequence[Sequence[int]], seed: int) -> dict[str, Any]:
    """Return the agreement of raters on one scale: the mean over groups, intervals over items.

    A group weighs as much as it has items with two scores or more, so that raters who shared few
    items decide little.

    Args:
        scores: shape (items, raters), NaN for a gap.
        groups: the columns of raters that are compared with each other, such as each pair.
        seed: of the resamples, which are the same for all statistics.

    Returns:
        `answers` with scores of a whole group, and for each of `STATISTICS` an interval.
    """
    import numpy as np

    has_score = np.isfinite(scores)
    is_shared = np.any([has_score[:, own].sum(axis=1) >= 2 for own in groups], axis=0)
    is_whole = np.any([has_score[:, own].all(axis=1) for own in groups], axis=0)
    rows, n = scores[is_shared], int(is_shared.sum())
    rows, weights = row_weights(rows, DRAWS, seed) if n else (rows, np.zeros((1, 0), np.int64))
    values, sizes = [], []
    for own in (rows[:, group] for group in groups):
        has_two = np.isfinite(own).sum(axis=1) >= 2
        shared = weights[:, has_two].astype(np.float64)
        values.append([*statistics(own[has_two], shared).values()])
        sizes.append([shared.sum(axis=1)])
    by_group = np.array(values)
    drawn = np.where(np.isfinite(by_group), np.array(sizes), 0)
    means = _ratio(np.nansum(by_group * drawn, axis=0), drawn.sum(axis=0))
    found: dict[str, Any] = {"answers": int(is_whole.sum())}
    for name, own in zip(STATISTICS, means, strict=True):
        value = None if np.isnan(own[0]) else float(own[0])
        found[name] = sampled_interval(value, own[1:], n, _NO_VALUE).model_dump()
    return found


def statistics(scores: Floats, weights: Floats) -> dict[str, Floats]:
    """Return each statistic of raters on every resample, NaN where it has no meaning.

    Args:
        scores: shape (items, raters), NaN for a gap. Shares and alpha take the items with two
            scores or more, kappa and the ICCs those with all.
        weights: shape (resamples, items): how often each item counts.

    Returns:
        Shape (resamples,) for each of `STATISTICS`; of more than two raters kappa is NaN.
    """
    import numpy as np

    first, second = np.triu_indices(scores.shape[1], k=1)
    apart = np.abs(scores[:, first] - scores[:, second])
    pairs = weights @ np.isfinite(apart).sum(axis=1)
    whole = np.isfinite(scores).all(axis=1)
    shares = [_ratio(weights @ (apart <= far + ROUNDING).sum(axis=1), pairs) for far in (0, 1)]
    kappa, *iccs = _of_whole_items(scores[whole], weights[:, whole])
    found = (*shares, kappa, _ordinal_alpha(scores, weights), *iccs)
    # What sums of floats leave over where there is nothing is no figure, nor is its sign.
    rounded = (np.round(values, 12) + 0.0 for values in found)
    return dict(zip(STATISTICS, rounded, strict=True))


def _of_whole_items(scores: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return kappa, ICC(2,1) and ICC(3,k), from the analysis of variance of items by raters."""
    import numpy as np

    n, k = weights.sum(axis=1), scores.shape[1]
    nothing = np.full(len(weights), np.nan)
    if not len(scores) or k < 2:
        return nothing, nothing, nothing
    # Around their centre the squares lose no digits.
    scores = scores - scores.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        raters = weights @ scores / n[:, None]
        squares = weights @ (scores**2).sum(axis=1)
        mean = raters.mean(axis=1)
        of_items = k * (weights @ scores.mean(axis=1) ** 2 - n * mean**2)
        of_raters = n * ((raters - mean[:, None]) ** 2).sum(axis=1)
        error = (squares - n * k * mean**2 - of_items - of_raters) / ((n - 1) * (k - 1))
        items = of_items / (n - 1)
        spread = items + (k - 1) * error + k * (of_raters / (k - 1) - error) / n
        differences = weights @ (scores[:, 0] - scores[:, 1]) ** 2 / n
        # Both variances and the squared distance of the means.
        expected = squares / n - 2 * raters[:, 0] * raters[:, 1]
    kappa = 1 - _ratio(differences, expected) if k == 2 else nothing
    one, mean_of_all = (_ratio(items - error, whole) for whole in (spread, items))
    return kappa, np.where(n >= 2, one, nothing), np.where(n >= 2, mean_of_all, nothing)


def _ordinal_alpha(scores: Floats, weights: Floats) -> Floats:
    """Return Krippendorff's alpha; NaN without an item of two scores, or with one value only."""
    import numpy as np

    given = np.isfinite(scores).sum(axis=1)
    scores, weights = np.round(scores[given >= 2], 9), weights[:, given >= 2]
    values = np.unique(scores[np.isfinite(scores)])
    if len(values) < 2:
        return np.full(len(weights), np.nan)
    places = np.searchsorted(values, scores)
    totals = weights @ (scores[:, :, None] == values).sum(axis=1)
    # Between two values lie all scores from one to the other, half of each end.
    middles = np.cumsum(totals, axis=1) - totals / 2
    # Each pair of an item's scores weighs so that the item weighs as much as it has scores.
    shares = weights / (given[given >= 2] - 1)
    observed = np.zeros(len(weights))
    for a, b in combinations(range(scores.shape[1]), 2):
        both = np.isfinite(scores[:, [a, b]]).all(axis=1)
        distances = (middles[:, places[both, a]] - middles[:, places[both, b]]) ** 2
        observed += 2 * (shares[:, both] * distances).sum(axis=1)
    count = totals.sum(axis=1)
    spread = count * (totals * middles**2).sum(axis=1) - (totals * middles).sum(axis=1) ** 2
    is_varied = (totals > 0).sum(axis=1) >= 2
    return np.where(is_varied, 1 - _ratio(observed * (count - 1), 2 * spread), np.nan)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return a ratio; NaN where the whole is nothing."""
    import numpy as np

    ratios = np.full(part.shape, np.nan)
    np.divide(part, whole, out=ratios, where=np.abs(whole) > _NOTHING)
    return ratios
