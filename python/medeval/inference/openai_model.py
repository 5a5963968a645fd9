"""From the bytes of a response to a reply: the one place in which they are read.

In bounded pieces, as UTF-8 whatever the header says, as JSON or as an event stream.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from medeval.inference.errors import Failure, Kind, failure_in_body
from medeval.inference.openai_replies import NoCompletionError, read_completion
from medeval.inference.types import Completion

if TYPE_CHECKING:
    import httpx2

# Many times the longest reply of a model; no more of a response is held in memory.
LONGEST = 8 * 1024 * 1024
# Tells zlib to take both forms.
_GZIP_OR_ZLIB = 47
# So much is shown of what is in another form.
_SHOWN = 200
_DECODER = json.JSONDecoder()
_DONE = "[DONE]"
_END_MARK = re.compile(r"\s*(?:data:\s*)?\[DONE\]\s*")
# Fields of an event, or a comment, which some send to keep the line open.
_EVENT = re.compile(r"(?:data|event|id|retry)?:")
_DATA = re.compile(r"^data:.*", re.MULTILINE)
_BETWEEN_EVENTS = re.compile(r"\n\s*\n|\r\n?\r\n?")
# Calls of tools, or parts of a content, in one message.
_MOST_PARTS = 200
# Parts of a call of a tool that some servers repeat in each piece.
_SENT_WHOLE = {"id", "name", "role", "type"}


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

    It may come as an event stream, or with the end mark of one behind it. What is in another form
    has its first characters in the detail of the failure.

    Args:
        body: of a response that is no error by its status.
        asked: the texts of the request.
    """
    told = code = ""
    try:
        read = _json_in(body)
        failure = failure_in_body(read, body, datetime.now(UTC), asked)
        return failure or read_completion(read)
    except NoCompletionError as error:
        told, code = str(error), error.code
    except (ValueError, RecursionError):
        told = "the body is not JSON"
    start = "" if code else f": {' '.join(body[: 2 * _SHOWN].split())[:_SHOWN]}"
    return Failure(Kind.BROKEN, status=200, code=code, detail=told + start)


def _json_in(body: str) -> Any:
    """Return the JSON of a body, or that which its events come to.

    Raises:
        ValueError: it is neither.
        NoCompletionError: its events break off.
    """
    text = body.strip()
    if not _EVENT.match(text):
        read, end = _DECODER.raw_decode(text)
        if text[end:].strip() and not _END_MARK.fullmatch(text, end):
            raise ValueError("more than one value")
        return read
    events: list[Any] = []
    for block in _BETWEEN_EVENTS.split(text):
        lines = [line[5:].strip() for line in _DATA.findall(block)]
        is_done = _DONE in lines
        lines = [line for line in lines if line and line != _DONE]
        try:
            events += [_DECODER.decode(line) for line in lines]
        except ValueError:  # one event on several lines
            events.append(_DECODER.decode("\n".join(lines)))
        if is_done:
            return _one_of(events)
    return _one_of(events, is_cut=True)


def _one_of(events: Sequence[Any], *, is_cut: bool = False) -> Any:
    """Return the completion, or the error, that the pieces of a stream come to."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    message: dict[str, Any] = {}
    for event in events:
        if not isinstance(event, dict) or event.get("error") or event.get("object") == "error":
            return event
        whole |= {name: value for name, value in event.items() if value is not None}
        pieces = event.get("choices")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict) and not piece.get("index"):
                choice |= {name: value for name, value in piece.items() if value is not None}
                _grow(message, piece.get("delta") or piece.get("message"))
    if is_cut and not choice.get("finish_reason"):
        raise NoCompletionError("the event stream breaks off", "stream_cut")
    return {**whole, "choices": [{**choice, "message": _joined(message)}]} if choice else whole


class _Pieces(list[str]):
    """A text that is still growing."""


def _grow(grown: dict[str, Any], piece: Any) -> None:
    """Put a piece of a message to what there is of it.

    Raises:
        ValueError: it comes to more parts than a message has.
    """
    for name, value in piece.items() if isinstance(piece, dict) else ():
        there = grown.get(name)
        if isinstance(value, dict):
            if not isinstance(there, dict):
                there = grown[name] = {}
            _grow(there, value)
        elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
            if not isinstance(there, list) or not all(isinstance(part, dict) for part in there):
                there = grown[name] = []
            for number, each in enumerate(value):
                place = each.get("index", number)
                part = next((p for n, p in enumerate(there) if p.get("index", n) == place), None)
                if part is None:
                    there.append(part := {})
                if len(there) > _MOST_PARTS:
                    raise ValueError("too many parts")
                _grow(part, each)
        elif isinstance(value, str) and name not in _SENT_WHOLE:
            if not isinstance(there, _Pieces):
                there = grown[name] = _Pieces()
            there.append(value)
        elif value not in (None, "") or name not in grown:
            grown[name] = value


def _joined(grown: Any) -> Any:
    if isinstance(grown, _Pieces):
        return "".join(grown)
    if isinstance(grown, dict):
        return {name: _joined(value) for name, value in grown.items()}
    return [_joined(each) for each in grown] if isinstance(grown, list) else grown
