"""Options of a task as they come from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medeval.errors import UserError


def given_options(env_args: str | None, **flags: Any) -> dict[str, Any]:
    """Return the options that were given: those of the JSON object, and over them the flags.

    Raises:
        UserError: the text is no JSON object.
    """
    from medeval.tasks.options import parse_arguments

    named = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in flags.items()
        if value is not None
    }
    return {**parse_arguments(env_args), **named}


def moved_to(cases: Path | None) -> str:
    """Return the flag that says where an export is now, for a command that is told to the user."""
    return "" if cases is None else f" --cases {shlex.quote(str(cases))}"


def the_only(flag: str, values: Sequence[str] | None) -> str | None:
    """Return the value of a flag that is taken once; None if it was not given.

    Raises:
        UserError: it was given more often, of which one would be lost.
    """
    if values and len(values) > 1:
        raise UserError(f"{flag} was given {len(values)} times: a run has one of them.")
    return values[0] if values else None
