"""`python -m medeval export` of the MIMIC-III floor, from hand-made tables."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import contents
from export_tables import DATABASE, manifest, new_warehouse, refusal
from in_process import Main
from tables import slow_after, table

pytestmark = pytest.mark.usefixtures("checkout")
OUT = Path("out")
# Small tables as they are published, and what is written of them.
CASES = table("mimic3_export")
TABLES = CASES["tables"]
NEW_BUILD = """insert into medeval.builds select * replace (4 as sequence_number, 'run-4' as
    invocation_id) from medeval.builds where sequence_number = 2"""
Export = Callable[..., Path]


def fill(sql: str = "") -> None:
    """Make the warehouse anew, and change its tables by statements of SQL."""
    with new_warehouse() as connection:
        connection.execute(f"{TABLES}; {sql}")


@pytest.fixture
def export(main: Main) -> Export:
    """Fill the warehouse, export, and return the folder of all exports."""

    def function(*args: str, sql: str = "") -> Path:
        fill(sql)
        main("export", "--out", OUT, *args, code=0)
        return OUT

    return function


def check_manifest(folder: Path) -> dict[str, Any]:
    """The manifest lists every file of the folder, and each is what it says."""
    found = contents(folder)
    listed = {file["path"]: file for file in manifest(folder)["files"]}
    assert listed.keys() == found.keys() - {"manifest.json"}
    for path, file in listed.items():
        assert file["sha256"] == hashlib.sha256(found[path]).hexdigest()
        assert file["bytes"] == len(found[path])
        assert file["rows"] == found[path].count(b"\n") - 1
    return manifest(folder)


@pytest.mark.parametrize("batch", slow_after(1, [2, 1, 20_000]))
@pytest.mark.parametrize("case", CASES["files"], ids=lambda case: case["id"])
def test_files_have_the_rows_of_the_benchmark(
    export: Export, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], batch: int
) -> None:
    monkeypatch.setattr("medeval.warehouse.BATCH_ROWS", batch)
    (folder,) = export(*case["args"].split(), sql=case.get("sql", "")).iterdir()
    check_manifest(folder)
    found = {name: data.decode() for name, data in contents(folder).items()}
    assert {name: found[name] for name in case["files"]} == case["files"]
    # No stay has a series that its task does not list.
    assert {name for name in found if "episode" in name} <= case["files"].keys()


# One export after another


@pytest.mark.slow
def test_a_kill_leaves_no_final_file(export: Export) -> None:
    fill()
    command = [sys.executable, "-c", CASES["killed"], "export", "--out", OUT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "ready\n" in iter(process.stdout.readline, "")
        process.send_signal(signal.SIGKILL)
    left = contents(OUT / "mimic3")
    assert left
    assert all(name.startswith(".incomplete/") for name in left)
    check_manifest(export() / "mimic3")
    assert not (OUT / "mimic3/.incomplete").exists()


def test_failure_leaves_the_export_before(
    main: Main, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(export())

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("medeval.export.sha256", fail)
    main("export", "--out", OUT, "--order", "reference", code=2)
    assert contents(OUT) == before


@pytest.mark.parametrize("broken", slow_after(2, [1, 13, 3, 9]))
def test_cut_rename_is_mended(
    main: Main, export: Export, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    folder = export("--task", "ihm", "--task", "los", "--timeseries") / "mimic3"
    foreign = folder / "length_of_stay/notes.txt"
    foreign.write_text("mine")
    fill(NEW_BUILD)
    calls = 0
    rename = Path.replace

    def fail(self: Path, target: Path) -> Path:
        nonlocal calls
        if folder / ".incomplete" not in target.parents:
            calls += 1
            if calls == broken:
                raise OSError(5, "Input/output error", str(target))
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        tasks = ("--task", "ihm", "--task", "decomp", "--task", "pheno")
        main("export", "--out", OUT, *tasks, code=2)
    assert not (folder / "manifest.json").exists()
    # A second end before anything was renamed must not forget what the first one left.
    with monkeypatch.context() as patch:
        patch.setattr("medeval.export.ExportFolder.publish", lambda self, manifest: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            main("export", "--out", OUT, "--task", "multitask")
    export("--task", "pheno", sql=NEW_BUILD)
    # Files of another build go, foreign ones stay.
    assert foreign.read_text() == "mine"
    foreign.unlink()
    found = check_manifest(folder)
    assert found["tasks"].keys() == {"phenotyping"}
    assert found["build"]["invocation_id"] == "run-4"


# Refusals: one sentence, exit code 2


@pytest.mark.parametrize("case", CASES["refusals"], ids=lambda case: case["says"].strip("`"))
def test_tables_that_cannot_be_exported_are_named(main: Main, case: dict[str, str]) -> None:
    fill(case["sql"])
    assert case["says"] in refusal(main, "--out", OUT, *case.get("args", "").split())
    assert not list(OUT.rglob("*.csv"))


def test_relative_warehouse_is_looked_for_in_the_current_folder(
    main: Main, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DATABASE.touch()
    (checkout / "sub").mkdir()
    monkeypatch.chdir("sub")
    assert f"but in {checkout}: run the command there" in refusal(main)


def test_warehouse_in_use(main: Main) -> None:
    fill()
    script = f"import duckdb; c = duckdb.connect('{DATABASE}'); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        message = refusal(main)
        process.communicate(b"\n")
    assert "in use by another process, probably dbt" in message


def test_second_export_at_the_same_time(main: Main, export: Export) -> None:
    descriptor = os.open(export() / "mimic3", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        assert "Another export" in refusal(main, "--out", OUT)
    finally:
        os.close(descriptor)
