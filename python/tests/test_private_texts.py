"""Broken sources on both engines: what is written says where and what, and shows none of them."""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cdm_folder
import duckdb
import mimic3_folder
import psycopg
import psycopg2
import pytest
from commands import PROJECT_ROOT, run_medeval
from postgres_server import new_database

from medeval.duckdb_files import source_views
from medeval.errors import UserError
from medeval.files import exposed
from medeval.load import Part, load_parts
from medeval.sources import Place, sources
from medeval.warehouse import load_target, shown

# In every cell of every first row. Its letters stand nowhere else.
MARKER = "Zqvmarker"
CELL = f"{MARKER} of a note, with a\nsecond line of {MARKER}"

FILES = {
    "mimic3": mimic3_folder.TABLES,
    "mimic4_hosp": cdm_folder.HOSP,
    "mimic4_note": cdm_folder.NOTE,
    "cdm_note_extract": cdm_folder.EXTRACT,
}
TABLES = [(source, table) for source, tables in FILES.items() for table in tables]
FOLDERS = {"mimic4_hosp": "hosp", "mimic4_note": "note", "cdm_note_extract": "note_extract"}


def rows(header: str, quote: str = '"', filler: int = 0) -> bytes:
    """Return a table with the marker in every cell of its first row."""
    names = header.split("\n", 1)[0].split(",")
    line = ",".join([f'"{CELL}"'] * (len(names) - 1) + [f'"{CELL}{quote}'])
    # Compressible lines would be gone whole from a file that is cut.
    tail = "".join(",".join([os.urandom(8).hex()] * len(names)) + "\n" for _ in range(400))
    filled = (",".join(["0"] * len(names)) + "\n") * filler
    return f"{','.join(names)}\n{line}\n{filled}{tail}".encode()


def cut(data: bytes) -> bytes:
    return data[: len(data) * 7 // 10]


BREAKS: dict[str, Callable[[str], bytes]] = {
    "a cell too many": lambda header: gzip.compress(rows(header, f'","{MARKER}"')),
    "an open quote": lambda header: gzip.compress(rows(header, "")),
    "text behind a quote": lambda header: gzip.compress(rows(header, f'" {MARKER}')),
    "no UTF-8": lambda header: gzip.compress(rows(header).replace(b"second", b"\x93nd")),
    # So far behind the header that it is not seen while that is read.
    "cut": lambda header: cut(gzip.compress(rows(header, filler=300_000), 1)),
    "cells of other columns": lambda header: gzip.compress(rows(header)),
    "no header": lambda header: gzip.compress(rows(header).split(b"\n", 1)[1]),
    "no gzip": rows,
}
STRUCTURE = [name for name in BREAKS if name != "cells of other columns"]


def write_broken(folder: Path, broken: str) -> dict[tuple[str, str], Path]:
    """Write every table of MIMIC-III, MIMIC-IV, its notes and its extracts, all broken."""
    paths = {}
    for source, table in TABLES:
        path = folder / FOLDERS.get(source, source) / f"{table}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(BREAKS[broken](FILES[source][table]))
        paths[source, table] = path
    return paths


# DuckDB and PostgreSQL through dbt


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of the staging models, and of one table for each that reads it to its end."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(PROJECT_ROOT / name, folder)
    shutil.copytree(PROJECT_ROOT / "macros", folder / "macros")
    for floor in ("cdm", "mimic3"):
        (folder / "models" / floor / "readers").mkdir(parents=True)
        staging = PROJECT_ROOT / "models" / floor / "staging"
        shutil.copytree(staging, folder / "models" / floor / "staging")
        for path in staging.glob("stg_*.sql"):
            reader = folder / "models" / floor / "readers" / f"read_{path.stem}.sql"
            reader.write_text(f"select * from {{{{ ref('{path.stem}') }}}}")
    (folder / "seeds").mkdir()
    (folder / "tests").mkdir()
    return folder


def _dbt(project: str, out: str, target: str, env: dict[str, str], *args: str) -> tuple[bool, str]:
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    os.chdir(project)
    os.umask(0o022)
    os.environ.update(env)
    told = io.StringIO()
    options = ("--target-path", f"{out}/target", "--log-path", f"{out}/logs", "--target", target)
    with redirect_stdout(told):
        done = dbtRunner().invoke(["--debug", *args, *options, "--no-use-colors"])
    if target == "duckdb":
        DuckDBConnectionManager.env().close()
        DuckDBConnectionManager.close_all_connections()
    return done.success, told.getvalue()


class Dbt:
    """Runs dbt on the small project, in processes that begin with an open umask."""

    def __init__(self, pool: ProcessPoolExecutor, project: Path) -> None:
        self._pool, self._project = pool, project

    def stops(self, files: Path, out: Path, target: str = "duckdb", **env: str) -> str:
        """Run all models, which must fail, and return what is said."""
        succeeded, told = self(files, out, target, env, "run")
        assert not succeeded, told
        return told

    def __call__(
        self, files: Path, out: Path, target: str, env: dict[str, str], *args: str
    ) -> tuple[bool, str]:
        """Run dbt on a folder of files; tell whether it succeeded, and what it said."""
        folders = {
            "MEDEVAL_MIMIC3_DIR": files / "mimic3",
            "MEDEVAL_MIMIC4_DIR": files,
            "MEDEVAL_MIMIC4_NOTE_DIR": files,
            "MEDEVAL_CDM_EXTRACT_DIR": files / "note_extract",
            "MEDEVAL_DUCKDB": out / "medeval.duckdb",
            "MEDEVAL_TEMP_DIR": out / "spill",
        }
        env = {**{name: str(path) for name, path in folders.items()}, **env}
        return self._pool.submit(_dbt, str(self._project), str(out), target, env, *args).result()


@pytest.fixture(scope="module")
def dbt(project: Path) -> Iterator[Dbt]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield Dbt(pool, project)


def assert_private(out: Path, told: str) -> None:
    """Nothing of a cell is on the terminal or in a file of dbt, and no file is open to others."""
    assert MARKER not in told
    written = [path for path in out.rglob("*") if path.is_file()]
    assert {"dbt.log", "run_results.json", "manifest.json"} <= {path.name for path in written}
    for path in written:
        if not path.name.startswith("medeval.duckdb"):
            assert MARKER.encode() not in path.read_bytes(), path
    assert list(exposed(out)) == [out]


def left_open(out: Path, *spilled: str) -> Path:
    """Make a folder of dbt's files that are open to everybody, as runs without this rule did."""
    for place in ("logs/dbt.log", "target/run/old.sql", *spilled):
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        (out / place).write_text("")
    for path in (out, *out.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return out


# Without its header one file stops dbt before it reads the others.
@pytest.mark.slow
@pytest.mark.parametrize(
    "broken", [name for name in BREAKS if name not in ("no header", "no gzip")]
)
def test_duckdb_shows_nothing_of_a_broken_file(dbt: Dbt, tmp_path: Path, broken: str) -> None:
    files = tmp_path / "files"
    paths = write_broken(files, broken)
    out = left_open(tmp_path / "out", "spill/duckdb_temp_storage-0.tmp")
    told = dbt.stops(files, out)
    assert_private(out, told)
    for (source, table), path in paths.items():
        if broken in STRUCTURE:
            assert str(path) in told, path
        elif table in ("patients", "chartevents", "labevents", "radiology", "discharge_free_text"):
            assert f"cannot read {source}.{table}." in told
            assert f"{path}, row 1 (the header not counted), column" in told
    if broken in ("a cell too many", "text behind a quote", "no UTF-8"):
        assert f"{paths['mimic4_note', 'discharge']}, line 2: " in told


def test_postgres_shows_nothing_of_cells_that_cannot_be_read(
    dbt: Dbt, tmp_path: Path, postgres_server: dict[str, str]
) -> None:
    files, out = tmp_path / "files", left_open(tmp_path / "out")
    write_broken(files, "cells of other columns")
    with new_database(postgres_server) as address:
        for kind, folder in (("mimic3", files / "mimic3"), ("mimic4", files)):
            assert run_medeval("load", kind, folder, env=address).returncode == 0
        told = dbt.stops(files, out, "postgres", **address)
    assert_private(out, told)
    assert "cannot read mimic4_note.radiology." in told
    assert "mimiciii.chartevents, row 1 (the header not counted), column" in told


# `load` and the readers of files


@pytest.fixture(scope="module")
def address(postgres_server: dict[str, str]) -> Iterator[dict[str, str]]:
    with new_database(postgres_server) as found:
        yield found


# COPY reads on behind a quote, and its tables hold any text.
@pytest.mark.parametrize(
    "broken",
    [name for name in BREAKS if name not in ("text behind a quote", "cells of other columns")],
)
def test_load_shows_nothing_of_a_broken_file(
    tmp_path: Path, address: dict[str, str], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    for name, value in address.items():
        monkeypatch.setenv(name, value)
    target = load_target("postgres", PROJECT_ROOT)
    plans = sources(PROJECT_ROOT)
    for (source, table), path in write_broken(tmp_path, broken).items():
        plan = dataclasses.replace(plans[source], tables={table: plans[source].tables[table]})
        with pytest.raises(UserError) as caught:
            load_parts([Part(plan, path.parent, "broken")], target)
        assert str(path) in str(caught.value)
        assert MARKER not in str(caught.value)
        assert caught.value.__cause__ is None or MARKER not in str(caught.value.__cause__)


def table(name: str, **meta: str) -> dict[str, Any]:
    """A table of a source, as dbt's graph has it."""
    return {"name": name, "source_name": "s", "columns": {"x": {}}, "config": {"meta": meta}}


def refused(table: dict[str, Any], path: Path, **settings: str) -> str:
    """Return what is said of files that no view can be laid over."""
    with pytest.raises(UserError) as caught:
        source_views([table], Place("folder", str(path), f"the folder {path}"), **settings)
    return str(caught.value)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize(
    "header",
    [
        f"subject_id,{CELL!r},gender\n",
        f'subject_id,gender,"{CELL}"\n',
        f"{MARKER},gender,{MARKER}\n",
        f'subject_id,gender,"{MARKER}\n1,F,x\n',
    ],
    ids=["a cell of text", "a quoted cell", "a name twice", "an open quote"],
)
def test_a_header_that_is_no_header_is_not_shown(tmp_path: Path, name: str, header: str) -> None:
    mimic3_folder.write(tmp_path / name, header)
    assert MARKER not in refused(table("t"), tmp_path)


RECORDS = {
    "cut": f'{{"filename": "a.txt", "text": "{MARKER}',
    "no JSON": f'{{"filename": "a.txt", "text": {MARKER}}}\n',
    "no UTF-8": f'{{"filename": "a.txt", "text": "{MARKER} \x93"}}\n'.encode("latin-1"),
    "no object": f'"{MARKER}"\n',
    "a bad escape": f'{{"filename": "a.txt", "text": "{MARKER} \\{MARKER}"}}\n',
    "texts as names": f'{{"filename": "{MARKER}", "text": "a"}}\n' * 2,
}


@pytest.mark.parametrize(
    ("meta", "broken"),
    [
        *(({"holds": "notes"}, broken) for broken in RECORDS),
        # A record may hold any texts.
        *(({"file_variable": "X"}, broken) for broken in RECORDS if broken != "texts as names"),
    ],
)
def test_notes_and_questions_that_cannot_be_read_are_not_shown(
    tmp_path: Path, meta: dict[str, str], broken: str
) -> None:
    path = mimic3_folder.write(tmp_path / "records.jsonl", RECORDS[broken])
    said = refused(table("t", **meta), path)
    assert MARKER not in said
    assert str(path) in said


def test_a_file_of_text_as_the_list_of_admissions_is_not_shown(tmp_path: Path) -> None:
    path = mimic3_folder.write(tmp_path / "list.txt", f"20000001\n{MARKER}\n")
    said = refused(table("t", needed_by="list"), tmp_path, cohort_file=str(path))
    assert said.startswith(f"{path}, line 2 is not a hadm_id.")
    assert MARKER not in said


# What an engine says


# (statement over a table t of one text column x, what is said)
FORGED = f"''' to INT32 when casting from source column {MARKER}'"
DUCKDB = [
    ("select cast(x as integer) from t", "conversion error."),
    ("select strptime(x, '%Y') from t", "invalid input error."),
    ("select regexp_matches('a', x || '(') from t", "invalid input error."),
    ("select json_extract(cast(x as json), '$.a') from t", "not JSON."),
    ("insert into k select x from t union all select x from t", "constraint error."),
    ("begin; insert into k select x from t; insert into k select x || '' from t", "constraint"),
    ("insert into n (x) select null from t", "constraint error."),
    ("select error('cannot use ' || x) from t", "invalid input error."),
    (f"select cast(x || {FORGED} as integer) as y from t", "conversion error. What"),
    ("select nothing from t", 'Referenced column "nothing" not found'),
    ("select error('medeval: cannot read a.b.c as a number')", "cannot read a.b.c as a number"),
]
POSTGRES = [
    ("select cast(x as integer) from t", "invalid text representation error."),
    ("select to_tsquery(x || ' :* \"a\" (') from t", "syntax error."),
    ("select cast(x as json) from t", "invalid text representation error."),
    ("select 'a' ~ (x || '(') from t", "invalid regular expression error."),
    (
        "insert into k select x from t union all select x from t",
        "unique violation error, table k, constraint k_pkey.",
    ),
    ("insert into c select x from t", "check violation error, table c, constraint c_x_check."),
    ("insert into v select x from t", "string data right truncation error."),
    ("select cast(x as timestamp) from t", "invalid datetime format error."),
    ("select nothing from t", 'column "nothing" does not exist'),
    (
        "select cast('medeval: cannot read a.b.c as a number' || left(x, 0) as integer) from t",
        "cannot read a.b.c as a number",
    ),
]


def connection_settings(address: dict[str, str]) -> dict[str, str]:
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    return {name: address[variable] for name, variable in names.items()}


@pytest.mark.parametrize(("statement", "said"), DUCKDB)
def test_a_sentence_of_duckdb_shows_no_value(statement: str, said: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("create table t (x varchar)")
        connection.execute("create table k (x varchar primary key)")
        connection.execute("create table n (x varchar not null)")
        connection.execute("insert into t values (?)", [CELL])
        with pytest.raises(duckdb.Error) as caught:
            connection.execute(statement).fetchall()
    told = shown(caught.value)
    assert said in told
    assert MARKER not in told


@pytest.mark.parametrize(("statement", "said"), POSTGRES)
@pytest.mark.parametrize("driver", [psycopg, psycopg2], ids=["psycopg", "psycopg2"])
def test_a_sentence_of_postgres_shows_no_value(
    address: dict[str, str], driver: Any, statement: str, said: str
) -> None:
    with closing(driver.connect(**connection_settings(address))) as connection:
        cursor = connection.cursor()
        cursor.execute(
            "create temp table t (x text); create temp table k (x text primary key);"
            "create temp table c (x text check (x = '')); create temp table v (x varchar(3))"
        )
        cursor.execute("insert into t values (%s)", [CELL])
        with pytest.raises(driver.Error) as caught:
            cursor.execute(statement)
    told = shown(caught.value)
    assert said in told
    assert MARKER not in told


# Who may open what is written


@pytest.mark.slow
def test_the_list_of_admissions_is_not_in_the_log(dbt: Dbt, tmp_path: Path) -> None:
    files, out = cdm_folder.write_folder(tmp_path / "files"), tmp_path / "out"
    listed = mimic3_folder.write(tmp_path / "list.txt", "20000002\n987650021\n")
    run = ("run", "--select", "read_stg_cdm__cohort_list", "stg_cdm__cohort_list")
    succeeded, told = dbt(files, out, "duckdb", {}, *run, "--vars", f"cdm_cohort_file: {listed}")
    assert succeeded, told
    assert "987650021" not in told + (out / "logs" / "dbt.log").read_text(encoding="utf-8")
    with duckdb.connect(out / "medeval.duckdb", read_only=True) as connection:
        rows = connection.execute("from cdm.read_stg_cdm__cohort_list order by 1").fetchall()
    assert rows == [(1, 20000002), (2, 987650021)]


def test_what_a_command_writes_is_its_owners(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        done = run_medeval(
            "synth", "mimic3", "--scale", "20", "--seed", "1", "--out", tmp_path / "a"
        )
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "a").iterdir())
    assert list(exposed(tmp_path / "a")) == []


def test_doctor_says_what_others_may_open(tmp_path: Path) -> None:
    for name in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(PROJECT_ROOT / name, tmp_path)
    out = left_open(tmp_path / "out")
    warehouse = tmp_path / "w.duckdb"
    warehouse.touch(0o644)
    env = {
        "DBT_TARGET_PATH": str(out / "target"),
        "DBT_LOG_PATH": str(out / "logs"),
        "MEDEVAL_DUCKDB": str(warehouse),
    }
    told = run_medeval("doctor", env=env, cwd=tmp_path).stdout
    assert (
        f"NOT  what is written is yours only: others may open 6 files and folders, such as {out}"
        in told
    )
    for path in (*out.rglob("*"), warehouse):
        path.chmod(0o700 if path.is_dir() else 0o600)
    told = run_medeval("doctor", env=env, cwd=tmp_path).stdout
    assert "ok   what is written is yours only: mode 0600, folders 0700" in told


@pytest.mark.parametrize("shared", ["everybody", "the project", "other files"])
def test_a_folder_that_is_not_dbts_alone_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str
) -> None:
    folder = left_open(tmp_path / "out") / "logs"
    if shared == "everybody":
        folder.chmod(0o1777)
    elif shared == "the project":
        monkeypatch.chdir(folder)
    else:
        (folder / "notes.txt").touch(0o644)
    assert list(exposed(folder, "dbt.log*")) == [folder / "dbt.log"]
