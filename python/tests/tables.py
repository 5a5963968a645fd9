"""Inputs with their expected outputs, as tables beside the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def table(name: str) -> dict[str, Any]:
    """Return the tables of one test file, YAML or JSON: name of the test to its rows."""
    (path,) = (Path(__file__).parent / "tables").glob(f"{name}.*")
    tables: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tables
