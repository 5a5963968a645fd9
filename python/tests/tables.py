"""Inputs with their expected outputs, as tables beside the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml


def table(name: str) -> dict[str, Any]:
    """Return the tables of one test file: name of the test to its rows."""
    path = Path(__file__).parent / "tables" / f"{name}.json"
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


def yaml_table(name: str) -> Any:
    """Return what a file of YAML holds, for tables that a person reads row by row."""
    path = Path(__file__).parent / "tables" / f"{name}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))
