"""The JSON of a case: a million laboratory rows go through here.

The layout is that of `json.dumps(..., indent=2, ensure_ascii=False)` for `{"cases": [...]}`. Python
indents slowly, so flat objects go through its fast encoder, with line breaks for separators.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from medeval.warehouse import Row

HEAD = '{\n  "cases": [\n'
TAIL = "\n  ]\n}"
# What a case shows of a row, by the names of the columns.
CULTURE = "test_itemid, test_name, spec_type_desc, organism_name, comments, charttime, sequence_num"
REPORT = "note_id, exam_name, region, modality, text, charttime, sequence_num"
TREATMENT = "title, icd_code, is_coded"

Case = dict[str, Any]

# Below it a whole number is written with its digits alone, from it on with an exponent.
_EXPONENT_FROM = 1e15
# The smallest doubles whose neighbours are so far apart that a short decimal can lie between two.
_FAR_APART_FROM = 2.0**54


def lab_result(row: Row, is_extended: bool) -> Case:
    """Return a laboratory result; the specification shows unit and flag too."""
    itemid, name, fluid, category, number, text, value_origin, unit, flag, low, high = row[:11]
    charttime, sequence_num = row[11:]
    more = {"unit": unit, "flag": flag} if is_extended else {}
    return {
        "itemid": itemid,
        "test_name": name,
        "fluid": fluid,
        "category": category,
        "value": lab_value(number, text, value_origin, unit),
        **more,
        "ref_range_lower": low if low is not None and math.isfinite(low) else None,
        "ref_range_upper": high if high is not None and math.isfinite(high) else None,
        "charttime": _moment(charttime),
        "sequence_num": sequence_num,
    }


def timed(columns: str, row: Row) -> Case:
    """Return a row by the names of its columns, `charttime` as text to the second."""
    case = named(columns, row)
    case["charttime"] = _moment(case["charttime"])
    return case


@lru_cache(1 << 14)
def _moment(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")


def named(columns: str, row: Row) -> Case:
    """Return a row by the names of its columns."""
    return dict(zip(columns.split(", "), row, strict=True))


def indented(value: Any, indent: int) -> str:
    """Return a value as it stands at a depth of indented JSON.

    Args:
        value: what JSON has; an object in a list holds neither objects nor lists.
        indent: blanks before the line on which it ends.
    """
    outer, inner = "\n" + " " * indent, "\n" + " " * (indent + 2)
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        members = (f'"{name}": {indented(each, indent + 2)}' for name, each in value.items())
        return f"{{{inner}{f',{inner}'.join(members)}{outer}}}"
    if not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    is_rows = isinstance(value, list) and isinstance(value[0], dict)
    between = f"{inner}  " if is_rows else inner
    text = json.JSONEncoder(ensure_ascii=False, separators=(f",{between}", ": ")).encode(value)
    if is_rows:
        # No text has a line break as it stands, so that each one here is between two values.
        rows = text[2:-2].replace(f"}},{between}{{", f"{inner}}},{inner}{{{between}")
        text = f"[{{{between}{rows}{inner}}}]"
    return f"{text[0]}{inner}{text[1:-1]}{outer}{text[-1]}"


def one_line(text: str) -> str:
    r"""Return indented JSON as one line.

    A line break inside a text is written `\n`, so each one here is between two values.
    """
    return " ".join(map(str.lstrip, text.split("\n"))).lstrip() + "\n"


def lab_value(
    valuenum: float | None, value_text: str | None, value_origin: str, unit: str | None
) -> str | None:
    """Return the value that a reader sees.

    The number in PostgreSQL's form if there is one, else the text that stands for it; the unit
    behind a number or a charted value, not behind a flag or a comment.
    """
    if valuenum is not None:
        value = float8_text(valuenum)
    elif value_text is None or value_origin in ("flag", "comments"):
        return value_text
    else:
        value = value_text
    return value if unit is None else f"{value} {unit}"


def float8_text(number: float) -> str:
    """Return a double as PostgreSQL's `cast(... as text)` writes it.

    The rule: the shortest digits that read back to the same double; no decimal point behind a
    whole number; an exponent of at least two digits below 1e-4 and from 1e15 on. So `12`, `0.1`,
    `1e-05`, `1e+15`, `NaN`, `-Infinity`.
    """
    text = repr(number)
    size = abs(number)
    if size < _EXPONENT_FROM:
        return text.removesuffix(".0")
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")
    if size < _FAR_APART_FROM:
        n_digits = len(text.strip("-").rstrip("0").replace(".", "").rstrip("0"))
        return text if "e" in text else f"{number:.{n_digits - 1}e}"
    # Python also takes digits that lie half-way to a neighbour where rounding to even comes back to
    # the double (1e23); PostgreSQL does not, and writes 9.999999999999999e+22.
    if _is_half_way(number, text):
        for precision in range(len(text.split("e")[0].strip("-").replace(".", "")), 18):
            candidate = f"{number:.{precision}e}"
            if float(candidate) == number and not _is_half_way(number, candidate):
                return candidate
    return text


def _is_half_way(number: float, text: str) -> bool:
    written, exact = Fraction(text), Fraction(number)
    neighbour = math.nextafter(number, math.inf if written > exact else -math.inf)
    return math.isfinite(neighbour) and written * 2 == exact + Fraction(neighbour)
