"""Is a mention denied, or an organ said to be normal? Rules of version 2.

The rules follow NegEx (Chapman et al., Journal of Biomedical Informatics 34 (2001) 301-310): a
negation reaches from before a finding over three words, not over the end of a clause or a cause
("no fever due to appendicitis"); from behind it reaches over auxiliary words only; and some phrases
negate nothing behind them ("not perforated acute appendicitis", "do not delay antibiotics").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from medeval.cdm.facts import NegationCues

# How many words may stand between a negation and what it negates.
REACH = 3
# A comma ends a negation: in "no fever, appendicitis" only the fever is absent. So does a dash,
# unless it joins two words.
_CLAUSE_END = (
    r"[.,;:!?()\n\u2013\u2014]|--|(?<=\s)-(?=\s)|\b(?:but|however|although|though|except)\b"
)
_HARD_END = re.compile(_CLAUSE_END)
_WORD_START = re.compile(r"(?<!\w)\w+$")
# At the edge of what is looked at a word may be cut.
_FIRST_WORD = re.compile(r"^\S+")
# What may stand between a finding and the words behind it that deny it.
_AUXILIARY = (
    r"(?:is|was|are|were|be|been|being|has|have|had|seem(?:s|ed)?|appear(?:s|ed)?|look(?:s|ed)?|felt"
    r"|thought|considered|deemed|to|also|very|highly|clinically|now|thus|therefore|essentially)"
)
# What may stand between a negation and the cause that it denies: "not likely due to".
_BEFORE_CAUSE = r"(?:be|to|likely|clearly|directly|primarily|thought|felt|considered|believed)"
# Of a word, behind the stem that was found; bounded, so that each mention takes as long as another.
_REST = r"\w{0,60}+"
# What joins a denial to what is said next.
_NEXT = "and|as|by|given|on|since|with"
# No negation is so long that it begins further before what it negates.
_LOOK_BACK = 200


class Negation:
    """The rules with one list of cues."""

    def __init__(self, cues: NegationCues) -> None:
        """Take the cues."""
        # In "cholecystitis ruled out and appendicitis confirmed" it is said of what goes before.
        both = set(cues.before).intersection(cues.behind)
        denied = rf"(?:{_any_of(set(cues.before) - both)}|(?:{_any_of(both)})(?!\s+(?:{_NEXT})\b))"
        causes = _any_of(cues.terminations)
        words = rf"(?:\s+\S+){{0,{REACH}}}\s*$"
        self._before = re.compile(rf"\b(?:{denied}){words}")
        self._pseudo = re.compile(rf"\b(?:{_any_of(cues.pseudo)})\b")
        self._ends = re.compile(rf"{_CLAUSE_END}|\b(?:{causes})\b")
        self._denied_cause = re.compile(
            rf"\b(?:{denied})(?:\s+{_BEFORE_CAUSE})*\s+(?:{causes}){words}"
        )
        self._behind = _behind(cues.behind)
        self._is_normal = _behind(cues.normal)
        self._normal = re.compile(
            rf"\b(?:{_any_of(cues.normal)})(?:[\s-]+(?:appearing|looking|sized))?\s+$"
        )

    def denies(self, text: str, start: int, end: int) -> bool:
        """Tell whether a text in lower case denies what it mentions from one place to another."""
        # As many blanks, so that no two words become one.
        before = self._pseudo.sub(lambda found: " " * len(found[0]), _before(text, start))
        clause = self._ends.split(before)[-1]
        return bool(
            self._before.search(clause)
            or self._denied_cause.search(_HARD_END.split(before)[-1])
            or self._behind.match(text, end)
        )

    def is_normal(self, text: str, start: int, end: int) -> bool:
        """Tell whether a text in lower case says of an organ that nothing is wrong with it."""
        return bool(self._normal.search(_before(text, start)) or self._is_normal.match(text, end))


@lru_cache(maxsize=8)
def negation(cues: NegationCues) -> Negation:
    """Return the rules with a list of cues; made once for all cases."""
    return Negation(cues)


def _before(text: str, place: int) -> str:
    """Return the words before a place, without the one in which it stands."""
    start = max(0, place - _LOOK_BACK)
    before = _WORD_START.sub("", text[start:place])
    return _FIRST_WORD.sub("", before) if start else before


def with_blanks(phrase: str) -> str:
    """Return a pattern for a phrase whose words any blanks part."""
    return r"\s+".join(map(re.escape, phrase.split()))


def _any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for one of some phrases, the longest first; it finds nothing if none are."""
    return "|".join(map(with_blanks, sorted(phrases, key=lambda one: (-len(one), one)))) or r"(?!)"


def _behind(cues: Iterable[str]) -> re.Pattern[str]:
    """Return what stands behind a mention and says something of it.

    After a punctuation mark it has to end its clause: in "appendicitis, unlikely perforated" it is
    said of what follows. "Unlikely to be perforated" is, too.
    """
    words, said = rf"(?:{_AUXILIARY}\s+)*", _any_of(cues)
    directly = rf"{_REST}\s+{words}(?:{said})\b(?!\s+to\b)"
    apart = rf"{_REST}\s*[:,(\u2013\u2014-]\s*{words}(?:{said})\s*(?:[.,;:!?)\n]|$)"
    return re.compile(f"{directly}|{apart}")
