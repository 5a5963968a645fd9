"""Strings that name options by their letters, and labels in front of an option's text."""

# Full-width signs are what this module is about.
# ruff: noqa: RUF001

from __future__ import annotations

import re
import string

from medeval.yier.folding import BRACKETS, EDGES, canonical, compatible
from medeval.yier.scripts import either_script

LETTERS = string.ascii_uppercase
SEPARATOR = r"(?:\s|[,，、;；/&]|和|及|与|與|and(?![A-Za-z]))"
_EDGES = EDGES + BRACKETS + " \t\r\n"
_WORD_FOR_OPTION = either_script("选项")
_OPTION = re.compile(rf"(?:{_WORD_FOR_OPTION}|options?(?![a-z]))\s*[:：]?\s*", re.IGNORECASE)
_RUN = re.compile(rf"[A-Z](?:(?:{SEPARATOR}|[()\[\]])*[A-Z])+")
# Roman numerals as one character would become letters.
_NUMBER_FORMS = re.compile("[\u2150-\u218f]")
_LABEL = re.compile(
    rf"\s*(?:(?:{_WORD_FOR_OPTION}|option)\s*)?"
    r"(?:[(（\[［【]\s*(?P<inside>[A-Za-zＡ-Ｚａ-ｚ])\s*[)）\]］】]\s*[.．、,，:：;；]?"
    r"|(?P<before>[A-Za-zＡ-Ｚａ-ｚ])\s*[.．、,，:：;；)）\]］】])"
    r"\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_LETTER_FIRST = re.compile(r"\s*([A-Za-zＡ-Ｚａ-ｚ])\s*(\S.*)", re.DOTALL)
_LETTER_WITH_BRACKET = re.compile(
    r"\s*([A-ZＡ-Ｚ])\s*[(（\[［【](?P<text>[^()（）\[\]［］【】]{2,})[)）\]］】]\s*"
)


_TEXT_WITH_LETTER = re.compile(
    r"\s*(?P<text>\S.*)[(（\[［【]\s*([A-ZＡ-Ｚ])\s*[)）\]］】]\s*", re.DOTALL
)


def named_letters(text: str) -> list[str]:
    """Return the letters that a string names, capitals, in its order; none if it is no such string.

    One letter of either case, or several capitals with nothing or separators between them.
    """
    if _NUMBER_FORMS.search(text):
        return []
    bare = compatible(text).strip(_EDGES)
    bare = _OPTION.sub("", bare, count=1) if _OPTION.match(bare) else bare
    bare = bare.strip(_EDGES)
    if len(bare) == 1 and bare in string.ascii_letters:
        return [bare.upper()]
    if not _RUN.fullmatch(bare):
        return []
    return [letter for letter in bare if letter in LETTERS]


def split_label(text: str) -> tuple[str, str] | None:
    """Return label and text of "A. text", "A、text" or "(A) text"; None if it is no such."""
    found = _LABEL.fullmatch(canonical(text))
    if found is None:
        return None
    return _capital(found["inside"] or found["before"]), found["text"]


def loose_label(text: str) -> tuple[str, str] | None:
    """Return letter and text of "A text", "A (text)" or "text (A)"; it may be no label at all."""
    exact = canonical(text)
    found = _LETTER_WITH_BRACKET.fullmatch(exact)
    if found is not None:
        return _capital(found[1]), found["text"]
    found = _TEXT_WITH_LETTER.fullmatch(exact)
    if found is not None:
        return _capital(found[2]), found["text"]
    found = _LETTER_FIRST.fullmatch(exact)
    return None if found is None else (_capital(found[1]), found[2])


def own_labels(options: list[str]) -> list[str] | None:
    """Return the options without their own labels A, B, C ...; None if not all have theirs."""
    stripped = []
    for place, option in enumerate(options):
        found = split_label(option)
        if found is None or place >= len(LETTERS) or found[0] != LETTERS[place]:
            return None
        stripped.append(found[1])
    return stripped or None


def _capital(letter: str) -> str:
    return compatible(letter).upper()
