"""Flesch-Kincaid grade: the years of school in the United States that a text asks for.

Kincaid, Fishburne, Rogers and Chissom 1975, Research Branch Report 8-75: 0.39 words per sentence
+ 11.8 syllables per word - 15.59. Syllables are counted by rule, not by dictionary.
"""

from __future__ import annotations

import re

from medeval.metrics.metric import Item, metric
from medeval.metrics.text import fold_accents, has_cjk

_WORD = re.compile(r"[a-z]+(?:['\u2019][a-z]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SENTENCE_END = re.compile(r"(?<![.!?])[.!?]+(?=\s|$)|\n+")
# The e of "made" is silent, that of "table" is not.
_SILENT_E = re.compile(r"(?<![aeiouyl])e$|(?<=[aeiouy]l)e$")


def grade(text: str) -> float | None:
    """Return the grade; None without a word, or with Chinese, Japanese or Korean in the text."""
    if has_cjk(text):
        return None
    plain = fold_accents(text).lower()
    found = _WORD.findall(plain)
    if not found:
        return None
    sentences = sum(bool(_WORD.search(part)) for part in _SENTENCE_END.split(plain))
    syllables = sum(max(len(_VOWELS.findall(_SILENT_E.sub("", word))), 1) for word in found)
    return 0.39 * len(found) / sentences + 11.8 * syllables / len(found) - 15.59


@metric("readability")
def readability(item: Item) -> float | None:
    """Return the grade of the output."""
    return grade(item.output_text)
