"""Time series of episodes in the benchmark's layout: root/<partition>/<subject>/episode<n>_..."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby

from medeval.errors import UserError
from medeval.exporting.files import ExportFile, ExportFolder
from medeval.exporting.progress import Advance
from medeval.warehouse import Row, Warehouse, schema_name

TABLE = "mimic3_episode_timeseries"
TASK = "timeseries"

# The benchmark's 17 variables in its column order, and the columns that hold them.
VARIABLES = {
    "Capillary refill rate": "capillary_refill_rate",
    "Diastolic blood pressure": "diastolic_blood_pressure",
    "Fraction inspired oxygen": "fraction_inspired_oxygen",
    "Glascow coma scale eye opening": "glascow_coma_scale_eye_opening",
    "Glascow coma scale motor response": "glascow_coma_scale_motor_response",
    "Glascow coma scale total": "glascow_coma_scale_total",
    "Glascow coma scale verbal response": "glascow_coma_scale_verbal_response",
    "Glucose": "glucose",
    "Heart Rate": "heart_rate",
    "Height": "height",
    "Mean blood pressure": "mean_blood_pressure",
    "Oxygen saturation": "oxygen_saturation",
    "Respiratory rate": "respiratory_rate",
    "Systolic blood pressure": "systolic_blood_pressure",
    "Temperature": "temperature",
    "Weight": "weight",
    "pH": "ph",
}
# The benchmark does not clean these: what was charted is what it writes.
UNCLEANED = frozenset(
    column
    for column in VARIABLES.values()
    if column.startswith("glascow")
    or column in {"heart_rate", "mean_blood_pressure", "respiratory_rate"}
)
HEADER = ",".join(["Hours", *VARIABLES]) + "\n"
NEEDS_QUOTES = re.compile('[,"\r\n]')

EpisodeKey = tuple[str, int, int]


def write_timeseries(warehouse: Warehouse, folder: ExportFolder, advance: Advance) -> int:
    """Write one file an episode; return their number.

    The benchmark's rule (mimic3-benchmarks, `extract_episodes_from_subjects.py` and
    `split_train_and_test.py`; docs/mimic3.md, time series): rows ascend by hours, missing cells are
    empty.
    """
    files = 0
    current: EpisodeKey | None = None
    with ExitStack() as last:
        file: ExportFile | None = None
        for batch in _ordered_rows(warehouse):
            for key, lines in _by_episode(batch):
                if key != current or file is None:
                    last.close()
                    file = last.enter_context(folder.create(episode_path(*key), TASK))
                    file.write(HEADER.encode(), 0)
                    current = key
                    files += 1
                file.write("".join(lines).encode(), len(lines))
            advance(len(batch))
    return files


def episode_path(partition: str, subject_id: int, episode: int) -> str:
    """Return the place of one episode's file, as the benchmark's split leaves it."""
    if partition not in ("train", "test"):
        raise UserError(f"{TABLE} holds a partition {partition!r}; it can be train or test.")
    return f"root/{partition}/{subject_id:d}/episode{episode:d}_timeseries.csv"


def timeseries_lines(rows: list[Row]) -> list[str]:
    """Format rows of hours and the variables' cells (number, and text for an uncleaned one).

    The benchmark's rule: numbers in the shortest form that reads back to the same double, always
    with a decimal point; of an uncleaned variable the text as it was charted, unless all values of
    the subject are numbers (then the table holds no text).
    """
    columns = iter(zip(*rows, strict=True))
    cells: list[Iterable[str]] = [_numbers(next(columns))]
    for column in VARIABLES.values():
        numbers = _numbers(next(columns))
        if column in UNCLEANED:
            numbers = [
                number if text is None else _quoted(text)
                for number, text in zip(numbers, next(columns), strict=True)
            ]
        cells.append(numbers)
    return [",".join(line) + "\n" for line in zip(*cells, strict=True)]


def _numbers(values: Iterable[float | None]) -> list[str]:
    return ["" if value is None else repr(value) for value in values]


def _quoted(text: str) -> str:
    """Quote a charted text as CSV writers do, only where it is needed."""
    if NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _ordered_rows(warehouse: Warehouse) -> Iterator[list[Row]]:
    columns = ["partition", "subject_id", "episode", "hours"]
    for column in VARIABLES.values():
        columns += [column, f"{column}_text"] if column in UNCLEANED else [column]
    order = "order by partition, subject_id, episode, hours, event_icustay_id"
    return warehouse.select(columns, schema_name("mimic3"), TABLE, order)


def _by_episode(batch: list[Row]) -> Iterator[tuple[EpisodeKey, list[str]]]:
    lines = timeseries_lines([row[3:] for row in batch])
    pairs = zip((row[:3] for row in batch), lines, strict=True)
    for key, group in groupby(pairs, key=lambda pair: pair[0]):
        yield key, [line for _, line in group]
