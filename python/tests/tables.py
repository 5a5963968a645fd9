"""Inputs with their expected outputs, as tables of JSON or YAML; and calls that are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from medeval.errors import UserError


def table(name: str, folder: str = "tables") -> Any:
    """Return the tables of one test file, mostly as name of the test to its rows."""
    (path,) = (Path(__file__).parent / folder).glob(f"{name}.[jy]*")
    if path.suffix == ".jsonl":
        return read_lines(path)
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else read_yaml(text)


def read_lines(path: Path) -> list[Any]:
    """Return what the lines of a file of JSON say."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def at(value: Any, place: str) -> Any:
    """Return what is at a place: keys and numbers between dots; `*` stands for each of a list."""
    name, _, rest = place.partition(".")
    if name == "*":
        return [at(each, rest) for each in value]
    found = value[int(name) if isinstance(value, list) else name]
    return at(found, rest) if rest else found


def changed(value: Any, place: str, new: Any) -> Any:
    """Return a copy with something else at a place, or with nothing there if it is `gone`."""
    copied = deepcopy(value)
    above, _, last = place.rpartition(".")
    part = at(copied, above) if above else copied
    name = int(last) if isinstance(part, list) else last
    part[name] = new
    if new == "gone":
        del part[name]
    return copied


def read_yaml(text: str) -> Any:
    """Return what a text says: by libyaml, which is fast, unless it has half a surrogate pair."""
    loader = yaml.SafeLoader if re.search(r"\\u[dD]", text) else yaml.CSafeLoader
    return yaml.load(text, loader)


def rows_of(name: str, folder: str = "tables") -> list[Any]:
    """Return the rows of a table as parameters of a test, named by their group.

    A group has `about`, `rows`, and in `all` what each of its rows has unless it says otherwise.
    """
    return [
        pytest.param({**group.get("all", {}), **row}, id=f"{group['about']}-{number}")
        for group in table(name, folder)
        for number, row in enumerate(group["rows"])
    ]


def slow_after(count: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of a test of which all but the first `count` are slow.

    A tuple holds the values of several arguments, as pytest has it.
    """
    given = [value if isinstance(value, tuple) else (value,) for value in values]
    slow = (pytest.param(*value, marks=pytest.mark.slow) for value in given[count:])
    return [*(pytest.param(*value) for value in given[:count]), *slow]


def refused(
    said: str,
    call: Callable[..., object],
    *given: Any,
    error: type[Exception] | tuple[type[Exception], ...] = UserError,
    **more: Any,
) -> str:
    """Hold that a call is refused, with words that fit a pattern if there is one; return them."""
    with pytest.raises(error, match=said or None) as caught:
        call(*given, **more)
    return str(caught.value)
