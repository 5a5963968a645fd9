"""Notes of a user: a folder of text files, a download, or a JSON Lines file.

Nothing is skipped or repaired: a file that is no text stops with its name, a line with its number.
A download has beside its notes a list of what the public repository holds: names, sizes and hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from medeval.errors import UserError, os_error_as
from medeval.files import read_strict, strict_decoder, toml_beside, unpacked
from medeval.text import OPEN

# DuckDB reads no longer object out of JSON Lines.
LONGEST_LINE = 16 * 1024 * 1024
# No number is read, and Python refuses to make one of very many digits.
_DECODER = strict_decoder(parse_int=len, parse_float=len)
# What the benchmark's authors pin: a repository, a folder in it, and the commit.
ORIGIN: Mapping[str, str] = toml_beside(__file__, "texts.toml")["origin"]
PINNED = tuple(ORIGIN.values())
# In the cache folder: the notes, and beside them the list of what a download brings.
NOTES_FOLDER = "txt_files"
LISTING_FILE = "listing.json"
Form = Literal["folder", "lines", "lines.gz"]
DOWNLOAD = "`python -m medeval load mtsamples --download`"


class Note(NamedTuple):
    """One note: the name of its file, what is in it, and the class that it says it is of."""

    filename: str
    text: str
    data_class: str = ""


class Notes(NamedTuple):
    """The notes of a place.

    Attributes:
        form: how they are stored: text files, or JSON Lines as they are or compressed.
        paths: the files that hold them.
        notes: the notes in the order of their names' bytes.
    """

    form: Form
    paths: Sequence[Path]
    notes: Sequence[Note]


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
    name = place.name.lower()
    if place.is_dir():
        found = _in_folder(folder_of_notes(place))
    elif name.endswith((".jsonl", ".jsonl.gz")):
        form: Form = "lines.gz" if name.endswith(".gz") else "lines"
        found = Notes(form, [place], list(_in_lines(place, form)))
    else:
        told = "is neither a folder of .txt files nor a .jsonl or .jsonl.gz file"
        told = told if place.exists() else f"is not there. {DOWNLOAD} gets the public notes"
        raise UserError(f"{place} {told}.")
    is_folder = found.form == "folder"
    if not found.notes:
        what = "no .txt file" if is_folder else "no note"
        raise UserError(f"{place} holds {what}. {DOWNLOAD} gets the public notes.")
    # An example's id is the name without `.txt`.
    seen: dict[str, str] = {}
    for number, note in enumerate(found.notes, start=1):
        stem = note.filename[:-4] if note.filename.lower().endswith(".txt") else note.filename
        # Names of files are shown. What a line calls its name may be a text, so its place is.
        shown = repr(note.filename) if is_folder else f"its note {number}"
        if stem in seen:
            raise UserError(f"{place} holds two notes of one name: {seen[stem]} and {shown}.")
        seen[stem] = shown
    return found._replace(notes=sorted(found.notes, key=lambda note: note.filename.encode()))


def folder_of_notes(place: Path) -> Path:
    """Return the folder with the notes themselves: that of a download, or the place."""
    return place / NOTES_FOLDER if (place / NOTES_FOLDER).is_dir() else place


def note_paths(folder: Path) -> list[Path]:
    """Return the text files of a folder that are not hidden.

    Raises:
        UserError: the folder cannot be read.
    """
    with os_error_as(f"The folder {folder} cannot be read: {{why}}."):
        paths = sorted(folder.iterdir())
    texts = (path for path in paths if path.name.lower().endswith(".txt") and path.is_file())
    return [path for path in texts if not path.name.startswith(".")]


def _in_folder(folder: Path) -> Notes:
    paths = note_paths(folder)
    texts = {path.name: _text_of(path) for path in paths}
    listing, said = listing_of(folder), ""
    if listing is not None:
        listing.check_complete(folder, texts)
        is_whole = all(one.is_content(texts[one.name].encode()) for one in listing.files)
        said = OPEN if is_whole and listing.origin == PINNED else ""
    return Notes("folder", paths, [Note(name, text, said) for name, text in texts.items()])


def _text_of(path: Path) -> str:
    try:
        path.name.encode()
        return _checked(path.read_bytes().decode("utf-8"))
    except OSError as error:
        told = f"cannot be read: {error.strerror}"
    except UnicodeEncodeError:
        shown = path.name.encode(errors="surrogateescape")
        raise UserError(f"The file name {shown!r} in {path.parent} is not UTF-8.") from None
    except UnicodeDecodeError as error:
        told = f"is not text in UTF-8: {error.reason} at byte {error.start}. Save it as UTF-8"
    except ValueError as error:
        told = str(error)
    raise UserError(f"The note {path} {told}.")


def _checked(text: str) -> str:
    # Neither PostgreSQL nor a file in UTF-8 can hold them.
    if "\0" in text:
        raise ValueError("holds a null character, so it is no text")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds half of a surrogate pair, so it is no text")
    return text


def _in_lines(path: Path, form: Form) -> Iterator[Note]:
    with os_error_as(f"{path} cannot be read: {{why}}."):
        content = path.read_bytes()
    if form == "lines.gz":
        content = unpacked(content, str(path))
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            if line.strip():
                yield _note_of(line)
        except UnicodeDecodeError:
            # What the decoder says holds the text.
            raise UserError(f"{path}, line {number} is not text in UTF-8.") from None
        except ValueError as error:
            raise UserError(f"{path}, line {number} {error}.") from None


def _note_of(line: bytes) -> Note:
    if len(line) > LONGEST_LINE:
        raise ValueError(
            f"has {len(line):,} bytes, and there can be {LONGEST_LINE:,}. Put notes as long as that"
            " into a folder, as .txt files"
        )
    text = line.decode("utf-8")
    if text.startswith("\ufeff"):
        raise ValueError("begins with a byte order mark. Save the file as UTF-8 without one")
    entry = read_strict(text, _DECODER)
    if not isinstance(entry, dict):
        raise ValueError("is no JSON object")
    for key in ("filename", "text"):
        if not isinstance(entry.get(key), str):
            raise ValueError(f"has no text called {key}")
        _checked(entry[key])
    if not entry["filename"].strip():
        raise ValueError("has a blank filename")
    return Note(entry["filename"], entry["text"], OPEN if entry.get("data_class") == OPEN else "")


def _file_name(name: str) -> str:
    # It becomes a path below the cache folder. Half of a surrogate pair is in no file's name.
    if Path(name).name != name or name.startswith(".") or _checked(name) != name:
        raise ValueError("no plain file name")
    return name


class ListedFile(BaseModel):
    """One file of the repository: its name, its bytes, and the hash that git gives its content."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, AfterValidator(_file_name)]
    size: int
    sha: str

    def is_content(self, content: bytes) -> bool:
        """Tell whether these are the bytes of the file."""
        # Git's own name of a content: a hash of its kind, length and bytes.
        blob = b"blob %d\0" % len(content) + content
        is_as_long = len(content) == self.size
        return is_as_long and hashlib.sha1(blob, usedforsecurity=False).hexdigest() == self.sha

    def checked(self, content: bytes) -> bytes:
        """Return the bytes if they are those of the file; else raise a ValueError."""
        if not self.is_content(content):
            raise ValueError("other bytes than those of the commit")
        return content


class Listing(BaseModel):
    """The notes of a folder of a repository at a commit."""

    repository: str
    folder: str
    commit: str
    files: tuple[ListedFile, ...]

    @property
    def origin(self) -> tuple[str, str, str]:
        """The repository, the folder and the commit."""
        return self.repository, self.folder, self.commit

    def check_complete(self, notes: Path, names: Collection[str]) -> None:
        """Stop where a folder holds not just the notes of the list.

        Args:
            notes: the folder, for messages.
            names: the names of the notes there.

        Raises:
            UserError: notes are missing, or others are there.
        """
        expected = {file.name for file in self.files}
        if missing := sorted(expected.difference(names)):
            raise UserError(
                f"The download in {notes} is incomplete: of {len(expected)} notes it lacks"
                f" {len(missing)}, {missing[0]!r} among them. Complete it with {DOWNLOAD}."
            )
        if others := sorted(set(names) - expected):
            told = f"{len(others)}, {others[0]!r} among them"
            raise UserError(f"{notes} holds notes that are not of the download ({told}).")


def listing_of(notes: Path) -> Listing | None:
    """Return the list of a download that was begun; None without a usable one.

    A folder without a list, as other programs leave it, is taken as it is.

    Args:
        notes: the folder `txt_files`, beside which the list stands.
    """
    if notes.name != NOTES_FOLDER:
        return None
    try:
        return Listing.model_validate_json((notes.parent / LISTING_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
