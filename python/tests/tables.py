<<<<<<< HEAD
"""Inputs with their expected outputs, as tables beside the tests."""
=======
"""Inputs with their expected outputs, as tables of JSON or YAML beside the tests."""
>>>>>>> engine

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

<<<<<<< HEAD
=======
import pytest
>>>>>>> engine
import yaml


def table(name: str) -> dict[str, Any]:
    """Return the tables of one test file: name of the test to its rows."""
    path = Path(__file__).parent / "tables" / f"{name}.json"
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


<<<<<<< HEAD
def yaml_table(name: str) -> dict[str, Any]:
    """Return the tables of a file of YAML, for those that a person reads row by row."""
    path = Path(__file__).parent / "tables" / f"{name}.yaml"
    tables: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tables
=======
def rows_of(name: str, folder: str = "tables") -> list[Any]:
    """Return the rows of a table in YAML as parameters of a test, named by their group.

    A group has `about`, `rows`, and in `all` what each of its rows has unless it says otherwise.
    """
    path = Path(__file__).parent / folder / f"{name}.yaml"
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        pytest.param({**group.get("all", {}), **row}, id=f"{group['about']}-{number}")
        for group in groups
        for number, row in enumerate(group["rows"])
    ]
>>>>>>> engine
