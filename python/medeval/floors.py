"""What a run of dbt reads, builds and tests of each benchmark, by dbt's graph.

A benchmark is the first folder of its models, seeds and tests: dbt calls it by the second word of
a node's full name. `graph` is dbt's own, of all nodes as dictionaries; nodes of a project that has
this one as a package are passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from medeval.variables import PACKAGE

Node = Mapping[str, Any]
Graph = Mapping[str, Mapping[str, Node]]

PASSED, FAILED = "passed", "failed"


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


def built_floors(graph: Graph, nodes: Iterable[str]) -> list[str]:
    """Return the benchmarks of which models are among some nodes."""
    found = (graph["nodes"].get(unique_id, {}) for unique_id in nodes)
    return sorted(
        {
            floor_of(node)
            for node in found
            if node.get("package_name") == PACKAGE and node["resource_type"] == "model"
        }
    )


def is_part(graph: Graph, floor: str, selected: Sequence[str]) -> bool:
    """Tell whether a run builds some models of a benchmark and not others."""
    return bool(selected) and any(
        unique_id not in selected
        for unique_id, node in graph["nodes"].items()
        if node["resource_type"] == "model"
        and node["package_name"] == PACKAGE
        and floor_of(node) == floor
    )


def tests_by_floor(graph: Graph) -> dict[str, list[str]]:
    """Return the data tests of every benchmark."""
    found: dict[str, list[str]] = {}
    for unique_id, node in graph["nodes"].items():
        if node["resource_type"] == "test" and node["package_name"] == PACKAGE:
            found.setdefault(floor_of(node), []).append(unique_id)
    return found


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
    tests = tests_by_floor(graph).get(floor, [])
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
