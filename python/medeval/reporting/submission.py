"""Submission files: made of the results of a run, written, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.medical_task import input_ids
from medeval.reporting.privacy import may_show_text
from medeval.reporting.submission_models import Submission, SubmissionItem, TaskSubmission

__all__ = [
    "Submission",
    "SubmissionItem",
    "TaskSubmission",
    "build_submission",
    "read_submission",
    "validate_submission",
    "write_submission",
]

# The keys under which models give their reasons, the first that has a text counts.
REASONING_KEYS = ("reasoning", "chain_of_thought", "trace", "rationale")


def build_submission(
    report: BenchmarkReport, *, include_reasoning: bool = True, show_text: bool = False
) -> Submission:
    """Return the predictions of a report, one for each item that was asked.

    An item without an output has the prediction `{"error": ...}`: it is not left out, as a board
    that does not see it would not count it. Tasks that failed have no predictions.

    Args:
        report: of a run.
        include_reasoning: take reasons along in a field of their own.
        show_text: also take tasks that are not open, whose outputs may quote patients.

    Raises:
        UserError: a task is not open and `show_text` is not set, a task has several results, or
            there is no prediction at all.
    """
    answered = [result for result in report.detailed_results if result.model_outputs]
    ids = [result.task_id for result in answered]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        raise UserError(f"Task {twice[0]!r} has several results. Submit one run.")
    closed = [result.task_id for result in answered if not may_show_text(result)]
    if closed and not show_text:
        raise UserError(
            f"Task {closed[0]!r} is not open: its outputs may quote patients. Submit it only where"
            " your data use agreement allows it, with show_text."
        )
    if not answered:
        raise UserError("The report has no model outputs, so there is nothing to submit.")
    return validate_submission(
        {
            "run_id": str(report.metadata.get("run_id") or "unknown"),
            "model_id": report.model_id,
            "submissions": [
                {
                    "task_id": result.task_id,
                    "task_hash": result.metadata.get("task_hash"),
                    "items": _items(result, include_reasoning),
                }
                for result in answered
            ],
        }
    )


def read_submission(path: str | Path) -> Submission:
    """Read a submission file, JSON or YAML.

    Raises:
        UserError: there is no such file, or it is no submission; naming file and field.
    """
    place = Path(path)
    try:
        return Submission.from_file(place)
    except FileNotFoundError:
        raise UserError(f"There is no submission file {place}.") from None
    except ValidationError as error:
        raise UserError(f"{place} is no submission: {_described(error)}.") from None
    except ValueError as error:
        raise UserError(f"{place} is no submission: {error}") from None


def validate_submission(content: Mapping[str, Any]) -> Submission:
    """Return a submission from its fields.

    Raises:
        UserError: it is none; naming each field that breaks a rule.
    """
    try:
        return Submission.model_validate(content)
    except ValidationError as error:
        raise UserError(f"Not a submission: {_described(error)}.") from None


def write_submission(submission: Submission, path: str | Path) -> None:
    """Write a submission to a .json or .yaml file, as a whole.

    Raises:
        UserError: another suffix.
    """
    try:
        submission.save(path)
    except ValueError as error:
        raise UserError(str(error)) from None


def _items(result: EvaluationResult, include_reasoning: bool) -> list[dict[str, Any]]:
    names = result.metadata.get("input_ids") or input_ids(
        result.inputs or [{} for _ in result.model_outputs]
    )
    if len(names) != len(result.model_outputs):
        raise UserError(
            f"Task {result.task_id!r}: {len(result.model_outputs)} outputs for {len(names)} inputs."
        )
    return [
        {
            "input_id": name,
            "prediction": output or {"error": {"type": "empty"}},
            "reasoning": _reasoning(output) if include_reasoning else None,
        }
        for name, output in zip(names, result.model_outputs, strict=True)
    ]


def _reasoning(output: Mapping[str, Any]) -> str | None:
    texts = (str(output[key]) for key in REASONING_KEYS if output.get(key) is not None)
    return next((text for text in texts if text.strip()), None)


def _described(error: ValidationError) -> str:
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}" for each in found
    )
