"""What a text says, word by word: clinical concepts, each affirmed or negated, and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Literal, NamedTuple

from medeval.metrics.metric import CJK, vocabulary

Polarity = Literal["affirmed", "negated"]

# How many tokens before a term what denies it may end.
REACH = 5
_CLAUSE_WORDS = ("but", "however")
# A number is one token, with its decimal point, which ends no clause; nor does a comma.
_PIECE = re.compile(
    rf"(?P<token>\d+(?:[.,/]\d+)+|[{CJK}]|[^\W_{CJK}]+)|(?P<end>[.;:!?。\n])|(?P<comma>,)"
)
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
A_WORD = re.compile(rf"{_LETTER}{{3,}}")
_SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


class NumberFact(NamedTuple):
    """A number and the unit behind it, if that is a known one."""

    value: str
    unit: str | None


class Finding(NamedTuple):
    """A concept and whether the text says that it is there."""

    concept: str
    polarity: Polarity


class Token(NamedTuple):
    """A word or number of a clause, with its place in the text."""

    text: str
    start: int
    after_comma: bool


class Phrases:
    """Names with the terms that stand for them, found in the words of a clause."""

    def __init__(
        self, terms: Mapping[str, Sequence[str]], split: Callable[[str], list[str]] | None = None
    ) -> None:
        """Take names with their terms; case does not matter.

        Args:
            terms: what stands for each name.
            split: makes words of a term; by default as a clause is split.

        Raises:
            ValueError: a term without a word, or one term for two names.
        """
        self._names: dict[tuple[str, ...], str] = {}
        for name, spellings in terms.items():
            for term in spellings:
                key = tuple((split or _words)(term))
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
            forms: take for content what its form gives away, too, and leave a score undefined
                where too little of the reference is known; see `claims`.

        Raises:
            ValueError: a term without letters or digits, or one term for two concepts.
        """
        super().__init__({**concepts, **(drugs or {}), **(things or {})})
        self.drugs, self.things = frozenset(drugs or ()), frozenset(things or ())
        self.has_forms = forms

    def findings(self, text: str) -> frozenset[Finding]:
        """Return the concepts of a text, a concept negated where a cue ends 1 to 5 tokens before.

        Clauses end at full stops, colons, question marks, new lines, "but" and "however".
        """
        findings = set()
        for clause in clauses(folded(text)):
            words = [token.text for token in clause]
            negated = after_cues(words)
            for start, _, name in self.places(words):
                is_negated = start in negated and name not in self.things
                findings.add(Finding(name, "negated" if is_negated else "affirmed"))
        return frozenset(findings)


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
    facts = (NumberFact(value, UNITS.get(unit)) for value, unit, _ in spelled_numbers(folded(text)))
    return list(dict.fromkeys(facts))


def folded(text: str) -> str:
    """Return the text in compatibility form without case, ten to the ninth as 10^9."""
    raised = _SUPERSCRIPTS.sub(lambda found: "^" + found.group(), text)
    return unicodedata.normalize("NFKC", raised).casefold()


def spelled_numbers(text: str) -> Iterator[tuple[str, str, int]]:
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


def clauses(text: str) -> Iterator[list[Token]]:
    """Yield the tokens of each clause of a folded text."""
    clause: list[Token] = []
    after_comma = False
    for piece in _PIECE.finditer(text):
        token = piece["token"]
        if piece["comma"]:
            after_comma = True
        elif token is None or token in _CLAUSE_WORDS:
            yield clause
            clause, after_comma = [], False
        else:
            clause.append(Token(token, piece.start(), after_comma))
            after_comma = False
    yield clause


def _words(text: str) -> list[str]:
    return [token.text for clause in clauses(folded(text)) for token in clause]


def after_cues(words: Sequence[str]) -> set[int]:
    """Return the places that a negation reaches."""
    ends = (end for _, end, _ in _CUES.places(words))
    return {at for end in ends for at in range(end, end + REACH)}


# What denies the terms behind it.
_CUES = Phrases(vocabulary("negations"))
