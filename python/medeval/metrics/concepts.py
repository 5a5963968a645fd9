"""What a text says: clinical concepts, numbers, and content that its form gives away.

Concepts come from a lexicon, each affirmed or negated; numbers are read with their units. A lexicon
knows few words. With `forms` it also takes for content what its form gives away: names of drugs (by
their endings, before a dose, after "given"), doses and how often they are taken, left and right,
and what a negation denies. The words of the forms are in `data/forms.json`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from medeval.metrics.metric import CJK, vocabulary

Polarity = Literal["affirmed", "negated"]

# What denies the terms behind it, and how many tokens before a term it may end.
_CUES = [cue.split() for cue in vocabulary("negations")["cues"]]
REACH = 5
# What denies a word by its form reaches as far, or to the end of a list that ends in "or".
_LIST_REACH = 12
_CLAUSE_WORDS = ("but", "however")
# A number is one token, with its decimal point, which ends no clause; nor does a comma.
_PIECE = re.compile(
    rf"(?P<token>\d+(?:[.,/]\d+)+|[{CJK}]|[^\W_{CJK}]+)|(?P<end>[.;:!?。\n])|(?P<comma>,)"
)
# In compatibility form, in which the micro sign is the Greek letter.
UNITS = {spelling: unit for unit, names in vocabulary("units").items() for spelling in names}
# Below this share of known words in a reference, a metric of known words says nothing.
LEAST_COVERAGE = 0.5

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
_A_WORD = re.compile(rf"{_LETTER}{{3,}}")
_SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


class NumberFact(NamedTuple):
    """A number and the unit behind it, if that is a known one."""

    value: str
    unit: str | None


class Finding(NamedTuple):
    """A concept and whether the text says that it is there."""

    concept: str
    polarity: Polarity


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
        claims: those by form, but for denied words.
        absent: words that "no", "without" and the like deny: findings, whether known or not.
        denied: words that "not" and the like deny, which may be any.
        affirmed: the other words.
        slots: unknown words, each behind the two words before it.
        coverage: the share of the content words that are read; None without any.
    """

    numbers: tuple[NumberFact, ...]
    findings: frozenset[Finding]
    claims: frozenset[Claim] = frozenset()
    absent: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    affirmed: frozenset[str] = frozenset()
    slots: frozenset[tuple[str, str]] = frozenset()
    coverage: float | None = None

    def claims_beside(self, others: Collection[Reading]) -> frozenset[Claim]:
        """Return the claims by form.

        Of words, those that others deny or that are denied here, and those that no other has and
        that stand where another has a word that is not here: it may be the wrong drug.
        """
        own = self.absent | self.denied | self.affirmed
        known = {word for one in others for word in one.absent | one.denied | one.affirmed}
        elsewhere = {word for one in others for word in one.absent | one.denied}
        replaced = {before for one in others for before, word in one.slots if word not in own}
        denied = self.absent | (self.denied & known)
        return (
            self.claims
            | {Claim("word", word, "denied") for word in denied}
            | {Claim("word", word, "affirmed") for word in self.affirmed & elsewhere}
            | {
                Claim("slot", before, word)
                for before, word in self.slots
                if word not in known and before in replaced
            }
        )


class Phrases:
    """Names with the terms that stand for them, found in the words of a clause."""

    def __init__(self, terms: Mapping[str, Sequence[str]]) -> None:
        """Take names with their terms; case does not matter.

        Raises:
            ValueError: a term without letters or digits, or one term for two names.
        """
        self._names: dict[tuple[str, ...], str] = {}
        for name, spellings in terms.items():
            for term in spellings:
                key = tuple(token.text for clause in _clauses(_folded(term)) for token in clause)
                if not key:
                    raise ValueError(f"Concept {name!r} has the term {term!r} without a word")
                if self._names.setdefault(key, name) != name:
                    raise ValueError(f"{term!r} means both {self._names[key]!r} and {name!r}")
        self._lengths = sorted({len(key) for key in self._names}, reverse=True)

    def places(self, words: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return where each name stands, longer terms before the shorter ones they contain."""
        taken = [False] * len(words)
        found = []
        for length in self._lengths:
            for start in range(len(words) - length + 1):
                name = self._names.get(tuple(words[start : start + length]))
                if name is not None and not any(taken[start : start + length]):
                    taken[start : start + length] = [True] * length
                    found.append((start, start + length, name))
        return found


class Lexicon(Phrases):
    """Clinical concepts with the terms that stand for them."""

    def __init__(
        self,
        concepts: Mapping[str, Sequence[str]],
        *,
        drugs: Mapping[str, Sequence[str]] | None = None,
        things: Mapping[str, Sequence[str]] | None = None,
        forms: bool = False,
    ) -> None:
        """Take concepts with their terms; case does not matter.

        Args:
            concepts: what is looked for, and may be there or not.
            drugs: the same, but they have doses.
            things: what is never negated, such as organs and measurements.
            forms: take for content what its form gives away, and leave a score undefined where
                less than `LEAST_COVERAGE` of the reference is known.

        Raises:
            ValueError: a term without letters or digits, or one term for two concepts.
        """
        super().__init__({**concepts, **(drugs or {}), **(things or {})})
        self.drugs, self.things = frozenset(drugs or ()), frozenset(things or ())
        self.least_coverage = LEAST_COVERAGE if forms else 0.0
        self._has_forms = forms
        # A task's texts are read for each metric, and for each order in which chance is tried.
        self.read = lru_cache(maxsize=4096)(self._read)

    def findings(self, text: str) -> frozenset[Finding]:
        """Return the concepts of a text, a concept negated where a cue ends 1 to 5 tokens before.

        Clauses end at full stops, colons, question marks, new lines, "but" and "however".
        """
        return self.read(text).findings

    def _read(self, text: str) -> Reading:
        numbers = tuple(number_facts(text))
        text = _folded(text)
        findings = set()
        for clause in _clauses(text):
            words = [token.text for token in clause]
            negated = _after_cues(words)
            for start, _, name in self.places(words):
                is_negated = start in negated and name not in self.things
                findings.add(Finding(name, "negated" if is_negated else "affirmed"))
        reading = _forms().read(self, text, Reading(numbers, frozenset(findings)))
        if self._has_forms:
            return reading
        return Reading(numbers, reading.findings, coverage=reading.coverage)


class _Token(NamedTuple):
    text: str
    start: int
    after_comma: bool


class _Forms:
    """The words by which the form of content is known."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._stop_words = frozenset(told["stop_words"])
        endings, beginnings = ("|".join(told[name]) for name in ("drug_endings", "drug_beginnings"))
        self._drug = re.compile(rf"(?=[a-z]{{6}})(?:[a-z]+(?:{endings})|(?:{beginnings})[a-z]+)")
        self._no_drugs = frozenset(told["no_drugs"])
        self._units = UNITS | {
            spelling: unit for unit, names in told["units"].items() for spelling in names
        }
        self._dose_units = frozenset(told["dose_units"])
        self._often = Phrases(told["frequencies"])
        self._sides = {word: side for side, words in told["sides"].items() for word in words}
        self._no_sides, self._leavers = told["no_sides"], told["leavers"]
        names = ("absent", "not", "non", "after", "treated")
        self._cues = {name: [cue.split() for cue in told[name]] for name in names}
        self._ends = frozenset(told["ends"])
        self._digits = told["number_words"]
        counted = "|".join(sorted(filter(str.isalpha, self._units), key=len, reverse=True))
        self._number_word = re.compile(rf"\b({'|'.join(self._digits)})(?=[ -](?:{counted})\b)")

    def read(self, lexicon: Lexicon, text: str, reading: Reading) -> Reading:
        """Add to the reading of a text what its form gives away."""
        text = self._number_word.sub(lambda found: self._digits[found.group()], text)
        numbers = list(_numbers(text))
        claims: set[Claim] = set()
        by_denial: tuple[set[str], set[str], set[str]] = (set(), set(), set())
        slots = set()
        known = total = 0
        for clause in filter(None, _clauses(text)):
            words = [token.text for token in clause]
            names: list[str | None] = [None] * len(words)
            inside: set[int] = set()
            for start, end, name in lexicon.places(words):
                names[start] = name
                inside.update(range(start, end))
            amounts = self._amounts(clause, numbers)
            by_form = {at: words[at] for at in self._drugs(words, inside, amounts)}
            drugs = {at: name for at, name in enumerate(names) if name in lexicon.drugs} | by_form
            claims.update(Claim("drug", drug, "") for drug in by_form.values())
            claims.update(self._doses(words, drugs, amounts))
            claims.update(self._located(words, names))
            denial, negated = self._denial(clause, words), _after_cues(words)
            for at, word in enumerate(words):
                name_here = names[at]
                if word in self._stop_words and name_here is None:
                    continue
                is_word = at not in inside and _A_WORD.fullmatch(word) is not None
                # What the lexicon takes as negated is a finding already.
                if is_word or name_here in lexicon.things or (name_here and at not in negated):
                    by_denial[denial[at]].add(name_here or _stem(word))
                if is_word and at > 1:
                    slots.add((" ".join(words[at - 2 : at]), _stem(word)))
                total += 1
                known += at in inside or at in drugs or word[0].isdigit() or denial[at] == 2
        affirmed, denied, absent = map(frozenset, by_denial)
        return reading._replace(
            claims=frozenset(claims),
            absent=absent,
            denied=denied - absent,
            affirmed=affirmed,
            slots=frozenset(slots),
            coverage=known / total if total else None,
        )

    def _amounts(
        self, clause: Sequence[_Token], numbers: Sequence[tuple[str, str, int]]
    ) -> dict[int, tuple[str, str]]:
        """Return the numbers of a clause that have a unit, by the place of their word."""
        starts, end = [token.start for token in clause], clause[-1].start + len(clause[-1].text)
        amounts = {}
        for value, written, place in numbers:
            # Two measures in one word, such as mg/kg, are a unit whatever they are.
            unit = self._units.get(written) or (written if "/" in written else None)
            if unit and starts[0] <= place < end:
                amounts[bisect_right(starts, place) - 1] = value, unit
        return amounts

    def _drugs(
        self, words: Sequence[str], inside: Collection[int], amounts: Mapping[int, tuple[str, str]]
    ) -> Iterator[int]:
        """Yield where words stand that are drugs by their form, and in no lexicon."""
        given = {end for _, end in _places(words, self._cues["treated"])}
        for at, word in enumerate(words):
            if at in inside or word in self._stop_words or not _A_WORD.fullmatch(word):
                continue
            is_named = self._drug.fullmatch(word) is not None and word not in self._no_drugs
            has_dose = amounts.get(at + 1, ("", ""))[1] in self._dose_units
            is_given = at in given and not word.endswith(("ed", "ing", "s"))
            if is_named or has_dose or is_given:
                yield at

    def _doses(
        self,
        words: Sequence[str],
        drugs: Mapping[int, str],
        amounts: Mapping[int, tuple[str, str]],
    ) -> Iterator[Claim]:
        """Yield the amounts of a clause, and the doses of its drugs: of the last one named."""

        def drug_of(at: int) -> str:
            before = [place for place in drugs if place < at]
            near = [place for place in drugs if at <= place <= at + 4]
            return drugs[max(before) if before else min(near)] if before or near else ""

        times = self._often.places(words)
        for at, (value, unit) in amounts.items():
            # "Every 8 hours" is no amount.
            if not any(start <= at < end for start, end, _ in times):
                yield Claim("amount", value, unit)
            if unit in self._dose_units:
                yield Claim("dose", drug_of(at), f"{value} {unit}")
        for start, _, how_often in times:
            yield Claim("often", drug_of(start), how_often)

    def _located(self, words: Sequence[str], names: Sequence[str | None]) -> Iterator[Claim]:
        """Yield the sides of a clause, each with the word behind it, which it is a side of."""
        for at, word in enumerate(words):
            side = self._sides.get(word)
            place = at + 2 if words[at + 1 : at + 2] == ["sided"] else at + 1
            behind = words[place] if place < len(words) else ""
            before = words[at - 1] if at else ""
            if side is None or before in self._leavers or behind in self._no_sides.get(side, ()):
                continue
            is_content = behind and (names[place] or behind not in self._stop_words)
            yield Claim("side", names[place] or _stem(behind) if is_content else "", side)

    def _denial(self, clause: Sequence[_Token], words: Sequence[str]) -> list[int]:
        """Return of each word whether it is denied: 0 for no, 2 for a finding, 1 for any word."""
        denial = [0] * len(words)
        for strength, cues in ((2, "absent"), (1, "not")):
            for _, end in _places(words, self._cues[cues]):
                in_list = [at for at in range(end, len(words)) if words[at] in ("or", "nor")]
                for at in range(end, min(end + _LIST_REACH, len(words))):
                    has_ended = words[at] in self._ends and at > end
                    is_beyond = not any(place > at for place in in_list)
                    beyond_comma = clause[at].after_comma and at > end and is_beyond
                    if has_ended or beyond_comma or (is_beyond and at >= end + REACH):
                        break
                    denial[at] = max(denial[at], strength)
        for _, end in _places(words, self._cues["non"]):
            denial[end : end + 1] = [1] * len(words[end : end + 1])
        for start, end in _places(words, self._cues["after"]):
            is_other_cue = words[end : end + 1] == ["for"]
            if is_other_cue or {"not", "cannot", "never"} & set(words[max(start - 2, 0) : start]):
                continue
            for at in range(start - 1, max(start - 1 - REACH, -1), -1):
                denial[at] = max(denial[at], 1)
                if clause[at].after_comma or words[at] == "and":
                    break
        return denial


@cache
def _forms() -> _Forms:
    return _Forms(vocabulary("forms"))


@cache
def common_lexicon() -> Lexicon:
    """Return the small lexicon that comes with this package, with content by form."""
    drugs, things = vocabulary("drugs"), vocabulary("things")
    return Lexicon(vocabulary("concepts"), drugs=drugs, things=things, forms=True)


def number_facts(text: str) -> list[NumberFact]:
    """Return the distinct facts of a text in order of appearance.

    `120/80` is one fact, the range `3-5` two. Digits that belong to a name (B12, COVID-19) are
    none. Nothing is converted from one unit to another.
    """
    facts = (NumberFact(value, UNITS.get(unit)) for value, unit, _ in _numbers(_folded(text)))
    return list(dict.fromkeys(facts))


def _folded(text: str) -> str:
    """Return the text in compatibility form without case, ten to the ninth as 10^9."""
    raised = _SUPERSCRIPTS.sub(lambda found: "^" + found.group(), text)
    return unicodedata.normalize("NFKC", raised).casefold()


def _numbers(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the numbers of a folded text: one spelling of the value, the word behind, the place."""
    for found in _NUMBER.finditer(text):
        before = text[max(found.start() - 2, 0) : found.start()]
        if _PART_OF_A_NAME.search(before):
            continue
        value = "/".join(map(_plain, found.group().split("/")))
        sign = "-" if _MINUS.search(before) and value.strip("0/") else ""
        after = _UNIT.match(text, found.end())
        yield sign + value, " ".join(after.group(1).split()) if after else "", found.start()


def _plain(number: str) -> str:
    """Return one spelling for equal numbers: 05 and 5, 3.50 and 3.5, 12,000 and 12000."""
    value = format(Decimal(number.replace(",", "")), "f")
    return value.rstrip("0").rstrip(".") if "." in value else value


def _clauses(text: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each clause of a folded text."""
    clause: list[_Token] = []
    after_comma = False
    for piece in _PIECE.finditer(text):
        token = piece["token"]
        if piece["comma"]:
            after_comma = True
        elif token is None or token in _CLAUSE_WORDS:
            yield clause
            clause, after_comma = [], False
        else:
            clause.append(_Token(token, piece.start(), after_comma))
            after_comma = False
    yield clause


def _places(words: Sequence[str], phrases: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield where each phrase begins and ends."""
    for phrase in phrases:
        for start in range(len(words) - len(phrase) + 1):
            if words[start : start + len(phrase)] == phrase:
                yield start, start + len(phrase)


def _after_cues(words: Sequence[str]) -> set[int]:
    """Return the places that a negation reaches."""
    ends = (end - 1 for _, end in _places(words, _CUES))
    return {end + step for end in ends for step in range(1, REACH + 1)}


def _stem(word: str) -> str:
    """Return a word without the s of its plural."""
    is_plural = len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word
