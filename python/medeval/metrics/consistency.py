"""Claims of a text, and how many of them others bear out."""

from __future__ import annotations

from dataclasses import dataclass

from medeval.metrics.concepts import Finding, Lexicon
from medeval.metrics.number_facts import NumberFact, is_supported, number_facts


@dataclass(frozen=True)
class Claims:
    """What a text claims: numbers with units, and concepts with polarity."""

    numbers: tuple[NumberFact, ...]
    findings: frozenset[Finding]

    def __len__(self) -> int:
        return len(self.numbers) + len(self.findings)


def claims_of(text: str, lexicon: Lexicon) -> Claims:
    """Return the claims of a text."""
    return Claims(tuple(number_facts(text)), lexicon.findings(text))


def supported_share(text: str, by: tuple[str, ...], lexicon: Lexicon) -> float | None:
    """Return the share of a text's claims that one of the other texts makes too; None for none."""
    claims = claims_of(text, lexicon)
    if not len(claims):
        return None
    others = [claims_of(other, lexicon) for other in by]
    numbers = [fact for other in others for fact in other.numbers]
    findings = frozenset[Finding]().union(*(other.findings for other in others))
    supported = sum(is_supported(fact, numbers) for fact in claims.numbers)
    return (supported + len(claims.findings & findings)) / len(claims)
