"""What the public repository holds: the names, sizes and hashes of its notes at one commit."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medeval.errors import UserError

# What the benchmark's authors pin: a repository, a folder in it, and the commit.
PINNED = (
    "raulista1997/benchmarkdata",
    "mtsample_procedure",
    "c4c252443fa9c52afb6960f53e51be278639bea2",
)
# In the cache folder: the notes, and beside them the list of what a download brings.
NOTES_FOLDER = "txt_files"
LISTING_FILE = "listing.json"

DOWNLOAD = "`python -m medeval load mtsamples --download`"
# The most entries of a folder that GitHub lists; it says nothing of the others.
_LONGEST_ANSWER = 1000


@dataclass(frozen=True)
class ListedFile:
    """One file of the repository.

    Attributes:
        name: its name in the folder.
        size: its bytes.
        sha: the hash that git gives its content.
    """

    name: str
    size: int
    sha: str

    def is_content(self, content: bytes) -> bool:
        """Tell whether these are the bytes of the file."""
        if len(content) != self.size:
            return False
        # Git's own name of a content: a hash of its kind, length and bytes.
        blob = b"blob %d\0" % len(content) + content
        return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == self.sha

    def is_at(self, path: Path) -> bool:
        """Tell whether a file on disk has these bytes."""
        try:
            return path.stat().st_size == self.size and self.is_content(path.read_bytes())
        except FileNotFoundError:
            return False


@dataclass(frozen=True)
class Listing:
    """The notes of a folder of a repository at a commit, in the order of the names' bytes."""

    repository: str
    folder: str
    commit: str
    files: tuple[ListedFile, ...]

    def is_of(self, repository: str, folder: str, commit: str) -> bool:
        """Tell whether it lists this folder at this commit."""
        return (self.repository, self.folder, self.commit) == (repository, folder, commit)

    def as_json(self) -> str:
        """Return the text that `read_listing` reads."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def listing_from_answer(
    answer: object, repository: str, folder: str, commit: str, place: str
) -> Listing:
    """Read what GitHub's contents API says of a folder; what is no `.txt` is no note.

    Args:
        answer: the JSON value.
        repository: owner and name.
        folder: the folder in the repository.
        commit: the commit that was asked for.
        place: the address, for messages.

    Raises:
        UserError: the answer is no list of files, is cut, has a name that is no plain file name, or
            names no note.
    """
    if not isinstance(answer, list):
        raise UserError(f"{place} answers with something else than a list of files.")
    if len(answer) >= _LONGEST_ANSWER:
        raise UserError(f"{place} lists {len(answer)} files, so its list may be cut.")
    try:
        files = _files([entry for entry in answer if _is_note(entry)])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{place} lists a file that cannot be used: {error!r}.") from None
    if not files:
        raise UserError(f"{place} lists no .txt file.")
    return Listing(repository, folder, commit, files)


def read_listing(cache: Path) -> Listing | None:
    """Return the list of a download that was begun in a cache folder; None without a usable one."""
    try:
        stored = json.loads((cache / LISTING_FILE).read_text(encoding="utf-8"))
        files = _files(stored["files"])
        return Listing(stored["repository"], stored["folder"], stored["commit"], files)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def are_pinned(notes: Path, texts: Mapping[str, str]) -> bool:
    """Tell whether notes are, byte by byte, all those of the pinned commit.

    Args:
        notes: the folder `txt_files` of a download, beside which the list of its hashes stands.
        texts: what the notes hold, by name.
    """
    listing = read_listing(notes.parent) if notes.name == NOTES_FOLDER else None
    if listing is None or not listing.is_of(*PINNED):
        return False
    return all(file.is_content(texts.get(file.name, "").encode()) for file in listing.files)


def check_complete(notes: Path, names: set[str]) -> None:
    """Stop where a folder of a download holds not just the notes of its list.

    A folder without a list, as other programs leave it, is taken as it is.

    Args:
        notes: the folder `txt_files`.
        names: the names of the notes there.

    Raises:
        UserError: notes are missing, or others are there.
    """
    listing = read_listing(notes.parent) if notes.name == NOTES_FOLDER else None
    if listing is None:
        return
    expected = {file.name for file in listing.files}
    if missing := sorted(expected - names):
        raise UserError(
            f"The download in {notes} is incomplete: of {len(expected)} notes it lacks"
            f" {len(missing)}, {missing[0]!r} among them. Complete it with {DOWNLOAD}."
        )
    if others := sorted(names - expected):
        raise UserError(
            f"{notes} holds notes that are not of the download ({len(others)}, {others[0]!r} among"
            " them). Move them away."
        )


def _is_note(entry: Mapping[str, Any]) -> bool:
    return entry["type"] == "file" and str(entry["name"]).endswith(".txt")


def _files(entries: Sequence[Mapping[str, Any]]) -> tuple[ListedFile, ...]:
    """Return the files of a list, in the order of their names' bytes.

    Raises:
        ValueError: a name that is no plain file name, or that is there twice.
    """
    files = [_listed(entry) for entry in entries]
    names = Counter(file.name for file in files)
    for name, count in names.items():
        if count > 1:
            raise ValueError(f"{name!r} is there {count} times")
    return tuple(sorted(files, key=_by_bytes))


def _listed(entry: Mapping[str, Any]) -> ListedFile:
    name = str(entry["name"])
    name.encode()  # half of a surrogate pair is in no file's name
    # It becomes a path below the cache folder.
    if Path(name).name != name or name.startswith(".") or "\0" in name:
        raise ValueError(name)
    return ListedFile(name, int(entry["size"]), str(entry["sha"]))


def _by_bytes(file: ListedFile) -> bytes:
    return file.name.encode()
