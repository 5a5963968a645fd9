"""Raw files into PostgreSQL by COPY, or as folders of Parquet, which a cluster reads.

All tables are there in the end, or none.
"""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import psycopg
from psycopg import sql

from medeval import __version__, raw_files
from medeval.errors import UserError
from medeval.files import make_folder, replace_file
from medeval.raw_files import RawFile, literal
from medeval.sources import LoadRequest, Source, project_variable
from medeval.terminal import Advance, progress, say
from medeval.warehouse import connect, load_target, shown, shown_line

if TYPE_CHECKING:
    from medeval.warehouse import Connection

# The comment of a schema, and the file in a folder, that `load` made. Nothing without it is ever
# dropped or replaced.
_MARK = "made by medeval load: "
_COMMENT = "select obj_description(oid, 'pg_namespace') from pg_namespace where nspname = %s"
_MARK_FILE = "medeval_load.json"
# The comment of a table that a build made for what nobody has loaded.
_OF_A_BUILD = "made empty by medeval"
_TABLES = (
    "select relname, obj_description(oid, 'pg_class') from pg_class"
    " where relkind = 'r' and relnamespace = to_regnamespace(%s)"
)
# Files of Parquet of about this size are what a cluster reads best.
_FILE_BYTES = 256 << 20


@dataclass(frozen=True)
class Part:
    """One source of a load.

    Attributes:
        plan: the source, as the dbt project declares it.
        folder: where its files are; None if it is absent, and its tables are empty.
        schema: the schema to make.
        admissions: the user's list, for the source that has a table for it.
        schema_setting: what chooses another schema, for messages.
    """

    plan: Source
    folder: Path | None
    schema: str
    admissions: Sequence[int] = ()
    schema_setting: str = "--schema"


@dataclass(frozen=True)
class LoadedTable:
    """What became of one table: its schema or subfolder, rows, and seconds."""

    schema: str
    table: str
    rows: int
    seconds: float


def load_parts(parts: Sequence[Part], request: LoadRequest) -> list[LoadedTable]:
    """Load the files of sources: each into a new schema, all in one transaction, or as Parquet.

    All columns are text, named as in the header in lower case. Staging models cast. In a database a
    cell with nothing is NULL and a quoted empty cell is the empty text, and a table that may be
    absent, and is, is made empty. Parquet is `SUBFOLDER/TABLE.parquet/*.parquet` in a folder that
    stands under its name when all of it is written.

    Args:
        parts: the sources, their folders and schemas.
        request: what the user asked for.

    Raises:
        UserError: bad input (missing, truncated or malformed file, missing column), a schema or
            folder that exists, or a database or disk that refuses. Nothing is left then.
    """
    if request.parquet is not None:
        return _write_parquet(parts, request.parquet, replace=request.replace)
    target = load_target(request.target, request.root)
    if target.type != "postgres":
        raise UserError(
            f"load copies into PostgreSQL; target {target.name!r} is {target.type}. Spark reads"
            " what `--to parquet DIR` writes, and DuckDB the files themselves."
        )
    if len({part.schema for part in parts}) < len(parts):
        settings = ", ".join(part.schema_setting for part in parts)
        raise UserError(f"Each source needs a schema of its own ({settings}).")
    with _files_of(parts) as (found, advance):
        connection = connect(target)
        try:
            # Committed at its end, or undone by whatever is raised.
            with connection:
                for part in parts:
                    _make_schema(connection, part, replace=request.replace)
                return [
                    _load_table(connection, part, table, tables.get(table, ()), advance)
                    for part, tables in zip(parts, found, strict=True)
                    for table in [*tables, *sorted(part.plan.tables.keys() - tables)]
                ]
        except psycopg.Error as error:
            reason = shown_line(target, error)
            raise UserError(f"PostgreSQL stopped the load: {reason}. Nothing was loaded.") from None


def load_rows(
    rows: Iterable[Sequence[object]], source: Source, request: LoadRequest
) -> LoadedTable:
    """Load rows that no SQL reads from a user's files: see `load_parts`.

    Args:
        rows: of the source's one table.
        source: with that table.
        request: what the user asked for.

    Raises:
        UserError: a schema that exists, or a database that refuses.
    """
    ((table, columns),) = source.tables.items()
    schema = request.schema or str(project_variable(source.schema_variable, request.root))
    with tempfile.TemporaryDirectory(prefix="medeval-") as folder:
        with Path(folder, f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
            # Quoted, so that an empty text is a text and not a missing one.
            writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow(columns)
            writer.writerows(rows)
        (loaded,) = load_parts([Part(source, Path(folder), schema)], request)
    return loaded


@contextmanager
def _files_of(parts: Sequence[Part]) -> Iterator[tuple[list[dict[str, list[RawFile]]], Advance]]:
    """Yield the files of each part by table, all checked, with a bar over their bytes."""
    found = [_find_part_tables(part) for part in parts]
    total = sum(files[0].path.stat().st_size for tables in found for files in tables.values())
    with progress("load", lambda: total) as advance:
        yield found, advance


def _find_part_tables(part: Part) -> dict[str, list[RawFile]]:
    """Choose each table's file and check all that can be checked before a long load.

    Raises:
        UserError: a file or column is missing, or a header or end of a file is wrong.
    """
    plan = part.plan
    if part.folder is None:
        say(f"{plan.name}: no folder is named, so the tables of its files are empty.")
        return {}
    folders = raw_files.module_folders(part.folder, plan.meta.get("subfolders", ()))
    found = raw_files.find_tables(folders, plan.file_tables, sorted(plan.optional))
    folder = " and ".join(map(str, folders))
    if not found:
        raise UserError(f"{folder} has no file of {plan.name}: {', '.join(plan.file_tables)}.")
    for name in plan.file_tables:
        if name not in found:
            say(f"{plan.name}: {folder} has no file of {name}, so that table is empty.")
    for name, ((path, columns), *others) in found.items():
        raw_files.check_columns(name, str(path), columns, plan.tables[name], plan.tables[name])
        if others:
            forms = ", ".join(str(other.path) for other in others)
            say(f"{name}: {path} is loaded; {forms} must have as many rows.")
    return found


def _make_schema(connection: Connection, part: Part, *, replace: bool) -> None:
    plan, schema = part.plan, part.schema
    choose = f"Choose another with {part.schema_setting}"
    row = connection.execute(_COMMENT, [schema]).fetchone()
    if row is not None:
        is_of_a_build = _holds_nothing(connection, schema)
        ours = is_of_a_build or (row[0] or "").startswith(f"{_MARK}{plan.name},")
        if not (replace or is_of_a_build):
            hint = " --replace replaces it." if ours else f" {choose}."
            raise UserError(f"The schema {schema} exists; nothing was touched.{hint}")
        if not ours:
            made = f"was not made by `medeval load {plan.kind}`"
            raise UserError(f"The schema {schema} {made}. {choose}.")
        _drop_schema(connection, plan, schema)
    name = sql.Identifier(schema)
    mark = sql.Literal(f"{_MARK}{plan.name}, medeval {__version__}")
    connection.execute(sql.SQL("create schema {}").format(name))
    connection.execute(sql.SQL("comment on schema {} is {}").format(name, mark))


def _holds_nothing(connection: Connection, schema: str) -> bool:
    """Tell whether a schema has tables, all of them made by a build and empty."""
    name = sql.Identifier(schema)
    tables = connection.execute(_TABLES, [name.as_string(connection)]).fetchall()
    filled = sql.SQL("select 1 from {} limit 1")
    return bool(tables) and all(
        comment == _OF_A_BUILD
        and not connection.execute(filled.format(sql.Identifier(schema, table))).fetchall()
        for table, comment in tables
    )


def _drop_schema(connection: Connection, plan: Source, schema: str) -> None:
    """Drop a schema that `load` made: its own tables, and nothing that someone put beside them."""
    dropped: list[str] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        text = diagnostic.message_detail or diagnostic.message_primary or ""
        dropped.extend(line.removeprefix("drop cascades to ") for line in text.splitlines())

    rows = connection.execute(_TABLES, [sql.Identifier(schema).as_string(connection)])
    tables = [sql.Identifier(schema, name) for name, _ in rows.fetchall() if name in plan.tables]
    # Views over the raw tables (dbt's staging among them) go too. The server's notices name them.
    connection.execute("set local client_min_messages = notice")
    connection.add_notice_handler(note)
    if tables:
        connection.execute(sql.SQL("drop table {} cascade").format(sql.SQL(", ").join(tables)))
    connection.remove_notice_handler(note)
    try:
        connection.execute(sql.SQL("drop schema {} restrict").format(sql.Identifier(schema)))
    except psycopg.errors.DependentObjectsStillExist as error:
        more = "; ".join((error.diag.message_detail or "").splitlines())
        raise UserError(f"The schema {schema} holds more than was loaded: {more}.") from None
    if dropped:
        say(f"Dropped with the old {schema}, which they read: {', '.join(dropped)}.")


def _load_table(
    connection: Connection, part: Part, table: str, files: Sequence[RawFile], advance: Advance
) -> LoadedTable:
    """Make a table of its file; one without a file is empty, but for the list of admissions."""
    start, rows = time.perf_counter(), 0
    columns = files[0].columns if files else part.plan.tables[table]
    name = sql.Identifier(part.schema, table)
    typed = (sql.SQL("{} text").format(sql.Identifier(column)) for column in columns)
    connection.execute(sql.SQL("create table {} ({})").format(name, sql.SQL(", ").join(typed)))
    if files:
        rows = raw_files.check_rows(table, files, _copy(connection, name, files[0], advance))
    elif table == part.plan.list_table and part.admissions:
        statement = sql.SQL("copy {} (list_position, hadm_id) from stdin").format(name)
        rows = len(part.admissions)
        with connection.cursor().copy(statement) as copy:
            for position, hadm_id in enumerate(part.admissions, start=1):
                copy.write_row((str(position), str(hadm_id)))
    # Without it the planner expects a dozen rows, and the models take ten times as long.
    connection.execute(sql.SQL("analyze {}").format(name))
    return LoadedTable(part.schema, table, rows, time.perf_counter() - start)


def _copy(connection: Connection, name: sql.Identifier, file: RawFile, advance: Advance) -> int:
    """Copy a file into its table, and return how many rows it has."""
    # FREEZE: the table is of this transaction, so its rows need no second writing by VACUUM.
    statement = sql.SQL("copy {} from stdin (format csv, freeze true, encoding 'UTF8')")
    count = 0
    with connection.cursor() as cursor:
        with cursor.copy(statement.format(name)) as copy:
            for rows, text in raw_files.read_rows(file, advance):
                if (place := text.find(b"\0")) >= 0:
                    # Line ends in quotes, which end no row, stand in every other part.
                    before = text[:place].split(b'"')[::2]
                    row = count + 1 + sum(part.count(b"\n") for part in before)
                    where = f"{file.path}, row {row} (the header not counted)"
                    raise UserError(f"{where}: a zero byte, which PostgreSQL cannot hold.")
                copy.write(text)
                count += rows
        # Before PostgreSQL 18 a line with nothing but \. ends COPY, and the rest is lost silently.
        if cursor.rowcount != count:
            raise UserError(f"{file.path}: a line that is only \\. ends PostgreSQL's COPY.")
    return count


# Into a folder of Parquet


def _write_parquet(parts: Sequence[Part], folder: Path, *, replace: bool) -> list[LoadedTable]:
    """Write the files of sources as Parquet; see `load_parts`.

    Returns:
        The tables, with the subfolder for the schema.
    """
    if folder.exists():
        if not (folder / _MARK_FILE).is_file():
            raise UserError(f"{folder} is there, and `load` did not make it. Name another folder.")
        if not replace:
            raise UserError(f"{folder} is there; nothing was touched. --replace replaces it.")
    staged = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(staged, ignore_errors=True)
    try:
        with _files_of(parts) as (found, advance):
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
        replace_file(staged / _MARK_FILE, json.dumps(told, indent=1).encode())
        if folder.exists():
            shutil.rmtree(folder)
        staged.replace(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return written


def _write_table(
    staged: Path, part: Part, table: str, files: Sequence[RawFile], advance: Advance
) -> LoadedTable:
    """Write a table of its file, some rows at a time; one without a file is the list."""
    start, subfolder = time.perf_counter(), next(iter(part.plan.meta.get("subfolders", ())), "")
    place = staged / subfolder / f"{table}.parquet"
    if files:
        raw_files.check_whole(files[0].path)
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
        raw_files.check_rows(table, files, int(rows))
    return LoadedTable(subfolder, table, int(rows), time.perf_counter() - start)
