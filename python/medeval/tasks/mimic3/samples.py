"""Samples of a task, read from the warehouse: who, when, what is true, and the 714 features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medeval.tasks.mimic3.tasks import Task
from medeval.warehouse import Warehouse, flat, schema_name

FLOOR = "mimic3_features"
SCHEMA = "mimic3"
TABLES = ("mimic3_feature_windows", "mimic3_features")

VARIABLES = 17
SUB_WINDOWS = ("all", "first_10", "first_25", "first_50", "last_10", "last_25", "last_50")
STATISTICS = ("minimum", "maximum", "mean", "standard_deviation", "skewness", "count")
# The columns of a variable in mimic3_features, and the order of the features in a matrix.
COLUMNS = tuple(f"{part}_{statistic}" for part in SUB_WINDOWS for statistic in STATISTICS)
FEATURES = VARIABLES * len(COLUMNS)

TRAIN = "windows.partition = 'train' and not windows.is_validation"
VALIDATION = "windows.partition = 'train' and windows.is_validation"
TEST = "windows.partition = 'test'"

# Rows of one block of features: 714 doubles each, so about 90 MB.
BLOCK_ROWS = 16_384

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """The samples of one part of a task, by stay in byte order, then by hour.

    Attributes:
        stays: the name of the stay of each.
        window_hours: where its window of observations ends.
        period_lengths: what the listfile says; missing for in-hospital mortality.
        weights: how many samples of the stay each stands for.
        labels: what is true, one column a label.
    """

    stays: list[str]
    window_hours: Floats
    period_lengths: Floats
    weights: Floats
    labels: Floats

    def __len__(self) -> int:
        return len(self.stays)


def read_samples(warehouse: Warehouse, task: Task, part: str) -> Samples:
    """Read who is sampled, without the features.

    Args:
        warehouse: where the tables are.
        task: the task.
        part: TRAIN, VALIDATION or TEST.
    """
    period_length = "period_length" if task.has_period_length else "null"
    columns = ["stay", "window_hours", period_length, "weight", *task.truth_columns]
    sql = (
        f"{_numbered(warehouse, task, part)}"  # noqa: S608
        f" select {', '.join(columns)} from numbered order by sample_number"
    )
    rows = flat(warehouse.query(sql))
    width = 3 + len(task.truth_columns)
    numbers = np.array([row[1:] for row in rows], dtype=np.float64).reshape(len(rows), width)
    hours, lengths, weights = numbers.T[:3]
    return Samples([str(row[0]) for row in rows], hours, lengths, weights, numbers[:, 3:])


def read_features(warehouse: Warehouse, task: Task, part: str, count: int) -> Iterator[Floats]:
    """Yield the features of the samples, in blocks of rows in the samples' order.

    Missing features are NaN. A block is a new array each time.

    Args:
        warehouse: where the tables are.
        task: the task.
        part: TRAIN, VALIDATION or TEST.
        count: how many samples the part has.
    """
    features = warehouse.relation(schema_name(SCHEMA), "mimic3_features")
    columns = ", ".join(f"features.{column}" for column in COLUMNS)
    # The large table first: DuckDB builds its hash table of the second.
    sql = (
        f"{_numbered(warehouse, task, part)}"  # noqa: S608
        f" select numbered.sample_number, features.variable_id, {columns}"
        f" from {features} as features inner join numbered"
        " on features.icustay_id = numbered.icustay_id"
        " and features.window_hours = numbered.window_hours"
        " order by numbered.sample_number, features.variable_id"
    )
    batches = (np.array(batch, dtype=np.float64) for batch in warehouse.query(sql))
    rows = np.empty((0, 2 + len(COLUMNS)))
    for start in range(0, count, BLOCK_ROWS):
        size = min(BLOCK_ROWS, count - start)
        block = np.full((size, VARIABLES, len(COLUMNS)), np.nan)
        while True:
            numbers = rows[:, 0].astype(np.intp) - start
            inside = int(np.searchsorted(numbers, size))
            block[numbers[:inside], rows[:inside, 1].astype(np.intp) - 1] = rows[:inside, 2:]
            rows = rows[inside:]
            if len(rows):
                break
            more = next(batches, None)
            if more is None:
                break
            rows = more
        yield block.reshape(size, FEATURES)


def _numbered(warehouse: Warehouse, task: Task, part: str) -> str:
    """Return a CTE of the part's samples with their labels, numbered from 0.

    The names come from the code; nothing of a user's is in the text.
    """
    schema = schema_name(SCHEMA)
    windows = warehouse.relation(schema, "mimic3_feature_windows")
    listed = warehouse.relation(schema, f"mimic3_{task.name}")
    columns = [*task.truth_columns, *["period_length"] * task.has_period_length]
    same_hour = " and windows.window_hours = listed.period_length" if task.has_sample_times else ""
    kind = "hourly" if task.has_sample_times else task.name
    return (
        "with samples as (select windows.stay, windows.icustay_id, windows.window_hours,"  # noqa: S608
        f" windows.weight, {', '.join(f'listed.{column}' for column in columns)}"
        f" from {listed} as listed inner join {windows} as windows"
        f" on windows.icustay_id = listed.icustay_id{same_hour}"
        f" where windows.kind = '{kind}' and {part}"
        "), numbered as (select *, row_number() over"
        ' (order by stay collate "C", window_hours) - 1 as sample_number from samples)'
    )
