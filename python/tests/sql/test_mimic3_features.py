"""The features of the ICU baselines, against a second computation and between engines."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from builds import Build
from commands import PROJECT_ROOT
from postgres_server import connect
from scipy.stats import skew
from tables import table

from medeval.tasks.mimic3 import baseline as baselines
from medeval.tasks.mimic3.baseline import FEATURES, TEST, TRAIN, read_features, read_samples
from medeval.tasks.mimic3.task import TASKS
from medeval.warehouse import Warehouse, load_target, open_warehouse

BY_NAME = {task.name: task for task in TASKS}

# The variables in the order of the features; of texts their scores, from 1.
_TABLES = table("predict")
SERIES: list[str] = _TABLES["series"]
WORDS: dict[str, list[list[str]]] = _TABLES["words"]


def opened() -> Warehouse:
    return open_warehouse(load_target(None, PROJECT_ROOT), PROJECT_ROOT)


def expected_features(series: pd.Series) -> list[float]:
    """Six statistics over seven parts of one variable's observations by their hours."""
    if series.empty:
        return [math.nan] * 42
    times, values = series.index.to_numpy(), series.to_numpy()
    first, last = times.min(), times.max()
    spans = [(first, last)]
    spans += [(first, first + (last - first) * share / 100.0) for share in (10, 25, 50)]
    spans += [(last - (last - first) * share / 100.0, last) for share in (10, 25, 50)]
    features: list[float] = []
    for begin, end in spans:
        part = values[(times > begin - 1e-6) & (times < end + 1e-6)]
        equal = np.ptp(part) <= 1e-14 * abs(part.mean())
        features += [part.min(), part.max(), part.mean(), 0 if equal else part.std()]
        features += [0 if equal else float(skew(part)), len(part)]
    return features


def observed(build: Build, stay: str, until: float) -> list[pd.Series]:
    """Return each variable's observations from INTIME to an hour, from the time series."""
    columns = ["hours", *SERIES, *(f"{name}_text" for name in WORDS)]
    table = "mimic3.mimic3_episode_timeseries"
    rows = build.rows(
        f"select {', '.join(columns)} from {table} where stay = '{stay}' order by hours"
    )
    frame = pd.DataFrame(rows, columns=columns).set_index("hours")
    frame = frame[(frame.index > -1e-6) & (frame.index < until + 1e-6)]
    for name, words in WORDS.items():
        scores = {text: score for score, texts in enumerate(words, 1) for text in texts}
        frame[name] = frame[name].fillna(frame[f"{name}_text"].map(scores))
    numbers = frame[SERIES].astype(float).replace([math.inf, -math.inf], math.nan)
    return [numbers[name].dropna() for name in SERIES]


@pytest.mark.parametrize("name", ["in_hospital_mortality", "length_of_stay", "phenotyping"])
@pytest.mark.parametrize("part", [TRAIN, TEST], ids=["train", "test"])
def test_features_are_those_of_a_second_computation(
    demo_mimic3: Build, monkeypatch: pytest.MonkeyPatch, name: str, part: str
) -> None:
    demo_mimic3.use(monkeypatch)
    monkeypatch.setattr(baselines, "BLOCK_ROWS", 50)
    task = BY_NAME[name]
    with opened() as warehouse:
        listed = read_samples(warehouse, task, part)
        count = len(listed.stays)
        blocks = read_features(warehouse, task, part, listed, hashlib.sha256())
        features = np.vstack(list(blocks))
    assert features.shape == (count, FEATURES)
    assert FEATURES == 714
    for number in range(0, count, max(1, count // 12)):
        series = observed(demo_mimic3, listed.stays[number], listed.window_hours[number])
        expected = [value for variable in series for value in expected_features(variable)]
        np.testing.assert_allclose(features[number], expected, rtol=1e-9, atol=1e-9)
    assert np.isnan(features).any()


def test_the_features_pass_every_test_of_dbt(synthetic_duckdb: Build) -> None:
    told = synthetic_duckdb.dbt("build", "--select", "mimic3_features")
    assert "WARN=0 ERROR=0 SKIP=0" in told


@pytest.mark.parametrize("table", ["mimic3_feature_windows", "mimic3_features"])
def test_engines_have_the_same_bits(
    demo_mimic3: Build, features_postgres: Build, table: str
) -> None:
    names, rows = demo_mimic3.published(table)
    assert len(rows) > 1_000
    assert (names, rows) == features_postgres.published(table)


def many_observations(kind: str) -> dict[str, list[int] | list[float]]:
    """Return 200,000 observations of a few stays, in no order: several row groups of DuckDB."""
    generator = np.random.default_rng(11)
    rows = 200_000
    stay = generator.integers(1, 4, rows)
    value = {
        "fahrenheit": (generator.normal(99, 2, rows).round(1) - 32) * 5 / 9,
        "mixed signs": generator.normal(0, 1, rows) * 10.0 ** generator.integers(-9, 9, rows),
        "one outlier": np.where(np.arange(rows) == 77, 1e30, generator.normal(7.4, 0.1, rows)),
        "few values": generator.choice([0.1, 0.1 + 2.0**-56, 0.3], rows),
    }[kind]
    return {
        "icustay_id": [int(each) for each in stay],
        "variable_id": [int(each) for each in np.where(stay == 3, 15, 9)],
        "hours": [float(each) for each in generator.integers(0, 60 * 60, rows) / 60],
        "value": [float(each) for each in value],
    }


# Compiled before they are run here over tables of the test's own.
FEATURE_MODELS = (
    "int_mimic3__observed_windows",
    "int_mimic3__sub_window_ranges",
    "mimic3_features",
)
WINDOWS = "(values (1, 48.0), (1, 60.0), (2, 60.0), (3, 60.0), (3, 7.5))"


def features_of(build: Build, execute: Callable[[str], Any]) -> list[tuple[Any, ...]]:
    """Run the models of a build over the table of observations; doubles are compared by bits."""
    compiled = build.folder / "target" / "compiled" / "medeval" / "models" / "mimic3_features"
    execute(
        "create table mimic3.mimic3_feature_windows as select icustay_id, cast(window_hours as"
        f" double precision) as window_hours from {WINDOWS} as w (icustay_id, window_hours)"
    )
    for model in FEATURE_MODELS:
        query = (compiled / f"{model}.sql").read_text(encoding="utf-8")
        query = re.sub(r'"\w+"\."mimic3"', "mimic3", query)
        execute(f"create table mimic3.{model} as {query}")
    rows = execute(f"select * from mimic3.{FEATURE_MODELS[-1]}").fetchall()
    return sorted(rows, key=repr)


@pytest.fixture(scope="module")
def compiled_demo(demo_mimic3: Build) -> Build:
    """The demo's warehouse, with the statements of its features as DuckDB has them."""
    demo_mimic3.dbt("compile", "--select", *FEATURE_MODELS)
    return demo_mimic3


@pytest.mark.parametrize("kind", ["fahrenheit", "mixed signs", "one outlier", "few values"])
def test_no_order_of_a_sum_changes_a_bit(
    compiled_demo: Build, features_postgres: Build, postgres_database: dict[str, str], kind: str
) -> None:
    columns = many_observations(kind)
    found = []
    for threads in (1, 4):
        with duckdb.connect(config={"threads": threads}) as connection:
            connection.execute("create schema mimic3")
            connection.register("observations", pa.table(columns))
            connection.execute(
                "create table mimic3.int_mimic3__observations as from observations"
                + (" order by hours desc" if threads == 4 else "")
            )
            found.append(features_of(compiled_demo, connection.execute))
    with connect(postgres_database) as connection, connection.cursor(binary=True) as cursor:
        cursor.execute("create schema mimic3")
        cursor.execute(
            "create table mimic3.int_mimic3__observations (icustay_id integer, variable_id"
            " integer, hours double precision, value double precision)"
        )
        with cursor.copy("copy mimic3.int_mimic3__observations from stdin") as copy:
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)
        found.append(features_of(features_postgres, lambda text: cursor.execute(text.encode())))
    assert len(found[0]) == 5
    assert found[0] == found[1] == found[2]


def test_every_test_hour_has_a_window_and_few_training_hours(demo_mimic3: Build) -> None:
    counts = demo_mimic3.rows(
        "select hours.partition, count(*), count(windows.stay), sum(windows.weight)"
        " from mimic3.mimic3_length_of_stay as hours left join mimic3.mimic3_feature_windows"
        " as windows on hours.stay = windows.stay and hours.period_length = windows.window_hours"
        " and windows.kind = 'hourly' group by hours.partition order by hours.partition"
    )
    (test, hours, windows, _), (train_part, train_hours, train_windows, weight) = counts
    assert (test, hours) == ("test", windows)
    assert train_part == "train"
    assert 0 < train_windows < train_hours
    assert weight == pytest.approx(train_hours)
