"""The user's list of admissions: a text file with one hadm_id a line."""

from __future__ import annotations

import re
from pathlib import Path

from medeval.errors import UserError


def read_cohort_file(path: Path) -> list[int]:
    """Read the ids in the order of the file; blank lines do not count.

    Args:
        path: a UTF-8 file; a byte order mark and Windows line ends are accepted.
            The view of the list (`duckdb_files`) splits and trims as this does.

    Raises:
        UserError: a file that cannot be read, no id in it, a line that is not a whole number, or
            an id that stands twice.

    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"The cohort file {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"The cohort file {path} is not text in UTF-8.") from error
    first_line: dict[int, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        cell = line.strip(" \t\ufeff")
        if not cell:
            continue
        if not re.fullmatch(r"[0-9]{1,9}", cell):
            raise UserError(
                f"{path}, line {number} is not a hadm_id. The file holds one hadm_id a line and "
                "nothing else."
            )
        if int(cell) in first_line:
            raise UserError(
                f"{path}, line {number}: its hadm_id stands in line {first_line[int(cell)]} too."
            )
        first_line[int(cell)] = number
    if not first_line:
        raise UserError(f"The cohort file {path} names no admission.")
    return list(first_line)
