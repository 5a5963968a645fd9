"""The laboratory: the tests that a request names, and their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from medeval.cdm.facts import LabFacts
from medeval.cdm.lab_names import LabMapping, LabNames, holds, plain
from medeval.models.clinical_case import ClinicalCase, LabResult, MicrobiologyEvent

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
class Requested:
    """One test of a request.

    Attributes:
        name: as it was asked for.
        items: what it means, synonyms replaced; none if it is unknown.
    """

    name: str
    items: tuple[int, ...]


@dataclass(frozen=True)
class _Result:
    """A result of the case: where it stands, whose it is, and how it reads in each version."""

    place: int
    itemid: int | None
    stands_for: int | None
    name: str
    lines: tuple[str, str]


class Laboratory:
    """The results of one case."""

    def __init__(self, case: ClinicalCase, facts: LabFacts, mapping: LabMapping) -> None:
        """Take the case, the facts and the labels of the dictionary."""
        self._facts = facts
        self._names = LabNames(mapping, facts)
        self._has_labs = bool(case.lab_results)
        labs = [
            (lab.itemid, lab.test_name, (lab_line(lab), repaired_lab_line(lab)))
            for lab in case.lab_results
        ]
        cultures = [
            (one.test_itemid, one.test_name, (culture_line(one),) * 2)
            for one in case.microbiology_events
        ]
        self._results = [
            _Result(place, itemid, facts.item_synonyms.get(itemid or 0, itemid), name or "", lines)
            for place, (itemid, name, lines) in enumerate((*labs, *cultures))
        ]

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
        parts = [part.strip() for part in name.split("/") if part.strip()] if "/" in name else []
        joined = [Requested(part, self._names.items(part, version)) for part in parts]
        return joined if any(one.items for one in joined) else [Requested(name, ())]

    def answer(self, request: str | Sequence[str], version: int) -> str:
        """Return the results of a request as the model reads them.

        Version 1 has nothing where the case has cultures only, misses results that are stored
        under an item for which another stands, and names missing items of a panel by number.
        """
        if not (self._results and (self._has_labs or version != 1)):
            return NOTHING
        tests = self.requested(request, version)
        found: dict[_Result, None] = {}
        missing: list[str] = []
        for name, results in self._by_item(tests) if version == 1 else self._by_test(tests):
            found |= dict.fromkeys(results)
            missing += [] if results else [name]
        if not found:
            asked = request if isinstance(request, str) else ", ".join(request)
            return f"The requested lab tests are not available for this patient: {asked}"
        text = "\n".join(result.lines[version - 1] for result in found)
        return f"{text}\n\nCould not find: {', '.join(missing)}" if missing else text

    def _by_item(self, tests: Iterable[Requested]) -> Iterator[tuple[str, list[_Result]]]:
        """Yield each item once, and each unknown name, with what the reference finds of it."""
        for wanted in dict.fromkeys(key for test in tests for key in (test.items or (test.name,))):
            found = [
                one
                for one in self._results
                if wanted == one.itemid
                or (isinstance(wanted, str) and wanted.lower() in one.name.lower())
            ]
            yield str(wanted), found

    def _by_test(self, tests: Iterable[Requested]) -> Iterator[tuple[str, list[_Result]]]:
        """Yield each test once with its results, in the order of its items, then of the case."""
        for name, items in dict.fromkeys((test.name, test.items) for test in tests):
            words = plain(name)
            found = [one for item in items for one in self._results if one.stands_for == item]
            if not items and len(words) >= LEAST_PART:
                found = [
                    one for one in self._results if holds(plain(one.name), words, is_stem=True)
                ]
            yield name, found


def lab_line(lab: LabResult) -> str:
    """Return one result as the reference writes it; a range needs both ends."""
    ends = (lab.ref_range_lower, lab.ref_range_upper)
    has_range = None not in ends
    reference = f" (ref: {ends[0]}-{ends[1]})" if has_range else ""
    return f"({lab.fluid}) {lab.test_name}: {lab.value}{reference}"


def repaired_lab_line(lab: LabResult) -> str:
    """Return one result; a range of one end is shown as well, and nothing that is unknown."""
    fluid = f"({lab.fluid}) " if lab.fluid else ""
    return f"{fluid}{lab.test_name or 'Unnamed test'}: {lab.value}{reference_range(lab)}"


def reference_range(lab: LabResult) -> str:
    """Return what is known of the range of a result, as models read it; empty for nothing."""
    low, high = lab.ref_range_lower, lab.ref_range_upper
    if low is not None and high is not None:
        return f" (ref: {low:.15g}-{high:.15g})"
    if low is not None:
        return f" (ref: from {low:.15g})"
    return f" (ref: up to {high:.15g})" if high is not None else ""


def culture_line(culture: MicrobiologyEvent) -> str:
    """Return one culture: its organisms, else its comments."""
    found = culture.organism_name or culture.comments or "No growth"
    return f"(Microbiology) {culture.test_name}: {found}"


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
    # Where each part of the request stands, and whether what is before it ended a name.
    parts: list[tuple[int, int, bool]] = []
    start, begins_name = 0, True
    for separator in (*_separators(text), None):
        end = len(text) if separator is None else separator.start()
        if text[start:end].strip():
            parts.append((start, end, begins_name))
            begins_name = False
        if separator is not None:
            begins_name = begins_name or separator[0] in _END
            start = separator.end()
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
    text: str, parts: Sequence[tuple[int, int, bool]], read: Callable[[str], tuple[bool, str]]
) -> tuple[int, str]:
    """Return how many parts the first name has, and the name; a part that is none is one, too."""
    together = next((n for n, part in enumerate(parts) if n and part[2]), None)
    name = ""
    for count in range(together or len(parts), 0, -1):
        begin, end, _ = parts[count - 1]
        if count > 1 and not plain(text[begin:end]):
            continue
        is_whole, name = read(text[parts[0][0] : end])
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
    text = _REFERENCE_ARTICLE.sub("", text)
    # A comma behind which parentheses close belongs to a name.
    ends = [found.start() for found in _separators(text) if found[0] == ","]
    names = [
        text[start:end].strip()
        for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True)
    ]
    return [name for name in names if name]
