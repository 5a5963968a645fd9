"""The dbt project as its users run it: variables, previews, untested tables, as a package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import mimic3_folder
import pytest
from builds import Build
from commands import PROJECT_ROOT, run_dbt, run_medeval
from dbt_worker import Worked, Worker
from marks import slow_after

MODELS = ("--resource-type", "seed", "--resource-type", "model")
MARKER = "Zqvmarker"


@pytest.fixture
def built(worker: Worker, tmp_path: Path) -> Worked:
    """An empty folder for a warehouse."""
    return Worked(worker, tmp_path)


# Variables


@pytest.mark.parametrize(
    ("variables", "said"),
    slow_after(
        2,
        [
            ({"cdm_rule": "reference"}, "There is no variable cdm_rule. Is cdm_rules meant?"),
            ({"cmd_cohort_file": "x"}, "There is no variable cmd_cohort_file. Is cdm_cohort_file"),
            ({"threads": 4}, "There is no variable threads. There are: cdm_rules,"),
            ({"cdm_cohort_file": None}, "The variable cdm_cohort_file is null. It can be the path"),
            ({"cdm_cohort_file": False}, "The variable cdm_cohort_file is false."),
            ({"cdm_rules": None}, "The variable cdm_rules is null. It can be specification or"),
            ({"cdm_rules": "Reference"}, "The variable cdm_rules is 'Reference'."),
            (
                {"pelvis_as_abdomen": "no"},
                "The variable pelvis_as_abdomen is 'no'. It can be true or",
            ),
            ({"mimic3_check_row_counts": 0}, "The variable mimic3_check_row_counts is 0."),
            ({"mimic3_training_hours": 0}, "is 0. It can be a whole number from 1 to"),
            ({"mimic3_training_hours": "1.5"}, "The variable mimic3_training_hours is '1.5'."),
            ({"mimic3_training_seed": -1}, "The variable mimic3_training_seed is -1."),
            ({"mtsamples_truncation": "both"}, "is 'both'. It can be helm or medarc."),
        ],
    ),
)
def test_a_variable_that_cannot_be_meant_stops_before_anything_is_built(
    built: Worked, variables: dict[str, object], said: str
) -> None:
    run = ("build", "--select", "yier", *MODELS, "--vars", json.dumps(variables))
    built.stops(*run, says=(said,))
    assert not built.path.exists()


@pytest.mark.slow
def test_a_text_that_says_false_is_false(built: Worked) -> None:
    def regions(value: object) -> list[tuple[Any, ...]]:
        variables = json.dumps({"pelvis_as_abdomen": value})
        select = ("build", "--select", "+int_cdm__radiology_keywords", *MODELS)
        built.builds(*select, "--vars", variables)
        ((settings,),) = built.rows(
            "select settings from medeval.medeval.builds order by sequence_number desc limit 1"
        )
        assert json.loads(settings)["pelvis_as_abdomen"] is (str(value).lower() == "true")
        return built.rows("from cdm.int_cdm__radiology_keywords order by all")

    false, true = regions(False), regions(True)
    assert false != true
    assert [regions(text) for text in ("false", "False", "true")] == [false, false, true]


def test_unit_tests_mean_their_own_values_of_the_variables(
    cdm_duckdb: Build, tmp_path: Path
) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text(
        "".join(f"{row[0]}\n" for row in cdm_duckdb.rows("select hadm_id from cdm.cdm_cases"))
    )
    shutil.copy(cdm_duckdb.folder / "medeval.duckdb", tmp_path)
    variables = {
        "cdm_rules": "reference",
        "cdm_extract_source": "derived",
        "cdm_cohort_file": str(ids),
        "pelvis_as_abdomen": True,
    }
    copy = Build("duckdb", tmp_path, cdm_duckdb.env, "cdm")
    told = copy.dbt("test", "--select", "cdm,test_type:unit", "--vars", json.dumps(variables))
    assert "ERROR=0" in told


# Tables that nothing has tested


def export(warehouse: Path, *more: str) -> tuple[int, str, dict[str, Any]]:
    """Export the questions; return the exit code, what was said, and the manifest."""
    out = warehouse.parent / "exports"
    done = run_medeval(
        *("export", "--task", "yier", "--out", out, *more),
        env={"MEDEVAL_DUCKDB": str(warehouse)},
    )
    file = out / "yier" / "manifest.json"
    return done.returncode, done.stderr, json.loads(file.read_text()) if file.exists() else {}


@pytest.mark.slow
def test_an_export_of_tables_that_nothing_has_tested_says_so(built: Worked) -> None:
    said = "yier: nothing has tested these tables. Run `dbt test --select yier --target duckdb`."
    built.builds("seed", "--select", "yier")
    built.builds("run", "--select", "yier")
    assert export(built.path, "--strict") == (2, f"medeval: {said}\n", {})
    code, told, manifest = export(built.path)
    assert (code, told, manifest["tests"]) == (0, f"medeval: {said}\n", "not run")
    assert manifest["settings"] == {
        "yier_schema": "yier_source", "double_type": "double precision"
    }  # fmt: skip
    # Some of the tests are not the tests.
    built.builds("test", "--select", "yier_questions")
    assert export(built.path, "--strict")[0] == 2

    built.builds("test", "--select", "yier")
    code, told, manifest = export(built.path, "--strict")
    assert (code, told, manifest["tests"]) == (0, "", "passed")

    with duckdb.connect(built.path) as connection:
        connection.execute("insert into yier.yier_options from yier.yier_options")
    built.dbt("test", "--select", "yier")
    code, told, manifest = export(built.path)
    assert (code, manifest["tests"]) == (0, "failed")
    assert "yier: tests of these tables have failed" in told
    assert export(built.path, "--strict")[0] == 2

    built.builds("build", "--select", "yier")
    assert export(built.path, "--strict")[0] == 0
    # A part that is built anew with its tests leaves the whole tested; without them it does not.
    built.builds("build", "--select", "yier_options")
    assert export(built.path, "--strict")[0] == 0
    built.builds("run", "--select", "yier_options")
    assert export(built.path, "--strict")[0] == 2


# Previews


def test_a_staging_model_is_previewed_before_the_first_build_and_nothing_is_written(
    built: Worked,
) -> None:
    said = built.builds("show", "--select", "stg_mimic3__icustays", "stg_yier__records")
    assert "Previewing node 'stg_mimic3__icustays'" in said
    assert "| icustay_id |" in said
    query = "select count(*) as n, 40 + 2 as m from {{ source('mimic4_hosp', 'patients') }}"
    assert "| 42 |" in built.builds("show", "--inline", query)
    assert built.rows("select schema_name from duckdb_tables()") == []
    assert built.rows("select view_name from duckdb_views() where not internal") == []


@pytest.mark.slow
def test_a_preview_of_what_was_never_built_says_what_to_do(built: Worked) -> None:
    says = ("does not exist", "Build the benchmark first: `dbt build --select NAME` (cdm, mimic3,")
    built.stops("show", "--select", "int_mimic3__cohort", says=says)
    built.stops("show", "--inline", "select * from cdm.cdm_cases", says=says)
    query = (
        "{{ run_query('select * from ' ~ source('mimic3', 'patients')).rows | length if execute }}"
    )
    env = {"MEDEVAL_DUCKDB": str(built.path), "MEDEVAL_TEMP_DIR": str(built.folder / "spill")}
    said = run_dbt("compile", "--inline", query, env=env).stdout
    assert [part in said for part in says] == [True, True], said


@pytest.mark.slow
def test_a_preview_of_a_broken_file_shows_none_of_it(built: Worked) -> None:
    folder = mimic3_folder.write_folder(built.folder / "files")
    mimic3_folder.replace(
        folder, "patients", mimic3_folder.with_cell("patients", "dob", f"{MARKER} at noon")
    )
    show = ("show", "--select", "stg_mimic3__patients")
    says = ("cannot read mimic3.patients.dob as a time",)
    assert MARKER not in built.stops(*show, says=says, MIMIC3_DIR=folder)
    (folder / "patients.csv").write_text(mimic3_folder.TABLES["patients"] + f"1,2,{MARKER}\n")
    says = (f"{folder}/patients.csv, line 4: the header has 8 cells and this line 3",)
    assert MARKER not in built.stops(*show, says=says, MIMIC3_DIR=folder)
    (folder / "patients.csv").unlink()
    built.stops(*show, says=(f"Missing in {folder}: patients.csv.gz or",), MIMIC3_DIR=folder)


# Elsewhere


@pytest.mark.slow
def test_the_project_is_run_from_elsewhere_and_as_a_package(tmp_path: Path) -> None:
    """The demo and the messages are the project's, wherever the user is."""
    where = tmp_path / "other"
    (where / "models").mkdir(parents=True)
    (where / "dbt_project.yml").write_text(
        "name: other\nversion: 1.0.0\nprofile: other\n"
        "flags: {send_anonymous_usage_stats: false, version_check: false}\n"
        "vars: {mine: 1, medeval: {cdm_rules: reference}}\n"
    )
    (where / "packages.yml").write_text(f"packages: [{{local: {PROJECT_ROOT}}}]\n")
    (where / "profiles.yml").write_text(
        "other: {target: dev, outputs: {dev: {type: duckdb, path: other.duckdb, threads: 2}}}\n"
    )
    (where / "models" / "mine.sql").write_text(
        "select sample_id from {{ ref('medeval', 'yier_questions') }} where {{ var('mine') }} = 1"
    )
    (where / "models" / "broken.sql").write_text("select nothing from {{ ref('mine') }}")
    source = mimic3_folder.write_folder(tmp_path / "files")
    cell = mimic3_folder.with_cell("patients", "dob", f"{MARKER} 12")
    mimic3_folder.replace(source, "patients", cell)

    def dbt(*args: str, **env: str) -> tuple[int, str]:
        done = run_dbt(*args, env=env, folder=tmp_path, cwd=where)
        return done.returncode, done.stdout

    dbt_command = Path(sys.executable).with_name("dbt")
    subprocess.run([dbt_command, "deps"], cwd=where, check=True, capture_output=True)
    code, said = dbt("build", "--select", "yier", "mine", "broken")
    assert code == 1
    assert f"yier is read from the synthetic demo {where}/dbt_packages/medeval/demo/yier" in said
    assert "ERROR=1" in said
    out = ("export", "--task", "yier", "--strict", "--out", tmp_path / "exports")
    exported = run_medeval(*out, env={"MEDEVAL_DUCKDB": "other.duckdb"}, cwd=where)
    assert (exported.returncode, exported.stderr) == (0, "")

    stays = ("stg_mimic3__admissions", "stg_mimic3__icustays", "stg_mimic3__patients")
    select = ("run", "--select", *stays, "int_mimic3__stay_exclusions")
    code, said = dbt(*select, MEDEVAL_MIMIC3_DIR=str(source))
    assert code == 1
    assert (
        f"{source}/patients.csv, row 2 (the header not counted), column dob: 'xxxxxxxxx 12'" in said
    )
    assert MARKER not in said + (tmp_path / "logs" / "dbt.log").read_text()
    code, said = dbt("parse", "--vars", "{cdm_rulez: x}")
    assert (code, "There is no variable cdm_rulez. Is cdm_rules meant?" in said) == (2, True)

    here = ("--project-dir", str(PROJECT_ROOT), "--profiles-dir", str(PROJECT_ROOT))
    code, said = dbt("run", "--select", "stg_mimic3__patients", *here)
    assert code == 0, said
    assert f"mimic3 is read from the synthetic demo {PROJECT_ROOT}/demo/mimic3." in said


def test_the_commands_say_where_the_project_is_not(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: other\n")
    done = run_medeval("export", cwd=tmp_path)
    assert done.returncode == 2
    assert f"The dbt project in {os.path.realpath(tmp_path)} is not medeval" in done.stderr
    assert "dbt deps" in done.stderr
