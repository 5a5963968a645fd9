"""Claims of a text, numbers and concepts, and how many of them others bear out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medeval.metrics.concepts import Finding, Lexicon
from medeval.metrics.matching import token_f1
from medeval.metrics.metric import Item, metric
from medeval.metrics.number_facts import is_supported, number_facts
from medeval.metrics.text import text_of


def supported_share(text: str, by: tuple[str, ...], lexicon: Lexicon) -> float | None:
    """Return the share of a text's claims that one of the other texts makes too; None for none."""
    numbers, findings = number_facts(text), lexicon.findings(text)
    if not numbers and not findings:
        return None
    known = [fact for other in by for fact in number_facts(other)]
    found = frozenset[Finding]().union(*map(lexicon.findings, by))
    supported = sum(is_supported(fact, known) for fact in numbers)
    return (supported + len(findings & found)) / (len(numbers) + len(findings))


@metric(
    "factual_consistency",
    "share of the output's numbers and concepts that gold or source has",
    "no number and no known concept in the output",
)
def factual_consistency(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the output's claims that the gold or the source makes too."""
    return supported_share(item.output_text, (item.source_text, item.reference_text), lexicon)


@metric("reasoning_quality", "F1 of the rationale's tokens", "no rationale in the reference")
def rationale_f1(item: Item) -> float | None:
    """Return the token F1 of the rationale; None if the reference has none."""
    return token_f1(rationale_of(item.reference), rationale_of(item.output))


@metric(
    "evidence_rate",
    "share of the rationale's numbers and concepts that the case has",
    "no number and no known concept in the rationale",
)
def evidence_rate(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the rationale's numbers and concepts that the case has; None for none."""
    return supported_share(rationale_of(item.output), (item.source_text,), lexicon)


def rationale_of(record: Mapping[str, Any]) -> str:
    """Return the reasons given in a record: its `explanation`, else its `rationale`."""
    return text_of(record.get("explanation")) or text_of(record.get("rationale"))
