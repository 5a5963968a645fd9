"""Listfiles of the five tasks and, on request, the episodes' time series.

The benchmark is mimic3-benchmarks (YerevaNN); docs/mimic3.md describes the rows, their orders and
the folders.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import compress
from typing import Annotated, Any

import typer

from medeval.builds import newest_build
from medeval.errors import UserError
from medeval.export import MANIFEST, BenchmarkExport, ExportFolder, Request, make_manifest
from medeval.progress import Advance, progress
from medeval.tasks.mimic3 import timeseries
from medeval.warehouse import Warehouse, flat, schema_name

NAME = "mimic3"
ALIASES = {
    "ihm": "in_hospital_mortality",
    "decomp": "decompensation",
    "los": "length_of_stay",
    "pheno": "phenotyping",
}
PHENOTYPES = 25
LABELS = tuple(f"label_{number}" for number in range(1, PHENOTYPES + 1))
MULTITASK_HEADER = (
    "filename,length of stay,in-hospital mortality task (pos;mask;label),"
    "length of stay task (masks;labels),phenotyping task (labels),"
    "decompensation task (masks;labels)"
)
WRITTEN_LINES = 50_000
SHUFFLE_SEED = 49297


class Order(StrEnum):
    """Which row order an export writes."""

    CANONICAL = "canonical"
    REFERENCE = "reference"


class Layout(StrEnum):
    """Which folders and files an export makes."""

    MEDEVAL = "medeval"
    REFERENCE = "mimic3-benchmarks"


@dataclass(frozen=True)
class Options:
    """What can be chosen about the files."""

    order: Annotated[
        Order,
        typer.Option(help="Row order of listfiles: sorted, or as mimic3-benchmarks shuffles them."),
    ] = Order.CANONICAL
    timeseries: Annotated[
        bool,
        typer.Option(
            "--timeseries",
            help="Also write the whole time series of every episode, from before the stay until"
            " after it: not what a model may see.",
        ),
    ] = False
    layout: Annotated[
        Layout,
        typer.Option(
            help="Folders and files of the ICU tasks: listfiles alone, or all that the published"
            " readers open, with the time series of each task cut to what its model may see."
        ),
    ] = Layout.MEDEVAL


@dataclass(frozen=True)
class Listfile:
    """How one task's listfile is written.

    Attributes:
        header: the first line; for phenotyping the names follow.
        columns: of the table `mimic3_<task>`.
        line: formats a row, whatever follows the columns.
        order: the columns by which the rows of a stay are in order.
    """

    header: str
    columns: tuple[str, ...]
    line: Callable[..., str]
    order: tuple[str, ...] = ()


def multitask_line(*row: Any) -> str:
    """Format a row of multitask, whose fields are lists joined by `;`.

    The benchmark's rule (mimic3-benchmarks, `create_multitask.py`): masks and labels are written
    for every whole hour, also those without a sample, all masks first. The table holds where a
    list changes from 0 to 1; a missing hour means that it never does.
    """
    stay, length, position, mask, died, first_sample, hours, judged, first, *more = row
    left = ";".join([f"{length - hour:.6f}" for hour in range(hours)])
    phenotypes = ";".join(map(str, more[:PHENOTYPES]))
    return (
        f"{stay},{length:.6f},{position:d};{mask:d};{died:d},{_steps(first_sample, hours)};"
        f"{left},{phenotypes},{_steps(first_sample, judged)};{_steps(first, judged)}\n"
    )


def _steps(first: int | None, hours: int) -> str:
    """Return a list of 0 before `first` and 1 from it on."""
    zeros = hours if first is None else min(max(first, 0), hours)
    return ";".join(["0"] * zeros + ["1"] * (hours - zeros))


MULTITASK_COLUMNS = (
    "stay",
    "length_of_stay",
    "in_hospital_mortality_position",
    "in_hospital_mortality_mask",
    "in_hospital_mortality_label",
    "first_sample_hour",
    "length_of_stay_hours",
    "decompensation_hours",
    "first_decompensation_hour",
    *LABELS,
)
HOURLY = ("stay", "period_length", "y_true")
HOUR = ("period_length",)
# Python's formatting is the benchmark's, so a remainder of -1e-7 hours is `-0.000000` as well.
LISTFILES = {
    "in_hospital_mortality": Listfile("stay,y_true", ("stay", "y_true"), "{},{:d}\n".format),
    "decompensation": Listfile(",".join(HOURLY), HOURLY, "{},{:.6f},{:d}\n".format, HOUR),
    "length_of_stay": Listfile(",".join(HOURLY), HOURLY, "{},{:.6f},{:.6f}\n".format, HOUR),
    "phenotyping": Listfile(
        "stay,period_length",
        ("stay", "period_length", *LABELS),
        f"{{}},{{:.6f}},{','.join(['{:d}'] * PHENOTYPES)}\n".format,
    ),
    "multitask": Listfile(MULTITASK_HEADER, MULTITASK_COLUMNS, multitask_line),
}


def header_of(warehouse: Warehouse, task: str) -> str:
    """Return the first line of a listfile; that of phenotyping ends in the names of its labels.

    Raises:
        UserError: the seed does not hold the phenotypes 1 to 25.
    """
    if task != "phenotyping":
        return LISTFILES[task].header + "\n"
    found = flat(
        warehouse.select(
            ["phenotype_id", "phenotype_name"],
            schema_name(NAME),
            "phenotypes",
            "where phenotype_id is not null order by phenotype_id",
        )
    )
    if [number for number, _ in found] != list(range(1, PHENOTYPES + 1)):
        raise UserError(
            f"The seed phenotypes has {len(found)} phenotypes with an id, not the ids 1 to"
            f" {PHENOTYPES}. Run `dbt seed --select mimic3`."
        )
    # The names hold `;` but no comma, and the benchmark writes them without quotes.
    return ",".join([LISTFILES[task].header, *(str(name) for _, name in found)]) + "\n"


def _write_listfiles(
    warehouse: Warehouse,
    folder: ExportFolder,
    place: str,
    task: str,
    order: Order,
    advance: Advance,
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
            for file in files:
                file.write(header, 0)
            batches = listfile_batches(warehouse, task, partition, order, advance)
            for lines, validation in batches:
                total += len(lines)
                kept = list(compress(lines, [not chosen for chosen in validation]))
                written = [lines, kept, list(compress(lines, validation))][: len(files)]
                for file, part in zip(files, written, strict=True):
                    file.write(b"".join(part), len(part))
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
    listfile = LISTFILES[task]
    is_train, is_phenotyping = partition == "train", task == "phenotyping"
    is_shuffled = order is Order.REFERENCE and is_train and not is_phenotyping
    is_listed = is_shuffled or (order is Order.REFERENCE and not is_train and is_phenotyping)
    listing = ['cast(subject_id as varchar) collate "C"'] if is_listed else []
    keys = ", ".join([*listing, 'stay collate "C"', *listfile.order])
    batches = warehouse.select(
        [*listfile.columns, *["is_validation"] * is_train],
        schema_name(NAME),
        f"mimic3_{task}",
        f"where partition = $1 order by {keys}",
        (partition,),
    )
    all_lines: list[bytes] = []
    all_validation = bytearray()
    for batch in batches:
        lines = [listfile.line(*row).encode() for row in batch]
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


def export(warehouse: Warehouse, request: Request) -> list[str]:
    """Write exports/mimic3: all files asked for and the manifest, or nothing.

    The benchmark's layout has a folder of its own, exports/mimic3-benchmarks, and always has the
    time series.

    Raises:
        UserError: the tables are not there, or their last build failed.
    """
    options: Options = request.options
    layout, is_reference = options.layout, options.layout is Layout.REFERENCE
    has_series = options.timeseries or is_reference

    rows_of = partial(warehouse.count, schema_name(NAME))
    tables = [*map("mimic3_{}".format, request.tasks), "mimic3_data_class", "mimic3_source_tables"]
    tables += ["phenotypes"] if "phenotyping" in request.tasks else []
    tables += [timeseries.TABLE] if has_series else []
    tables += [timeseries.EPISODES, timeseries.DIAGNOSES] if is_reference else []
    build = newest_build(warehouse, NAME, tables)
    report = []
    orders: dict[str, str | None] = {}
    with ExportFolder(request.out / (layout if is_reference else NAME)) as folder:
        for task in request.tasks:
            with progress(task, partial(rows_of, f"mimic3_{task}")) as advance:
                place = task.replace("_", "-") if is_reference else task
                order = options.order
                train, test = _write_listfiles(warehouse, folder, place, task, order, advance)
            orders[task] = order
            report.append(f"{folder.folder / place}: {train:,} train, {test:,} test")
        if has_series:
            own_series = request.tasks if is_reference else ()
            with progress(timeseries.TASK, partial(rows_of, timeseries.TABLE)) as advance:
                episodes = timeseries.write_timeseries(warehouse, folder, advance, own_series)
            if is_reference:
                timeseries.write_episodes(warehouse, folder)
            orders[timeseries.TASK] = None
            report.append(f"{folder.folder / 'root'}: {episodes:,} episodes")
        manifest = make_manifest(warehouse, NAME, build, folder, orders, "patients_md5")
        folder.publish(manifest)
        report.append(f"{folder.folder / MANIFEST}: data class {manifest['data_class']}")
    return report


EXPORT = BenchmarkExport(
    NAME,
    tuple(LISTFILES),
    ALIASES,
    tuple(map("mimic3_{}".format, LISTFILES)),
    export,
    Options,
)
