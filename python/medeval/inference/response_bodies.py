"""The body of a response: read in bounded pieces, and as UTF-8 whatever its header says."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from medeval.inference.completions import Completion, NoCompletionError, read_completion
from medeval.inference.failures import Failure, Kind, failure_in_body

if TYPE_CHECKING:
    import httpx2

# Many times the longest reply of a model; no more of a response is held in memory.
LONGEST = 8 * 1024 * 1024
# Tells zlib to take both forms.
_GZIP_OR_ZLIB = 47


async def keep_bounded(response: httpx2.Response) -> None:
    """Read a body before the client does; a hook for responses.

    Raises:
        httpx2.DecodingError: it has more than `LONGEST` bytes once it is decompressed, or cannot be
            decompressed.
    """
    import httpx2

    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise httpx2.DecodingError("not gzip, which is what was asked for")
    is_plain = encoding in ("", "identity")
    unpacked = zlib.decompressobj(_GZIP_OR_ZLIB)
    body = bytearray()
    try:
        async for piece in response.stream:  # type: ignore[union-attr]  # of an asynchronous client
            left = LONGEST + 1 - len(body)
            body += piece[:left] if is_plain else unpacked.decompress(piece, left)
            if len(body) > LONGEST:
                raise httpx2.DecodingError(f"longer than {LONGEST} bytes")
    except zlib.error as error:
        raise httpx2.DecodingError("not gzip, which is what was asked for") from error
    await response.stream.aclose()  # type: ignore[union-attr]
    response.headers.pop("content-encoding", None)
    response.stream = httpx2.ByteStream(bytes(body))
    response.encoding = "utf-8-sig"


def read_reply(body: str, asked: str) -> Completion | Failure:
    """Read a chat completion; whatever it is instead is the failure of its item.

    Args:
        body: of a response that is no error by its status.
        asked: the texts of the request.
    """
    try:
        failure = failure_in_body(body, datetime.now(UTC), asked)
        return failure or read_completion(json.loads(body))
    except NoCompletionError as error:
        return Failure(Kind.BROKEN, status=200, code=error.code, detail=str(error))
    except (ValueError, RecursionError):
        return Failure(Kind.BROKEN, status=200, detail="the body is not JSON")
