"""From the words of a request to names of laboratory tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from medeval.cdm.lab_facts import LabFacts
from medeval.cdm.words import plain

_PARENTHESIS = re.compile(r"[()]")
_REFERENCE_SEPARATOR = re.compile(r"\band\b|\n")
# The reference means an article, and takes the letter out of any name.
_REFERENCE_ARTICLE = re.compile(r"\bA\s")
# What always ends a name, and what may be part of one: "OVA + PARASITES", "Calcium, Total". A plus
# sign between a blank and a word belongs to the word ("Na+").
_END = "\n;•"
_SEPARATOR = re.compile(
    rf"[()]|[{_END}]|[,&]|(?<=\s)\+(?=\s)|(?<=\w)\+(?=\w)|\b(?:and|or|plus|with)\b",
    re.IGNORECASE,
)
# The most parts of a name.
_MOST_PARTS = 4
# Bullets before a name, and an article; what ends a sentence behind it.
_BEFORE_NAME = re.compile(r"^[\s\-*.:/]*(?:an?\s+)?", re.IGNORECASE)
_AFTER_NAME = " .:?!/,&"
# What numbers the names of a list: at the start of a line, or behind another name's end.
_NUMBER = re.compile(r"(?:^|[\n,;])[^\S\n]*\(?\d{1,2}[.)](?=\s)")
_NUMBER_WITHIN = re.compile(r"(?<!\S)\(?\d{1,2}[.)](?=\s)")


@dataclass(frozen=True)
class _Part:
    """A part of a request: where it stands, and whether what is before it ended a name."""

    start: int
    end: int
    begins_name: bool


def requested_names(
    request: str | Sequence[str],
    facts: LabFacts,
    version: int,
    is_name: Callable[[str], bool] = lambda name: False,
) -> list[str]:
    """Return the names of the tests that a request asks for, in its order.

    Names are set apart by commas outside parentheses, by "and" and by line breaks, in version 2
    by semicolons, ampersands, plus signs, "or", "plus", "with", bullets and the numbers of a list
    too; a list of strings is a request as well. In version 2 words that are set apart so are one
    name if together they are one ("Calcium, Total").

    Args:
        request: what the model wrote.
        facts: the words that only fill a request.
        version: 1 for the reference's behaviour, 2 for the repaired one.
        is_name: tells whether words are the whole name of a test.
    """
    text = request if isinstance(request, str) else "\n".join(request)
    if version == 1:
        return _reference_names(text, facts)
    is_list = _NUMBER.match(text) is not None
    text = (_NUMBER_WITHIN if is_list else _NUMBER).sub("\n", text)
    parts = _parts(text)
    names: list[str] = []
    place = 0
    # A request that repeats itself is read once.
    read = cache(lambda words: _name_in(words, facts, is_name))
    while place < len(parts):
        count, name = _longest_name(text, parts[place : place + _MOST_PARTS], read)
        names += [name] if name else []
        place += count
    return names


def shorter_name(name: str, facts: LabFacts) -> str:
    """Return a name without words that say nothing of the test: its haste, its unit, the patient.

    Only for a name that means nothing with them; some tests have such a word in their name.
    """
    words = name.split()
    return _bare(" ".join(w for w in words if w.lower() not in facts.fillers_of_unknown_names))


def _longest_name(
    text: str, parts: Sequence[_Part], read: Callable[[str], tuple[bool, str]]
) -> tuple[int, str]:
    """Return how many parts the first name has, and the name; a part that is none is one, too."""
    together = next((n for n, part in enumerate(parts) if n and part.begins_name), len(parts))
    name = ""
    for count in range(together, 0, -1):
        if count > 1 and not plain(text[parts[count - 1].start : parts[count - 1].end]):
            continue
        is_whole, name = read(text[parts[0].start : parts[count - 1].end])
        if is_whole:
            return count, name
    return 1, name


def _name_in(words: str, facts: LabFacts, is_name: Callable[[str], bool]) -> tuple[bool, str]:
    """Return whether words are the whole name of a test, and the name without what fills it."""
    whole = _bare(" ".join(words.split()))
    filled = _without_fillers(whole, facts)
    for name in dict.fromkeys((whole, filled, shorter_name(filled, facts))):
        if name and is_name(name):
            return True, name
    return False, filled


def _parts(text: str) -> list[_Part]:
    """Return what stands between separators; one behind which parentheses close parts nothing."""
    separators: list[re.Match[str]] = []
    is_within = False
    for found in reversed(list(_SEPARATOR.finditer(text))):
        if found[0] in "()":
            is_within = found[0] == ")"
        elif not is_within:
            separators.append(found)
    parts: list[_Part] = []
    start, begins_name = 0, True
    for separator in reversed(separators):
        if text[start : separator.start()].strip():
            parts.append(_Part(start, separator.start(), begins_name))
            begins_name = False
        begins_name = begins_name or separator[0] in _END
        start = separator.end()
    if text[start:].strip():
        parts.append(_Part(start, len(text), begins_name))
    return parts


def _without_fillers(text: str, facts: LabFacts) -> str:
    words = _words_of(facts.fillers_anywhere).sub("", text).split()
    return _bare(" ".join(w for w in words if w.lower() not in facts.fillers_between_blanks))


@lru_cache(maxsize=8)
def _words_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for whole words."""
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


def _bare(name: str) -> str:
    return _BEFORE_NAME.sub("", name).rstrip(_AFTER_NAME)


def _reference_names(text: str, facts: LabFacts) -> list[str]:
    text = _words_of(facts.fillers_anywhere).sub("", text)
    words = _REFERENCE_SEPARATOR.sub(",", text).split()
    text = " ".join(word for word in words if word.lower() not in facts.fillers_between_blanks)
    names = map(str.strip, _between_commas(_REFERENCE_ARTICLE.sub("", text)))
    return [name for name in names if name]


def _between_commas(text: str) -> list[str]:
    """Split at commas; one behind which parentheses close belongs to a name."""
    names: list[list[str]] = [[]]
    next_parenthesis = ""
    for part in reversed(text.split(",")):
        if next_parenthesis != ")" and names[-1]:
            names.append([])
        names[-1].append(part)
        found = _PARENTHESIS.search(part)
        next_parenthesis = found[0] if found else next_parenthesis
    return [",".join(reversed(parts)) for parts in reversed(names)]
