"""Which of several predictions is better, with an interval, a p value and a plain sentence.

The bootstrap is paired: predictions are scored on the same resamples, so what is resampled is the
difference of their metrics. From it come

* the percentile interval of the difference (B. Efron and R. J. Tibshirani, An Introduction to the
  Bootstrap, 1993, chapter 13);
* a two-sided p value, twice the smaller of (1 + resamples with a difference of at most 0) and
  (1 + resamples with a difference of at least 0), divided by (1 + resamples), and at most 1: the
  level at which the interval just reaches 0. The ones keep it from being 0 (A. C. Davison and
  D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 4.2).

The family of comparisons is all pairs of the predictions given, times all metrics given; Holm's
correction is over all of it. A difference that is not significant after the correction is not said
to be zero: the two cannot be told apart on these data.

Resamples of very few rows are too much alike, and would call any difference significant. So a
metric has no p value where it rests on so few independent units that even the sign test, with all
of them on one side, could not be significant: fewer than six at the usual level.

DeLong's test of areas under the ROC curve and McNemar's test of right and wrong answers stand
beside it, each a family of its own. They take rows as independent and do not change the sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import numpy.typing as npt

from medeval.scoring.delong import DeLong, delong_test
from medeval.scoring.holm import holm
from medeval.scoring.mcnemar import McNemar, mcnemar
from medeval.scoring.results import Floats, Scores

LEVEL = 0.95
LOWER_IS_BETTER = frozenset({"MAD", "MSE", "MAPE"})

# Equal in exact arithmetic, apart by rounding: relative to the values, absolute below 1.
ROUNDING = 1e-12
FEWEST_DECIMALS, USUAL_DECIMALS, MOST_DECIMALS = 1, 3, 6
SMALLEST_P_SHOWN = 0.0001


class Verdict(StrEnum):
    """What can be said of two predictions by one metric."""

    FIRST = "first is better"
    SECOND = "second is better"
    NEITHER = "cannot be told apart"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Difference:
    """Two predictions by one metric.

    Attributes:
        first: name of the first prediction.
        second: name of the second.
        metric: name of the metric.
        first_value: the metric of the first; None if undefined, as below.
        second_value: the metric of the second.
        difference: first value minus second value.
        low: lower end of the difference's interval.
        high: upper end of the difference's interval.
        p_value: two-sided, of this comparison alone.
        adjusted_p: after Holm's correction over the family.
        n_comparisons: size of the family: comparisons that have a p value.
        n_undefined: resamples that are left out, since the metric of one of the two is undefined.
        verdict: what can be said.
        reason: why there is no difference, no interval or no p value.
        level: coverage of the interval; 1 less the level of significance.
    """

    first: str
    second: str
    metric: str
    first_value: float | None
    second_value: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    adjusted_p: float | None
    n_comparisons: int
    n_undefined: int
    verdict: Verdict
    reason: str | None
    level: float

    @property
    def sentence(self) -> str:
        """Say it in words."""
        return sentence(self, self.metric)


@dataclass(frozen=True)
class AreaDifference:
    """DeLong's test of two predictions by one area; `adjusted_p` after Holm's correction."""

    first: str
    second: str
    metric: str
    test: DeLong
    adjusted_p: float | None


@dataclass(frozen=True)
class AnswerDifference:
    """McNemar's test of two sets of answers; `adjusted_p` after Holm's correction."""

    first: str
    second: str
    test: McNemar
    adjusted_p: float

    @property
    def sentence(self) -> str:
        """Say it in words."""
        return answer_sentence(self)


def compare(
    scores: Mapping[str, Scores],
    metrics: Sequence[str] | None = None,
    *,
    units: Mapping[str, int] | None = None,
    level: float = LEVEL,
) -> tuple[Difference, ...]:
    """Compare all pairs of predictions by each metric.

    Args:
        scores: of each prediction by its name, all with the same resampling of the same rows.
        metrics: some of their metrics; None takes all.
        units: on how many independent rows or clusters a metric rests, those of the rarer class
            if it needs both; a metric that is not named has enough.
        level: coverage of the intervals; 1 less the level of significance after the correction.

    Returns:
        Pair by pair in the order given, and within a pair metric by metric.

    Raises:
        ValueError: fewer than two predictions, other metrics or numbers of resamples in one than
            in another, or a metric that they do not have.
    """
    names = _names(scores)
    every, shape = scores[names[0]].names, scores[names[0]].samples.shape
    if any(found.names != every or found.samples.shape != shape for found in scores.values()):
        raise ValueError("the predictions are not scored by the same metrics and resamples")
    chosen = every if metrics is None else tuple(metrics)
    if unknown := [metric for metric in chosen if metric not in every]:
        raise ValueError(f"no metric {', '.join(unknown)}; there are {', '.join(every)}")
    places = [every.index(metric) for metric in chosen]
    found = [
        _without_few(
            _difference(first, second, scores[first], scores[second], place, level), units or {}
        )
        for first, second in combinations(names, 2)
        for place in places
    ]
    adjusted = holm([entry.p_value for entry in found])
    made = sum(p is not None for p in adjusted)
    return tuple(
        _judged(replace(entry, adjusted_p=p, n_comparisons=made))
        for entry, p in zip(found, adjusted, strict=True)
    )


def compare_areas(
    metrics: Sequence[str],
    truth: npt.ArrayLike,
    predictions: Mapping[str, npt.ArrayLike],
    *,
    level: float = LEVEL,
) -> tuple[AreaDifference, ...]:
    """Test all pairs of predictions by DeLong's method.

    Args:
        metrics: the name of the area of each column of the truth.
        truth: 0 or 1, shape (n,) or (n, number of metrics).
        predictions: scores in the truth's shape, by name.
        level: coverage of the intervals.

    Raises:
        ValueError: fewer than two predictions, or arrays that do not fit together.
    """
    outcome = _columns(truth)
    scores = {name: _columns(values) for name, values in predictions.items()}
    if outcome.shape[1] != len(metrics) or any(
        values.shape != outcome.shape for values in scores.values()
    ):
        raise ValueError(f"not every array has the truth's rows and {len(metrics)} columns")
    tests = [
        (
            first,
            second,
            metric,
            delong_test(
                outcome[:, place], scores[first][:, place], scores[second][:, place], level=level
            ),
        )
        for first, second in combinations(_names(scores), 2)
        for place, metric in enumerate(metrics)
    ]
    adjusted = holm([test.p_value for *_, test in tests])
    return tuple(AreaDifference(*test, p) for test, p in zip(tests, adjusted, strict=True))


def compare_answers(
    right: Mapping[str, npt.ArrayLike], *, mid_p: bool = False
) -> tuple[AnswerDifference, ...]:
    """Test all pairs by McNemar's method.

    Args:
        right: for each name, whether each answer is right; the same questions for all.
        mid_p: take the mid-p value instead of the exact one.

    Raises:
        ValueError: fewer than two sets of answers, or not to the same questions.
    """
    pairs = list(combinations(_names(right), 2))
    tests = [mcnemar(right[first], right[second], mid_p=mid_p) for first, second in pairs]
    adjusted = holm([test.p_value for test in tests])
    return tuple(
        AnswerDifference(first, second, test, test.p_value if p is None else p)
        for (first, second), test, p in zip(pairs, tests, adjusted, strict=True)
    )


def least_resamples(n_comparisons: int, *, level: float = LEVEL) -> int:
    """Return how many resamples a family needs so that a difference can be significant in it.

    The smallest possible p value is 2 / (1 + resamples).
    """
    return math.ceil(2 * n_comparisons / (1 - level) - 1 - ROUNDING * n_comparisons)


def bootstrap_p(differences: Floats) -> float:
    """Return the two-sided p value of resampled differences, all of them defined."""
    below = 1 + int((differences <= 0).sum())
    above = 1 + int((differences >= 0).sum())
    return min(1.0, 2 * min(below, above) / (1 + len(differences)))


def sentence(found: Difference, metric: str) -> str:
    """Say what can be said.

    Args:
        found: the comparison.
        metric: what to call the metric.
    """
    first, second = found.first, found.second
    if found.difference is None or found.low is None or found.high is None:
        return f"{first} and {second} cannot be compared on {metric}: {found.reason}."
    difference, low, high = found.difference, found.low, found.high
    told = found.verdict in (Verdict.FIRST, Verdict.SECOND)
    if told and difference < 0:
        difference, low, high = -difference, -high, -low
    places = _decimals(low, high)
    shown = [f"{_whole(value, places):,.{places}f}" for value in (difference, low, high)]
    interval = f"{_percent(found.level)} interval {shown[1]} to {shown[2]}; {_p_values(found)}"
    if not told:
        return (
            f"{first} and {second} cannot be told apart on {metric}"
            f" ({first} minus {second} is {shown[0]}, {interval})."
        )
    if found.verdict is Verdict.SECOND:
        first, second = second, first
    lower = "lower is better; " if found.metric in LOWER_IS_BETTER else ""
    return f"{first} is better than {second} on {metric} by {shown[0]} ({lower}{interval})."


def pair_sentences(
    found: Sequence[Difference], names: Mapping[str, str] | None = None
) -> list[str]:
    """Say what can be said of one pair; all that cannot be told apart is in one sentence.

    Args:
        found: the comparisons of the pair.
        names: what to call some metrics instead of their keys.
    """
    names = names or {}
    plain = [entry for entry in found if entry.verdict is Verdict.NEITHER and not entry.reason]
    if len(plain) == 1:
        plain = []
    said = [
        sentence(entry, names.get(entry.metric, entry.metric))
        for entry in found
        if entry not in plain
    ]
    if plain:
        *most, last = [names.get(entry.metric, entry.metric) for entry in plain]
        first, second = plain[0].first, plain[0].second
        said.append(f"{first} and {second} cannot be told apart on {', '.join(most)} and {last}.")
    return said


def answer_sentence(
    found: AnswerDifference, what: str = "accuracy", *, level: float = LEVEL
) -> str:
    """Say which of two is right more often, or that they cannot be told apart.

    Args:
        found: the comparison.
        what: what to call the share of right answers.
        level: 1 less the level of significance.
    """
    test = found.test
    counts = (
        f"{test.only_first:,} answers right only in {found.first}, {test.only_second:,} only in"
        f" {found.second}; p {shown_p(found.adjusted_p)} after Holm's correction"
    )
    if found.adjusted_p > 1 - level or test.only_first == test.only_second:
        return f"{found.first} and {found.second} cannot be told apart on {what} ({counts})."
    better, worse = found.first, found.second
    if test.only_first < test.only_second:
        better, worse = worse, better
    share = abs(test.only_first - test.only_second) / test.asked
    return f"{better} is better than {worse} on {what} by {share:.2g} ({counts})."


def shown_p(p: float) -> str:
    """Return a p value in words: two digits, and none below the smallest shown."""
    return f"below {SMALLEST_P_SHOWN}" if p < SMALLEST_P_SHOWN else f"{p:.2g}"


def _difference(
    first: str, second: str, one: Scores, two: Scores, place: int, level: float
) -> Difference:
    values = float(one.values[place]), float(two.values[place])
    between = one.samples[:, place] - two.samples[:, place]
    defined = between[np.isfinite(between)]
    found = Difference(
        first=first,
        second=second,
        metric=one.names[place],
        first_value=_or_none(values[0]),
        second_value=_or_none(values[1]),
        difference=None,
        low=None,
        high=None,
        p_value=None,
        adjusted_p=None,
        n_comparisons=0,
        n_undefined=len(between) - len(defined),
        verdict=Verdict.UNDEFINED,
        reason=None,
        level=level,
    )
    difference = values[0] - values[1]
    if not math.isfinite(difference):
        reason = one.reasons[place] or two.reasons[place] or "the metric is undefined"
        return replace(found, reason=reason)
    rounding = ROUNDING * max(1.0, abs(values[0]), abs(values[1]))
    difference = 0.0 if abs(difference) <= rounding else difference
    if not len(defined):
        reason = "the metric is undefined in every resample" if len(between) else "no resamples"
        return replace(found, difference=difference, reason=reason)
    defined = np.where(np.abs(defined) <= rounding, 0.0, defined)
    tail = 50 * (1 - level)
    low, high = np.percentile(defined, [tail, 100 - tail])
    return replace(
        found,
        difference=difference,
        low=float(low),
        high=float(high),
        p_value=bootstrap_p(defined),
    )


def _without_few(found: Difference, units: Mapping[str, int]) -> Difference:
    """Take the p value away where no sign test of so few units could be significant."""
    few = units.get(found.metric)
    if found.p_value is None or few is None or 2.0 ** (1 - few) <= 1 - found.level:
        return found
    what = "unit" if few == 1 else "units"
    return replace(found, p_value=None, reason=f"it rests on {few} independent {what} only")


def _judged(found: Difference) -> Difference:
    """Add the verdict: significant after the correction, and all of the interval on one side."""
    if found.difference is None or found.low is None or found.high is None:
        return found
    if found.adjusted_p is None or found.adjusted_p > 1 - found.level + ROUNDING:
        return replace(found, verdict=Verdict.NEITHER)
    higher = found.difference > 0 and found.low > 0
    lower = found.difference < 0 and found.high < 0
    if not (higher or lower):
        return replace(found, verdict=Verdict.NEITHER)
    first = higher != (found.metric in LOWER_IS_BETTER)
    return replace(found, verdict=Verdict.FIRST if first else Verdict.SECOND)


def _p_values(found: Difference) -> str:
    if found.p_value is None or found.adjusted_p is None:
        return f"no p value: {found.reason}"
    alone = f"p {shown_p(found.p_value)}"
    if found.n_comparisons < 2:
        return alone
    return (
        f"{alone}, {shown_p(found.adjusted_p)} after Holm's correction for"
        f" {found.n_comparisons:,} comparisons"
    )


def _decimals(low: float, high: float) -> int:
    """Return the decimals that give the interval's width two digits, and its ends one.

    Below 1 there are three at least, as areas and shares are written.
    """
    width = high - low
    places = USUAL_DECIMALS
    if width > 0:
        fewest = USUAL_DECIMALS if width < 1 else FEWEST_DECIMALS
        places = min(MOST_DECIMALS, max(fewest, 1 - math.floor(math.log10(width))))
    while places < MOST_DECIMALS and any(
        end != 0 and round(end, places) == 0 for end in (low, high)
    ):
        places += 1
    return places


def _whole(value: float, places: int) -> float:
    """Round, and make one zero of 0 and -0."""
    return round(value, places) + 0.0


def _percent(level: float) -> str:
    return f"{100 * level:g} %"


def _names(values: Mapping[str, object]) -> list[str]:
    if len(values) < 2:
        raise ValueError("it takes two to compare")
    return list(values)


def _columns(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
