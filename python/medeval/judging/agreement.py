"""How far raters of the same answers agree: judges with each other, and judges with people.

All statistics are written as sums over items, so that a resample is a row of weights: how often
each item was drawn. Sources: weighted kappa is a function of means and variances (J. L. Fleiss and
J. Cohen 1973, Educational and Psychological Measurement 33), so scores between the whole numbers
need no categories of their own; ICC(2,1), how far one rater of many may stand for the others,
levels included, and ICC(3,k), how far the mean of these raters ranks the items alike (P. E. Shrout
and J. L. Fleiss 1979, Psychological Bulletin 86:420-428); Krippendorff's alpha for ordinal scores
with gaps (K. Krippendorff, Content Analysis, 4th ed. 2018, chapter 12). Own, since the packages
krippendorff and pingouin are under the GPL, and scikit-learn's kappa takes no fractions.

Scores of people are read from a CSV file, in one of two forms: a row per answer and rater with a
column for each dimension, or a row per single score with the columns `dimension` and `score`. A
judge is compared with the mean of the raters and, if there are several, with each of them by
itself. Only the latter may be held against the agreement of the raters among themselves, the
ceiling: a mean of several people is steadier than any one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.files import read_text
from medeval.judging.prompt import Subject
from medeval.judging.results import JudgingResults
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import number_in
from medeval.models.text_files import rows_from_csv
from medeval.scoring.binary import ratio
from medeval.scoring.resample import Floats
from medeval.scoring.table import row_weights, sampled_interval
from medeval.text import sha256_of

STATISTICS = ("exact", "within_1", "quadratic_kappa", "krippendorff_alpha", "icc_2_1", "icc_3_k")
# Why a statistic has no value.
_NO_VALUE = "too few answers have scores of both or all, or all scores are the same"
# An answer's id has the name that one of a run's files gives it.
ID_COLUMNS = ("id", "example_id", "item")
SAMPLE, RATER, DIMENSION, SCORE, COMMENT = "sample", "rater", "dimension", "score", "comment"
_LONGEST_SHOWN = 12
REWARD = "reward"

# Id and sample.
Answer = tuple[str, int]
# Means of several scores that are equal may differ in their last digit.
ROUNDING = 1e-9
# NaN where the divisor is what is left of a variance that is 0 after it was calculated with floats.
_ratio = partial(ratio, least=1e-12)


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
    has_score = np.isfinite(scores)
    is_shared = np.any([has_score[:, own].sum(axis=1) >= 2 for own in groups], axis=0)
    is_whole = np.any([has_score[:, own].all(axis=1) for own in groups], axis=0)
    rows, n = scores[is_shared], int(is_shared.sum())
    rows, weights = row_weights(rows, seed) if n else (rows, np.zeros((1, 0), np.int64))
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


@dataclass(frozen=True)
class HumanRatings:
    """All scores of a file; at least one.

    Attributes:
        scores: by answer, rater and dimension, in the order of the file. The rater is empty if the
            file does not say; a fraction may be what several people agreed on.
        raters: their names, in the order in which they first come.
        answers: those that were rated, likewise.
        place: the file.
        sha256: of its text.
    """

    scores: Mapping[tuple[Answer, str, str], float]
    raters: tuple[str, ...]
    answers: tuple[Answer, ...]
    place: Path
    sha256: str

    def count_of(self, subjects: Iterable[Subject]) -> int:
        """Return how many of the rated answers are among the subjects.

        Raises:
            UserError: none is.
        """
        found = {(subject.id, subject.sample) for subject in subjects} & set(self.answers)
        if not found:
            raise UserError(
                f"{self.place}: none of the {len(self.answers):,} rated answers is of this run (the"
                f" first is {self.answers[0][0]!r}). Take ids under `item` in responses.jsonl."
            )
        return len(found)

    def matrix(self, answers: Sequence[Answer], dimension: str) -> Floats:
        """Return the scores of a dimension, shape (answers, raters), NaN where there is none."""
        keys = [[(answer, rater, dimension) for rater in self.raters] for answer in answers]
        scores = [[self.scores.get(key, nan) for key in row] for row in keys]
        return np.array(scores, np.float64).reshape(len(answers), len(self.raters))


def read_human_ratings(path: Path, rubric: Rubric) -> HumanRatings:
    """Read a file of ratings.

    A cell without a score is a gap. A column `comment` is left alone; any other that has no meaning
    here is an error, since it may be the name of a dimension with a slip in it.

    Args:
        path: a CSV file in UTF-8 with a header.
        rubric: whose dimensions and scale count.

    Raises:
        UserError: naming the file, and the row and column that are wrong.
    """
    text = read_text(path)
    try:
        table = rows_from_csv(text)
    except ValueError as error:
        raise UserError(f"{path}: {error}.") from None
    rows = [{name.strip(): cell.strip() for name, cell in row.items()} for row in table]
    columns = list(rows[0]) if rows else []
    is_long = DIMENSION in columns and DIMENSION not in rubric.names
    id_column = _checked_header(path, columns, (DIMENSION, SCORE) if is_long else rubric.names)
    scores: dict[tuple[Answer, str, str], float] = {}
    for number, row in enumerate(rows, start=1):
        place = f"{path}, row {number} below the header"
        if not any(row.values()):
            continue
        name, sample, rater = row[id_column], row.get(SAMPLE, "") or "0", row.get(RATER, "")
        if not name:
            raise _fault(place, id_column, "there is no id.")
        if not (sample.isascii() and sample.isdigit()):
            raise _fault(place, SAMPLE, "is no number of a sample.", sample)
        if is_long and row[DIMENSION] not in rubric.names:
            raise _fault(place, DIMENSION, f"is none of {', '.join(rubric.names)}.", row[DIMENSION])
        given = {row[DIMENSION]: SCORE} if is_long else {n: n for n in rubric.names if n in row}
        for dimension, column in given.items():
            if not row[column]:
                continue
            score = number_in(row[column])
            if score is None or not rubric.low <= score <= rubric.high:
                told = f"is no score from {rubric.low} to {rubric.high}; an empty cell is a gap."
                raise _fault(place, column, told, row[column])
            rating = (name, int(sample)), rater, dimension
            if rating in scores:
                raise _fault(place, column, f"a second score of {name!r} by the same rater.")
            scores[rating] = score
    if not scores:
        raise UserError(f"{path} holds no scores.")
    answers, raters, _ = (tuple(dict.fromkeys(part)) for part in zip(*scores, strict=True))
    return HumanRatings(scores, raters, answers, path, sha256_of(text))


def _checked_header(path: Path, columns: Sequence[str], scores: Sequence[str]) -> str:
    """Return the column with the ids.

    Raises:
        UserError: a column is missing or has no meaning.
    """
    ids = [name for name in ID_COLUMNS if name in columns]
    known = (*ids, SAMPLE, RATER, COMMENT, *scores)
    strange = next((name for name in columns if name not in known), "")
    if len(ids) != 1:
        told = f"both {' and '.join(ids)}" if ids else "no column with the ids of the answers"
        told += f". Call that column one of {', '.join(ID_COLUMNS)}"
    elif strange:
        told = f"the column {strange!r} has no meaning here. There may be {', '.join(known)}"
    elif not set(columns) & {*scores} - {DIMENSION}:
        told = (
            f"no column with scores. There may be {', '.join(scores)}, or {DIMENSION} and {SCORE}"
        )
    else:
        return ids[0]
    raise UserError(f"{path}: {told}.")


def _fault(place: str, column: str, told: str, cell: str = "") -> UserError:
    """Return the error of a cell; a longer one is not shown: a text may have slipped into it."""
    shown = f"{cell!r} " if len(cell) <= _LONGEST_SHOWN else "what stands there "
    return UserError(f"{place}, column {column}: {shown if cell else ''}{told}")


def human_agreement(results: JudgingResults, human: HumanRatings) -> dict[str, Any]:
    """Return the agreement of each judge, of the jury's mean and of the raters, by criterion.

    The reward is compared as the mean of an answer's dimensions, in points of the scale, where all
    of them were scored. Of several judgments by one judge the first counts; the jury's mean is over
    all of them. A report does not name people.

    Args:
        results: of the judges.
        human: of the raters.

    Returns:
        Counts of what was rated and judged, and under `agreement` rows of `criterion`, `who`,
        `with` and what `agreement_of` returns: each judge, and of several their mean, with the
        mean of the raters and, if there are several, with each; and these with the others, which is
        the ceiling for a judge with each rater.

    Raises:
        UserError: none of the answers was rated.
    """

    def with_reward(scores: Any) -> Floats:
        """Return scores by dimension, and behind them their mean; NaN where one is missing."""
        own = np.array(scores, np.float64)
        return np.concatenate([own, own.mean(axis=0, keepdims=True)])

    answers, names = results.subjects, results.prompt.rubric.names
    matched = human.count_of(each.subject for each in answers)
    ids = [(each.subject.id, each.subject.sample) for each in answers]
    judged = with_reward([score_array(results, name)[:, :, 0] for name in names])
    pooled = with_reward([[each.scores.get(name) for each in answers] for name in names])
    rated = with_reward([human.matrix(ids, name) for name in names])
    judges, raters = [judge.judge for judge in results.judges], range(len(human.raters))
    rows: list[dict[str, Any]] = []
    for name, own, people, jury in zip((*names, REWARD), judged, rated, pooled, strict=True):
        count = np.isfinite(people).sum(axis=1)
        mean = np.nansum(people, axis=1) / np.where(count, count, nan)
        compared: list[tuple[str, str, Floats, Any]] = []
        of_jury = [("the jury's mean", jury)] * (len(judges) > 1)
        whose, pairs = "raters' mean" if len(raters) > 1 else "rater", [(0, n + 1) for n in raters]
        for who, one in [*zip(judges, own.T, strict=True), *of_jury]:
            compared.append((who, whose, np.column_stack([one, mean]), [(0, 1)]))
            if len(raters) > 1:
                compared.append((who, "each rater", np.column_stack([one, people]), pairs))
        if len(raters) > 1:
            compared.append(("each rater", "other raters", people, [*combinations(raters, 2)]))
        rows += [
            {"criterion": name, "who": who, "with": other}
            | agreement_of(scores, pairs, results.prompt.seed)
            for who, other, scores, pairs in compared
        ]
    return {
        "sha256": human.sha256,
        "scores": len(human.scores),
        "raters": len(raters),
        "answers_rated": len(human.answers),
        "answers_rated_and_of_the_run": matched,
        "answers_not_rated": len(answers) - matched,
        "agreement": rows,
    }
