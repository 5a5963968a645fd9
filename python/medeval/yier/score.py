"""The score of a set of answers: micro F1, what stands beside it, and the same by group.

Of each question right, predicted and gold answers are counted as sets; the sums make the headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from medeval.errors import UserError
from medeval.yier.matching import Answers
from medeval.yier.questions import DUPLICATE_GOLD, Record, Submitted
from medeval.yier.replies import UNPARSED_WARNING, Extraction

SHOWN = 10


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
    def exact_f1(self) -> Fraction:
        """The harmonic mean of precision and recall; 0 where neither has a denominator."""
        both = self.n_pred + self.n_gold
        return Fraction(2 * self.tp, both) if both else Fraction(0)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return float(self.exact_f1)

    @property
    def jaccard(self) -> Fraction:
        """Right answers over all that are predicted or gold."""
        either = self.n_pred + self.n_gold - self.tp
        return Fraction(self.tp, either) if either else Fraction(0)


NOTHING = Counts(0, 0, 0)


@dataclass(frozen=True)
class Answered:
    """A question and what a system answered.

    Attributes:
        record: the question with its gold answers.
        answers: what the system answered, matched to the options.
        missing: whether there is no submitted record.
        extraction: the step that read the reply, or why there is none to be read; None where
            there was no reply, as in a submission.
    """

    record: Record
    answers: Answers = field(default_factory=Answers)
    missing: bool = False
    extraction: str | None = None

    @cached_property
    def counts(self) -> Counts:
        """What the question adds to the score; an answer that is no option is predicted too."""
        gold, given = self.record.gold.options, self.answers.options
        n_pred = len(given) + len(self.answers.unknown)
        return Counts(len(set(gold) & set(given)), n_pred, len(gold))

    @property
    def known(self) -> Counts:
        """The same without the answers that are no option."""
        return Counts(self.counts.tp, len(self.answers.options), self.counts.n_gold)

    @property
    def warnings(self) -> list[str]:
        """What should be known of gold and answers."""
        gold = self.record.gold
        twice = [DUPLICATE_GOLD] if gold.n_duplicates else []
        return [*twice, *gold.warnings, *self.answers.warnings]


# By what questions are grouped.
GROUPINGS: Mapping[str, Callable[[Answered], str]] = {
    "source": lambda one: one.record.source or "none",
    "context": lambda one: "with" if one.record.context else "without",
    "answers": lambda one: "single" if len(one.record.gold.options) == 1 else "multiple",
    "options": lambda one: str(len(one.record.selection)),
}


@dataclass(frozen=True)
class YierScore:
    """The score of one system.

    Attributes:
        summary: over all questions that have gold answers; see `summarise`.
        questions: those questions, sorted by sample_id.
        n_unlabelled: questions without gold answers, left out.
        extractions: how many replies each step read; empty where no reply was read.
        warnings: in words.
    """

    summary: dict[str, Any]
    questions: tuple[Answered, ...]
    n_unlabelled: int
    extractions: dict[str, int]
    warnings: tuple[str, ...]

    def by(self, grouping: str) -> dict[str, dict[str, Any]]:
        """Return the values of each group of `GROUPINGS`, the groups sorted by name."""
        groups: dict[str, list[Answered]] = {}
        for one in self.questions:
            groups.setdefault(GROUPINGS[grouping](one), []).append(one)
        return {name: summarise(groups[name]) for name in sorted(groups)}


def join(
    gold: Sequence[Record], submitted: Sequence[Submitted], *, allow_extra: bool = False
) -> list[Answered]:
    """Return the gold's questions with the submitted answers, in the gold's order.

    Args:
        gold: the questions; those without gold answers may be among them.
        submitted: records with `predict_answers`; one without has an empty prediction.
        allow_extra: leave out submitted records that the gold does not have.

    Raises:
        UserError: an id twice on either side, or an id that the gold does not have.
    """
    sides: dict[str, Sequence[Submitted]] = {"gold": gold, "submission": submitted}
    for what, side in sides.items():
        times = Counter(one.sample_id for one in side)
        if twice := [one for one, count in times.items() if count > 1]:
            raise UserError(f"sample_id more than once in the {what}: {_listed(twice)}.")
    by_id = {one.sample_id: one for one in submitted}
    wanted = {record.sample_id for record in gold}
    extra = [sample_id for sample_id in by_id if sample_id not in wanted]
    if extra and not allow_extra:
        raise UserError(
            f"submitted sample_id that the gold does not have: {_listed(extra)}. To leave such"
            " records out, allow extra ones."
        )
    # The gold's own options decide: a submission cannot change the question.
    return [
        Answered(record, record.options.answers(by_id[record.sample_id].predict_answers))
        if record.sample_id in by_id
        else Answered(record, missing=True)
        for record in gold
    ]


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    return ", ".join(repr(one) for one in ids[:SHOWN]) + more


def score(answered: Sequence[Answered]) -> YierScore:
    """Score a system's answers.

    Args:
        answered: in any order.

    Raises:
        UserError: no question, or no gold answers at all.
    """
    if not answered:
        raise UserError("nothing to score: there is no question.")
    ordered = sorted(answered, key=lambda one: one.record.sample_id)
    scored = [one for one in ordered if one.record.gold.options]
    if not scored:
        raise UserError(
            f"no gold answers: all of the {len(answered):,} questions have an empty"
            " answer_choices. Score against the file that has them."
        )
    extractions = Counter(one.extraction for one in scored if one.extraction)
    return YierScore(
        summarise(scored),
        tuple(scored),
        len(answered) - len(scored),
        dict(sorted(extractions.items())),
        tuple(_warnings(scored, extractions)),
    )


def summarise(scored: Sequence[Answered]) -> dict[str, Any]:
    """Return the values over some questions, of which there must be one; `f1` is the headline.

    Sums with precision and recall, 0 where they have no denominator; `f1_unknown_dropped` without
    the answers that are no option; then shares of questions that were answered by exactly the gold
    answers, by another one, without one; then how many had no record, no answer in their reply, and
    how many answers were no option or there already.
    """
    each = [one.counts for one in scored]
    total = sum(each, NOTHING)
    return {
        "n": len(each),
        **vars(total),
        "precision": total.tp / total.n_pred if total.n_pred else 0.0,
        "precision_defined": total.n_pred > 0,
        "recall": total.tp / total.n_gold if total.n_gold else 0.0,
        "f1": total.f1,
        "f1_unknown_dropped": sum((one.known for one in scored), NOTHING).f1,
        "exact_set_accuracy": _mean(one.is_exact for one in each),
        "mean_question_f1": _mean(one.exact_f1 for one in each),
        "mean_jaccard": _mean(one.jaccard for one in each),
        "over_selection_rate": _mean(one.n_pred > one.tp for one in each),
        "under_selection_rate": _mean(one.n_gold > one.tp for one in each),
        "n_missing": sum(one.missing for one in scored),
        "n_unread": sum(one.extraction == Extraction.UNPARSED for one in scored),
        "n_unknown": sum(len(one.answers.unknown) for one in scored),
        "n_duplicates": sum(one.answers.n_duplicates for one in scored),
    }


def _mean(values: Iterable[Fraction | bool]) -> float:
    # Exact until the end, so that the order of the questions does not matter.
    fractions = [Fraction(value) for value in values]
    return float(sum(fractions, Fraction(0)) / len(fractions))


def _warnings(scored: Sequence[Answered], extractions: Counter[str]) -> list[str]:
    found = [f"{one.record.sample_id}: {warning}" for one in scored for warning in one.warnings]
    unparsed, read = extractions[Extraction.UNPARSED.value], extractions.total()
    if read and unparsed / read > UNPARSED_WARNING:
        found.insert(
            0,
            f"{unparsed:,} of {read:,} replies could not be read ({unparsed / read:.1%}): the"
            " score then measures the reader, not the model.",
        )
    return found
