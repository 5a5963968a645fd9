"""`export --layout mimic3-benchmarks`: what the published readers open, cut as they expect it."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest
from builds import Build
from listfile_readers import READERS, Example, Reader

EPSILON = 1e-6
PARTS = (("train", "train"), ("train", "val"), ("test", "test"))
WHOLE_STAY = ("decompensation", "length-of-stay", "phenotyping", "multitask")
Series = dict[str, list[str]]


def layout_of(build: Build) -> Path:
    options = ("--layout", "mimic3-benchmarks", "--order", "reference")
    return build.export(*options).parent / "mimic3-benchmarks"


@pytest.fixture(scope="module")
def synthetic_layout(demo_mimic3: Build) -> Path:
    return layout_of(demo_mimic3)


@pytest.fixture(scope="module")
def demo_layout(open_demo_duckdb: Build) -> Path:
    return layout_of(open_demo_duckdb)


@pytest.fixture(params=["synthetic_layout", pytest.param("demo_layout", marks=pytest.mark.slow)])
def layout(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "mimic3_demo"


def hours(lines: list[str]) -> list[float]:
    return [float(line.split(",", 1)[0]) for line in lines]


def examples(reader: Reader) -> list[Example]:
    return [reader.read_example(index) for index in range(reader.get_number_of_examples())]


@pytest.mark.parametrize("task", READERS)
def test_the_published_readers_read_every_example(layout: Path, task: str) -> None:
    of_parts = []
    for partition, part in PARTS:
        reader = READERS[task](layout / task / partition, layout / task / f"{part}_listfile.csv")
        found = examples(reader)
        assert found, part
        of_parts.append(len(found))
        for example in found:
            assert float(example["X"][0][0]) > -EPSILON
            assert float(example["X"][-1][0]) < example["t"] + 2 * EPSILON
            assert len(example["header"]) == 18
            assert len(example.get("pheno", range(25))) == 25
    train, validation, test = of_parts
    assert READERS[task](layout / task / "train").get_number_of_examples() == train + validation
    assert READERS[task](layout / task / "test").get_number_of_examples() == test


def test_mortality_sees_nothing_of_the_time_after_48_hours(layout: Path) -> None:
    stays = [
        example["name"]
        for example in examples(
            READERS["in-hospital-mortality"](layout / "in-hospital-mortality/train")
        )
    ]
    uncut = {}
    for name in stays:
        subject, episode = name.split("_", 1)
        uncut[name] = (layout / "root/train" / subject / episode).read_text().splitlines()[1:]
    # A stay of the task lasts that long, so that its whole episode tells of the time after.
    assert sum(hours(lines)[-1] > 48 for lines in uncut.values()) > len(uncut) * 0.9
    for name, lines in uncut.items():
        cut = (layout / "in-hospital-mortality/train" / name).read_text().splitlines()[1:]
        assert hours(cut)[-1] < 48 + EPSILON
        assert cut == [
            line
            for line, hour in zip(lines, hours(lines), strict=True)
            if -EPSILON < hour < 48 + EPSILON
        ]


def test_both_engines_write_the_same_bytes(
    synthetic_layout: Path, synthetic_postgres: Build
) -> None:
    files = []
    for folder in (synthetic_layout, layout_of(synthetic_postgres)):
        manifest = json.loads((folder / "manifest.json").read_text())
        files.append({file["path"]: file["sha256"] for file in manifest["files"]})
    assert len(files[0]) > 500
    assert files[0] == files[1]


# Against what the benchmark's own programs made of the MIMIC-III demo


def golden_series(golden: Path) -> dict[str, list[str]]:
    """The lines of each whole episode, by the name of its stay."""
    found: dict[str, list[str]] = defaultdict(list)
    with gzip.open(golden / "root_timeseries.csv.gz", "rt", newline="") as file:
        next(file)
        for line in file:
            subject, episode, cells = line.rstrip("\n").split(",", 2)
            found[f"{subject}_episode{episode}_timeseries.csv"].append(cells)
    return found


def golden_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("task", READERS)
def test_series_are_the_golden_ones_cut(golden: Path, demo_layout: Path, task: str) -> None:
    stays = {row["ICUSTAY_ID"]: row for row in golden_rows(golden / "all_stays.csv")}
    los = {
        f"{row['subject_id']}_episode{row['episode']}_timeseries.csv": 24.0
        * float(stays[row["icustay_id"]]["LOS"])
        for row in golden_rows(golden / "episodes.csv")
    }
    whole = golden_series(golden)
    # Whether a stay has a series is in no listfile where it is too short for an hourly sample.
    listing = "in_hospital_mortality" if task not in WHOLE_STAY else "phenotyping"
    for partition in ("train", "test"):
        listed = [
            next(iter(row.values()))
            for row in golden_rows(golden / listing / partition / "listfile.csv")
        ]
        files = {
            path.name: path for path in (demo_layout / task / partition).glob("*_timeseries.csv")
        }
        assert set(listed) == set(files)
        for name, path in files.items():
            end = 48.0 if task not in WHOLE_STAY else los[name]
            expected = [
                line
                for line, hour in zip(whole[name], hours(whole[name]), strict=True)
                if -EPSILON < hour < end + EPSILON
            ]
            assert path.read_text().splitlines()[1:] == expected, path


@pytest.mark.parametrize("task", READERS)
def test_listfiles_equal_the_golden_ones(golden: Path, demo_layout: Path, task: str) -> None:
    names = [f"{part}_listfile.csv" for _, part in PARTS]
    for name in ("train/listfile.csv", "test/listfile.csv", *names):
        expected = golden / task.replace("-", "_") / name
        assert (demo_layout / task / name).read_bytes() == expected.read_bytes(), name


def test_episode_files_equal_the_golden_samples(golden: Path, demo_layout: Path) -> None:
    samples = sorted((golden / "timeseries_samples").glob("*_episode?.csv"))
    assert len(samples) == 6
    for sample in samples:
        subject, name = sample.name.split("_", 1)
        (written,) = demo_layout.glob(f"root/*/{subject}/{name}")
        assert written.read_bytes() == sample.read_bytes()


def test_every_episode_file_agrees_with_the_golden_tables(golden: Path, demo_layout: Path) -> None:
    stays = {row["ICUSTAY_ID"]: row for row in golden_rows(golden / "all_stays.csv")}
    codes: dict[str, set[str]] = defaultdict(set)
    lettered = set()
    for row in golden_rows(golden / "all_diagnoses.csv"):
        codes[row["ICUSTAY_ID"]].add(row["ICD9_CODE"])
        if not row["ICD9_CODE"].isdigit():
            lettered.add(row["SUBJECT_ID"])
    whole = golden_series(golden)
    header = next(iter(golden_rows(golden / "timeseries_samples/10006_episode1.csv")))
    paths = [
        path for path in demo_layout.glob("root/*/*/*.csv") if not path.stem.endswith("_timeseries")
    ]
    assert len(paths) == 114
    with_flags = 0
    for path in paths:
        (episode,) = golden_rows(path)
        assert list(episode) == list(header)
        stay = stays[episode["Icustay"]]
        assert (episode["Age"], episode["Length of Stay"]) == (stay["AGE"], stay["LOS"])
        assert episode["Mortality"] == stay["MORTALITY"]
        assert episode["Gender"] == {"F": "1", "M": "2"}[stay["GENDER"]]
        lines = whole[f"{path.parent.name}_{path.stem}_timeseries.csv"]
        for variable, column in (("Height", 10), ("Weight", 16)):
            values = [cells[column] for line in lines if (cells := line.split(","))[column]]
            assert episode[variable] == (values[0] if values else "")
        flagged = {
            name.removeprefix("Diagnosis ")
            for name, cell in episode.items()
            if name.startswith("Diagnosis ") and cell == "1"
        }
        known = {name.removeprefix("Diagnosis ") for name in header if name.startswith("Diagnosis")}
        is_read = stay["SUBJECT_ID"] in lettered
        assert flagged == (codes[episode["Icustay"]] & known if is_read else set())
        with_flags += bool(flagged)
    assert with_flags > 40
