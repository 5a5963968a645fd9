"""Scores that people gave the same answers, read from a CSV file and laid beside the answers.

Two forms are read: a row per answer and rater with a column for each dimension, or a row per single
score with the columns `dimension` and `score`.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from medeval.errors import UserError
from medeval.judging.rubric import Rubric
from medeval.judging.subjects import Subject
from medeval.judging.verdicts import number_in
from medeval.models.text_files import read_text

if TYPE_CHECKING:
    from medeval.scoring.resample import Floats

# An answer's id has the name that one of a run's files gives it.
ID_COLUMNS = ("id", "example_id", "item")
SAMPLE, RATER, DIMENSION, SCORE, COMMENT = "sample", "rater", "dimension", "score", "comment"
_LONGEST_SHOWN = 12

Answer = tuple[str, int]


class Rating(NamedTuple):
    """One score by one person.

    Attributes:
        answer: id and sample.
        rater: who gave it; empty if the file does not say.
        dimension: of the rubric.
        score: on its scale; a fraction may be what several people agreed on.
    """

    answer: Answer
    rater: str
    dimension: str
    score: float


@dataclass(frozen=True)
class HumanRatings:
    """All scores of a file; at least one.

    Attributes:
        ratings: in the order of the file.
        place: the file.
        sha256: of its text.
    """

    ratings: tuple[Rating, ...]
    place: Path
    sha256: str

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """Their names, in the order in which they first come."""
        return tuple(dict.fromkeys(rating.rater for rating in self.ratings))

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that were rated, in the order in which they first come."""
        return tuple(dict.fromkeys(rating.answer for rating in self.ratings))

    def count_of(self, subjects: Iterable[Subject]) -> int:
        """Return how many of the rated answers are among the subjects.

        Raises:
            UserError: none is.
        """
        known = {(subject.id, subject.sample) for subject in subjects}
        found = sum(answer in known for answer in self.answers)
        if not found:
            name, sample = self.answers[0]
            raise UserError(
                f"{self.place}: none of the {len(self.answers):,} rated answers is of this run (the"
                f" first is {name!r}, sample {sample}). The ids are those under `item` in the run's"
                " responses.jsonl."
            )
        return found

    def matrix(self, answers: Sequence[Answer], dimension: str) -> Floats:
        """Return the scores of a dimension, shape (answers, raters), NaN where there is none."""
        import numpy as np

        scores = np.full((len(answers), len(self.raters)), np.nan)
        rows = {answer: row for row, answer in enumerate(answers)}
        for rating in self.ratings:
            if rating.dimension == dimension and rating.answer in rows:
                scores[rows[rating.answer], self.raters.index(rating.rater)] = rating.score
        return scores


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
    try:
        text = read_text(path)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from None
    except ValueError as error:
        raise UserError(f"{error}.") from None
    lines = _lines(text, path)
    _, header = next(lines, (1, []))
    form = _form([name.strip() for name in header], path, rubric)
    ratings: dict[tuple[Answer, str, str], Rating] = {}
    for line, cells in lines:
        place = f"{path}, line {line}"
        if any("\0" in cell for cell in cells):
            raise UserError(f"{place}: a character of code 0. Save the file as CSV in UTF-8.")
        if len(cells) != len(header):
            raise UserError(f"{place}: {len(cells)} cells under {len(header)} columns.")
        row = dict(zip(form.columns, (cell.strip() for cell in cells), strict=True))
        for column, rating in form.ratings(row, place):
            name = (rating.answer, rating.rater, rating.dimension)
            if name in ratings:
                raise UserError(
                    f"{place}, column {column}: a second score of {rating.answer[0]!r} (sample"
                    f" {rating.answer[1]}) in {rating.dimension} by the same rater."
                )
            ratings[name] = rating
    if not ratings:
        raise UserError(f"{path} holds no scores.")
    return HumanRatings(tuple(ratings.values()), path, hashlib.sha256(text.encode()).hexdigest())


def _lines(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row that is not empty, with the number of its last line."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: {error}.") from None


@dataclass(frozen=True)
class _Form:
    """Where in a row of a file what stands.

    Attributes:
        columns: of the file.
        id_column: with the answers' ids.
        is_long: a row is a single score.
        rubric: whose dimensions and scale count.
    """

    columns: Sequence[str]
    id_column: str
    is_long: bool
    rubric: Rubric

    def ratings(self, row: Mapping[str, str], place: str) -> Iterator[tuple[str, Rating]]:
        """Yield the scores of a row, each with the column that it stands in."""
        if not row[self.id_column]:
            raise UserError(f"{place}, column {self.id_column}: there is no id.")
        answer = (row[self.id_column], _sample(row.get(SAMPLE, ""), f"{place}, column {SAMPLE}"))
        if self.is_long:
            if row[DIMENSION] not in self.rubric.names:
                raise UserError(
                    f"{place}, column {DIMENSION}: {_cell(row[DIMENSION])} is none of"
                    f" {', '.join(self.rubric.names)}."
                )
            given = {row[DIMENSION]: SCORE}
        else:
            given = {name: name for name in self.rubric.names if name in row}
        for dimension, column in given.items():
            if row[column]:
                score = _score(row[column], self.rubric, f"{place}, column {column}")
                yield column, Rating(answer, row.get(RATER, ""), dimension, score)


def _form(columns: Sequence[str], path: Path, rubric: Rubric) -> _Form:
    """Return the form that a header tells.

    Raises:
        UserError: naming the column that is missing, comes twice or has no meaning.
    """
    place = f"{path}, line 1"
    found = [name for name in ID_COLUMNS if name in columns]
    if len(found) != 1:
        told = f"both {' and '.join(found)}" if found else "no column with the ids of the answers"
        raise UserError(f"{place}: {told}. Call that column one of {', '.join(ID_COLUMNS)}.")
    is_long = DIMENSION in columns and DIMENSION not in rubric.names
    scores = (DIMENSION, SCORE) if is_long else rubric.names
    known = (found[0], SAMPLE, RATER, COMMENT, *scores)
    for number, name in enumerate(columns):
        if name in columns[:number]:
            raise UserError(f"{place}: there are two columns {name!r}.")
        if name not in known:
            raise UserError(
                f"{place}: the column {name!r} has no meaning here. There may be"
                f" {', '.join(known)}."
            )
    if is_long and SCORE not in columns:
        raise UserError(f"{place}: there is a column {DIMENSION}, but none called {SCORE}.")
    if not set(columns) & set(scores):
        raise UserError(
            f"{place}: no column with scores. There may be {', '.join(rubric.names)}, or"
            f" {DIMENSION} and {SCORE}."
        )
    return _Form(columns, found[0], is_long, rubric)


def _sample(text: str, place: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise UserError(f"{place}: {_cell(text)} is no number of a sample.")
    return int(text)


def _score(text: str, rubric: Rubric, place: str) -> float:
    score = number_in(text)
    if score is None or not rubric.low <= score <= rubric.high:
        raise UserError(
            f"{place}: {_cell(text)} is no score from {rubric.low} to {rubric.high}. Leave the cell"
            " empty where there is none."
        )
    return score


def _cell(text: str) -> str:
    """Return what an error says of a cell: a longer one may be a text that slipped into it."""
    return repr(text) if len(text) <= _LONGEST_SHOWN else "what stands there"
