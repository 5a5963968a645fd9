"""The JSON text of a CDM case, written out by hand: a million laboratory rows go through here.

The layout is that of `json.dumps(..., indent=2, ensure_ascii=False)` for `{"cases": [...]}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring

from medeval.warehouse import Row

HEAD = '{\n  "cases": [\n'
TAIL = "\n  ]\n}"
SPECIFICATION = "specification"
REFERENCE = "reference"

# Distinct names, units and times within one stretch of the output; far more than one case has.
_REMEMBERED = 1 << 14
# Below it a whole number is written with its digits alone, from it on with an exponent.
_EXPONENT_FROM = 1e15
# The smallest doubles whose neighbours are so far apart that a short decimal can lie between two.
_FAR_APART_FROM = 2.0**54


@dataclass(frozen=True)
class Layout:
    """What the two rule sets write differently.

    The reference's case has exactly its own names; the specification's has its own names for
    history and exam, the age at admission, unit and flag of a laboratory result, and says of
    itself what it is.
    """

    history: str
    physical_exam: str
    is_extended: bool


LAYOUTS = {
    SPECIFICATION: Layout("history_of_present_illness", "physical_exams", is_extended=True),
    REFERENCE: Layout("patient_history", "physical_exam_text", is_extended=False),
}


@dataclass(frozen=True)
class CaseParts:
    """The rows of one case, in output order.

    Attributes:
        hadm_id: the admission.
        pathology: the label; None if no diagnosis names one of the four.
        demographics: age, gender and age at admission; None without an admission row.
        history: the history of present illness with the past history.
        physical_exam: the physical exam at admission.
        labs: itemid, test_name, fluid, category, valuenum, value_text, value_origin, unit, flag,
            ref_range_lower, ref_range_upper, charttime, sequence_num.
        cultures: test_itemid, test_name, spec_type_desc, organism_name, comments, charttime,
            sequence_num.
        reports: note_id, exam_name, region, modality, text, charttime, sequence_num.
        diagnoses: titles of the primary diagnoses.
        treatments: title, icd_code, is_coded.
        data_class: whose data it is.
        provenance: name and value of what the case says about its making.
    """

    hadm_id: int
    pathology: str | None
    demographics: tuple[int | None, str | None, int | None] | None
    history: str
    physical_exam: str
    labs: Sequence[Row]
    cultures: Sequence[Row]
    reports: Sequence[Row]
    diagnoses: Sequence[str]
    treatments: Sequence[Row]
    data_class: str
    provenance: dict[str, str | None]


def case_text(case: CaseParts, layout: Layout) -> str:
    """Return a case as indented JSON, as it stands in the list of cases."""
    labs = _labs(case.labs, _unit_and_flag if layout.is_extended else _nothing)
    fields = [
        f'"hadm_id": {case.hadm_id:d}',
        f'"pathology": {_text(case.pathology)}',
        f'"demographics": {_demographics(case, layout)}',
        f'"{layout.history}": {_text(case.history)}',
        f'"lab_results": {_array(labs)}',
        f'"microbiology_events": {_array(_cultures(case.cultures))}',
        f'"radiology_reports": {_array(_reports(case.reports))}',
        f'"{layout.physical_exam}": {_text(case.physical_exam)}',
        f'"ground_truth": {_ground_truth(case)}',
    ]
    if layout.is_extended:
        fields += [f'"data_class": {_text(case.data_class)}', f'"provenance": {_provenance(case)}']
    return "    {\n      " + ",\n      ".join(fields) + "\n    }"


def one_line(text: str) -> str:
    r"""Return indented JSON as one line.

    A line break inside a text is written `\n`, so each one here is between two values.
    """
    return " ".join(map(str.lstrip, text.split("\n"))).lstrip() + "\n"


def provenance_line(case: CaseParts) -> str:
    """Return what a case of the reference's layout has no place for, as a line of JSON."""
    pairs = ", ".join(f'"{name}": {_text(value)}' for name, value in case.provenance.items())
    return (
        f'{{"hadm_id": {case.hadm_id:d}, "data_class": {_text(case.data_class)},'
        f' "provenance": {{{pairs}}}}}\n'
    )


def lab_value(
    valuenum: float | None, value_text: str | None, value_origin: str, unit: str | None
) -> str:
    """Return the value that a reader sees as a JSON text.

    The number in PostgreSQL's form if there is one, else the text that stands for it; the unit
    behind a number or a charted value, not behind a flag or a comment.
    """
    if valuenum is not None:
        return f'"{float8_text(valuenum)}{_unit(unit)}'
    if value_origin in ("flag", "comments"):
        return _text(value_text)
    return _text(value_text)[:-1] + _unit(unit) if value_text is not None else "null"


def _labs(rows: Iterable[Row], more: Callable[[str | None, str | None], str]) -> list[str]:
    return [
        f"{_lab_names(itemid, name, fluid, category)}"
        f"{lab_value(number, value_text, origin, unit)}{more(unit, flag)}"
        f',\n          "ref_range_lower": {_number(lower)}'
        f',\n          "ref_range_upper": {_number(upper)}'
        f"{_moment(charttime)}{sequence:d}\n        }}"
        for (
            itemid,
            name,
            fluid,
            category,
            number,
            value_text,
            origin,
            unit,
            flag,
            lower,
            upper,
            charttime,
            sequence,
        ) in rows
    ]


@lru_cache(_REMEMBERED)
def _lab_names(itemid: int, name: str | None, fluid: str | None, category: str | None) -> str:
    fields = f'"itemid": {itemid:d}', f'"test_name": {_text(name)}', f'"fluid": {_text(fluid)}'
    return _open(*fields, f'"category": {_text(category)}', '"value": ')


@lru_cache(_REMEMBERED)
def _unit_and_flag(unit: str | None, flag: str | None) -> str:
    return f',\n          "unit": {_text(unit)},\n          "flag": {_text(flag)}'


def _nothing(unit: str | None, flag: str | None) -> str:
    return ""


def _cultures(rows: Iterable[Row]) -> list[str]:
    return [
        _open(
            f'"test_itemid": {"null" if itemid is None else itemid}',
            f'"test_name": {_text(name)}',
            f'"spec_type_desc": {_text(specimen)}',
            f'"organism_name": {_text(organism)}',
            f'"comments": {_text(comments)}',
        )
        + f"{_moment(charttime)}{sequence:d}\n        }}"
        for itemid, name, specimen, organism, comments, charttime, sequence in rows
    ]


def _reports(rows: Iterable[Row]) -> list[str]:
    return [
        _open(
            f'"note_id": {_text(note)}',
            f'"exam_name": {_text(name)}',
            f'"region": {_text(region)}',
            f'"modality": {_text(modality)}',
            f'"text": {_text(text)}',
        )
        + f"{_moment(charttime)}{sequence:d}\n        }}"
        for note, name, region, modality, text, charttime, sequence in rows
    ]


def _ground_truth(case: CaseParts) -> str:
    titles = [f"          {_text(title)}" for title in case.diagnoses]
    treatments = [
        '          {\n            "title": '
        f'{_text(title)},\n            "icd_code": {_text(code)},\n            "is_coded": '
        f"{'true' if is_coded else 'false'}\n          }}"
        for title, code, is_coded in case.treatments
    ]
    return (
        f'{{\n        "primary_diagnosis": {_array(titles, 8)},\n        "treatments": '
        f"{_array(treatments, 8)}\n      }}"
    )


def _demographics(case: CaseParts, layout: Layout) -> str:
    if case.demographics is None:
        return "null"
    age, gender, age_at_admission = case.demographics
    fields = [f'"age": {_whole(age)}', f'"gender": {_text(gender)}']
    if layout.is_extended:
        fields.append(f'"age_at_admission": {_whole(age_at_admission)}')
    return "{\n        " + ",\n        ".join(fields) + "\n      }"


def _provenance(case: CaseParts) -> str:
    fields = [f'"{name}": {_text(value)}' for name, value in case.provenance.items()]
    return "{\n        " + ",\n        ".join(fields) + "\n      }"


def _array(items: list[str], indent: int = 6) -> str:
    return "[\n" + ",\n".join(items) + "\n" + " " * indent + "]" if items else "[]"


def _open(*fields: str) -> str:
    return "        {\n          " + ",\n          ".join(fields)


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def _whole(value: int | None) -> str:
    return "null" if value is None else f"{value:d}"


def _number(value: float | None) -> str:
    return repr(value) if value is not None and math.isfinite(value) else "null"


@lru_cache(_REMEMBERED)
def _unit(unit: str | None) -> str:
    """Return the rest of a value: a space and the unit, and the closing quote."""
    return '"' if unit is None else encode_basestring(" " + unit)[1:]


@lru_cache(_REMEMBERED)
def _moment(time: datetime | None) -> str:
    written = "null" if time is None else f'"{time.isoformat(timespec="seconds")}"'
    return f',\n          "charttime": {written},\n          "sequence_num": '


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
    if size < _FAR_APART_FROM:
        return text if "e" in text else _with_exponent(text)
    if math.isfinite(number):
        return _inside_digits(number, text)
    return "NaN" if math.isnan(number) else ("Infinity" if number > 0 else "-Infinity")


def _with_exponent(text: str) -> str:
    """Write a number of at least 1e15 in scientific form, with the digits it has."""
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = text.removeprefix("-").partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).rstrip("0")
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e+{len(whole) - 1:02d}"


def _inside_digits(number: float, text: str) -> str:
    """Return the shortest digits that lie nearer to this double than to any other.

    Python also takes digits that lie half-way to a neighbour where rounding to even comes back to
    the double (1e23); PostgreSQL does not, and writes 9.999999999999999e+22.
    """
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
