"""What dbt has built: the newest entry in the log of builds, whether it holds, and its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.sources import named_now, project_root
from medeval.warehouse import Target, Warehouse, flat, load_target, open_warehouse, schema_name


@dataclass(frozen=True)
class Build:
    """The dbt invocation that made the published tables of a benchmark.

    Attributes:
        settings: every variable of the benchmark with its value, as JSON; nothing of a build by a
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


def build_command(benchmarks: str, target: str) -> str:
    """Return the command that builds some benchmarks, as messages show it."""
    return f"dbt build --select {benchmarks} --target {target}"


def open_built(benchmarks: str, target: str | None, *, as_built: bool = False) -> Warehouse:
    """Open the warehouse of a target, to read what was built of some benchmarks.

    Args:
        benchmarks: as `dbt build --select` takes them.
        target: of profiles.yml; None takes MEDEVAL_TARGET.
        as_built: see `Target`.

    Raises:
        UserError: there is no such target or warehouse, or it cannot be read.
    """
    root = project_root()
    chosen = load_target(target, root, as_built=as_built)
    return open_warehouse(chosen, root, build_command=build_command(benchmarks, chosen.name))


def newest_build(warehouse: Warehouse, benchmark: str, tables: Sequence[str] = ()) -> Build:
    """Return the last build of a benchmark.

    Args:
        warehouse: where it was built.
        benchmark: the benchmark.
        tables: published tables that must be there.

    Raises:
        UserError: it was never built; its last build failed: then tables of two builds may stand
            side by side; or, but for `as_built`, it was built of another source than the one that
            is named now, or a later build stopped at its source; or a table is missing.
    """
    command = build_command(benchmark, warehouse.target.name)
    schema = schema_name("medeval")
    there = warehouse.columns(schema, "builds")
    if not there:
        raise UserError(f"The warehouse has no log of builds. Run `{command}`.")
    named = [field.name for field in fields(Build)]
    # A build by an earlier version has not all of them.
    columns = ["succeeded", *(name if name in there else "''" for name in named)]
    newest = "where floor = $1 order by sequence_number desc"
    rows = flat(warehouse.select(columns, schema, "builds", newest, (benchmark,)))
    # A build that stopped at its source has touched no table.
    succeeded, *texts = next((row for row in rows if row[0] is not None), (None,))
    if not texts:
        raise UserError(f"{benchmark} was never built here. Run `{command}`.")
    if not succeeded:
        raise UserError(
            f"The last build of {benchmark} failed or did not end; run `{command}` again."
        )
    build = Build(*("" if text is None else str(text) for text in texts))
    require_named(benchmark, build.source_kind, build.source_location, warehouse.target)
    if rows[0][0] is None and not warehouse.target.as_built:
        stopped = rows[0][1 + named.index("source_location")]
        raise UserError(
            f"The last build of {benchmark}, of {stopped}, stopped at its source; the tables are"
            f" those of {build.source_location}. Run `{command}` again, or take them: --as-built."
        )
    schema = schema_name(benchmark)
    missing = [table for table in tables if not warehouse.columns(schema, table)]
    if missing and len(missing) == len(tables):
        raise UserError(f"{benchmark} is not built here. Run `{command}`.")
    if missing:
        names = ", ".join(f"{schema}.{table}" for table in missing)
        raise UserError(f"The warehouse has no {names}. Run `{command}`.")
    return build


def untested(benchmark: str, build: Build, target: Target) -> str:
    """Return what to say of tables that the data tests have not passed; nothing if they have.

    Args:
        benchmark: the benchmark.
        build: the last one of it.
        target: of profiles.yml, where it was built.
    """
    command = f"dbt test --select {benchmark} --target {target.name}"
    if build.tests == "passed":
        return ""
    if build.tests == "failed":
        return f"{benchmark}: tests of these tables have failed (`{command}` says which)."
    return f"{benchmark}: nothing has tested these tables. Run `{command}`."


def require_named(benchmark: str, kind: str, location: str, target: Target) -> None:
    """Stop where a benchmark was built of another source than the one that is named now.

    The demo is the demo in whichever checkout it lies.

    Args:
        benchmark: the benchmark.
        kind: of what it was built of.
        location: of what it was built of; several are parted by semicolons.
        target: of profiles.yml, where it was built.

    Raises:
        UserError: they differ, and the target is not taken `as_built`; naming both.
    """
    kind_now, named = named_now(benchmark, target, project_root())
    now = "; ".join(sorted(dict.fromkeys(named)))
    is_same = kind == kind_now == "demo" or {*location.split("; ")} == {*now.split("; ")}
    if not (is_same or target.as_built):
        command = build_command(benchmark, target.name)
        raise UserError(
            f"{benchmark} was built of {location or 'nothing'} ({kind}), and what is named now is"
            f" {now} ({kind_now}). Build it again (`{command}`), name what it was built of, or take"
            " it as it is: --as-built."
        )


def read_source(warehouse: Warehouse, benchmark: str, *more: str) -> dict[str, Any]:
    """Return `data_class`, `edition` and further columns of what is said of a benchmark's source.

    Whatever is not plainly `open` is credentialed; no option changes that.

    Raises:
        UserError: the benchmark was built before it said so.
    """
    table, columns = f"{benchmark}_data_class", ["data_class", "edition", *more]
    rows = flat(warehouse.select(columns, schema_name(benchmark), table))
    found = dict(zip(columns, rows[0], strict=True)) if len(rows) == 1 else {}
    return {**found, "data_class": strictest([found.get("data_class")])}
