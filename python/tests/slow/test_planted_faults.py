"""Tests of dbt, each seen to fail on a fault that is planted in the table that it tests."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest
from dbt_worker import Worked, Worker
from tables import table

pytestmark = pytest.mark.slow

# The test, and what is done to the built warehouse so that it must fail.
FAULTS = table("planted_faults")


def verdicts(output: str) -> int:
    """Return how many tests warned or failed."""
    (counts,) = re.findall(r"Done\. PASS=\d+ WARN=(\d+) ERROR=(\d+) SKIP=0", output)
    return sum(map(int, counts))


@pytest.fixture
def warehouse(worker: Worker, demo_folder: Path, tmp_path: Path) -> Worked:
    """A copy of the demo's warehouse."""
    copied = Worked(worker, tmp_path)
    shutil.copy(demo_folder / "medeval.duckdb", copied.path)
    return copied


def store_views(connection: duckdb.DuckDBPyConnection, statement: str) -> None:
    """Make tables of the views that a statement names: rows of a view cannot be changed."""
    views = "select schema_name, view_name from duckdb_views() where not internal order by all"
    for schema, name in connection.execute(views).fetchall():
        if f"{schema}.{name}" in re.findall(r"\w+\.\w+", statement):
            connection.execute(f"create table {schema}.stored as select * from {schema}.{name}")
            connection.execute(f"drop view {schema}.{name}")
            connection.execute(f"alter table {schema}.stored rename to {name}")


@pytest.mark.parametrize("test", FAULTS)
def test_a_planted_fault_is_found(warehouse: Worked, test: str) -> None:
    run = ("test", "--select", test)
    assert verdicts(warehouse.builds(*run)) == 0
    with duckdb.connect(warehouse.path) as connection:
        store_views(connection, FAULTS[test])
        ((changed,),) = connection.execute(FAULTS[test]).fetchall()
    assert changed
    assert verdicts(warehouse.dbt(*run)[1]) == 1


def test_a_leak_in_a_shown_text_is_listed(warehouse: Worked) -> None:
    """From the text that is shown to the build that fails."""
    with duckdb.connect(warehouse.path) as connection:
        connection.execute(
            "update cdm.int_cdm__shown_radiology_reports "
            "set text = text || ' IMPRESSION: Periappendicitis' "
            "where (hadm_id, note_id) = (select (reports.hadm_id, reports.note_id) from "
            "cdm.int_cdm__shown_radiology_reports as reports inner join cdm.cdm_cases as cases on "
            "reports.hadm_id = cases.hadm_id where cases.pathology = 'appendicitis' "
            "order by all limit 1)"
        )
    warehouse.stops(
        *("build", "--select", "cdm_leaks", "--exclude-resource-type", "unit_test"),
        says=("cdm_no_scrub_term_is_left", "cdm_no_concluding_section_is_left", "ERROR=2"),
    )
    kinds = warehouse.rows("select distinct kind from cdm.cdm_leaks order by all")
    assert [kind for (kind,) in kinds if kind != "stem"] == ["concluding_section", "scrub_term"]
