"""What one question adds to the score: right, predicted and gold answers, as sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from medeval.errors import UserError
from medeval.yier.matching import Answers
from medeval.yier.records import DUPLICATE_GOLD, GOLD_NOT_AN_OPTION

UnknownRule = Literal["count", "drop"]


@dataclass(frozen=True)
class Counts:
    """Right, predicted and gold answers; of a question or of many."""

    tp: int
    n_pred: int
    n_gold: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.n_pred + other.n_pred, self.n_gold + other.n_gold)

    @property
    def is_exact(self) -> bool:
        """Whether exactly the gold answers are predicted."""
        return self.tp == self.n_pred == self.n_gold

    @property
    def precision(self) -> float:
        """The share of predicted answers that are right; 0 where nothing is predicted."""
        return self.tp / self.n_pred if self.n_pred else 0.0

    @property
    def precision_defined(self) -> bool:
        """Whether anything is predicted."""
        return self.n_pred > 0

    @property
    def recall(self) -> float:
        """The share of gold answers that are predicted; 0 where there is none."""
        return self.tp / self.n_gold if self.n_gold else 0.0

    @property
    def exact_f1(self) -> Fraction:
        """The harmonic mean of both as a fraction; 0 where neither has a denominator."""
        both = self.n_pred + self.n_gold
        return Fraction(2 * self.tp, both) if both else Fraction(0)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return float(self.exact_f1)

    @property
    def exact_jaccard(self) -> Fraction:
        """Right answers over all that are predicted or gold."""
        either = self.n_pred + self.n_gold - self.tp
        return Fraction(self.tp, either) if either else Fraction(0)


@dataclass(frozen=True)
class QuestionCounts:
    """One question, counted.

    Attributes:
        counts: with unknown answers among the predicted.
        n_unknown: predicted answers that are no option.
        n_duplicates: predicted answers that were there already.
        warnings: of gold and prediction.
    """

    counts: Counts
    n_unknown: int = 0
    n_duplicates: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def known(self) -> Counts:
        """The counts with unknown answers dropped."""
        counts = self.counts
        return Counts(counts.tp, counts.n_pred - self.n_unknown, counts.n_gold)


def count_answers(gold: Answers, predicted: Answers) -> QuestionCounts | None:
    """Count one question's answers; None without gold answers.

    Args:
        gold: what the gold answers mean, each an option.
        predicted: what a system answered; what is no option counts against precision.

    Raises:
        UserError: a gold answer is no option.
    """
    if gold.unknown:
        raise UserError(f"{GOLD_NOT_AN_OPTION}: {gold.unknown[0]!r}")
    if not gold.options:
        return None
    n_unknown = len(predicted.unknown)
    counts = Counts(
        len(set(gold.options) & set(predicted.options)),
        len(predicted.options) + n_unknown,
        len(gold.options),
    )
    warnings = [DUPLICATE_GOLD] if gold.n_duplicates else []
    return QuestionCounts(
        counts,
        n_unknown,
        predicted.n_duplicates,
        (*warnings, *gold.warnings, *predicted.warnings),
    )


def micro(counted: Sequence[QuestionCounts], unknown: UnknownRule = "count") -> Counts:
    """Add up questions.

    Raises:
        UserError: no question.
    """
    if not counted:
        raise UserError("nothing to score: there is no question.")
    each = [entry.known if unknown == "drop" else entry.counts for entry in counted]
    return sum(each, Counts(0, 0, 0))
