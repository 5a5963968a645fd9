"""The views of DuckDB over the user's data: files, one attached database, records, notes, a list.

The plugin of dbt-duckdb that profiles.yml names closes the warehouse's files to others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from dbt.adapters.duckdb.plugins import BasePlugin

from medeval import raw_files
from medeval.errors import UserError, os_error_as
from medeval.files import exposed_warehouse, make_private, read_json, read_json_lines, read_text
from medeval.raw_files import RawFile, literal, one_file, sql_text
from medeval.sources import Place, absolute_path, columns_of, is_list, is_optional
from medeval.text import storable, strictest

if TYPE_CHECKING:
    from dbt.adapters.duckdb.credentials import DuckDBCredentials

# A table of a source, as dbt's graph has it.
Table = Mapping[str, Any]

_MAGIC = slice(8, 12)


class Found(NamedTuple):
    """Where a table's rows are.

    Attributes:
        location: for messages.
        columns: their names in lower case.
        relation: the expression of SQL that reads it.
        files: it in all forms, if it is in a folder.
    """

    location: str
    columns: Sequence[str]
    relation: str
    files: Sequence[RawFile] = ()


@dataclass
class Views:
    """The views of one source.

    Attributes:
        queries: of each table's view, by its name.
        locations: where each table is that is there.
        absent: the tables that are not there and need not be; their views are empty.
        notes: what to say.
        warnings: what to warn of.
        unknown: columns that nobody reads.
    """

    queries: dict[str, str] = field(default_factory=dict)
    locations: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def add(
        self, table: Table, found: Found | None, text: str = "varchar", quote: str = '"'
    ) -> None:
        """Add the view of a table: the columns that the models read, as text.

        Args:
            table: of the source.
            found: where its rows are; None where it is not there and need not be.
            text: see `empty_query`, as `quote`.
            quote: what the engine puts around a name.

        Raises:
            UserError: a column is not there.
        """
        name, columns = str(table["name"]), columns_of(table)
        if found is None:
            self.absent.append(name)
            self.queries[name] = empty_query(table, text, quote)
            return
        known = [*columns, *table["config"]["meta"].get("columns_not_read", ())]
        self.unknown += raw_files.check_columns(name, found.location, found.columns, columns, known)
        self.locations[name] = found.location
        quoted = [f"{quote}{column}{quote}" for column in columns]
        cells = ", ".join(f"cast({column} as {text}) as {column}" for column in quoted)
        self.queries[name] = f"select {cells} from {found.relation}"

    def of(self, source: str, place: Place) -> Self:
        """Return them with what is said of every source: where it is, and its unknown columns."""
        if place.kind != "absent":
            self.notes.append(f"{source} is read from {place.description}.")
        if self.unknown:
            self.warnings.append(
                f"Columns that {source} does not have are ignored: {', '.join(self.unknown)}"
            )
        return self


def source_views(
    tables: Sequence[Table],
    place: Place,
    catalogue: Iterable[Sequence[str]] = (),
    *,
    cohort_file: str = "",
    counts_rows: bool = False,
) -> Views:
    """Return the views over one source: the columns that the models read, as text.

    Args:
        tables: of the source, all or some.
        place: of the source.
        catalogue: schema, table and column of the database that is attached; see `attach`.
        cohort_file: the user's list of admissions, which is a table of one source.
        counts_rows: whether forms of one table must have as many rows; a build pays for it.

    Raises:
        UserError: what the user must mend: a table or column that is not there, a file that is cut.
    """
    views = Views()
    found = _find([table for table in tables if not is_list(table)], place, catalogue)
    for name, table in found.items():
        if counts_rows and table.files[1:]:
            views.notes.append(
                f"The table {name} is there in {len(table.files)} forms with"
                f" {raw_files.check_rows(name, table.files)} rows each; {table.location} is read."
            )
    for entry in sorted(tables, key=lambda entry: str(entry["name"])):
        if is_list(entry) and cohort_file:
            path = Path(absolute_path(cohort_file))
            raw_files.read_cohort_file(path)
            views.queries[entry["name"]] = sql_text("cohort_list", file=one_file(path))
        else:
            views.add(entry, found.get(entry["name"]))
    return views.of(tables[0]["source_name"], place)


def empty_query(table: Table, text: str = "varchar", quote: str = '"') -> str:
    """Return a query with the columns of a table and no row; by default for DuckDB or PostgreSQL.

    Args:
        table: of a source.
        text: the engine's name of the type of texts.
        quote: what the engine puts around a name.
    """
    cells = ", ".join(f"cast(null as {text}) as {quote}{name}{quote}" for name in columns_of(table))
    return f"select {cells} where false"


def attach(place: Place, variable: str, attached: Iterable[Sequence[str]]) -> list[str]:
    """Return the statements that attach the user's DuckDB file, as mimic-code makes it, read-only.

    One process may see several files in turn, and DuckDB attaches a file once, whatever sources are
    in it.

    Args:
        place: the file.
        variable: the environment variable that names it: MEDEVAL_MIMIC4_DB is `mimic4_source`.
        attached: name and path of the databases that are attached.

    Raises:
        UserError: it cannot be read, or is no DuckDB file.
    """
    cannot_be_read = os_error_as(f"{place.location} cannot be read: {{why}}.")
    with cannot_be_read, Path(place.location).open("rb") as file:
        head = file.read(_MAGIC.stop)
    if head[_MAGIC] != b"DUCK":
        raise UserError(f"The file {place.location} is not a DuckDB file.")
    alias = database_alias(variable)
    path = {row[0]: row[1] for row in attached}.get(alias)
    if path == place.location:
        return []
    return [
        *([f'detach "{alias}"'] if path else []),
        f'attach {literal(place.location)} as "{alias}" (read_only)',
    ]


def database_alias(variable: str) -> str:
    """Return what the file is attached as that an environment variable names."""
    return variable.lower().removeprefix("medeval_").removesuffix("_db") + "_source"


def _find(
    tables: Sequence[Table], place: Place, catalogue: Iterable[Sequence[str]]
) -> dict[str, Found]:
    """Return where the tables of a source are; optional ones may be absent from the answer."""
    if not tables or place.kind == "absent":
        return {}
    meta, path = tables[0]["config"]["meta"], Path(place.location)
    names = sorted(table["name"] for table in tables)
    if meta.get("holds") == "notes":
        return {names[0]: _notes(path)}
    if meta.get("file_variable"):
        return {names[0]: _records(path)}
    optional = [table["name"] for table in tables if is_optional(table)]
    if place.kind == "database":
        alias = database_alias(meta["database_variable"])
        found = _tables_in_database(alias, place.location, names, catalogue)
        if missing := [name for name in names if name not in (*found, *optional)]:
            raise UserError(f"Missing in {path}: the table {', the table '.join(missing)}.")
        return found
    folders = raw_files.module_folders(path, meta.get("subfolders", ()))
    return {
        name: Found(str(files[0].path), files[0].columns, files[0].relation, files)
        for name, files in raw_files.find_tables(folders, names, optional).items()
    }


def _tables_in_database(
    alias: str, path: str, names: Sequence[str], catalogue: Iterable[Sequence[str]]
) -> dict[str, Found]:
    """Return the tables of the attached file, by their names in any case."""
    columns: dict[tuple[str, str], list[str]] = {}
    for schema, table, column in catalogue:
        if table.lower() in names:
            columns.setdefault((schema, table), []).append(column.lower())
    found: dict[str, Found] = {}
    for (schema, table), of_table in columns.items():
        name, place = table.lower(), f"{alias}.{schema}.{table}"
        if name in found:
            raise UserError(f"The table {name} is twice in {found[name].location}: {place}.")
        # The file is the user's, and a schema of it may be called anything.
        relation = ".".join(f'"{part}"' for part in (alias, schema.replace('"', '""'), table))
        found[name] = Found(f"{path} ({place})", of_table, relation)
    return found


def _records(path: Path) -> Found:
    """Return the records of a JSON file with their places: one array, or one record a line."""
    number = 0
    try:
        is_array = read_text(path).lstrip().startswith("[")
        for number, record in enumerate(read_json(path), 1) if is_array else read_json_lines(path):
            unit = "record" if is_array else "line"
            if not isinstance(record, dict):
                raise UserError(f"{path}: {unit} {number} is no JSON object.")
            if (text := json.dumps(record, ensure_ascii=False)) != storable(text):
                raise UserError(
                    f"{path}: {unit} {number} holds half of a surrogate pair, or the sign U+0000."
                )
        if not number:
            raise UserError(f"{path} holds no record.")
    except UserError as error:
        advice = "`python -m medeval load yier FILE --out CLEAN` mends a file."
        raise UserError(f"{error} {advice}") from None
    query = sql_text("records_array" if is_array else "records_lines", file=one_file(path))
    return Found(str(path), ("line_number", "record"), f"({query}) as records")


def _notes(path: Path) -> Found:
    """Return the notes of a folder of text files or of a JSON Lines file, whichever is there.

    Raises:
        UserError: one of them cannot be read as text.
    """
    from medeval.tasks.mtsamples.notes import read_notes

    found = read_notes(path)
    query = sql_text(
        "notes_folder" if found.form == "folder" else "notes_lines",
        files=", ".join(map(one_file, found.paths)),
        data_class=literal(strictest(note.data_class for note in found.notes)),
        compression="gzip" if found.form == "lines.gz" else "none",
    )
    return Found(str(path), ("filename", "text", "data_class"), f"({query}) as notes")


class Plugin(BasePlugin):
    """Closes the files of the warehouse to others."""

    def update_connection_config(self, creds: DuckDBCredentials, config: dict[str, Any]) -> None:
        """Close the files that were made when they were open to others."""
        make_private(exposed_warehouse(creds.path, config["temp_directory"]))
