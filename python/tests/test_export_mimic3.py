"""`python -m medeval export` of the MIMIC-III floor, from hand-made tables and from goldens."""

from __future__ import annotations

import csv
import fcntl
import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from export_tables import (
    BUILDS,
    Tables,
    build,
    fill_duckdb,
    fill_postgres,
    manifest,
    refusal,
    run,
    warehouse_folder,
)
from marks import slow_after
from postgres_server import connect

from medeval.mimic3.export import Order
from medeval.mimic3.timeseries import HEADER, UNCLEANED, VARIABLES
from medeval.warehouse import Target, open_warehouse

TASKS = ("in_hospital_mortality", "decompensation", "length_of_stay", "phenotyping", "multitask")
LISTFILES = (
    "train/listfile.csv",
    "test/listfile.csv",
    "train_listfile.csv",
    "val_listfile.csv",
    "test_listfile.csv",
)
STAY = "stay text, subject_id integer, icustay_id integer, partition text, is_validation boolean"
LABELS = ", ".join(f"label_{k} integer" for k in range(1, 26))
SERIES = ", ".join(
    [f"{name} double precision" for name in VARIABLES.values()]
    + [f"{name}_text text" for name in VARIABLES.values() if name in UNCLEANED]
    + [f"is_{task}_input boolean" for task in TASKS]
)
# The layout of the published tables; a build may add columns.
LAYOUT = {
    "mimic3.mimic3_in_hospital_mortality": f"{STAY}, y_true integer",
    "mimic3.mimic3_decompensation": f"{STAY}, period_length double precision, y_true integer",
    "mimic3.mimic3_length_of_stay": (
        f"{STAY}, period_length double precision, y_true double precision"
    ),
    "mimic3.mimic3_phenotyping": f"{STAY}, period_length double precision, {LABELS}",
    "mimic3.mimic3_multitask": (
        f"{STAY}, length_of_stay double precision, in_hospital_mortality_position integer,"
        " in_hospital_mortality_mask integer, in_hospital_mortality_label integer,"
        " first_sample_hour bigint, length_of_stay_hours bigint, decompensation_hours bigint,"
        f" first_decompensation_hour bigint, {LABELS}"
    ),
    "mimic3.mimic3_episode_timeseries": (
        "subject_id integer, episode integer, stay text, icustay_id integer, partition text,"
        f" event_icustay_id integer, charttime timestamp, hours double precision, {SERIES}"
    ),
    "mimic3.mimic3_episodes": (
        "partition text, subject_id integer, episode integer, icustay_id integer,"
        " ethnicity_code integer, gender_code integer, age double precision,"
        " height double precision, weight double precision, los double precision,"
        " mortality integer, diagnosis_flags text"
    ),
    "mimic3.episode_diagnoses": "position integer, icd9_code text",
    "mimic3.mimic3_source_tables": "source_table text, row_count bigint, edition text",
    "mimic3.mimic3_data_class": "data_class text, patients_md5 text, edition text",
    "mimic3.phenotypes": "phenotype_id integer, phenotype_name text, ccs_id integer",
    "medeval.builds": BUILDS,
}
Export = Callable[..., Path]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return warehouse_folder(tmp_path, monkeypatch)


def stay(subject: int, episode: int) -> str:
    return f"{subject}_episode{episode}_timeseries.csv"


def who(subject: int, episode: int, partition: str = "train", *, val: bool = False) -> list[Any]:
    return [stay(subject, episode), subject, subject * 10 + episode, partition, val]


def labels(*ones: int) -> list[int]:
    return [int(k in ones) for k in range(1, 26)]


def series(
    subject: int,
    episode: int,
    hours: float,
    event: int,
    inputs: Sequence[str] = (),
    **cells: object,
) -> list[Any]:
    names = [*VARIABLES.values(), *(f"{n}_text" for n in VARIABLES.values() if n in UNCLEANED)]
    assert cells.keys() <= set(names)
    head = [subject, episode, stay(subject, episode), 1, "test" if subject == 5 else "train"]
    values = [cells.get(name) for name in names]
    flags = [task in inputs for task in TASKS]
    return [*head, event, "2130-01-01 00:00:00", hours, *values, *flags]


def base() -> Tables:
    """Small tables; the names are chosen so that every order differs from every other."""
    train = [who(731, 1), who(7312, 1, val=True), who(731, 10), who(731, 2)]
    test = [who(5, 1, "test"), who(51, 1, "test")]
    both = [*train, *test]
    return {
        "mimic3.mimic3_in_hospital_mortality": [[*s, int(s[1] == 731)] for s in both],
        "mimic3.mimic3_decompensation": [
            [*s, hour, int(hour > 9)] for s in both for hour in (10.0, 9.0, 5.0)
        ],
        "mimic3.mimic3_length_of_stay": [
            [*s, hour, left] for s in both for hour, left in ((5.0, 0.5), (6.0, -1e-7))
        ],
        "mimic3.mimic3_phenotyping": [[*s, 6.5, *labels(s[1] % 25, 25)] for s in both],
        "mimic3.mimic3_multitask": [
            [*s, 6.5, 0, 0, 1, 5, 7, 6, 4, *labels(2)] for s in [*train, test[1]]
        ]
        + [[*test[0], -1.0, 47, 1, 0, 5, 0, 0, None, *labels()]],
        "mimic3.mimic3_episode_timeseries": [
            series(731, 1, -3.5375, 9, glucose=217.0),
            series(5, 1, 0.0, 1, heart_rate_text="81", heart_rate=81.0),
        ],
        "mimic3.mimic3_episodes": [
            ["train", 731, 1, 7311, 4, 2, 65.1, None, 80.0, 2.5, 1, "010"],
            ["test", 5, 1, 51, 0, 1, 300.25, 170.0, None, None, 0, None],
        ],
        "mimic3.episode_diagnoses": [[3, "V5861"], [1, "4019"], [2, "0389"]],
        "mimic3.mimic3_source_tables": [["patients", 100, "1.4"], ["icustays", 136, None]],
        "mimic3.mimic3_data_class": [["open", "abc", "demo"]],
        "mimic3.phenotypes": [
            *([k, f"Group {k}; x" if k > 1 else "First", 1] for k in range(25, 0, -1)),
            [None, "No phenotype", 2],
        ],
        "medeval.builds": [
            build(1, succeeded=False, floor="mimic3"),
            build(2, floor="mimic3"),
            build(3, succeeded=False, floor="cdm"),
        ],
    }


@pytest.fixture
def export(database: Path, tmp_path: Path) -> Export:
    """Fill the warehouse with tables, export, and return the folder."""

    def function(tables: Tables | None = None, *args: str | Path) -> Path:
        fill_duckdb(database, LAYOUT, base() if tables is None else tables)
        assert run("--out", tmp_path / "out", *args) == 0
        return tmp_path / "out" / "mimic3"

    return function


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def check_manifest(folder: Path) -> None:
    """The manifest lists every file of the folder, and each is what it says."""
    listed = {file["path"]: file for file in manifest(folder)["files"]}
    found = contents(folder)
    assert listed.keys() == found.keys() - {"manifest.json"}
    for path, file in listed.items():
        assert file["sha256"] == hashlib.sha256(found[path]).hexdigest()
        assert file["bytes"] == len(found[path])
        assert file["rows"] == found[path].count(b"\n") - 1


def data_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[1:]


# Formats


def test_in_hospital_mortality_is_sorted_by_name_in_byte_order(export: Export) -> None:
    folder = export() / "in_hospital_mortality"
    # `2` < `_`, so subject 7312 comes first; episode 10 before 1, since `0` < `_`.
    assert (folder / "train/listfile.csv").read_text() == (
        "stay,y_true\n"
        "7312_episode1_timeseries.csv,0\n"
        "731_episode10_timeseries.csv,1\n"
        "731_episode1_timeseries.csv,1\n"
        "731_episode2_timeseries.csv,1\n"
    )
    assert data_lines(folder / "val_listfile.csv") == ["7312_episode1_timeseries.csv,0"]
    assert data_lines(folder / "train_listfile.csv") == [
        "731_episode10_timeseries.csv,1",
        "731_episode1_timeseries.csv,1",
        "731_episode2_timeseries.csv,1",
    ]
    test = (folder / "test/listfile.csv").read_text()
    assert test == ("stay,y_true\n51_episode1_timeseries.csv,0\n5_episode1_timeseries.csv,0\n")
    assert (folder / "test_listfile.csv").read_text() == test


MULTITASK = (
    "filename,length of stay,in-hospital mortality task (pos;mask;label),"
    "length of stay task (masks;labels),phenotyping task (labels),"
    "decompensation task (masks;labels)\n"
)
NONE = ";".join(["0"] * 25)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        # Python's formatting is the benchmark's: a remainder just under zero keeps its sign.
        (
            "length_of_stay/val_listfile.csv",
            "stay,period_length,y_true\n"
            "7312_episode1_timeseries.csv,5.000000,0.500000\n"
            "7312_episode1_timeseries.csv,6.000000,-0.000000\n",
        ),
        (
            "phenotyping/val_listfile.csv",
            f"stay,period_length,First,{','.join(f'Group {k}; x' for k in range(2, 26))}\n"
            f"7312_episode1_timeseries.csv,6.500000,{','.join(map(str, labels(12, 25)))}\n",
        ),
        (
            "multitask/val_listfile.csv",
            f"{MULTITASK}7312_episode1_timeseries.csv,6.500000,0;0;1,"
            "0;0;0;0;0;1;1;6.500000;5.500000;4.500000;3.500000;2.500000;1.500000;0.500000,"
            f"{';'.join(map(str, labels(2)))},0;0;0;0;0;1;0;0;0;0;1;1\n",
        ),
        # Without a sample hour, with death at once, and without any hour.
        (
            "multitask/test_listfile.csv",
            f"{MULTITASK}1_episode1_timeseries.csv,3.000000,0;0;1,0;0;0;3.000000;2.000000;1.000000,"
            f"{NONE},0;0;0;1;1;1\n"
            f"2_episode1_timeseries.csv,2.000000,0;0;0,0;0;2.000000;1.000000,{NONE},0;0;0;0\n"
            f"5_episode1_timeseries.csv,-1.000000,47;1;0,;,{NONE},;\n",
        ),
    ],
)
def test_lines_have_the_numbers_and_lists_of_the_benchmark(
    export: Export, file: str, text: str
) -> None:
    tables = base()
    tables["mimic3.mimic3_multitask"] = [
        *(row for row in tables["mimic3.mimic3_multitask"] if row[1] != 51),
        [*who(1, 1, "test"), 3.0, 0, 0, 1, None, 3, 3, 0, *labels()],
        [*who(2, 1, "test"), 2.0, 0, 0, 0, 90, 2, 2, 90, *labels()],
    ]
    folder = export(tables)
    assert (folder / file).read_text() == text
    assert contents(folder) == contents(export(tables))


# Orders


def first_cells(path: Path) -> list[str]:
    return [line.split(",")[0] for line in data_lines(path)]


def test_reference_order_of_each_file(export: Export) -> None:
    export_folder = export(None, "--order", "reference")
    # Phenotyping sorts train, and leaves test as the folders were listed, subjects in text order.
    folder = export_folder / "phenotyping"
    assert first_cells(folder / "test/listfile.csv") == [stay(5, 1), stay(51, 1)]
    assert first_cells(folder / "train/listfile.csv") == [
        *(stay(7312, 1), stay(731, 10), stay(731, 1), stay(731, 2))
    ]
    # The others shuffle train from that listing, and sort test.
    folder = export_folder / "decompensation"
    stays = [stay(731, 10), stay(731, 1), stay(731, 2), stay(7312, 1)]
    listing = [f"{name},{hour}.000000,{int(hour > 9)}" for name in stays for hour in (5, 9, 10)]
    random.Random(49297).shuffle(listing)
    assert data_lines(folder / "train/listfile.csv") == listing
    validation = [line for line in listing if line.startswith("7312_")]
    assert data_lines(folder / "val_listfile.csv") == validation
    assert data_lines(folder / "train_listfile.csv") == [
        line for line in listing if line not in validation
    ]
    # Test draws nothing and stays sorted.
    assert data_lines(folder / "test/listfile.csv")[0] == f"{stay(51, 1)},5.000000,0"


# Time series


def cells_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_time_series_cells(export: Export) -> None:
    tables = base()
    tables["mimic3.mimic3_episode_timeseries"] = [
        series(5, 2, 1.5, 2, ph=7.0, capillary_refill_rate=0.0),
        series(5, 1, 1 / 3, 1, heart_rate=81.0, weight=36.555599212646484),
        series(5, 1, 1 / 3, 0, heart_rate=81.0, heart_rate_text="81"),
        series(5, 1, -3.5375, 7, glascow_coma_scale_eye_opening_text="None", glucose=1e-5),
        series(5, 1, 2.0, 7, glascow_coma_scale_total_text='a "b", c', height=1e16),
        series(731, 1, 0.0, 1, respiratory_rate_text="ü"),
    ]
    root = export(tables, "--timeseries") / "root"
    first = root / "test/5/episode1_timeseries.csv"
    assert first.read_text() == HEADER + (
        "-3.5375,,,,None,,,,1e-05,,,,,,,,,\n"
        "0.3333333333333333,,,,,,,,,81,,,,,,,,\n"
        "0.3333333333333333,,,,,,,,,81.0,,,,,,,36.555599212646484,\n"
        '2.0,,,,,,"a ""b"", c",,,,1e+16,,,,,,,\n'
    )
    assert cells_of(first)[3]["Glascow coma scale total"] == 'a "b", c'
    second = root / "test/5/episode2_timeseries.csv"
    assert second.read_text() == HEADER + "1.5,0.0,,,,,,,,,,,,,,,,7.0\n"
    assert cells_of(root / "train/731/episode1_timeseries.csv")[0]["Respiratory rate"] == "ü"


# The layout of mimic3-benchmarks

LAYOUT_OPTION = ("--layout", "mimic3-benchmarks")
EPISODE_HEADER = (
    "Icustay,Ethnicity,Gender,Age,Height,Weight,Length of Stay,Mortality,"
    "Diagnosis 4019,Diagnosis 0389,Diagnosis V5861\n"
)


def layout_tables() -> Tables:
    """A stay in every task, one in those of the whole stay, and one in none."""
    stays = ("decompensation", "length_of_stay", "phenotyping", "multitask")
    tables = base()
    tables["mimic3.mimic3_episode_timeseries"] = [
        series(731, 1, -3.5, 1, glucose=1.0),
        series(731, 1, 0.0, 1, TASKS, glucose=2.0),
        series(731, 1, 48.0, 1, TASKS, heart_rate_text="a,b"),
        series(731, 1, 48.5, 1, stays, glucose=4.0),
        series(731, 1, 99.0, 1, glucose=5.0),
        series(5, 1, 1.0, 2, stays, glucose=6.0),
        series(5, 2, 1.0, 3, glucose=7.0),
    ]
    return tables


def row(hours: float, glucose: float) -> str:
    return f"{hours},,,,,,,,{glucose},,,,,,,,,\n"


@pytest.mark.parametrize("batch", [1, 2, 20_000])
def test_each_task_has_the_rows_that_its_model_may_see(
    export: Export, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr("medeval.warehouse.BATCH_ROWS", batch)
    folder = export(layout_tables(), *LAYOUT_OPTION).parent / "mimic3-benchmarks"
    check_manifest(folder)
    first, second = stay(731, 1), stay(5, 1)
    listed = {
        f"{task}/{name}"
        for task in map(hyphened, TASKS)
        for name in (*LISTFILES, f"train/{first}", f"test/{second}")
    }
    listed.remove(f"in-hospital-mortality/test/{second}")
    root = {
        "root/train/731/episode1.csv",
        "root/train/731/episode1_timeseries.csv",
        "root/test/5/episode1.csv",
        "root/test/5/episode1_timeseries.csv",
        "root/test/5/episode2_timeseries.csv",
    }
    assert contents(folder).keys() == {"manifest.json", *listed, *root}
    charted = '48.0,,,,,,,,,"a,b",,,,,,,,\n'
    mortality = HEADER + row(0.0, 2.0) + charted
    assert (folder / "in-hospital-mortality/train" / first).read_text() == mortality
    whole_stay = mortality + row(48.5, 4.0)
    for task in ("decompensation", "length-of-stay", "phenotyping", "multitask"):
        assert (folder / task / "train" / first).read_text() == whole_stay
        assert (folder / task / "test" / second).read_text() == HEADER + row(1.0, 6.0)
    uncut = HEADER + row(-3.5, 1.0) + whole_stay.removeprefix(HEADER) + row(99.0, 5.0)
    assert (folder / "root/train/731/episode1_timeseries.csv").read_text() == uncut


def hyphened(task: str) -> str:
    return task.replace("_", "-")


def test_an_episode_without_a_known_diagnosis_is_a_header(export: Export) -> None:
    root = export(layout_tables(), *LAYOUT_OPTION).parent / "mimic3-benchmarks/root"
    line = "7311,4,2,65.1,,80.0,2.5,1,0,1,0\n"
    assert (root / "train/731/episode1.csv").read_text() == EPISODE_HEADER + line
    assert (root / "test/5/episode1.csv").read_text() == EPISODE_HEADER


def test_the_layouts_stand_beside_each_other_and_tasks_join(export: Export) -> None:
    own = contents(export(layout_tables()))
    export(layout_tables(), *LAYOUT_OPTION, "--task", "ihm")
    folder = export(layout_tables(), *LAYOUT_OPTION, "--task", "los")
    assert contents(folder) == own
    beside = folder.parent / "mimic3-benchmarks"
    check_manifest(beside)
    assert {path.name for path in beside.iterdir()} == {
        *("in-hospital-mortality", "length-of-stay", "root", "manifest.json")
    }
    listfile = "train/listfile.csv"
    assert (beside / "length-of-stay" / listfile).read_bytes() == own[f"length_of_stay/{listfile}"]


# Manifest and access


def test_manifest_says_what_the_files_are_and_where_they_come_from(export: Export) -> None:
    folder = export(None, "--order", "reference")
    check_manifest(folder)
    found = manifest(folder)
    assert found["schema_version"] == 1
    assert found["benchmark"] == "mimic3"
    assert found["data_class"] == "open"
    assert found["source"] == {
        "kind": "demo",
        "location": "/data/mimic",
        "edition": "demo",
        "patients_md5": "abc",
        "tables": {
            "icustays": {"rows": 136, "edition": None},
            "patients": {"rows": 100, "edition": "1.4"},
        },
    }
    assert found["target"] == "duckdb"
    assert found["build"] == {"invocation_id": "run-2", "started_at": "2030-01-01T00:00:00Z"}
    assert found["versions"]["dbt"] == "1.11.16"
    assert found["versions"]["duckdb"] == duckdb.__version__
    assert found["versions"].keys() == {"medeval", "project", "dbt", "python", "duckdb"}
    assert found["tasks"] == {task: {"order": "reference"} for task in sorted(TASKS)}
    assert [file["path"] for file in found["files"]] == sorted(
        f"{task}/{name}" for task in TASKS for name in LISTFILES
    )


def test_files_and_folders_are_for_their_owner_only(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = base()
    tables["mimic3.mimic3_data_class"] = [["credentialed", "m", None]]
    existing = tmp_path / "out/mimic3"
    existing.mkdir(parents=True)
    existing.chmod(0o755)
    before = os.umask(0)
    try:
        folder = export(tables, "--timeseries")
    finally:
        os.umask(before)
    for path in [folder, *folder.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


# One export after another


def test_a_second_task_of_the_same_build_joins_the_first(export: Export) -> None:
    export(None, "--task", "In-Hospital-Mortality", "--order", "reference")
    folder = export(None, "--task", "los")
    assert manifest(folder)["tasks"] == {
        "in_hospital_mortality": {"order": "reference"},
        "length_of_stay": {"order": "canonical"},
    }
    check_manifest(folder)


def test_files_of_another_build_go_and_foreign_files_stay(export: Export) -> None:
    folder = export(None, "--task", "ihm", "--task", "los", "--timeseries")
    (folder / "length_of_stay/notes.txt").write_text("mine")
    (folder / "own.csv").write_text("mine")
    tables = base()
    tables["medeval.builds"].append(build(4, floor="mimic3"))
    export(tables, "--task", "ihm")
    assert manifest(folder)["build"]["invocation_id"] == "run-4"
    assert contents(folder).keys() == {
        "manifest.json",
        "own.csv",
        "length_of_stay/notes.txt",
        *(f"in_hospital_mortality/{name}" for name in LISTFILES),
    }
    assert not (folder / "root").exists()


def test_a_task_whose_files_were_changed_is_not_vouched_for(export: Export) -> None:
    folder = export(None, "--task", "ihm")
    (folder / "in_hospital_mortality/train_listfile.csv").write_text("stay,y_true\n")
    export(None, "--task", "los")
    assert manifest(folder)["tasks"].keys() == {"length_of_stay"}
    check_manifest(folder)


def test_a_manifest_cannot_name_files_outside_its_folder(
    export: Export, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export(None, "--task", "ihm")
    (tmp_path / "precious").write_text("mine")
    listed = manifest(folder)
    listed["files"][0]["path"] = "../../precious"
    (folder / "manifest.json").write_text(json.dumps(listed))
    assert run("--out", tmp_path / "out", "--task", "los") == 2
    assert "not a manifest that medeval wrote" in capsys.readouterr().err
    assert (tmp_path / "precious").read_text() == "mine"


SLOW = """
import sys, time
from medeval.mimic3 import export
original = export._write_listfiles
def slow(warehouse, folder, listfile, *more):
    counts = original(warehouse, folder, listfile, *more)
    if listfile.task == "length_of_stay":
        print("ready", flush=True)
        time.sleep(60)
    return counts
export._write_listfiles = slow
from medeval.cli import main
main()
"""


@pytest.mark.slow
def test_a_kill_leaves_no_final_file_and_the_next_export_cleans_up(
    export: Export, tmp_path: Path, database: Path
) -> None:
    fill_duckdb(database, LAYOUT, base())
    out = tmp_path / "out"
    command = [sys.executable, "-c", SLOW, "export", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "ready\n":
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    left = contents(out / "mimic3")
    assert left
    assert all(name.startswith(".incomplete/") for name in left)
    folder = export()
    check_manifest(folder)
    assert not (folder / ".incomplete").exists()


def test_a_failure_leaves_the_earlier_export_as_it_was(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(export())

    def fail(*args: object) -> int:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("medeval.mimic3.timeseries.write_timeseries", fail)
    assert run("--out", tmp_path / "out", "--order", "reference", "--timeseries") == 2
    assert contents(tmp_path / "out/mimic3") == before


@pytest.mark.parametrize("broken", slow_after(2, [1, 13, 3, 9]))
def test_an_end_while_renaming_leaves_no_manifest_and_is_repaired(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    folder = export(None, "--task", "ihm", "--task", "los")
    tables = base()
    tables["medeval.builds"].append(build(4, floor="mimic3"))
    fill_duckdb(folder.parents[1] / "medeval.duckdb", LAYOUT, tables)
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
        assert run("--out", tmp_path / "out", *tasks) == 2
    assert not (folder / "manifest.json").exists()
    # A second end before anything was renamed must not forget what the first one left.
    with monkeypatch.context() as patch:
        patch.setattr("medeval.export.ExportFolder.publish", lambda self, manifest: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run("--out", tmp_path / "out", "--task", "multitask")
    export(tables, "--task", "pheno")
    check_manifest(folder)
    assert manifest(folder)["tasks"].keys() == {"phenotyping"}


# Refusals: one sentence, exit code 2


def change(table: str, *rows: Sequence[object], tables: Tables) -> None:
    """Put other rows in a table; without any, take the table away."""
    if rows:
        tables[table] = list(rows)
    else:
        del tables[table]


FAILED = [*build(10, floor="mimic3")[:-1], False]
STOPPED = [*build(10, floor="mimic3")[:-1], None]
BAD_SERIES = [*series(5, 1, 0.0, 1)[:4], "../elsewhere", *series(5, 1, 0.0, 1)[5:]]
REFERENCE = ("--layout", "mimic3-benchmarks")


@pytest.mark.parametrize(
    ("table", "rows", "args", "said"),
    [
        ("medeval.builds", [build(2, floor="mimic3"), FAILED], (), "last build of mimic3 failed"),
        ("medeval.builds", [build(2, floor="mimic3"), STOPPED], (), "stopped at its source"),
        ("medeval.builds", [build(1, floor="cdm")], (), "mimic3 was never built here"),
        ("mimic3.mimic3_multitask", [], (), "has no mimic3.mimic3_multitask."),
        ("mimic3.mimic3_data_class", [], ("--task", "ihm"), "has no mimic3.mimic3_data_class."),
        ("mimic3.phenotypes", [], ("--task", "pheno"), "has no mimic3.phenotypes."),
        ("mimic3.phenotypes", [[1, "x", 1]], ("--task", "pheno"), "1 phenotypes with an id"),
        ("mimic3.mimic3_episodes", [], REFERENCE, "has no mimic3.mimic3_episodes."),
        (
            "mimic3.mimic3_episode_timeseries",
            [BAD_SERIES],
            ("--timeseries",),
            "partition '../elsewhere'",
        ),
    ],
)
def test_tables_that_cannot_be_exported_are_named(
    capsys: pytest.CaptureFixture[str],
    database: Path,
    table: str,
    rows: list[Sequence[object]],
    args: tuple[str, ...],
    said: str,
) -> None:
    tables = base()
    change(table, *rows, tables=tables)
    fill_duckdb(database, LAYOUT, tables)
    assert said in refusal(capsys, "--out", database.parent / "out", *args)
    assert not list((database.parent / "out").rglob("*.csv"))


@pytest.mark.parametrize(
    ("args", "floors"), [((), "cdm mimic3 mtsamples yier"), (("--task", "mimic3"), "mimic3")]
)
def test_nothing_built(
    capsys: pytest.CaptureFixture[str], database: Path, args: tuple[str, ...], floors: str
) -> None:
    fill_duckdb(database, LAYOUT, {"mimic3.phenotypes": []})
    assert f"`dbt build --select {floors} --target duckdb`" in refusal(capsys, *args)
    database.write_text("hello" * 1000)
    assert "cannot be opened" in refusal(capsys, *args)


def test_no_warehouse(capsys: pytest.CaptureFixture[str], database: Path, tmp_path: Path) -> None:
    message = refusal(capsys, "--out", tmp_path / "out")
    assert f"There is no warehouse {database}" in message
    assert "`dbt build --select cdm mimic3 mtsamples yier --target duckdb`" in message
    assert not (tmp_path / "out").exists()


def test_relative_warehouse_is_looked_for_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "medeval.duckdb").touch()
    monkeypatch.chdir(tmp_path / "sub")
    target = Target("duckdb", "duckdb", {"path": "medeval.duckdb"})
    with pytest.raises(Exception, match=f"but in {tmp_path}: run the command there"):
        open_warehouse(target, tmp_path)


def test_warehouse_in_use(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    fill_duckdb(database, LAYOUT, base())
    script = f"import duckdb; c = duckdb.connect({str(database)!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        message = refusal(capsys)
        process.communicate(b"\n")
    assert "in use by another process, probably dbt" in message


def test_second_export_at_the_same_time(
    capsys: pytest.CaptureFixture[str], export: Export, tmp_path: Path
) -> None:
    folder = export()
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        assert "Another export" in refusal(capsys, "--out", tmp_path / "out")
    finally:
        os.close(descriptor)


def test_folder_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], database: Path, tmp_path: Path
) -> None:
    fill_duckdb(database, LAYOUT, base())
    (tmp_path / "file").touch()
    message = refusal(capsys, "--out", tmp_path / "file")
    assert f"Cannot write {tmp_path / 'file'}" in message


def test_schema_prefix(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fill_duckdb(database, LAYOUT, base(), prefix="own_")
    refusal(capsys, "--out", tmp_path / "out")
    monkeypatch.setenv("MEDEVAL_SCHEMA_PREFIX", "own_")
    assert run("--out", tmp_path / "out") == 0


def test_the_command_line_starts_without_the_engines() -> None:
    script = (
        "import sys, medeval.cli\n"
        "print({'duckdb', 'psycopg', 'pyarrow', 'pandas', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"set()\n"


# PostgreSQL


def test_postgres_gives_the_same_bytes_as_duckdb(
    export: Export,
    tmp_path: Path,
    postgres_database: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables = base()
    tables["mimic3.mimic3_length_of_stay"].append([*who(9, 1), 5.0, -0.1 - 0.2])
    for name in ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"):
        monkeypatch.setenv(name, postgres_database[name])
    assert "no log of builds" in refusal(capsys, "--target", "postgres", "--task", "mimic3")
    fill_postgres(postgres_database, LAYOUT, tables)
    for schema in ("other", "mimiciii"):
        place = f"{postgres_database['PGDATABASE']}.{schema}"
        with connect(postgres_database) as connection:
            connection.execute(
                "update medeval.builds set source_kind = 'schema', source_location = %s", [place]
            )
        if schema == "other":
            said = refusal(capsys, "--target", "postgres", "--task", "mimic3")
            assert place in said
            assert f"{postgres_database['PGDATABASE']}.mimiciii (schema)" in said
    for order in Order:
        options = ["--timeseries", "--order", order]
        duck = contents(export(tables, *options))
        out = tmp_path / order
        assert run("--target", "postgres", "--out", out, *options) == 0
        postgres = contents(out / "mimic3")
        check_manifest(out / "mimic3")
        assert postgres.pop("manifest.json") != duck.pop("manifest.json")
        assert postgres == duck
    assert manifest(out / "mimic3")["target"] == "postgres"
    assert "postgres" in manifest(out / "mimic3")["versions"]
    with connect(postgres_database) as connection:
        connection.execute("alter table mimic3.mimic3_multitask rename column stay to other")
    assert 'column "stay" does not exist' in refusal(
        capsys, "--target", "postgres", "--out", tmp_path / "out"
    )


def test_postgres_is_read_in_one_transaction_that_cannot_write(
    postgres_database: dict[str, str],
) -> None:
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGDATABASE": "dbname"}
    settings = {ours: postgres_database[name] for name, ours in names.items()}
    settings["password"] = postgres_database["PGPASSWORD"]
    with open_warehouse(Target("postgres", "postgres", settings), Path()) as warehouse:
        modes = "current_setting('transaction_isolation'), current_setting('transaction_read_only')"
        found = [row for batch in warehouse.query(f"select {modes}") for row in batch]
        assert found == [("repeatable read", "on")]
        with pytest.raises(Exception, match="PostgreSQL stopped with"):
            list(warehouse.query("create table z (x integer)"))
