"""The laboratory: results of the tests that a request names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from medeval.cdm.lab_facts import LabFacts
from medeval.cdm.tools.lab_mapping import LabMapping
from medeval.cdm.tools.lab_names import LabNames, canonical
from medeval.cdm.tools.lab_requests import requested_names, shorter_name
from medeval.cdm.words import holds, plain
from medeval.models.clinical_case import ClinicalCase, LabResult, MicrobiologyEvent

NOTHING = "No laboratory results available for this patient."
# A part of a name that is shorter than this is in too many names.
LEAST_PART = 3


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
            _Result(place, itemid, name or "", lines)
            for place, (itemid, name, lines) in enumerate((*labs, *cultures))
        ]

    def requested(self, request: str | Sequence[str], version: int) -> list[Requested]:
        """Return the tests that a request names.

        In version 2 a name that means nothing is looked up without words that say nothing of the
        test ("STAT lipase"); if it has slashes it is several names ("AST/ALT"), if one of them
        means something.
        """
        if version == 1:
            names = requested_names(request, self._facts, version)
            return [Requested(name, self._names.items(name, version)) for name in names]
        names = requested_names(request, self._facts, version, self._names.is_exact)
        return [test for name in names for test in self._meant(name, version)]

    def _meant(self, name: str, version: int) -> list[Requested]:
        items = self._names.items(name, version)
        if items:
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
            if isinstance(wanted, int):
                yield str(wanted), [one for one in self._results if one.itemid == wanted]
            else:
                part = wanted.lower()
                yield wanted, [one for one in self._results if part in one.name.lower()]

    def _by_test(self, tests: Iterable[Requested]) -> Iterator[tuple[str, list[_Result]]]:
        """Yield each test once with its results, in the order of its items, then of the case."""
        for name, items in dict.fromkeys((test.name, test.items) for test in tests):
            if items:
                yield (
                    name,
                    [
                        one
                        for item in items
                        for one in self._results
                        if self._stands_for(one) == item
                    ],
                )
            else:
                words = plain(name)
                yield (
                    name,
                    [
                        one
                        for one in self._results
                        if len(words) >= LEAST_PART and holds(plain(one.name), words, is_stem=True)
                    ],
                )

    def _stands_for(self, result: _Result) -> int | None:
        found = canonical([result.itemid], self._facts) if result.itemid is not None else (None,)
        return found[0]


def lab_line(lab: LabResult) -> str:
    """Return one result as the reference writes it; a range needs both ends."""
    ends = (lab.ref_range_lower, lab.ref_range_upper)
    has_range = None not in ends
    reference = f" (ref: {ends[0]}-{ends[1]})" if has_range else ""
    return f"({lab.fluid}) {lab.test_name}: {lab.value}{reference}"


def repaired_lab_line(lab: LabResult) -> str:
    """Return one result; a range of one end is shown as well, and nothing that is unknown."""
    low, high = lab.ref_range_lower, lab.ref_range_upper
    fluid = f"({lab.fluid}) " if lab.fluid else ""
    if low is not None and high is not None:
        reference = f" (ref: {low:.15g}-{high:.15g})"
    elif low is not None:
        reference = f" (ref: from {low:.15g})"
    elif high is not None:
        reference = f" (ref: up to {high:.15g})"
    else:
        reference = ""
    return f"{fluid}{lab.test_name or 'Unnamed test'}: {lab.value}{reference}"


def culture_line(culture: MicrobiologyEvent) -> str:
    """Return one culture: its organisms, else its comments."""
    found = culture.organism_name or culture.comments or "No growth"
    return f"(Microbiology) {culture.test_name}: {found}"
