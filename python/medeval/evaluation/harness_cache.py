"""Answers of a model to a task, kept on disk under everything that decides them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medeval.inference.types import canonical
from medeval.models.schemas import Row
from medeval.models.text_files import write_text


def cache_key(model: Mapping[str, Any], prompt_version: str, task_hash: str) -> str:
    """Return the SHA-256 of all that decides the answers.

    Args:
        model: who answers: name, type, parameters and the state of its files.
        prompt_version: of the text around the task's own.
        task_hash: of the content of the task.
    """
    parts = {"model": dict(model), "prompt_version": prompt_version, "task": task_hash}
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


class AnswerCache:
    """A folder with one file for the answers to each task; inputs are not in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: str, count: int) -> list[Row] | None:
        """Return the answers under a key; None if there are none, or not as many as items."""
        try:
            entry = json.loads(self._path(key).read_bytes())
            is_whole = entry["key"] == key and len(entry["outputs"]) == count
            outputs = [dict(output) for output in entry["outputs"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return outputs if is_whole else None

    def write(self, key: str, outputs: Sequence[Mapping[str, Any]]) -> None:
        """Keep answers under a key."""
        entry = {"key": key, "outputs": list(outputs)}
        write_text(self._path(key), json.dumps(entry, ensure_ascii=False))

    def _path(self, key: str) -> Path:
        return self._folder / f"answers-{key}.json"
