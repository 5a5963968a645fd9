"""The sources of Spark: folders of Parquet, as `load --to parquet` writes them, or tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from medeval.duckdb_files import Found, Table, Views
from medeval.errors import UserError
from medeval.sources import Place, is_optional

# Runs a statement, and returns a table with `rows`.
Query = Callable[[str], Any]

_NOT_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")


def parquet_views(query: Query, tables: Sequence[Table], place: Place) -> Views:
    """Return the views over one source: the columns that the models read, as text.

    Spark itself looks where the files are, which may be no disk of this machine.

    Args:
        query: see `Query`.
        tables: of the source, all or some.
        place: of the source.

    Raises:
        UserError: a table or column is not there, or the place is no folder of Parquet.
    """
    views = Views()
    meta = tables[0]["config"]["meta"]
    advice = f"`python -m medeval load {meta['load_kind']} --to parquet DIR` writes such a folder."
    if place.kind == "database":
        raise UserError(f"Spark reads folders of Parquet, not {place.description}. {advice}")
    for table in sorted(tables, key=lambda table: str(table["name"])):
        name = str(table["name"])
        folders = [f"{place.location}/{folder}" for folder in meta.get("subfolders", ())]
        paths = [f"{folder}/{name}.parquet" for folder in (*folders, place.location)]
        found = [
            Found(path, columns, f"parquet.`{path}`")
            for path in (paths if place.kind != "absent" else ())
            if (columns := _columns(query, f"query select * from parquet.`{path}`"))
        ]
        if not found and place.kind != "absent" and not is_optional(table):
            raise UserError(f"Missing in {place.location}: {name}.parquet. {advice}")
        views.add(table, next(iter(found), None), "string", "`")
    return views.of(tables[0]["source_name"], place)


def spark_columns(query: Query, schema: str) -> Mapping[str, Sequence[str]]:
    """Return the columns of every table of a schema, by its name; none if there is no schema."""
    names = [str(row[1]) for row in _rows(query, f"show tables in {schema}")]
    return {name: _columns(query, f"{schema}.{name}") for name in names}


def _columns(query: Query, what: str) -> list[str]:
    """Return the columns in lower case; none of what is not there."""
    names = [str(row[0]).lower() for row in _rows(query, f"describe {what}")]
    # Behind them stand the columns by which files are parted, a second time.
    return names[: next((place for place, name in enumerate(names) if name[:1] in ("", "#")), None)]


def _rows(query: Query, statement: str) -> Sequence[Any]:
    """Return the rows of a statement; none where what it names is not there."""
    try:
        rows: Sequence[Any] = query(statement).rows
    except DbtRuntimeError as error:
        if not any(code in str(error) for code in _NOT_THERE):
            raise
        return ()
    return rows
