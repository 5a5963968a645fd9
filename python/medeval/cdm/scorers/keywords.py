"""Keywords in a text that are not negated there.

Version 1 is the reference's search: it looks for the keyword with its blanks escaped, so that no
keyword of several words is ever found; a negation counts only right before the keyword, may be the
tail of another word, and one negated mention takes away all others. Version 2 finds every mention
and tells by more rules whether it is negated (see `negation`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from medeval.cdm.facts import Facts
from medeval.cdm.scorers.negation import negation, with_blanks

Span = tuple[int, int]


def mentions(text: str, keyword: str) -> bool:
    """Tell whether a text in lower case mentions a keyword, negated or not."""
    return re.search(with_blanks(keyword.lower()), text) is not None


class Keywords:
    """The search of one version."""

    def __init__(self, facts: Facts, version: int) -> None:
        """Take the facts, which hold what negates."""
        self._version = version
        self._negations = facts.negations
        self._negation = negation(facts.negation_cues)

    def affirmed(self, text: str, keyword: str) -> bool:
        """Tell whether a text mentions a keyword that is not negated."""
        if self._version == 1:
            return self._affirmed_by_the_reference(text.lower(), keyword.lower())
        return any(True for _ in self.mentions(text.lower(), keyword))

    def any_affirmed(self, texts: Iterable[str], keywords: Iterable[str]) -> bool:
        """Tell whether one of the texts mentions one of the keywords."""
        texts = tuple(texts)
        return any(self.affirmed(text, keyword) for keyword in keywords for text in texts)

    def mentions(self, text: str, keyword: str) -> Iterator[Span]:
        """Yield where a text in lower case mentions a keyword that is not negated (version 2)."""
        for found in re.finditer(with_blanks(keyword.lower()), text):
            if not self.is_negated(text, found.span()):
                yield found.span()

    def is_negated(self, text: str, mention: Span) -> bool:
        """Tell whether a mention in a text in lower case is negated (version 2)."""
        return self._negation.denies(text, *mention)

    def is_normal(self, text: str, organ: Span) -> bool:
        """Tell whether a text in lower case says that an organ is normal (version 2)."""
        return self._negation.is_normal(text, *organ)

    def _affirmed_by_the_reference(self, text: str, keyword: str) -> bool:
        escaped = re.escape(keyword)
        return escaped in text and not any(
            re.search(rf"{with_blanks(phrase)}\s+{escaped}", text) for phrase in self._negations
        )
