"""Text made comparable: the exact form, and the folded one that forgives width and case."""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
import unicodedata

EDGES = "。．.；;，,、：:！!？?\"'“”‘’「」『』《》"
BRACKETS = "()[]{}（）［］｛｝【】〔〕"

_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff]")
_BLANKS = re.compile(r"\s+")
_MANY_BLANKS = re.compile(r"\s{3,}")


def canonical(text: str) -> str:
    """Return the exact form: composed, without zero-width characters and outer blanks."""
    return unicodedata.normalize("NFC", _ZERO_WIDTH.sub("", text)).strip()


def compatible(text: str) -> str:
    """Return the text with full-width and other compatible characters as plain ones, trimmed."""
    return unicodedata.normalize("NFKC", _ZERO_WIDTH.sub("", text)).strip()


def few_blanks(text: str) -> str:
    """Return the text with one blank, or one line break, for three blanks in a row or more.

    What reads it then looks at each blank a few times, however many there were.
    """
    return _MANY_BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", text)


def fold(text: str) -> str:
    """Return the folded form: compatible, of one case, without blanks and edge punctuation."""
    folded = unicodedata.normalize("NFKC", compatible(text).casefold())
    return _BLANKS.sub("", folded).strip(EDGES)
