"""The synthetic MIMIC data: same bytes, every special case, all or nothing.

What the data must hold is in fixtures/synth_*.yaml.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import PROJECT_ROOT, contents, run_medeval
from in_process import Main
from tables import table

from synth.files import CsvFile
from synth.mimic4_stay import CASES as MIMIC4_CASES
from synth.run import write_synthetic

Tables = dict[str, duckdb.DuckDBPyConnection]
KINDS = ("mimic3", "mimic4")
CONTENT: dict[str, dict[str, Any]] = {kind: table(f"synth_{kind}", "fixtures") for kind in KINDS}
DEMO = {kind: PROJECT_ROOT / "demo" / kind for kind in KINDS}
# Scale, seed and events of a stay; a second set; and the most bytes of the demo.
DEMO_ARGUMENTS = {"mimic3": (240, 20261127, 250), "mimic4": (130, 20261127, 100)}
OTHER_ARGUMENTS = {"mimic3": (240, 11, 60), "mimic4": (2 * MIMIC4_CASES.cycle, 11, 60)}
LARGEST_DEMO = {"mimic3": 3_000_000, "mimic4": 1_500_000}
SMALL = ("--scale", "20", "--seed", "1", "--events-per-stay", "5")
READ_CSV = (
    "read_csv('{}', header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')"
)


def open_tables(kind: str, folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    # One thread: the cases are small and the machine is shared.
    connection.execute("set threads = 1")
    files = {name.split("/")[-1]: f"{folder / name}.csv.gz" for name in CONTENT[kind]["columns"]}
    if kind == "mimic3":
        seeds = (PROJECT_ROOT / "seeds" / "mimic3").glob("*.csv")
        files |= {path.stem: str(path) for path in seeds}
    for name, file in files.items():
        connection.execute(f"create table {name} as select * from {READ_CSV.format(file)}")
    connection.execute(CONTENT[kind]["views"])
    return connection


@pytest.fixture(
    scope="module", params=["demo", pytest.param("another seed", marks=pytest.mark.slow)]
)
def tables(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tables]:
    folders = DEMO
    if request.param != "demo":
        folder = tmp_path_factory.mktemp("synth")
        folders = {kind: folder / kind for kind in KINDS}
        for kind in KINDS:
            write_synthetic(kind, *OTHER_ARGUMENTS[kind], folders[kind])
    opened = {kind: open_tables(kind, folders[kind]) for kind in KINDS}
    yield opened
    for connection in opened.values():
        connection.close()


def count(connection: duckdb.DuckDBPyConnection, source: str) -> int:
    row = connection.execute(f"select count(*) from (select 1 {source})").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("kind", "what", "case"),
    [(*of, case) for of in product(KINDS, ("found", "absent")) for case in CONTENT[of[0]][of[1]]],
)
def test_cases_are_found_faults_are_not(tables: Tables, kind: str, what: str, case: str) -> None:
    assert (count(tables[kind], CONTENT[kind][what][case]) > 0) == (what == "found")


@pytest.mark.parametrize("kind", KINDS)
def test_the_demo_is_what_its_readme_makes(kind: str, tmp_path: Path) -> None:
    """Unpacked, since another zlib may pack the same text into other bytes."""
    scale, seed, events = DEMO_ARGUMENTS[kind]
    readme = (PROJECT_ROOT / "demo" / "README.md").read_text(encoding="utf-8")
    per_stay = "" if kind == "mimic3" else f"--events-per-stay {events} "
    assert f"synth {kind} --scale {scale} --seed {seed} {per_stay}--out demo/{kind} " in readme

    write_synthetic(kind, scale, seed, events, tmp_path / kind)
    made, demo = contents(tmp_path / kind), contents(DEMO[kind])
    assert list(made) == list(demo)
    for file in made:
        if file.endswith(".gz"):
            # The header names no file and no time.
            assert made[file][3:8] == bytes(5)
            assert gzip.decompress(made[file]) == gzip.decompress(demo[file]), (
                f"{file}: make the demo again as demo/README.md says"
            )
    notes = [json.loads(files["synthetic.json"]) for files in (made, demo)]
    assert notes[0] | {"medeval_version": ""} == notes[1] | {"medeval_version": ""}
    assert sum(map(len, demo.values())) < LARGEST_DEMO[kind]


def test_a_disk_that_is_full_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: Main
) -> None:
    monkeypatch.chdir(PROJECT_ROOT)
    words = ("synth", "mimic3", *SMALL, "--out", tmp_path / "out")
    main(*words, code=0)
    before = contents(tmp_path / "out")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CsvFile, "write_columns", full)
    done = main(*words, "--replace")
    assert (done.code, "No space left on device" in done.err) == (2, True)
    assert contents(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_installed_package_needs_a_checkout(tmp_path: Path) -> None:
    shutil.copytree(PROJECT_ROOT / "python" / "medeval", tmp_path / "installed" / "medeval")
    bare = tmp_path / "bare project"
    bare.mkdir()
    shutil.copy(PROJECT_ROOT / "dbt_project.yml", bare)
    without = "bare project has no folder tools/synth, which makes synthetic data"
    said = {tmp_path: "No dbt_project.yml in ", bare: without, PROJECT_ROOT: ""}
    words = ("synth", "mimic3", *SMALL, "--out", tmp_path / "out")
    installed = {"PYTHONPATH": str(tmp_path / "installed")}
    for folder, sentence in said.items():
        status = 2 if sentence else 0
        done = run_medeval(*words, env=installed, cwd=folder)
        assert done.returncode == status
        assert sentence in done.stderr
        assert done.stderr.count("\n") == (status == 2)
        assert (tmp_path / "out").is_dir() == (status == 0)
