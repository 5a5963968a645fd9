"""Files of a synthetic data set: what it is made from, and text columns into CSV into gzip."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from medeval.errors import UserError

DATA = Path(__file__).parent / "data"
SEEDS = Path(__file__).resolve().parents[2] / "seeds"
MARKER = "synthetic.json"
Row = tuple[object, ...]
Progress = Callable[[int, int], None]  # told what is done and what there is


def read_yaml(name: str) -> Any:
    """Return the contents of a YAML file of the generator."""
    return yaml.load((DATA / name).read_text(encoding="utf-8"), yaml.CSafeLoader)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, of the generator or of the project's seeds.

    Raises:
        UserError: the file is not there.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise UserError(
            f"The file {path} is missing. Restore it from the repository (git checkout)."
        ) from None


def read_groups(name: str, column: str) -> dict[str, list[dict[str, str]]]:
    """Return the rows of a CSV file of the generator by what they have in one column."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in read_rows(DATA / name):
        groups.setdefault(row[column], []).append(row)
    return groups


def quoted(text: str) -> str:
    """Return one CSV cell: quoted only if it holds a comma, a quote or a line break."""
    if any(mark in text for mark in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def text_cells(texts: Iterable[str]) -> pa.Array:
    """Return texts as CSV cells, one Python call each: for small tables and pools."""
    return pa.array([quoted(text) for text in texts], pa.string())


def cells(column: npt.NDArray[Any]) -> pa.Array:
    """Return numbers or times as CSV cells; NaN and NaT become empty cells.

    Doubles are written in the shortest form that reads back, times ``YYYY-MM-DD HH:MM:SS``.
    """
    mask = np.isnan(column) if column.dtype.kind == "f" else None
    return pc.cast(pa.array(column, mask=mask), pa.string())


def pick(pool: pa.Array, places: npt.NDArray[Any]) -> pa.Array:
    """Return the pool's cells at these places; a negative place is an empty cell."""
    lacking = places < 0
    return pool.take(pa.array(places, mask=lacking if lacking.any() else None))


class CsvFile:
    """One ``.csv.gz`` file: a header, then rows. A column ROW_ID numbers the rows from 1.

    The gzip header holds no time and no name, so equal rows are equal bytes.
    """

    def __init__(self, path: Path, columns: Sequence[str], level: int) -> None:
        self.rows = 0
        self._columns = columns
        self._raw = path.open("wb")
        self._gzip = gzip.GzipFile("", "wb", compresslevel=level, fileobj=self._raw, mtime=0)
        self._gzip.write((",".join(columns) + "\n").encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        with self._raw:
            self._gzip.close()

    def write_rows(self, rows: Sequence[Sequence[object]]) -> None:
        """Append rows of Python values; None is an empty cell."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._gzip.write(text.getvalue().encode())
        self.rows += len(rows)

    def write_columns(self, columns: dict[str, pa.Array]) -> None:
        """Append rows given as arrays of cells by column; null or no array is an empty cell."""
        count = len(next(iter(columns.values())))
        if count == 0:
            return
        if "ROW_ID" in self._columns:
            columns["ROW_ID"] = cells(np.arange(self.rows + 1, self.rows + count + 1))
        empty = pa.nulls(count, pa.string())
        *first, last = (columns.get(name, empty) for name in self._columns)
        lines = _joined([*first, _joined([last, pa.scalar("\n")], "")], ",")
        _, offsets, text = lines.buffers()
        end = int(np.frombuffer(offsets, dtype=np.int32)[count])
        self._gzip.write(memoryview(text)[:end])
        self.rows += count


def _joined(columns: Sequence[Any], separator: str) -> pa.Array:
    return pc.binary_join_element_wise(
        *columns, separator, null_handling="replace", null_replacement=""
    )


@contextlib.contextmanager
def open_tables(
    folder: Path, columns: dict[str, list[str]], level: int
) -> Iterator[dict[str, CsvFile]]:
    """Open a file for each table, whose name may have a folder before it, below a folder."""
    with contextlib.ExitStack() as stack:
        files = {}
        for name, names in columns.items():
            path = folder / f"{name}.csv.gz"
            path.parent.mkdir(exist_ok=True)
            files[name] = stack.enter_context(CsvFile(path, names, level))
        yield files


@contextlib.contextmanager
def staged_folder(out: Path, *, replace: bool) -> Iterator[Path]:
    """Give a temporary folder beside `out`; when the block ends well, rename it to `out`.

    Raises:
        UserError: `out` is a file, or holds something and `replace` is off, or holds something
            that this command did not write.
    """
    out = out.resolve()
    _check_free(out, replace=replace)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{out.name}-", dir=out.parent, ignore_cleanup_errors=True
        ) as staging:
            new, old = Path(staging, "data"), Path(staging, "old")
            new.mkdir()
            yield new
            _check_free(out, replace=replace)
            if out.exists():
                out.rename(old)
            try:
                new.rename(out)
            except OSError:
                if old.exists():
                    old.rename(out)
                raise
    except OSError as error:
        raise UserError(
            f"Writing {out} failed: {error.strerror}. Free some space or choose another --out."
        ) from error


def _check_free(out: Path, *, replace: bool) -> None:
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file. Give --out a folder that does not exist yet.")
    if not any(out.iterdir()):
        return
    if not replace:
        raise UserError(
            f"{out} exists and is not empty. Give --out another folder, or add --replace."
        )
    if not (out / MARKER).is_file():
        raise UserError(
            f"{out} has no {MARKER}, so it was not written by this command and is not replaced. "
            "Give --out another folder, or empty this one yourself."
        )
