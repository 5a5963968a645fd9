"""Scores that people gave the same answers, read from a CSV file, and laid beside the judges'.

Two forms are read: a row per answer and rater with a column for each dimension, or a row per single
score with the columns `dimension` and `score`.

A judge is compared with the mean of the raters and, if there are several, with each of them by
itself. Only the latter may be held against the agreement of the raters among themselves, the
ceiling: a mean of several people is steadier than any one of them.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
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
            name, sample = self.answers[0]
            raise UserError(
                f"{self.place}: none of the {len(self.answers):,} rated answers is of this run (the"
                f" first is {name!r}, sample {sample}). The ids are those under `item` in the run's"
                " responses.jsonl."
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
        UserError: naming the file, and the line and column that are wrong.
    """
    text = read_text(path)
    rows = _rows(text, path)
    place, columns = next(rows, (f"{path}, line 1", []))
    is_long = DIMENSION in columns and DIMENSION not in rubric.names
    if fault := _fault_of_header(columns, (DIMENSION, SCORE) if is_long else rubric.names):
        raise UserError(f"{place}: {fault}")
    scores: dict[tuple[Answer, str, str], float] = {}
    for place, cells in rows:
        if len(cells) != len(columns):
            raise UserError(f"{place}: {len(cells)} cells under {len(columns)} columns.")
        row = dict(zip(columns, cells, strict=True))
        (id_column,) = row.keys() & set(ID_COLUMNS)
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
                told = f"is no score from {rubric.low} to {rubric.high}. Leave the cell empty where"
                raise _fault(place, column, f"{told} there is none.", row[column])
            rating = (name, int(sample)), rater, dimension
            if rating in scores:
                told = f"a second score of {name!r} (sample {int(sample)}) in {dimension} by the"
                raise _fault(place, column, f"{told} same rater.")
            scores[rating] = score
    if not scores:
        raise UserError(f"{path} holds no scores.")
    answers, raters, _ = (tuple(dict.fromkeys(part)) for part in zip(*scores, strict=True))
    return HumanRatings(scores, raters, answers, path, hashlib.sha256(text.encode()).hexdigest())


def _rows(text: str, path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the place, with the number of its last line, and the cells of each row with any."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            place = f"{path}, line {reader.line_num}"
            if any("\0" in cell for cell in cells):
                raise UserError(f"{place}: a character of code 0. Save the file as CSV in UTF-8.")
            if any(cell.strip() for cell in cells):
                yield place, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: {error}.") from None


def _fault_of_header(columns: Sequence[str], scores: Sequence[str]) -> str:
    """Return which column is missing, comes twice or has no meaning; empty if none does."""
    ids = [name for name in ID_COLUMNS if name in columns]
    known = (*ids, SAMPLE, RATER, COMMENT, *scores)
    if len(ids) != 1:
        told = f"both {' and '.join(ids)}" if ids else "no column with the ids of the answers"
        return f"{told}. Call that column one of {', '.join(ID_COLUMNS)}."
    for number, name in enumerate(columns):
        if name in columns[:number]:
            return f"there are two columns {name!r}."
        if name not in known:
            return f"the column {name!r} has no meaning here. There may be {', '.join(known)}."
    if scores == (DIMENSION, SCORE) and SCORE not in columns:
        return f"there is a column {DIMENSION}, but none called {SCORE}."
    if not set(columns) & set(scores):
        names = ", ".join(scores)
        return f"no column with scores. There may be {names}, or {DIMENSION} and {SCORE}."
    return ""


def _fault(place: str, column: str, told: str, cell: str | None = None) -> UserError:
    """Return the error of a cell; a longer one is not shown: a text may have slipped into it."""
    shown = "" if cell is None else f"{cell!r} "
    if cell is not None and len(cell) > _LONGEST_SHOWN:
        shown = "what stands there "
    return UserError(f"{place}, column {column}: {shown}{told}")


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

    answers, names = results.subjects, results.prompt.rubric.names
    matched = human.count_of(each.subject for each in answers)
    ids = [(each.subject.id, each.subject.sample) for each in answers]
    of_jury = [[each.scores.get(name) for each in answers] for name in names]
    # Scores by dimension, and their mean, NaN where one of them is missing.
    judged, rated, pooled = (
        [*own, np.mean(own, axis=0)]
        for own in (
            [score_array(results, name)[:, :, 0] for name in names],
            [human.matrix(ids, name) for name in names],
            np.array(of_jury, np.float64),
        )
    )
    several, raters = len(human.raters) > 1, range(len(human.raters))
    rows: list[dict[str, Any]] = []
    for name, own, people, jury in zip((*names, REWARD), judged, rated, pooled, strict=True):
        count = np.isfinite(people).sum(axis=1)
        mean = np.nansum(people, axis=1) / np.where(count, count, nan)
        scores = dict(zip((judge.judge for judge in results.judges), own.T, strict=True))
        scores |= {"the jury's mean": jury} if len(scores) > 1 else {}
        compared: list[tuple[str, str, Floats, Any]] = []
        for who, one in scores.items():
            with_mean = "raters' mean" if several else "rater"
            compared.append((who, with_mean, np.column_stack([one, mean]), [(0, 1)]))
            with_each = np.column_stack([one, people])
            if several:
                compared.append((who, "each rater", with_each, [(0, n + 1) for n in raters]))
        if several:
            compared.append(("each rater", "other raters", people, [*combinations(raters, 2)]))
        for who, other, columns, pairs in compared:
            about = {"criterion": name, "who": who, "with": other}
            rows.append({**about, **agreement_of(columns, pairs, results.seed)})
    return {
        "sha256": human.sha256,
        "scores": len(human.scores),
        "raters": len(raters),
        "answers_rated": len(human.answers),
        "answers_rated_and_of_the_run": matched,
        "answers_not_rated": len(answers) - matched,
        "agreement": rows,
    }
