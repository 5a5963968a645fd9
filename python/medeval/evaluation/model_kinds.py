"""What the model runner asks of every kind of model, and models that take lists of inputs.

A model turns inputs into items of the engine, says who answers them, and reads
outputs from the lines of the journal. The engine of `run` does all that is between.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.errors import CallFailedError, Failure, Kind, RetryPolicy
from medeval.inference.guard import IN_PROCESS
from medeval.inference.lines import Line
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.run import RunConfig
from medeval.inference.types import Completion, Item, Model, Outcome, Request
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row
from medeval.text import whole_json

_NOT_ASKED = "not_asked"


class MissingExtraError(UserError, ImportError):
    """A part of the package is wanted whose dependencies are not installed."""


@dataclass(frozen=True)
class Call:
    """How a list of inputs is put to a model.

    Attributes:
        batch_size: inputs at a time, for models that take several.
        task: which the inputs are of; None if the caller does not say.
        data_class: of the inputs; what is not `open` may not go to an endpoint at will.
        options: more for the model's own function.
    """

    batch_size: int
    task: MedicalTask | None = None
    data_class: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class LoadedModel(ABC):
    """A model that was loaded under a name.

    Attributes:
        handle: what loading it returns: the object behind it where there is one.
        settings: what decides its answers, as JSON values, and never a key.
    """

    handle: Any
    settings: Mapping[str, Any]

    def folder(self) -> Path | None:
        """Return where its answers are kept; None if it keeps none of its own accord."""
        return None

    @abstractmethod
    def items(
        self, rows: Sequence[Row], lines: Iterable[Line], call: Call
    ) -> list[tuple[Item, Sequence[int]]]:
        """Return what is asked, with the places of the inputs that each item is made of.

        Args:
            rows: the inputs.
            lines: of the journal, from earlier starts.
            call: how the inputs are put.

        Raises:
            ValueError: the inputs cannot be put so.
        """

    @abstractmethod
    def answering(self, rows: Sequence[Row], call: Call) -> Model:
        """Return who answers the items of these inputs."""

    @abstractmethod
    def config(self, call: Call) -> RunConfig:
        """Return how the run is made."""

    @abstractmethod
    def outputs(self, line: Line | None, count: int, call: Call) -> list[Row]:
        """Return the outputs of an item of so many inputs; `{"error": ...}` for a failed one."""

    def close(self) -> None:  # noqa: B027  most have opened nothing
        """Give back what was opened."""


def failed(kind: str, attempts: int, **more: Any) -> Row:
    """Return what stands in the place of an output.

    Args:
        kind: class of the error, or outcome of the item.
        attempts: calls that were made for it.
        more: what else is known.
    """
    known = {key: value for key, value in more.items() if value is not None}
    return {"error": {"type": kind, "attempts": attempts, **known}}


def failed_line(line: Line | None, **more: Any) -> Row:
    """Return the error of an item without a reply; what an endpoint wrote may quote the input."""
    if line is None:
        return failed(_NOT_ASKED, 0)
    error = line.get("error") or {}
    kind = error.get("kind") if line["outcome"] == Outcome.ERRORED else line["outcome"]
    told = {"status": error.get("status"), "code": error.get("code"), **more}
    if kind == Kind.CALLABLE:
        kind = told.pop("code")
    return failed(str(kind), line["measured"]["attempts"], **told)


class BatchModel(LoadedModel):
    """A model that takes lists of inputs: one item of the engine is one batch.

    A batch that fails, or is answered with another number of outputs, is an error for each of its
    items and for no other.

    Args:
        name: what the audit calls the model.
        handle: what loading it returns.
        settings: what decides its answers.
        is_per_item: it takes one input at a time.
        retries: when and how often a failed batch is asked again.
    """

    address = IN_PROCESS

    def __init__(
        self,
        name: str,
        handle: Any,
        settings: Mapping[str, Any],
        *,
        is_per_item: bool = False,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.name = name
        self.handle = handle
        self.settings = settings
        self.is_per_item = is_per_item
        self._retries = retries or RetryPolicy(attempts=1)

    def items(
        self, rows: Sequence[Row], lines: Iterable[Line], call: Call
    ) -> list[tuple[Item, Sequence[int]]]:
        """See `LoadedModel`; a batch that is answered stays as it was made, whatever its size."""
        whole = [line["item"] for line in lines if line["outcome"] == Outcome.ANSWERED]
        batches = [[int(place) for place in name.split(",")] for name in whole]
        known = {place for batch in batches for place in batch}
        left = [place for place in range(len(rows)) if place not in known]
        size = 1 if self.is_per_item else call.batch_size
        batches += [left[start : start + size] for start in range(0, len(left), size)]
        return [
            (self._item([rows[place] for place in batch], batch, call), batch) for batch in batches
        ]

    def _item(self, batch: Sequence[Row], places: Sequence[int], call: Call) -> Item:
        content = self.body(batch)
        name = ",".join(map(str, places))
        return Item(name, [{"role": "user", "content": content}], call.data_class)

    def body(self, batch: Sequence[Row]) -> str:
        """Return a batch as text, which names the request."""
        return json.dumps(batch, default=repr)

    def config(self, call: Call) -> RunConfig:
        """See `LoadedModel`; a batch with a failed output in it is asked again, as a whole."""

        def can_read(item: Item, text: str) -> bool:
            outputs = self._aligned(text, item.id.count(",") + 1, 1)
            return not any("error" in output for output in outputs)

        again = frozenset(Outcome) - {Outcome.ANSWERED}
        return RunConfig(concurrency=1, retries=self._retries, retry=again, can_read=can_read)

    def answering(self, rows: Sequence[Row], call: Call) -> Model:
        """See `LoadedModel`."""
        return BatchEndpoint(self, rows, call)

    @abstractmethod
    async def reply(self, batch: list[Row], request: Request, call: Call) -> str:
        """Return the outputs of a batch as JSON.

        Raises:
            CallFailedError: there are none.
        """

    async def close_connections(self) -> None:
        """Close what was opened for one run."""

    def outputs(self, line: Line | None, count: int, call: Call) -> list[Row]:
        """See `LoadedModel`."""
        if line is None or "text" not in line:
            size = None if self.is_per_item else count
            return [failed_line(line, batch=size) for _ in range(count)]
        return self._aligned(line["text"], count, line["measured"]["attempts"])

    def output(self, given: Any, attempts: int) -> Row:
        """Return one output if it is a mapping; anything else is an error of its item."""
        return given if isinstance(given, dict) else failed("NotAMapping", attempts)

    def _aligned(self, text: str, count: int, attempts: int) -> list[Row]:
        """Return one output for each input of a batch, none of them shifted."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            return [failed(str(Kind.BROKEN), attempts, batch=count) for _ in range(count)]
        if not isinstance(given, list):
            return [failed("NotAList", attempts, batch=count) for _ in range(count)]
        if len(given) != count:
            wrong = {"batch": count, "returned": len(given)}
            return [failed("WrongLength", attempts, **wrong) for _ in range(count)]
        return [self.output(each, attempts) for each in given]


class BatchEndpoint:
    """Answers the batches of one list of inputs by a model; see `Model`."""

    def __init__(self, model: BatchModel, rows: Sequence[Row], call: Call) -> None:
        self.address = model.address
        self.model = model.name
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._model = model
        self._rows = rows
        self._call = call

    async def ask(self, request: Request) -> Completion:
        """See `Model`."""
        batch = [self._rows[int(place)] for place in request.item.id.split(",")]
        text = await self._model.reply(batch, request, self._call)
        return Completion(text, finish_reason="stop", model=self.model)

    async def close(self) -> None:
        """See `Model`."""
        await self._model.close_connections()


def called(function: Callable[[list[Row]], Any], batch: list[Row]) -> str:
    """Return what a function of a batch returns, as JSON; values that JSON lacks are errors.

    Whatever a function raises is an error, also what would end the caller; KeyboardInterrupt alone
    stays what it is. Its message is left out: it may hold an input's text.

    Raises:
        CallFailedError: the function raised.
    """
    try:
        outputs = whole_json(function(batch))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever a user's function raises
        failure = Failure(Kind.CALLABLE, code=type(error).__name__)
    else:
        is_list = isinstance(outputs, list | tuple)
        return json.dumps([writable(each) for each in outputs] if is_list else None)
    raise CallFailedError(failure)


def writable(output: Any) -> Any:
    """Return an output, or the error of one that holds values that JSON lacks."""
    try:
        json.dumps(output, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return failed("NotJson", 1)
    return output
