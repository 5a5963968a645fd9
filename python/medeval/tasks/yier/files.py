"""Files of questions: read in any encoding and layout, written as UTF-8."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from medeval.errors import UserError, os_error_as
from medeval.export import exported_class
from medeval.files import strict_decoder
from medeval.json_reader import Allowances, tolerant_value
from medeval.sources import project_root
from medeval.text import OPEN, sha256_of, strictest

Layout = Literal["array", "wrapped", "object", "lines", "sequence", "empty"]
Raw = dict[str, Any]

_WRAPPERS = ("data", "records", "items", "samples")
_BLANKS = " \t\r\n\u3000\ufeff"
_GAP = re.compile(f"[{_BLANKS}]*")
# What the contract of the files allows: no signs of Python, and nothing changed inside strings.
FORGIVEN = Allowances(python=False, braces=True, backslashes=False)
# Encodings that a byte order mark tells.
_MARKED = ("utf-8-sig", "utf-16", "utf-32")
_DECODER = strict_decoder()


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
    with os_error_as(f"Cannot read {path}: {{why}}."):
        data = path.read_bytes()
    return read_bytes(data, str(path))


def read_bytes(data: bytes, name: str) -> Document:
    """Read a file's bytes; `name` is for messages, see `read_file`."""
    text, encoding = _decoded(data, name)
    try:
        document = parse(text)
    except ValueError as error:
        raise UserError(
            f"{name}: {error}. If the file is cut off, get it again: no part of it is used."
        ) from None
    return replace(document, name=name, encoding=encoding, sha256=sha256_of(data))


def _decoded(data: bytes, name: str) -> tuple[str, str]:
    """Return a file's text without its mark, and its encoding.

    A byte order mark decides; else strict UTF-8 is tried, then strict GB18030.
    """
    # Without a mark it is a guess by the first bytes.
    told, places = json.detect_encoding(data), []
    marked = told if told in _MARKED else None
    for encoding in [marked] if marked else ["utf-8", "gb18030"]:
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError as error:
            places.append(error.start)
            if marked or error.reason == "unexpected end of data":
                raise UserError(
                    f"{name} is cut off, or not {encoding}: {error.reason} at byte"
                    f" {error.start:,}. Get the whole file again."
                ) from None
    raise UserError(
        f"{name} is neither UTF-8 (byte {places[0]:,}) nor GB18030 (byte {places[1]:,})."
        " Save it as UTF-8, or get the whole file again."
    )


def parse(text: str) -> Document:
    """Return the records of a text: JSON values, of which each is forgiven where it is not strict.

    Raises:
        ValueError: no JSON, or what is read are no records.
    """
    text = text.strip(_BLANKS)
    values: list[Any] = []
    place, is_repaired, is_lines = 0, False, True
    while place < len(text):
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as strict:
            try:
                value, end = tolerant_value(text, place, FORGIVEN, _DECODER)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"not JSON: {strict}; with quotes and commas forgiven: {error}"
                ) from None
            is_repaired = True
        values.append(value)
        following = cast("re.Match[str]", _GAP.match(text, end)).end()
        is_last = following == len(text)
        is_lines = is_lines and "\n" not in text[place:end]
        is_lines = is_lines and (is_last or "\n" in text[end:following])
        place = following
    layout: Layout = "lines" if is_lines else "sequence"
    found = Document(values, layout, is_repaired) if values else Document([], "empty")
    if len(values) == 1:
        found = replace(_of_one_value(values[0]), repaired=is_repaired)
    where = f"list {found.key}" if found.key else found.layout
    for number, value in enumerate(found.records, start=1):
        if not isinstance(value, dict):
            raise ValueError(f"item {number:,} of the {where} is no record (no JSON object)")
    return found


def _of_one_value(value: Any) -> Document:
    """Return what is in an array, in an object around a list, or one record."""
    if isinstance(value, list):
        return Document(value, "array")
    if not isinstance(value, dict):
        raise ValueError("neither a record nor a list of records")
    keys = [key for key in _WRAPPERS if isinstance(value.get(key), list)]
    if not keys or "question" in value:
        return Document([value], "object")
    if len(keys) > 1:
        raise ValueError(f"lists under {' and '.join(keys)}; only one can be the records")
    key = keys[0]
    return Document(value[key], "wrapped", envelope={**value, key: []}, key=key)


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
