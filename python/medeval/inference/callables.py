"""A user's function over many inputs: one output for each, in order, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from medeval.text import whole_json

Output = Any


def aligned_outputs(
    function: Callable[[Any], Any],
    inputs: Sequence[Any],
    batch_size: int = 8,
    is_per_item: bool = False,
) -> Iterator[Output]:
    """Yield one output for each input.

    A batch that fails, or that comes back with another length, is an error for each of its items
    and for no other: no output slides onto another input's place.

    Args:
        function: takes a list of inputs and returns a list, or one input and returns one output.
        inputs: in the order of the outputs.
        batch_size: inputs per call.
        is_per_item: the function takes one input.

    Whatever a function raises is an error, also what would end the caller; KeyboardInterrupt alone
    stays what it is.

    Yields:
        What the function returned, or `{"error": {"type": ..., "attempts": 1}}`; an error of a
        batch says so in `batch`. The message of an error is left out: it may hold an input's text.
    """
    if batch_size < 1:
        raise ValueError("batch_size must be at least 1")
    if is_per_item:
        for value in inputs:
            yield _one(function, value)
        return
    for start in range(0, len(inputs), batch_size):
        yield from _batch(function, list(inputs[start : start + batch_size]))


def _one(function: Callable[[Any], Any], value: Any) -> Output:
    try:
        return whole_json(function(value))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever a user's function raises
        return _error(type(error).__name__)


def _batch(function: Callable[[Any], Any], batch: list[Any]) -> list[Output]:
    size = len(batch)
    try:
        outputs = whole_json(function(batch))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever a user's function raises
        return [_error(type(error).__name__, batch=size) for _ in range(size)]
    if not isinstance(outputs, list | tuple):
        return [_error("NotAList", batch=size) for _ in range(size)]
    if len(outputs) != size:
        return [_error("WrongLength", batch=size, returned=len(outputs)) for _ in range(size)]
    return list(outputs)


def _error(kind: str, **more: int) -> Output:
    return {"error": {"type": kind, "attempts": 1, **more}}
