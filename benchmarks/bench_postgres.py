"""What makes a build on PostgreSQL faster and what does not: unlogged tables, indexes, ANALYZE.

python -m benchmarks.bench_postgres             # and the page; takes long
python -m benchmarks.bench_postgres --render    # the page, nothing is measured
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.bench_cdm import build_in_server
from benchmarks.pages import Benchmark, say
from benchmarks.warehouses import Workplace, new_database, postgres, synthesize

# The columns of the largest tables that a cohort or a stay is found by.
KEYS = {
    "mimiciv_hosp.labevents": ("hadm_id", "subject_id"),
    "mimiciii.chartevents": ("subject_id", "hadm_id"),
}
# Ids of patients and admissions that are nobody's in the synthetic data, in nine digits.
OTHERS = {"subject_id": 100_000_000, "hadm_id": 200_000_000}
# How many times the laboratory rows are there again, as those of other patients.
TIMES = 60
VIEW, QUERY = "stg_cdm__labevents", "int_cdm__lab_events"


def cdm(runs: int = 3, admissions: int = 800) -> dict[str, Any]:
    """CDM, where most laboratory rows are of other patients, as in MIMIC-IV."""
    return measured("cdm", "mimic4", admissions, 420, "mimiciv_hosp.labevents", runs, TIMES)


def mimic3(runs: int = 3, patients: int = 300) -> dict[str, Any]:
    """The listfiles of MIMIC-III."""
    return measured("mimic3", "mimic3", patients, 5_000, "mimiciii.chartevents", runs)


def measured(
    benchmark: str, kind: str, scale: int, events: int, largest: str, runs: int, others: int = 0
) -> dict[str, Any]:
    """Build and export in each way, in turns; at the end without the statistics of ANALYZE."""
    with (
        tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary,
        postgres() as (server, version),
    ):
        address, data = new_database(server, benchmark), Path(temporary) / "data"
        synthesize(kind, data, scale, events)
        place = Workplace(Path(temporary) / benchmark, benchmark, address)
        # In a folder of its own: another setting of the project makes dbt parse all of it.
        settings = {**address, "MEDEVAL_POSTGRES_UNLOGGED": "1"}
        unlogged = Workplace(Path(temporary) / "unlogged", benchmark, settings)
        place.load(kind, data)
        where = "host={PGHOST} port={PGPORT} user={PGUSER} dbname={PGDATABASE}".format(**address)
        with psycopg.connect(where, autocommit=True) as connection:
            if others:
                add_rows_of_others(connection, largest, others)
            (rows,) = connection.execute(f"select count(*) from {largest}").fetchone() or (0,)
            say(f"{benchmark}: {rows:,} rows in {largest}")
            ways: dict[str, list[Any]] = {"as it is": [], "unlogged tables": [], "indexes": []}
            making = 0.0
            for _ in range(runs):
                ways["as it is"].append(build_in_server(place))
                ways["unlogged tables"].append(build_in_server(unlogged))
                start = time.perf_counter()
                for key in KEYS[largest]:
                    connection.execute(f"create index by_{key} on {largest} ({key})")
                making = time.perf_counter() - start
                ways["indexes"].append(build_in_server(place))
                for key in KEYS[largest]:
                    connection.execute(f"drop index {largest.split('.')[0]}.by_{key}")
                say(", ".join(f"{way} {usages[-1]}" for way, usages in ways.items()))
            query = view_with_a_with(connection, place) if benchmark == "cdm" else {}
            forget_statistics(connection)
            ways["without ANALYZE"] = [build_in_server(place)]
            say(f"without ANALYZE {ways['without ANALYZE'][0]}")
        found = {"server": version, "rows": rows, "ways": ways}
        return {**found, "query": query, "indexes_s": making}


def add_rows_of_others(connection: psycopg.Connection[Any], table: str, times: int) -> None:
    """Add the rows of a table again and again, each time as those of other patients."""
    schema, name = table.split(".")
    query = """
        select column_name from information_schema.columns
        where table_schema = %s and table_name = %s order by ordinal_position
    """
    columns = [column for (column,) in connection.execute(query, [schema, name])]
    chosen = [
        f"(cast({column} as bigint) % 1000000 + {OTHERS[column]} + n * 1000000)::text"
        if column in OTHERS
        else column
        for column in columns
    ]
    connection.execute(
        f"insert into {table} select {', '.join(chosen)}"
        f" from {table}, generate_series(1, {times}) as n"
    )
    connection.execute(f"vacuum analyze {table}")


def view_with_a_with(connection: psycopg.Connection[Any], place: Workplace) -> dict[str, float]:
    """Time the query of the cohort's laboratory rows, as it is and through a view with a WITH."""
    compiled = next((place.folder / "target" / "compiled").rglob(f"{QUERY}.sql"))
    as_it_is = compiled.read_text(encoding="utf-8")
    ((definition,),) = connection.execute(f"select pg_get_viewdef('cdm.{VIEW}')").fetchall()
    body = definition.strip().removesuffix(";")
    connection.execute(f"create view cdm.fenced as with typed as ({body}) select * from typed")
    fenced = re.sub(rf"\b{VIEW}\b", "fenced", as_it_is.replace('"', ""))
    seconds = {}
    for name, query in (("as it is", as_it_is), ("with a WITH", fenced)):
        start = time.perf_counter()
        connection.execute(f"create temporary table found as {query}")
        seconds[name] = time.perf_counter() - start
        connection.execute("drop table found")
        say(f"{QUERY}, {name}: {seconds[name]:.1f} s")
    connection.execute("drop view cdm.fenced")
    return seconds


def forget_statistics(connection: psycopg.Connection[Any]) -> None:
    """Leave the sources as COPY leaves them, and as they stay while the server is at rest."""
    tables = "select oid::regclass::text from pg_class where relkind = 'r' and relnamespace in"
    schemas = "(select oid from pg_namespace where nspname like 'mimic%')"
    for (table,) in connection.execute(f"{tables} {schemas}").fetchall():
        connection.execute(f"alter table {table} set (autovacuum_enabled = false)")
    names = "(select oid from pg_class where relnamespace in " + schemas + ")"
    connection.execute(f"delete from pg_statistic where starelid in {names}")
    forgotten = "relpages = 0, reltuples = -1"
    connection.execute(f"update pg_class set {forgotten} where oid in {names} and relkind = 'r'")


BENCHMARK = Benchmark(
    "postgres",
    "postgres",
    {"cdm": cdm, "mimic3": mimic3},
    lambda part: ("medeval", "dbt-core", "dbt-postgres", "psycopg"),
    constants={"times": TIMES},
    takes_long=True,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
