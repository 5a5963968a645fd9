"""The four ICU tasks as files show them, and what the options of `score` may be; loads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from medeval.errors import UserError

LABELS = 25


class Kind(StrEnum):
    """What a task predicts."""

    BINARY = "binary"
    HOURS = "hours"
    LABELS = "labels"


class Cluster(StrEnum):
    """What is drawn as one unit in a resample, if not the row."""

    STAY = "stay"
    SUBJECT = "subject"


class Interval(StrEnum):
    """How an interval is made of the resampled values."""

    PERCENTILE = "percentile"
    BCA = "bca"


class Grouping(StrEnum):
    """What the rows can be divided by."""

    SEX = "sex"
    AGE_BAND = "age_band"
    ETHNICITY = "ethnicity"
    CARE_UNIT = "care_unit"


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: the task, as everywhere in the project.
        short: its short name, also in that of the default result file.
        kind: what it predicts.
        n_iters: resamples by default.
        has_sample_times: whether a stay has a row for each hour, so that the hour is in the key.
        has_period_length: whether files have the column period_length, in the key or beside it.
        prediction_columns: the columns that hold the predictions.
        truth_columns: the columns of a prediction file that repeat the truth.
    """

    name: str
    short: str
    kind: Kind
    n_iters: int
    has_sample_times: bool = False
    has_period_length: bool = True
    prediction_columns: tuple[str, ...] = ("prediction",)
    truth_columns: tuple[str, ...] = ("y_true",)


TASKS = (
    Task("in_hospital_mortality", "ihm", Kind.BINARY, 10_000, has_period_length=False),
    Task("decompensation", "decomp", Kind.BINARY, 1_000, has_sample_times=True),
    Task("length_of_stay", "los", Kind.HOURS, 1_000, has_sample_times=True),
    Task(
        "phenotyping",
        "pheno",
        Kind.LABELS,
        10_000,
        prediction_columns=tuple(f"pred_{number}" for number in range(1, LABELS + 1)),
        truth_columns=tuple(f"label_{number}" for number in range(1, LABELS + 1)),
    ),
)
BY_NAME = {name: task for task in TASKS for name in (task.name, task.short)}


def task_named(name: str) -> Task:
    """Return the task of a long or short name; hyphens count as underscores.

    Raises:
        UserError: no such task.
    """
    if is_icu_task(name):
        return BY_NAME[_key(name)]
    known = ", ".join(f"{task.name} ({task.short})" for task in TASKS)
    raise UserError(f"Unknown task {name!r}. Tasks that can be scored: {known}.")


def is_icu_task(name: str) -> bool:
    """Tell whether a name, long or short, is that of an ICU task."""
    return _key(name) in BY_NAME


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")
