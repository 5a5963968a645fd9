"""Row orders and folders of listfiles: the canonical ones and the benchmark's own."""

from __future__ import annotations

import random
from array import array
from enum import StrEnum

SHUFFLE_SEED = 49297


class Order(StrEnum):
    """Which row order an export writes."""

    CANONICAL = "canonical"
    REFERENCE = "reference"


class Layout(StrEnum):
    """Which folders and files an export makes."""

    MEDEVAL = "medeval"
    REFERENCE = "mimic3-benchmarks"

    def folder(self, task: str) -> str:
        """Return the folder of a task below that of the export."""
        return task.replace("_", "-") if self is Layout.REFERENCE else task


class RowOrder(StrEnum):
    """How the rows of one listfile follow each other."""

    SORTED = "sorted"
    LISTING = "listing"
    SHUFFLED = "shuffled"


def row_order(task: str, partition: str, order: Order) -> RowOrder:
    """Return the order of one listfile.

    The benchmark's rule (mimic3-benchmarks, `create_*.py`; docs/mimic3.md, row order): four tasks
    shuffle train and sort test. Phenotyping sorts train and leaves test as the folders were listed:
    its script sorts one where it means the other.
    """
    if order is Order.CANONICAL:
        return RowOrder.SORTED
    if task == "phenotyping":
        return RowOrder.SORTED if partition == "train" else RowOrder.LISTING
    return RowOrder.SHUFFLED if partition == "train" else RowOrder.SORTED


def order_by(rows: RowOrder, *, has_sample_times: bool) -> str:
    """Return the `order by` clause, in byte order on both engines.

    The benchmark's listing order depends on the file system; here subject folders, then episode
    files, come in text order. That is not the order of the names: folder `731` comes before
    `7312`, but `7312_episode1...` sorts before `731_episode1...`. A shuffle starts from it.
    """
    keys = [] if rows is RowOrder.SORTED else ['cast(subject_id as varchar) collate "C"']
    keys.append('stay collate "C"')
    if has_sample_times:
        keys.append("period_length")
    return "order by " + ", ".join(keys)


def permutation(count: int) -> array[int]:
    """Return the row numbers in the order of the benchmark's shuffle.

    The benchmark's rule (mimic3-benchmarks, `random.seed(49297)` and `random.shuffle` in
    `create_*.py`): each task starts from that seed, and only train draws from it. A shuffle
    depends on the number of rows alone, so numbers are shuffled and the lines stay where they are.
    """
    numbers = array("I", range(count))
    random.Random(SHUFFLE_SEED).shuffle(numbers)  # noqa: S311 (reproduces, protects nothing)
    return numbers
