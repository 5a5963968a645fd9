"""Readers of a task's folder, to the interface of mimic3-benchmarks' `readers.py`, for tests.

They open what those open and ask of a file what those ask: a listfile is split at commas, a series
has `Hours` first and as many cells in each row, and no series is empty.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

Example = dict[str, Any]


class Reader:
    """The examples of a listfile, by default `listfile.csv` beside the time series."""

    fields = 2
    # Whether an example ends before its file does.
    is_bounded = False

    def __init__(self, dataset_dir: Path, listfile: Path | None = None) -> None:
        self._folder = dataset_dir
        lines = (listfile or dataset_dir / "listfile.csv").read_text().splitlines()
        self._rows = [line.split(",") for line in lines[1:]]
        assert all(len(row) == self.fields for row in self._rows)

    def get_number_of_examples(self) -> int:
        return len(self._rows)

    def read_example(self, index: int) -> Example:
        if not 0 <= index < len(self._rows):
            raise ValueError(index)
        name, *cells = self._rows[index]
        example = {"name": name, **self._labels(cells)}
        header, hours, rows = read_series(self._folder / name)
        if self.is_bounded:
            rows = rows[: bisect_right(hours, example["t"] + 1e-6)]
        assert rows, name
        return {**example, "X": rows, "header": header}

    def _labels(self, cells: list[str]) -> Example:
        raise NotImplementedError


@cache
def read_series(path: Path) -> tuple[list[str], list[float], list[list[str]]]:
    """The header, the hours and the cells of a file, once: each hour of a stay asks for it."""
    header, *rows = (line.split(",") for line in path.read_text().splitlines())
    assert header[0] == "Hours"
    assert all(len(row) == len(header) for row in rows)
    hours = [float(row[0]) for row in rows]
    assert hours == sorted(hours)
    return header, hours, rows


class InHospitalMortalityReader(Reader):
    period_length = 48.0

    def _labels(self, cells: list[str]) -> Example:
        return {"t": self.period_length, "y": int(cells[0])}


class DecompensationReader(Reader):
    fields = 3
    is_bounded = True

    def _labels(self, cells: list[str]) -> Example:
        return {"t": float(cells[0]), "y": int(cells[1])}


class LengthOfStayReader(Reader):
    fields = 3
    is_bounded = True

    def _labels(self, cells: list[str]) -> Example:
        return {"t": float(cells[0]), "y": float(cells[1])}


class PhenotypingReader(Reader):
    fields = 27

    def _labels(self, cells: list[str]) -> Example:
        return {"t": float(cells[0]), "y": list(map(int, cells[1:]))}


class MultitaskReader(Reader):
    fields = 6

    def _labels(self, cells: list[str]) -> Example:
        los, mortality, stay, phenotypes, decompensation = cells
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
    assert len(cells) % 2 == 0
    middle = len(cells) // 2
    return [int(cell) for cell in cells[:middle]], [float(cell) for cell in cells[middle:]]


READERS: dict[str, type[Reader]] = {
    "in-hospital-mortality": InHospitalMortalityReader,
    "decompensation": DecompensationReader,
    "length-of-stay": LengthOfStayReader,
    "phenotyping": PhenotypingReader,
    "multitask": MultitaskReader,
}
