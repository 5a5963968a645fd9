"""`python -m medeval export` of the MIMIC-III floor, from hand-made tables and from goldens."""

from __future__ import annotations

import csv
import fcntl
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from marks import slow_after
from postgres_server import connect

from medeval import cli
from medeval.mimic3.export import Order, RowOrder, order_by, permutation, row_order
from medeval.mimic3.timeseries import HEADER, UNCLEANED, VARIABLES
from medeval.registry import chosen_tasks
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
    "medeval.builds": (
        "sequence_number bigint, floor text, invocation_id text, started_at text,"
        " dbt_version text, project_version text, target text, source_kind text,"
        " source_location text, succeeded boolean"
    ),
}
Tables = dict[str, list[Sequence[object]]]
Export = Callable[..., Path]


def stay(subject: int, episode: int) -> str:
    return f"{subject}_episode{episode}_timeseries.csv"


def who(subject: int, episode: int, partition: str = "train", *, val: bool = False) -> list[Any]:
    return [stay(subject, episode), subject, subject * 10 + episode, partition, val]


def build(number: int, *, succeeded: bool = True, floor: str = "mimic3") -> list[Any]:
    versions = ["2030-01-01T00:00:00Z", "1.11.16", "0.1.0"]
    place = ["duckdb", "demo", "/data/mimic"]
    return [number, floor, f"run-{number}", *versions, *place, succeeded]


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
            build(1, succeeded=False),
            build(2),
            build(3, succeeded=False, floor="cdm"),
        ],
    }


def as_csv(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def fill_duckdb(path: Path, tables: Tables, prefix: str = "") -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        (catalog,) = connection.execute("select current_database()").fetchone() or ("",)
        for name, rows in tables.items():
            schema, table = name.split(".")
            place = f"{catalog}.{prefix}{schema}"
            connection.execute(f"create schema if not exists {place}")
            connection.execute(f"create table {place}.{table} ({LAYOUT[name]})")
            if rows:
                source = as_csv(path.with_suffix(".csv"), rows)
                connection.execute(
                    f"insert into {place}.{table} select * from read_csv('{source}', header=false,"
                    " all_varchar=true, quote='\"', escape='\"', delim=',')"
                )


def fill_postgres(address: dict[str, str], tables: Tables, scratch: Path) -> None:
    with connect(address) as connection:
        for name, rows in tables.items():
            connection.execute(f"create schema if not exists {name.split('.')[0]}")
            connection.execute(f"create table {name} ({LAYOUT[name]})")
            with connection.cursor().copy(f"copy {name} from stdin csv") as copy:
                copy.write(as_csv(scratch, rows).read_bytes())


def run(*args: str | Path) -> int:
    """Run the command line in this process; return its exit code."""
    sys.argv = ["medeval", "export", *map(str, args)]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def database(tmp_path: Path, project_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse file that is not there yet, in a folder that has the project's settings."""
    for name in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(project_root / name, tmp_path)
    (tmp_path / "models").symlink_to(project_root / "models")
    monkeypatch.chdir(tmp_path)
    # Named as the project's own file, which then holds a schema of the same name: `medeval`.
    path = tmp_path / "medeval.duckdb"
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setenv("MEDEVAL_DUCKDB", str(path))
    monkeypatch.setenv("MEDEVAL_TEMP_DIR", str(tmp_path / "spill"))
    return path


@pytest.fixture
def export(database: Path, tmp_path: Path) -> Export:
    """Fill the warehouse with tables, export, and return the folder."""

    def function(tables: Tables | None = None, *args: str | Path) -> Path:
        fill_duckdb(database, base() if tables is None else tables)
        assert run("--out", tmp_path / "out", *args) == 0
        return tmp_path / "out" / "mimic3"

    return function


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))


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


def test_decompensation_hours_have_six_decimals_and_ascend_by_number(export: Export) -> None:
    text = (export() / "decompensation/test/listfile.csv").read_text()
    assert text == (
        "stay,period_length,y_true\n"
        "51_episode1_timeseries.csv,5.000000,0\n"
        "51_episode1_timeseries.csv,9.000000,0\n"
        "51_episode1_timeseries.csv,10.000000,1\n"
        "5_episode1_timeseries.csv,5.000000,0\n"
        "5_episode1_timeseries.csv,9.000000,0\n"
        "5_episode1_timeseries.csv,10.000000,1\n"
    )


def test_a_remainder_just_under_zero_keeps_its_sign(export: Export) -> None:
    lines = data_lines(export() / "length_of_stay/val_listfile.csv")
    assert lines == [
        "7312_episode1_timeseries.csv,5.000000,0.500000",
        "7312_episode1_timeseries.csv,6.000000,-0.000000",
    ]


def test_phenotyping_header_has_the_names_of_the_seed_in_label_order(export: Export) -> None:
    header, *lines = (export() / "phenotyping/val_listfile.csv").read_text().splitlines()
    assert header == "stay,period_length,First," + ",".join(f"Group {k}; x" for k in range(2, 26))
    ones = labels(7312 % 25, 25)
    assert lines == ["7312_episode1_timeseries.csv,6.500000," + ",".join(map(str, ones))]


def test_multitask_lists_change_at_the_hours_of_the_table(export: Export) -> None:
    header, line = (export() / "multitask/val_listfile.csv").read_text().splitlines()
    assert header == (
        "filename,length of stay,in-hospital mortality task (pos;mask;label),"
        "length of stay task (masks;labels),phenotyping task (labels),"
        "decompensation task (masks;labels)"
    )
    remainders = "6.500000;5.500000;4.500000;3.500000;2.500000;1.500000;0.500000"
    assert line.split(",") == [
        "7312_episode1_timeseries.csv",
        "6.500000",
        "0;0;1",
        f"0;0;0;0;0;1;1;{remainders}",
        ";".join(map(str, labels(2))),
        "0;0;0;0;0;1;0;0;0;0;1;1",
    ]


def test_multitask_lists_without_hours_are_a_single_semicolon(export: Export) -> None:
    line = data_lines(export() / "multitask/test/listfile.csv")[1]
    none = ";".join(["0"] * 25)
    assert line == f"5_episode1_timeseries.csv,-1.000000,47;1;0,;,{none},;"


def test_multitask_without_a_sample_hour_or_with_death_at_once(export: Export) -> None:
    tables = base()
    tables["mimic3.mimic3_multitask"] = [
        [*who(1, 1, "test"), 3.0, 0, 0, 1, None, 3, 3, 0, *labels()],
        [*who(2, 1, "test"), 2.0, 0, 0, 0, 90, 2, 2, 90, *labels()],
    ]
    rows = [line.split(",") for line in data_lines(export(tables) / "multitask/test_listfile.csv")]
    assert rows[0][3] == "0;0;0;3.000000;2.000000;1.000000"
    assert rows[0][5] == "0;0;0;1;1;1"
    assert rows[1][3] == "0;0;2.000000;1.000000"
    assert rows[1][5] == "0;0;0;0"


def test_a_partition_without_rows_has_only_headers(export: Export) -> None:
    tables = base()
    tables["mimic3.mimic3_decompensation"] = []
    folder = export(tables) / "decompensation"
    for name in LISTFILES:
        assert (folder / name).read_text() == "stay,period_length,y_true\n"


# Orders


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_permutation_is_the_shuffle_of_the_benchmark(count: int) -> None:
    shuffled = list(range(count))
    random.Random(49297).shuffle(shuffled)
    assert list(permutation(count)) == shuffled


def test_reference_order_of_each_file() -> None:
    orders = {
        (task, partition): row_order(task, partition, Order.REFERENCE)
        for task in TASKS
        for partition in ("train", "test")
    }
    listing = {key for key, order in orders.items() if order is RowOrder.LISTING}
    sorted_keys = {key for key, order in orders.items() if order is RowOrder.SORTED}
    assert listing == {("phenotyping", "test")}
    assert sorted_keys == {("phenotyping", "train")} | {
        (task, "test") for task in TASKS if task != "phenotyping"
    }
    assert {row_order(t, p, Order.CANONICAL) for t, p in orders} == {RowOrder.SORTED}


def test_listing_order_has_subjects_in_text_order_then_files(export: Export) -> None:
    folder = export(None, "--order", "reference")
    names = [line.split(",")[0] for line in data_lines(folder / "phenotyping/test/listfile.csv")]
    assert names == [stay(5, 1), stay(51, 1)]
    names = [line.split(",")[0] for line in data_lines(folder / "phenotyping/train/listfile.csv")]
    assert names == [stay(7312, 1), stay(731, 10), stay(731, 1), stay(731, 2)]
    assert order_by(RowOrder.SHUFFLED, has_sample_times=True) == (
        'order by cast(subject_id as varchar) collate "C", stay collate "C", period_length'
    )


def test_train_is_shuffled_from_the_listing_order(export: Export) -> None:
    folder = export(None, "--order", "reference") / "decompensation"
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


def test_lines_are_the_same_in_both_orders(export: Export) -> None:
    canonical = contents(export())
    reference = contents(export(None, "--order", "reference"))
    assert canonical.keys() == reference.keys()
    for name in canonical.keys() - {"manifest.json"}:
        assert sorted(canonical[name].splitlines()) == sorted(reference[name].splitlines())


# Goldens of mimic3-benchmarks on the MIMIC-III demo


def golden_tables(golden: Path) -> Tables:
    """The published tables as the golden listfiles imply them, in an order of their own."""
    tables = base()
    for task in TASKS:
        rows: list[Sequence[object]] = []
        validation = {row[0] for row in golden_rows(golden / task / "val_listfile.csv")}
        for partition in ("train", "test"):
            for name, *cells in golden_rows(golden / task / partition / "listfile.csv"):
                subject = int(name.split("_")[0])
                head = [name, subject, 1, partition, name in validation]
                rows.append([*head, *(multitask_cells(cells) if task == "multitask" else cells)])
        random.Random(1).shuffle(rows)
        tables[f"mimic3.mimic3_{task}"] = rows
    header = (golden / "phenotyping/train/listfile.csv").read_text().splitlines()[0]
    tables["mimic3.phenotypes"] = [
        [number, name, 1] for number, name in enumerate(header.split(",")[2:], start=1)
    ]
    return tables


def golden_rows(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()[1:]]


def multitask_cells(cells: list[str]) -> list[object]:
    length_of_stay, mortality, stay_lists, phenotypes, decompensation_lists = cells
    masks = stay_lists.split(";")[: len(stay_lists.split(";")) // 2]
    values = decompensation_lists.split(";")
    hours = len(values) // 2
    decompensation = values[hours:]
    return [
        length_of_stay,
        *mortality.split(";"),
        masks.index("1") if "1" in masks else len(masks),
        len(masks),
        hours,
        decompensation.index("1") if "1" in decompensation else None,
        *phenotypes.split(";"),
    ]


def test_reference_order_reproduces_the_golden_listfiles(shared: Path, export: Export) -> None:
    golden = shared / "golden/mimic3_demo"
    folder = export(golden_tables(golden), "--order", "reference")
    for task in TASKS:
        for name in LISTFILES:
            assert (folder / task / name).read_bytes() == (golden / task / name).read_bytes(), name
    with (golden / "row_counts.csv").open() as file:
        counts = {row["file"]: int(row["data_rows"]) for row in csv.DictReader(file)}
    for entry in manifest(folder)["files"]:
        assert entry["rows"] == counts[entry["path"]]


def test_canonical_order_sorts_the_golden_listfiles(shared: Path, export: Export) -> None:
    golden = shared / "golden/mimic3_demo"
    folder = export(golden_tables(golden))
    for task in TASKS:
        for name in LISTFILES:
            header, *lines = (golden / task / name).read_text().splitlines()
            if task in {"decompensation", "length_of_stay"}:
                lines.sort(key=lambda line: (line.split(",")[0], float(line.split(",")[1])))
            else:
                lines.sort(key=lambda line: line.split(",")[0])
            assert (folder / task / name).read_text().splitlines() == [header, *lines]


def test_time_series_reproduce_the_golden_cells(shared: Path, export: Export) -> None:
    golden = shared / "golden/mimic3_demo"
    wanted: dict[tuple[int, int], list[str]] = defaultdict(list)
    rows: list[Sequence[object]] = []
    with gzip.open(golden / "root_timeseries.csv.gz", "rt", encoding="utf-8", newline="") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines[1:]):
        subject, episode, cells = line.split(",", 2)
        wanted[int(subject), int(episode)].append(cells)
        hours, *values = next(csv.reader([cells]))
        named: dict[str, object] = {}
        for column, value in zip(VARIABLES.values(), values, strict=True):
            if value:
                # The text of an uncleaned variable is what is written, so that is what is stored.
                named[f"{column}_text" if column in UNCLEANED else column] = value
        rows.append(series(int(subject), int(episode), float(hours), number, **named))
    tables = base()
    random.Random(1).shuffle(rows)
    tables["mimic3.mimic3_episode_timeseries"] = rows
    root = export(tables, "--timeseries", "--task", "ihm") / "root"
    assert lines[0].removeprefix("subject_id,episode,") + "\n" == HEADER
    assert len(list(root.rglob("*.csv"))) == len(wanted) == 114
    for (subject, episode), expected in wanted.items():
        path = root / f"train/{subject}/episode{episode}_timeseries.csv"
        assert path.read_text() == HEADER + "\n".join(expected) + "\n"
    for sample in (golden / "timeseries_samples").glob("*_timeseries.csv.gz"):
        subject_text, name = sample.name.removesuffix(".gz").split("_", 1)
        with gzip.open(sample, "rb") as file_:
            assert (root / "train" / subject_text / name).read_bytes() == file_.read()


# Time series


def cells_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_time_series_are_written_only_on_request(export: Export) -> None:
    assert not (export() / "root").exists()
    folder = export(None, "--timeseries")
    names = {str(path.relative_to(folder / "root")) for path in (folder / "root").rglob("*.csv")}
    assert names == {
        "train/731/episode1_timeseries.csv",
        "test/5/episode1_timeseries.csv",
    }
    assert manifest(folder)["tasks"]["timeseries"] == {"order": None}
    check_manifest(folder)


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


def test_an_episode_longer_than_a_batch_is_one_file(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = base()
    tables["mimic3.mimic3_episode_timeseries"] = [
        series(5, episode, float(hour), 1, glucose=float(hour))
        for episode in (1, 2)
        for hour in range(7)
    ]
    with monkeypatch.context() as patch:
        patch.setattr("medeval.warehouse.BATCH_ROWS", 3)
        patch.setattr("medeval.mimic3.export.WRITTEN_LINES", 2)
        folder = export(tables, "--timeseries", "--order", "reference")
    for episode in (1, 2):
        rows = cells_of(folder / f"root/test/5/episode{episode}_timeseries.csv")
        assert [row["Glucose"] for row in rows] == [repr(float(hour)) for hour in range(7)]
    check_manifest(folder)
    by_batches = contents(folder)
    assert contents(export(tables, "--timeseries", "--order", "reference")) == by_batches


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


def test_a_failure_leaves_the_earlier_layout_as_it_was(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = export(layout_tables(), *LAYOUT_OPTION).parent / "mimic3-benchmarks"
    before = contents(folder)

    def fail(*args: object) -> int:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("medeval.mimic3.timeseries.write_episodes", fail)
    assert run("--out", tmp_path / "out", "--order", "reference", *LAYOUT_OPTION) == 2
    assert contents(folder) == before


def test_an_unknown_layout_names_those_there_are(
    capsys: pytest.CaptureFixture[str], database: Path
) -> None:
    assert run("--layout", "mimic-iii") == 2
    said = capsys.readouterr().err
    assert "medeval" in said
    assert "mimic3-benchmarks" in said


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


def test_the_same_build_gives_the_same_bytes(export: Export) -> None:
    assert contents(export()) == contents(export())


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([["open", "m", None]], "open"),
        ([["credentialed", "m", None]], "credentialed"),
        ([["public", "m", None]], "credentialed"),
        ([[None, "m", None]], "credentialed"),
        ([], "credentialed"),
        ([["open", "m", None], ["credentialed", "m", None]], "credentialed"),
    ],
)
def test_what_is_not_plainly_open_is_credentialed(
    export: Export, classes: list[Sequence[object]], expected: str
) -> None:
    tables = base()
    tables["mimic3.mimic3_data_class"] = classes
    assert manifest(export(tables, "--task", "ihm"))["data_class"] == expected


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
    export(None, "--task", "ihm", "--order", "reference")
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
    tables["medeval.builds"].append(build(4))
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
    fill_duckdb(database, base())
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
    tables["medeval.builds"].append(build(4))
    fill_duckdb(folder.parents[1] / "medeval.duckdb", tables)
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


def refusal(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    capsys.readouterr()
    assert run(*args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    # That another floor is left out is no part of the refusal.
    lines = [line for line in captured.err.splitlines() if "is not built, left out" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("medeval: ")
    return lines[0]


def test_unknown_task_lists_the_names(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    message = refusal(capsys, "--task", "mortality")
    assert "'mortality'" in message
    for name in ("mimic3", *TASKS, "ihm", "decomp", "los", "pheno"):
        assert name in message


def test_names_of_tasks() -> None:
    assert chosen_tasks(["mimic3"]) == {"mimic3": TASKS}
    assert chosen_tasks(["los", "in-hospital-mortality", "IHM"]) == {
        "mimic3": ("in_hospital_mortality", "length_of_stay")
    }
    assert chosen_tasks(["pheno", "decomp", "multitask"]) == {
        "mimic3": ("decompensation", "phenotyping", "multitask")
    }
    assert chosen_tasks([]) == {}


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


def test_unknown_type_of_target(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="only duckdb and postgres"):
        open_warehouse(Target("spark", "spark", {}), tmp_path)


def test_not_a_warehouse(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    database.write_text("hello" * 1000)
    assert "cannot be opened" in refusal(capsys)


def test_warehouse_in_use(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    fill_duckdb(database, base())
    script = f"import duckdb; c = duckdb.connect({str(database)!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        message = refusal(capsys)
        process.communicate(b"\n")
    assert "in use by another process, probably dbt" in message


@pytest.mark.parametrize(
    ("args", "floors"), [((), "cdm mimic3 mtsamples yier"), (("--task", "mimic3"), "mimic3")]
)
def test_nothing_built(
    capsys: pytest.CaptureFixture[str], database: Path, args: tuple[str, ...], floors: str
) -> None:
    fill_duckdb(database, {"mimic3.phenotypes": []})
    message = refusal(capsys, *args)
    assert f"`dbt build --select {floors} --target duckdb`" in message


@pytest.mark.parametrize(
    ("succeeded", "said"), [(False, "of mimic3 failed"), (None, "stopped at its source")]
)
def test_failed_build(
    capsys: pytest.CaptureFixture[str], database: Path, succeeded: bool | None, said: str
) -> None:
    tables = base()
    tables["medeval.builds"].append([*build(10)[:-1], succeeded])
    fill_duckdb(database, tables)
    message = refusal(capsys)
    assert "last build of mimic3" in message
    assert said in message
    assert "`dbt build --select mimic3 --target duckdb`" in message


def test_build_of_another_floor_only(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    tables = base()
    tables["medeval.builds"] = [build(1, floor="cdm")]
    fill_duckdb(database, tables)
    assert "mimic3 was never built here" in refusal(capsys)


@pytest.mark.parametrize(
    ("table", "args"),
    [
        ("mimic3.mimic3_multitask", ()),
        ("mimic3.mimic3_data_class", ("--task", "ihm")),
        ("mimic3.mimic3_source_tables", ("--task", "ihm")),
        ("mimic3.phenotypes", ("--task", "pheno")),
        ("mimic3.mimic3_episode_timeseries", ("--timeseries",)),
        ("mimic3.mimic3_episodes", ("--layout", "mimic3-benchmarks")),
        ("mimic3.episode_diagnoses", ("--layout", "mimic3-benchmarks")),
    ],
)
def test_missing_table(
    capsys: pytest.CaptureFixture[str], database: Path, table: str, args: tuple[str, ...]
) -> None:
    tables = base()
    del tables[table]
    fill_duckdb(database, tables)
    message = refusal(capsys, *args)
    assert f"has no {table}." in message
    assert "`dbt build --select mimic3 --target duckdb`" in message


def test_missing_column_names_it(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    fill_duckdb(database, base())
    with duckdb.connect(str(database)) as connection:
        connection.execute("alter table mimic3.mimic3_decompensation drop column period_length")
    assert "period_length" in refusal(capsys)


def test_too_few_phenotypes(capsys: pytest.CaptureFixture[str], database: Path) -> None:
    tables = base()
    del tables["mimic3.phenotypes"][3]
    fill_duckdb(database, tables)
    assert "24 phenotypes" in refusal(capsys, "--task", "pheno")


def test_unknown_partition_in_time_series(
    capsys: pytest.CaptureFixture[str], database: Path, tmp_path: Path
) -> None:
    tables = base()
    row = series(5, 1, 0.0, 1)
    row[4] = "../elsewhere"
    tables["mimic3.mimic3_episode_timeseries"] = [row]
    fill_duckdb(database, tables)
    assert "partition '../elsewhere'" in refusal(capsys, "--timeseries", "--out", tmp_path)


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
    fill_duckdb(database, base())
    (tmp_path / "file").touch()
    message = refusal(capsys, "--out", tmp_path / "file")
    assert f"Cannot write {tmp_path / 'file'}" in message


def test_schema_prefix(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fill_duckdb(database, base(), prefix="own_")
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
    fill_postgres(postgres_database, tables, tmp_path / "rows.csv")
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
    settings = {
        "host": postgres_database["PGHOST"],
        "port": int(postgres_database["PGPORT"]),
        "user": postgres_database["PGUSER"],
        "password": postgres_database["PGPASSWORD"],
        "dbname": postgres_database["PGDATABASE"],
    }
    with open_warehouse(Target("postgres", "postgres", settings), Path()) as warehouse:
        modes = "current_setting('transaction_isolation'), current_setting('transaction_read_only')"
        found = [row for batch in warehouse.query(f"select {modes}") for row in batch]
        assert found == [("repeatable read", "on")]
        with connect(postgres_database) as other:
            other.execute("create table later (x integer)")
            other.execute("insert into later values (1)")
        assert warehouse.columns("public", "later") in ([], ["x"])
        with pytest.raises(Exception, match="PostgreSQL stopped with"):
            list(warehouse.query("create table z (x integer)"))


def test_no_password_in_a_message(
    capsys: pytest.CaptureFixture[str], database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "/nowhere/hunter2secret")
    monkeypatch.setenv("PGPASSWORD", "hunter2secret")
    message = refusal(capsys, "--target", "postgres")
    assert "PGPASSWORD" in message
    assert "Check PGHOST" in message
