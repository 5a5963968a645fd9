"""Options of a task as they come from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
