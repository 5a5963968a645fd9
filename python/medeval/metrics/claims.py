"""What a text claims, and how much of it others bear out.

Concepts and numbers are read by `concepts`. A lexicon knows few words, so that one with `forms`
also takes for content what its form gives away: names of drugs (by their endings, before a dose,
after "given"), doses and how often they are taken, left and right, and what a negation denies. The
words of the forms are in `data/forms.json`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from medeval.metrics import concepts
from medeval.metrics.concepts import Lexicon, NumberFact, Phrases, number_facts
from medeval.metrics.metric import Sample, metric, rationale_of, vocabulary

# Below this share of known words in a reference, a metric of known words says nothing.
LEAST_COVERAGE = 0.5
# What denies a word by its form reaches to the end of a list that ends in "or", or as a concept's.
_LIST_REACH = 12
# So many words of a clause may be what its "left" or "right" is said of.
_SIDE_REACH = 6

# A number and its unit.
_Amount = tuple[str, str]


class Claim(NamedTuple):
    """What a text says by its form: of what kind, about what, and what of it.

    A `drug`; an `amount` with its unit; the `dose` of a drug, and how `often`; the `side` of a part
    of the body; whether a `word` is denied; the word in a `slot`.
    """

    kind: str
    about: str
    value: str


class Reading(NamedTuple):
    """What a text holds.

    Attributes:
        numbers: see `number_facts`.
        findings: see `Lexicon.findings`.
        coverage: the share of the content words that are read; None without any.
        claims: those by form, but for denied words.
        words: findings and other words, each with how it is denied: 2 by "no", "without" and the
            like, which deny findings, known or not; 1 by "not" and the like; 0 for not at all.
        slots: unknown words, each behind the two words before it, or those after it at the start.
    """

    numbers: tuple[NumberFact, ...]
    findings: frozenset[concepts.Finding]
    coverage: float | None
    claims: frozenset[Claim] = frozenset()
    words: frozenset[tuple[str, int]] = frozenset()
    slots: frozenset[tuple[str, str]] = frozenset()

    def claims_beside(self, others: Collection[Reading]) -> frozenset[Claim]:
        """Return the claims by form.

        Of words, those that others deny or that are denied here, and those that no other has and
        that stand where another has a word that is not here: it may be the wrong drug.
        """
        own = {word for word, _ in self.words}
        known = {word for one in others for word, _ in one.words}
        denied = {word for one in others for word, denial in one.words if denial}
        replaced = {around for one in others for around, word in one.slots if word not in own}
        words = {
            Claim("word", word, "denied" if denial else "affirmed")
            for word, denial in self.words
            if denial == 2 or word in (known if denial else denied)
        }
        slots = {
            Claim("slot", around, word)
            for around, word in self.slots
            if word not in known and around in replaced
        }
        return self.claims | words | slots


_FORMS = vocabulary("forms")
_STOP_WORDS = frozenset(_FORMS["stop_words"])
_DRUG = re.compile(
    rf"(?=[a-z]{{6}})(?:[a-z]+(?:{'|'.join(_FORMS['drug_endings'])})"
    rf"|(?:{'|'.join(_FORMS['drug_beginnings'])})[a-z]+)"
)
_UNITS = concepts.UNITS | {name: unit for unit, names in _FORMS["units"].items() for name in names}
_COUNTED = "|".join(sorted(filter(str.isalpha, _UNITS), key=len, reverse=True))
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_FORMS['number_words'])})(?=[ -](?:{_COUNTED})\b)")
_OFTEN = Phrases(_FORMS["frequencies"])
_SIDES = {word: side for side, words in _FORMS["sides"].items() for word in words}
_CUES = {
    name: Phrases({name: _FORMS[name]}) for name in ("absent", "not", "non", "after", "treated")
}


@lru_cache(maxsize=4096)
def read(lexicon: Lexicon, text: str) -> Reading:
    """Return what a text holds; kept, as each text is compared more than once."""
    findings, text = lexicon.findings(text), concepts.folded(text)
    facts = tuple(number_facts(text))
    text = _NUMBER_WORD.sub(lambda found: _FORMS["number_words"][found.group()], text)
    numbers = list(concepts.spelled_numbers(text))
    claims: set[Claim] = set()
    said: set[tuple[str, int]] = set()
    slots: set[tuple[str, str]] = set()
    known = total = 0
    for clause in filter(None, concepts.clauses(text)):
        words = [token.text for token in clause]
        # The name at its first word, "" at the others; None at words that are in no name.
        names: list[str | None] = [None] * len(words)
        for start, end, name in lexicon.places(words):
            names[start:end] = [name, *[""] * (end - start - 1)]
        amounts = _amounts(clause, numbers)
        formed = {at: words[at] for at in _drugs(words, names, amounts)}
        drugs = {at: name for at, name in enumerate(names) if name in lexicon.drugs} | formed
        sides = list(_sides_of(words, names))
        claims.update(Claim("drug", drug, "") for drug in formed.values())
        claims.update(_doses(words, drugs, amounts), (claim for _, claim in sides))
        beside = {place for place, _ in sides if words[place - 1] in {*_SIDES, "sided"}}
        denial, negated = _denial(clause), concepts.after_cues(words)
        for at, (word, name_here) in enumerate(zip(words, names, strict=True)):
            if word in _STOP_WORDS and not name_here:
                continue
            total += 1
            by_its_form = at in drugs or at in beside or word[0].isdigit() or denial[at] == 2
            known += name_here is not None or by_its_form
            # What the lexicon takes as negated is a finding already.
            if name_here and (name_here in lexicon.things or at not in negated):
                said.add((name_here, denial[at]))
            elif name_here is None and concepts.A_WORD.fullmatch(word):
                said.add((_singular(word), denial[at]))
                around = words[at - 2 : at] if at > 1 else ["", *words[at + 1 : at + 3]]
                slots.add((" ".join(around), _singular(word)))
    coverage = known / total if total else None
    if not lexicon.has_forms:
        return Reading(facts, findings, coverage)
    return Reading(facts, findings, coverage, frozenset(claims), frozenset(said), frozenset(slots))


def _amounts(
    clause: Sequence[concepts.Token], numbers: Sequence[tuple[str, str, int]]
) -> dict[int, _Amount]:
    """Return the numbers of a clause that have a unit, by the place of their word."""
    starts, end = [token.start for token in clause], clause[-1].start + len(clause[-1].text)
    amounts = {}
    for value, written, place in numbers:
        # Two measures in one word, such as mg/kg, are a unit whatever they are, and two numbers,
        # such as 120/80, need none.
        unit = _UNITS.get(written) or (written if "/" in written else None)
        unit = unit or ("" if "/" in value else None)
        if unit is not None and starts[0] <= place < end:
            amounts[bisect_right(starts, place) - 1] = value, unit
    return amounts


def _drugs(
    words: Sequence[str], names: Sequence[str | None], amounts: Mapping[int, _Amount]
) -> Iterator[int]:
    """Yield where words stand that are drugs by their form, and in no lexicon."""
    given = {end for _, end, _ in _CUES["treated"].places(words)}
    for at, word in enumerate(words):
        is_named = _DRUG.fullmatch(word) is not None and word not in _FORMS["no_drugs"]
        has_dose = amounts.get(at + 1, ("", ""))[1] in _FORMS["dose_units"]
        is_given = at in given and not word.endswith(("ed", "ing", "s"))
        is_free = names[at] is None and word not in _STOP_WORDS and concepts.A_WORD.fullmatch(word)
        if is_free and (is_named or has_dose or is_given):
            yield at


def _doses(
    words: Sequence[str], drugs: Mapping[int, str], amounts: Mapping[int, _Amount]
) -> Iterator[Claim]:
    """Yield the amounts of a clause, and the doses of its drugs: of the last one named."""

    def drug_of(at: int) -> str:
        before = [place for place in drugs if place < at]
        near = [place for place in drugs if at <= place <= at + 4]
        return drugs[max(before) if before else min(near)] if before or near else ""

    times = _OFTEN.places(words)
    for at, (value, unit) in amounts.items():
        # "Every 8 hours" is no amount.
        if not any(start <= at < end for start, end, _ in times):
            yield Claim("amount", value, unit)
        if unit in _FORMS["dose_units"]:
            yield Claim("dose", drug_of(at), f"{value} {unit}")
    for start, _, how_often in times:
        yield Claim("often", drug_of(start), how_often)


def _sides_of(words: Sequence[str], names: Sequence[str | None]) -> Iterator[tuple[int, Claim]]:
    """Yield the sides of a clause: of the words behind, up to the next side, at their places.

    A side with no word behind it is said of something unknown.
    """
    for at, word in enumerate(words):
        side, behind = _SIDES.get(word), words[at + 1 : at + 2]
        is_verb = at > 0 and words[at - 1] in _FORMS["leavers"]
        if side is None or is_verb or set(behind) & set(_FORMS["no_sides"].get(side, ())):
            continue
        reach = range(at + 1, min(at + 1 + _SIDE_REACH, len(words)))
        about = [
            (place, names[place] or _singular(words[place]))
            for place in takewhile(lambda place: words[place] not in _SIDES, reach)
            if names[place] or words[place] not in _STOP_WORDS
        ]
        for place, name in about or [(at, "")]:
            yield place, Claim("side", name, side)


def _denial(clause: Sequence[concepts.Token]) -> list[int]:
    """Return of each word whether it is denied: 0 for no, 2 for a finding, 1 for any word."""
    words = [token.text for token in clause]
    denial = [0] * len(words)
    for strength, cues in ((2, "absent"), (1, "not")):
        for _, end, _ in _CUES[cues].places(words):
            in_list = [at for at in range(end, len(words)) if words[at] in ("or", "nor")]
            for at in range(end, min(end + _LIST_REACH, len(words))):
                is_beyond = not any(place > at for place in in_list)
                has_ended = words[at] in _FORMS["ends"] or (clause[at].after_comma and is_beyond)
                if (has_ended and at > end) or (is_beyond and at >= end + concepts.REACH):
                    break
                denial[at] = max(denial[at], strength)
    for _, end, _ in _CUES["non"].places(words):
        denial[end : end + 1] = [1] * len(words[end : end + 1])
    for start, end, _ in _CUES["after"].places(words):
        is_other_cue = words[end : end + 1] == ["for"]
        if is_other_cue or {"not", "cannot", "never"} & set(words[max(start - 2, 0) : start]):
            continue
        for at in range(start - 1, max(start - 1 - concepts.REACH, -1), -1):
            denial[at] = max(denial[at], 1)
            if clause[at].after_comma or words[at] == "and":
                break
    return denial


def coverage_of(item: Sample, *, lexicon: Lexicon) -> float | None:
    """Return the share of the reference's content words that are read; of the source without."""
    return read(lexicon, item.reference_text or item.source_text).coverage


@metric("clinical_relevance", coverage=coverage_of)
def clinical_relevance(item: Sample, *, lexicon: Lexicon) -> float | None:
    """Return the F1 of what the gold and the output say.

    None if neither says anything, or too little of the gold is known.
    """
    if _is_unknown(item, lexicon):
        return None
    gold, output = read(lexicon, item.reference_text), read(lexicon, item.output_text)
    supported, all_of_both = 0, 0
    for one, other in ((gold, output), (output, gold)):
        claims = one.claims_beside([other])
        supported += len(one.findings & other.findings) + _borne_out(claims, one, [other])
        all_of_both += len(one.findings) + len(claims)
    return supported / all_of_both if all_of_both else None


@metric("factual_consistency", coverage=coverage_of)
def factual_consistency(item: Sample, *, lexicon: Lexicon) -> float | None:
    """Return the share of the output's claims that the gold or the source makes too."""
    if _is_unknown(item, lexicon):
        return None
    own = read(lexicon, item.output_text)
    others = [read(lexicon, other) for other in (item.source_text, item.reference_text)]
    # An amount that is a number with a known unit counts once.
    claims = {
        claim
        for claim in own.claims_beside(others)
        if claim.kind != "amount" or (claim.about, claim.value) not in own.numbers
    }
    if not (n_claims := len(own.numbers) + len(own.findings) + len(claims)):
        return None
    findings = frozenset[concepts.Finding]().union(*(other.findings for other in others))
    known = [fact for other in others for fact in other.numbers]
    # A number in words is one too.
    spelt = {claim[1:] for other in others for claim in other.claims if claim.kind == "amount"}
    supported = _supported(own.numbers, [*known, *(NumberFact(*one) for one in spelt)])
    supported += len(own.findings & findings) + _borne_out(claims, own, others)
    return supported / n_claims


@metric("evidence_rate")
def evidence_rate(item: Sample, *, lexicon: Lexicon) -> float | None:
    """Return the share of the rationale's numbers and findings that the case has; None for none."""
    reasons, case = read(lexicon, rationale_of(item.output)), read(lexicon, item.source_text)
    findings = {one for one in reasons.findings if one.concept not in lexicon.things}
    n_claims = len(reasons.numbers) + len(findings)
    supported = _supported(reasons.numbers, case.numbers) + len(findings & case.findings)
    return supported / n_claims if n_claims else None


@metric("number_precision")
def number_precision(item: Sample) -> float | None:
    """Return the share of the output's facts that the gold or the source has; None for none."""
    facts = number_facts(item.output_text)
    known = number_facts(item.reference_text) + number_facts(item.source_text)
    return _supported(facts, known) / len(facts) if facts else None


@metric("number_recall")
def number_recall(item: Sample) -> float | None:
    """Return the share of the gold's facts that the output has; None for none."""
    facts = number_facts(item.reference_text)
    return _supported(facts, number_facts(item.output_text)) / len(facts) if facts else None


def _is_unknown(item: Sample, lexicon: Lexicon) -> bool:
    coverage = coverage_of(item, lexicon=lexicon)
    return coverage is not None and lexicon.has_forms and coverage < LEAST_COVERAGE


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


def _singular(word: str) -> str:
    """Return a word without the s of its plural."""
    is_plural = len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word
