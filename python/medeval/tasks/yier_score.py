"""A score of YIER-LLM in the form in which all tasks report theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.scoring.table import Ratio, ScoreTable, result_fields
from medeval.tasks.task import Method, TaskScore
from medeval.yier import evaluating
from medeval.yier.score import Grouping, Summary

HEADLINE = "f1"
EXACT_SET = "exact_set_accuracy"
QUESTION_F1 = "mean_question_f1"
# What is a score; the rest of a summary are counts.
_METRICS = (
    HEADLINE,
    "precision",
    "recall",
    "f1_unknown_dropped",
    EXACT_SET,
    QUESTION_F1,
    "mean_jaccard",
    "over_selection_rate",
    "under_selection_rate",
)
_BY_GROUP = (HEADLINE, "precision", "recall", EXACT_SET)


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
    counts = [one.counted.counts for one in questions]
    of_items = ScoreTable(
        {
            QUESTION_F1: Ratio([one.f1 for one in counts], is_share=True),
            EXACT_SET: Ratio([float(one.is_exact) for one in counts], is_share=True),
        }
    )
    # Questions that are drawn in clusters are not independent, as these means take them to be.
    draws = 0 if made.method.cluster else made.method.n_iters
    found = of_items.summary(draws=draws, seed=made.method.seed)
    fields = result_fields(of_items, found)
    intervals = fields["intervals"] | ({HEADLINE: made.interval} if made.interval else {})
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
        item_scores=fields["item_scores"],
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
