"""Files of questions: read in any encoding and layout, written as UTF-8."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from medeval.errors import UserError
from medeval.export import exported_class
from medeval.files import strict_decoder
from medeval.json_reader import Allowances, tolerant_value
from medeval.sources import project_root
from medeval.text import OPEN, strictest

Layout = Literal["array", "wrapped", "object", "lines", "sequence", "empty"]
Raw = dict[str, Any]

_WRAPPERS = ("data", "records", "items", "samples")
_BLANKS = " \t\r\n\u3000\ufeff"
# What the contract of the files allows: no signs of Python, and nothing changed inside strings.
FORGIVEN = Allowances(python=False, braces=True, backslashes=False)
# The mark of UTF-32 begins with that of UTF-16, so it is tried first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECODER = strict_decoder()
# Returns the value that begins at a place of a text, and where it ends.
_Reader = Callable[[str, int], tuple[Any, int]]


class LayoutError(ValueError):
    """The text holds JSON, but not records; or no JSON at all."""


@dataclass(frozen=True)
class Document:
    """The records of a text or a file as they stand there.

    Attributes:
        records: each with all of its keys, in their order.
        layout: how they stand in the text.
        repaired: whether the text became JSON only by the tolerant reader.
        envelope: of `wrapped`, the object around the list (the list itself in it is empty).
        key: of `wrapped`, the key of the list.
        name: of a file, what to call it in messages.
        encoding: of a file: utf-8, utf-8-sig, utf-16, utf-32 or gb18030.
        sha256: of the file's bytes.
    """

    records: list[Raw]
    layout: Layout
    repaired: bool = False
    envelope: Raw = field(default_factory=dict)
    key: str = ""
    name: str = ""
    encoding: str = ""
    sha256: str = ""


def read_file(path: Path) -> Document:
    """Read a file of questions.

    Raises:
        UserError: no such file, no such encoding, cut off, or no records.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    return read_bytes(data, str(path))


def read_bytes(data: bytes, name: str) -> Document:
    """Read a file's bytes; `name` is for messages, see `read_file`."""
    text, encoding = _decoded(data, name)
    try:
        document = parse(text)
    except LayoutError as error:
        raise UserError(
            f"{name}: {error}. If the file is cut off, get it again: no part of it is used."
        ) from None
    sha256 = hashlib.sha256(data).hexdigest()
    return replace(document, name=name, encoding=encoding, sha256=sha256)


def _decoded(data: bytes, name: str) -> tuple[str, str]:
    """Return a file's text without its mark, and its encoding.

    A byte order mark decides; else strict UTF-8 is tried, then strict GB18030.
    """
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    try:
        return data.decode(marked or "utf-8"), marked or "utf-8"
    except UnicodeDecodeError as error:
        place, reason = error.start, error.reason
    if marked:
        raise UserError(
            f"{name}: the mark at its start says {marked}, but byte {place:,} is not ({reason})."
            " Is the file complete?"
        )
    if reason == "unexpected end of data":
        raise UserError(
            f"{name} is cut off: its last character is incomplete (byte {place:,})."
            " Get the whole file again."
        )
    try:
        return data.decode("gb18030"), "gb18030"
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name} is neither UTF-8 (byte {place:,}) nor GB18030 (byte {error.start:,})."
            " Save it as UTF-8, or get the whole file again."
        ) from None


def parse(text: str) -> Document:
    """Return the records of a text; strict JSON first, the tolerant reader only if that fails.

    Raises:
        LayoutError: neither reads it, or what is read are no records.
    """
    text = text.strip(_BLANKS)
    if not text:
        return Document([], "empty")
    reasons = []
    for read in (_strict, _tolerant):
        is_repaired = read is _tolerant
        try:
            return replace(_one_value(_whole(text, read)), repaired=is_repaired)
        except LayoutError:
            raise
        except ValueError as error:
            reasons.append(str(error))
        with suppress(ValueError):
            return Document(_objects(_lines(text, read), "the lines"), "lines", is_repaired)
        with suppress(ValueError):
            values = _sequence(text, read)
            return Document(_objects(values, "the sequence"), "sequence", is_repaired)
    raise LayoutError(f"not JSON: {reasons[0]}; with quotes and commas forgiven: {reasons[1]}")


def _strict(text: str, place: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, place)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _tolerant(text: str, place: int) -> tuple[Any, int]:
    return tolerant_value(text, place, FORGIVEN, _DECODER)


def _whole(text: str, read: _Reader) -> Any:
    value, end = read(text, 0)
    if end < len(text):
        raise ValueError(f"something stands behind its end (character {end + 1:,})")
    return value


def _one_value(value: Any) -> Document:
    """Return the records of an array, of an object around a list, or of one record."""
    if isinstance(value, list):
        return Document(_objects(value, "the array"), "array")
    if not isinstance(value, dict):
        raise LayoutError("neither a record nor a list of records")
    keys = [key for key in _WRAPPERS if isinstance(value.get(key), list)]
    if not keys or "question" in value:
        return Document([value], "object")
    if len(keys) > 1:
        raise LayoutError(f"lists under {' and '.join(keys)}; only one can be the records")
    records = _objects(value[keys[0]], f"the list {keys[0]}")
    return Document(records, "wrapped", envelope={**value, keys[0]: []}, key=keys[0])


def _lines(text: str, read: _Reader) -> Iterator[Any]:
    """Yield one value a line, each strictly if it can be."""
    for line in filter(None, (line.strip(_BLANKS) for line in text.split("\n"))):
        try:
            yield _whole(line, _strict)
        except ValueError:
            yield _whole(line, read)


def _sequence(text: str, read: _Reader) -> Iterator[Any]:
    """Yield values one after another."""
    place = 0
    while place < len(text):
        value, place = read(text, place)
        yield value
        while place < len(text) and text[place] in _BLANKS:
            place += 1


def _objects(values: Iterable[Any], where: str) -> list[Raw]:
    records = list(values)
    for number, value in enumerate(records, start=1):
        if not isinstance(value, dict):
            raise LayoutError(f"item {number:,} of {where} is no record (no JSON object)")
    return records


def as_text(document: Document, to: Literal["array", "lines"] | None = None) -> str:
    """Return the records as JSON text, in the document's layout or another one."""
    layout, records = to or document.layout, document.records
    if layout in ("lines", "object", "sequence"):
        indent = None if layout == "lines" else 2
        return "".join(_json(record, indent) for record in records)
    if layout == "wrapped":
        return _json({**document.envelope, document.key: records}, 2)
    return _json(records, 2) if layout == "array" else ""


def _json(value: object, indent: int | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"
    # Half of a surrogate pair is legal as an escape only.
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found.group()):04x}", text)


def class_of(file: Document) -> str:
    """Return whose text a file of questions is.

    It is open if each record says `"data_class": "open"`, if it is an open source by its hash, or
    if the manifest of an export says so of these very bytes.
    """
    try:
        known = (project_root() / "seeds" / "yier" / "yier_open_data.csv").read_text("utf-8")
    except (UserError, OSError):
        known = ""  # outside a checkout
    if file.sha256 in known or exported_class(Path(file.name), file.sha256) == OPEN:
        return OPEN
    return strictest(record.get("data_class") for record in file.records)
