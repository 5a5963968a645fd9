"""The folder of an export: complete files and a manifest, or what was there before.

New files are written below `.incomplete` in the same folder and renamed when all of them are
there; the manifest is renamed last. While files change place there is no manifest, so a folder
that has one is described by it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from medeval.data_class import OPEN
from medeval.errors import UserError

MANIFEST = "manifest.json"
STAGING = ".incomplete"
OWNED = "files.json"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of an export, as the manifest lists it; rows do not count the header."""

    path: str
    task: str
    sha256: str
    bytes: int
    rows: int


class ExportFile:
    """A new file in the staging folder, hashed while it is written."""

    def __init__(self, folder: ExportFolder, path: str, task: str) -> None:
        self._folder = folder
        self._path = path
        self._task = task
        self._hash = hashlib.sha256()
        self._bytes = 0
        self._rows = 0
        place = folder.staging / path
        _make_folder(place.parent)
        # 0600 from the first byte on, whatever the umask: rows of patients go in here.
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(descriptor, "wb")

    def write(self, lines: bytes, rows: int) -> None:
        """Append whole lines; `rows` of them are data."""
        self._file.write(lines)
        self._hash.update(lines)
        self._bytes += len(lines)
        self._rows += rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *failure: object) -> None:
        self._file.close()
        if kind is None:
            self._folder.written.append(
                WrittenFile(self._path, self._task, self._hash.hexdigest(), self._bytes, self._rows)
            )


class ExportFolder:
    """One export at work in its folder; use as a context manager.

    Attributes:
        folder: where the files will be.
        staging: where they are until all are complete.
        written: the files of this export so far.
        previous: the manifest that describes the folder now; None if nothing does.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.staging = folder / STAGING
        self.written: list[WrittenFile] = []
        self.previous: dict[str, Any] | None = None
        self._owned: set[str] = set()
        self._lock = -1

    def __enter__(self) -> Self:
        _make_folder(self.folder)
        self._lock = _locked(self.folder)
        try:
            self.previous = _read_list(self.folder / MANIFEST)
            # An export that was killed while it renamed left no manifest, but its list of files.
            for listed in (self.previous, _read_list(self.staging / OWNED)):
                self._owned.update(_paths(listed or {"files": []}))
            _make_folder(self.staging)
            self._record_owned()
            self._remove_leftovers()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            # Without a manifest the list in the staging folder alone says which files are ours.
            if (self.folder / MANIFEST).exists() or not self._owned:
                shutil.rmtree(self.staging, ignore_errors=True)
        finally:
            os.close(self._lock)

    def create(self, path: str, task: str) -> ExportFile:
        """Start a file; `path` is relative to the folder, with `/`."""
        return ExportFile(self, path, task)

    def is_intact(self, path: str, sha256: str) -> bool:
        """Tell whether a file of an earlier export is still what its manifest says."""
        try:
            with (self.folder / path).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha256
        except OSError:
            return False

    def publish(self, manifest: dict[str, Any]) -> None:
        """Put all new files in place, remove those of earlier exports, the manifest last.

        A folder that was there before is closed to everyone but its owner, unless data are open.
        Only files that an earlier manifest of this folder lists are removed, never foreign ones.
        """
        new_manifest = self.staging / MANIFEST
        _write_private(new_manifest, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        described = set(_paths(manifest))
        stale = self._owned - described
        self._owned |= described
        self._record_owned()
        if manifest["data_class"] != OPEN:
            self.folder.chmod(0o700)
        (self.folder / MANIFEST).unlink(missing_ok=True)
        self._remove(stale)
        for file in self.written:
            place = self.folder / file.path
            _make_folder(place.parent)
            (self.staging / file.path).replace(place)
        new_manifest.replace(self.folder / MANIFEST)

    def _record_owned(self) -> None:
        listed = {"files": [{"path": path} for path in sorted(self._owned)]}
        half = self.staging / (OWNED + ".new")
        half.unlink(missing_ok=True)
        _write_private(half, json.dumps(listed))
        half.replace(self.staging / OWNED)

    def _remove_leftovers(self) -> None:
        """Empty the staging folder of an export that did not end, but for the list of files."""
        for entry in self.staging.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != OWNED:
                entry.unlink()

    def _remove(self, paths: Iterable[str]) -> None:
        parents: set[Path] = set()
        for path in paths:
            place = self.folder / path
            place.unlink(missing_ok=True)
            parents.update(
                self.folder / parent for parent in PurePosixPath(path).parents if parent.name
            )
        for parent in sorted(parents, key=lambda folder: len(folder.parts), reverse=True):
            with suppress(OSError):  # not empty: something of somebody else is in it
                parent.rmdir()


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, each new one for its owner only."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _locked(folder: Path) -> int:
    """Hold the folder until the descriptor is closed or the process ends, however it ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(
            f"Another export is writing to {folder}. Wait until it has ended."
        ) from None
    except OSError:
        # Some network file systems lock no folders; then nothing guards against a second export.
        pass
    return descriptor


def _read_list(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        _paths(manifest)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{path} is not a manifest that medeval wrote, so it cannot tell which files beside it"
            f" are its own. Move it away or choose another --out. ({type(error).__name__})"
        ) from None
    return dict(manifest)


def _paths(manifest: dict[str, Any]) -> list[str]:
    """Return the paths a manifest lists, all of them inside its folder."""
    paths = [str(entry["path"]) for entry in manifest["files"]]
    for path in paths:
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts or not parts.name:
            raise ValueError(path)
    return paths
