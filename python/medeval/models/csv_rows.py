"""Rows of keys and values as CSV text, and back."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from medeval.text import visible

_FORMULAS = frozenset("=+-@\t\r")


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
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise ValueError(
                    f"CSV line {reader.line_num}: {len(cells)} cells under {len(header)} columns"
                )
            rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise ValueError(f"CSV line {reader.line_num}: {error}") from None
    return rows
