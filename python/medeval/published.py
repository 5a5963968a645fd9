"""Scores that were published: a table of the warehouse that no build makes and none drops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medeval.builds import build_command
from medeval.raw_files import sql_text
from medeval.sources import project_root
from medeval.warehouse import load_target, schema_name, write_transaction

TABLE = "published_scores"
_FLOOR = "results"


def create_published(relation: str) -> str:
    """Return the statement that makes the table if it is not there; dbt's hooks run it too."""
    return sql_text(TABLE, relation=relation)


def replace_runs(
    rows: Mapping[str, Sequence[Mapping[str, object]]], target: str | None = None
) -> dict[str, int]:
    """Put the rows of runs into the table in place of those that they have there.

    All in one transaction.

    Args:
        rows: of each run by its id, cells by column.
        target: of profiles.yml; None takes MEDEVAL_TARGET.

    Returns:
        How many rows each run had there before.

    Raises:
        UserError: there is no such target or warehouse, it is in use, or it refuses. Nothing has
            changed then.
    """
    root = project_root()
    chosen = load_target(target, root)
    command, before = build_command(_FLOOR, chosen.name), {}
    with write_transaction(chosen, root, command) as warehouse:
        relation = warehouse.relation(schema_name(_FLOOR), TABLE)
        schema = relation.rpartition(".")[0]
        # Asked first: who may write to the table need not be one who may make schemas.
        if not warehouse.columns(schema_name(_FLOOR), TABLE):
            warehouse.execute(f"create schema if not exists {schema}")
            warehouse.execute(create_published(relation))
        warehouse.lock(relation)
        for run_id, of_run in rows.items():
            ours = f"from {relation} where run_id = $1"
            ((count,),) = warehouse.execute(f"select count(*) {ours}", [run_id])
            warehouse.execute(f"delete {ours}", [run_id])
            for row in of_run:
                places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
                statement = f"insert into {relation} ({', '.join(row)}) values ({places})"  # noqa: S608
                warehouse.execute(statement, [*row.values()])
            before[run_id] = int(count)
    return before
