"""Options of a task: from flags, from a JSON object, from the record of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medeval.errors import UserError, in_words
from medeval.files import RepeatedKeyError, unique_keys


class TaskOptions(BaseModel):
    """What can be chosen about a task; each task has its own.

    Attributes:
        WORDS: the help of flags by the names of fields, where these have no description.
        as_built: take what was built of another source than the one that is named now. It is of
            this start, not of the run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    WORDS: ClassVar[Mapping[str, str]] = {}

    as_built: Annotated[bool, Field(exclude=True)] = False


Options = TypeVar("Options", bound=TaskOptions)


def read_options(kind: type[Options], given: Mapping[str, Any], task: str) -> Options:
    """Check the options of a task.

    Raises:
        UserError: an option that the task does not have, or a value that cannot be meant.
    """
    for name, value in given.items():
        if value is None or (field := kind.model_fields.get(name)) is None:
            continue
        # Elsewhere true counts as the number 1, and "no" as false.
        is_switch = bool in (field.annotation, *get_args(field.annotation))
        if is_switch != isinstance(value, bool):
            wrong = (
                f"is true or false, not {value!r}" if is_switch else "is not one of true and false"
            )
            raise UserError(f"{task}: option {name} {wrong}.")
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            own = [name for name, field in kind.model_fields.items() if not field.exclude]
            known = ", ".join(own) or "none"
            raise UserError(f"{task} has no option {name!r}. Its options: {known}.") from None
        raise UserError(f"{task}: option {name}: {in_words(first['msg'])}.") from None


def parse_arguments(text: str | None, named: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options of a JSON object, as `--env-args` takes them, and over them single ones.

    One that is null is as if it were not there.

    Args:
        text: the JSON object.
        named: single options, NAME=VALUE, as `-T` takes them.

    Raises:
        UserError: it is no JSON object, or names one of them twice.
    """
    read = _values("--env-args", text, '{"use_think": true}', "-T", named)
    return {name: value for name, value in read.items() if value is not None}


def parse_parameters(
    text: str | None, named: Sequence[str], flags: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a model: of a JSON object, over them single ones, then flags.

    Args:
        text: the JSON object, as `--parameters` takes it.
        named: single parameters, NAME=VALUE, as `-M` takes them.
        flags: those that have a flag; None for one that was not given.

    Raises:
        UserError: the text is no JSON object, or a number is none that a request can carry.
    """
    parameters = _values("--parameters", text, '{"top_p": 0.9}', "-M", named)
    parameters |= {name: value for name, value in flags.items() if value is not None}
    for name, value in parameters.items():
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            raise UserError(f"{name}: no request can carry a number that is not finite.") from None
    return parameters


def _values(
    flag: str, text: str | None, example: str, single: str, words: Sequence[str]
) -> dict[str, Any]:
    """Return the JSON object of one flag, over it what another takes as NAME=VALUE.

    Args:
        flag: that takes the object.
        text: the object; None where it is not given.
        example: of such an object.
        single: the flag for single values; one that is JSON is read as such.
        words: its NAME=VALUE.

    Raises:
        UserError: it is no JSON object, a word is no NAME=VALUE, or a name comes twice in either,
            of which one would be lost.
    """
    try:
        read = {} if text is None else json.loads(text, object_pairs_hook=unique_keys)
    except RepeatedKeyError as error:
        raise UserError(f"{flag}: {error.key} comes twice. Leave one of them away.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{flag} is not JSON ({error}).") from None
    if not isinstance(read, dict):
        raise UserError(f"{flag} is one JSON object, such as '{example}'.")
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise UserError(f"{single} {word}: write NAME=VALUE.")
        if name in found:
            raise UserError(f"{single}: {name} comes twice. Leave one of them away.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return read | found
