"""Notes of a user: a folder of text files, a download, or a JSON Lines file.

Nothing is skipped or repaired: a file that is no text stops with its name, a line with its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from medeval.data_class import OPEN
from medeval.errors import UserError
from medeval.files import unpacked
from medeval.mtsamples.listing import DOWNLOAD, NOTES_FOLDER, are_pinned, check_complete

Form = Literal["folder", "lines", "lines.gz"]

# DuckDB reads no longer object out of JSON Lines.
LONGEST_LINE = 16 * 1024 * 1024
_MARK = "\ufeff"


@dataclass(frozen=True)
class Note:
    """One note: the name of its file, what is in it, and the class that it says it is of."""

    filename: str
    text: str
    data_class: str = ""


@dataclass(frozen=True)
class Notes:
    """The notes of a place.

    Attributes:
        form: how they are stored: text files, or JSON Lines as they are or compressed.
        paths: the files that hold them.
        notes: the notes in the order of their names' bytes.
    """

    form: Form
    paths: tuple[Path, ...]
    notes: tuple[Note, ...]


def read_notes(place: Path) -> Notes:
    """Read all notes of a place.

    Args:
        place: a folder of `.txt` files, one that holds `txt_files/`, or a `.jsonl` or `.jsonl.gz`
            file of objects with `filename`, `text` and, if they say so, `data_class`. Hidden
            files and subfolders are not read.

    Raises:
        UserError: there is no note, a download is not complete, two notes have one name, or a file
            or line cannot be read as text in UTF-8; naming it.
    """
    form: Form
    if place.is_dir():
        folder = _folder_of_notes(place)
        paths = note_paths(folder)
        texts = {path.name: _text_of(path) for path in paths}
        said = OPEN if are_pinned(folder, texts) else ""
        form, notes = "folder", [Note(name, text, said) for name, text in texts.items()]
        check_complete(folder, {note.filename for note in notes})
    elif place.name.lower().endswith((".jsonl", ".jsonl.gz")):
        form = "lines.gz" if place.name.lower().endswith(".gz") else "lines"
        paths, notes = [place], list(_notes_of_lines(place, form))
    elif place.exists():
        raise UserError(
            f"{place} is neither a folder of .txt files nor a .jsonl or .jsonl.gz file."
        )
    else:
        raise UserError(
            f"There is no {place}. Name a folder of .txt files or a .jsonl file, or get the public"
            f" notes with {DOWNLOAD}."
        )
    if not notes:
        what = "no .txt file" if form == "folder" else "no note"
        raise UserError(f"{place} holds {what}. {DOWNLOAD} gets the public notes.")
    _check_names(place, notes, form)
    return Notes(form, tuple(paths), tuple(sorted(notes, key=lambda note: note.filename.encode())))


def _folder_of_notes(place: Path) -> Path:
    inside = place / NOTES_FOLDER
    return inside if inside.is_dir() else place


def note_paths(folder: Path) -> list[Path]:
    """Return the text files of a folder that are not hidden.

    Raises:
        UserError: the folder cannot be read.
    """
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.name.lower().endswith(".txt") and not path.name.startswith(".")
            if path.is_file()
        )
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be read: {error.strerror}.") from error


def _text_of(path: Path) -> str:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        shown = path.name.encode(errors="surrogateescape")
        raise UserError(
            f"The name of the file {shown!r} in {path.parent} is not UTF-8. Rename it."
        ) from None
    try:
        return _checked(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise UserError(f"The note {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"The note {path} is not text in UTF-8: {error.reason} at byte {error.start}."
            " Save it as UTF-8."
        ) from None
    except ValueError as error:
        raise UserError(f"The note {path} {error}.") from None


def _checked(text: str) -> str:
    # Neither PostgreSQL nor a file in UTF-8 can hold them.
    if "\0" in text:
        raise ValueError("holds a null character, so it is no text")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds half of a surrogate pair, so it is no text")
    return text


def _notes_of_lines(path: Path, form: Form) -> Iterator[Note]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    if form == "lines.gz":
        content = unpacked(content, str(path))
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                yield _note_of(_text_of_line(line))
            except UnicodeDecodeError:
                raise UserError(f"{path}, line {number} is not text in UTF-8.") from None
            except RecursionError:
                raise UserError(f"{path}, line {number} is nested too deep.") from None
            except json.JSONDecodeError as error:
                raise UserError(
                    f"{path}, line {number} is not JSON: {error.msg} at column {error.colno}."
                ) from None
            except ValueError as error:
                raise UserError(f"{path}, line {number} {error}.") from None


def _text_of_line(line: bytes) -> str:
    if len(line) > LONGEST_LINE:
        raise ValueError(
            f"has {len(line):,} bytes, and there can be {LONGEST_LINE:,}. Put notes as long as that"
            " into a folder, as .txt files"
        )
    text = line.decode("utf-8")
    if text.startswith(_MARK):
        raise ValueError("begins with a byte order mark. Save the file as UTF-8 without one")
    return text


def _note_of(line: str) -> Note:
    entry = json.loads(
        line,
        object_pairs_hook=_unique_keys,
        parse_constant=_no_constant,
        # No number is read, and Python refuses to make one of very many digits.
        parse_int=_nothing,
    )
    if not isinstance(entry, dict):
        raise ValueError("is no JSON object")
    for key in ("filename", "text"):
        if not isinstance(entry.get(key), str):
            raise ValueError(f"has no text called {key}")
        try:
            _checked(entry[key])
        except ValueError as error:
            raise ValueError(f"has a {key} that {error}") from None
    if not entry["filename"].strip():
        raise ValueError("has a blank filename")
    return Note(entry["filename"], entry["text"], OPEN if entry.get("data_class") == OPEN else "")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Which of two equal keys counts differs from reader to reader."""
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("names a key twice")
    return entry


def _no_constant(name: str) -> Any:
    raise ValueError(f"holds {name}, which is not JSON")


def _nothing(number: str) -> None:
    """Take the place of a number, which is no text whatever it is."""


def _check_names(place: Path, notes: list[Note], form: Form) -> None:
    """Stop where two notes would be one example: its id is the name without `.txt`.

    Names of files are shown. What a line calls its name may be a text, so its place is.
    """
    seen: dict[str, str] = {}
    for number, note in enumerate(notes, start=1):
        stem = note.filename[:-4] if note.filename.lower().endswith(".txt") else note.filename
        shown = repr(note.filename) if form == "folder" else f"its note {number}"
        if stem in seen:
            raise UserError(f"{place} holds two notes of one name: {seen[stem]} and {shown}.")
        seen[stem] = shown
