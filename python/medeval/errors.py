"""The one exception that a user is meant to see, and what is said of a document with a fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(Exception):
    """Bad usage or bad input: printed as a plain sentence, exit code 2, no traceback.

    The message says what is wrong, where (file, row, column, key) and what to do next.
    """


@contextmanager
def os_error_as(sentence: str, file: object = "") -> Iterator[None]:
    """Around what the operating system may refuse: a `UserError` says so in a sentence.

    Args:
        sentence: with `{why}` where the system's own words stand, and `{file}` for what it names.
        file: what stands for `{file}` where the system names none.
    """
    try:
        yield
    except OSError as error:
        told = sentence.replace("{file}", str(error.filename or file))
        raise UserError(told.replace("{why}", error.strerror or str(error))) from error


def in_words(message: str) -> str:
    """Return a message of pydantic without the kind of error that it puts before a rule's own."""
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def faults_of(error: ValidationError) -> str:
    """Return the first three fields that are not of their form, and why.

    What stands in a field is left out: it may be a key, or text of a patient.
    """
    told = []
    for fault in error.errors(include_input=False, include_url=False, include_context=False):
        is_object = fault["type"] == "model_type"  # in words of its own it names classes of ours
        why = "Input should be an object" if is_object else in_words(fault["msg"])
        told.append(": ".join(filter(None, (".".join(map(str, fault["loc"])), why))))
    told[3:] = [f"and {len(told) - 3} more"] if told[3:] else []
    return "; ".join(told)
