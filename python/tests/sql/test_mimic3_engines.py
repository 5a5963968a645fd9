"""The same tables and files on every engine, thread count and time zone of the session."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import PUBLISHED, SYNTHETIC, Build, build_floor
from postgres_server import set_time_zone


@pytest.mark.parametrize("table", PUBLISHED)
def test_published_tables_of_synthetic_data_are_identical(
    synthetic_duckdb: Build, synthetic_postgres: Build, table: str
) -> None:
    assert synthetic_duckdb.published(table) == synthetic_postgres.published(table)


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


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai"])
def test_postgres_gives_the_same_files_in_any_time_zone(
    tmp_path: Path, synthetic_duckdb: Build, postgres_database: dict[str, str], zone: str
) -> None:
    set_time_zone(postgres_database, zone)
    build = build_floor("mimic3", tmp_path, SYNTHETIC, postgres_database, models_only=True)
    assert build.rows("select current_setting('timezone')") != [("UTC",)]
    assert build.hashes("--timeseries") == synthetic_duckdb.hashes("--timeseries")
