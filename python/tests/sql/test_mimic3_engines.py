"""The same tables and files on every engine, thread count and time zone of the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from builds import PUBLISHED, SYNTHETIC, Build, build_floor
from postgres_server import connect, new_database

ZONES = ("UTC", "America/New_York", "Asia/Shanghai")


@pytest.mark.parametrize("table", PUBLISHED)
def test_published_tables_of_synthetic_data_are_identical(
    synthetic_duckdb: Build, synthetic_postgres: Build, table: str
) -> None:
    names, rows = synthetic_duckdb.published(table)
    assert rows, "an empty table proves nothing"
    assert (names, rows) == synthetic_postgres.published(table)


def test_files_are_identical(synthetic_duckdb: Build, synthetic_postgres: Build) -> None:
    exported = synthetic_duckdb.hashes("--order", "reference", "--timeseries")
    assert len(exported) > 200
    assert exported == synthetic_postgres.hashes("--order", "reference", "--timeseries")


@pytest.mark.parametrize(("threads", "zone"), [("1", "America/New_York"), ("2", "Asia/Shanghai")])
def test_threads_and_zones(
    tmp_path: Path, synthetic_duckdb: Build, threads: str, zone: str
) -> None:
    build = build_floor(
        "mimic3", tmp_path, SYNTHETIC, models_only=True, MEDEVAL_THREADS=threads, TZ=zone
    )
    assert build.hashes("--timeseries") == synthetic_duckdb.hashes("--timeseries")


@pytest.fixture
def database_of_a_zone(
    request: pytest.FixtureRequest, postgres_server: dict[str, str]
) -> Iterator[dict[str, str]]:
    with new_database(postgres_server) as address:
        with connect(address) as connection:
            name = address["PGDATABASE"]
            connection.execute(f"alter database \"{name}\" set timezone to '{request.param}'")
        yield address


@pytest.mark.parametrize("database_of_a_zone", ZONES[1:], indirect=True)
def test_postgres_gives_the_same_files_in_any_time_zone(
    tmp_path: Path, synthetic_duckdb: Build, database_of_a_zone: dict[str, str]
) -> None:
    build = build_floor("mimic3", tmp_path, SYNTHETIC, database_of_a_zone, models_only=True)
    assert build.rows("select current_setting('timezone')") != [("UTC",)]
    assert build.hashes("--timeseries") == synthetic_duckdb.hashes("--timeseries")
