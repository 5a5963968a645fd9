"""Raw files as folders of Parquet, which a cluster reads: all tables, or nothing."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from medeval import __version__
from medeval.errors import UserError
from medeval.files import make_folder, replace_file
from medeval.load import LoadedTable, Part, find_part_tables
from medeval.raw_files import RawFile, check_rows, check_whole, literal
from medeval.terminal import Advance, progress
from medeval.warehouse import shown

# Its file in a folder that `load` made. Nothing without it is ever replaced.
_MARK = "medeval_load.json"
# Files of about this size are what a cluster reads best.
_FILE_BYTES = 256 << 20


def write_parquet(
    parts: Sequence[Part], folder: Path, *, replace: bool = False
) -> list[LoadedTable]:
    """Write the files of sources as Parquet, `SUBFOLDER/TABLE.parquet/*.parquet`.

    All columns are text, named as in the header in lower case. The folder stands under its name
    when all of it is written.

    Args:
        parts: the sources and their folders.
        folder: to make.
        replace: replace the folder if `load` made it.

    Returns:
        The tables, with the subfolder for the schema.

    Raises:
        UserError: bad input (missing, truncated or malformed file, missing column), a folder that
            exists, or a disk that refuses. No folder is left then.
    """
    if folder.exists():
        if not (folder / _MARK).is_file():
            raise UserError(f"{folder} is there, and `load` did not make it. Name another folder.")
        if not replace:
            raise UserError(f"{folder} is there; nothing was touched. --replace replaces it.")
    found = [find_part_tables(part) for part in parts]
    total = sum(files[0].path.stat().st_size for tables in found for files in tables.values())
    staged = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(staged, ignore_errors=True)
    try:
        with progress("load", lambda: total) as advance:
            written = [
                _write_table(staged, part, table, files, advance)
                for part, tables in zip(parts, found, strict=True)
                for table, files in tables.items()
            ]
            written += [
                _write_table(staged, part, part.plan.list_table, (), advance)
                for part in parts
                if part.plan.list_table and part.admissions
            ]
        told = {"made_by": f"medeval {__version__}", "tables": {}}
        told["tables"] = {f"{one.schema}/{one.table}": one.rows for one in written}
        replace_file(staged / _MARK, json.dumps(told, indent=1).encode())
        if folder.exists():
            shutil.rmtree(folder)
        staged.replace(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return written


def subfolder(part: Part) -> str:
    """Return the folder of a source within that of its kind; nothing where it has none."""
    return next(iter(part.plan.meta.get("subfolders", ())), "")


def _write_table(
    staged: Path, part: Part, table: str, files: Sequence[RawFile], advance: Advance
) -> LoadedTable:
    """Write a table of its file, some rows at a time; one without a file is the list."""
    start, place = time.perf_counter(), staged / subfolder(part) / f"{table}.parquet"
    if files:
        check_whole(files[0].path)
        relation = files[0].relation
    else:
        ids = ", ".join(map(str, part.admissions))
        relation = (
            f"(select unnest([{ids}]) as hadm_id,"
            f" unnest(range(1, {len(part.admissions) + 1})) as list_position)"
        )
    make_folder(place)
    with closing(duckdb.connect()) as database:
        try:
            # The order of rows in a file means nothing, and keeping it costs memory.
            database.execute("set preserve_insertion_order = false")
            ((rows,),) = database.execute(
                f"copy (select cast(columns(*) as varchar) from {relation})"
                f" to {literal(str(place))}"
                f" (format parquet, compression zstd, file_size_bytes {_FILE_BYTES})"
            ).fetchall()
        except duckdb.Error as error:
            raise UserError(shown(error)) from None
    if files:
        advance(files[0].path.stat().st_size)
        check_rows(table, files, int(rows))
    return LoadedTable(subfolder(part), table, int(rows), time.perf_counter() - start)
