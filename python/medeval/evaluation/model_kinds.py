"""What the model runner asks of every kind of model, and what kinds share."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from medeval.errors import UserError
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row

Result = TypeVar("Result")


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


class Model(Protocol):
    """A loaded model."""

    @property
    def handle(self) -> Any:
        """What loading it returns: the object behind it where there is one."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What decides its answers, as JSON values, and never a key."""

    def outputs(self, inputs: list[Row], call: Call) -> list[Row]:
        """Return one output for each input, in their order; `{"error": ...}` for a failed one."""

    def measured(self) -> list[dict[str, Any]]:
        """Return what was measured of each input of the last call; empty if nothing is."""

    def close(self) -> None:
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


def as_row(output: Any) -> Row:
    """Return an output if it is a mapping; anything else is an error of its item."""
    return dict(output) if isinstance(output, Mapping) else failed("NotAMapping", 1)


def finished(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for a coroutine, also where an event loop runs already, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
