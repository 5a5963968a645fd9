"""What was built is what is named now, or every command that reads it says so and stops."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from cdm_folder import write_folder
from commands import PROJECT_ROOT, run_dbt, run_medeval
from dbt_worker import Worked, Worker
from postgres_server import connect

from medeval import cli

Said = Callable[..., tuple[int, str]]

IHM = ("--task", "ihm")
REAL = "/data/mine"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the project in it and no exports and runs: the current folder."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("dbt_project.yml", "profiles.yml", "models", "seeds", "demo"):
        (folder / name).symlink_to(PROJECT_ROOT / name)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def say(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """Run a command with `MEDEVAL_` variables; return its exit code and all that it said."""

    def said(*args: str | Path, **env: object) -> tuple[int, str]:
        with monkeypatch.context() as patched:
            for name, value in env.items():
                patched.setenv(name, str(value))
            patched.setattr(sys, "argv", ["medeval", *map(str, args)])
            try:
                cli.main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
        out, err = capsys.readouterr()
        return code, out + err

    return said


@pytest.fixture
def demo(asked_duckdb: Path, checkout: Path) -> Path:
    """A copy of the demo's cases, notes and questions, whose log of builds can be changed."""
    return Path(shutil.copy(asked_duckdb, checkout / "medeval.duckdb"))


def log(warehouse: Path, floor: str, kind: str, location: object, succeeded: bool | None) -> None:
    """Append a build to the log, the newest of its floor."""
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute(
            "insert into medeval.medeval.builds by name select max(sequence_number) + 1 as"
            " sequence_number, $floor as floor, 'x' as invocation_id, 'later' as started_at, $kind"
            " as source_kind, $location as source_location, $succeeded as succeeded from"
            " medeval.medeval.builds",
            {"floor": floor, "kind": kind, "location": str(location), "succeeded": succeeded},
        )


@pytest.mark.parametrize(
    ("args", "variable"),
    [
        (("export", "--task", "cdm"), "MEDEVAL_MIMIC4_NOTE_DIR"),
        (("export",), "MEDEVAL_YIER"),
        (("run", "--task", "mtsamples", "--model", "demo", "--no-judge"), "MEDEVAL_MTSAMPLES"),
        (
            ("run", "--task", "mtsamples", "--model", "demo", "--no-judge"),
            "MTSAMPLES_PROCEDURES_CACHE_DIR",
        ),
        (("doctor", "--task", "mtsamples"), "MEDEVAL_MTSAMPLES"),
    ],
)
def test_a_command_stops_at_tables_of_another_source(
    demo: Path, say: Said, tmp_path: Path, args: tuple[str, ...], variable: str
) -> None:
    code, said = say(*args, **{variable: tmp_path / "real"})
    assert code == 2, said
    assert f"{PROJECT_ROOT}/demo" in said or "/demo/" in said
    assert str(tmp_path / "real") in said
    assert "--as-built" in said
    assert not (demo.parent / "exports").exists()
    assert not (demo.parent / "runs").exists()
    code, said = say(*args, "--as-built", **{variable: tmp_path / "real"})
    assert code == 0, said
    assert say(*args)[0] == 0


def test_icu_commands_stop_at_tables_of_another_source(
    checkout: Path, say: Said, tmp_path: Path
) -> None:
    built = {"MEDEVAL_DUCKDB": PROJECT_ROOT / "medeval.duckdb"}
    named = {**built, "MEDEVAL_MIMIC3_DB": tmp_path / "mine.duckdb"}
    assert say("predict", *IHM, **built)[0] == 0
    (run,) = (checkout / "runs").iterdir()
    other = shutil.copy(run / "predictions.csv", tmp_path / "other.csv")
    few = ("--n-iters", "10")
    for args in (
        ("predict", *IHM),
        ("score", *IHM, run, *few),
        ("score", *IHM, run, *few, "--by", "sex", "--listfile", other),
        ("compare", *IHM, run, other, *few),
        ("export", *IHM),
    ):
        code, said = say(*args, **named)
        assert code == 2, said
        assert str(tmp_path / "mine.duckdb") in said
        assert "/demo/mimic3" in said
    assert say("score", *IHM, run, *few, "--as-built", **named)[0] == 0
    assert say("compare", *IHM, run, other, *few, "--as-built", **named)[0] == 0
    assert len(list((checkout / "runs").iterdir())) == 1


def test_cases_of_an_export_of_another_source_are_not_asked(
    demo: Path, say: Said, tmp_path: Path
) -> None:
    ask = ("run", "--task", "cdm", "--model", "demo", "--limit", "1")
    assert say("export", "--task", "cdm")[0] == 0
    named = {"MEDEVAL_MIMIC4_DIR": tmp_path, "MEDEVAL_MIMIC4_NOTE_DIR": tmp_path}
    code, said = say(*ask, **named)
    assert (code, str(tmp_path) in said, "/demo/mimic4" in said) == (2, True, True), said
    assert say(*ask, "--as-built", **named)[0] == 0
    assert say(*ask, "--cases", demo.parent / "exports" / "cdm", **named)[0] == 0
    assert say(*ask)[0] == 0
    (demo.parent / "exports" / "cdm" / "manifest.json").unlink()
    assert say(*ask)[0] == 2


@pytest.mark.parametrize("kind", ["folder", "database", "schema"])
def test_nothing_named_is_the_demo_and_no_real_data(demo: Path, say: Said, kind: str) -> None:
    log(demo, "cdm", kind, REAL, True)
    code, said = say("export", "--task", "cdm")
    assert code == 2
    assert REAL in said
    assert "/demo/mimic4" in said
    assert say("export", "--task", "cdm", "--as-built")[0] == 0


def test_links_are_followed_and_one_that_was_moved_is_another_source(
    demo: Path, say: Said, tmp_path: Path
) -> None:
    for name in ("1.4", "demo", "a; b"):
        (tmp_path / name).mkdir()
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "1.4")
    log(demo, "mtsamples", "file", tmp_path / "1.4", True)
    assert say("export", "--task", "mtsamples", MEDEVAL_MTSAMPLES=link)[0] == 0
    assert say("export", "--task", "mtsamples", MEDEVAL_MTSAMPLES="../current/")[0] == 0
    log(demo, "mtsamples", "file", tmp_path / "a; b", True)
    assert say("export", "--task", "mtsamples", MEDEVAL_MTSAMPLES=tmp_path / "a; b")[0] == 0
    log(demo, "mtsamples", "file", tmp_path / "1.4", True)
    link.unlink()
    link.symlink_to(tmp_path / "demo")
    code, said = say("export", "--task", "mtsamples", MEDEVAL_MTSAMPLES=link)
    assert (code, str(tmp_path / "demo") in said, str(tmp_path / "1.4") in said) == (2, True, True)


def test_a_build_that_stopped_at_its_source_counts_until_it_is_accepted(
    demo: Path, say: Said
) -> None:
    log(demo, "yier", "file", "/broken.json", None)
    code, said = say("export", "--task", "yier")
    assert code == 2
    assert "/broken.json" in said
    assert "/demo/yier/questions.json" in said
    assert say("export", "--task", "yier", "--as-built")[0] == 0
    # One that stopped among its tables leaves none to accept.
    log(demo, "yier", "demo", "/demo", False)
    assert say("export", "--task", "yier", "--as-built")[0] == 2


def test_doctor_reads_the_log_of_builds(demo: Path, say: Said, tmp_path: Path) -> None:
    log(demo, "mtsamples", "folder", REAL, True)
    said = say("doctor")[1]
    assert "NOT  mtsamples is built: mtsamples was built of /data/mine (folder)" in said
    assert "ok   yier is built: of" in said
    assert "demo/ is built" not in said
    said = say("doctor", MEDEVAL_MIMIC4_DIR=tmp_path)[1]
    assert "NOT  cdm is built" in said
    assert str(tmp_path) in said


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
    built.stops(*models, says=("is not valid JSON",), YIER=questions)
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
    import yaml

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
