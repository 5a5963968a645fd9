"""The log of builds in the warehouse (`medeval.builds`), as the hooks of dbt write it.

Of each benchmark a row is written before its sources are looked at (`succeeded` is null: what was
built before still stands whole), one when dbt starts to build tables (false), and one when it has
ended well (true). What reads the tables takes the newest row, so a build that failed, was killed or
stopped at its source is seen. `tests` says what the data tests said of the tables: passed, failed,
or nothing where not all of them have run. No row is changed but by this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.floors import Graph, built_floors, is_part, outcome_of_tests, tests_by_floor
from medeval.variables import settings

Place = Mapping[str, str]

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
        floors = built_floors(self.graph, self.selected)
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
        if command == "test":
            self._record_tests(statuses)
        if {"error", "fail", "skipped"} & {*statuses.values()}:
            return []
        said = []
        for floor in built_floors(self.graph, self.selected or statuses):
            partly = is_part(self.graph, floor, self.selected)
            before = self.newest(floor, self.run["invocation_id"])
            if partly and before and not self._continues(floor, before):
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

    def _continues(self, floor: str, before: Mapping[str, Any]) -> bool:
        place = self.place(floor)
        return bool(
            before["succeeded"]
            and before["source_kind"] == place["kind"]
            and before["source_location"] == place["location"]
            and before["settings"] == settings(floor, self.value_of)
        )

    def _record_tests(self, statuses: Mapping[str, str]) -> None:
        """After `dbt test`: the tables that stand there have passed, or not."""
        for floor in tests_by_floor(self.graph):
            outcome = outcome_of_tests(self.graph, floor, statuses)
            newest = self.newest(floor) if outcome else None
            if newest and newest["succeeded"]:
                self._make()
                self.query(
                    f"update {self.table} set tests = '{outcome}'"
                    f" where sequence_number = {newest['sequence_number']}"
                )

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
