"""The facts of tools and scores as CSV files: the package's own, and a seed that models read too.

`data/facts.yml` says of each where it comes from and what holds for its cells.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from medeval.errors import UserError
from medeval.sources import project_root

Cells = dict[str, str]
Row = TypeVar("Row")
Key = TypeVar("Key")
Value = TypeVar("Value")


DATA = Path(__file__).with_name("data")


class Seeds:
    """The CSV files; what is wrong with one is said with its name and line."""

    def __init__(self, root: Path | None = None, data: Path = DATA) -> None:
        """Take the project's folder; None searches upwards from the current one.

        Args:
            root: the project's folder, for its seeds.
            data: the folder of the package's own files.
        """
        self._data = data
        self._root = root

    def _path(self, name: str) -> Path:
        path = self._data / f"{name}.csv"
        # Only a seed of the floor needs a checkout.
        return path if path.exists() else (self._root or project_root()) / f"seeds/cdm/{name}.csv"

    def rows(self, name: str, columns: Sequence[str]) -> list[Cells]:
        """Return the rows of a seed in the order of its file.

        Raises:
            UserError: no such file, or one of the columns or a cell is missing.
        """
        path = self._path(name)
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
            raise UserError(f"{self._path(name)}: {cell!r} is no whole number.") from None


def grouped(
    rows: Iterable[Row], key: Callable[[Row], Key], value: Callable[[Row], Value]
) -> dict[Key, tuple[Value, ...]]:
    """Return the values of each key, both in the order of the rows."""
    found: dict[Key, list[Value]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(value(row))
    return {key: tuple(values) for key, values in found.items()}
