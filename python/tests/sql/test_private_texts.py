"""Broken sources on both engines: what is written says where and what, and shows none of them."""

from __future__ import annotations

import dataclasses
import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import cdm_folder
import duckdb
import mimic3_folder
import psycopg
import psycopg2
import pytest
from commands import PROJECT_ROOT, run_medeval
from parsed_dbt import run_parsed
from postgres_server import Databases, settings
from tables import table

from medeval.errors import UserError
from medeval.files import exposed
from medeval.load import Part, load_parts
from medeval.sources import LoadRequest, Place, sources
from medeval.warehouse import shown

CASES = table("private_texts")
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
    for source, name in TABLES:
        path = folder / FOLDERS.get(source, source) / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(BREAKS[broken](FILES[source][name]))
        paths[source, name] = path
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


def dbt(
    project: Path, files: Path, out: Path, target: str, env: dict[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """Run dbt on a folder of files, by default all models; its own files are in `out`."""
    folders = {
        "MEDEVAL_MIMIC3_DIR": files / "mimic3",
        "MEDEVAL_MIMIC4_DIR": files,
        "MEDEVAL_MIMIC4_NOTE_DIR": files,
        "MEDEVAL_CDM_EXTRACT_DIR": files / "note_extract",
    }
    env = {**{name: str(path) for name, path in folders.items()}, "DBT_WRITE_JSON": "1", **env}
    words = ("--debug", "run", "--no-use-colors", *words)
    return run_parsed(*words, target=target, env=env, folder=out, project=project)


def stopped(*args: Any) -> str:
    """Run all models, which must fail, and return what is said."""
    done = dbt(*args)
    assert done.returncode == 1, done.stdout
    return done.stdout + done.stderr


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
def test_duckdb_shows_nothing_of_a_broken_file(project: Path, tmp_path: Path, broken: str) -> None:
    files = tmp_path / "files"
    paths = write_broken(files, broken)
    out = left_open(tmp_path / "out", "spill/duckdb_temp_storage-0.tmp")
    told = stopped(project, files, out, "duckdb", {})
    assert_private(out, told)
    for (source, name), path in paths.items():
        if broken in STRUCTURE:
            assert str(path) in told, path
        elif name in ("patients", "chartevents", "labevents", "radiology", "discharge_free_text"):
            assert f"cannot read {source}.{name}." in told
            assert f"{path}, row 1 (the header not counted), column" in told
    if broken in ("a cell too many", "text behind a quote", "no UTF-8"):
        assert f"{paths['mimic4_note', 'discharge']}, row 1 (the header not counted): " in told


def test_postgres_shows_nothing_of_cells_that_cannot_be_read(
    project: Path, tmp_path: Path, address: dict[str, str]
) -> None:
    files, out = tmp_path / "files", left_open(tmp_path / "out")
    write_broken(files, "cells of other columns")
    for kind, folder in (("mimic3", files / "mimic3"), ("mimic4", files)):
        run_medeval("load", kind, folder, env=address, code=0)
    told = stopped(project, files, out, "postgres", address)
    assert_private(out, told)
    assert "cannot read mimic4_note.radiology." in told
    assert "mimiciii.chartevents, row 1 (the header not counted), column" in told


# `load` and the readers of files


@pytest.fixture(scope="module")
def address(databases: Databases) -> dict[str, str]:
    return databases()


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
    request = LoadRequest(None, None, False, "postgres", PROJECT_ROOT)
    plans = sources(PROJECT_ROOT)
    for (source, name), path in write_broken(tmp_path, broken).items():
        plan = dataclasses.replace(plans[source], tables={name: plans[source].tables[name]})
        with pytest.raises(UserError) as caught:
            load_parts([Part(plan, path.parent, "broken")], request)
        assert str(path) in str(caught.value)
        assert MARKER not in str(caught.value)
        assert caught.value.__cause__ is None or MARKER not in str(caught.value.__cause__)


@pytest.mark.parametrize(("name", "text", "meta"), CASES["files"])
def test_nothing_is_shown_of_a_file_over_which_no_view_can_be_laid(
    tmp_path: Path, name: str, text: str, meta: dict[str, str]
) -> None:
    # It loads dbt, for which no worker has to wait that only collects this file.
    from medeval.duckdb_files import source_views

    encoded = text.encode("latin-1")
    path = mimic3_folder.write(tmp_path / name, encoded)
    # A table of a source, as dbt's graph has it.
    of_graph = {"name": "t", "source_name": "s", "columns": {"x": {}}, "config": {"meta": meta}}
    place = path if name == "r.jsonl" else tmp_path
    cohort = {"cohort_file": str(path)} if name == "list.txt" else {}
    with pytest.raises(UserError) as caught:
        source_views([of_graph], Place("folder", str(place), f"the folder {place}"), **cohort)
    assert MARKER not in str(caught.value)
    assert str(place) in str(caught.value)
    if cohort:
        assert str(caught.value).startswith(f"{path}, line 2 is not a hadm_id.")


# What an engine says


def told_of(connection: Any, errors: type[Exception], statement: str) -> str:
    """Return what is said of a statement that fails, over a table with a text of a patient."""
    cursor = connection.cursor()
    for made in ("t (x text)", "k (x text primary key)", "n (x text not null)"):
        cursor.execute(f"create temp table {made}")
    mark = "%s" if errors is not duckdb.Error else "?"
    cursor.execute(f"insert into t values ({mark})", [CELL])
    with pytest.raises(errors) as caught:
        cursor.execute(statement)
    return shown(caught.value)


@pytest.mark.parametrize(("statement", "said"), CASES["statements"]["duckdb"])
def test_a_sentence_of_duckdb_shows_no_value(statement: str, said: str) -> None:
    with duckdb.connect() as connection:
        told = told_of(connection, duckdb.Error, statement)
    assert said in told
    assert MARKER not in told


@pytest.mark.parametrize(("statement", "said"), CASES["statements"]["postgres"])
@pytest.mark.parametrize("driver", [psycopg, psycopg2], ids=["psycopg", "psycopg2"])
def test_a_sentence_of_postgres_shows_no_value(
    address: dict[str, str], driver: Any, statement: str, said: str
) -> None:
    with closing(driver.connect(**settings(address))) as connection:
        connection.cursor().execute(
            "create temp table c (x text check (x = '')); create temp table v (x varchar(3))"
        )
        told = told_of(connection, driver.Error, statement)
    assert said in told
    assert MARKER not in told


# Who may open what is written


@pytest.mark.slow
def test_the_list_of_admissions_is_not_in_the_log(project: Path, tmp_path: Path) -> None:
    files, out = cdm_folder.write_folder(tmp_path / "files"), tmp_path / "out"
    listed = mimic3_folder.write(tmp_path / "list.txt", "20000002\n987650021\n")
    words = ("--select", "read_stg_cdm__cohort_list", "stg_cdm__cohort_list")
    done = dbt(project, files, out, "duckdb", {}, *words, "--vars", f"cdm_cohort_file: {listed}")
    assert done.returncode == 0, done.stdout
    assert "987650021" not in done.stdout + (out / "logs" / "dbt.log").read_text(encoding="utf-8")
    with duckdb.connect(out / "medeval.duckdb", read_only=True) as connection:
        rows = connection.execute("from cdm.read_stg_cdm__cohort_list order by 1").fetchall()
    assert rows == [(1, 20000002), (2, 987650021)]
