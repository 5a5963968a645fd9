"""What dbt did last: the log of builds that every `dbt build` appends to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from medeval.errors import UserError
from medeval.exporting.files import MANIFEST
from medeval.exporting.floor import build_command
from medeval.profile import Target, load_target, project_root
from medeval.sources import named_now
from medeval.warehouse import Warehouse, flat, open_warehouse, schema_name


@dataclass(frozen=True)
class Build:
    """The dbt invocation that made the published tables of a floor.

    Attributes:
        settings: every variable of the floor with its value, as JSON; nothing of a build by a
            version that kept none.
        tests: `passed` or `failed`, by all data tests; nothing where not all have run since.
    """

    invocation_id: str
    started_at: str
    dbt_version: str
    project_version: str
    target: str
    source_kind: str
    source_location: str
    settings: str = ""
    tests: str = ""


def open_built(floors: str, target: str | None, *, as_built: bool = False) -> Warehouse:
    """Open the warehouse of a target, to read what was built of some benchmarks.

    Args:
        floors: the benchmarks, as `dbt build --select` takes them.
        target: of profiles.yml; None takes MEDEVAL_TARGET.
        as_built: see `Target`.

    Raises:
        UserError: there is no such target or warehouse, or it cannot be read.
    """
    root = project_root()
    chosen = load_target(target, root, as_built=as_built)
    return open_warehouse(chosen, root, build_command=build_command(floors, chosen.name))


def newest_build(warehouse: Warehouse, floor: str, tables: Sequence[str] = ()) -> Build:
    """Return the last build of a floor.

    Args:
        warehouse: where it was built.
        floor: the benchmark.
        tables: published tables that must be there.

    Raises:
        UserError: it was never built; its last build failed: then tables of two builds may stand
            side by side; or, but for `as_built`, it was built of another source than the one that
            is named now, or a later build stopped at its source; or a table is missing.
    """
    command = build_command(floor, warehouse.target.name)
    schema = schema_name("medeval")
    if not warehouse.relation_exists(schema, "builds"):
        raise UserError(f"The warehouse has no log of builds. Run `{command}`.")
    there = warehouse.columns(schema, "builds")
    named = [field.name for field in fields(Build)]
    # A build by an earlier version has not all of them.
    columns = ["succeeded", *(name if name in there else "''" for name in named)]
    newest = "where floor = $1 order by sequence_number desc"
    rows = flat(warehouse.select(columns, schema, "builds", newest, (floor,)))
    # A build that stopped at its source has touched no table.
    succeeded, *texts = next((row for row in rows if row[0] is not None), (None,))
    if not texts:
        raise UserError(f"{floor} was never built here. Run `{command}`.")
    if not succeeded:
        raise UserError(f"The last build of {floor} failed or did not end; run `{command}` again.")
    build = Build(*("" if text is None else str(text) for text in texts))
    require_named(floor, build.source_kind, build.source_location, warehouse.target)
    if rows[0][0] is None and not warehouse.target.as_built:
        stopped = rows[0][1 + named.index("source_location")]
        raise UserError(
            f"The last build of {floor}, of {stopped}, stopped at its source; the tables are those"
            f" of {build.source_location}. Run `{command}` again, or take them: --as-built."
        )
    _require_tables(warehouse, floor, tables)
    return build


def untested(floor: str, build: Build, target: Target) -> str:
    """Return what to say of tables that the data tests have not passed; nothing if they have.

    Args:
        floor: the benchmark.
        build: the last one of it.
        target: of profiles.yml, where it was built.
    """
    command = f"dbt test --select {floor} --target {target.name}"
    if build.tests == "passed":
        return ""
    if build.tests == "failed":
        return f"{floor}: tests of these tables have failed (`{command}` says which)."
    return f"{floor}: nothing has tested these tables. Run `{command}`."


def require_named(floor: str, kind: str, location: str, target: Target) -> None:
    """Stop where a benchmark was built of another source than the one that is named now.

    The demo is the demo in whichever checkout it lies.

    Args:
        floor: the benchmark.
        kind: of what it was built of.
        location: of what it was built of; several are parted by semicolons.
        target: of profiles.yml, where it was built.

    Raises:
        UserError: they differ, and the target is not taken `as_built`; naming both.
    """
    kind_now, named = named_now(floor, target, project_root())
    now = "; ".join(sorted(dict.fromkeys(named)))
    is_same = kind == kind_now == "demo" or {*location.split("; ")} == {*now.split("; ")}
    if not (is_same or target.as_built):
        raise UserError(
            f"{floor} was built of {location or 'nothing'} ({kind}), and what is named now is {now}"
            f" ({kind_now}). Build it again (`{build_command(floor, target.name)}`), name what it"
            " was built of, or take it as it is: --as-built."
        )


def require_named_export(folder: Path) -> None:
    """Stop where an export is of another source than the one that is named now.

    Raises:
        UserError: it is, or there is no manifest that says of which.
    """
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        kind, location = told["source"]["kind"], told["source"]["location"]
        floor, target = told["benchmark"], load_target(told["target"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{folder / MANIFEST} names no source. Export again, or --as-built."
        ) from None
    require_named(floor, kind, location, target)


def _require_tables(warehouse: Warehouse, floor: str, tables: Sequence[str]) -> None:
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
