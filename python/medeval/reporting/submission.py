"""Submission files: what a model predicted on tasks, for a board that scores it itself.

Besides the predictions a file names the content of each task by its hash, so that a board can
refuse what was answered on other data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from medeval.errors import UserError
from medeval.models.benchmark_report import BenchmarkReport, EvaluationResult
from medeval.models.documents import Document, Identifier, SchemaVersion, described
from medeval.models.medical_task import MedicalTask, input_ids, task_hash
from medeval.models.schemas import Row
from medeval.models.scores import Moment, utc_now
from medeval.reporting.report import may_show_text

# The keys under which models give their reasons, the first that has a text counts.
REASONING_KEYS = ("reasoning", "chain_of_thought", "trace", "rationale")
_MOST_NAMED = 5
# Left out of a file, and not null.
_OptionalText = Annotated[Identifier | None, Field(exclude_if=lambda text: text is None)]


def _each_once(field: str) -> AfterValidator:
    """Return what refuses a list in which two parts have one name."""

    def check(parts: list[Any]) -> list[Any]:
        times = Counter(getattr(one, field) for one in parts)
        if twice := [name for name, count in times.items() if count > 1]:
            raise ValueError(f"there is more than once the {field} {_named(twice)}")
        return parts

    return AfterValidator(check)


class SubmissionItem(BaseModel, extra="allow", hide_input_in_errors=True):
    """One prediction; what else a file says is kept.

    Attributes:
        input_id: the `id` of the input, or its index as text.
        prediction: the output of the model; `{"error": ...}` where there is none.
        reasoning: how the model came to it, if it says so.
    """

    input_id: Identifier
    prediction: Annotated[dict[str, Any], Field(min_length=1)]
    reasoning: _OptionalText = None


class TaskSubmission(BaseModel, extra="allow", hide_input_in_errors=True):
    """The predictions on one task; what else a file says is kept.

    Attributes:
        task_id: the task.
        task_hash: of the content that was answered; None in files of programs that give none.
        items: one for each input.
    """

    task_id: Identifier
    task_hash: _OptionalText = None
    items: Annotated[list[SubmissionItem], Field(min_length=1), _each_once("input_id")]


class Submission(Document, extra="allow"):
    """The predictions of one run of a model.

    Attributes:
        run_id: the run.
        model_id: the model.
        created_at: when the file was made, in UTC.
        submissions: one for each task.
    """

    schema_version: Annotated[SchemaVersion, Field(ge=1)] = 1
    run_id: Identifier
    model_id: Identifier
    created_at: Moment = Field(default_factory=utc_now)
    submissions: Annotated[list[TaskSubmission], Field(min_length=1), _each_once("task_id")]

    def outputs_for(self, task: MedicalTask) -> list[Row]:
        """Return the predictions in the order of a task's inputs, fit to be scored.

        Raises:
            UserError: there are none, they are of other content or of content that is not named,
                or there is not one for each input.
        """
        found = next((one for one in self.submissions if one.task_id == task.task_id), None)
        if found is None:
            raise UserError(f"Submission {self.run_id!r} has nothing on task {task.task_id!r}.")
        place, expected = f"Submission {self.run_id!r}: task {task.task_id!r}", task_hash(task)
        if found.task_hash != expected:
            given = (found.task_hash or "not named")[:12]
            raise UserError(
                f"{place} was answered on other content ({given}) than this ({expected[:12]})."
                " Answer it anew."
            )
        wanted = input_ids(task.pairs()[0])
        items = {item.input_id: dict(item.prediction) for item in found.items}
        missing, unknown = set(wanted) - items.keys(), items.keys() - set(wanted)
        if names := missing or unknown:
            wrong = "no item for" if missing else "items for unknown inputs"
            raise UserError(f"{place} has {wrong} {_named(sorted(names))}.")
        return [items[name] for name in wanted]


def _named(every: Sequence[str]) -> str:
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(map(repr, every[:_MOST_NAMED])) + more


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
    times = Counter(result.task_id for result in answered)
    if twice := sorted(name for name, count in times.items() if count > 1):
        raise UserError(f"Task {twice[0]!r} has several results. Submit one run.")
    closed = [result.task_id for result in answered if not may_show_text(result)]
    if closed and not show_text:
        raise UserError(
            f"Task {closed[0]!r} is not open: its outputs may quote patients. Submit it only where"
            " your data use agreement allows it, with show_text."
        )
    if not answered:
        raise UserError("The report has no model outputs, so there is nothing to submit.")
    submissions = [
        {
            "task_id": result.task_id,
            "task_hash": result.metadata.get("task_hash"),
            "items": _items(result, include_reasoning),
        }
        for result in answered
    ]
    run_id = str(report.metadata.get("run_id") or "unknown")
    content = {"run_id": run_id, "model_id": report.model_id, "submissions": submissions}
    try:
        return Submission.model_validate(content)
    except ValidationError as error:
        raise UserError(f"Not a submission: {_faults(error)}.") from None


def read_submission(path: str | Path) -> Submission:
    """Read a submission file, JSON or YAML.

    Raises:
        UserError: there is no such file, or it is no submission; naming file and field.
    """
    try:
        return Submission.from_file(path)
    except FileNotFoundError:
        raise UserError(f"There is no submission file {path}.") from None
    except ValueError as error:
        raise UserError(f"{path} is no submission: {_faults(error)}.") from None


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
    rows = result.inputs or [{}] * len(result.model_outputs)
    names = result.metadata.get("input_ids") or input_ids(rows)
    if len(names) != len(result.model_outputs):
        raise UserError(
            f"Task {result.task_id!r}: {len(result.model_outputs)} outputs for {len(names)} inputs."
        )
    items = []
    for name, output in zip(names, result.model_outputs, strict=True):
        given = [output.get(key) for key in (REASONING_KEYS if include_reasoning else ())]
        reasons = (str(text) for text in given if text is not None and str(text).strip())
        item = {"input_id": name, "prediction": output or {"error": {"type": "empty"}}}
        items.append(item | {"reasoning": next(reasons, None)})
    return items


def _faults(error: ValueError) -> str:
    return "; ".join(described(error, "the whole"))
