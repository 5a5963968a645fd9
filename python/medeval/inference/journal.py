"""The journal of a run: one JSON line per item, or per turn of one, appended, never changed.

Each line is handed to the kernel whole and at once, so a killed process loses no item that was
answered; the disk is told to keep it at least once a second and at the end, so a power cut may
lose the lines of one second, which are then asked again. A torn last line is dropped on resume.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from medeval.errors import UserError
from medeval.inference.journal import (
    drop_torn_line,
    end_of_whole_lines,
    not_written,
    numbered_lines,
)
from medeval.inference.lines import fault_of
from medeval.inference.types import Outcome

SECONDS_BETWEEN_SYNCS = 1.0

Line = dict[str, Any]
Name = tuple[str, int, int]


class Place(NamedTuple):
    """Where an item's line is, and of which request it is the answer."""

    offset: int
    length: int
    key: str


class Journal:
    """A journal opened for one run; use as a context manager.

    Args:
        path: the file; made with mode 0600 if it is not there.
        ask_again: items that ended so are taken out when the journal is opened, to be asked again.
        takes_out: tells of a line whether it is taken out when the journal is opened.

    Raises:
        UserError: another run holds it, a line in it is broken, or an item stands in it twice.
    """

    def __init__(
        self,
        path: Path,
        ask_again: Collection[Outcome] = (),
        takes_out: Callable[[Line], bool] | None = None,
    ) -> None:
        self.path = path
        self._places: dict[Name, Place] = {}
        self._descriptor = _opened(path)
        try:
            self._end = drop_torn_line(self._descriptor)
            if ask_again:
                again = frozenset(ask_again)
                self._rewrite_without(lambda line: line["outcome"] in again)
            if takes_out is not None:
                self._rewrite_without(takes_out)
            self._index()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def __len__(self) -> int:
        return len(self._places)

    def place(self, item: str, sample: int, turn: int = 0) -> Place | None:
        """Return where an item stands; None if it has not come to an end."""
        return self._places.get((item, sample, turn))

    def read(self, item: str, sample: int, turn: int = 0) -> Line | None:
        """Return an item's line; None if it has none."""
        place = self.place(item, sample, turn)
        if place is None:
            return None
        line: Line = json.loads(os.pread(self._descriptor, place.length, place.offset))
        return line

    def lines(self) -> Iterator[Line]:
        """Yield all lines in the order in which they were written."""
        for place in self._places.values():
            yield json.loads(os.pread(self._descriptor, place.length, place.offset))

    def append(self, line: Line) -> None:
        """Write the line of one item, in the form that `line_form` tells of.

        A line of a conversation says in `turn` which one it is; without it is the only one.

        Raises:
            UserError: the disk did not take it; the journal is as it was before.
            ValueError: the item has a line already.
        """
        name = _name(line)
        if name in self._places:
            raise ValueError(f"item {name[0]!r} (sample {name[1]}) has a line already")
        text = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n").encode()
        reason = not_written(self._descriptor, text)
        if reason:
            os.ftruncate(self._descriptor, self._end)
            raise UserError(
                f"{self.path}: an answer could not be written ({reason}). The answers before it"
                " are safe; make room and start the same run again to go on."
            )
        self._places[name] = Place(self._end, len(text), line["key"])
        self._end += len(text)
        if time.monotonic() - self._synced >= SECONDS_BETWEEN_SYNCS:
            os.fsync(self._descriptor)
            self._synced = time.monotonic()

    def take_out(self, is_out: Callable[[Line], bool]) -> None:
        """Take lines out, for others to be written in their place, in one step or not at all.

        Args:
            is_out: tells of a line whether it is taken out.

        Raises:
            UserError: the disk did not take the journal without them.
        """
        self._rewrite_without(is_out)
        self._places.clear()
        self._index()

    def _index(self) -> None:
        for number, offset, text in numbered_lines(self._descriptor, self._end):
            line = _read_line(self.path, number, text)
            name = _name(line)
            if name in self._places:
                raise UserError(
                    f"{self.path}, line {number}: item {name[0]!r} (sample {name[1]}) stands in it"
                    " twice. Move the journal away and start the run anew."
                )
            self._places[name] = Place(offset, len(text), line["key"])

    def _rewrite_without(self, is_out: Callable[[Line], bool]) -> None:
        """Write the journal anew without some of its lines, and put it in its own place."""
        beside = self.path.with_name(self.path.name + ".new")
        beside.unlink(missing_ok=True)
        descriptor = _opened(beside)
        try:
            for number, _offset, text in numbered_lines(self._descriptor, self._end):
                if is_out(_read_line(self.path, number, text)):
                    continue
                reason = not_written(descriptor, text)
                if reason:
                    raise UserError(
                        f"{self.path}: it could not be written anew without the items to be asked"
                        f" again ({reason}). It is as it was; make room and start the same run"
                        " again."
                    )
            os.fsync(descriptor)
            beside.replace(self.path)
        except BaseException:
            os.close(descriptor)
            beside.unlink(missing_ok=True)
            raise
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._end = os.fstat(descriptor).st_size


def read_journal(path: Path) -> Iterator[Line]:
    """Yield the whole lines of a journal that nobody need hold open; a torn last one is left out.

    Raises:
        UserError: naming the line that is no line of a journal.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    try:
        end = end_of_whole_lines(descriptor)
        for number, _offset, text in numbered_lines(descriptor, end):
            yield _read_line(path, number, text)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    try:
        os.fchmod(descriptor, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(path.stat(), os.fstat(descriptor)):
            raise BlockingIOError  # replaced between being opened and being locked
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(
            f"Another run is writing to {path}. Wait until it has ended, or stop it."
        ) from None
    except OSError:
        # Some network file systems lock nothing; then nothing guards against a second run.
        pass
    return descriptor


def _name(line: Line) -> Name:
    return line["item"], line["sample"], line.get("turn", 0)


def _read_line(path: Path, number: int, text: bytes) -> Line:
    try:
        line: Line = json.loads(text)
        fault = fault_of(line)
    except (ValueError, RecursionError):
        fault = "no JSON"
    if fault:
        raise UserError(
            f"{path}, line {number}: not a line of a journal ({fault}). Put it back as it was, or"
            " take the lines of its item out of the file, and the same run asks it again. A file"
            " that a newer version of medeval has written is read by that version."
        )
    return line
