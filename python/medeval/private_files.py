"""Files and folders that only their owner may open: they hold rows, texts or ids of patients."""

from __future__ import annotations

import glob
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

# The umask under which the warehouse, logs and runs are made.
UMASK = 0o077


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
