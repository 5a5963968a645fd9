"""Flags that mean different things for different tasks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from medeval.errors import UserError

Choice = TypeVar("Choice", bound=StrEnum)


def refuse_flags(task: str, given: Mapping[str, object]) -> None:
    """Refuse flags that a task has no use for.

    Args:
        task: its name.
        given: flag to value; what is false or None was not given.

    Raises:
        UserError: one was given.
    """
    for flag, value in given.items():
        if value not in (None, False):
            raise UserError(f"{task} has no place for {flag}: leave it away.")


def one_of(kind: type[Choice], flag: str, value: str) -> Choice:
    """Return the choice of a name.

    Raises:
        UserError: there is none of that name.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise UserError(f"{flag} {value}: there are {known}.") from None
