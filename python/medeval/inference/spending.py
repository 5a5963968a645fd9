"""What calls cost, kept beside a journal in a file of its own that is only ever appended to.

A journal has one line for each item, so it cannot tell of calls whose item has no line, because
the run stopped in between, nor of those whose line was taken out for the item to be asked again.
They are paid for all the same. Under a limit a call stands here before it is made, with the most
that it can cost: whatever ends the process, nothing that may be billed is forgotten.
"""

from __future__ import annotations

import errno
import json
import os
import time
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Self

from medeval.errors import UserError
from medeval.inference.cost import Spent, path_of_spending, read_spending, spent_until_now
from medeval.inference.journal import SECONDS_BETWEEN_SYNCS, drop_torn_line, not_written

_ZERO = Decimal(0)


class Spending:
    """Keeps what the calls of one start of a run cost; use as a context manager.

    The file is made with the first call that has a cost. Whoever opens it holds the journal.

    Args:
        journal: of whose calls it is.
        lines: the journal that has a line for each call, if that is another one.

    Attributes:
        before: what earlier starts spent.
        total: with this one.
        is_kept: whether the file is there.

    Raises:
        UserError: naming the line that cannot be read.
    """

    def __init__(self, journal: Path, lines: Path | None = None) -> None:
        self.path = path_of_spending(journal)
        self.before = self.total = spent_until_now(journal, lines or journal)
        self.is_kept = False
        self._calls = 0
        self._descriptor: int | None = None
        self._end = 0
        self._synced = time.monotonic()
        self._fault = ""

    def __enter__(self) -> Self:
        self.is_kept = self.path.exists()
        if self.is_kept:
            found = read_spending(self.path)
            self.before = self.total = found.spent
            self._calls = found.last_call
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def begin(self, most: Decimal) -> int:
        """Return the number of a call that is about to be made.

        Args:
            most: that it can cost; 0 without a limit, and then nothing is written.

        Raises:
            UserError: the disk takes nothing more, so no call may be made.
        """
        if self._fault:
            raise self._full(self._fault)
        self._calls += 1
        if most:
            fault = self._write(f'{{"call":{self._calls},"charged":"{most}"}}\n')
            if fault:
                raise self._full(fault)
        return self._calls

    def end(self, call: int, cost: Decimal | None, charged: Decimal, *, is_new: bool) -> None:
        """Write what a call cost. That the disk is full is told before the next one is made.

        Args:
            call: its number.
            cost: of it; None if nobody knows.
            charged: against the limit.
            is_new: whether nothing stands there of it yet, and so need not if it cost nothing.
        """
        self.total += Spent(cost or _ZERO, int(cost is None), charged)
        if is_new and cost is not None and not cost:
            return
        told = "null" if cost is None else f'"{cost}"'
        self._fault = self._fault or self._write(
            f'{{"call":{call},"cost":{told},"charged":"{charged}"}}\n'
        )

    def _write(self, text: str) -> str:
        """Write a line; return why it is not there, empty if it is."""
        try:
            descriptor = self._open() if self._descriptor is None else self._descriptor
            return self._append(descriptor, text)
        except OSError as error:
            return error.strerror or type(error).__name__

    def _append(self, descriptor: int, text: str) -> str:
        raw = text.encode()
        reason = not_written(descriptor, raw)
        if reason:
            os.ftruncate(descriptor, self._end)
            return reason
        self._end += len(raw)
        if time.monotonic() - self._synced >= SECONDS_BETWEEN_SYNCS:
            os.fsync(descriptor)
            self._synced = time.monotonic()
        return ""

    def _open(self) -> int:
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._descriptor, self.is_kept = descriptor, True
        self._end = drop_torn_line(descriptor)
        if not self._end and self.before != Spent():
            before = {
                "call": 0,
                "cost": str(self.before.cost),
                "charged": str(self.before.charged),
                "unknown": self.before.unknown,
            }
            reason = self._append(descriptor, json.dumps(before) + "\n")
            if reason:
                raise OSError(errno.EIO, reason)
        return descriptor

    def _full(self, reason: str) -> UserError:
        return UserError(
            f"{self.path}: what a call costs could not be written ({reason}). The answers before"
            " it are safe; make room and start the same run again to go on."
        )
