"""Which of several systems is better, with an interval, a p value and a plain sentence.

The comparison is paired: systems are scored on the same resamples of the same rows, so what is
resampled is the difference of their metrics. From it comes the percentile interval of the
difference (B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). The
two-sided p value is

* of metrics that are no ratio of sums over rows (`compare`): twice the smaller of (1 + resamples
  with a difference of at most 0) and (1 + resamples with a difference of at least 0), divided by
  (1 + resamples), and at most 1: the level at which the interval just reaches 0 (A. C. Davison and
  D. V. Hinkley, Bootstrap Methods and their Application, 1997, section 4.2);
* of ratios of sums (`paired_difference`): how often a difference as large appears when the two
  scores of a unit are exchanged at random (E. W. Noreen, Computer-Intensive Methods for Testing
  Hypotheses, 1989).

The family of comparisons is all pairs of the systems given, times all metrics given; Holm's
correction is over all of it. A difference that is not significant after the correction is not said
to be zero: the two cannot be told apart on these data. Resamples of very few rows are too much
alike, and would call any difference significant: a metric has no p value where it rests on so few
independent units that even the sign test, with all of them on one side, could not be significant.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, count
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.models.benchmark_report import GOLD, EvaluationResult
from medeval.models.scores import LEVEL
from medeval.scoring.binary import ratio
from medeval.scoring.resample import Floats, Scores, draw_rows
from medeval.scoring.table import percentiles

# In the metadata of a result: numerator and denominator of each item, of metrics that are the ratio
# of their sums.
RATIOS = "item_ratios"
BATCH = 256

# Equal in exact arithmetic, apart by rounding: relative to the values, absolute below 1.
ROUNDING = 1e-12
FEWEST_DECIMALS, USUAL_DECIMALS, MOST_DECIMALS = 1, 3, 6
SMALLEST_P_SHOWN = 0.0001


class Verdict(StrEnum):
    """What can be said of two systems by one metric."""

    FIRST = "first is better"
    SECOND = "second is better"
    FIRST_HIGHER = "first is higher"
    SECOND_HIGHER = "second is higher"
    NEITHER = "cannot be told apart"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Difference:
    """Two systems by one metric.

    Attributes:
        first: name of the first system.
        second: name of the second.
        metric: name of the metric.
        first_value: the metric of the first; None if undefined, as below.
        second_value: the metric of the second.
        difference: first value minus second value.
        low: lower end of the difference's interval.
        high: upper end of the difference's interval.
        p_value: two-sided, of this comparison alone.
        adjusted_p: after Holm's correction over the family.
        n: how many items both have a score for; None where that is the same of all metrics.
        n_comparisons: size of the family: comparisons that have a p value.
        n_undefined: resamples that are left out, since the metric of one of the two is undefined.
        direction: which way is better, `higher`, `lower` or `neither`.
        verdict: what can be said.
        reason: why there is no difference, no interval or no p value.
        level: coverage of the interval; 1 less the level of significance.
    """

    first: str
    second: str
    metric: str
    first_value: float | None
    second_value: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    n: int | None = None
    n_comparisons: int = 0
    n_undefined: int = 0
    direction: str = "higher"
    verdict: Verdict = Verdict.UNDEFINED
    reason: str | None = None
    level: float = LEVEL


def compare(
    scores: Mapping[str, Scores],
    metrics: Sequence[str] | None = None,
    *,
    units: Mapping[str, int] | None = None,
    lower_is_better: Collection[str] = (),
) -> tuple[Difference, ...]:
    """Compare all pairs of systems by each metric.

    Args:
        scores: of each of two systems or more by its name, all by the same metrics, with the same
            resampling of the same rows.
        metrics: some of their metrics; None takes all.
        units: on how many independent rows or clusters a metric rests, those of the rarer class
            if it needs both; a metric that is not named has enough.
        lower_is_better: metrics that are errors.

    Returns:
        Pair by pair in the order given, and within a pair metric by metric.
    """
    found = []
    for first, second in combinations(scores, 2):
        for metric in next(iter(scores.values())).names if metrics is None else metrics:
            difference = _difference(
                metric, scores[first], scores[second], (units or {}).get(metric)
            )
            direction = "lower" if metric in lower_is_better else "higher"
            found.append(replace(difference, first=first, second=second, direction=direction))
    return corrected(found)


def corrected(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Return the comparisons of one family with their corrected p values and verdicts."""
    adjusted = holm([entry.p_value for entry in differences])
    made = sum(p is not None for p in adjusted)
    return tuple(
        replace(entry, adjusted_p=p, n_comparisons=made, verdict=_verdict(entry, p))
        for entry, p in zip(differences, adjusted, strict=True)
    )


def paired_difference(
    metric: str,
    first: Sequence[Sequence[float] | None],
    second: Sequence[Sequence[float] | None],
    n: int | None = None,
    *,
    draws: int,
    seed: int = 0,
    direction: str = "higher",
) -> Difference:
    """Compare two ratios of sums over the same units; names and corrections are left open.

    Args:
        metric: its name.
        first: numerator and denominator of each unit in the first run, None where it has no score:
            the unit is left out. The ratio is 0 where denominators sum to 0.
        second: the same of the second run, aligned.
        n: how many items there are in the units; None where each unit is one.
        draws: how many resamples, and how many random exchanges.
        seed: of both.
        direction: which way is better, `higher`, `lower` or `neither`.

    Raises:
        UserError: there is no unit that both have a score for, or no resample.
    """
    pairs = [
        (one, two)
        for one, two in zip(first, second, strict=True)
        if one is not None and two is not None
    ]
    if not pairs:
        raise UserError(f"{metric}: there is no item that both runs have a score for.")
    if draws < 1:
        raise UserError("a comparison needs resamples: --n-iters 1 or more.")
    one, two = (np.array(rows, dtype=np.float64) for rows in zip(*pairs, strict=True))
    value, other = (float(_ratio(rows.sum(axis=0))) for rows in (one, two))
    difference = value - other
    draw = draw_rows(seed, len(one))
    random = np.random.default_rng([seed, 1])
    between, reached = [], 0
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        weights = draw(size)
        between.append(_ratio(weights @ one) - _ratio(weights @ two))
        stay = random.integers(0, 2, size=(size, len(one)))
        mixed = _ratio(stay @ one + (1 - stay) @ two) - _ratio(stay @ two + (1 - stay) @ one)
        reached += int((np.abs(mixed) >= abs(difference) - ROUNDING).sum())
    low, high, _ = percentiles(np.concatenate(between))
    p_value = (1 + reached) / (1 + draws)
    return Difference(
        "", "", metric, value, other, difference, low, high, p_value,
        n=n or len(pairs), direction=direction,
    )  # fmt: skip


def shared_items(first: EvaluationResult, second: EvaluationResult) -> list[tuple[int, int]]:
    """Return the places of each item in both results, in the order of the first.

    What is called alike and comes several times, as samples do, is joined by its number.
    """
    places = []
    for result in (first, second):
        numbers = defaultdict[str, Iterator[int]](count)
        ids = enumerate(result.item_ids())
        places.append({(name, next(numbers[name])): place for place, name in ids})
    one, two = places
    return [(place, two[key]) for key, place in one.items() if key in two]


def paired_differences(
    first: EvaluationResult,
    second: EvaluationResult,
    draws: int,
    seed: int,
    directions: Mapping[str, str] | None = None,
    metrics: Collection[str] | None = None,
) -> list[Difference]:
    """Compare means and ratios of item scores of two results, on the same resamples of the items.

    Args:
        first: of one run.
        second: of another.
        draws: how many resamples.
        seed: of these.
        directions: which way metrics are better that are no score: `lower` or `neither`.
        metrics: some of the metrics; None takes all.

    Raises:
        UserError: the results have no item in common, or other gold answers to items that are
            called alike.
    """
    one, two = _ratios(first), _ratios(second)
    places = shared_items(first, second)
    gold, other = (result.metadata.get(GOLD) or () for result in (first, second))
    if gold and other and any(gold[here] != other[there] for here, there in places):
        raise UserError("The runs are of other data: the same items have other gold answers.")
    drawn: dict[str, Any] = {"draws": draws, "seed": seed}
    return [
        paired_difference(
            name,
            [one[name][place] for place, _ in places],
            [two[name][place] for _, place in places],
            direction=(directions or {}).get(name, "higher"),
            **drawn,
        )
        for name in one
        if name in two and name in (metrics or one)
    ]


def _ratios(result: EvaluationResult) -> dict[str, Sequence[Any]]:
    """Return numerator and denominator of each item by metric."""
    means = {name: of_means(scores) for name, scores in (result.item_scores or {}).items()}
    return {**means, **(result.metadata.get(RATIOS) or {})}


def of_means(scores: Iterable[float | None]) -> list[tuple[float, float] | None]:
    """Return item scores as ratios of which `paired_difference` compares the means."""
    return [None if score is None else (score, 1.0) for score in scores]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return adjusted p values in the order given (S. Holm, Scand. J. Stat. 6 (1979) 65-70).

    It bounds the chance of even one false finding in the family, whatever the dependence between
    the tests. With m tests made, the i-th smallest p value (from 0) is multiplied by m - i; no
    adjusted value is below the one before it, and none is above 1.

    Args:
        p_values: None where no test was made; such a place stays None and does not count in m.
    """
    made = [(p, place) for place, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(made)):
        highest = max(highest, min(1.0, p * (len(made) - rank)))
        adjusted[place] = highest
    return adjusted


def family(tests: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tests of one family with their corrected p values.

    Args:
        tests: of `delong_test` or `mcnemar`, by the names of two systems and of the metric.
    """
    adjusted = holm([test["p_value"] for test in tests.values()])
    return [
        {"first": first, "second": second, "metric": metric, **test, "adjusted_p": p}
        for ((first, second, metric), test), p in zip(tests.items(), adjusted, strict=True)
    ]


def least_resamples(n_comparisons: int) -> int:
    """Return how many resamples a family needs so that a difference can be significant in it.

    The smallest possible p value of `compare` is 2 / (1 + resamples).
    """
    return math.ceil(2 * n_comparisons / (1 - LEVEL) - 1 - ROUNDING * n_comparisons)


def bootstrap_p(differences: Floats) -> float:
    """Return the two-sided p value of resampled differences, all of them defined."""
    below = 1 + int((differences <= 0).sum())
    above = 1 + int((differences >= 0).sum())
    return min(1.0, 2 * min(below, above) / (1 + len(differences)))


def sentence(found: Difference, metric: str | None = None) -> str:
    """Say what can be said; `metric` is what to call the metric, if not by its key."""
    metric = metric or found.metric
    first, second = found.first, found.second
    if found.difference is None or found.low is None or found.high is None:
        return f"{first} and {second} cannot be compared on {metric}: {found.reason}."
    difference, low, high = found.difference, found.low, found.high
    told = found.verdict not in (Verdict.NEITHER, Verdict.UNDEFINED)
    if told and difference < 0:
        difference, low, high = -difference, -high, -low
    places = _decimals(low, high)
    # Rounded; zero is added to make one zero of 0 and -0.
    shown = [f"{round(value, places) + 0.0:,.{places}f}" for value in (difference, low, high)]
    p = f"no p value: {found.reason}"
    if found.p_value is not None and found.adjusted_p is not None:
        p = f"p {shown_p(found.p_value)}"
        if found.n_comparisons > 1:
            p += f", {shown_p(found.adjusted_p)} after Holm's correction for"
            p += f" {found.n_comparisons:,} comparisons"
    interval = f"{100 * found.level:g} % interval {shown[1]} to {shown[2]}; {p}"
    if not told:
        return (
            f"{first} and {second} cannot be told apart on {metric}"
            f" ({first} minus {second} is {shown[0]}, {interval})."
        )
    if found.verdict in (Verdict.SECOND, Verdict.SECOND_HIGHER):
        first, second = second, first
    lower = "lower is better; " if found.direction == "lower" else ""
    word = "higher" if found.direction == "neither" else "better"
    return f"{first} is {word} than {second} on {metric} by {shown[0]} ({lower}{interval})."


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
    said = [sentence(entry, names.get(entry.metric)) for entry in found if entry not in plain]
    if plain:
        *most, last = [names.get(entry.metric, entry.metric) for entry in plain]
        first, second = plain[0].first, plain[0].second
        said.append(f"{first} and {second} cannot be told apart on {', '.join(most)} and {last}.")
    return said


def answer_sentence(found: Mapping[str, Any]) -> str:
    """Say which of two is right more often, by McNemar's test of `family`."""
    better, worse, metric = found["first"], found["second"], found["metric"]
    only_first, only_second, p = found["only_first"], found["only_second"], found["adjusted_p"]
    counts = (
        f"{only_first:,} answers right only in {better}, {only_second:,} only in"
        f" {worse}; p {shown_p(p)} after Holm's correction"
    )
    if p > 1 - LEVEL or only_first == only_second:
        return f"{better} and {worse} cannot be told apart on {metric} ({counts})."
    if only_first < only_second:
        better, worse = worse, better
    asked = only_first + only_second + found["both_right"] + found["both_wrong"]
    share = abs(only_first - only_second) / asked
    return f"{better} is better than {worse} on {metric} by {share:.2g} ({counts})."


def shown_p(p: float) -> str:
    """Return a p value in words: two digits, and none below the smallest shown."""
    return f"below {SMALLEST_P_SHOWN}" if p < SMALLEST_P_SHOWN else f"{p:.2g}"


def _difference(metric: str, one: Scores, two: Scores, units: int | None) -> Difference:
    place = one.names.index(metric)
    values = float(one.values[place]), float(two.values[place])
    between = one.samples[:, place] - two.samples[:, place]
    defined = between[np.isfinite(between)]
    first, second = (value if math.isfinite(value) else None for value in values)
    found = Difference("", "", metric, first, second, n_undefined=len(between) - len(defined))
    if first is None or second is None:
        reason = one.reasons[place] or two.reasons[place] or "the metric is undefined"
        return replace(found, reason=reason)
    rounding = ROUNDING * max(1.0, abs(first), abs(second))
    difference = 0.0 if abs(first - second) <= rounding else first - second
    if not len(defined):
        reason = "the metric is undefined in every resample" if len(between) else "no resamples"
        return replace(found, difference=difference, reason=reason)
    defined = np.where(np.abs(defined) <= rounding, 0.0, defined)
    low, high, _ = percentiles(defined)
    found = replace(found, difference=difference, low=low, high=high)
    # No p value where not even a sign test of so few units could be significant.
    if units is not None and 2.0 ** (1 - units) > 1 - LEVEL:
        what = "unit" if units == 1 else "units"
        return replace(found, reason=f"it rests on {units} independent {what} only")
    return replace(found, p_value=bootstrap_p(defined))


def _verdict(found: Difference, adjusted_p: float | None) -> Verdict:
    """Return a side if it is significant after the correction and has all of the interval."""
    if found.difference is None or found.low is None or found.high is None:
        return Verdict.UNDEFINED
    is_higher = found.difference > 0 and found.low > 0
    is_lower = found.difference < 0 and found.high < 0
    is_significant = adjusted_p is not None and adjusted_p <= 1 - LEVEL + ROUNDING
    if not is_significant or is_higher == is_lower:
        return Verdict.NEITHER
    if found.direction == "neither":
        return Verdict.FIRST_HIGHER if is_higher else Verdict.SECOND_HIGHER
    return Verdict.FIRST if is_higher == (found.direction == "higher") else Verdict.SECOND


def _ratio(sums: Floats) -> Floats:
    return np.nan_to_num(ratio(sums[..., 0], sums[..., 1]))


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
