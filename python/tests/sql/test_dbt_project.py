"""The dbt project as its users run it: variables, previews, untested tables, as a package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cdm_folder
import duckdb
import mimic3_folder
import pytest
import yaml
from builds import MODELS_ONLY as MODELS
from builds import Build
from commands import PROJECT_ROOT, run_dbt, run_medeval
from dbt_worker import Worked
from folder_changes import filled
from parsed_dbt import run_parsed
from postgres_server import connect, settings
from tables import slow_after, table

from medeval.warehouse import Target, open_warehouse

GIVEN = table("dbt_project")
MARKER = "Zqvmarker"


# Variables


@pytest.mark.parametrize(("variables", "said"), slow_after(2, map(tuple, GIVEN["variables"])))
def test_wrong_variable_stops_first(built: Worked, variables: dict[str, object], said: str) -> None:
    run = ("build", "--select", "yier", *MODELS, "--vars", json.dumps(variables))
    built.stops(*run, says=(said,))
    assert not built.path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yier", "results"])
def test_a_warehouse_that_is_called_as_a_schema_of_it_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.duckdb"
    done = run_dbt("seed", "--select", "yier", env={"MEDEVAL_DUCKDB": str(file)}, code=2)
    told = " ".join(done.stdout.split())
    assert f"is called {name}, as is a schema in it" in told
    assert "such as medeval.duckdb" in told


def test_unit_tests_have_their_own_values_of_variables(cdm_duckdb: Build, tmp_path: Path) -> None:
    """Those of every model that the variables change; they have passed with the defaults."""
    ids = tmp_path / "ids.txt"
    cases = cdm_duckdb.rows("select hadm_id from cdm.cdm_cases")
    ids.write_text("".join(f"{hadm_id}\n" for (hadm_id,) in cases))
    shutil.copy(cdm_duckdb.folder / "medeval.duckdb", tmp_path)
    variables = {
        "cdm_rules": "reference",
        "cdm_extract_source": "derived",
        "cdm_cohort_file": str(ids),
        "pelvis_as_abdomen": True,
    }
    set_so = ("--vars", json.dumps(variables))
    copy = Build("duckdb", tmp_path, cdm_duckdb.env, "cdm")
    copy.dbt("compile", "--select", "cdm,resource_type:model", *set_so)
    by_default, otherwise = compiled_models(cdm_duckdb), compiled_models(copy)
    changed = [name for name in otherwise if otherwise[name] != by_default[name]]
    assert {"int_cdm__free_text", "int_cdm__histories", "int_cdm__selection"} < set(changed)
    select = [f"{name},test_type:unit" for name in changed]
    told = copy.dbt("test", "--select", *select, *set_so)
    assert "ERROR=0" in told


def compiled_models(build: Build) -> dict[str, str]:
    """Return the SQL of each model of a benchmark as the last command of dbt compiled it."""
    folder = build.folder / "target" / "compiled" / "medeval" / "models" / build.floor
    paths = [path for path in folder.rglob("*.sql") if ".yml" not in str(path)]
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.slow
def test_every_variable_of_the_project_is_checked(built: Worked) -> None:
    declared = yaml.safe_load((PROJECT_ROOT / "dbt_project.yml").read_text())["vars"]
    for name in declared.keys() - {"cdm_cohort_file"}:
        is_schema = name.endswith("_schema")
        said = "A schema cannot be called" if is_schema else f"The variable {name} is"
        for value in GIVEN["hostile"] if name == "yier_schema" else GIVEN["hostile"][:1]:
            run_with = ("seed", "--select", "yier", "--vars", json.dumps({name: value}))
            built.stops(*run_with, says=(said, name))


# Tables that nothing has tested, and what builds log of their sources


@pytest.mark.slow
def test_an_export_of_tables_that_nothing_has_tested_says_so(built: Worked) -> None:
    out = built.folder / "exports"
    export = ("export", "--task", "yier", "--out", out)
    env = {"MEDEVAL_DUCKDB": str(built.path)}
    for row in GIVEN["exports"]:
        for step in row["steps"]:
            if step.startswith("insert"):
                with duckdb.connect(built.path) as connection:
                    connection.execute(step)
            else:
                built.dbt(*step.split())
        shutil.rmtree(out, ignore_errors=True)
        assert run_medeval(*export, "--strict", env=env).returncode == row["strict"], row
        assert (out / "yier" / "manifest.json").exists() == (row["strict"] == 0)
        done = run_medeval(*export, env=env)
        manifest = json.loads((out / "yier" / "manifest.json").read_text(encoding="utf-8"))
        assert (done.returncode, manifest["tests"]) == (row["plain"], row["tests"]), row
        assert row.get("says", "") in done.stderr
        assert (done.stderr == "") == (row["tests"] == "passed")
    assert manifest["settings"] == {"yier_schema": "yier_source"}


@pytest.mark.slow
def test_the_log_knows_a_build_that_stops_at_its_source(built: Worked, tmp_path: Path) -> None:
    questions = tmp_path / "questions.json"
    shutil.copy(PROJECT_ROOT / "demo" / "yier" / "questions.json", questions)
    models = ("build", "--select", "yier", *MODELS)
    built.builds(*models, YIER=questions)
    link = tmp_path / "link.json"
    link.symlink_to(questions)
    export = ("export", "--task", "yier", "--out", tmp_path / "out")
    env = {"MEDEVAL_DUCKDB": str(built.path), "MEDEVAL_YIER": str(link)}
    run_medeval(*export, env=env, code=0)
    questions.write_text("[{]")
    built.stops(*models, says=("is not JSON",), YIER=questions)
    assert "stopped at its source" in run_medeval(*export, env=env, code=2).stderr
    # Nothing was built of the broken file: what is named stands against what was built before it.
    built.stops(*models, says=("would take its place",))


# Models in the place of what was built before


@pytest.mark.slow
def test_a_model_that_fails_leaves_its_old_table_and_one_of_another_kind_takes_its_place(
    built: Worked,
) -> None:
    models = ("build", "--select", "+mimic3_stays", *MODELS)
    with duckdb.connect(built.path) as connection:
        connection.execute("create schema mimic3")
        connection.execute("create view mimic3.mimic3_stays as select 1 as old")
        connection.execute("create table mimic3.stg_mimic3__patients as select 1 as old")
    folder = mimic3_folder.write_folder(built.folder / "files")
    built.builds(*models, MIMIC3_DIR=folder)
    query = "select table_name, table_type from information_schema.tables"
    kinds = dict(built.rows(f"{query} where table_schema = 'mimic3'"))
    assert kinds["mimic3_stays"] == "BASE TABLE"
    assert kinds["stg_mimic3__patients"] == "VIEW"
    assert not [name for name in kinds if "__dbt" in name]
    tables = [name for name, kind in kinds.items() if kind == "BASE TABLE"]
    before = {name: built.rows(f"from mimic3.{name}") for name in tables}
    cell = mimic3_folder.with_cell("patients", "dob", f"{MARKER} at noon")
    mimic3_folder.replace(folder, "patients", cell)
    built.stops(*models, says=("cannot read mimic3.patients.dob",), MIMIC3_DIR=folder)
    assert {name: built.rows(f"from mimic3.{name}") for name in tables} == before


# Elsewhere


@pytest.mark.slow
def test_the_project_is_run_from_elsewhere_and_as_a_package(tmp_path: Path) -> None:
    """The demo and the messages are the project's, wherever the user is."""
    where = tmp_path / "other"
    (where / "models").mkdir(parents=True)
    for name, content in GIVEN["other"].items():
        (where / name).write_text(filled(content, where))
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
    done = run_medeval("export", cwd=tmp_path, code=2)
    assert f"The dbt project in {os.path.realpath(tmp_path)} is not medeval" in done.stderr
    assert "dbt deps" in done.stderr


# PostgreSQL


def test_postgres_stops_at_unnamed_list(tmp_path: Path, postgres_database: dict[str, str]) -> None:
    source = cdm_folder.write_folder(tmp_path / "mimic")
    ids = tmp_path / "ids.txt"
    ids.write_text("20000002\n20000001\n")
    env = dict(postgres_database)
    run_medeval("load", "mimic4", source, "--cohort-file", ids, env=env, code=0)
    run = ("run", "--select", "stg_cdm__cohort_list")
    done = run_parsed(*run, target="postgres", env=env, folder=tmp_path)
    assert done.returncode != 0
    assert "A list of 2 admissions is loaded (cdm_note_extract.cohort_list)" in done.stdout
    assert "not named" in done.stdout
    with connect(env) as connection:
        (row,) = connection.execute(
            "select source_kind, source_location, succeeded from medeval.builds"
        ).fetchall()
        places = [f"{env['PGDATABASE']}.{name}" for name in ("mimiciv_hosp", "mimiciv_note")]
        assert row[0] == "schema"
        assert str(row[1]).split("; ")[:2] == places
        assert row[2] is None
        # A list that somebody else has put there, and one under the reference's rules.
        connection.execute("delete from cdm_note_extract.cohort_list where list_position = '2'")
        reference = ("build", "--select", "int_cdm__candidates", *MODELS)
        rules = ("--vars", "{cdm_rules: reference}")
        done = run_parsed(*reference, *rules, target="postgres", env=env, folder=tmp_path)
        assert "A list of 1 admissions is loaded" in done.stdout
        connection.execute(
            "drop table cdm_note_extract.cohort_list;"
            "create table cdm_note_extract.cohort_list as"
            " select '1' as list_position, '20000001' as hadm_id"
        )
        done = run_parsed(*run, target="postgres", env=env, folder=tmp_path)
        assert "A list of 1 admissions is loaded" in done.stdout
        # With either quote, in variables of either kind.
        schemas = ("mimic4_hosp_schema", "cdm_extract_schema")
        hostile = ("--vars", json.dumps(dict(zip(schemas, GIVEN["hostile"], strict=False))))
        done = run_dbt(*run, *hostile, "--target", "postgres", env=env, folder=tmp_path)
        assert done.returncode != 0
        assert "A schema cannot be called" in done.stdout
        names = "select relname from pg_class where relname = 'evil'"
        assert connection.execute(names).fetchall() == []


def test_postgres_is_read_in_one_read_only_transaction(postgres_database: dict[str, str]) -> None:
    target = Target("postgres", "postgres", settings(postgres_database))
    with open_warehouse(target, Path()) as warehouse:
        modes = "current_setting('transaction_isolation'), current_setting('transaction_read_only')"
        found = [row for batch in warehouse.query(f"select {modes}") for row in batch]
        assert found == [("repeatable read", "on")]
        with pytest.raises(Exception, match="PostgreSQL stopped with"):
            list(warehouse.query("create table z (x integer)"))
