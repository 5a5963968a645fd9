"""Gzip files that are held in memory: unpacked piece by piece, and no further than a stated size.

A megabyte of gzip can hold a gigabyte. Raw tables of MIMIC are read as a stream instead.
"""

from __future__ import annotations

import gzip
import io
import zlib

from medeval.errors import UserError

LONGEST = 512 * 1024 * 1024
_PIECE = 1 << 20


def unpacked(data: bytes, name: str) -> bytes:
    """Return what a gzip file holds.

    Args:
        data: the bytes of the file.
        name: what to call it in messages.

    Raises:
        UserError: it is damaged, cut off, or holds more than `LONGEST` bytes.
    """
    found = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(_PIECE):
                found += piece
                if len(found) > LONGEST:
                    raise UserError(
                        f"{name} holds more than {LONGEST:,} bytes once it is unpacked, and no"
                        " more is taken from a gzip file. Unpack it first."
                    )
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(
            f"{name} looks truncated or damaged: it is no whole gzip file ({error})."
        ) from None
    return bytes(found)
