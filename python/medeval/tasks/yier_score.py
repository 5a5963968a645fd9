"""A score of YIER-LLM in the form in which all tasks report theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import Interval
from medeval.tasks.task import Method, TaskScore
from medeval.yier import evaluating
from medeval.yier.intervals import LEVEL
from medeval.yier.score import Grouping, Summary

HEADLINE = "f1"
# What is a score; the rest of a summary are counts.
_METRICS = (
    HEADLINE,
    "precision",
    "recall",
    "f1_unknown_dropped",
    "exact_set_accuracy",
    "mean_question_f1",
    "mean_jaccard",
    "over_selection_rate",
    "under_selection_rate",
)
_BY_GROUP = (HEADLINE, "precision", "recall", "exact_set_accuracy")


def yier_method(method: Method) -> evaluating.Method:
    """Return how a score is made, in the words of this task.

    Raises:
        UserError: a grouping or cluster that this task does not have.
    """
    known = [grouping.value for grouping in Grouping]
    for name in method.groupings:
        if name not in known:
            raise UserError(f"--by {name}: questions can be grouped by {', '.join(known)}.")
    if method.cluster not in (None, "context"):
        raise UserError(f"--cluster {method.cluster}: questions are drawn alone or by context.")
    groupings = tuple(Grouping(name) for name in method.groupings) or tuple(Grouping)
    return evaluating.Method(
        method.n_iters, method.seed, "context" if method.cluster else None, groupings
    )


def score_of(made: evaluating.Report, model: str, metadata: Mapping[str, Any]) -> TaskScore:
    """Put a report into the form of all tasks."""
    details = made.as_json()
    questions = made.score.questions
    intervals = {}
    if made.interval is not None:
        intervals[HEADLINE] = Interval(
            low=made.interval.low,
            high=made.interval.high,
            level=LEVEL,
            method=f"bootstrap_percentile over {made.method.cluster or 'question'}s",
            n=made.interval.n_units,
        )
    result = EvaluationResult(
        model_id=model,
        task_id="yier",
        inputs=[{"sample_id": one.answered.record.sample_id} for one in questions],
        model_outputs=[
            {
                "predict_answers": one.answered.answers.texts(one.answered.record.selection),
                "extraction": one.answered.extraction,
            }
            for one in questions
        ],
        metrics_results={name: details[name] for name in _METRICS},
        item_scores={
            "mean_question_f1": [one.counted.counts.f1 for one in questions],
            "exact_set_accuracy": [float(one.counted.counts.is_exact) for one in questions],
        },
        intervals=intervals,
        metadata={
            **metadata,
            "headline": HEADLINE,
            "n": made.score.summary.n,
            "n_iters": made.method.n_iters,
            "seed": made.method.seed,
            "warnings": made.warnings,
            "details": details,
        },
    )
    groups = {
        grouping.value: {name: _group(found) for name, found in made.score.by(grouping).items()}
        for grouping in made.method.groupings
    }
    return TaskScore(result, HEADLINE, made.warnings, groups)


def _group(summary: Summary) -> dict[str, float | None]:
    values = summary.as_json()
    return {"n": float(summary.n), **{name: values[name] for name in _BY_GROUP}}
