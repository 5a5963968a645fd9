"""The synthetic raw data: same bytes, right layout, every special case, bounded memory.

What must be found in them, and what must not, say `synth_mimic3.yml` and `synth_mimic4.yml` in SQL:
`some` of these rows are there, and `none` of those.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from commands import run_medeval
from in_process import Main, main_in

from synth.files import CsvFile
from synth.run import write_synthetic

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "demo"
KINDS = ("mimic3", "mimic4")
EXPECTED = {
    kind: yaml.safe_load(Path(__file__).with_name(f"synth_{kind}.yml").read_text("utf-8"))
    for kind in KINDS
}
TABLES = [(kind, table) for kind in KINDS for table in EXPECTED[kind]["columns"]]
# Scale, seed, events per stay, and the bytes that all files of it may have.
DEMOS = {"mimic3": (240, 20261127, 250, 3_000_000), "mimic4": (130, 20261127, 100, 1_500_000)}
OTHERS = {"mimic3": (240, 11, 60), "mimic4": (260, 11, 60)}


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, by its relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    return main_in(monkeypatch, capsys)


@pytest.fixture(scope="module", params=[(kind, who) for kind in KINDS for who in ("demo", "other")])
def data(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[duckdb.DuckDBPyConnection, dict[str, Any]]]:
    """Tables and views over the demo or over data of another seed, and what is expected of them."""
    kind, who = request.param
    folder = DEMO / kind
    if who == "other":
        folder = tmp_path_factory.mktemp("synth") / kind
        write_synthetic(kind, *OTHERS[kind], folder)
    expected = EXPECTED[kind]
    files = {name.split("/")[-1]: folder / f"{name}.csv.gz" for name in expected["columns"]}
    if kind == "mimic3":
        files |= {path.stem: path for path in (ROOT / "seeds" / "mimic3").glob("*.csv")}
    with duckdb.connect() as connection:
        # One thread: the cases are small and the machine is shared.
        connection.execute("set threads = 1")
        for name, path in files.items():
            connection.execute(
                f"create table {name} as select * from read_csv('{path}', header = true, "
                "all_varchar = true, delim = ',', quote = '\"', escape = '\"')"
            )
        connection.execute(expected["views"])
        yield connection, expected


def test_every_special_case_is_there_and_nothing_that_must_not_be(
    data: tuple[duckdb.DuckDBPyConnection, dict[str, Any]],
) -> None:
    connection, expected = data
    counts = {
        case: connection.execute(f"select count(*) from (select 1 {source})").fetchall()[0][0]
        for case, source in (expected["some"] | expected["none"]).items()
    }
    assert [case for case in expected["some"] if not counts[case]] == []
    assert [case for case in expected["none"] if counts[case]] == []


@pytest.mark.parametrize(("kind", "table"), TABLES)
def test_columns_and_logical_rows(kind: str, table: str) -> None:
    text = gzip.decompress((DEMO / kind / f"{table}.csv.gz").read_bytes()).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == EXPECTED[kind]["columns"][table].split()
    assert {len(row) for row in rows} == {len(header)}
    note = json.loads((DEMO / kind / "synthetic.json").read_text())
    assert len(rows) == note["rows"][table] > 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_demo_is_what_the_command_makes(kind: str, tmp_path: Path) -> None:
    """Unpacked, since another zlib may pack the same text into other bytes."""
    scale, seed, events, most = DEMOS[kind]
    write_synthetic(kind, scale, seed, events, tmp_path / kind)
    made, demo = read_files(tmp_path / kind), read_files(DEMO / kind)
    assert list(made) == list(demo)
    assert sum(map(len, demo.values())) < most
    for files in (made, demo):
        note = json.loads(files.pop("synthetic.json"))
        given = (note["kind"], note["scale"], note["seed"], note["events_per_stay"])
        assert given == (kind, scale, seed, events)
    for file in made:
        same = gzip.decompress(made[file]) == gzip.decompress(demo[file])
        assert same, f"{file}: make the demo again as demo/README.md says"
        # The header of gzip names no file and no time.
        assert made[file][3:8] == bytes(5)
    command = next(
        line
        for line in (DEMO / "README.md").read_text(encoding="utf-8").splitlines()
        if f"medeval synth {kind}" in line
    )
    assert f"--scale {scale} --seed {seed} " in command
    assert (f"--events-per-stay {events}" in command) == (events != 250)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arguments_give_the_same_bytes_and_others_do_not(
    kind: str, tmp_path: Path
) -> None:
    made: list[bytes] = []
    for number, given in enumerate(
        [(40, 5, 40), (40, 5, 40), (40, 6, 40), (40, 5, 80), (41, 5, 40)]
    ):
        write_synthetic(kind, *given, tmp_path / str(number))
        files = read_files(tmp_path / str(number))
        made.append(next(content for name, content in files.items() if "labevents" in name))
    assert made[0] == made[1]
    assert len({*made}) == 4


@pytest.mark.parametrize(
    ("kind", "scale", "seed", "events", "sentence"),
    [
        ("mimic5", 20, 1, 250, "Unknown kind 'mimic5'"),
        ("mimic3", 19, 1, 250, "--scale 19 is not possible"),
        ("mimic3", 100000, 1, 250, "--scale 100000 is not possible"),
        ("mimic3", 20, -1, 250, "--seed -1 is negative"),
        ("mimic3", 20, 1, 0, "--events-per-stay 0 is too small"),
        ("mimic4", 19, 1, 250, "--scale 19 is not possible"),
        ("mimic4", 1000001, 1, 250, "--scale 1000001 is not possible"),
        ("mimic4", 20, -1, 250, "--seed -1 is negative"),
        ("mimic4", 20, 1, 0, "--events-per-stay 0 is too small"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    kind: str, scale: int, seed: int, events: int, sentence: str, tmp_path: Path, main: Main
) -> None:
    given = ("--scale", str(scale), "--seed", str(seed), "--events-per-stay", str(events))
    done = main("synth", kind, *given, "--out", tmp_path / "out")
    assert done.code == 2
    assert done.err.startswith(f"medeval: {sentence}")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def small(out: Path, *more: str) -> tuple[str | Path, ...]:
    """Return the words that make a small set in a folder."""
    given = ("--scale", "20", "--seed", "1", "--events-per-stay", "5")
    return "synth", "mimic3", *given, "--out", out, *more


def test_only_a_folder_that_the_command_wrote_is_replaced(tmp_path: Path, main: Main) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    assert main(*small(out)).code == 0
    before = read_files(out)
    assert "exists and is not empty" in main(*small(out)).err
    assert main(*small(out, "--replace")).code == 0
    assert read_files(out) == before

    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    assert "was not written by this command" in main(*small(other, "--replace")).err
    assert "is a file" in main(*small(other / "thesis.txt")).err
    assert read_files(tmp_path).keys() == {f"out/{name}" for name in before} | {"other/thesis.txt"}


def test_a_failed_run_leaves_the_old_data(
    tmp_path: Path, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_synthetic("mimic3", 20, 5, 5, out)
    before = read_files(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CsvFile, "write_columns", full)
    done = main(*small(out, "--replace"))
    assert done.code == 2
    assert "No space left on device" in done.err
    assert read_files(tmp_path) == before


@pytest.mark.parametrize(
    ("place", "status", "sentence"),
    [
        ("elsewhere", 2, "No dbt_project.yml in "),
        ("bare project", 2, "bare project has no folder tools/synth, which makes synthetic data"),
        ("checkout", 0, ""),
    ],
)
def test_the_installed_package_needs_a_checkout(
    tmp_path: Path, place: str, status: int, sentence: str
) -> None:
    shutil.copytree(ROOT / "python" / "medeval", tmp_path / "installed" / "medeval")
    folder = tmp_path / place
    folder.mkdir()
    if place == "bare project":
        shutil.copy(ROOT / "dbt_project.yml", folder)
    done = run_medeval(
        *small(tmp_path / "out"),
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=ROOT if place == "checkout" else folder,
    )
    assert done.returncode == status
    assert sentence in done.stderr
    assert done.stderr.count("\n") == (status == 2)
    assert (tmp_path / "out").is_dir() == (status == 0)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's peak memory")
@pytest.mark.parametrize(
    ("kind", "scale", "events"), [("mimic3", 200, 4000), ("mimic4", 500, 2000)]
)
def test_memory_does_not_grow_with_events(
    kind: str, scale: int, events: int, tmp_path: Path
) -> None:
    """Ten pieces and more in less than 300 MB, libraries included."""
    program = f"""
from pathlib import Path
from synth.run import write_synthetic
rows = write_synthetic("{kind}", {scale}, 3, {events}, Path({str(tmp_path / "out")!r}))
status = Path("/proc/self/status").read_text()
print(sum(rows.values()), status.split("VmHWM:")[1].split()[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "tools",
        check=True,
        capture_output=True,
        text=True,
    )
    rows, peak = map(int, done.stdout.split())
    assert rows > 1_000_000
    assert peak < 300_000  # kB
