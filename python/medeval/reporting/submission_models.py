"""Submission files: what a model predicted on tasks, for a board that scores it itself.

Besides the predictions a file names the content of each task by its hash, so that a board can
refuse what was answered on other data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from medeval.errors import UserError
from medeval.models.documents import Document, Identifier, SchemaVersion
from medeval.models.medical_task import MedicalTask, input_ids, task_hash
from medeval.models.schemas import Row
from medeval.models.scores import Moment, utc_now

_MOST_NAMED = 5


class _Part(BaseModel):
    """A part of a submission; what else a file says is kept, null is left out when written."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    @model_serializer(mode="wrap")
    def _without_null(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}


class SubmissionItem(_Part):
    """One prediction.

    Attributes:
        input_id: the `id` of the input, or its index as text.
        prediction: the output of the model; `{"error": ...}` where there is none.
        reasoning: how the model came to it, if it says so.
    """

    input_id: Identifier
    prediction: Annotated[dict[str, Any], Field(min_length=1)]
    reasoning: Identifier | None = None


class TaskSubmission(_Part):
    """The predictions on one task.

    Attributes:
        task_id: the task.
        task_hash: of the content that was answered; None in files of programs that give none.
        items: one for each input.
    """

    task_id: Identifier
    task_hash: Identifier | None = None
    items: Annotated[list[SubmissionItem], Field(min_length=1)]

    @field_validator("items")
    @classmethod
    def _each_input_once(cls, items: list[SubmissionItem]) -> list[SubmissionItem]:
        if twice := _twice(item.input_id for item in items):
            raise ValueError(f"more than one item has the input_id {_named(twice)}")
        return items


class Submission(Document):
    """The predictions of one run of a model.

    Attributes:
        run_id: the run.
        model_id: the model.
        created_at: when the file was made, in UTC.
        submissions: one for each task.
    """

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    schema_version: Annotated[SchemaVersion, Field(ge=1)] = 1
    run_id: Identifier
    model_id: Identifier
    created_at: Moment = Field(default_factory=utc_now)
    submissions: Annotated[list[TaskSubmission], Field(min_length=1)]

    @field_validator("submissions")
    @classmethod
    def _each_task_once(cls, submissions: list[TaskSubmission]) -> list[TaskSubmission]:
        if twice := _twice(one.task_id for one in submissions):
            raise ValueError(f"more than one submission has the task_id {_named(twice)}")
        return submissions

    def outputs_for(self, task: MedicalTask) -> list[Row]:
        """Return the predictions in the order of a task's inputs, fit to be scored.

        Raises:
            UserError: they are not of this task's content, or not one for each input.
        """
        self.check_against([task])
        items = {item.input_id: item for item in self._of(task.task_id).items}
        return [dict(items[name].prediction) for name in input_ids(task.pairs()[0])]

    def check_against(self, tasks: Iterable[MedicalTask]) -> Self:
        """Check the predictions on tasks; those on other tasks are not looked at.

        Raises:
            UserError: a task is missing, was answered on other content or on content that is not
                named, or has not one item for each input.
        """
        for task in tasks:
            found = self._of(task.task_id)
            expected = task_hash(task)
            if found.task_hash != expected:
                given = (found.task_hash or "not named")[:12]
                raise UserError(
                    f"Submission {self.run_id!r}: task {task.task_id!r} was answered on other"
                    f" content ({given}) than this ({expected[:12]}). Answer it anew."
                )
            wanted = set(input_ids(task.pairs()[0]))
            given_ids = {item.input_id for item in found.items}
            self._refuse(task.task_id, "has no item for", wanted - given_ids)
            self._refuse(task.task_id, "has items for unknown inputs", given_ids - wanted)
        return self

    def _refuse(self, task_id: str, what: str, names: set[str]) -> None:
        if names:
            raise UserError(
                f"Submission {self.run_id!r}: task {task_id!r} {what} {_named(sorted(names))}."
            )

    def _of(self, task_id: str) -> TaskSubmission:
        for one in self.submissions:
            if one.task_id == task_id:
                return one
        raise UserError(f"Submission {self.run_id!r} has nothing on task {task_id!r}.")


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _named(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(map(repr, every[:_MOST_NAMED])) + more
