"""Files of lines that are only ever appended to: a torn last line of them counts for nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

_BLOCK = 1 << 20


def not_written(descriptor: int, text: bytes) -> str:
    """Write a line at once; return why it is not there as a whole, empty if it is."""
    try:
        written = os.write(descriptor, text)
    except OSError as error:
        return error.strerror or type(error).__name__
    return "the disk is full" if written < len(text) else ""


def drop_torn_line(descriptor: int) -> int:
    """Cut a torn last line off; return where the whole ones end."""
    end = end_of_whole_lines(descriptor)
    if end < os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, end)
    return end


def end_of_whole_lines(descriptor: int) -> int:
    """Return where the last whole line ends."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def numbered_lines(descriptor: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and text of each line before `end`."""
    offset = number = 0
    rest = b""
    read = 0
    while read < end:
        block = os.pread(descriptor, min(_BLOCK, end - read), read)
        if not block:
            return
        read += len(block)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            yield number, offset, line + b"\n"
            offset += len(line) + 1
