"""What is kept of a scenario: the same from run to run, from machine to machine, and short.

The rules, all of them:

1. The scenario's folder, the checkout and the endpoint's address are written `<here>`,
   `<checkout>` and `<endpoint>`; a time `<time>`; a SHA-256 or UUID `<hash>`; versions of packages
   and what is measured in seconds `<moves>`.
2. A text above 120 characters (a printed line: 400) is its first 60, its length and the beginning
   of its own SHA-256, so that any change is seen. Of a list of more than 12 the first three are
   kept, and a digest, or two sums if it holds numbers.
3. Of what is printed, the words of each line; frames, colours and blank lines are not.
4. Lines of JSON are sorted. A CSV is its header, its first two rows, and of each column a digest,
   or two sums if it holds numbers. Of a page its visible text.
5. Numbers are compared to a relative 1e-8, the sums of columns too.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from commands import PROJECT_ROOT

LONGEST = 120
LONGEST_PRINTED = 400
LONGEST_LIST = 12
BEGINNING = 60
TOLERANCE = 1e-8
WIDTH = 110

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    r"|\b\d{8}T\d{6}Z|\b2\d{3}-\d\d-\d\d \d\d:\d\d UTC"
    # A day in words, and the year of the last entry of BibTeX, which is the program's.
    r"|\b\d{1,2} [A-Z][a-z]{2,8} 2\d{3}\b|(?<=^year = {)2\d{3}(?=}$)"
)
# A SHA-256, the UUID of a build, and what begins a hash: the folder of an audit, named after the
# judges' addresses, and names of a batch.
_HASH = re.compile(
    r"\b(?:[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:(?<=judge-audit-)|(?<=custom_id ))[0-9a-f]{12})\b"
)
# What pytest makes of the program's name in a line of usage.
_PROGRAM = re.compile(r"python -m pytest\.medeval")
_SECONDS = re.compile(r"\b\d+(\.\d+)? (s|seconds)\b")
_FRAME = re.compile(r"[\u2500-\u257f]|\x1b\[[0-9;]*m")
_TAG = re.compile(r"<[^>]*>")
_UNSEEN = re.compile(r"<(style|script|head)\b.*?</\1>", re.DOTALL)
# Keys whose value is another one each time, or with each version of a package.
_MOVING = {"seconds", "versions", "medeval_version", "built_with", "dbt_version", "duckdb_version"}
# The same of columns of a CSV.
_MOVING_COLUMNS = {"run", "made_at", "median_seconds"}


class Normal:
    """The rules for one scenario's folder and the address of its endpoint."""

    def __init__(self, folder: Path, address: str) -> None:
        self._names = [(str(folder), "<here>"), (str(PROJECT_ROOT), "<checkout>")]
        if address:
            self._names.append((address, "<endpoint>"))
            place = address.split("//")[1]
            # As a part of a judge's name, and without the path.
            self._names.append((re.sub("[:/]", "-", place), "<endpoint>"))
            self._names.append((place.split("/")[0], "<endpoint>"))

    def text(self, text: str) -> str:
        text = _PROGRAM.sub("medeval", text)
        for found, name in self._names:
            text = text.replace(found, name)
        return _HASH.sub("<hash>", _TIME.sub("<time>", text))

    def short(self, text: str) -> str:
        return shortened(self.text(text))

    def value(self, value: Any) -> Any:
        """Return a value read from JSON by the rules."""
        if isinstance(value, Mapping):
            return {
                self.text(str(name)): "<moves>" if name in _MOVING else self.value(inner)
                for name, inner in value.items()
            }
        if isinstance(value, Sequence) and not isinstance(value, str):
            return _short_list([self.value(inner) for inner in value])
        if isinstance(value, str):
            return self.short(value)
        if isinstance(value, float):
            return float(f"{value:.9g}") if math.isfinite(value) else str(value)
        return value

    def printed(self, text: str) -> list[str]:
        """Return the words of each line."""
        lines = [" ".join(_FRAME.sub(" ", line).split()) for line in text.splitlines()]
        return [
            shortened(self.text(_SECONDS.sub("<moves> s", line)), LONGEST_PRINTED)
            for line in lines
            if line
        ]

    def file(self, path: Path) -> Any:
        """Return what is kept of a file."""
        raw = path.read_bytes()
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return f"{len(raw)} bytes"
        if path.suffix == ".json":
            return self.value(json.loads(text))
        if path.suffix == ".jsonl":
            rows = [self._row(line) for line in text.splitlines()]
            return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        if path.suffix == ".csv" and text:
            return self._table(list(csv.reader(text.splitlines())))
        if path.suffix == ".html":
            text = html.unescape(_TAG.sub("\n", _UNSEEN.sub("", text)))
        return self.printed(text)

    def _row(self, line: str) -> Any:
        try:
            return self.value(json.loads(line))
        except json.JSONDecodeError:
            return {"torn": self.short(line)}

    def _table(self, rows: list[list[str]]) -> dict[str, Any]:
        for number, name in enumerate(rows[0]):
            for row in rows[1:] if name in _MOVING_COLUMNS else ():
                row[number] = "<moves>"
        columns = {
            name: _column([row[number] for row in rows[1:]]) for number, name in enumerate(rows[0])
        }
        first = [[self.value(_number(cell)) for cell in row] for row in rows[1:3]]
        return {"rows": len(rows) - 1, "first": first, "columns": columns}

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request: its parameters, and its messages each in one text."""
        kept = {name: value for name, value in body.items() if name != "messages"}
        for name in ("tools", "response_format"):
            if name in kept:
                kept[name] = shortened(json.dumps(kept[name], ensure_ascii=False, sort_keys=True))
        said = [
            self.short(f"{message['role']}: {_content(message)}") for message in body["messages"]
        ]
        return {**self.value(kept), "messages": said}


def shortened(text: str, longest: int = LONGEST) -> str:
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:BEGINNING]}... ({len(text)} characters, {digest})"


def _short_list(values: list[Any]) -> Any:
    if len(values) <= LONGEST_LIST:
        return values
    cells = [json.dumps(value, ensure_ascii=False, sort_keys=True) for value in values]
    return {"first": values[:3], "count": len(values), "all": _column(cells)}


def _content(message: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in message.items() if name not in {"role", "content"}}
    more = json.dumps(rest, ensure_ascii=False, sort_keys=True) if rest else ""
    content = message.get("content")
    return f"{content if isinstance(content, str) else json.dumps(content)}{more}"


def _number(cell: str) -> float | str:
    try:
        return float(cell) if math.isfinite(float(cell)) else cell
    except ValueError:
        return cell


def _column(cells: Sequence[str]) -> Any:
    numbers = [_number(cell) for cell in cells]
    if all(isinstance(number, float) for number in numbers):
        weighted = sum(number * (1 + place % 97) for place, number in enumerate(numbers))
        return [float(f"{sum(numbers):.9g}"), float(f"{weighted:.9g}")]
    return hashlib.sha256("\n".join(cells).encode()).hexdigest()[:16]


def differences(kept: Any, found: Any) -> Iterator[str]:
    """Yield where two records differ, in words."""
    before, now = dict(_leaves(kept)), dict(_leaves(found))
    for place in before | now:
        where = " > ".join(map(str, place))
        if place not in now:
            yield f"{where}: is gone; was {_told(before[place])}"
        elif place not in before:
            yield f"{where}: is new: {_told(now[place])}"
        elif not _is_same(before[place], now[place]):
            yield f"{where}: was {_told(before[place])}, is {_told(now[place])}"


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield what a record holds, each with its place; what is empty is held as well."""
    parts = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, part in parts:
        if part and isinstance(part, (Mapping, list)):
            yield from _leaves(part, (*place, name))
        else:
            yield (*place, name), part


def _is_same(kept: Any, found: Any) -> bool:
    numbers = (int, float)
    if isinstance(kept, bool) or isinstance(found, bool):
        return kept is found
    if isinstance(kept, numbers) and isinstance(found, numbers):
        return math.isclose(kept, found, rel_tol=TOLERANCE, abs_tol=1e-12)
    return bool(kept == found)


def _told(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))


def pretty(value: Any, indent: int = 0) -> str:
    """Return JSON in which what fits into a line is in one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not value or not isinstance(value, (dict, list)):
        return line
    room = " " * (indent + 1)
    if isinstance(value, dict):
        inner = [
            f"{room}{json.dumps(name, ensure_ascii=False)}: {pretty(one, indent + 1)}"
            for name, one in value.items()
        ]
    else:
        inner = [room + pretty(one, indent + 1) for one in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n" + ",\n".join(inner) + f"\n{' ' * indent}{end}"
