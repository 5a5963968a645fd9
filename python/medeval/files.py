"""Files and folders: private from the first byte on, whole or not there, and appended line by line.

What medeval writes holds rows, texts or ids of patients, so only its owner may open it.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import io
import json
import math
import mmap
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from medeval.errors import UserError, os_error_as

# The umask under which the warehouse, logs and runs are made.
UMASK = 0o077
# A megabyte of gzip can hold a gigabyte: no more is unpacked into memory.
LONGEST = 512 * 1024 * 1024


# Private files


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each new one for its owner only."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def create_private(path: Path) -> BinaryIO:
    """Open a new file for writing, for its owner only, whatever the umask is.

    Raises:
        FileExistsError: there is such a file.
    """
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in the place of another, as `replacing` does."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of another, if it is written without an error.

    The old one or the whole new one is there at any time; the new one is on the disk before it
    takes the place. What is no file, a device or a pipe, is written into, and /dev gets no file:
    root could put one in the place of what all programs need.

    Raises:
        OSError: it cannot be written.
        UserError: it would be in /dev.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    if path.parent == Path("/dev"):
        raise UserError(f"{path} cannot be a file of results. Name another place.")
    # For its owner only from the first byte on: inputs and answers may hold what patients told.
    descriptor, new = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(new).replace(path)
    finally:
        Path(new).unlink(missing_ok=True)


def hold(descriptor: int) -> bool:
    """Hold an open file or folder until it is closed or the process ends, however it ends.

    Some network file systems lock nothing; then nothing guards against a second process.

    Returns:
        Whether no other process holds it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def exposed(place: Path, names: str = "*") -> Iterator[Path]:
    """Yield what others may read, write or enter: a file, or a folder and all below it.

    Args:
        place: the file or folder; nothing is found where it is not there. Links are not followed.
        names: which entries of the folder are meant. The folder itself is meant only if no other
            entry is in it, and never if everybody may write there or if the current folder or the
            user's home lies in it: it is not ours alone then.
    """
    if place.is_symlink() or not place.exists():
        return
    entries = list(place.iterdir()) if place.is_dir() else []
    chosen = [entry for entry in entries if entry.match(names)]
    is_shared = len(chosen) < len(entries) or place.stat().st_mode & stat.S_ISVTX
    for inside in (Path.cwd(), Path.home()):
        is_shared = is_shared or inside.is_relative_to(place.resolve())
    if place.stat().st_mode & UMASK and not is_shared:
        yield place
    for entry in chosen if names != "*" or not is_shared else []:
        yield from exposed(entry)


def exposed_warehouse(path: str, temp_folder: str) -> Iterator[Path]:
    """Yield what others may open of a DuckDB file, its log of changes (`.wal`) and its spill."""
    yield from exposed(Path(path).parent, f"{glob.escape(Path(path).name)}*")
    yield from exposed(Path(temp_folder), "duckdb_temp*")


def make_private(paths: Iterable[Path]) -> None:
    """Take from others what they may do with these; what another user owns stays as it is."""
    for path in list(paths):
        with suppress(PermissionError, FileNotFoundError):
            path.chmod(path.stat().st_mode & ~UMASK)


# Whole files


def require_different(files: Sequence[Path], named: Sequence[Path]) -> None:
    """Refuse two that are one, whatever links or relative paths lead there.

    Args:
        files: what is read of each.
        named: how the user named them, for messages.

    Raises:
        UserError: two are the same.
    """
    places = [file.resolve() for file in files]
    for at, path in enumerate(named):
        if (first := places.index(places[at])) < at:
            is_other = named[first] != path
            said = f"and {named[first]} are the same" if is_other else "is named twice"
            raise UserError(f"{path} {said}.")


def sha256(path: Path) -> str:
    """Return the hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """Return the text of a UTF-8 file, by default without its byte order mark.

    Raises:
        UserError: it cannot be read, or is not UTF-8; naming the file and the byte.
    """
    try:
        with os_error_as(f"{path} cannot be read: {{why}}."):
            return path.read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        what = f"{error.reason} at byte {error.start}"
        raise UserError(f"{path} is not text in UTF-8: {what}. Save it as UTF-8.") from None


def unpacked(data: bytes, name: str) -> bytes:
    """Return what a gzip file in memory holds. Raw tables of MIMIC are read as a stream instead.

    Args:
        data: the bytes of the file.
        name: what to call it in messages.

    Raises:
        UserError: it is damaged, cut off, or holds more than `LONGEST` bytes.
    """
    import gzip  # here, not above: every command starts with this module
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(LONGEST + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{name} looks truncated or damaged as a gzip file ({error}).") from None
    if len(found) > LONGEST:
        raise UserError(f"{name} holds more than {LONGEST:,} bytes. Unpack it first.")
    return found


def toml_beside(module: str, name: str) -> dict[str, Any]:
    """Return what a file of the package holds, named from the folder of a module's `__file__`."""
    return tomllib.loads((Path(module).parent / name).read_text(encoding="utf-8"))


# Strict JSON, as RFC 8259 has it: no key twice in an object, no NaN, no number without bounds


class RepeatedKeyError(ValueError):
    """An object names a key twice: which of the two counts differs from reader to reader."""

    key = ""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of its pairs.

    Raises:
        RepeatedKeyError: a key stands twice; the first such key is its `key`.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            error = RepeatedKeyError("names a key twice")
            error.key = key
            raise error
        found[key] = value
    return found


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError("holds a number that is too large")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"holds {name}, which is not JSON")


def strict_decoder(
    parse_int: Callable[[str], Any] = int, parse_float: Callable[[str], Any] = _finite
) -> json.JSONDecoder:
    """Return a decoder that raises a ValueError for what is no strict JSON.

    Args:
        parse_int: makes a value of what is written as a whole number.
        parse_float: of any other number.
    """
    return json.JSONDecoder(
        object_pairs_hook=unique_keys,
        parse_constant=_no_constant,
        parse_int=parse_int,
        parse_float=parse_float,
    )


_STRICT = strict_decoder()


def read_strict(text: str, decoder: json.JSONDecoder = _STRICT) -> Any:
    """Return the one value that a text of strict JSON is.

    Args:
        text: the text.
        decoder: of `strict_decoder`.

    Raises:
        ValueError: it is none. The message goes on from the name of the place, as in "is not JSON:
            Expecting value at line 1, column 3", and shows nothing of the text.
    """
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"is not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise ValueError("is nested too deep") from None


def read_json(path: Path) -> Any:
    """Return the value of a file of strict JSON.

    Raises:
        UserError: it cannot be read, or is none; naming the file and the place.
    """
    try:
        return read_strict(read_text(path))
    except ValueError as error:
        raise UserError(f"{path} {error}.") from None


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each line of a file of JSON Lines; blank lines do not count.

    Raises:
        UserError: it cannot be read, or a line is no strict JSON; naming the file and the line.
    """
    # Texts hold signs that `splitlines` takes for line ends.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            try:
                yield number, read_strict(line)
            except ValueError as error:
                raise UserError(f"{path}, line {number} {error}.") from None


def json_lines(rows: Iterable[Any]) -> str:
    """Return rows as JSON Lines, text readable in any script."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# Files of lines that are only ever appended to: a torn last line of them counts for nothing


def not_written(descriptor: int, text: bytes) -> str:
    """Write a line at once; return why it is not there as a whole, empty if it is."""
    try:
        written = os.write(descriptor, text)
    except OSError as error:
        return error.strerror or type(error).__name__
    return "the disk is full" if written < len(text) else ""


def end_of_whole_lines(descriptor: int) -> int:
    """Return where the last whole line ends."""
    if not os.fstat(descriptor).st_size:
        return 0
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as text:
        return text.rfind(b"\n") + 1


def numbered_lines(descriptor: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and text of each line before `end`."""
    offset = 0
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        for number, line in enumerate(file, start=1):
            if offset + len(line) > end:
                return
            yield number, offset, line
            offset += len(line)
