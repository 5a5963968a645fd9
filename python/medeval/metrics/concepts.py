"""Clinical concepts in a text, each affirmed or negated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from medeval.metrics.metric import Item, metric
from medeval.metrics.text import CJK, vocabulary

Polarity = Literal["affirmed", "negated"]

# What denies the terms behind it.
_CUES = [cue.split() for cue in vocabulary("negations")["cues"]]
# How many tokens before a term a negation may end.
REACH = 5
_CLAUSE_WORDS = ("but", "however")
# A number is one token, with its decimal point, which ends no clause; nor does a comma.
_PIECE = re.compile(rf"(?P<token>\d+(?:[.,/]\d+)+|[{CJK}]|[^\W_{CJK}]+)|(?P<end>[.;:!?。\n])")


class Finding(NamedTuple):
    """A concept and whether the text says that it is there."""

    concept: str
    polarity: Polarity


class Lexicon:
    """Concepts with the terms that stand for them."""

    def __init__(self, concepts: Mapping[str, Sequence[str]]) -> None:
        """Take concepts with their terms; case does not matter.

        Raises:
            ValueError: a term without letters or digits, or one term for two concepts.
        """
        self._concepts: dict[tuple[str, ...], str] = {}
        for concept, terms in concepts.items():
            for term in terms:
                key = tuple(token for clause in _clauses(term) for token in clause)
                if not key:
                    raise ValueError(f"Concept {concept!r} has the term {term!r} without a word")
                if self._concepts.setdefault(key, concept) != concept:
                    raise ValueError(f"{term!r} means both {self._concepts[key]!r} and {concept!r}")
        self._lengths = sorted({len(key) for key in self._concepts}, reverse=True)

    def findings(self, text: str) -> frozenset[Finding]:
        """Return what a text says, longer terms before the shorter ones they contain."""
        found: set[Finding] = set()
        for clause in _clauses(text):
            taken = [False] * len(clause)
            ends = [
                start + len(cue) - 1
                for cue in _CUES
                for start in range(len(clause))
                if clause[start : start + len(cue)] == cue
            ]
            for length in self._lengths:
                for start in range(len(clause) - length + 1):
                    concept = self._concepts.get(tuple(clause[start : start + length]))
                    if concept is None or any(taken[start : start + length]):
                        continue
                    taken[start : start + length] = [True] * length
                    negated = any(1 <= start - end <= REACH for end in ends)
                    found.add(Finding(concept, "negated" if negated else "affirmed"))
        return frozenset(found)


@cache
def common_lexicon() -> Lexicon:
    """Return the small lexicon that comes with this package."""
    return Lexicon(vocabulary("concepts"))


@metric("clinical_relevance")
def clinical_relevance(item: Item, *, lexicon: Lexicon) -> float | None:
    """Return the F1 of what the gold and the output find; None if neither finds anything."""
    reference = lexicon.findings(item.reference_text)
    hypothesis = lexicon.findings(item.output_text)
    if not reference and not hypothesis:
        return None
    return 2 * len(reference & hypothesis) / (len(reference) + len(hypothesis))


def _clauses(text: str) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for piece in _PIECE.finditer(unicodedata.normalize("NFKC", text).casefold()):
        token = piece["token"]
        if token is None or token in _CLAUSE_WORDS:
            clauses.append([])
        else:
            clauses[-1].append(token)
    return clauses
