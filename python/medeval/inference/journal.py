"""Files of lines that are only ever appended to, and the journal of a run, which is one.

A journal has one JSON line per item, or per turn of one: what was answered, and apart what was
measured, so that two runs with the same answers have the same lines but for `measured`. Each line
is handed to the kernel whole and at once, so a killed process loses no item that was answered; the
disk is told to keep it at least once a second and at the end, so a power cut may lose the lines of
one second, which are then asked again. A torn last line is dropped on resume.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from medeval.errors import UserError, faults_of, os_error_as
from medeval.files import end_of_whole_lines, hold, not_written, numbered_lines, replace_file
from medeval.inference.errors import Failure
from medeval.inference.openai_replies import outcome_of
from medeval.inference.types import Count, Message, Outcome, Reply, Request, Sample, Usage

Line = dict[str, Any]

_REPLY = TypeAdapter(Reply)
_SECONDS_BETWEEN_SYNCS = 1.0
# Of an episode: what was shown and said.
MESSAGES = "messages"
# As decimals are written; a number of JSON is rounded.
_Amount = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(E[+-]?\d+)?$")]
# A field that may be missing, but not be null: defaults are not held to the form.
_MISSING: Any = None


# The forms of lines, with the fields of `Reply` in those that have a text: a newer version may keep
# more than this one reads; only usage and calls are read whole.
class _Episode(BaseModel, strict=True, extra="ignore"):
    turns: Count
    reason: str


class _Measured(BaseModel, strict=True, extra="ignore"):
    attempts: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    charged: _Amount | None = None


class _Line(BaseModel, strict=True, extra="ignore"):
    item: str
    sample: Count
    turn: Count = 0
    key: str
    # Strict forms take no text for a member of an enumeration, and JSON has nothing else.
    outcome: Annotated[Outcome, Field(strict=False)]
    error: Failure = _MISSING
    episode: _Episode = _MISSING
    usage: Usage | None = None
    cost: _Amount | None
    measured: _Measured


def money(cost: Decimal | None) -> str | None:
    """Return an amount as files have it; None where it is not known."""
    return None if cost is None else str(cost)


def line_of(
    request: Request,
    answer: Reply | Failure,
    cost: Decimal | None,
    measured: Mapping[str, Any],
    **more: Any,
) -> Line:
    """Return the line of an item: what was replied, or why there was no reply.

    What the endpoint wrote of a failure stands in it only if the item is open.

    Args:
        request: that was made.
        answer: that came back.
        cost: of all its calls; None if it is unknown.
        measured: seconds, attempts and the like, which differ from run to run.
        more: fields beside these, or in place of them.
    """
    item = request.item
    line: Line = {"item": item.id, "sample": item.sample, "key": request.key}
    if isinstance(answer, Failure):
        line |= {"outcome": str(answer.outcome), "error": answer.recorded(item.is_open)}
    else:
        # Calls and their message stand only in the line of a reply that has them.
        said = {name: value for name, value in asdict(answer).items() if value not in ((), None)}
        line |= {"outcome": str(outcome_of(answer)), **said}
    return line | more | {"cost": money(cost), "measured": dict(measured)}


def conversation(asked: Sequence[Sample], turns: Sequence[Line]) -> list[Message]:
    """Return what was shown and said in a conversation, each message once, in its order.

    Args:
        asked: each turn, with the messages before it.
        turns: their lines; of a turn that the run has not kept there is none.
    """
    found: list[Message] = []
    before: Sequence[Message] = ()
    for turn in asked:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, turn.messages, strict=False))
        found += turn.messages[sum(1 for _ in same) :]
        before = turn.messages
    if turns and "text" in turns[-1]:
        found.append({"role": "assistant", "content": turns[-1]["text"]})
    return found


def reply_of(line: Line) -> Reply:
    """Read back the reply that a line holds.

    Raises:
        ValidationError: a field is not of its form.
    """
    return _REPLY.validate_python({**line, "usage": line.get("usage") or {}})


class LineFile:
    """A file of lines, opened to append to it; use as a context manager.

    Args:
        path: the file; made with mode 0600 if it is not there. A torn last line is cut off.

    Raises:
        UserError: another process holds it, or it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with os_error_as(f"{path}: {{why}}."):
            self.descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._synced = time.monotonic()
        try:
            with suppress(OSError):
                os.fchmod(self.descriptor, 0o600)
            # It may have been replaced between being opened and being locked.
            is_held = hold(self.descriptor)
            if not (is_held and os.path.samestat(path.stat(), os.fstat(self.descriptor))):
                raise UserError(
                    f"Another run is writing to {path}. Wait until it has ended, or stop it."
                )
            self.end = end_of_whole_lines(self.descriptor)
            if self.end < os.fstat(self.descriptor).st_size:
                os.ftruncate(self.descriptor, self.end)
            self._index()
        except BaseException:
            os.close(self.descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            os.fsync(self.descriptor)
        finally:
            os.close(self.descriptor)

    def _index(self) -> None:
        """Nothing is looked for in lines of any kind."""

    def write(self, line: Line) -> str:
        """Write a line of JSON at once.

        Returns:
            Why it is not there as a whole, and then nothing of it is; empty if it is.
        """
        text = (json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n").encode()
        if reason := not_written(self.descriptor, text):
            os.ftruncate(self.descriptor, self.end)
            return reason
        self.end += len(text)
        if time.monotonic() - self._synced >= _SECONDS_BETWEEN_SYNCS:
            os.fsync(self.descriptor)
            self._synced = time.monotonic()
        return ""


class Journal(LineFile):
    """A journal opened for one run; use as a context manager.

    Args:
        path: the file; made with mode 0600 if it is not there.

    Raises:
        UserError: another run holds it, a line in it is broken, or an item stands in it twice.
    """

    def read(self, item: str, sample: int, turn: int = 0) -> Line | None:
        """Return an item's line; None if it has not come to an end."""
        place = self._places.get((item, sample, turn))
        return None if place is None else self._read(place)

    def answer(self, request: Request, turn: int = 0) -> Line | None:
        """Return the line that answers a request; None if there is none.

        Raises:
            UserError: the line answers another request.
        """
        item = request.item
        line = self.read(item.id, item.sample, turn)
        if line is not None and line["key"] != request.key:
            raise UserError(
                f"{self.path}: item {item.id!r} (sample {item.sample}) was asked otherwise before:"
                " its messages, the model, the parameters or the prompt version have changed."
                " Choose another folder for a new run."
            )
        return line

    def lines(self) -> Iterator[Line]:
        """Yield all lines in the order in which they were written."""
        return map(self._read, self._places.values())

    def append(self, line: Line) -> None:
        """Write the line of one item.

        A line of a conversation says in `turn` which one it is; without it is the only one.

        Raises:
            UserError: the disk did not take it; the journal is as it was before.
        """
        start = self.end
        if reason := self.write(line):
            raise UserError(
                f"{self.path}: an answer could not be written ({reason}). The answers before it"
                " are safe; make room and start the same run again to go on."
            )
        self._places[_name(line)] = start, self.end - start

    def discard(self, is_out: Callable[[Line], bool]) -> None:
        """Take lines out, for others to be written in their place, in one step or not at all.

        Args:
            is_out: tells of a line whether it is taken out.

        Raises:
            UserError: the disk did not take the journal without them.
        """
        kept = [
            os.pread(self.descriptor, length, offset)
            for offset, length in self._places.values()
            if not is_out(self._read((offset, length)))
        ]
        is_kept = "It is as it was: make room and start the same run again."
        with os_error_as(f"{self.path} could not be written anew ({{why}}). {is_kept}"):
            replace_file(self.path, b"".join(kept))
        new = LineFile(self.path)
        os.close(self.descriptor)
        self.descriptor, self.end = new.descriptor, new.end
        self._index()

    def _index(self) -> None:
        self._places: dict[tuple[str, int, int], tuple[int, int]] = {}  # offset and length
        for number, offset, text in numbered_lines(self.descriptor, self.end):
            name = _name(_checked(self.path, number, text))
            if name in self._places:
                raise UserError(
                    f"{self.path}, line {number}: item {name[0]!r} (sample {name[1]}) stands in it"
                    " twice. Move the journal away and start the run anew."
                )
            self._places[name] = offset, len(text)

    def _read(self, place: tuple[int, int]) -> Line:
        offset, length = place
        line: Line = json.loads(os.pread(self.descriptor, length, offset))
        return line


def read_journal(path: Path) -> Iterator[Line]:
    """Yield the whole lines of a journal that nobody need hold open; a torn last one is left out.

    Raises:
        UserError: naming the line that is no line of a journal.
    """
    for number, text in read_lines(path):
        yield _checked(path, number, text)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and text of each whole line of a file.

    Raises:
        UserError: it cannot be read.
    """
    with os_error_as(f"{path}: {{why}}."):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        for number, _, text in numbered_lines(descriptor, end_of_whole_lines(descriptor)):
            yield number, text
    finally:
        os.close(descriptor)


def _name(line: Line) -> tuple[str, int, int]:
    return line["item"], line["sample"], line.get("turn", 0)


def _checked(path: Path, number: int, text: bytes) -> Line:
    """Return a line that was read, if it is of the form."""
    try:
        line: Line = json.loads(text)
        read = _Line.model_validate(line)
        # An item without a reply has an error; an error may also stand for a refusal.
        required = "error" if read.outcome is Outcome.ERRORED else "text"
        if "text" in line:
            reply_of(line)
        is_whole = {"error", required} & line.keys()
        fault = "" if is_whole else f"{required}: Field required"
    except ValidationError as error:
        fault = faults_of(error)
    except (ValueError, RecursionError):
        fault = "no JSON"
    if fault:
        raise UserError(
            f"{path}, line {number}: not a line of a journal ({fault}). Put it back as it was, or"
            " take the lines of its item out of the file, and the same run asks it again. A file"
            " that a newer version of medeval has written is read by that version."
        )
    return line
