"""One task of an evaluation: answers taken in, every item accounted for, scores with intervals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.errors import UserError
from medeval.evaluation.harness_plan import NotPlanned, Planned, output_violations
from medeval.evaluation.harness_settings import ModelSettings
from medeval.inference.types import Ledger, Outcome
from medeval.metrics.registry import MetricRegistry
from medeval.metrics.text import text_of
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.schemas import Row
from medeval.models.scores import Interval
from medeval.models.task_content import input_ids

STATUS_OK = "ok"
STATUS_ERROR = "error"
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,60}")
STATUS_UNSCORED = "unscored"

# What a runner gives in place of an output, with `type` and `attempts`.
_ERROR = "error"


class ItemsFailedError(RuntimeError):
    """The model gave no output for items; the message counts them and names the kinds."""


class MisalignedError(ValueError):
    """A runner returned more or fewer outputs than inputs, so none can be told to be whose."""


@dataclass(frozen=True)
class Scoring:
    """How outputs are scored.

    Attributes:
        metrics: where names are found.
        draws: resamples of the bootstrap.
        seed: of the bootstrap.
    """

    metrics: MetricRegistry
    draws: int
    seed: int


def taken_in(outputs: Sequence[Any], count: int) -> list[Row]:
    """Return outputs that can be kept: what is no mapping of JSON values is a failed item.

    Raises:
        MisalignedError: there are more or fewer than inputs.
    """
    if len(outputs) != count:
        raise MisalignedError(
            f"the model runner returned {len(outputs)} outputs for {count} inputs"
        )
    return [_output(one) for one in outputs]


def outcomes_of(outputs: Sequence[Row], target: str) -> list[Outcome]:
    """Return what became of each item.

    Args:
        outputs: one for each item.
        target: the key that holds the answer.
    """
    return [_outcome(output, target) for output in outputs]


def scored_result(
    model_id: str, planned: Planned, outputs: Sequence[Row], scoring: Scoring, strict: bool
) -> EvaluationResult:
    """Return the result of a task: failed items score as an output with nothing in it.

    Args:
        model_id: the model.
        planned: the task.
        outputs: one for each item.
        scoring: how they are scored.
        strict: raise where an item failed or an output breaks the task's schema.

    Raises:
        ItemsFailedError: every item failed, or, if strict, some did.
        ValueError: the references do not fit the outputs, or, if strict, an output breaks the
            schema.
    """
    from medeval.scoring.table import ScoreTable, result_fields  # numpy is slow to load

    task = planned.task
    outcomes = outcomes_of(outputs, task.target)
    failed = outcomes.count(Outcome.ERRORED)
    if failed == len(outcomes) or (strict and failed):
        raise ItemsFailedError(
            f"{task.task_id}: {failed} of {len(outcomes)} items failed ({_kinds(outputs)})"
        )
    answers = [None if _is_error(output) else output for output in outputs]
    violations = output_violations(task, answers)
    if strict and violations:
        raise ValueError(f"{task.task_id}: {violations[0]}")
    table = ScoreTable({})
    if planned.has_gold:
        outputs_or_nothing = [answer or {} for answer in answers]
        table = task.table(outputs_or_nothing, planned.metrics, registry=scoring.metrics)
    scores = table.summary(draws=scoring.draws, seed=scoring.seed)
    return EvaluationResult(
        model_id=model_id,
        task_id=task.task_id,
        inputs=list(planned.inputs),
        model_outputs=list(outputs),
        **result_fields(table, scores),
        metadata={
            "status": STATUS_OK if planned.has_gold else STATUS_UNSCORED,
            **_about_task(planned),
            "outcomes": _ledger(outcomes).as_json(),
            "item_outcomes": [str(outcome) for outcome in outcomes],
            "metrics": {
                name: _about_metric(name, score, scoring.metrics) for name, score in scores.items()
            },
            "validation_errors": [*planned.violations, *violations],
        },
    )


def failed_result(
    model_id: str,
    planned: Planned | NotPlanned,
    error: Exception,
    outputs: Sequence[Row] | None,
    settings: ModelSettings,
) -> EvaluationResult:
    """Return the result of a task that failed: a status and a reason, and no score.

    Args:
        model_id: the model.
        planned: the task.
        error: why it failed. Its message is kept where it cannot quote a patient: the task is
            open, or the message is one of this package.
        outputs: what the model had answered; None for nothing.
        settings: what must not be quoted either.
    """
    reason = {"type": type(error).__name__}
    about: dict[str, Any] = {}
    may_quote = isinstance(planned, NotPlanned) or planned.task.data_class == "open"
    if may_quote or isinstance(error, UserError | ItemsFailedError):
        reason["message"] = settings.scrubbed(str(error))
    if isinstance(planned, Planned):
        outcomes = [Outcome.ERRORED] * len(planned.inputs)
        if outputs is not None:
            outcomes = outcomes_of(outputs, planned.task.target)
        about = _about_task(planned) | {"outcomes": _ledger(outcomes).as_json()}
    return EvaluationResult(
        model_id=model_id,
        task_id=planned.task_id,
        metadata={"status": STATUS_ERROR, "error": reason, **about},
    )


def _about_task(planned: Planned) -> dict[str, Any]:
    return {
        "task_hash": planned.hash,
        "task_type": str(planned.task.task_type),
        "task_name": planned.task.name,
        "data_class": planned.task.data_class,
        "input_ids": input_ids(planned.inputs),
    }


def _output(output: Any) -> Row:
    if not isinstance(output, Mapping):
        return {_ERROR: {"type": "NotAMapping", "attempts": 1}}
    row = {str(key): value for key, value in output.items()}
    try:
        json.dumps(row, allow_nan=False)
    except (TypeError, ValueError):
        return {_ERROR: {"type": "NotJson", "attempts": 1}}
    return row


def _outcome(output: Row, target: str) -> Outcome:
    if _is_error(output):
        # A reply that was refused or cut off came from the model: the call did not fail.
        kind = str(output[_ERROR]["type"])
        return Outcome(kind) if kind in set(Outcome) else Outcome.ERRORED
    if text_of(output.get(target)).strip():
        return Outcome.ANSWERED
    return Outcome.UNPARSED if text_of(output).strip() else Outcome.EMPTY


def _is_error(output: Row) -> bool:
    error = output.get(_ERROR)
    return isinstance(error, Mapping) and "type" in error


def _kinds(outputs: Sequence[Row]) -> str:
    kinds = {str(one[_ERROR]["type"]) for one in outputs if _is_error(one)}
    # A model writes what it likes there: what is not the name of a kind may quote an input.
    return ", ".join(sorted(kind if _KIND.fullmatch(kind) else "other" for kind in kinds))


def _ledger(outcomes: Sequence[Outcome]) -> Ledger:
    ledger = Ledger()
    for outcome in outcomes:
        ledger.add(outcome)
    return ledger


def _about_metric(name: str, score: Interval, metrics: MetricRegistry) -> dict[str, Any]:
    metric = metrics.find(name)
    return {
        "n": score.n,
        "n_undefined": score.n_undefined,
        "reason": score.reason,
        "description": metric.description,
        "direction": metric.direction,
    }
