"""Inputs with their expected outputs, as tables of JSON or YAML beside the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml


def table(name: str) -> dict[str, Any]:
    """Return the tables of one test file: name of the test to its rows."""
    (path,) = (Path(__file__).parent / "tables").glob(f"{name}.*")
    text = path.read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    return tables
