"""Listfiles of the five tasks and, on request, the episodes' time series.

The benchmark is mimic3-benchmarks (YerevaNN); docs/mimic3.md describes the rows, their orders and
the folders: root/<partition>/<subject>/episode<n>..., and each task's.
"""

from __future__ import annotations

import csv
import random
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import compress, groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

from medeval.builds import newest_build
from medeval.errors import UserError
from medeval.export import MANIFEST, BenchmarkExport, ExportFolder, make_manifest
from medeval.tasks.mimic3.task import FLOOR, LABELS, LAYOUT, TASKS, Phenotyping
from medeval.tasks.options import TaskOptions
from medeval.terminal import Advance, progress
from medeval.warehouse import Row, Warehouse, flat, schema_name

WRITTEN_LINES = 50_000
SHUFFLE_SEED = 49297

TABLE = "mimic3_episode_timeseries"
EPISODES = "mimic3_episodes"
DIAGNOSES = "episode_diagnoses"
SERIES = "timeseries"
HEADER = LAYOUT[SERIES]["header"] + "\n"
# The columns that hold the benchmark's 17 variables, in its order.
VARIABLES = HEADER.strip().lower().replace(" ", "_").split(",")[1:]
# The benchmark does not clean these: what was charted is what it writes.
UNCLEANED = frozenset(LAYOUT[SERIES]["uncleaned"])

Order = Literal["canonical", "reference"]
Layout = Literal["medeval", "mimic3-benchmarks"]


class Options(TaskOptions):
    """What can be chosen about the files."""

    WORDS: ClassVar[Mapping[str, str]] = LAYOUT["export_options"]

    order: Order = "canonical"
    timeseries: bool = False
    layout: Layout = "medeval"


def multitask_line(*row: Any) -> str:
    """Format a row of multitask, whose fields are lists joined by `;`.

    The benchmark's rule (mimic3-benchmarks, `create_multitask.py`): masks and labels are written
    for every whole hour, also those without a sample, all masks first. The table holds where a
    list changes from 0 to 1; a missing hour means that it never does.
    """
    stay, length, position, mask, died, first_sample, hours, judged, first, *more = row
    left = ";".join([f"{length - hour:.6f}" for hour in range(hours)])
    phenotypes = ";".join(map(str, more[:LABELS]))
    return (
        f"{stay},{length:.6f},{position:d};{mask:d};{died:d},{_steps(first_sample, hours)};"
        f"{left},{phenotypes},{_steps(first_sample, judged)};{_steps(first, judged)}\n"
    )


def _steps(first: int | None, hours: int) -> str:
    """Return a list of 0 before `first` and 1 from it on."""
    zeros = hours if first is None else min(max(first, 0), hours)
    return ";".join(["0"] * zeros + ["1"] * (hours - zeros))


HOURLY = ("stay", "period_length", "y_true")
# Of each listfile the columns of the table `mimic3_<task>`, and what formats a row.
# Python's formatting is the benchmark's, so a remainder of -1e-7 hours is `-0.000000` as well.
LISTFILES: dict[str, tuple[tuple[str, ...], Callable[..., str]]] = {
    "in_hospital_mortality": (("stay", "y_true"), "{},{:d}\n".format),
    "decompensation": (HOURLY, "{},{:.6f},{:d}\n".format),
    "length_of_stay": (HOURLY, "{},{:.6f},{:.6f}\n".format),
    "phenotyping": (
        (*HOURLY[:2], *Phenotyping.truth_columns),
        f"{{}},{{:.6f}},{','.join(['{:d}'] * LABELS)}\n".format,
    ),
    "multitask": ((*LAYOUT["multitask"]["columns"], *Phenotyping.truth_columns), multitask_line),
}


def header_of(warehouse: Warehouse, task: str) -> str:
    """Return the first line of a listfile; that of phenotyping ends in the names of its labels.

    Raises:
        UserError: the seed does not hold the phenotypes 1 to 25.
    """
    if task == "multitask":
        return str(LAYOUT[task]["header"]) + "\n"
    if task != "phenotyping":
        return ",".join(LISTFILES[task][0]) + "\n"
    columns = ["phenotype_id", "phenotype_name"]
    rest = "where phenotype_id is not null order by phenotype_id"
    found = flat(warehouse.select(columns, schema_name(FLOOR), "phenotypes", rest))
    if [number for number, _ in found] != list(range(1, LABELS + 1)):
        told = f"The seed phenotypes has {len(found)} ids, not 1 to {LABELS}"
        raise UserError(f"{told}. Run `dbt seed --select mimic3`.")
    # The names hold `;` but no comma, and the benchmark writes them without quotes.
    return ",".join([*HOURLY[:2], *(str(name) for _, name in found)]) + "\n"


def _write_listfiles(
    warehouse: Warehouse, folder: ExportFolder, place: str, task: str, order: Order, done: Advance
) -> list[int]:
    """Write the five listfiles of a task; return the rows of train and of test.

    The benchmark's rule (mimic3-benchmarks, `split_train_val.py`): train and validation are the
    rows of train/listfile.csv, in their order, and test_listfile.csv repeats test/listfile.csv.
    """
    header = header_of(warehouse, task).encode()
    counts = []
    for partition, parts in (("train", ("train", "val")), ("test", ("test",))):
        names = [f"{partition}/listfile.csv", *(f"{part}_listfile.csv" for part in parts)]
        total = 0
        with ExitStack() as stack:
            files = [stack.enter_context(folder.create(f"{place}/{name}", task)) for name in names]
            for add in files:
                add(header, 0)
            for lines, chosen in listfile_batches(warehouse, task, partition, order, done):
                total += len(lines)
                parts_of = [lines, compress(lines, [not one for one in chosen])]
                for add, part in zip(files, [*parts_of, compress(lines, chosen)], strict=False):
                    written = list(part)
                    add(b"".join(written), len(written))
        counts.append(total)
    return counts


def listfile_batches(
    warehouse: Warehouse,
    task: str,
    partition: str,
    order: Order,
    advance: Advance = lambda rows: None,
) -> Iterator[tuple[list[bytes], list[bool]]]:
    """Yield lines in the wanted order, each with whether its subject is for validation.

    The benchmark's rule (mimic3-benchmarks, `create_*.py`; docs/mimic3.md, row order): four tasks
    shuffle train and sort test. Phenotyping sorts train and leaves test as the folders were listed:
    its script sorts one where it means the other.

    A listing depends on the file system; here subject folders, then episode files, come in text
    order. That is not the order of the names: folder `731` comes before `7312`, but
    `7312_episode1...` sorts before `731_episode1...`. A shuffle starts from it. All orders are by
    bytes, on both engines.

    A shuffle depends on the number of rows alone (`random.seed(49297)` and `random.shuffle`; each
    task starts from that seed, and only train draws from it), so numbers are shuffled and the
    lines, about 80 bytes each, stay where they are.
    """
    columns, line_of = LISTFILES[task]
    is_train, is_phenotyping = partition == "train", task == "phenotyping"
    is_shuffled = order == "reference" and is_train and not is_phenotyping
    is_listed = is_shuffled or (order == "reference" and not is_train and is_phenotyping)
    listing = ['cast(subject_id as varchar) collate "C"'] if is_listed else []
    keys = ", ".join([*listing, 'stay collate "C"', *HOURLY[1:2] * (columns == HOURLY)])
    batches = warehouse.select(
        [*columns, *["is_validation"] * is_train],
        schema_name(FLOOR),
        f"mimic3_{task}",
        f"where partition = $1 order by {keys}",
        (partition,),
    )
    all_lines: list[bytes] = []
    all_validation = bytearray()
    for batch in batches:
        lines = [line_of(*row).encode() for row in batch]
        validation = [is_train and row[-1] for row in batch]
        if is_shuffled:
            all_lines += lines
            all_validation += bytes(validation)
        else:
            yield lines, validation
        advance(len(lines))
    numbers = array("I", range(len(all_lines)))
    random.Random(SHUFFLE_SEED).shuffle(numbers)  # noqa: S311 (reproduces, protects nothing)
    for start in range(0, len(numbers), WRITTEN_LINES):
        part = numbers[start : start + WRITTEN_LINES]
        yield [all_lines[i] for i in part], [bool(all_validation[i]) for i in part]


def write_timeseries(
    warehouse: Warehouse, folder: ExportFolder, advance: Advance, tasks: Sequence[str] = ()
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

    def rows_and_lines() -> Iterator[tuple[Row, str]]:
        for batch in warehouse.select(columns, schema_name(FLOOR), TABLE, order):
            cells = [row[3 + len(tasks) :] for row in batch]
            yield from zip(batch, timeseries_lines(cells), strict=True)
            advance(len(batch))

    episodes = 0
    for key, group in groupby(rows_and_lines(), key=lambda pair: pair[0][:3]):
        (partition, subject, episode), pairs = key, list(group)
        episodes += 1
        for place, task in enumerate((SERIES, *tasks), start=2):
            chosen = [line for row, line in pairs if task == SERIES or row[place]]
            path = f"{_root(partition, subject)}/episode{episode:d}_timeseries.csv"
            if task != SERIES:  # where the readers of the task look
                name = f"{subject:d}_episode{episode:d}_timeseries.csv"
                path = f"{task.replace('_', '-')}/{partition}/{name}"
            if chosen:
                with folder.create(path, task) as add:
                    add((HEADER + "".join(chosen)).encode(), len(chosen))
    return episodes


def write_episodes(warehouse: Warehouse, folder: ExportFolder) -> None:
    """Write root/<partition>/<subject>/episode<n>.csv: who the patient is, and the diagnoses.

    The benchmark's rule (mimic3-benchmarks, `extract_episodes_from_subjects.py`): one row; a stay
    without a known diagnosis has the header alone.
    """
    schema = schema_name(FLOOR)
    codes = flat(warehouse.select(["icd9_code"], schema, DIAGNOSES, "order by position"))
    header = ",".join([*LAYOUT["episode"], *(f"Diagnosis {code}" for (code,) in codes)]) + "\n"
    own = LAYOUT["episode"].values()
    columns = ["partition", "subject_id", "episode", "diagnosis_flags", *own]
    order = "order by partition, subject_id, episode"
    for batch in warehouse.select(columns, schema, EPISODES, order):
        for partition, subject_id, episode, flags, *cells in batch:
            path = f"{_root(partition, subject_id)}/episode{episode:d}.csv"
            with folder.create(path, SERIES) as add:
                add(header.encode(), 0)
                if flags is not None:
                    texts = ["" if cell is None else str(cell) for cell in cells]
                    add(",".join([*texts, *flags]).encode() + b"\n", 1)


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
    lines = list[str]()
    writer = csv.writer(SimpleNamespace(write=lines.append))
    for hours, *cells in rows:
        rest = iter(cells)
        pairs = ((next(rest), next(rest) if one in UNCLEANED else None) for one in VARIABLES)
        writer.writerow([hours, *(number if text is None else text for number, text in pairs)])
    return [line.removesuffix("\r\n") + "\n" for line in lines]


def export(warehouse: Warehouse, tasks: Sequence[str], out: Path, options: Options) -> list[str]:
    """Write exports/mimic3: all files asked for and the manifest, or nothing.

    The benchmark's layout has a folder of its own, exports/mimic3-benchmarks, and always has the
    time series.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    is_reference = options.layout == "mimic3-benchmarks"
    has_series = options.timeseries or is_reference
    schema = schema_name(FLOOR)
    tables = [*map("mimic3_{}".format, tasks), "mimic3_data_class", "mimic3_source_tables"]
    tables += ["phenotypes"] if "phenotyping" in tasks else []
    tables += [TABLE] if has_series else []
    tables += [EPISODES, DIAGNOSES] if is_reference else []
    build = newest_build(warehouse, FLOOR, tables)
    report = []
    orders: dict[str, str | None] = {}
    with ExportFolder(out / (options.layout if is_reference else FLOOR)) as folder:
        for task in tasks:
            place = task.replace("_", "-") if is_reference else task
            rows = partial(warehouse.count, schema, f"mimic3_{task}")
            with progress(task, rows) as advance:
                train, test = _write_listfiles(
                    warehouse, folder, place, task, options.order, advance
                )
            orders[task] = options.order
            report.append(f"{folder.folder / place}: {train:,} train, {test:,} test")
        if has_series:
            own_series = tasks if is_reference else ()
            with progress(SERIES, lambda: warehouse.count(schema, TABLE)) as advance:
                episodes = write_timeseries(warehouse, folder, advance, own_series)
            if is_reference:
                write_episodes(warehouse, folder)
            orders[SERIES] = None
            report.append(f"{folder.folder / 'root'}: {episodes:,} episodes")
        manifest = make_manifest(warehouse, FLOOR, build, folder, orders, "patients_md5")
        folder.publish(manifest)
        report.append(f"{folder.folder / MANIFEST}: data class {manifest['data_class']}")
    return report


EXPORT = BenchmarkExport(
    FLOOR,
    tuple(LISTFILES),
    {task.short: task.name for task in TASKS},
    tuple(map("mimic3_{}".format, LISTFILES)),
    export,
    Options,
)
