"""Files of lines that are only ever appended to, and the journal of a run, which is one.

A journal has one JSON line per item, or per turn of one. Each line is handed to the kernel whole
and at once, so a killed process loses no item that was answered; the disk is told to keep it at
least once a second and at the end, so a power cut may lose the lines of one second, which are then
asked again. A torn last line is dropped on resume.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from medeval.errors import UserError
from medeval.files import drop_torn_line, end_of_whole_lines, hold, not_written, numbered_lines
from medeval.inference.lines import Line as Line
from medeval.inference.lines import fault_of

_SECONDS_BETWEEN_SYNCS = 1.0


class LineFile(AbstractContextManager["LineFile"]):
    """A file of lines, opened to append to it; use as a context manager.

    Args:
        path: the file; made with mode 0600 if it is not there. A torn last line is cut off.
        is_locked: nobody else may have it open so.

    Raises:
        BlockingIOError: another process holds it.
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path, *, is_locked: bool = False) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            with suppress(OSError):
                os.fchmod(self.descriptor, 0o600)
            # It may have been replaced between being opened and being locked.
            is_held = not is_locked or (
                hold(self.descriptor) and os.path.samestat(path.stat(), os.fstat(self.descriptor))
            )
            if not is_held:
                raise BlockingIOError
            self.end = drop_torn_line(self.descriptor)
        except BaseException:
            os.close(self.descriptor)
            raise
        self._synced = time.monotonic()

    def __exit__(self, *_: object) -> None:
        try:
            os.fsync(self.descriptor)
        finally:
            os.close(self.descriptor)

    def append(self, text: bytes) -> str:
        """Write a line at once.

        Returns:
            Why it is not there as a whole, and then nothing of it is; empty if it is.
        """
        if reason := not_written(self.descriptor, text):
            os.ftruncate(self.descriptor, self.end)
            return reason
        self.end += len(text)
        if time.monotonic() - self._synced >= _SECONDS_BETWEEN_SYNCS:
            os.fsync(self.descriptor)
            self._synced = time.monotonic()
        return ""


class Journal(AbstractContextManager["Journal"]):
    """A journal opened for one run; use as a context manager.

    Args:
        path: the file; made with mode 0600 if it is not there.
        discards: tells of a line whether it is discarded when the journal is opened, for its item
            to be asked again.

    Raises:
        UserError: another run holds it, a line in it is broken, or an item stands in it twice.
    """

    def __init__(self, path: Path, discards: Callable[[Line], bool] | None = None) -> None:
        self.path = path
        self._file = _opened(path)
        try:
            if discards is None:
                self._index()
            else:
                self.discard(discards)
        except BaseException:
            os.close(self._file.descriptor)
            raise

    def __exit__(self, *error: object) -> None:
        self._file.__exit__(*error)

    def read(self, item: str, sample: int, turn: int = 0) -> Line | None:
        """Return an item's line; None if it has not come to an end."""
        place = self._places.get((item, sample, turn))
        return None if place is None else self._read(place)

    def lines(self) -> Iterator[Line]:
        """Yield all lines in the order in which they were written."""
        return map(self._read, self._places.values())

    def append(self, line: Line) -> None:
        """Write the line of one item, in the form that `lines` tells of.

        A line of a conversation says in `turn` which one it is; without it is the only one.

        Raises:
            UserError: the disk did not take it; the journal is as it was before.
            ValueError: the item has a line already.
        """
        name = _name(line)
        if name in self._places:
            raise ValueError(f"item {name[0]!r} (sample {name[1]}) has a line already")
        text = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n").encode()
        place = self._file.end, len(text)
        if reason := self._file.append(text):
            raise UserError(
                f"{self.path}: an answer could not be written ({reason}). The answers before it"
                " are safe; make room and start the same run again to go on."
            )
        self._places[name] = place

    def discard(self, is_out: Callable[[Line], bool]) -> None:
        """Take lines out, for others to be written in their place, in one step or not at all.

        Args:
            is_out: tells of a line whether it is taken out.

        Raises:
            UserError: the disk did not take the journal without them.
        """
        beside = self.path.with_name(self.path.name + ".new")
        beside.unlink(missing_ok=True)
        new = _opened(beside)
        try:
            for number, _, text in numbered_lines(self._file.descriptor, self._file.end):
                if is_out(_read_line(self.path, number, text)):
                    continue
                if reason := new.append(text):
                    raise UserError(
                        f"{self.path}: it could not be written anew without the items to be asked"
                        f" again ({reason}). It is as it was; make room and start the same run"
                        " again."
                    )
            os.fsync(new.descriptor)
            beside.replace(self.path)
        except BaseException:
            os.close(new.descriptor)
            beside.unlink(missing_ok=True)
            raise
        os.close(self._file.descriptor)
        self._file = new
        self._index()

    def _read(self, place: tuple[int, int]) -> Line:
        offset, length = place
        line: Line = json.loads(os.pread(self._file.descriptor, length, offset))
        return line

    def _index(self) -> None:
        self._places: dict[tuple[str, int, int], tuple[int, int]] = {}  # offset and length
        for number, offset, text in numbered_lines(self._file.descriptor, self._file.end):
            line = _read_line(self.path, number, text)
            name = _name(line)
            if name in self._places:
                raise UserError(
                    f"{self.path}, line {number}: item {name[0]!r} (sample {name[1]}) stands in it"
                    " twice. Move the journal away and start the run anew."
                )
            self._places[name] = offset, len(text)


def read_journal(path: Path) -> Iterator[Line]:
    """Yield the whole lines of a journal that nobody need hold open; a torn last one is left out.

    Raises:
        UserError: naming the line that is no line of a journal.
    """
    for number, text in read_lines(path):
        yield _read_line(path, number, text)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and text of each whole line of a file.

    Raises:
        UserError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None
    try:
        for number, _, text in numbered_lines(descriptor, end_of_whole_lines(descriptor)):
            yield number, text
    finally:
        os.close(descriptor)


def _opened(path: Path) -> LineFile:
    try:
        return LineFile(path, is_locked=True)
    except BlockingIOError:
        raise UserError(
            f"Another run is writing to {path}. Wait until it has ended, or stop it."
        ) from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}.") from None


def _name(line: Line) -> tuple[str, int, int]:
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
