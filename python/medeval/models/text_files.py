"""JSON and YAML files: UTF-8 whatever the locale, complete or not there, for their owner only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from medeval.errors import UserError
from medeval.files import replace_file

Format = Literal["json", "yaml"]

FORMATS: Mapping[str, Format] = {"json": "json", "yaml": "yaml", "yml": "yaml"}


def format_of(called: str | Path, without_suffix: Format | None = None) -> Format:
    """Return the format of a name, or the one that a path's suffix names.

    Args:
        called: the name or the path.
        without_suffix: what a file without a suffix is; None makes it an error.

    Raises:
        ValueError: it is none of json, yaml and yml; naming the file.
    """
    name, place = (called, "") if isinstance(called, str) else (called.suffix, f"{called}: ")
    found = FORMATS.get(name.lower().removeprefix("."), None if name else without_suffix)
    if found is None:
        raise ValueError(f"{place}unsupported format {name!r}: use json, yaml or yml")
    return found


def read_text(path: Path) -> str:
    """Read a UTF-8 file, with or without a byte order mark.

    Raises:
        ValueError: naming the file and the first byte that is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file as a whole, text as UTF-8; its folder is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text if isinstance(text, bytes) else text.encode())


def save_text(path: Path, text: str) -> None:
    """Write a UTF-8 file as a whole to a place that the user chose: no folder is made for it.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror or error}.") from error
