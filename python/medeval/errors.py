"""The one exception that a user is meant to see, and what is said of a document with a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(Exception):
    """Bad usage or bad input: printed as a plain sentence, exit code 2, no traceback.

    The message says what is wrong, where (file, row, column, key) and what to do next.
    """


class OSErrorAs:
    """Around what the operating system may refuse: a `UserError` says so in a sentence.

    Args:
        sentence: with `{why}` where the system's own words stand, and `{file}` for what it names.
        file: what stands for `{file}` where the system names none.
    """

    def __init__(self, sentence: str, file: object = "") -> None:
        self.sentence, self.file = sentence, file

    def __enter__(self) -> None:
        """Nothing is needed before."""

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, OSError):
            why, file = error.strerror or str(error), error.filename or self.file
            told = self.sentence.replace("{file}", str(file)).replace("{why}", why)
            raise UserError(told) from error


def first_fault(error: ValidationError) -> str:
    """Return the first field that is not of its form, and why.

    What stands in the field is left out: it may be a key, or text of a patient.
    """
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    is_object = first["type"] == "model_type"  # in words of its own it names classes of ours
    why = "Input should be an object" if is_object else first["msg"]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), why)))
