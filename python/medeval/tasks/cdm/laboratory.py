"""The laboratory: the tests that a request names, and their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from medeval.models.clinical_case import ClinicalCase, LabResult
from medeval.tasks.cdm.facts import LabFacts
from medeval.tasks.cdm.lab_names import LabMapping, LabNames, holds, plain

NOTHING = "No laboratory results available for this patient."
# A part of a name that is shorter than this is in too many names.
LEAST_PART = 3

_REFERENCE_SEPARATOR = re.compile(r"\band\b|\n")
# The reference means an article, and takes the letter out of any name.
_REFERENCE_ARTICLE = re.compile(r"\bA\s")
# What always ends a name, and what may be part of one: "OVA + PARASITES", "Calcium, Total". A plus
# sign between a blank and a word belongs to the word ("Na+").
_END = "\n;•"
_SEPARATOR = re.compile(
    rf"[()]|[{_END}]|[,&]|(?<=\s)\+(?=\s)|(?<=\w)\+(?=\w)|\b(?:and|or|plus|with)\b", re.IGNORECASE
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
class Requested:
    """One test of a request.

    Attributes:
        name: as it was asked for.
        items: what it means, synonyms replaced; none if it is unknown.
    """

    name: str
    items: tuple[int, ...]


class Laboratory:
    """The results of one case."""

    def __init__(self, case: ClinicalCase, facts: LabFacts, mapping: LabMapping) -> None:
        """Take the case, the facts and the labels of the dictionary."""
        self._facts = facts
        self._names = LabNames(mapping, facts)
        self._has_labs = bool(case.lab_results)
        # Of each result the item, the name, and how it reads in each version. The reference shows
        # a range only with both ends, and "None" for what is unknown.
        self._results = []
        for lab in case.lab_results:
            low, high = lab.ref_range_lower, lab.ref_range_upper
            both = f" (ref: {low}-{high})" if low is not None and high is not None else ""
            fluid = f"({lab.fluid}) " if lab.fluid else ""
            lines = (
                f"({lab.fluid}) {lab.test_name}: {lab.value}{both}",
                f"{fluid}{lab.test_name or 'Unnamed test'}: {lab.value}{reference_range(lab)}",
            )
            self._results.append((lab.itemid, lab.test_name or "", lines))
        for one in case.microbiology_events:
            found = one.organism_name or one.comments or "No growth"
            line = f"(Microbiology) {one.test_name}: {found}"
            self._results.append((one.test_itemid or 0, one.test_name or "", (line, line)))

    def requested(self, request: str | Sequence[str], version: int) -> list[Requested]:
        """Return the tests that a request names.

        In version 2 a name that means nothing is looked up without words that say nothing of the
        test ("STAT lipase"); if it has slashes it is several names ("AST/ALT"), if one of them
        means something.
        """
        names = requested_names(request, self._facts, version, self._names.is_exact)
        return [test for name in names for test in self._meant(name, version)]

    def _meant(self, name: str, version: int) -> list[Requested]:
        items = self._names.items(name, version)
        if items or version == 1:
            return [Requested(name, items)]
        shorter = shorter_name(name, self._facts)
        if shorter != name:
            return self._meant(shorter, version) if shorter else []
        parts = filter(None, map(str.strip, name.split("/")))
        joined = [Requested(part, self._names.items(part, version)) for part in parts]
        return joined if any(one.items for one in joined) else [Requested(name, ())]

    def answer(self, request: str | Sequence[str], version: int) -> str:
        """Return the results of a request as the model reads them.

        Version 1 has nothing where the case has cultures only, misses results that are stored
        under an item for which another stands, and names missing items of a panel by number.
        """
        if not (self._results and (self._has_labs or version != 1)):
            return NOTHING
        tests = dict.fromkeys(self.requested(request, version))
        if version == 1:
            keys = dict.fromkeys(key for test in tests for key in (test.items or (test.name,)))
            found = {
                str(key): [
                    place
                    for place, (itemid, name, _) in enumerate(self._results)
                    if itemid == key or (isinstance(key, str) and key.lower() in name.lower())
                ]
                for key in keys
            }
        else:
            found = {test.name: self._of(test) for test in tests}
        # Item by item, and each result once.
        places = dict.fromkeys(place for places in found.values() for place in places)
        if not places:
            asked = request if isinstance(request, str) else ", ".join(request)
            return f"The requested lab tests are not available for this patient: {asked}"
        text = "\n".join(self._results[place][2][version - 1] for place in places)
        missing = ", ".join(name for name, of in found.items() if not of)
        return f"{text}\n\nCould not find: {missing}" if missing else text

    def _of(self, test: Requested) -> list[int]:
        """Return where the results of a test are, in the order of its items, then of the case."""
        words = plain(test.name)
        if not test.items:
            return [
                place
                for place, (_, name, _) in enumerate(self._results)
                if len(words) >= LEAST_PART and holds(plain(name), words, is_stem=True)
            ]
        stands_for = self._facts.item_synonyms
        return [
            place
            for item in test.items
            for place, (itemid, _, _) in enumerate(self._results)
            if stands_for.get(itemid, itemid) == item
        ]


def reference_range(lab: LabResult) -> str:
    """Return what is known of the range of a result, as models read it; empty for nothing."""
    low, high = lab.ref_range_lower, lab.ref_range_upper
    if low is not None and high is not None:
        return f" (ref: {low:.15g}-{high:.15g})"
    if low is not None:
        return f" (ref: from {low:.15g})"
    return f" (ref: up to {high:.15g})" if high is not None else ""


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
    # Where the parts of the request stand, those together that no sign sets apart for good.
    groups: list[list[tuple[int, int]]] = [[]]
    start = 0
    for separator in (*_separators(text), None):
        end = len(text) if separator is None else separator.start()
        if text[start:end].strip():
            groups[-1].append((start, end))
        if separator is not None:
            groups += [[]] if separator[0] in _END else []
            start = separator.end()
    names: list[str] = []
    # A request that repeats itself is read once.
    read = cache(lambda words: _name_in(words, facts, is_name))
    for parts in groups:
        place = 0
        while place < len(parts):
            # The longest name; a part that is none is one, too.
            for last in range(min(len(parts), place + _MOST_PARTS) - 1, place - 1, -1):
                begin, end = parts[last]
                if last > place and not plain(text[begin:end]):
                    continue
                is_whole, name = read(text[parts[place][0] : end])
                if is_whole:
                    break
            names += [name] if name else []
            place = last + 1
    return names


def shorter_name(name: str, facts: LabFacts) -> str:
    """Return a name without words that say nothing of the test: its haste, its unit, the patient.

    Only for a name that means nothing with them; some tests have such a word in their name.
    """
    words = name.split()
    return _bare(" ".join(w for w in words if w.lower() not in facts.fillers_of_unknown_names))


def _name_in(words: str, facts: LabFacts, is_name: Callable[[str], bool]) -> tuple[bool, str]:
    """Return whether words are the whole name of a test, and the name without what fills it."""
    whole = _bare(" ".join(words.split()))
    kept = _words_of(facts.fillers_anywhere).sub("", whole).split()
    filled = _bare(" ".join(w for w in kept if w.lower() not in facts.fillers_between_blanks))
    for name in dict.fromkeys((whole, filled, shorter_name(filled, facts))):
        if name and is_name(name):
            return True, name
    return False, filled


def _separators(text: str) -> list[re.Match[str]]:
    """Return what sets names apart; nothing does behind which parentheses close."""
    separators: list[re.Match[str]] = []
    is_within = False
    for found in reversed(list(_SEPARATOR.finditer(text))):
        if found[0] in "()":
            is_within = found[0] == ")"
        elif not is_within:
            separators.append(found)
    return separators[::-1]


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
    text = _REFERENCE_ARTICLE.sub("", text)
    # A comma behind which parentheses close belongs to a name.
    ends = [found.start() for found in _separators(text) if found[0] == ","]
    parts = pairwise([-1, *ends, len(text)])
    return [name for start, end in parts if (name := text[start + 1 : end].strip())]
