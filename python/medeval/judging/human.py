"""Scores that people gave the same answers, read from a CSV file, and laid beside the judges'.

Two forms are read: a row per answer and rater with a column for each dimension, or a row per single
score with the columns `dimension` and `score`.

A judge is compared with the mean of the raters and, if there are several, with each of them by
itself. Only the latter may be held against the agreement of the raters among themselves, the
ceiling: a mean of several people is steadier than any one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.files import read_text
from medeval.judging.agreement import agreement_of, score_array
from medeval.judging.prompt import Subject
from medeval.judging.results import JudgingResults
from medeval.judging.rubric import Rubric
from medeval.judging.verdict import number_in
from medeval.models.rows import rows_from_csv

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

# An answer's id has the name that one of a run's files gives it.
ID_COLUMNS = ("id", "example_id", "item")
SAMPLE, RATER, DIMENSION, SCORE, COMMENT = "sample", "rater", "dimension", "score", "comment"
_LONGEST_SHOWN = 12
REWARD = "reward"

# Id and sample.
Answer = tuple[str, int]


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
        import numpy as np

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
    return HumanRatings(scores, raters, answers, path, hashlib.sha256(text.encode()).hexdigest())


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
    import numpy as np

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
        for who, one in [*zip(judges, own.T, strict=True), ("the jury's mean", jury)]:
            if one is jury and len(judges) == 1:
                continue
            whose = "raters' mean" if len(raters) > 1 else "rater"
            compared.append((who, whose, np.column_stack([one, mean]), [(0, 1)]))
            if len(raters) > 1:
                pairs = [(0, n + 1) for n in raters]
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
