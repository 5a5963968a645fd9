"""Claims of a text, numbers and concepts, and how many of them others bear out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from medeval.metrics.concepts import Finding, Lexicon
from medeval.metrics.matching import token_f1
from medeval.metrics.metric import Item, metric
from medeval.metrics.text import CJK, text_of, vocabulary

# In compatibility form, in which the micro sign is the Greek letter.
UNITS = {spelling: unit for unit, names in vocabulary("units").items() for spelling in names}

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
    facts: dict[NumberFact, None] = {}
    # Before the compatibility form makes 109 of ten to the ninth.
    raised = _SUPERSCRIPTS.sub(lambda found: "^" + found.group(), text)
    text = unicodedata.normalize("NFKC", raised)
    for found in _NUMBER.finditer(text):
        before = text[max(found.start() - 2, 0) : found.start()]
        if _PART_OF_A_NAME.search(before):
            continue
        value = "/".join(map(_plain, found.group().split("/")))
        sign = "-" if _MINUS.search(before) and value.strip("0/") else ""
        after = _UNIT.match(text, found.end())
        unit = UNITS.get(" ".join(after.group(1).casefold().split())) if after else None
        facts[NumberFact(sign + value, unit)] = None
    return list(facts)


def _supported(facts: Collection[NumberFact], by: Collection[NumberFact]) -> int:
    """Return how many facts have an equal one, where a missing unit fits any."""
    return sum(
        any(
            fact.value == other.value
            and (fact.unit == other.unit or fact.unit is None or other.unit is None)
            for other in by
        )
        for fact in facts
    )


@metric("number_precision")
def number_precision(item: Item) -> float | None:
    """Return the share of the output's facts that the gold or the source has; None for none."""
    facts = number_facts(item.output_text)
    known = number_facts(item.reference_text) + number_facts(item.source_text)
    return _supported(facts, known) / len(facts) if facts else None


@metric("number_recall")
def number_recall(item: Item) -> float | None:
    """Return the share of the gold's facts that the output has; None for none."""
    facts = number_facts(item.reference_text)
    return _supported(facts, number_facts(item.output_text)) / len(facts) if facts else None


def _plain(number: str) -> str:
    """Return one spelling for equal numbers: 05 and 5, 3.50 and 3.5, 12,000 and 12000."""
    value = format(Decimal(number.replace(",", "")), "f")
    return value.rstrip("0").rstrip(".") if "." in value else value


def supported_share(text: str, by: tuple[str, ...], lexicon: Lexicon) -> float | None:
    """Return the share of a text's claims that one of the other texts makes too; None for none."""
    numbers, findings = number_facts(text), lexicon.findings(text)
    if not numbers and not findings:
        return None
    known = [fact for other in by for fact in number_facts(other)]
    found = frozenset[Finding]().union(*map(lexicon.findings, by))
    supported = _supported(numbers, known) + len(findings & found)
    return supported / (len(numbers) + len(findings))


@metric("factual_consistency")
def factual_consistency(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the output's claims that the gold or the source makes too."""
    return supported_share(item.output_text, (item.source_text, item.reference_text), lexicon)


@metric("reasoning_quality")
def rationale_f1(item: Item) -> float | None:
    """Return the token F1 of the rationale; None if the reference has none."""
    return token_f1(rationale_of(item.reference), rationale_of(item.output))


@metric("evidence_rate")
def evidence_rate(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the rationale's numbers and concepts that the case has; None for none."""
    return supported_share(rationale_of(item.output), (item.source_text,), lexicon)


def rationale_of(record: Mapping[str, Any]) -> str:
    """Return the reasons given in a record: its `explanation`, else its `rationale`."""
    return text_of(record.get("explanation")) or text_of(record.get("rationale"))
