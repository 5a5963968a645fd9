"""The log of builds in the warehouse (`medeval.builds`), as the hooks of dbt write it.

Of each benchmark a row is written before its sources are looked at (`succeeded` is null: what was
built before still stands whole), one when dbt starts to build tables (false), and one when it has
ended well (true). What reads the tables takes the newest row, so a build that failed, was killed or
stopped at its source is seen. `tests` says what the data tests said of the tables: passed, failed,
or nothing where not all of them have run. No row is changed but by this.

What a run of dbt reads, builds and tests of each benchmark says dbt's graph, all nodes as
dictionaries. A benchmark ("floor") is the first folder of its models, seeds and tests: dbt calls it
by the second word of a node's full name. Nodes of a project that has this one as a package are
passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.variables import PACKAGE, settings

Node = Mapping[str, Any]
Graph = Mapping[str, Mapping[str, Node]]
Place = Mapping[str, str]

PASSED, FAILED = "passed", "failed"

_COLUMNS = {
    "sequence_number": "bigint",
    **dict.fromkeys(("floor", "invocation_id", "started_at", "dbt_version"), "text"),
    **dict.fromkeys(("project_version", "target", "source_kind", "source_location"), "text"),
    "settings": "text",
    "succeeded": "boolean",
    "tests": "text",
}
# What the table of an earlier version may lack.
_ADDED = ("settings", "tests")


@dataclass(frozen=True)
class BuildLog:
    """The log, and the run of dbt that writes to it.

    Attributes:
        query: runs a statement, and returns a table with `rows`.
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
    adapter: Any
    table: Any
    graph: Graph
    selected: Sequence[str]
    target: Mapping[str, Any]
    run: Mapping[str, str]
    value_of: Callable[[str], Any]
    place_of: Callable[[str, Mapping[str, Any] | None], Place]

    def newest(self, floor: str, but_of: str = "") -> Mapping[str, Any] | None:
        """Return the newest row of a benchmark that says whether its tables are whole.

        Args:
            floor: the benchmark.
            but_of: an invocation whose rows do not count.
        """
        there = self.query(
            "select 1 from information_schema.tables where table_catalog = current_database()"
            f" and table_schema = '{self.table.schema}' and table_name = 'builds'"
        )
        if not there.rows:
            return None
        rows = self.query(
            f"select * from {self.table} where floor = '{floor}' and invocation_id <> '{but_of}'"
            " and succeeded is not null order by sequence_number desc limit 1"
        ).rows
        return rows[0] if rows else None

    def place(self, floor: str) -> Place:
        """Return the kind and location of what a benchmark is built of."""
        return self.place_of(floor, self.newest(floor))

    def start(self, succeeded: str) -> None:
        """Write that a build has begun.

        Args:
            succeeded: the SQL literal for how far it is, `null` or `false`.
        """
        models = by_floor(self.graph, "model")
        floors = [floor for floor in models if not {*self.selected}.isdisjoint(models[floor])]
        # All of them before the first statement that writes.
        for floor in floors:
            self.place(floor)
        self._make()
        for floor in floors:
            self._append(floor, succeeded)
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
            newest = self.newest(floor) if tested else None
            if newest and newest["succeeded"]:
                self._make()
                self.query(
                    f"update {self.table} set tests = '{tested}'"
                    f" where sequence_number = {newest['sequence_number']}"
                )
        if {"error", "fail", "skipped"} & {*statuses.values()}:
            return []
        said = []
        ran = {*(self.selected or statuses)}
        for floor, models in by_floor(self.graph, "model").items():
            if ran.isdisjoint(models):
                continue
            partly = bool(self.selected) and not {*self.selected}.issuperset(models)
            before = self.newest(floor, self.run["invocation_id"])
            place = self.place(floor)
            continues = before and (
                before["succeeded"]
                and before["source_kind"] == place["kind"]
                and before["source_location"] == place["location"]
                and before["settings"] == settings(floor, self.value_of)
            )
            if partly and before and not continues:
                said.append(
                    f"Only a part of {floor} was built, over a build that failed or had another"
                    " source or other settings. Before an export, run `dbt build --select"
                    f" {floor}`."
                )
                continue
            outcome = outcome_of_tests(
                self.graph,
                floor,
                statuses,
                built=self.selected if partly else [],
                passed_before=bool(before and before["tests"] == "passed"),
            )
            self._append(floor, "true", outcome)
        return said

    def _make(self) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        self.adapter.create_schema(self.table)
        self.query(f"create table if not exists {self.table} ({columns})")
        for name in _ADDED:
            self.query(f"alter table {self.table} add column if not exists {name} text")

    def _append(self, floor: str, succeeded: str, tests: str | None = None) -> None:
        place = self.place(floor)
        texts = {
            "floor": floor,
            **self.run,
            "target": self.target["name"],
            "source_kind": place["kind"],
            "source_location": place["location"],
            "settings": settings(floor, self.value_of),
        }
        values = {name: "'" + text.replace("'", "''") + "'" for name, text in texts.items()}
        values |= {
            "sequence_number": "coalesce(max(sequence_number), 0) + 1",
            "succeeded": f"cast({succeeded} as boolean)",
            "tests": f"'{tests}'" if tests else "cast(null as text)",
        }
        self.query(
            f"insert into {self.table} ({', '.join(values)}) select {', '.join(values.values())}"
            f" from {self.table}"
        )


# What dbt's graph says


def floor_of(node: Node) -> str:
    """Return the benchmark of a node."""
    return str(node["fqn"][1])


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
            found.setdefault(floor_of(node), []).append(unique_id)
    return dict(sorted(found.items()))


def outcome_of_tests(
    graph: Graph,
    floor: str,
    statuses: Mapping[str, str],
    *,
    built: Sequence[str] = (),
    passed_before: bool = False,
) -> str | None:
    """Return what the data tests of a benchmark say of its tables: `passed`, `failed`, or nothing.

    All of them must have run; where the tables had passed and some were built anew, those that read
    one of these.

    Args:
        graph: of dbt.
        floor: the benchmark.
        statuses: of what has run, by node.
        built: the nodes that were built anew; none means all.
        passed_before: whether the tables had passed before.
    """
    tests = by_floor(graph, "test").get(floor, [])
    if any(statuses.get(test) in ("fail", "error") for test in tests):
        return FAILED
    if passed_before and built:
        tests = [test for test in tests if {*parents(graph, test)} & {*built}]
    return PASSED if all(statuses.get(test) in ("pass", "warn") for test in tests) else None


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
        for parent in parents(graph, test):
            node = graph["nodes"].get(parent, {})
            if (
                node.get("resource_type") not in ("model", "seed")
                or node["package_name"] != PACKAGE
                or node["config"]["materialized"] == "ephemeral"
            ):
                continue
            readers.setdefault(floor_of(node), set()).add(test)
            if (node["schema"], node["alias"]) not in relations:
                missing.add(floor_of(node))
    left_out = {floor: readers[floor] for floor in sorted(missing)}
    return left_out, sorted(readers.keys() - missing)
