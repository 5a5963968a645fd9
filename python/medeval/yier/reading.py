"""Files of questions: read in any encoding and layout, written as UTF-8."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from medeval.data_class import OPEN, strictest
from medeval.errors import UserError
from medeval.export import exported_class
from medeval.sources import project_root
from medeval.yier.decoding import decode
from medeval.yier.layouts import Document, Layout, LayoutError, Raw, parse

Target = Literal["array", "lines"]

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class QuestionFile:
    """What a file holds and how it was read.

    Attributes:
        name: what to call the file in messages.
        encoding: utf-8, utf-8-sig, utf-16, utf-32 or gb18030.
        document: the records as they stand in the file.
        sha256: of the file's bytes.
    """

    name: str
    encoding: str
    document: Document
    sha256: str

    @property
    def records(self) -> list[Raw]:
        """The records with all of their keys, in the file's order."""
        return self.document.records

    @property
    def layout(self) -> Layout:
        """How the records stand in the file."""
        return self.document.layout

    @property
    def repaired(self) -> bool:
        """Whether the file is no JSON and only the tolerant reader could read it."""
        return self.document.repaired


def class_of(file: QuestionFile) -> str:
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


def read_file(path: Path) -> QuestionFile:
    """Read a file of questions.

    Raises:
        UserError: no such file, no such encoding, cut off, or no records.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    return read_bytes(data, str(path))


def read_bytes(data: bytes, name: str) -> QuestionFile:
    """Read a file's bytes; `name` is for messages.

    Raises:
        UserError: no such encoding, cut off, or no records.
    """
    decoded = decode(data, name)
    try:
        document = parse(decoded.text)
    except LayoutError as error:
        raise UserError(
            f"{name}: {error}. If the file is cut off, get it again: no part of it is used."
        ) from None
    return QuestionFile(name, decoded.encoding, document, hashlib.sha256(data).hexdigest())


def as_text(document: Document, to: Target | None = None) -> str:
    """Return the records as text.

    Args:
        document: the records.
        to: an array, or one record a line; None keeps the layout.
    """
    layout = to or document.layout
    if layout == "empty":
        return ""
    if layout == "lines":
        written = "".join(_json(record, None) + "\n" for record in document.records)
    elif layout in ("object", "sequence"):
        written = "".join(_json(record, 2) + "\n" for record in document.records)
    elif layout == "wrapped":
        written = _json({**document.envelope, document.key: document.records}, 2) + "\n"
    else:
        written = _json(document.records, 2) + "\n"
    return written


def _json(value: object, indent: int | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    # Half of a surrogate pair is legal as an escape only.
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
