"""A named part of an export's cases, from a list that the user gives: those that readers saw, say.

Which cases human readers answered is theirs to know: a study's list is no part of MIMIC and none
of this project's.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from medeval.cdm.case_files import CaseFiles
from medeval.errors import UserError

COLUMN = "hadm_id"
COMMENT = "#"
# An option is parted at the first "=", so a name has none.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_ID = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Subset:
    """Some of the cases, by name.

    Attributes:
        name: as reports call them.
        hadm_ids: the cases, ascending.
        file_sha256: of the file that they were read from.
    """

    name: str
    hadm_ids: tuple[int, ...]
    file_sha256: str

    @property
    def ids_sha256(self) -> str:
        """The SHA-256 of the ids, ascending, one a line: two files of the same cases share it."""
        return hashlib.sha256("".join(f"{one}\n" for one in self.hadm_ids).encode()).hexdigest()

    def about(self) -> dict[str, Any]:
        """Return what a report says of it."""
        return {
            "name": self.name,
            "cases": len(self.hadm_ids),
            "file_sha256": self.file_sha256,
            "ids_sha256": self.ids_sha256,
        }


def read_subset(named: str, files: CaseFiles) -> Subset:
    """Read the cases of a subset.

    Args:
        named: NAME=FILE. The file has one hadm_id a line, or is a CSV whose header has a column of
            that name. Blank lines and those that begin with `#` do not count; a byte order mark
            and the line ends of any system are accepted.
        files: the cases that there are.

    Raises:
        UserError: no name and file, a file that cannot be read or names no case, or a line that
            holds no hadm_id, one that another line has, or one that is no case.
    """
    name, _, place = named.partition("=")
    if not place.strip():
        raise UserError(f"--subset {named}: it is NAME=FILE, such as readers=readers.csv.")
    if not _NAME.fullmatch(name):
        raise UserError(
            f"--subset {named}: a name has up to 40 letters, digits, dots, hyphens and underscores"
            " (A to Z, no others) and begins with a letter or digit."
        )
    path = Path(place)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"--subset {name}: {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise UserError(f"--subset {name}: {path} is not text in UTF-8. Save it as that.") from None
    lines = _lines(text, path)
    if not lines:
        raise UserError(f"--subset {name}: {path} names no case.")
    _require_cases(lines, files, path)
    return Subset(name, tuple(sorted(lines)), hashlib.sha256(data).hexdigest())


def _lines(text: str, path: Path) -> dict[int, int]:
    """Return the number of the line of each id."""
    lines: dict[int, int] = {}
    for number, cell in _cells(text, path):
        # A note may stand behind an id.
        found = cell.partition(COMMENT)[0].strip()
        if not _ID.fullmatch(found):
            raise UserError(f"{path}, line {number}: {found[:40]!r} is not a {COLUMN}.")
        hadm_id = int(found)
        if hadm_id in lines:
            raise UserError(
                f"{path}, line {number}: {COLUMN} {hadm_id} stands in line {lines[hadm_id]} too."
            )
        lines[hadm_id] = number
    return lines


def _cells(text: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield what stands where an id belongs, with the number of its line."""
    lines = [
        (number, line.strip())
        for number, line in enumerate(StringIO(text, newline=None), start=1)
        if line.strip() and not line.lstrip().startswith(COMMENT)
    ]
    if not lines or _ID.fullmatch(lines[0][1].partition(COMMENT)[0].strip()):
        yield from lines
        return
    number, line = lines[0]
    header = [cell.strip().lower() for cell in _row(line, number, path)]
    if header.count(COLUMN) != 1:
        raise UserError(
            f"{path}, line {number}: {line[:40]!r} is neither a {COLUMN} nor a header with one"
            f" column {COLUMN}. The file has one {COLUMN} a line, or is a CSV parted by commas."
        )
    place = header.index(COLUMN)
    for number, line in lines[1:]:
        row = _row(line, number, path)
        if len(row) != len(header):
            raise UserError(f"{path}, line {number}: {len(row)} cells under {len(header)} columns.")
        if any(cell.strip() for cell in row):
            yield number, row[place]


def _row(line: str, number: int, path: Path) -> list[str]:
    """Return the cells of a line, which is a row by itself: no cell goes on in the next."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise UserError(f"{path}, line {number}: {error}.") from None


def _require_cases(lines: dict[int, int], files: CaseFiles, path: Path) -> None:
    known = {case.hadm_id for case in files.cases}
    unknown = [hadm_id for hadm_id in lines if hadm_id not in known]
    if unknown:
        more = f" It is the first of {len(unknown):,} such lines." if unknown[1:] else ""
        raise UserError(
            f"{path}, line {lines[unknown[0]]}: {COLUMN} {unknown[0]} is none of the"
            f" {len(known):,} cases in {files.folder} that have one of the four pathologies.{more}"
        )
