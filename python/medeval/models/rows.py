"""Rows of keys and values: from JSON, JSONL, CSV and Parquet files, and as CSV text."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any

from medeval.models.text_files import parse_json, read_text
from medeval.text import visible

ROW_FILES = (".json", ".jsonl", ".csv", ".parquet")

_FORMULAS = frozenset("=+-@\t\r")


def read_rows(path: Path, suffixes: Sequence[str] = ROW_FILES) -> list[Any]:
    """Read the rows of a file: a JSON list, one JSON object a line, a CSV or a Parquet table.

    In a CSV table every value is a text, but for cells under `input`, `output` and `options` that
    are JSON.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another suffix, no rows, or not the format; naming the line or row.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise ValueError(f"unsupported suffix {path.suffix!r}: use {known}")
    if suffix == ".parquet":
        from pyarrow import ArrowException, parquet

        try:
            rows = parquet.read_table(path).to_pylist()
        except ArrowException as error:
            raise ValueError(f"not a Parquet table: {error}") from None
    elif suffix == ".csv":
        rows = rows_from_csv(read_text(path))
        for index, row in enumerate(rows):
            for side in row.keys() & {"input", "output"}:
                row[side] = parse_json(row[side], f"row {index}: {side}") if row[side] else None
            # A list of options may also be plain text.
            if str(row.get("options", "")).lstrip()[:1] in ("[", "{"):
                row["options"] = parse_json(row["options"], f"row {index}: options")
    elif suffix == ".jsonl":
        lines = enumerate(read_text(path).split("\n"), start=1)
        rows = [parse_json(line, f"line {number}") for number, line in lines if line.strip()]
    else:
        rows = parse_json(read_text(path))
    if not isinstance(rows, list) or not rows:
        raise ValueError("no rows" if isinstance(rows, list) else "not a list of rows")
    return rows


def mapped_rows(rows: Sequence[Any], fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rows with the columns that a task file asks for, and no others.

    Args:
        rows: of a file.
        fields: key of the task to the column of the file that holds it, or to several columns,
            whose values become a list.

    Raises:
        ValueError: a row lacks a column; naming the row, the column and the nearest one.
    """
    mapped = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"row {index} is a {type(row).__name__}, not a mapping")
        new: dict[str, Any] = {}
        for key, columns in fields.items():
            for column in columns if isinstance(columns, list) else [columns]:
                if column not in row:
                    near = get_close_matches(str(column), map(str, row), 1, 0) or ["none"]
                    raise ValueError(
                        f"fields: row {index} has no column {column!r}; the nearest is {near[0]!r}"
                    )
            is_list = isinstance(columns, list)
            new[key] = [row[column] for column in columns] if is_list else row[columns]
        mapped.append(new)
    return mapped


def rows_to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows under the union of their keys, in the order in which keys first appear.

    Text is written as it is, null and a missing key as an empty cell, all else as JSON. Without
    rows the text is empty.
    """
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = ([row.get(key) for key in header] for row in rows)
    return table_for_spreadsheets(header, cells, as_it_is=True)


def table_for_spreadsheets(
    header: Sequence[str], rows: Iterable[Iterable[Any]], *, as_it_is: bool = False
) -> str:
    """Write a table for people, whose spreadsheets take no name in it for a formula.

    A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, also behind
    blanks or in full width, gets an apostrophe in front (OWASP, "CSV injection"). Numbers stay
    numbers, negative ones too. What programs read is written `as_it_is`. Without a column the text
    is empty.
    """

    def cell(value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            return json.dumps(value, ensure_ascii=False, default=str)
        starts = value[:1], unicodedata.normalize("NFKC", value.lstrip()[:1])
        marked = "'" * (not _FORMULAS.isdisjoint(starts)) + visible(value)
        return value if as_it_is else marked

    if not header:
        return ""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(map(cell, row) for row in rows)
    return text.getvalue()


def rows_from_csv(text: str) -> list[dict[str, Any]]:
    """Read rows, every value as text.

    Raises:
        ValueError: a column without a name or with one that another has, or a row with more or
            fewer cells than the header; naming the line.
    """
    reader = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = next(reader, [])
        if "" in header or len(set(header)) < len(header):
            raise ValueError(f"CSV line 1: each column needs a name of its own, not {header}")
        rows = []
        for cells in filter(None, reader):
            if len(cells) != len(header):
                raise ValueError(
                    f"CSV line {reader.line_num}: {len(cells)} cells under {len(header)} columns"
                )
            rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise ValueError(f"CSV line {reader.line_num}: {error}") from None
    return rows
