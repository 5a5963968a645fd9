"""Reasons given for a diagnosis: like the reference's, and resting on the case."""

from __future__ import annotations

from medeval.metrics.concepts import Lexicon
from medeval.metrics.consistency import supported_share
from medeval.metrics.item import Item, rationale_of
from medeval.metrics.matching import token_f1


def rationale_f1(item: Item) -> float | None:
    """Return the token F1 of the rationale; None if the reference has none."""
    return token_f1(rationale_of(item.reference), rationale_of(item.output))


def evidence_rate(item: Item, lexicon: Lexicon) -> float | None:
    """Return the share of the rationale's numbers and concepts that the case has; None for none."""
    return supported_share(rationale_of(item.output), (item.source_text,), lexicon)
