"""Files or runs in, a report out: the score with its interval, and two of them compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medeval.yier.intervals import N_ITERS, Cluster, F1Interval, bootstrap, units_of
from medeval.yier.joining import Answered, join
from medeval.yier.reading import read_file
from medeval.yier.records import left_out_words, submitted_records, usable_records
from medeval.yier.score import Grouping, YierScore, score


@dataclass(frozen=True)
class Method:
    """How a score is made.

    Attributes:
        n_iters: draws of the bootstrap; 0 gives values only.
        seed: of the draws.
        cluster: draw questions that share a context together.
        groupings: by what the values are shown again.
    """

    n_iters: int = N_ITERS
    seed: int = 0
    cluster: Cluster | None = None
    groupings: Sequence[Grouping] = field(default=tuple(Grouping))


@dataclass(frozen=True)
class Report:
    """A score with its interval, None without draws.

    Attributes:
        score: the values.
        interval: of the headline.
        method: how both were made.
        agreement: of several passes; None with one.
        n_left_out: records of the file that cannot be used as questions.
    """

    score: YierScore
    interval: F1Interval | None
    method: Method
    agreement: float | None = None
    n_left_out: int = 0

    @property
    def warnings(self) -> list[str]:
        """Everything that a reader should know before the numbers."""
        no_width = self.interval.warning if self.interval else None
        return [
            *self.score.warnings,
            *([no_width] if no_width else []),
            *([left_out_words(self.n_left_out)] if self.n_left_out else []),
        ]

    def as_json(self) -> dict[str, Any]:
        """Return everything by name; the headline is `f1`."""
        return {
            **self.score.as_json(self.method.groupings),
            "f1_interval": self.interval.as_json() if self.interval else None,
            "cluster": self.method.cluster,
            "pass_agreement": self.agreement,
            "n_left_out": self.n_left_out,
            "warnings": self.warnings,
        }


def score_submission(
    prediction: Path, gold: Path, method: Method | None = None, *, allow_extra: bool = False
) -> Report:
    """Score a file that is handed in against a file with gold answers.

    Raises:
        UserError: a file that cannot be read, ids that do not fit, or no gold answers.
    """
    truth, given = read_file(gold), read_file(prediction)
    questions = usable_records(truth.records, truth.name)
    answered = join(
        questions, submitted_records(given.records, given.name), allow_extra=allow_extra
    )
    return replace(report(answered, method), n_left_out=len(truth.records) - len(questions))


def report(
    answered: Sequence[Answered], method: Method | None = None, agreement: float | None = None
) -> Report:
    """Score answers and add the interval.

    Raises:
        UserError: nothing to score.
    """
    method = method or Method()
    found = score(answered)
    interval = None
    if method.n_iters:
        units = units_of(found.questions, method.cluster)
        interval = bootstrap(units, n_iters=method.n_iters, seed=method.seed)
    return Report(found, interval, method, agreement)
