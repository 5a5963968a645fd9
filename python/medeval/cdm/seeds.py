"""The project's seeds of the CDM floor, read as they lie in the checkout."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from medeval.errors import UserError
from medeval.profile import project_root

Cells = dict[str, str]
Row = TypeVar("Row")
Key = TypeVar("Key")
Value = TypeVar("Value")


class Seeds:
    """The CSV files of one folder; what is wrong with one is said with its name and line."""

    def __init__(self, root: Path | None = None) -> None:
        """Take the project's folder; None searches upwards from the current one."""
        self._folder = (root or project_root()) / "seeds" / "cdm"

    def rows(self, name: str, columns: Sequence[str]) -> list[Cells]:
        """Return the rows of a seed in the order of its file.

        Raises:
            UserError: no such file, or one of the columns or a cell is missing.
        """
        path = self._folder / f"{name}.csv"
        try:
            with path.open(encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file)
                absent = [column for column in columns if column not in (reader.fieldnames or ())]
                rows: list[Cells] = list(reader)
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.") from error
        if absent:
            raise UserError(f"{path}: no column {', '.join(absent)}.")
        for number, row in enumerate(rows, start=1):
            if None in row or None in row.values():
                raise UserError(f"{path}: row {number} has not one cell a column.")
        return rows

    def whole(self, name: str, cell: str) -> int:
        """Return a cell as a whole number.

        Raises:
            UserError: it is none.
        """
        try:
            return int(cell)
        except ValueError:
            raise UserError(f"{self._folder / name}.csv: {cell!r} is no whole number.") from None


def grouped(
    rows: Iterable[Row], key: Callable[[Row], Key], value: Callable[[Row], Value]
) -> dict[Key, tuple[Value, ...]]:
    """Return the values of each key, both in the order of the rows."""
    found: dict[Key, list[Value]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(value(row))
    return {key: tuple(values) for key, values in found.items()}
