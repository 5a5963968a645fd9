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


def first_fault(error: ValidationError) -> str:
    """Return the first field that is not of its form, and why.

    What stands in the field is left out: it may be a key, or text of a patient.
    """
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    is_object = first["type"] == "model_type"  # in words of its own it names classes of ours
    why = "Input should be an object" if is_object else first["msg"]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), why)))
