"""Listfiles of the five MIMIC-III tasks: from ordered rows to the benchmark's lines.

The benchmark is mimic3-benchmarks (YerevaNN); docs/mimic3.md describes the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress

from medeval.errors import UserError
from medeval.exporting.files import ExportFile, ExportFolder
from medeval.exporting.ordering import Layout, Order, RowOrder, order_by, permutation, row_order
from medeval.exporting.progress import Advance
from medeval.warehouse import Row, Warehouse, flat, schema_name

PHENOTYPES = 25
LABELS = tuple(f"label_{number}" for number in range(1, PHENOTYPES + 1))
LABEL_FIELDS = ",".join(["%d"] * PHENOTYPES)
MULTITASK_HEADER = (
    "filename,length of stay,in-hospital mortality task (pos;mask;label),"
    "length of stay task (masks;labels),phenotyping task (labels),"
    "decompensation task (masks;labels)"
)
WRITTEN_LINES = 50_000


@dataclass(frozen=True)
class Listfile:
    """How one task's listfile is written.

    Attributes:
        task: the task, also its folder.
        columns: what `lines` gets of each row, from the table `mimic3_<task>`.
        header: the first line; for phenotyping the names follow.
        lines: formats a batch of rows.
        has_sample_times: whether a stay has a row for each sample time.
    """

    task: str
    columns: tuple[str, ...]
    header: str
    lines: Callable[[list[Row]], list[str]]
    has_sample_times: bool = False

    @property
    def table(self) -> str:
        """Return the published table that holds the rows."""
        return f"mimic3_{self.task}"


def mortality_lines(rows: list[Row]) -> list[str]:
    """Format in-hospital mortality: one label a stay."""
    return [f"{stay},{label:d}\n" for stay, label, *_ in rows]


def decompensation_lines(rows: list[Row]) -> list[str]:
    """Format decompensation: the hour with six decimals, the label as 0 or 1."""
    return [f"{stay},{hour:.6f},{label:d}\n" for stay, hour, label, *_ in rows]


def length_of_stay_lines(rows: list[Row]) -> list[str]:
    """Format length of stay: both numbers with six decimals.

    Python's formatting is the benchmark's, so a remainder of -1e-7 is `-0.000000` here as well.
    """
    return [f"{stay},{hour:.6f},{left:.6f}\n" for stay, hour, left, *_ in rows]


def phenotyping_lines(rows: list[Row]) -> list[str]:
    """Format phenotyping: the length of stay in hours, then 25 labels."""
    labels = slice(2, 2 + PHENOTYPES)
    return [f"{row[0]},{row[1]:.6f},{LABEL_FIELDS % row[labels]}\n" for row in rows]


def multitask_lines(rows: list[Row]) -> list[str]:
    """Format the multitask rows, whose fields are lists joined by `;`.

    The benchmark's rule (mimic3-benchmarks, `create_multitask.py`): masks and labels are written
    for every whole hour, also those without a sample, all masks first. The table holds where a
    list changes from 0 to 1; a missing hour means that it never does.
    """
    return [_multitask_line(*row[: len(MULTITASK_COLUMNS)]) for row in rows]


def _multitask_line(
    stay: str,
    length_of_stay: float,
    position: int,
    mask: int,
    mortality: int,
    first_sample: int | None,
    stay_hours: int,
    decompensation_hours: int,
    first_decompensation: int | None,
    *phenotypes: int,
) -> str:
    stay_labels = ";".join([f"{length_of_stay - hour:.6f}" for hour in range(stay_hours)])
    return (
        f"{stay},{length_of_stay:.6f},{position:d};{mask:d};{mortality:d},"
        f"{_steps(first_sample, stay_hours)};{stay_labels},"
        f"{';'.join(map(str, phenotypes))},"
        f"{_steps(first_sample, decompensation_hours)};"
        f"{_steps(first_decompensation, decompensation_hours)}\n"
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

LISTFILES: dict[str, Listfile] = {
    listfile.task: listfile
    for listfile in (
        Listfile("in_hospital_mortality", ("stay", "y_true"), "stay,y_true", mortality_lines),
        Listfile(
            "decompensation",
            ("stay", "period_length", "y_true"),
            "stay,period_length,y_true",
            decompensation_lines,
            has_sample_times=True,
        ),
        Listfile(
            "length_of_stay",
            ("stay", "period_length", "y_true"),
            "stay,period_length,y_true",
            length_of_stay_lines,
            has_sample_times=True,
        ),
        Listfile(
            "phenotyping",
            ("stay", "period_length", *LABELS),
            "stay,period_length",
            phenotyping_lines,
        ),
        Listfile("multitask", MULTITASK_COLUMNS, MULTITASK_HEADER, multitask_lines),
    )
}


def phenotype_names(warehouse: Warehouse) -> list[str]:
    """Return the 25 names of phenotyping's header, in label order.

    Raises:
        UserError: the seed does not hold the phenotypes 1 to 25.
    """
    found = flat(
        warehouse.select(
            ["phenotype_id", "phenotype_name"],
            schema_name("mimic3"),
            "phenotypes",
            "where phenotype_id is not null order by phenotype_id",
        )
    )
    if [number for number, _ in found] != list(range(1, PHENOTYPES + 1)):
        raise UserError(
            f"The seed phenotypes has {len(found)} phenotypes with an id, not the ids 1 to"
            f" {PHENOTYPES}. Run `dbt seed --select mimic3`."
        )
    return [str(name) for _, name in found]


def write_listfiles(
    warehouse: Warehouse,
    folder: ExportFolder,
    listfile: Listfile,
    order: Order,
    layout: Layout,
    advance: Advance,
) -> dict[str, int]:
    """Write the five listfiles of a task; return the rows of each partition.

    The benchmark's rule (mimic3-benchmarks, `split_train_val.py`): train and validation are the
    rows of train/listfile.csv, in their order, and test_listfile.csv repeats test/listfile.csv.
    """
    header = listfile.header
    if listfile.task == "phenotyping":
        # The names hold `;` but no comma, and the benchmark writes them without quotes.
        header = ",".join([header, *phenotype_names(warehouse)])
    counts: dict[str, int] = {}
    for partition, parts in (("train", ("train", "val")), ("test", ("test",))):
        names = [f"{partition}/listfile.csv", *(f"{part}_listfile.csv" for part in parts)]
        with ExitStack() as stack:
            whole, *split = (
                stack.enter_context(
                    folder.create(f"{layout.folder(listfile.task)}/{name}", listfile.task)
                )
                for name in names
            )
            for file in (whole, *split):
                file.write(f"{header}\n".encode(), 0)
            counts[partition] = 0
            for lines, validation in _batches(warehouse, listfile, partition, order, advance):
                counts[partition] += len(lines)
                _write(whole, lines)
                if len(split) == 1:
                    _write(split[0], lines)
                else:
                    _write(split[0], list(compress(lines, [not chosen for chosen in validation])))
                    _write(split[1], list(compress(lines, validation)))
    return counts


def _write(file: ExportFile, lines: list[bytes]) -> None:
    file.write(b"".join(lines), len(lines))


def _batches(
    warehouse: Warehouse, listfile: Listfile, partition: str, order: Order, advance: Advance
) -> Iterator[tuple[list[bytes], list[bool]]]:
    """Yield lines in the wanted order, each with whether its subject is for validation."""
    rows = row_order(listfile.task, partition, order)
    batches = warehouse.select(
        [*listfile.columns, "is_validation"],
        schema_name("mimic3"),
        listfile.table,
        f"where partition = $1 {order_by(rows, has_sample_times=listfile.has_sample_times)}",
        (partition,),
    )
    formatted = (
        ([line.encode() for line in listfile.lines(batch)], [row[-1] for row in batch])
        for batch in batches
    )
    if rows is not RowOrder.SHUFFLED:
        for lines, validation in formatted:
            yield lines, validation
            advance(len(lines))
        return
    # A shuffle can put the last row first: all lines are held, about 80 bytes each.
    all_lines: list[bytes] = []
    all_validation = bytearray()
    for lines, validation in formatted:
        all_lines += lines
        all_validation += bytes(validation)
        advance(len(lines))
    numbers = permutation(len(all_lines))
    for start in range(0, len(numbers), WRITTEN_LINES):
        part = numbers[start : start + WRITTEN_LINES]
        yield [all_lines[i] for i in part], [bool(all_validation[i]) for i in part]
