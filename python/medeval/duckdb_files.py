"""A dbt-duckdb plugin: what SQL cannot see of a user's files.

DuckDB has no function for the folder that a relative path starts from or for a file's header as it
is written, and it reads a plain CSV file that is cut inside its last cell without a word.
profiles.yml names this module; the macros of `macros/sources` use the functions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.duckdb.plugins import BasePlugin

from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.private_files import exposed_warehouse, make_private
from medeval.sources import real_path

if TYPE_CHECKING:
    from dbt.adapters.duckdb.credentials import DuckDBCredentials
    from duckdb import DuckDBPyConnection

    from medeval.raw_files import RawFile

_MAGIC = slice(8, 12)


def absolute_path(path: str) -> str:
    """Return the path with the current folder in front where it is relative, and ``~`` resolved."""
    return os.path.normpath(Path(path).expanduser().absolute())


def table_files(folder: str, modules: str, tables: str, optional: str) -> str:
    """Find the files of tables in a folder, whole as far as their last bytes can tell.

    Args:
        folder: the absolute path.
        modules: the folders in it that may hold the files (`["hosp", "core"]`), as a JSON array.
        tables: the lower-case names as a JSON array.
        optional: those of them that may be absent, as a JSON array.

    Returns:
        JSON: `{"files": {table: [{"path", "form", "columns"}, ...]}}`, the preferred form of a
        table first and its columns in lower case; or `{"problem": a sentence for the user}`.
    """
    # It imports numpy and pyarrow, for which the commands that lay no source need not wait.
    from medeval.raw_files import find_files, module_folders

    try:
        if any(character in folder for character in "*?["):
            raise UserError(
                f"The path {folder} has one of the characters * ? [ in it, which DuckDB reads as a "
                "pattern. Rename the folder."
            )
        files = {
            table: [_described(file) for file in found]
            for table, found in find_files(
                module_folders(Path(folder), json.loads(modules)),
                json.loads(tables),
                json.loads(optional),
            ).items()
        }
    except UserError as error:
        return json.dumps({"problem": str(error)})
    return json.dumps({"files": files})


def _described(file: RawFile) -> dict[str, Any]:
    from medeval.raw_files import check_last_line, read_header

    columns = read_header(file)
    check_last_line(file)
    return {"path": str(file.path), "form": file.form, "columns": columns}


def database_problem(path: str) -> str:
    """Return what is wrong with the path of a DuckDB file as a sentence, or nothing."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_MAGIC.stop)
    except OSError as error:
        return f"The DuckDB file {path} cannot be read: {error.strerror}."
    return "" if head[_MAGIC] == b"DUCK" else f"The file {path} is not a DuckDB file."


def cohort_problem(path: str) -> str:
    """Return what is wrong with a file of admission ids as a sentence, or nothing."""
    from medeval.cohort_file import read_cohort_file

    try:
        read_cohort_file(Path(path))
    except UserError as error:
        return str(error)
    return ""


def record_file(path: str) -> str:
    """Tell how a JSON file holds its records.

    Returns:
        JSON: `{"form": "array" or "lines"}`, or `{"problem": a sentence for the user}`.
    """
    if any(character in path for character in "*?["):
        problem = "has one of the characters * ? [ in its path, which DuckDB reads as a pattern"
    else:
        try:
            return json.dumps({"form": _form_of_records(Path(path).read_text(encoding="utf-8"))})
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            problem = "is not text in UTF-8"
        except ValueError as error:
            problem = str(error)
    advice = "`python -m medeval load yier FILE --out CLEAN` mends a file."
    return json.dumps({"problem": f"The file {path} {problem}. {advice}"})


def _form_of_records(text: str) -> str:
    if text.lstrip().startswith("["):
        try:
            records = json.loads(text)
        except ValueError as error:
            raise ValueError(f"is not valid JSON: {error}") from None
        numbered: Iterable[tuple[int, Any]] = enumerate(records, start=1)
        form, place = "array", "record"
    else:
        numbered = (
            (number, json.loads(line))
            for number, line in enumerate(text.split("\n"), start=1)
            if line.strip()
        )
        form, place = "lines", "line"
    number = 0
    try:
        for number, record in numbered:
            if not isinstance(record, dict):
                raise ValueError(f"holds something else than an object in {place} {number}")
    except json.JSONDecodeError as error:
        raise ValueError(f"has a line behind line {number} that is not JSON: {error}") from None
    if not number:
        raise ValueError("holds no record")
    return form


def note_files(path: str) -> str:
    """Find the files of notes, each of which can be read as text.

    Returns:
        JSON: `{"form": "folder", "lines" or "lines.gz", "files": [path, ...], "data_class": that of
        all of them}`, or `{"problem": a sentence for the user}`.
    """
    from medeval.mtsamples.notes import read_notes

    try:
        found = read_notes(Path(path))
    except UserError as error:
        return json.dumps({"problem": str(error)})
    said = strictest(note.data_class for note in found.notes)
    return json.dumps({"form": found.form, "files": [*map(str, found.paths)], "data_class": said})


class Plugin(BasePlugin):
    """Registers the functions on the connection that dbt opens, and closes its files to others."""

    def update_connection_config(self, creds: DuckDBCredentials, config: dict[str, Any]) -> None:
        """Close the files of the warehouse that were made when they were open to others."""
        make_private(exposed_warehouse(creds.path, config["temp_directory"]))

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Register the functions of this module as `medeval_<name>`."""
        text: Any = "VARCHAR"
        conn.create_function("medeval_absolute_path", absolute_path, [text], text)
        conn.create_function("medeval_real_path", real_path, [text], text)
        conn.create_function("medeval_table_files", table_files, [text] * 4, text)
        conn.create_function("medeval_cohort_problem", cohort_problem, [text], text)
        conn.create_function("medeval_record_file", record_file, [text], text)
        conn.create_function("medeval_note_files", note_files, [text], text)
        conn.create_function("medeval_database_problem", database_problem, [text], text)
