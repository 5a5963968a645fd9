"""Micro F1 of YIER-LLM with its interval, and in the form in which all tasks report their scores.

Questions are drawn, never single options: the options of a question belong together. With clusters,
all questions that share a context are drawn together. A draw without any predicted or gold answer
has an F1 of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import Interval
from medeval.scoring.compare import Difference, paired_difference
from medeval.scoring.table import Ratio, ScoreTable, result_fields, sampled_interval, samples
from medeval.tasks.differences import mean_difference
from medeval.tasks.task import Method, TaskScore
from medeval.yier.matching import canonical
from medeval.yier.questions import left_out_words, submitted_records, usable_records
from medeval.yier.reading import read_file
from medeval.yier.score import GROUPINGS, NOTHING, Answered, Counts, YierScore, join, score

HEADLINE = "f1"
# Means of the questions' own scores.
_BY_QUESTION: Mapping[str, Callable[[Answered], float]] = {
    "exact_set_accuracy": lambda one: float(one.counts.is_exact),
    "mean_question_f1": lambda one: one.counts.f1,
}
# What is a score; the rest of a summary are counts.
_METRICS = (
    *(HEADLINE, "precision", "recall", "f1_unknown_dropped", *_BY_QUESTION, "mean_jaccard"),
    *("over_selection_rate", "under_selection_rate"),
)
_BY_GROUP = ("n", HEADLINE, "precision", "recall", "exact_set_accuracy")


class F1Interval(Interval):
    """The percentile interval of micro F1, of the questions or of clusters of them.

    Attributes:
        mean: of the draws.
        median: of the draws.
        std: of the draws.
        n_iters: how many draws.
        seed: of the draws.
        warning: why the interval says nothing.
    """

    mean: float
    median: float
    std: float
    n_iters: int
    seed: int
    warning: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the values by name; `n_units` questions, or clusters of them, are drawn from."""
        names = ("value", "mean", "median", "std", "low", "high", "n_iters")
        found = {name: getattr(self, name) for name in names}
        return {**found, "n_units": self.n, "seed": self.seed, "warning": self.warning}


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
        left_out = left_out_words(self.n_left_out) if self.n_left_out else None
        return [*self.score.warnings, *(one for one in (no_width, left_out) if one)]

    def as_json(self) -> dict[str, Any]:
        """Return everything by name; the headline is `f1`."""
        return {
            **self.score.summary,
            "n_unlabelled": self.score.n_unlabelled,
            "extractions": self.score.extractions,
            "warnings": self.warnings,
            "by": {name: self.score.by(name) for name in self.method.groupings},
            "f1_interval": self.interval.as_json() if self.interval else None,
            "cluster": self.method.cluster,
            "pass_agreement": self.agreement,
            "n_left_out": self.n_left_out,
        }


def yier_method(method: Method) -> Method:
    """Return how a score is made; without groupings, by all that there are.

    Raises:
        UserError: a grouping or cluster that this task does not have.
    """
    for name in method.groupings:
        if name not in GROUPINGS:
            raise UserError(f"--by {name}: questions can be grouped by {', '.join(GROUPINGS)}.")
    if method.cluster not in (None, "context"):
        raise UserError(f"--cluster {method.cluster}: questions are drawn alone or by context.")
    return replace(method, groupings=tuple(method.groupings) or tuple(GROUPINGS))


def score_submission(
    prediction: Path, gold: Path, method: Method, *, allow_extra: bool = False
) -> Report:
    """Score a file that is handed in against a file with gold answers.

    Raises:
        UserError: a file that cannot be read, ids that do not fit, or no gold answers.
    """
    truth, given = read_file(gold), read_file(prediction)
    questions = usable_records(truth.records, truth.name)
    submitted = submitted_records(given.records, given.name)
    answered = join(questions, submitted, allow_extra=allow_extra)
    return report(answered, method, n_left_out=len(truth.records) - len(questions))


def report(
    answered: Sequence[Answered],
    method: Method,
    agreement: float | None = None,
    n_left_out: int = 0,
) -> Report:
    """Score answers and add the interval.

    Raises:
        UserError: nothing to score.
    """
    found = score(answered)
    interval = None
    if method.n_iters:
        units = units_of(found.questions, method.cluster)
        interval = bootstrap(units, n_iters=method.n_iters, seed=method.seed)
    return Report(found, interval, method, agreement, n_left_out)


def bootstrap(units: Sequence[Counts], *, n_iters: int, seed: int = 0) -> F1Interval:
    """Return the interval of micro F1.

    Args:
        units: the counts of each question, or of each cluster, in an order of their own.
        n_iters: how many draws.
        seed: of the draws.
    """
    # Without any predicted or gold answer F1 is 0.
    column = Ratio(*zip(*_ratios(units), strict=True), empty=0.0)
    warning = None
    if len(set(units)) == 1:
        alike = "one unit only" if len(units) == 1 else "all units are alike"
        warning = f"{alike}: the interval has no width and says nothing"
    draws = samples(column, n_iters, seed)
    return F1Interval(
        **sampled_interval(column.value(), draws, len(units), "").model_dump(),
        mean=float(draws.mean()),
        median=float(np.median(draws)),
        std=float(draws.std()),
        n_iters=n_iters,
        seed=seed,
        warning=warning,
    )


def units_of(questions: Sequence[Answered], cluster: str | None = None) -> list[Counts]:
    """Return what is drawn: questions by sample_id, or those that share a context together.

    A question without a context is a unit of its own.
    """
    units: dict[tuple[str, str], Counts] = {}
    for one in sorted(questions, key=lambda one: one.record.sample_id):
        context = one.record.context if cluster == "context" else None
        key = ("id", one.record.sample_id) if context is None else ("context", canonical(context))
        units[key] = units.get(key, NOTHING) + one.counts
    return list(units.values())


def _ratios(units: Sequence[Counts]) -> list[tuple[int, int]]:
    """Return twice the right answers of each unit, and its predicted and gold ones."""
    return [(2 * one.tp, one.n_pred + one.n_gold) for one in units]


def compare(
    first: Sequence[Answered], second: Sequence[Answered], method: Method
) -> list[Difference]:
    """Compare two systems' scores on the same questions, sorted by sample_id; the headline first.

    Raises:
        UserError: not the same questions, or no draws.
    """
    ids = [[one.record.sample_id for one in some] for some in (first, second)]
    if ids[0] != ids[1]:
        raise UserError(
            f"the two systems have answers to different questions ({len(ids[0]):,} and"
            f" {len(ids[1]):,}); score both against the same file."
        )
    if method.n_iters < 1:
        raise UserError(f"{method.n_iters} draws; there must be 1 or more.")
    one, two = (_ratios(units_of(some, method.cluster)) for some in (first, second))
    return [
        paired_difference(HEADLINE, one, two, len(first), draws=method.n_iters, seed=method.seed),
        *(
            mean_difference(name, list(map(value, first)), list(map(value, second)), method)
            for name, value in _BY_QUESTION.items()
        ),
    ]


def score_of(made: Report, model: str, metadata: Mapping[str, Any]) -> TaskScore:
    """Put a report into the form of all tasks."""
    details = made.as_json()
    questions, method = made.score.questions, made.method
    of_items = ScoreTable(
        {
            name: Ratio([value(one) for one in questions], is_share=True)
            for name, value in reversed(list(_BY_QUESTION.items()))
        }
    )
    # Questions that are drawn in clusters are not independent, as these means take them to be.
    found = of_items.summary(draws=0 if method.cluster else method.n_iters, seed=method.seed)
    fields = result_fields(of_items, found)
    result = EvaluationResult(
        model_id=model,
        task_id="yier",
        inputs=[{"sample_id": one.record.sample_id} for one in questions],
        model_outputs=[
            {
                "predict_answers": one.answers.texts(one.record.selection),
                "extraction": one.extraction,
            }
            for one in questions
        ],
        metrics_results={name: details[name] for name in _METRICS},
        item_scores=fields["item_scores"],
        intervals=fields["intervals"] | ({HEADLINE: made.interval} if made.interval else {}),
        metadata={
            **metadata,
            "headline": HEADLINE,
            "n": details["n"],
            "n_iters": method.n_iters,
            "seed": method.seed,
            "warnings": made.warnings,
            "details": details,
        },
    )
    groups: dict[str, dict[str, dict[str, float | None]]]
    groups = {
        grouping: {
            group: {name: float(values[name]) for name in _BY_GROUP}
            for group, values in details["by"][grouping].items()
        }
        for grouping in method.groupings
    }
    return TaskScore(result, HEADLINE, made.warnings, groups)
