"""`export --layout mimic3-benchmarks`: what the published readers open, cut as they expect it."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import pytest
from builds import Build
from listfile_readers import READERS, Example, Reader

EPSILON = 1e-6
PARTS = (("train", "train"), ("train", "val"), ("test", "test"))


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


def cut(lines: list[str], end: float) -> list[str]:
    """Return the lines inside the window of a task."""
    charted = zip(lines, hours(lines), strict=True)
    return [line for line, hour in charted if -EPSILON < hour < end + EPSILON]


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
    folder = layout / "in-hospital-mortality/train"
    longer = []
    for example in examples(READERS["in-hospital-mortality"](folder)):
        subject, episode = example["name"].split("_", 1)
        lines = (layout / "root/train" / subject / episode).read_text().splitlines()[1:]
        longer.append(hours(lines)[-1] > 48)
        assert (folder / example["name"]).read_text().splitlines()[1:] == cut(lines, 48.0)
    # A stay of the task lasts that long, so that its whole episode tells of the time after.
    assert sum(longer) > len(longer) * 0.9


# Against what the benchmark's own programs made of the MIMIC-III demo


@pytest.fixture(scope="module")
def whole(golden: Path) -> dict[str, list[str]]:
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
def test_series_are_the_golden_ones_cut(
    golden: Path, demo_layout: Path, whole: dict[str, list[str]], task: str
) -> None:
    stays = {row["ICUSTAY_ID"]: row for row in golden_rows(golden / "all_stays.csv")}
    los = {
        f"{row['subject_id']}_episode{row['episode']}_timeseries.csv": 24.0
        * float(stays[row["icustay_id"]]["LOS"])
        for row in golden_rows(golden / "episodes.csv")
    }
    # Whether a stay has a series is in no listfile where it is too short for an hourly sample.
    is_whole = task != "in-hospital-mortality"
    listing = golden / ("phenotyping" if is_whole else "in_hospital_mortality")
    for partition in ("train", "test"):
        folder = demo_layout / task / partition
        listed = {row["stay"] for row in golden_rows(listing / partition / "listfile.csv")}
        assert listed == {path.name for path in folder.glob("*_timeseries.csv")}
        for name in listed:
            expected = cut(whole[name], los[name] if is_whole else 48.0)
            assert (folder / name).read_text().splitlines()[1:] == expected, name


@pytest.mark.parametrize("task", READERS)
def test_listfiles_equal_the_golden_ones(golden: Path, demo_layout: Path, task: str) -> None:
    for part in ("train/", "test/", "train_", "val_", "test_"):
        expected = golden / task.replace("-", "_") / f"{part}listfile.csv"
        written = demo_layout / task / f"{part}listfile.csv"
        assert written.read_bytes() == expected.read_bytes(), part


def test_episode_files_equal_the_golden_samples(golden: Path, demo_layout: Path) -> None:
    samples = sorted((golden / "timeseries_samples").glob("*_episode?.csv"))
    assert len(samples) == 6
    for sample in samples:
        subject, name = sample.name.split("_", 1)
        (written,) = demo_layout.glob(f"root/*/{subject}/{name}")
        assert written.read_bytes() == sample.read_bytes()


def test_every_episode_file_agrees_with_the_golden_tables(
    golden: Path, demo_layout: Path, whole: dict[str, list[str]]
) -> None:
    stays = {row["ICUSTAY_ID"]: row for row in golden_rows(golden / "all_stays.csv")}
    codes: dict[str, set[str]] = defaultdict(set)
    lettered = set()
    for row in golden_rows(golden / "all_diagnoses.csv"):
        codes[row["ICUSTAY_ID"]].add(row["ICD9_CODE"])
        if not row["ICD9_CODE"].isdigit():
            lettered.add(row["SUBJECT_ID"])
    (sample,) = golden_rows(golden / "timeseries_samples/10006_episode1.csv")
    columns = {name: name.removeprefix("Diagnosis ") for name in sample if "Diagnosis" in name}
    paths = [
        *demo_layout.glob("root/*/*/episode?.csv"),
        *demo_layout.glob("root/*/*/episode??.csv"),
    ]
    assert len(paths) == 114
    with_flags = 0
    for path in paths:
        (episode,) = golden_rows(path)
        assert list(episode) == list(sample)
        stay = stays[episode["Icustay"]]
        names = ("Age", "Length of Stay", "Mortality")
        assert [episode[name] for name in names] == [stay["AGE"], stay["LOS"], stay["MORTALITY"]]
        assert episode["Gender"] == {"F": "1", "M": "2"}[stay["GENDER"]]
        lines = whole[f"{path.parent.name}_{path.stem}_timeseries.csv"]
        for variable, column in (("Height", 10), ("Weight", 16)):
            charted = (line.split(",")[column] for line in lines)
            assert episode[variable] == next(filter(None, charted), "")
        flagged = {code for name, code in columns.items() if episode[name] == "1"}
        assert flagged == (
            codes[episode["Icustay"]] & {*columns.values()}
            if stay["SUBJECT_ID"] in lettered
            else set()
        )
        with_flags += bool(flagged)
    assert with_flags > 40
