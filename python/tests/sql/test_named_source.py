"""What builds log of their sources, and names that are to be no SQL.

What the commands say of it: `cli/scenarios/commands.yaml`, `icu_sources` and `other_sources`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
import yaml
from cdm_folder import write_folder
from commands import PROJECT_ROOT, run_dbt, run_medeval
from dbt_worker import Worked, Worker
from postgres_server import connect


@pytest.mark.slow
def test_the_log_knows_a_build_that_stops_at_its_source(worker: Worker, tmp_path: Path) -> None:
    built = Worked(worker, tmp_path)
    questions = tmp_path / "questions.json"
    shutil.copy(PROJECT_ROOT / "demo" / "yier" / "questions.json", questions)
    models = ("build", "--select", "yier", "--resource-type", "seed", "--resource-type", "model")
    built.builds(*models, YIER=questions)
    link = tmp_path / "link.json"
    link.symlink_to(questions)
    export = ("export", "--task", "yier", "--out", tmp_path / "out")
    env = {"MEDEVAL_DUCKDB": str(built.path), "MEDEVAL_YIER": str(link)}
    assert run_medeval(*export, env=env).returncode == 0
    questions.write_text("[{]")
    built.stops(*models, says=("is not JSON",), YIER=questions)
    done = run_medeval(*export, env=env)
    assert done.returncode == 2
    assert "stopped at its source" in done.stderr
    # Nothing was built of the broken file: what is named stands against what was built before it.
    built.stops(*models, says=("would take its place",))


# PostgreSQL, and what stands in SQL

HOSTILE = [
    'x"; create table public.evil (i int); --',
    "x'; create table public.evil (i int); --",
    "x\ny",
    "",
]
NAMES = (
    *("mimic3_schema", "mimic4_hosp_schema", "mimic4_note_schema", "cdm_extract_schema"),
    *("yier_schema", "mtsamples_schema"),
)
WORDS = (
    *("mimic3_check_row_counts", "mimic3_training_hours", "mimic3_training_seed"),
    *("mtsamples_truncation", "cdm_rules", "cdm_extract_source", "pelvis_as_abdomen"),
    "double_type",
)


def test_postgres_stops_at_a_list_that_is_not_named_and_at_names_that_are_sql(
    tmp_path: Path, postgres_database: dict[str, str]
) -> None:
    source = write_folder(tmp_path / "mimic")
    ids = tmp_path / "ids.txt"
    ids.write_text("20000002\n20000001\n")
    env = dict(postgres_database)
    loaded = run_medeval("load", "mimic4", source, "--cohort-file", ids, env=env)
    assert loaded.returncode == 0, loaded.stderr
    run = ("run", "--target", "postgres", "--select", "stg_cdm__cohort_list")
    done = run_dbt(*run, env=env, folder=tmp_path)
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
        done = run_dbt(
            *("run", "--target", "postgres", "--select", "int_cdm__candidates"),
            *("--vars", "{cdm_rules: reference}"),
            env=env,
            folder=tmp_path,
        )
        assert "A list of 1 admissions is loaded" in done.stdout
        connection.execute(
            "drop table cdm_note_extract.cohort_list;"
            "create table cdm_note_extract.cohort_list as"
            " select '1' as list_position, '20000001' as hadm_id"
        )
        done = run_dbt(*run, env=env, folder=tmp_path)
        assert "A list of 1 admissions is loaded" in done.stdout
        # With either quote, in variables of either kind.
        hostile = {"mimic4_hosp_schema": HOSTILE[0], "cdm_extract_schema": HOSTILE[1]}
        done = run_dbt(*run, "--vars", json.dumps(hostile), env=env, folder=tmp_path)
        assert done.returncode != 0
        assert "A schema cannot be called" in done.stdout
        names = "select relname from pg_class where relname = 'evil'"
        assert connection.execute(names).fetchall() == []


def test_a_source_table_of_postgres_may_be_a_materialized_view(
    tmp_path: Path, postgres_database: dict[str, str]
) -> None:
    env = dict(postgres_database)
    loaded = run_medeval("load", "mimic4", write_folder(tmp_path / "mimic"), env=env)
    assert loaded.returncode == 0, loaded.stderr
    with connect(env) as connection:
        connection.execute(
            "alter table mimiciv_hosp.labevents rename to raw_labevents;"
            "create materialized view mimiciv_hosp.labevents as"
            " select * from mimiciv_hosp.raw_labevents"
        )
    # Previews before the first build, of it and of a table that a build would make, empty.
    names = ("stg_cdm__labevents", "stg_cdm__discharge_free_text")
    with connect(env) as connection:
        connection.execute("drop schema cdm_note_extract cascade")
    done = run_dbt("show", "--target", "postgres", "--select", *names, env=env, folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "| labevent_id |" in done.stdout
    run = ("run", "--target", "postgres", "--select", names[0])
    done = run_dbt(*run, env=env, folder=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_every_variable_of_the_project_is_checked(worker: Worker, tmp_path: Path) -> None:
    declared = yaml.safe_load((PROJECT_ROOT / "dbt_project.yml").read_text())["vars"]
    assert declared.keys() == {*NAMES, *WORDS, "cdm_cohort_file"}
    built = Worked(worker, tmp_path)
    for name in NAMES:
        says = ("A schema cannot be called", f"the variable {name}")
        for value in HOSTILE if name == "yier_schema" else HOSTILE[:1]:
            run_with = ("seed", "--select", "yier", "--vars", json.dumps({name: value}))
            built.stops(*run_with, says=says)
    for name in WORDS:
        run_with = ("seed", "--select", "yier", "--vars", json.dumps({name: HOSTILE[1]}))
        built.stops(*run_with, says=(f"The variable {name} is",))


@pytest.mark.slow
def test_a_schema_of_a_database_file_may_be_called_anything(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "o'brien.duckdb"
    demo = PROJECT_ROOT / "demo" / "mimic3"
    with duckdb.connect(str(path)) as connection:
        connection.execute('create schema "a""b; drop"')
        for file in sorted(demo.glob("*.csv.gz")):
            table = file.name.removesuffix(".csv.gz")
            connection.execute(
                f'create table "a""b; drop".{table} as from read_csv(\'{file}\','
                " all_varchar=true) limit 5"
            )
    built = Worked(worker, tmp_path)
    built.builds("run", "--select", "stg_mimic3__patients", MIMIC3_DB=path)
