"""The table of all tests of the warehouse, by label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from medeval.cdm.words import name_parts, plain
from medeval.errors import UserError


class LabMapping:
    """All tests by their label.

    Attributes:
        labels: every label once, in the order of the table.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows with `itemid`, `label` and `corresponding_ids`, the items of that label."""
        self._items: dict[str, tuple[int, ...]] = {}
        self._labels: dict[int, str] = {}
        for row in rows:
            label = str(row["label"])
            self._items.setdefault(label, tuple(map(int, row["corresponding_ids"])))
            self._labels.setdefault(int(row["itemid"]), label)
        self.labels = list(self._items)

    def items(self, label: str) -> tuple[int, ...]:
        """Return the items of a label; none if the table does not have it."""
        return self._items.get(label, ())

    def label(self, itemid: int) -> str | None:
        """Return the label of an item; None if the table does not have it."""
        return self._labels.get(itemid)

    @cached_property
    def by_exact_name(self) -> dict[str, tuple[int, ...]]:
        """The items of each label, then of each long name and abbreviation, as plain words."""
        found = {plain(label): items for label, items in reversed(self._items.items())}
        for label, items in self._items.items():
            for part in name_parts(label):
                found.setdefault(plain(part), items)
        return found


def read_mapping(path: Path) -> LabMapping:
    """Read `lab_test_mapping.json` of an export.

    Raises:
        UserError: the file is not there, or is not such a table.
    """
    try:
        return LabMapping(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}. `python -m medeval export --task cdm` writes it."
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is not the table of tests that an export writes.") from error
