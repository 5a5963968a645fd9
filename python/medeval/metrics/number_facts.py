"""Numbers with their units, as a reader would check them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import NamedTuple

from medeval.metrics.metric import Item, metric
from medeval.metrics.text import CJK

_SPELLINGS = {
    "mg": ("mg",),
    "g": ("g",),
    "mcg": ("mcg", "μg", "ug"),  # the compatibility form of the micro sign is the Greek letter
    "kg": ("kg",),
    "ml": ("ml",),
    "l": ("l",),
    "mmol/l": ("mmol/l",),
    "mmhg": ("mmhg", "mm hg"),
    "bpm": ("bpm",),
    "%": ("%", "percent"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "day": ("day", "days"),
    "week": ("week", "weeks"),
    "month": ("month", "months"),
    "year": ("year", "years"),
    "cm": ("cm",),
    "mm": ("mm",),
    "unit": ("unit", "units"),
    "tablet": ("tablet", "tablets"),
}
UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}

_ONE = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+)"
_NUMBER = re.compile(rf"{_ONE}(?:/{_ONE}){{0,2}}")
# Chinese has no space before a number, so that a character there makes no name of it.
_LETTER = rf"[^\W\d_{CJK}]"
# "mm Hg" is one unit, and not millimetres.
_UNIT = re.compile(
    rf"(?:[ \t]*|-)(mm[ \t]hg(?!{_LETTER})|%|{_LETTER}+(?:/{_LETTER}+)?)", re.IGNORECASE
)
# B12, COVID-19; and the 9 of 10^9.
_PART_OF_A_NAME = re.compile(rf"(?:{_LETTER}-?|\^)\Z")
_MINUS = re.compile(r"(?:^|[\s(\[{])[-\u2212]\Z")
_SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


class NumberFact(NamedTuple):
    """A number and the unit behind it, if that is a known one."""

    value: str
    unit: str | None


def number_facts(text: str) -> list[NumberFact]:
    """Return the distinct facts of a text in order of appearance.

    `120/80` is one fact, the range `3-5` two. Digits that belong to a name (B12, COVID-19) are
    none. Nothing is converted from one unit to another.
    """
    return list(dict.fromkeys(_facts(text)))


def is_supported(fact: NumberFact, by: Collection[NumberFact]) -> bool:
    """Tell whether a fact has an equal one, where a missing unit fits any."""
    return any(
        fact.value == other.value
        and (fact.unit == other.unit or fact.unit is None or other.unit is None)
        for other in by
    )


@metric(
    "number_precision",
    "share of the output's numbers that gold or source has",
    "no number in the output",
)
def number_precision(item: Item) -> float | None:
    """Return the share of the output's facts that the gold or the source has; None for none."""
    known = number_facts(item.reference_text) + number_facts(item.source_text)
    return _share(number_facts(item.output_text), known)


@metric(
    "number_recall", "share of the gold's numbers that the output has", "no number in the reference"
)
def number_recall(item: Item) -> float | None:
    """Return the share of the gold's facts that the output has; None for none."""
    return _share(number_facts(item.reference_text), number_facts(item.output_text))


def _share(facts: Collection[NumberFact], by: Collection[NumberFact]) -> float | None:
    if not facts:
        return None
    return sum(is_supported(fact, by) for fact in facts) / len(facts)


def _facts(text: str) -> Iterator[NumberFact]:
    # Before the compatibility form makes 109 of ten to the ninth.
    raised = _SUPERSCRIPTS.sub(lambda found: "^" + found.group(), text)
    text = unicodedata.normalize("NFKC", raised)
    for found in _NUMBER.finditer(text):
        before = text[max(found.start() - 2, 0) : found.start()]
        if _PART_OF_A_NAME.search(before):
            continue
        value = "/".join(map(_plain, found.group().split("/")))
        sign = "-" if _MINUS.search(before) and value.strip("0/") else ""
        yield NumberFact(sign + value, _unit_after(text, found.end()))


def _plain(number: str) -> str:
    """Return one spelling for equal numbers: 05 and 5, 3.50 and 3.5, 12,000 and 12000."""
    value = format(Decimal(number.replace(",", "")), "f")
    return value.rstrip("0").rstrip(".") if "." in value else value


def _unit_after(text: str, place: int) -> str | None:
    found = _UNIT.match(text, place)
    return UNITS.get(" ".join(found.group(1).casefold().split())) if found else None
