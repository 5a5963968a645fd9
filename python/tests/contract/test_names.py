"""The names that the documents import and the flags that they give stay."""

from __future__ import annotations

from importlib import import_module

import pytest
from in_process import Main
from tables import table

NAMES, FLAGS = table("names").values()


@pytest.mark.parametrize("module", NAMES)
def test_documented_names_are_there(module: str) -> None:
    found = import_module(module)
    assert [name for name in NAMES[module] if not hasattr(found, name)] == []


@pytest.mark.parametrize("command", FLAGS)
def test_documented_flags_are_there(command: str, main: Main) -> None:
    shown = main(*command.split(), "--help").out
    words = {word.strip(",") for word in shown.split()}
    assert set(FLAGS[command]) <= words
