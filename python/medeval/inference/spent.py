"""What calls cost, read back from the files that are kept beside journals; see `spending`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.journal import end_of_whole_lines, numbered_lines, read_journal

_PREFIX = "spent-"
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Spent:
    """What calls came to.

    Attributes:
        cost: of those whose cost is known.
        unknown: those that may have cost something, nobody knows what.
        charged: against a limit; what is unknown at the most that it can be.
    """

    cost: Decimal = _ZERO
    unknown: int = 0
    charged: Decimal = _ZERO

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.cost + other.cost, self.unknown + other.unknown, self.charged + other.charged
        )

    def as_json(self) -> dict[str, Any]:
        """Return the sums; the cost is null as soon as a part of it is unknown."""
        return {
            "cost": None if self.unknown else str(self.cost),
            "cost_of_known": str(self.cost),
            "unknown_calls": self.unknown,
        }


def path_of_spending(journal: Path) -> Path:
    """Return where it stands what the calls of a journal cost."""
    return journal.with_name(_PREFIX + journal.name)


def kept_spending(journal: Path) -> Spent | None:
    """Return what the calls of a journal cost; None if no call that has a price was made.

    Raises:
        UserError: naming the line that cannot be read.
    """
    path = path_of_spending(journal)
    return read_spending(path).spent if path.exists() else None


def charged_in(folder: Path, beside: Path | None = None) -> Decimal:
    """Return what all journals of a folder, and of those in it, were charged with.

    Args:
        folder: of a run.
        beside: a journal's path, or the beginning of several, that is left out.
    """
    journals = {
        path.with_name(path.name.removeprefix(_PREFIX))
        for name in ("responses*.jsonl", "judgments*.jsonl")
        for path in (*folder.rglob(name), *folder.rglob(_PREFIX + name))
    }
    left_out = None if beside is None else str(beside)
    return sum(
        (
            spent_until_now(journal, journal).charged
            for journal in sorted(journals)
            if left_out is None or not str(journal).startswith(left_out)
        ),
        _ZERO,
    )


@dataclass(frozen=True)
class Found:
    """What stands in a file.

    Attributes:
        spent: the sums.
        last_call: the highest number of a call.
    """

    spent: Spent
    last_call: int


def spent_until_now(journal: Path, lines: Path) -> Spent:
    """Return what the calls of a journal cost, by its lines if they were not kept one by one.

    Args:
        journal: of the calls.
        lines: the journal that has a line for each call; mostly the same.
    """
    kept = kept_spending(journal)
    if kept is not None:
        return kept
    if not lines.exists():
        return Spent()
    return _of_lines(read_journal(lines))


def _of_lines(lines: Iterable[dict[str, Any]]) -> Spent:
    """Return what stands in the lines of a journal whose calls were not kept one by one."""
    cost, unknown, charged = _ZERO, 0, _ZERO
    for line in lines:
        cost += Decimal(line["cost"] or 0)
        unknown += line["cost"] is None
        charged += Decimal(line["measured"].get("charged") or 0)
    return Spent(cost, unknown, charged)


def read_spending(path: Path) -> Found:
    """Read a file of what calls cost; one that was under way at its end is charged at the most.

    Raises:
        UserError: naming the line that cannot be read.
    """
    cost, unknown, charged, last = _ZERO, 0, _ZERO, 0
    under_way: dict[int, Decimal] = {}
    for number, record in _records(path):
        try:
            call, of_call = int(record["call"]), Decimal(record["charged"])
            last = max(last, call)
            if "cost" not in record:
                under_way[call] = of_call
                continue
            under_way.pop(call, None)
            charged += of_call
            cost += Decimal(record["cost"] or 0)
            unknown += record.get("unknown", int(record["cost"] is None))
        except (KeyError, TypeError, ValueError, InvalidOperation):
            raise _no_record(path, number) from None
    # They were under way when the process was ended: nobody knows what became of them.
    spent = Spent(cost, unknown + len(under_way), charged + sum(under_way.values(), _ZERO))
    return Found(spent, last)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    try:
        for number, _, text in numbered_lines(descriptor, end_of_whole_lines(descriptor)):
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                raise _no_record(path, number)
            yield number, record
    finally:
        os.close(descriptor)


def _no_record(path: Path, number: int) -> UserError:
    return UserError(
        f"{path}, line {number}: it does not say what a call cost. Put the file back as it was: a"
        " limit on cost is held by it."
    )
