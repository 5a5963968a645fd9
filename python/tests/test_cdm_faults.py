"""The dbt tests of the CDM floor, each seen to fail on a fault that is planted in its table."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest
from builds import SYNTHETIC_IV, Build
from dbt_worker import Worked, Worker

SOURCE = {"MIMIC4_DIR": SYNTHETIC_IV, "MIMIC4_NOTE_DIR": SYNTHETIC_IV}
# The test, and what is done to the built warehouse so that it must fail.
FAULTS = {
    "accepted_range_cdm_lab_results_sequence_num__3__1": """
        update cdm.cdm_lab_results set sequence_num = 4 where labevent_id = (
            select min(labevent_id) from cdm.cdm_lab_results where sequence_num = 3)""",
    "accepted_range_cdm_microbiology_events_sequence_num__3__1": """
        update cdm.cdm_microbiology_events set sequence_num = 0 where sequence_num = 1""",
    "accepted_range_cdm_radiology_reports_sequence_num__3__1": """
        update cdm.cdm_radiology_reports set sequence_num = 4 where sequence_num = 1""",
    "cdm_lab_results_have_each_number_once": """
        update cdm.cdm_lab_results set sequence_num = 1 where sequence_num = 2""",
    "cdm_microbiology_events_have_each_number_once": """
        insert into cdm.cdm_microbiology_events from cdm.cdm_microbiology_events limit 1""",
    "cdm_lab_results_have_no_gap": """
        delete from cdm.cdm_lab_results where sequence_num = 2""",
    "cdm_microbiology_events_have_no_gap": """
        update cdm.cdm_microbiology_events set sequence_num = 3 where sequence_num = 1""",
    "cdm_radiology_reports_have_no_gap": """
        delete from cdm.cdm_radiology_reports where sequence_num = 1""",
    "cdm_lab_results_are_before_the_first_procedure": """
        update cdm.cdm_lab_results set charttime = cast(cases.first_procedure_date as timestamp)
        from cdm.cdm_cases as cases
        where cdm_lab_results.hadm_id = cases.hadm_id
            and cases.first_procedure_date is not null""",
    "cdm_microbiology_events_are_before_the_first_procedure": """
        update cdm.cdm_microbiology_events set event_date = cases.first_procedure_date
        from cdm.cdm_cases as cases
        where cdm_microbiology_events.hadm_id = cases.hadm_id
            and cases.first_procedure_date is not null""",
    "cdm_radiology_reports_are_before_the_first_procedure": """
        insert into cdm.cdm_radiology_reports from cdm.cdm_first_radiology_reports""",
    "cdm_attrition_ends_with_what_is_published": """
        insert into cdm.cdm_lab_results from cdm.cdm_first_lab_results""",
    "every_exclusion_is_a_rule_of_the_attrition": """
        update cdm.int_cdm__attrition_counts set exclusion = 'lost' where exclusion = 'no_value'""",
    "cdm_no_scrub_term_is_left": """
        update cdm.cdm_leaks set kind = 'scrub_term'""",
    "cdm_no_concluding_section_is_left": """
        update cdm.cdm_leaks set kind = 'concluding_section'""",
    "cdm_other_names_that_are_left": """
        update cdm.cdm_leaks set kind = 'other_name'""",
    "cdm_no_ground_truth_is_shown": """
        update cdm.cdm_cases set physical_exams = physical_exams || ' ' || upper(diagnoses.title)
        from cdm.cdm_diagnoses as diagnoses
        where cdm_cases.hadm_id = diagnoses.hadm_id and diagnoses.is_primary""",
    "cdm_every_pathology_has_a_case_cdm_cases_": """
        delete from cdm.cdm_cases where pathology = 'diverticulitis'""",
    "cdm_treatments_have_each_title_once": """
        insert into cdm.cdm_treatments from cdm.cdm_treatments limit 1""",
    "unique_cdm_cases_hadm_id": """
        insert into cdm.cdm_cases from cdm.cdm_cases limit 1""",
    "accepted_range_cdm_build_settings_case_count__1": """
        update cdm.cdm_build_settings set case_count = 0""",
}  # fmt: skip


def verdicts(output: str) -> int:
    """Return how many tests warned or failed."""
    (counts,) = re.findall(r"Done\. PASS=\d+ WARN=(\d+) ERROR=(\d+) SKIP=0", output)
    return sum(map(int, counts))


@pytest.mark.parametrize("test", FAULTS)
def test_a_planted_fault_is_found(
    worker: Worker, cdm_duckdb: Build, tmp_path: Path, test: str
) -> None:
    warehouse = Worked(worker, tmp_path)
    shutil.copy(cdm_duckdb.folder / "medeval.duckdb", warehouse.path)
    run = ("test", "--select", test)
    assert verdicts(warehouse.builds(*run, **SOURCE)) == 0
    with duckdb.connect(warehouse.path) as connection:
        ((changed,),) = connection.execute(FAULTS[test]).fetchall()
    assert changed
    assert verdicts(warehouse.dbt(*run, **SOURCE)[1]) == 1


def test_a_leak_in_a_shown_text_is_listed(
    worker: Worker, cdm_duckdb: Build, tmp_path: Path
) -> None:
    """From the text that is shown to the build that fails."""
    warehouse = Worked(worker, tmp_path)
    shutil.copy(cdm_duckdb.folder / "medeval.duckdb", warehouse.path)
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
        **SOURCE,
    )
    kinds = warehouse.rows("select distinct kind from cdm.cdm_leaks order by all")
    assert [kind for (kind,) in kinds if kind != "stem"] == ["concluding_section", "scrub_term"]
