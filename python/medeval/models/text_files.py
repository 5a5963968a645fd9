"""Files of values: JSON and YAML, and rows of keys and values from JSON, JSONL, CSV and Parquet.

They are UTF-8 whatever the locale, complete or not there, and for their owner only.

YAML 1.1 reads an unquoted `no` as false, `12:30` as 750 and `2150-01-01` as a date. An answer, a
time or a code of a medical task must not change its meaning that way, so here only `true` and
`false` are truth values, only plain digits are whole numbers, and nothing is a date.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from functools import lru_cache, partial
from io import StringIO
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from medeval.errors import os_error_as
from medeval.files import read_strict, replace_file
from medeval.text import visible

Format = Literal["json", "yaml"]

_TAG = "tag:yaml.org,2002:"
# Pattern and first characters of each kind of value that is no text.
_OWN = {
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "int": (r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    "float": (
        r"^(?:(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
}
_UNUSUAL_BREAK = re.compile("[\x85\u2028\u2029]")
_DROPPED = {_TAG + kind for kind in (*_OWN, "timestamp")}


def format_of(called: str | Path, without_suffix: Format | None = None) -> Format:
    """Return the format of a name, or the one that a path's suffix names.

    Args:
        called: the name or the path.
        without_suffix: what a file without a suffix is; None makes it an error.

    Raises:
        ValueError: it is none of json, yaml and yml; naming the file.
    """
    name, place = (called, "") if isinstance(called, str) else (called.suffix, f"{called}: ")
    if not name and without_suffix:
        return without_suffix
    form = name.lower().removeprefix(".").replace("yml", "yaml")
    if form not in ("json", "yaml"):
        raise ValueError(f"{place}unsupported format {name!r}: use json, yaml or yml")
    return cast("Format", form)


def read_text(path: Path) -> str:
    """Read a UTF-8 file, with or without a byte order mark.

    Raises:
        ValueError: naming the file and the first byte that is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file as a whole, text as UTF-8; its folder is made if it is not there.

    Raises:
        UserError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    save_text(path, text)


def save_text(path: Path, text: str | bytes) -> None:
    """Write a file as a whole to a place that the user chose: no folder is made for it.

    Raises:
        UserError: the file cannot be written.
    """
    with os_error_as(f"Cannot write {path}: {{why}}."):
        replace_file(path, text if isinstance(text, bytes) else text.encode())


def parse_json(text: str, place: str = "the text") -> Any:
    """Read strict JSON: no key twice, no NaN.

    Raises:
        ValueError: it is none; naming the place and what is wrong, never the text.
    """
    try:
        return read_strict(text)
    except ValueError as error:
        raise ValueError(f"{place} {error}") from None


def parse_mapping(text: str, form: Format) -> dict[str, Any]:
    """Read JSON or YAML text that must hold a mapping.

    Raises:
        ValueError: not the format, or something other than a mapping.
    """
    data = read_yaml(text) if form == "yaml" else parse_json(text)
    if not isinstance(data, dict):
        found = "empty" if data is None else f"a {type(data).__name__}"
        raise ValueError(f"not a mapping of fields but {found}")
    return data


class _Loader(yaml.SafeLoader):
    """The safe loader with fewer guesses, no key twice, and nothing by reference."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the parent declares it without ClassVar
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _DROPPED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Build a node; an alias is an error, since few of them hold any number of values."""
        if self.check_event(yaml.AliasEvent):
            told = "an alias (*name) is not read: write the value out"
            raise yaml.composer.ComposerError(None, None, told, self.get_mark())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping; a key that stands twice would lose its first value: an error."""
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep=deep)


for _kind, (_pattern, _first) in _OWN.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(_pattern), list(_first))


class _Dumper(yaml.SafeDumper):
    """The safe dumper, with line breaks that are none of ours kept as they are, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write every value out."""
        return True

    def represent_str(self, text: str) -> yaml.ScalarNode:
        """Quote text so that the unusual line breaks in it are escaped, not folded."""
        style = '"' if _UNUSUAL_BREAK.search(text) else None
        return self.represent_scalar(_TAG + "str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


# A command comes to the same task or rubric several times, and a long one takes tens of ms.
_loaded = lru_cache(maxsize=32)(partial(yaml.load, Loader=_Loader))


def read_yaml(text: str) -> Any:
    """Read one YAML document.

    Raises:
        ValueError: naming the line and what is wrong; never the text around it.
    """
    try:
        return deepcopy(_loaded(text))
    except yaml.YAMLError as error:
        described = str(error)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
            described = f"line {error.problem_mark.line + 1}: {error.problem}"
        raise ValueError(f"not valid YAML: {described}") from None
    except RecursionError:
        raise ValueError("not valid YAML: nested too deeply") from None


def write_yaml(value: Any) -> str:
    """Write JSON values as YAML, keys in their order, text readable in any script."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


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
        text = read_text(path)
        head = text.partition("\n")[0]
        if "," not in head and (sign := re.search("[;\t]", head)):
            raise ValueError(f"its columns are parted by {sign[0]!r}: save it with commas")
        # A row without any text is blank: spreadsheets write what was once in use.
        rows = [row for row in rows_from_csv(text) if any(row.values())]
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
