"""Tests of dbt, each seen to fail on a fault that is planted in the table that it tests."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest
from dbt_worker import Worked, store_views
from tables import table

pytestmark = pytest.mark.slow

# Each has the test, what is done to the built warehouse so that it must fail, and what it says.
FAULTS = table("planted_faults")


def verdicts(output: str) -> int:
    """Return how many tests warned or failed."""
    (counts,) = re.findall(r"Done\. PASS=\d+ WARN=(\d+) ERROR=(\d+) SKIP=0", output)
    return sum(map(int, counts))


@pytest.fixture
def warehouse(built: Worked, demo_folder: Path) -> Worked:
    """A copy of the demo's warehouse."""
    shutil.copy(demo_folder / "medeval.duckdb", built.path)
    return built


def plant(warehouse: Worked, statement: str) -> None:
    """Do to the warehouse what a test must find."""
    with duckdb.connect(warehouse.path) as connection:
        store_views(connection, statement)
        ((changed,),) = connection.execute(statement).fetchall()
    assert changed


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row["test"])
def test_a_planted_fault_is_found(warehouse: Worked, row: dict[str, str]) -> None:
    run = ("test", "--select", row["test"])
    assert verdicts(warehouse.builds(*run)) == 0
    plant(warehouse, row["fault"])
    output = warehouse.dbt(*run)[1]
    assert verdicts(output) == 1
    assert row.get("says", "") in output


def test_stored_failures_name_what_is_broken_and_show_the_values(warehouse: Worked) -> None:
    plant(
        warehouse,
        "insert into cdm.cdm_attrition select * replace (-5 as rows_removed) from cdm.cdm_attrition"
        " where stage = 'cohort' and step_number = 1",
    )
    test = "cdm_attrition_meets_constraints"
    warehouse.stops("test", "--select", test, "--store-failures", says=("Got 2 results",))
    columns = "broken, row_count, stage, step_number, rows_removed"
    assert warehouse.rows(f"select {columns} from dbt_test__audit.{test} order by broken") == [
        ("rows_out_are_those_in_without_those_removed does not hold; ", 1, "cohort", 1, -5),
        ("stage, step_number are not unique; ", 2, "cohort", 1, None),
    ]


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
