"""How much of what a text says others bear out; what it says is read by `concepts`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from medeval.metrics.concepts import Claim, Finding, Lexicon, NumberFact, Reading, number_facts
from medeval.metrics.metric import Item, metric, rationale_of


def coverage_of(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the reference's content words that are read; of the source without."""
    return lexicon.read(item.reference_text or item.source_text).coverage


@metric("clinical_relevance", coverage=coverage_of)
def clinical_relevance(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the F1 of what the gold and the output say.

    None if neither says anything, or too little of the gold is known.
    """
    if _is_unknown(item, lexicon):
        return None
    gold, output = lexicon.read(item.reference_text), lexicon.read(item.output_text)
    supported, all_of_both = 0, 0
    for one, other in ((gold, output), (output, gold)):
        claims = one.claims_beside([other])
        supported += len(one.findings & other.findings) + _borne_out(claims, one, [other])
        all_of_both += len(one.findings) + len(claims)
    return supported / all_of_both if all_of_both else None


@metric("factual_consistency", coverage=coverage_of)
def factual_consistency(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the output's claims that the gold or the source makes too."""
    if _is_unknown(item, lexicon):
        return None
    own = lexicon.read(item.output_text)
    others = [lexicon.read(other) for other in (item.source_text, item.reference_text)]
    # An amount that is a number with a known unit counts once.
    claims = {
        claim
        for claim in own.claims_beside(others)
        if claim.kind != "amount" or (claim.about, claim.value) not in own.numbers
    }
    n_claims = len(own.numbers) + len(own.findings) + len(claims)
    if not n_claims:
        return None
    findings = frozenset[Finding]().union(*(other.findings for other in others))
    known = [fact for other in others for fact in other.numbers]
    # A number in words is one too.
    spelt = {claim[1:] for other in others for claim in other.claims if claim.kind == "amount"}
    supported = _supported(own.numbers, [*known, *(NumberFact(*one) for one in spelt)])
    supported += len(own.findings & findings) + _borne_out(claims, own, others)
    return supported / n_claims


@metric("evidence_rate")
def evidence_rate(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the share of the rationale's numbers and findings that the case has; None for none."""
    reasons, case = lexicon.read(rationale_of(item.output)), lexicon.read(item.source_text)
    findings = {one for one in reasons.findings if one.concept not in lexicon.things}
    n_claims = len(reasons.numbers) + len(findings)
    supported = _supported(reasons.numbers, case.numbers) + len(findings & case.findings)
    return supported / n_claims if n_claims else None


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


def _is_unknown(item: Item, lexicon: Lexicon) -> bool:
    coverage = coverage_of(item, lexicon=lexicon)
    return coverage is not None and coverage < lexicon.least_coverage


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


def _borne_out(claims: Collection[Claim], own: Reading, others: Sequence[Reading]) -> int:
    """Return how many claims by form others make too.

    A dose or a side that others tell of something else, or of nothing, fits if they tell nothing
    else of what it is told of here.
    """
    known = frozenset[Claim]().union(
        *(
            other.claims_beside([own, *others[:place], *others[place + 1 :]])
            for place, other in enumerate(others)
        )
    )
    bare = {fact.value for other in others for fact in other.numbers if fact.unit is None}
    bare -= {claim.about for claim in known if claim.kind == "amount"}
    bound = {(claim.kind, claim.about) for claim in known if claim.about}
    told = {(claim.kind, claim.value) for claim in known if claim.kind in ("dose", "often", "side")}
    return sum(
        claim in known
        or (claim.kind == "amount" and claim.about in bare)
        or ((claim.kind, claim.value) in told and (claim.kind, claim.about) not in bound)
        for claim in claims
    )
