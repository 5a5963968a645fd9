"""Bytes to text: a byte order mark, else strict UTF-8, else strict GB18030, else an error."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from medeval.errors import UserError

# The mark of UTF-32 begins with that of UTF-16, so it is tried first.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Decoded:
    """Text without its mark, and the encoding that it had."""

    text: str
    encoding: str


def decode(data: bytes, name: str) -> Decoded:
    """Decode a file's bytes.

    Args:
        data: the whole file.
        name: what to call it in a message.

    Raises:
        UserError: no encoding fits, or the last character is cut off.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return Decoded(data.decode(encoding), encoding)
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{name}: the mark at its start says {encoding}, but byte {error.start:,} is"
                    f" not ({error.reason}). Is the file complete?"
                ) from None
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            raise UserError(
                f"{name} is cut off: its last character is incomplete (byte {error.start:,})."
                " Get the whole file again."
            ) from None
        place = error.start
    try:
        return Decoded(data.decode("gb18030"), "gb18030")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name} is neither UTF-8 (byte {place:,}) nor GB18030 (byte {error.start:,})."
            " Save it as UTF-8, or get the whole file again."
        ) from None
