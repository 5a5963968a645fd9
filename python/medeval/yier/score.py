"""The score of a set of answers: micro F1, what stands beside it, and the same by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from medeval.errors import UserError
from medeval.yier.counting import Counts, QuestionCounts, count_answers, micro
from medeval.yier.joining import Answered
from medeval.yier.replies import UNPARSED_WARNING, Extraction


class Grouping(StrEnum):
    """By what questions are grouped."""

    SOURCE = "source"
    CONTEXT = "context"
    ANSWERS = "answers"
    OPTIONS = "options"


_GROUP_OF: dict[Grouping, Callable[[Answered], str]] = {
    Grouping.SOURCE: lambda entry: entry.record.source or "none",
    Grouping.CONTEXT: lambda entry: "with" if entry.record.context else "without",
    Grouping.ANSWERS: lambda entry: "single" if len(entry.record.gold.options) == 1 else "multiple",
    Grouping.OPTIONS: lambda entry: str(len(entry.record.selection)),
}


@dataclass(frozen=True)
class Scored:
    """A question with its counts."""

    answered: Answered
    counted: QuestionCounts


@dataclass(frozen=True)
class Summary:
    """Values over some questions; only `micro.f1` is the headline.

    Attributes:
        n: how many questions.
        micro: sums, and what is made of them; unknown answers are among the predicted.
        known: the same with unknown answers dropped.
        exact_set_accuracy: share of questions answered by exactly the gold answers.
        mean_question_f1: mean of the questions' own F1.
        mean_jaccard: mean of right over predicted or gold answers.
        over_selection_rate: share of questions with a predicted answer that is not gold.
        under_selection_rate: share of questions with a gold answer that is not predicted.
        n_missing: questions without a submitted record, taken as answered by nothing.
        n_unread: replies in which no answer was found.
        n_unknown: predicted answers that are no option.
        n_duplicates: predicted answers that were there already.
    """

    n: int
    micro: Counts
    known: Counts
    exact_set_accuracy: float
    mean_question_f1: float
    mean_jaccard: float
    over_selection_rate: float
    under_selection_rate: float
    n_missing: int
    n_unread: int
    n_unknown: int
    n_duplicates: int

    def as_json(self) -> dict[str, Any]:
        """Return the values by name."""
        return {
            "n": self.n,
            **_counts_json(self.micro),
            "f1_unknown_dropped": self.known.f1,
            "exact_set_accuracy": self.exact_set_accuracy,
            "mean_question_f1": self.mean_question_f1,
            "mean_jaccard": self.mean_jaccard,
            "over_selection_rate": self.over_selection_rate,
            "under_selection_rate": self.under_selection_rate,
            "n_missing": self.n_missing,
            "n_unread": self.n_unread,
            "n_unknown": self.n_unknown,
            "n_duplicates": self.n_duplicates,
        }


@dataclass(frozen=True)
class YierScore:
    """The score of one system.

    Attributes:
        summary: over all questions that have gold answers.
        questions: those questions, sorted by sample_id.
        n_unlabelled: questions without gold answers, left out.
        extractions: how many replies each step read; empty where no reply was read.
        warnings: in words.
    """

    summary: Summary
    questions: tuple[Scored, ...]
    n_unlabelled: int
    extractions: dict[str, int]
    warnings: tuple[str, ...]

    def by(self, grouping: Grouping) -> dict[str, Summary]:
        """Return the values of each group, the groups sorted by name."""
        groups: dict[str, list[Scored]] = {}
        for entry in self.questions:
            groups.setdefault(_GROUP_OF[grouping](entry.answered), []).append(entry)
        return {name: summarise(groups[name]) for name in sorted(groups)}

    def as_json(self, groupings: Sequence[Grouping] = tuple(Grouping)) -> dict[str, Any]:
        """Return everything by name; the headline is `f1`."""
        return {
            **self.summary.as_json(),
            "n_unlabelled": self.n_unlabelled,
            "extractions": self.extractions,
            "warnings": list(self.warnings),
            "by": {
                grouping.value: {name: found.as_json() for name, found in self.by(grouping).items()}
                for grouping in groupings
            },
        }


def score(answered: Sequence[Answered]) -> YierScore:
    """Score a system's answers.

    Args:
        answered: in any order.

    Raises:
        UserError: no question, no gold answers at all, or one that is no option.
    """
    if not answered:
        raise UserError("nothing to score: there is no question.")
    ordered = sorted(answered, key=lambda entry: entry.record.sample_id)
    scored = []
    for entry in ordered:
        counted = count_answers(entry.record.gold, entry.answers)
        if counted is not None:
            scored.append(Scored(entry, counted))
    if not scored:
        raise UserError(
            f"no gold answers: all of the {len(answered):,} questions have an empty"
            " answer_choices. Score against the file that has them."
        )
    extractions = Counter(
        entry.answered.extraction for entry in scored if entry.answered.extraction
    )
    return YierScore(
        summarise(scored),
        tuple(scored),
        len(answered) - len(scored),
        dict(sorted(extractions.items())),
        tuple(_warnings(scored, extractions)),
    )


def summarise(scored: Sequence[Scored]) -> Summary:
    """Return the values over some questions.

    Raises:
        UserError: no question.
    """
    counted = [entry.counted for entry in scored]
    each = [entry.counts for entry in counted]
    total = micro(counted)

    def share(flags: list[bool]) -> float:
        return sum(flags) / len(each)

    return Summary(
        n=len(each),
        micro=total,
        known=micro(counted, "drop"),
        exact_set_accuracy=share([one.is_exact for one in each]),
        mean_question_f1=_mean([one.exact_f1 for one in each]),
        mean_jaccard=_mean([one.exact_jaccard for one in each]),
        over_selection_rate=share([one.n_pred > one.tp for one in each]),
        under_selection_rate=share([one.n_gold > one.tp for one in each]),
        n_missing=sum(entry.answered.missing for entry in scored),
        n_unread=sum(entry.answered.extraction == Extraction.UNPARSED for entry in scored),
        n_unknown=sum(one.n_unknown for one in counted),
        n_duplicates=sum(one.n_duplicates for one in counted),
    )


def _counts_json(counts: Counts) -> dict[str, Any]:
    """Return sums and ratios by name."""
    return {
        "tp": counts.tp,
        "n_pred": counts.n_pred,
        "n_gold": counts.n_gold,
        "precision": counts.precision,
        "precision_defined": counts.precision_defined,
        "recall": counts.recall,
        "f1": counts.f1,
    }


def _mean(values: list[Fraction]) -> float:
    # Exact until the end, so that the order of the questions does not matter.
    return float(sum(values, Fraction(0)) / len(values))


def _warnings(scored: list[Scored], extractions: Counter[str]) -> list[str]:
    found = [
        f"{entry.answered.record.sample_id}: {warning}"
        for entry in scored
        for warning in entry.counted.warnings
    ]
    unparsed = extractions[Extraction.UNPARSED.value]
    read = sum(extractions.values())
    if read and unparsed / read > UNPARSED_WARNING:
        found.insert(
            0,
            f"{unparsed:,} of {read:,} replies could not be read ({unparsed / read:.1%}): the"
            " score then measures the reader, not the model.",
        )
    return found
