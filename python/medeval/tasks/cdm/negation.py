"""What an answer says is there: mentions that are not denied, by the rules of version 2.

The rules follow NegEx (Chapman et al., Journal of Biomedical Informatics 34 (2001) 301-310): a
negation reaches from before a finding over three words, not over the end of a clause or a cause
("no fever due to appendicitis"); from behind it reaches over auxiliary words only; and some phrases
negate nothing behind them ("not perforated acute appendicitis", "do not delay antibiotics").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

Span = tuple[int, int]
# Words at which a sentence turns.
_TURNS = "but|however|although|though|except"
# A comma ends a negation: in "no fever, appendicitis" only the fever is absent. So does a dash,
# unless it joins two words.
_CLAUSE_END = rf"[.,;:!?()\n\u2013\u2014]|--|(?<=\s)-(?=\s)|\b(?:{_TURNS})\b"
_HARD_END = re.compile(_CLAUSE_END)
_END_OF_CLAUSE = re.compile(rf"[.;!?](?=\s|$)|\n|\b(?:{_TURNS}|while|whereas)\b")
# Words that part nothing: "infection of the urinary tract" is nearest to the urinary tract.
_LINKS = frozenset(("of", "the", "a", "an", "in", "within", "at", "to", "from", "and", "or"))
# Two organs with nothing else between them share what is said: "inflamed gallbladder and appendix".
_JOINED = frozenset(("and", "or", "the"))


class Negation:
    """The rules with one list of cues, phrases in lower case.

    Args:
        cues: `before`, phrases after which a finding is absent, those of the reference among them;
            `behind`, phrases before which it is; `pseudo`, phrases with a negation that does not
            reach beyond them; `terminations`, phrases at which the reach of a negation ends;
            `normal`, words for an organ in which nothing is wrong; `auxiliary`, what may stand
            between a finding and the words behind it that deny it; and `before_cause`, what may
            between a negation and the cause that it denies.
    """

    def __init__(self, cues: Mapping[str, Sequence[str]]) -> None:
        before, behind = set(cues["before"]), cues["behind"]
        # In "cholecystitis ruled out and appendicitis confirmed" it is said of what goes before.
        both = before.intersection(behind)
        joined = r"(?!\s+(?:and|as|by|given|on|since|with)\b)"
        denied = rf"(?:{_any_of(before - both)}|(?:{_any_of(both)}){joined})"
        causes, normal = _any_of(cues["terminations"]), cues["normal"]
        # So many words may stand between a negation and what it negates.
        words = r"(?:\s+\S+){0,3}\s*$"
        self._before = re.compile(rf"\b(?:{denied}){words}")
        self._pseudo = re.compile(rf"\b(?:{_any_of(cues['pseudo'])})\b")
        self._ends = re.compile(rf"{_CLAUSE_END}|\b(?:{causes})\b")
        self._denied_cause = re.compile(
            rf"\b(?:{denied})(?:\s+(?:{_any_of(cues['before_cause'])}))*\s+(?:{causes}){words}"
        )
        self._behind = _behind(behind, cues["auxiliary"])
        self._is_normal = _behind(normal, cues["auxiliary"])
        self._normal = re.compile(
            rf"\b(?:{_any_of(normal)})(?:[\s-]+(?:appearing|looking|sized))?\s+$"
        )

    def affirms(self, text: str, keyword: str) -> bool:
        """Tell whether a text mentions a keyword that is not denied."""
        return next(self.mentions(text.lower(), keyword), None) is not None

    def mentions(self, text: str, keyword: str) -> Iterator[Span]:
        """Yield where a text in lower case mentions a keyword that is not denied."""
        for found in re.finditer(with_blanks(keyword.lower()), text):
            if not self.denies(text, *found.span()):
                yield found.span()

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


def has_pair(
    answer: str, pairs: Iterable[tuple[str, str]], other_organs: Sequence[str], negation: Negation
) -> bool:
    """Tell whether an answer in lower case has a place and a change that belong together.

    The reference asks for both anywhere in the answer. Here they stand in one clause, the place is
    not said to be normal, and no other organ stands nearer to the change: "perforated ulcer,
    gallbladder polyp" says nothing of an inflamed gallbladder.

    Args:
        answer: the answer.
        pairs: stems of a place and of a change.
        other_organs: beginnings of words for organs that are none of the places.
        negation: the rules by which mentions are denied.
    """
    mentioned = [
        pair
        for pair in pairs
        if all(re.search(with_blanks(stem.lower()), answer) is not None for stem in pair)
    ]
    organ = re.compile(rf"\b(?:{'|'.join(map(re.escape, other_organs)) or '(?!)'})")
    for clause in _END_OF_CLAUSE.split(answer) if mentioned else ():
        others = [found.span() for found in organ.finditer(clause)]
        for place, change in mentioned:
            changes = list(negation.mentions(clause, change))
            places = list(negation.mentions(clause, place)) if changes else []
            places = [one for one in places if not negation.is_normal(clause, *one)]
            for span in changes:
                rivals = _neighbours(others, span)
                for one in _neighbours(places, span):
                    # Another organ that is nearer to the change takes it away, unless it shares it.
                    if all(
                        set(_parts(clause, rival, one)) <= _JOINED
                        or _distance(clause, rival, span) >= _distance(clause, one, span)
                        for rival in rivals
                    ):
                        return True
    return False


def is_spelt_like(word: str, name: str) -> bool:
    """Tell whether a word is so much like a name that it is taken for it."""
    from rapidfuzz import fuzz

    return round(fuzz.ratio(word, name)) > 90


def _neighbours(spans: Sequence[Span], around: Span) -> Sequence[Span]:
    """Return the last of some places before another place, and the first behind it."""
    place = bisect_left(spans, around)
    return spans[max(0, place - 1) : place + 1]


def _distance(clause: str, one: Span, another: Span) -> int:
    parts = (part for part in _parts(clause, one, another) if part not in _LINKS)
    # A punctuation mark parts more than a word.
    return sum(1 if part[0].isalnum() or part[0] == "_" else 2 for part in parts)


def _parts(clause: str, one: Span, another: Span) -> list[str]:
    """Return words and marks between two mentions, without the rest of the first one's word."""
    first, second = sorted((one, another))
    between = clause[first[1] : max(first[1], second[0])]
    whole = re.sub(r"^\w+|(?<!\w)\w+$", "", between)
    return re.findall(r"\w+|[,:()\u2013\u2014]", whole)


def _before(text: str, place: int) -> str:
    """Return the words before a place, without the one in which it stands."""
    # No negation is so long that it begins further before what it negates; there a word may be cut.
    start = max(0, place - 200)
    before = re.sub(r"(?<!\w)\w+$", "", text[start:place])
    return re.sub(r"^\S+", "", before) if start else before


def with_blanks(phrase: str) -> str:
    """Return a pattern for a phrase whose words any blanks part."""
    return r"\s+".join(map(re.escape, phrase.split()))


def _any_of(phrases: Iterable[str]) -> str:
    """Return a pattern for one of some phrases, the longest first; it finds nothing if none are."""
    return "|".join(map(with_blanks, sorted(phrases, key=lambda one: (-len(one), one)))) or r"(?!)"


def _behind(cues: Iterable[str], auxiliary: Iterable[str]) -> re.Pattern[str]:
    """Return what stands behind a mention and says something of it.

    After a punctuation mark it has to end its clause: in "appendicitis, unlikely perforated" it is
    said of what follows. "Unlikely to be perforated" is, too.
    """
    words, said = rf"(?:(?:{_any_of(auxiliary)})\s+)*", _any_of(cues)
    # Of a word, behind the stem that was found; bounded, so that each takes as long as another.
    rest = r"\w{0,60}+"
    directly = rf"{rest}\s+{words}(?:{said})\b(?!\s+to\b)"
    apart = rf"{rest}\s*[:,(\u2013\u2014-]\s*{words}(?:{said})\s*(?:[.,;:!?)\n]|$)"
    return re.compile(f"{directly}|{apart}")
