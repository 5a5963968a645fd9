"""What dbt did last: the log of builds that every `dbt build` appends to."""

from __future__ import annotations

from dataclasses import dataclass, fields

from medeval.errors import UserError
from medeval.exporting.floor import build_command
from medeval.warehouse import Warehouse, flat, schema_name


@dataclass(frozen=True)
class Build:
    """The dbt invocation that made the published tables of a floor."""

    invocation_id: str
    started_at: str
    dbt_version: str
    project_version: str
    target: str
    source_kind: str
    source_location: str


def newest_build(warehouse: Warehouse, floor: str) -> Build:
    """Return the last build of a floor.

    Raises:
        UserError: it was never built, or its last build failed: then tables of two builds may
            stand side by side.
    """
    command = build_command(floor, warehouse.target.name)
    schema = schema_name("medeval")
    if not warehouse.relation_exists(schema, "builds"):
        raise UserError(f"The warehouse has no log of builds. Run `{command}`.")
    columns = ["succeeded", *(field.name for field in fields(Build))]
    newest = "where floor = $1 order by sequence_number desc limit 1"
    found = flat(warehouse.select(columns, schema, "builds", newest, (floor,)))
    if not found:
        raise UserError(f"{floor} was never built here. Run `{command}`.")
    succeeded, *texts = found[0]
    if not succeeded:
        raise UserError(f"The last build of {floor} failed or did not end; run `{command}` again.")
    return Build(*("" if text is None else str(text) for text in texts))


def require_tables(warehouse: Warehouse, floor: str, tables: list[str]) -> None:
    """Stop if a published table of a floor is not there.

    Raises:
        UserError: naming the tables and the command that builds them.
    """
    schema = schema_name(floor)
    missing = [table for table in tables if not warehouse.relation_exists(schema, table)]
    if missing:
        command = build_command(floor, warehouse.target.name)
        if len(missing) == len(tables):
            raise UserError(f"{floor} is not built here. Run `{command}`.")
        raise UserError(
            f"The warehouse has no {', '.join(f'{schema}.{table}' for table in missing)}."
            f" Run `{command}`."
        )
