"""The dbt variables of the project: what each can be, and of which benchmark it is a setting."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from medeval.errors import UserError

PACKAGE = "medeval"

# Between the name in another project and one of ours: how alike they are where it is a mistake.
_MISSPELT = 0.85


# It stands between quotes and in text literals of SQL.
_SCHEMA = "[A-Za-z_][A-Za-z0-9_$-]*"


@dataclass(frozen=True)
class Variable:
    """One variable, as variables.toml has it."""

    floor: str = ""
    can_be: str = "the name of a schema"
    pattern: str = _SCHEMA
    is_text: bool = False


VARIABLES = {
    name: Variable(**entry)
    for name, entry in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}


def settings(floor: str, value_of: Callable[[str], object]) -> str:
    """Return every setting of a benchmark as JSON: what its tables were built with.

    Args:
        floor: the benchmark.
        value_of: returns the value of a variable.
    """
    found: dict[str, object] = {}
    for name, variable in VARIABLES.items():
        if variable.floor in (floor, ""):
            value = value_of(name)
            text = str(value)
            # A truth value or number that was written as a text is one.
            if text.lower() in ("true", "false"):
                value = text.lower() == "true"
            elif re.fullmatch("[0-9]{1,9}", text):
                value = int(text)
            found[name] = value
    return json.dumps(found)


def check_schema(name: str, what: str) -> None:
    """Stop at a text that can be no name of a schema; `what` says where it stands.

    Raises:
        UserError: naming it.
    """
    if not re.fullmatch(_SCHEMA, name):
        raise UserError(
            f"A schema cannot be called {json.dumps(str(name))} ({what}): a name has letters,"
            " digits, underscores and hyphens, and begins with a letter or underscore."
        )


def check_variables(given: Mapping[str, Any], project: Path, package: Path) -> None:
    """Stop where a variable does not exist, or is what it cannot be.

    Args:
        given: with `--vars`.
        project: the folder of the dbt project that runs.
        package: the folder of this one, which may be a package of that.

    Raises:
        UserError: naming the variable, what it is and what it can be, or the name that is meant.
    """
    of_project, ours = (
        yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8")).get("vars") or {}
        for folder in (project, package)
    )
    scoped = {**of_project.get(PACKAGE, {}), **given.get(PACKAGE, {})}
    alone = project == package
    _check_names([*scoped, *(given if alone else ()), *(of_project if alone else ())], cutoff=0.0)
    _check_names((name for name in given if name not in of_project and not alone), cutoff=_MISSPELT)
    values = {**ours, **ours.get(PACKAGE, {}), **of_project, **scoped, **given}
    for name, variable in VARIABLES.items():
        value = values.get(name)
        if variable.pattern == _SCHEMA:
            check_schema(str(value), f"the variable {name}")
            continue
        is_kind = isinstance(value, str) or not variable.is_text
        if not (is_kind and re.fullmatch(variable.pattern, str(value))):
            shown = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
            raise UserError(f"The variable {name} is {shown}. It can be {variable.can_be}.")


def _check_names(names: Iterable[str], *, cutoff: float) -> None:
    """Stop at a name that is none; with a cutoff, only at one so much like ours."""
    for name in names:
        if name in VARIABLES or name == PACKAGE:
            continue
        meant = get_close_matches(name, VARIABLES, 1, cutoff or 0.6)
        if meant or not cutoff:
            told = f"Is {meant[0]} meant?" if meant else f"There are: {', '.join(VARIABLES)}."
            raise UserError(f"There is no variable {name}. {told}")
