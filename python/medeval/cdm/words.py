"""Texts as plain words, words found in them, and names that are like one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_NOT_A_WORD = re.compile(r"[\W_]+")


def plain(text: str) -> str:
    """Return the words of a text in lower case, with single blanks between them."""
    return _NOT_A_WORD.sub(" ", text.lower()).strip()


def holds(words: str, phrase: str, *, is_stem: bool = False) -> bool:
    """Tell whether plain words hold a phrase as whole words, or as the beginning of words."""
    end = "" if is_stem else " "
    return f" {plain(phrase)}{end}" in f" {words} "


def name_parts(name: str) -> tuple[str, str]:
    """Return the long name before parentheses and the abbreviation in them; else the name twice."""
    long_name, _, rest = name.partition("(")
    abbreviation, closed, _ = rest.partition(")")
    if not closed:
        return name.strip(), name.strip()
    return long_name.strip(), abbreviation.strip()


def closest(name: str, choices: Sequence[str]) -> tuple[str, int]:
    """Return the choice that is most like a name, the first of equals, and how like it is.

    The likeness is the ratio of rapidfuzz on texts in lower case without punctuation, as a whole
    number from 0 to 100.
    """
    from rapidfuzz import fuzz, process, utils

    processed = _processed(tuple(choices))
    found = process.extractOne(utils.default_process(name), processed, scorer=fuzz.ratio)
    return (choices[found[2]], round(found[1])) if found else ("", 0)


@lru_cache(maxsize=8)
def _processed(choices: tuple[str, ...]) -> list[str]:
    """Return choices as they are compared: the same few lists are compared with all the time."""
    from rapidfuzz import utils

    return [utils.default_process(choice) for choice in choices]
