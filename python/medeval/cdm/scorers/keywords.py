"""Keywords in a text that are not negated there.

Version 1 is the reference's search: it looks for the keyword with its blanks escaped, so that no
keyword of several words is ever found; a negation counts only right before the keyword, may be the
tail of another word, and one negated mention takes away all others. Version 2 finds every mention,
and a negation reaches over three words, not over the end of a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# How many words may stand between a negation and what it negates.
REACH = 3
# A comma ends a negation: in "no fever, appendicitis" only the fever is absent. So does a dash,
# unless it joins two words.
_CLAUSE_END = re.compile(
    r"[.,;:!?()\n\u2013\u2014]|--|(?<=\s)-(?=\s)|\b(?:but|however|although|except)\b"
)
_WORD_START = re.compile(r"\w*$")


class Keywords:
    """The search of one version."""

    def __init__(self, negations: Sequence[str], version: int) -> None:
        """Take the phrases that negate what follows."""
        self._version = version
        self._negations = negations
        phrases = "|".join(_with_blanks(phrase) for phrase in negations)
        self._negated = re.compile(rf"\b(?:{phrases})(?:\s+\S+){{0,{REACH}}}\s*$")

    def affirmed(self, text: str, keyword: str) -> bool:
        """Tell whether a text mentions a keyword that is not negated."""
        if self._version == 1:
            return self._affirmed_by_the_reference(text.lower(), keyword.lower())
        text = text.lower()
        mentions = re.finditer(_with_blanks(keyword.lower()), text)
        return any(not self.is_negated(text, mention.start()) for mention in mentions)

    def any_affirmed(self, texts: Iterable[str], keywords: Iterable[str]) -> bool:
        """Tell whether one of the texts mentions one of the keywords."""
        texts = tuple(texts)
        return any(self.affirmed(text, keyword) for keyword in keywords for text in texts)

    def is_negated(self, text: str, place: int) -> bool:
        """Tell whether the word at a place of a text in lower case is negated (version 2)."""
        before = _WORD_START.sub("", text[:place])
        ends = [found.end() for found in _CLAUSE_END.finditer(before)]
        return bool(self._negated.search(before[ends[-1] :] if ends else before))

    def _affirmed_by_the_reference(self, text: str, keyword: str) -> bool:
        escaped = re.escape(keyword)
        return escaped in text and not any(
            re.search(rf"{_with_blanks(phrase)}\s+{escaped}", text) for phrase in self._negations
        )


def _with_blanks(phrase: str) -> str:
    return r"\s+".join(map(re.escape, phrase.split()))
