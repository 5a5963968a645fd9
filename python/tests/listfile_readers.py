"""Readers of a task's folder, to the interface of mimic3-benchmarks' `readers.py`, for tests.

They open what those open and ask of a file what those ask: a listfile is split at commas, a series
has `Hours` first and as many cells in each row, and no series is empty.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

Example = dict[str, Any]


class Reader:
    """The examples of a listfile, by default `listfile.csv` beside the time series."""

    def __init__(self, task: str, dataset_dir: Path, listfile: Path | None = None) -> None:
        self._task, self._folder = task, dataset_dir
        lines = (listfile or dataset_dir / "listfile.csv").read_text().splitlines()
        self._rows = [line.split(",") for line in lines[1:]]
        assert {len(row) for row in self._rows} == {len(lines[0].split(","))}

    def get_number_of_examples(self) -> int:
        return len(self._rows)

    def read_example(self, index: int) -> Example:
        name, *cells = self._rows[index]
        example = {"name": name, **LABELS[self._task](*cells)}
        header, hours, rows = read_series(self._folder / name)
        if self._task in HOURLY:  # an example ends before its file does
            rows = rows[: bisect_right(hours, example["t"] + 1e-6)]
        assert rows, name
        return {**example, "X": rows, "header": header}


@cache
def read_series(path: Path) -> tuple[list[str], list[float], list[list[str]]]:
    """The header, the hours and the cells of a file, once: each hour of a stay asks for it."""
    header, *rows = (line.split(",") for line in path.read_text().splitlines())
    assert header[0] == "Hours"
    assert all(len(row) == len(header) for row in rows)
    hours = [float(row[0]) for row in rows]
    assert hours == sorted(hours)
    return header, hours, rows


def multitask(los: str, mortality: str, stay: str, phenotypes: str, decompensation: str) -> Example:
    return {
        "t": float(los),
        "ihm": list(map(int, mortality.split(";"))),
        "los": halves(stay),
        "pheno": list(map(int, phenotypes.split(";"))),
        "decomp": halves(decompensation),
    }


def halves(text: str) -> tuple[list[int], list[float]]:
    """Masks, then labels; a single `;` where there are none."""
    cells = [cell for cell in text.split(";") if cell]
    middle = len(cells) // 2
    assert len(cells) == 2 * middle
    return [int(cell) for cell in cells[:middle]], [float(cell) for cell in cells[middle:]]


HOURLY = ("decompensation", "length-of-stay")
LABELS: dict[str, Callable[..., Example]] = {
    "in-hospital-mortality": lambda died: {"t": 48.0, "y": int(died)},
    "decompensation": lambda hour, died: {"t": float(hour), "y": int(died)},
    "length-of-stay": lambda hour, left: {"t": float(hour), "y": float(left)},
    "phenotyping": lambda los, *labels: {"t": float(los), "y": list(map(int, labels))},
    "multitask": multitask,
}
READERS = {task: partial(Reader, task) for task in LABELS}
