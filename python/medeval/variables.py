"""The dbt variables of the project: what each can be, and of which benchmark it is a setting."""

from __future__ import annotations

import json
import re
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


@dataclass(frozen=True)
class Variable:
    """One variable.

    Attributes:
        floor: the benchmark whose tables it changes; nothing for one that changes all.
        can_be: in words.
        holds: tells whether it can be a value, which YAML may have made a number or truth value.
    """

    floor: str
    can_be: str
    holds: Callable[[object], bool]


def _choice(floor: str, *choices: str) -> Variable:
    return Variable(
        floor, " or ".join([", ".join(choices[:-1]), choices[-1]]), choices.__contains__
    )


def _schema(floor: str) -> Variable:
    return Variable(floor, "the name of a schema", is_schema)


def _whole(floor: str, least: int) -> Variable:
    def holds(value: object) -> bool:
        digits = "" if isinstance(value, bool) else str(value)
        return bool(re.fullmatch("[0-9]{1,9}", digits)) and int(digits) >= least

    return Variable(floor, f"a whole number from {least:,} to 999,999,999", holds)


def _truth(floor: str) -> Variable:
    return Variable(floor, "true or false", lambda value: str(value).lower() in ("true", "false"))


def is_schema(value: object) -> bool:
    """Tell whether a schema's name may stand between quotes and in a text literal of SQL."""
    return bool(isinstance(value, str) and re.fullmatch("[A-Za-z_][A-Za-z0-9_$-]*", value))


def _is_word(value: object) -> bool:
    return bool(isinstance(value, str) and re.fullmatch("[A-Za-z0-9_ ]+", value))


VARIABLES = {
    "cdm_rules": _choice("cdm", "specification", "reference"),
    "cdm_extract_source": _choice("cdm", "auto", "provided", "derived"),
    "cdm_cohort_file": Variable(
        "cdm",
        "the path of a file with one hadm_id a line, or '' for the published selection rule",
        lambda value: isinstance(value, str),
    ),
    "pelvis_as_abdomen": _truth("cdm"),
    "mimic3_check_row_counts": _truth("mimic3"),
    "mimic3_training_hours": _whole("mimic3_features", 1),
    "mimic3_training_seed": _whole("mimic3_features", 0),
    "mtsamples_truncation": _choice("mtsamples", "helm", "medarc"),
    "mimic3_schema": _schema("mimic3"),
    "mimic4_hosp_schema": _schema("cdm"),
    "mimic4_note_schema": _schema("cdm"),
    "cdm_extract_schema": _schema("cdm"),
    "yier_schema": _schema("yier"),
    "mtsamples_schema": _schema("mtsamples"),
    "double_type": Variable(
        "",
        "the name of a type, in letters, digits and underscores",
        _is_word,
    ),
}


def settings(floor: str, value_of: Callable[[str], object]) -> str:
    """Return every setting of a benchmark as JSON: what its tables were built with.

    Args:
        floor: the benchmark.
        value_of: returns the value of a variable.
    """
    return json.dumps(
        {
            name: _plain(value_of(name))
            for name, variable in VARIABLES.items()
            if variable.floor in (floor, "")
        }
    )


def check_schema(name: str, what: str) -> None:
    """Stop at a text that can be no name of a schema; `what` says where it stands.

    Raises:
        UserError: naming it.
    """
    if not is_schema(name):
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
    of_project, ours = _declared(project), _declared(package)
    scoped = {**of_project.get(PACKAGE, {}), **given.get(PACKAGE, {})}
    alone = project == package
    _check_names([*scoped, *(given if alone else ()), *(of_project if alone else ())], cutoff=0.0)
    _check_names((name for name in given if name not in of_project and not alone), cutoff=_MISSPELT)
    values = {**ours, **ours.get(PACKAGE, {}), **of_project, **scoped, **given}
    for name, variable in VARIABLES.items():
        value = values.get(name)
        if variable.can_be == "the name of a schema":
            check_schema(value if isinstance(value, str) else str(value), f"the variable {name}")
        elif not variable.holds(value):
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


def _declared(folder: Path) -> dict[str, Any]:
    """Return the variables of the dbt project in a folder."""
    read = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    found: dict[str, Any] = read.get("vars") or {}
    return found


def _plain(value: object) -> object:
    """Return a value as it was meant: a truth value or number that was written as a text."""
    text = str(value)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else value
