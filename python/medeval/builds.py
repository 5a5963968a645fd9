"""The record of builds in the warehouse (`medeval.builds`): dbt's hooks write it, commands read it.

Of each benchmark a row is written before its sources are looked at (`succeeded` is null: what was
built before still stands whole), one when dbt starts to build tables (false), and one when it has
ended well (true), and one when the data tests of what stands have run. What reads the tables takes
the newest row, so a build that failed, was killed or stopped at its source is seen. `tests` says
what the data tests said of the tables: passed, failed, or nothing where not all of them have run.
No row is ever changed.

What a run of dbt reads, builds and tests of each benchmark says dbt's graph, all nodes as
dictionaries. A benchmark ("floor") is the first folder of its models, seeds and tests: dbt calls it
by the second word of a node's full name. Nodes of a project that has this one as a package are
passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from medeval.errors import UserError
from medeval.sources import PACKAGE, named_now, project_root, settings
from medeval.text import strictest
from medeval.warehouse import Target, Warehouse, flat, load_target, open_warehouse, schema_name

Node = Mapping[str, Any]
Graph = Mapping[str, Mapping[str, Node]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Build:
    """The dbt invocation that made the published tables of a benchmark.

    Attributes:
        settings: every variable of the benchmark with its value, as JSON; nothing of a build by a
            version that kept none.
        tests: `passed` or `failed`, by all data tests; nothing where not all have run since.
        stopped: the source at which a later build has stopped; nothing if there is none.
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
    stopped: str = ""


_TEXTS = [field.name for field in fields(Build) if field.name != "stopped"]


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


def recorded_build(warehouse: Warehouse, benchmark: str) -> Build:
    """Return the last build of a benchmark by the record alone, whatever source is named now.

    Raises:
        UserError: it was never built; or its last build failed: then tables of two builds may stand
            side by side.
    """
    command = build_command(benchmark, warehouse.target.name)
    schema = schema_name("medeval")
    if not (there := warehouse.columns(schema, "builds")):
        raise UserError(f"The warehouse has no log of builds. Run `{command}`.")
    # A build by an earlier version has not all of them.
    columns = ["succeeded", *(name if name in there else "''" for name in _TEXTS)]
    newest = "where floor = $1 order by sequence_number desc"
    rows = flat(warehouse.select(columns, schema, "builds", newest, (benchmark,)))
    # A build that stopped at its source has touched no table.
    succeeded, *texts = next((row for row in rows if row[0] is not None), (None,))
    if not texts:
        raise UserError(f"{benchmark} was never built here. Run `{command}`.")
    if not succeeded:
        raise UserError(f"The last build of {benchmark} failed or did not end. Run `{command}`.")
    stopped = rows[0][1 + _TEXTS.index("source_location")] if rows[0][0] is None else ""
    return Build(*("" if text is None else str(text) for text in [*texts, stopped]))


def newest_build(warehouse: Warehouse, benchmark: str, tables: Sequence[str] = ()) -> Build:
    """Return the last build of a benchmark, whose tables can be taken for what is named now.

    Args:
        warehouse: where it was built.
        benchmark: the benchmark.
        tables: published tables that must be there.

    Raises:
        UserError: as `recorded_build`; or, but for `as_built`, it was built of another source than
            the one that is named now, or a later build stopped at its source; or a table is
            missing.
    """
    command = build_command(benchmark, warehouse.target.name)
    build = recorded_build(warehouse, benchmark)
    require_named(benchmark, build.source_kind, build.source_location, warehouse.target)
    if build.stopped and not warehouse.target.as_built:
        raise UserError(
            f"The last build of {benchmark}, of {build.stopped}, stopped at its source; the tables"
            f" are of {build.source_location}. Run `{command}` again, or take them: --as-built."
        )
    schema = schema_name(benchmark)
    missing = [f"{schema}.{table}" for table in tables if not warehouse.columns(schema, table)]
    if missing:
        raise UserError(f"The warehouse has no {', '.join(missing)}. Run `{command}`.")
    return build


def untested(benchmark: str, build: Build, target: Target) -> str:
    """Return what to say of tables that the data tests have not passed; nothing if they have."""
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


# The record, as the hooks of dbt write it


@dataclass(frozen=True)
class BuildLog:
    """The record, and the run of dbt that writes to it.

    Attributes:
        query: runs a statement, and returns a table with `rows`.
        relations: returns schema and name of every table and view of some schemas.
        adapter: of dbt.
        table: its relation, with the database in front: a DuckDB file called medeval.duckdb is a
            database of the schema's name.
        graph: of dbt.
        selected: the nodes of this run. A retry selects none.
        target: of dbt.
        run: invocation_id, started_at, dbt_version and project_version of this run.
        value_of: returns the value of a variable.
        place_of: returns the kind and location of what a benchmark is built of, given the newest
            row of it; it stops where the demo would take the place of real data.
    """

    query: Callable[[str], Any]
    relations: Callable[[Sequence[str]], Any]
    adapter: Any
    table: Any
    graph: Graph
    selected: Sequence[str]
    target: Mapping[str, Any]
    run: Mapping[str, str]
    value_of: Callable[[str], Any]
    place_of: Callable[[str, Row | None], Mapping[str, str]]

    def place(self, floor: str) -> Mapping[str, str]:
        """Return the kind and location of what a benchmark is built of."""
        return self.place_of(floor, self._newest(floor))

    def start(self, succeeded: str) -> None:
        """Write that a build has begun.

        Args:
            succeeded: the SQL literal for how far it is, `null` or `false`.
        """
        models = by_floor(self.graph, "model")
        floors = [floor for floor in models if not {*self.selected}.isdisjoint(models[floor])]
        # All of them before the first statement that writes.
        rows = {floor: self._row(floor) for floor in floors}
        self._make()
        for floor, row in rows.items():
            self._append(floor, row, succeeded)
        # What stops the next hook would take the rows back; DuckDB keeps each.
        if self.target["type"] == "postgres":
            self.query("commit")

    def end(self, command: str, statuses: Mapping[str, str]) -> list[str]:
        """Write how a build or a test has ended, and return what is to be said.

        A part of a benchmark says of itself alone that it ended well, so the build before must say
        it of the rest, with the same source and settings.

        Args:
            command: of dbt.
            statuses: of what has run, by node.
        """
        for floor in by_floor(self.graph, "test") if command == "test" else ():
            # The tables that stand there have passed, or not.
            tested = outcome_of_tests(self.graph, floor, statuses)
            newest = self._newest(floor)
            if tested and newest and newest["succeeded"]:
                self._make()
                said_before = {name: newest[name] or "" for name in _TEXTS}
                self._append(floor, {**said_before, "tests": tested}, "true")
        if {"error", "fail", "skipped"} & {*statuses.values()}:
            return []
        said = []
        ran = {*(self.selected or statuses)}
        for floor, models in by_floor(self.graph, "model").items():
            if ran.isdisjoint(models):
                continue
            row, anew = self._row(floor), None
            before = self._newest(floor, self.run["invocation_id"])
            if before and self.selected and not {*self.selected}.issuperset(models):
                same = ("source_kind", "source_location", "settings")
                if not before["succeeded"] or any(before[name] != row[name] for name in same):
                    said.append(
                        f"Only a part of {floor} was built, over a build that failed or had another"
                        " source or other settings. Before an export, run `dbt build --select"
                        f" {floor}`."
                    )
                    continue
                anew = self.selected if before["tests"] == "passed" else None
            if tested := outcome_of_tests(self.graph, floor, statuses, anew):
                row["tests"] = tested
            self._append(floor, row, "true")
        return said

    def _newest(self, floor: str, but_of: str = "") -> Row | None:
        """Return the newest row of a benchmark that says whether its tables are whole.

        Args:
            floor: the benchmark.
            but_of: an invocation whose rows do not count.
        """
        there = self.relations([self.table.schema])
        if (self.table.schema, "builds") not in {(row[0], row[1]) for row in there}:
            return None
        rows = self.query(
            f"select * from {self.table} where floor = '{floor}' and invocation_id <> '{but_of}'"
            " and succeeded is not null order by sequence_number desc limit 1"
        ).rows
        return rows[0] if rows else None

    def _row(self, floor: str) -> dict[str, str]:
        """Return what is said of a build of a benchmark from its start on."""
        place = self.place(floor)
        return {
            **self.run,
            "target": self.target["name"],
            "source_kind": place["kind"],
            "source_location": place["location"],
            "settings": settings(floor, self.value_of),
        }

    def _make(self) -> None:
        """Make the table, with what that of an earlier version may lack."""
        self.adapter.create_schema(self.table)
        is_spark = self.target["type"] == "spark"
        text = "string" if is_spark else "text"
        columns = ", ".join(f"{name} {text}" for name in ("floor", *_TEXTS))
        self.query(
            f"create table if not exists {self.table}"
            f" (sequence_number bigint, {columns}, succeeded boolean)"
        )
        for name in () if is_spark else ("settings", "tests"):
            self.query(f"alter table {self.table} add column if not exists {name} text")

    def _append(self, floor: str, row: Mapping[str, str], succeeded: str) -> None:
        texts = {"floor": floor, **row}
        values = {name: "'" + text.replace("'", "''") + "'" for name, text in texts.items()}
        values["sequence_number"] = "coalesce(max(sequence_number), 0) + 1"
        values["succeeded"] = f"cast({succeeded} as boolean)"
        self.query(
            f"insert into {self.table} ({', '.join(values)}) select {', '.join(values.values())}"
            f" from {self.table}"
        )


# What dbt's graph says


def parents(graph: Graph, unique_id: str) -> list[str]:
    """Return what a node reads; a unit test, which is not in the graph, as its model does."""
    kind, *rest = unique_id.split(".")
    if kind == "unit_test":
        unique_id = f"model.{'.'.join(rest[:2])}"
    node = graph["nodes"].get(unique_id, {})
    return [*node.get("depends_on", {}).get("nodes", ())]


def read_sources(
    graph: Graph, selected: Sequence[str], laid: Iterable[Sequence[str]]
) -> list[list[Node]]:
    """Return the source tables that selected nodes read, themselves or through views, by source.

    Args:
        graph: of dbt.
        selected: the nodes. A retry selects none: it needs what the run before it has laid.
        laid: schema and name of every relation that there is.
    """
    relations = {tuple(row) for row in laid}
    waiting = [*selected] or [
        unique_id
        for unique_id, table in graph["sources"].items()
        if (table["schema"], table["name"]) in relations
    ]
    found: dict[str, list[Node]] = {}
    for unique_id in waiting:  # it grows meanwhile
        table = graph["sources"].get(unique_id)
        if table and table["package_name"] == PACKAGE:
            found.setdefault(table["source_name"], []).append(table)
        for parent in parents(graph, unique_id):
            is_view = graph["nodes"].get(parent, {}).get("config", {}).get("materialized") == "view"
            if parent not in waiting and (is_view or parent in graph["sources"]):
                waiting.append(parent)
    return [tables for _, tables in sorted(found.items())]


def source_metas(graph: Graph, floor: str) -> list[Mapping[str, Any]]:
    """Return what the sources of a benchmark say of themselves, each once."""
    found = {
        table["source_name"]: table["config"]["meta"]
        for table in graph["sources"].values()
        if table["package_name"] == PACKAGE and table["config"]["meta"]["floor"] == floor
    }
    return [*found.values()]


def by_floor(graph: Graph, kind: str) -> dict[str, list[str]]:
    """Return the models, or the data tests (`test`), of every benchmark, by its name."""
    found: dict[str, list[str]] = {}
    for unique_id, node in graph["nodes"].items():
        if node["resource_type"] == kind and node["package_name"] == PACKAGE:
            found.setdefault(str(node["fqn"][1]), []).append(unique_id)
    return dict(sorted(found.items()))


def outcome_of_tests(
    graph: Graph, floor: str, statuses: Mapping[str, str], anew: Sequence[str] | None = None
) -> str | None:
    """Return what the data tests of a benchmark say of its tables: `passed`, `failed`, or nothing.

    All of them must have run; where the tables had passed and some were built anew, those that read
    one of these.

    Args:
        graph: of dbt.
        floor: the benchmark.
        statuses: of what has run, by node.
        anew: the nodes that were built anew of tables that had passed; None means all.
    """
    tests = by_floor(graph, "test").get(floor, [])
    if any(statuses.get(test) in ("fail", "error") for test in tests):
        return "failed"
    due = [test for test in tests if anew is None or {*parents(graph, test)} & {*anew}]
    return "passed" if all(statuses.get(test) in ("pass", "warn") for test in due) else None


def untestable(
    graph: Graph, tests: Iterable[str], relations: Collection[tuple[str, str]]
) -> tuple[dict[str, set[str]], list[str]]:
    """Return the tests that read what was never built, by the benchmark to build; and the others.

    Args:
        graph: of dbt.
        tests: data tests and unit tests.
        relations: schema and name of every relation that there is.

    Returns:
        The tests of each benchmark of which a table that they read is missing, and the benchmarks
        that are built.
    """
    readers: dict[str, set[str]] = {}
    missing: set[str] = set()
    for test in tests:
        for node in (graph["nodes"].get(parent, {}) for parent in parents(graph, test)):
            if node.get("package_name") == PACKAGE and node["resource_type"] in ("model", "seed"):
                readers.setdefault(node["fqn"][1], set()).add(test)
                is_there = (node["schema"], node["alias"]) in relations
                if not is_there and node["config"]["materialized"] != "ephemeral":
                    missing.add(node["fqn"][1])
    left_out = {floor: readers[floor] for floor in sorted(missing)}
    return left_out, sorted(readers.keys() - missing)
