"""Options of a task: from flags, from a JSON object, from the record of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from medeval.errors import UserError


class TaskOptions(BaseModel):
    """What can be chosen about a task; each task has its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Options = TypeVar("Options", bound=TaskOptions)


def read_options(kind: type[Options], given: Mapping[str, Any], task: str) -> Options:
    """Check the options of a task.

    Raises:
        UserError: an option that the task does not have, or a value that cannot be meant.
    """
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields) or "none"
            raise UserError(f"{task} has no option {name!r}. Its options: {known}.") from None
        raise UserError(f"{task}: option {name}: {first['msg']}.") from None


def parse_arguments(text: str | None) -> dict[str, Any]:
    """Return the options of a JSON object, as `--env-args` takes them.

    Raises:
        UserError: it is no JSON object.
    """
    if text is None:
        return {}
    try:
        read = json.loads(text)
    except ValueError as error:
        raise UserError(f"--env-args is not JSON ({error}).") from None
    if not isinstance(read, dict):
        raise UserError("--env-args is one JSON object, such as '{\"use_think\": true}'.")
    return read
