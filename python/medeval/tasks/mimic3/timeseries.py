"""Episodes in the benchmark's layout: root/<partition>/<subject>/episode<n>..., and each task's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby

from medeval.errors import UserError
from medeval.export import ExportFile, ExportFolder
from medeval.progress import Advance
from medeval.warehouse import Row, Warehouse, flat, schema_name

TABLE = "mimic3_episode_timeseries"
EPISODES = "mimic3_episodes"
DIAGNOSES = "episode_diagnoses"
TASK = "timeseries"

HEADER = (
    "Hours,Capillary refill rate,Diastolic blood pressure,Fraction inspired oxygen,"
    "Glascow coma scale eye opening,Glascow coma scale motor response,Glascow coma scale total,"
    "Glascow coma scale verbal response,Glucose,Heart Rate,Height,Mean blood pressure,"
    "Oxygen saturation,Respiratory rate,Systolic blood pressure,Temperature,Weight,pH\n"
)
# The columns that hold the benchmark's 17 variables, in its order.
VARIABLES = HEADER.strip().lower().replace(" ", "_").split(",")[1:]
# The benchmark does not clean these: what was charted is what it writes.
UNCLEANED = frozenset(
    column
    for column in VARIABLES
    if column.startswith("glascow")
    or column in {"heart_rate", "mean_blood_pressure", "respiratory_rate"}
)
# The columns of an episode's own file before its diagnoses, and those that hold them.
EPISODE_COLUMNS = {
    "Icustay": "icustay_id",
    "Ethnicity": "ethnicity_code",
    "Gender": "gender_code",
    "Age": "age",
    "Height": "height",
    "Weight": "weight",
    "Length of Stay": "los",
    "Mortality": "mortality",
}
NEEDS_QUOTES = re.compile('[,"\r\n]')


def write_timeseries(
    warehouse: Warehouse,
    folder: ExportFolder,
    advance: Advance,
    tasks: Sequence[str] = (),
) -> int:
    """Write every episode whole below root/, and for each task what its model may see.

    The benchmark's rule (mimic3-benchmarks, `extract_episodes_from_subjects.py`,
    `split_train_and_test.py` and `create_*.py`; docs/mimic3.md, time series): rows ascend by hours,
    missing cells are empty. Which rows a task has say the columns `is_<task>_input`.

    Args:
        warehouse: where the table is.
        folder: of the export.
        advance: to call with the number of rows that are done.
        tasks: those that get files of their own.

    Returns:
        The number of episodes.

    Raises:
        UserError: the table holds an unknown partition.
    """
    columns = ["partition", "subject_id", "episode", *(f"is_{task}_input" for task in tasks)]
    columns.append("hours")
    for column in VARIABLES:
        columns += [column, f"{column}_text"] if column in UNCLEANED else [column]
    order = "order by partition, subject_id, episode, hours, event_icustay_id"
    episodes = 0
    current: Row | None = None
    files: dict[str, ExportFile] = {}
    with ExitStack() as last:
        for batch in warehouse.select(columns, schema_name("mimic3"), TABLE, order):
            lines = timeseries_lines([row[3 + len(tasks) :] for row in batch])
            for key, group in groupby(zip(batch, lines, strict=True), key=lambda pair: pair[0][:3]):
                pairs = list(group)
                if key != current:
                    last.close()
                    files.clear()
                    current = key
                    episodes += 1
                for place, task in enumerate((TASK, *tasks), start=2):
                    chosen = [line for row, line in pairs if task == TASK or row[place]]
                    if chosen and task not in files:
                        partition, subject, episode = key
                        path = f"{_root(partition, subject)}/episode{episode:d}_timeseries.csv"
                        if task != TASK:  # where the readers of the task look
                            path = (
                                f"{task.replace('_', '-')}/{partition}/"
                                f"{subject:d}_episode{episode:d}_timeseries.csv"
                            )
                        files[task] = last.enter_context(folder.create(path, task))
                        files[task].write(HEADER.encode(), 0)
                    if chosen:
                        files[task].write("".join(chosen).encode(), len(chosen))
            advance(len(batch))
    return episodes


def write_episodes(warehouse: Warehouse, folder: ExportFolder) -> None:
    """Write root/<partition>/<subject>/episode<n>.csv: who the patient is, and the diagnoses.

    The benchmark's rule (mimic3-benchmarks, `extract_episodes_from_subjects.py`): one row; a stay
    without a known diagnosis has the header alone.
    """
    schema = schema_name("mimic3")
    codes = flat(warehouse.select(["icd9_code"], schema, DIAGNOSES, "order by position"))
    header = ",".join([*EPISODE_COLUMNS, *(f"Diagnosis {code}" for (code,) in codes)]) + "\n"
    columns = ["partition", "subject_id", "episode", "diagnosis_flags", *EPISODE_COLUMNS.values()]
    order = "order by partition, subject_id, episode"
    for batch in warehouse.select(columns, schema, EPISODES, order):
        for partition, subject_id, episode, flags, *cells in batch:
            path = _root(partition, subject_id) + f"/episode{episode:d}.csv"
            with folder.create(path, TASK) as file:
                file.write(header.encode(), 0)
                if flags is not None:
                    texts = ["" if cell is None else str(cell) for cell in cells]
                    file.write(",".join([*texts, *flags]).encode() + b"\n", 1)


def _root(partition: str, subject_id: int) -> str:
    if partition not in ("train", "test"):
        raise UserError(f"{TABLE} holds a partition {partition!r}; it can be train or test.")
    return f"root/{partition}/{subject_id:d}"


def timeseries_lines(rows: list[Row]) -> list[str]:
    """Format rows of hours and the variables' cells (number, and text for an uncleaned one).

    The benchmark's rule: numbers in the shortest form that reads back to the same double, always
    with a decimal point; of an uncleaned variable the text as it was charted, unless all values of
    the subject are numbers (then the table holds no text).
    """
    columns = iter(zip(*rows, strict=True))
    cells: list[list[str]] = []
    for column in ("hours", *VARIABLES):
        numbers = ["" if value is None else repr(value) for value in next(columns)]
        if column in UNCLEANED:
            numbers = [
                number
                if text is None
                else '"' + text.replace('"', '""') + '"'
                if NEEDS_QUOTES.search(text)
                else text
                for number, text in zip(numbers, next(columns), strict=True)
            ]
        cells.append(numbers)
    return [",".join(line) + "\n" for line in zip(*cells, strict=True)]
