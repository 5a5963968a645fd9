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


@pytest.mark.parametrize("task", READERS)
def test_no_task_sees_what_comes_after_its_window(layout: Path, task: str) -> None:
    # Of other tasks a listfile leaves out stays that are too short for an hourly sample.
    of_stays = task if task == "in-hospital-mortality" else "phenotyping"
    goes_on = []
    for partition in ("train", "test"):
        listed = examples(READERS[of_stays](layout / of_stays / partition))
        paths = {path.name: path for path in (layout / task / partition).glob("*_timeseries.csv")}
        assert paths.keys() == {example["name"] for example in listed}
        for example in listed:
            subject, episode = example["name"].split("_", 1)
            lines = (layout / "root" / partition / subject / episode).read_text().splitlines()[1:]
            end = example["t"] + EPSILON
            seen = [line for line in lines if -EPSILON < float(line.partition(",")[0]) < end]
            assert paths[example["name"]].read_text().splitlines()[1:] == seen
            goes_on.append(seen[-1] != lines[-1])
    # A stay of mortality lasts longer, so that its whole episode tells of the time after.
    assert task != "in-hospital-mortality" or sum(goes_on) > len(goes_on) * 0.9


# Against what the benchmark's own programs made of the MIMIC-III demo


def golden_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


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


def test_every_episode_agrees_with_the_golden_tables(golden: Path, demo_layout: Path) -> None:
    whole: dict[tuple[str, str], list[str]] = defaultdict(list)
    with gzip.open(golden / "root_timeseries.csv.gz", "rt", newline="") as file:
        next(file)
        for line in file:
            subject, episode, cells = line.rstrip("\n").split(",", 2)
            whole[subject, f"episode{episode}"].append(cells)
    stays = {row["ICUSTAY_ID"]: row for row in golden_rows(golden / "all_stays.csv")}
    codes: dict[str, set[str]] = defaultdict(set)
    lettered = set()
    for row in golden_rows(golden / "all_diagnoses.csv"):
        codes[row["ICUSTAY_ID"]].add(row["ICD9_CODE"])
        if not row["ICD9_CODE"].isdigit():
            lettered.add(row["SUBJECT_ID"])
    (sample,) = golden_rows(golden / "timeseries_samples/10006_episode1.csv")
    columns = {name: name.removeprefix("Diagnosis ") for name in sample if "Diagnosis" in name}
    paths = list(demo_layout.glob("root/*/*/episode*[0-9].csv"))
    assert len(paths) == 114
    with_flags = 0
    for path in paths:
        (episode,) = golden_rows(path)
        assert list(episode) == list(sample)
        stay = stays[episode["Icustay"]]
        names = ("Age", "Length of Stay", "Mortality")
        assert [episode[name] for name in names] == [stay["AGE"], stay["LOS"], stay["MORTALITY"]]
        assert episode["Gender"] == {"F": "1", "M": "2"}[stay["GENDER"]]
        lines = whole[path.parent.name, path.stem]
        series = path.with_name(f"{path.stem}_timeseries.csv")
        assert series.read_text().splitlines()[1:] == lines
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
