"""The tools that a model may use on one case: examination, tests, imaging, criteria."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase, LabResult, MicrobiologyEvent, RadiologyReport
from medeval.tasks.cdm import scores_v1
from medeval.tasks.cdm.facts import (
    ARGUMENTS,
    Facts,
    ImagingFacts,
    Items,
    LabFacts,
    LabNames,
    closest,
    holds,
    plain,
)

TOOLS = tuple(ARGUMENTS)
EXAMINE, TEST, IMAGE, RETRIEVE = TOOLS
# What the model reads of a call, and the record from which the call is scored.
Answer = tuple[str, dict[str, Any]]
Result = LabResult | MicrobiologyEvent
# What a request for imaging asks for; None where its words say nothing that is known: one of the
# regions of the reports; one of their modalities, the broad one of a special kind; and the special
# kind, such as EUS of Ultrasound.
Imaging = tuple[str | None, str | None, str | None]
# No list of tests is as long; a model that repeats itself writes one that is.
LONGEST_REQUEST = 4000
# What always ends a name, and what may be part of one: "OVA + PARASITES", "Calcium, Total". A plus
# sign between a blank and a word belongs to the word ("Na+"). In parentheses nothing ends a name.
_WITHIN = r"(?![^()]*\))"
_END = re.compile(rf"[\n;•]{_WITHIN}")
_SEPARATOR = re.compile(
    rf"([,&]|(?<=\s)\+(?=\s)|(?<=\w)\+(?=\w)|\b(?:and|or|plus|with)\b){_WITHIN}", re.IGNORECASE
)
# Bullets before a name, and an article; what ends a sentence behind it.
_BEFORE_NAME = re.compile(r"^[\s\-*.:/]*(?:an?\s+)?", re.IGNORECASE)
_AFTER_NAME = " .:?!/,&"
# What numbers the names of a list: at the start of a line, or behind another name's end.
_NUMBER = re.compile(r"(?:^|[\n,;])[^\S\n]*\(?\d{1,2}[.)](?=\s)")
_NUMBER_WITHIN = re.compile(r"(?<!\S)\(?\d{1,2}[.)](?=\s)")


def require_tools(enabled: Sequence[str]) -> tuple[str, ...]:
    """Return the tools that may be used, in their own order.

    Raises:
        UserError: an unknown one.
    """
    unknown = [name for name in enabled if name not in TOOLS]
    if unknown:
        raise UserError(f"Unknown tools {', '.join(unknown)}. Tools: {', '.join(TOOLS)}.")
    return tuple(name for name in TOOLS if name in enabled)


class Toolbox:
    """The tools of one conversation about one case; it remembers which reports were given out.

    Args:
        case: the case; its ground truth is not read.
        facts: the facts.
        names: of tests.
        enabled: names of the tools that may be used.

    Raises:
        UserError: an unknown tool.
    """

    def __init__(
        self, case: ClinicalCase, facts: Facts, names: LabNames, enabled: Sequence[str] = TOOLS
    ) -> None:
        self._case = case
        self._facts = facts
        self._names = names
        self._enabled = require_tools(enabled)
        self._given: set[int] = set()

    def call(self, name: str, arguments: Mapping[str, Any], refused: str = "") -> Answer:
        """Use a tool; whatever is wrong with a call is told to the model, not raised.

        Args:
            name: of the tool.
            arguments: of the call.
            refused: why it is not made, which is told instead; empty to make it.

        Returns:
            What the model reads, and JSON values: `tool`, `arguments`, `is_valid` (whether it named
            a tool that is enabled, with arguments that it takes); for tests `itemids` of each
            version of the scores and `unknown_names`; for imaging `region`, `modality`, `kind`,
            `scored_as` and `report`, the place of the report in the case; for criteria `condition`.
        """
        record: dict[str, Any] = {"tool": name, "arguments": dict(arguments)}
        if refused:
            return refused, record | {"is_valid": False}
        missing = [
            argument
            for argument in ARGUMENTS.get(name, ())
            if not isinstance(arguments.get(argument), str)
        ]
        if name == TEST and missing and (names := arguments.get("test_name")):
            is_list = isinstance(names, list | tuple) and all(isinstance(one, str) for one in names)
            missing = [] if is_list else missing
        is_valid = name in self._enabled and not missing
        if name not in self._enabled:
            tools = ", ".join(self._enabled) or "none"
            text = f"There is no tool {name[:64]}. Tools: {tools}."
        elif missing:
            text = f"{name} needs the argument {missing[0]}, a text."
        elif name == TEST:
            text, is_valid = self._test(record, arguments["test_name"])
        elif name == IMAGE:
            text, is_valid = self._image(record, arguments["region"], arguments["modality"])
        elif name == RETRIEVE:
            text = self._retrieve(record, arguments["condition"])
        else:
            text = self._case.physical_exams or "No physical exam data available."
        return text, record | {"is_valid": is_valid}

    def _test(self, record: dict[str, Any], request: str | Sequence[str]) -> tuple[str, bool]:
        """Return the results of a request, and whether it names a test; the record grows."""
        if sum(map(len, request)) > LONGEST_REQUEST:
            record |= {"itemids": {"1": [], "2": []}, "unknown_names": []}
            most = f"A request for tests has no more than {LONGEST_REQUEST:,} characters."
            return f"{most} Name fewer tests at a time.", False
        text = request if isinstance(request, str) else "\n".join(request)
        tests = requested_tests(text, self._names)
        items = list(dict.fromkeys(item for _, of in tests for item in of))
        record["itemids"] = {"1": scores_v1.requested_items(text, self._names), "2": items}
        record["unknown_names"] = [name for name, of in tests if not of]
        if not tests:
            return f"{TEST} needs the name of a test.", False
        results: list[Result] = [*self._case.lab_results, *self._case.microbiology_events]
        if not results:
            return "No laboratory results available for this patient.", True
        stands_for = self._facts.labs.item_synonyms
        found = {name: _places(name, of, results, stands_for) for name, of in tests}
        # Item by item, and each result once.
        places = dict.fromkeys(place for of in found.values() for place in of)
        if not places:
            asked = request if isinstance(request, str) else ", ".join(request)
            return f"The requested lab tests are not available for this patient: {asked}", True
        text = "\n".join(_result_line(results[place]) for place in places)
        missing = ", ".join(name for name, of in found.items() if not of)
        return (f"{text}\n\nCould not find: {missing}" if missing else text), True

    def _image(self, record: dict[str, Any], region: str, modality: str) -> tuple[str, bool]:
        """Return the next report, and whether the request can be understood; the record grows."""
        facts = self._facts.imaging
        asked = place, found, kind = understood(region, modality, facts)
        scored_as = facts.kinds[kind].scored_as if kind is not None else found and found.lower()
        record |= {"region": place, "modality": found, "kind": kind, "scored_as": scored_as}
        record["report"] = None
        if place is None or found is None:
            what = "region" if place is None else "modality"
            return f"The {what} of the imaging is not known. Name it in one word.", False
        reports = self._case.radiology_reports
        fits = [number for number, report in enumerate(reports) if shows(report, asked, facts)]
        left = [number for number in fits if number not in self._given]
        if not reports:
            return "No imaging results available for this patient.", True
        if not left:
            what = "No further imaging result" if fits else "No imaging result found"
            return f"{what} for {place} {kind or found}.", True
        # Not in the order of the case, which is that of the notes' names.
        record["report"] = next_one = min(left, key=lambda number: by_time(reports[number]))
        self._given.add(next_one)
        report = reports[next_one]
        about = f"- Region: {report.region}\n- Modality: {report.modality}"
        return f"- Exam Name: {report.exam_name}\n{about}\n- Reports: {report.text}\n", True

    def _retrieve(self, record: dict[str, Any], condition: str) -> str:
        """Return the criteria of a condition, else which there are; the record grows."""
        names = {name: one for one in self._facts.criteria for name in one.names}
        name = plain(condition)
        if name not in names:
            name, ratio = closest(name, list(names))
            name = name if ratio >= 85 else ""
        found = names.get(name)
        record["condition"] = found and found.condition
        if found is None:
            known = ", ".join(one.condition for one in self._facts.criteria)
            return f"No criteria are stored for it. Conditions: {known}."
        return f"{found.condition.capitalize()} ({found.guideline}): {found.text}"


# Laboratory tests


def requested_tests(request: str, names: LabNames) -> list[tuple[str, Items]]:
    """Return the tests that a request names: each name, and its items; none if it is unknown.

    A name that means nothing is looked up without words that say nothing of the test ("STAT
    lipase"); if it has slashes it is several names ("AST/ALT"), if one of them means something.
    """
    wanted = requested_names(request, names.facts, names.is_exact)
    return [test for name in wanted for test in _meant(name, names)]


def _meant(name: str, names: LabNames) -> list[tuple[str, Items]]:
    if items := names.items(name):
        return [(name, items)]
    shorter = _shorter(name, names.facts)
    if shorter != name:
        return _meant(shorter, names) if shorter else []
    parts = filter(None, map(str.strip, name.split("/")))
    joined = [(part, names.items(part)) for part in parts]
    return joined if any(items for _, items in joined) else [(name, ())]


def _places(
    name: str, items: Items, results: Sequence[Result], stands_for: Mapping[int, int]
) -> list[int]:
    """Return where the results of a test are, in the order of its items, then of the case."""
    words = plain(name)
    # A shorter part of a name is in too many names.
    if not items and len(words) >= 3:
        return [
            place
            for place, one in enumerate(results)
            if holds(plain(one.test_name or ""), words, is_stem=True)
        ]
    of = [one.itemid if isinstance(one, LabResult) else one.test_itemid or 0 for one in results]
    of = [stands_for.get(item, item) for item in of]
    return [place for item in items for place, its in enumerate(of) if its == item]


def _result_line(result: Result) -> str:
    if isinstance(result, MicrobiologyEvent):
        found = result.organism_name or result.comments or "No growth"
        return f"(Microbiology) {result.test_name}: {found}"
    fluid = f"({result.fluid}) " if result.fluid else ""
    name = result.test_name or "Unnamed test"
    return f"{fluid}{name}: {result.value}{reference_range(result)}"


def reference_range(lab: LabResult) -> str:
    """Return what is known of the range of a result, as models read it; empty for nothing."""
    low, high = lab.ref_range_lower, lab.ref_range_upper
    if low is not None and high is not None:
        return f" (ref: {low:.15g}-{high:.15g})"
    if low is not None:
        return f" (ref: from {low:.15g})"
    return f" (ref: up to {high:.15g})" if high is not None else ""


def requested_names(
    request: str, facts: LabFacts, is_name: Callable[[str], bool] = lambda name: False
) -> list[str]:
    """Return the names of the tests that a request asks for, in its order.

    Names are set apart by commas outside parentheses, by line breaks, semicolons, ampersands, plus
    signs, "and", "or", "plus", "with", bullets and the numbers of a list. Words that are set apart
    so are one name if together they are one ("Calcium, Total").

    Args:
        request: what the model wrote.
        facts: the words that only fill a request.
        is_name: tells whether words are the whole name of a test.
    """
    is_list = _NUMBER.match(request) is not None
    names: list[str] = []
    # A request that repeats itself is read once.
    read = cache(lambda words: _name_in(words, facts, is_name))
    for line in _END.split((_NUMBER_WITHIN if is_list else _NUMBER).sub("\n", request)):
        # Names and between them what separates them.
        pieces = _SEPARATOR.split(line)
        places = [place for place in range(0, len(pieces), 2) if pieces[place].strip()]
        while places:
            # The longest name, of four pieces at most; a piece that is none is one, too.
            for count in range(min(len(places), 4), 0, -1):
                last = places[count - 1]
                if count > 1 and not plain(pieces[last]):
                    continue
                is_whole, name = read("".join(pieces[places[0] : last + 1]))
                if is_whole:
                    break
            names += [name] if name else []
            places = places[count:]
    return names


def _name_in(words: str, facts: LabFacts, is_name: Callable[[str], bool]) -> tuple[bool, str]:
    """Return whether words are the whole name of a test, and the name without what fills it."""
    whole = _bare(" ".join(words.split()))
    kept = facts.filler.sub("", whole).split()
    filled = _bare(" ".join(w for w in kept if w.lower() not in facts.fillers_between_blanks))
    for name in dict.fromkeys((whole, filled, _shorter(filled, facts))):
        if name and is_name(name):
            return True, name
    return False, filled


def _shorter(name: str, facts: LabFacts) -> str:
    """Return a name without words that say nothing of the test: its haste, its unit, the patient.

    Only for a name that means nothing with them; some tests have such a word in their name.
    """
    words = name.split()
    return _bare(" ".join(w for w in words if w.lower() not in facts.fillers_of_unknown_names))


def _bare(name: str) -> str:
    return _BEFORE_NAME.sub("", name).rstrip(_AFTER_NAME)


# Imaging


def by_time(report: RadiologyReport) -> tuple[Any, ...]:
    """Return what puts reports in the order of time."""
    return report.charttime, report.note_id, report.sequence_num


def understood(region: str, modality: str, facts: ImagingFacts) -> Imaging:
    """Return what the words of a request mean.

    A special kind goes before a broad modality ("endoscopic ultrasound" is EUS), a longer phrase
    before a shorter one, and words of requests before those of examinations' names.
    """
    words = plain(modality)
    kinds = {phrase: name for phrase, name in facts.modality_phrases.items() if name in facts.kinds}
    kind = _meaning(words, kinds)
    if kind is not None:
        found: str | None = facts.kinds[kind].modality
    else:
        found = _meaning(words, facts.modality_phrases, facts.modality_keywords)
    return _meaning(plain(region), facts.region_phrases, facts.region_keywords), found, kind


def shows(report: RadiologyReport, asked: Imaging, facts: ImagingFacts) -> bool:
    """Tell whether a report is of the region and modality of a request.

    A broad modality accepts its special kinds; a special kind is told by the report's modality or
    by the examination's name.
    """
    region, modality, kind = asked
    name = plain(report.exam_name)
    kinds = {
        kind: one.modality
        for kind, one in facts.kinds.items()
        if report.modality == kind or any(holds(name, word) for word in one.exam_keywords)
    }
    shown = {*kinds} if kind is not None else {report.modality, *kinds.values()}
    return region == report.region and (kind or modality) in shown


def _meaning(
    words: str,
    phrases: Mapping[str, str],
    keywords: Iterable[tuple[str, str, bool]] = (),
) -> str | None:
    """Return the meaning of the longest phrase in some words, else that of the first keyword."""
    found = [phrase for phrase in phrases if holds(words, phrase)]
    if found:
        return phrases[max(found, key=len)]
    held = (means for word, means, is_stem in keywords if holds(words, word, is_stem=is_stem))
    return next(held, None)
