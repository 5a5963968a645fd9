"""The tools that a model may use on one case: examination, tests, imaging, criteria."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase, RadiologyReport
from medeval.tasks.cdm.facts import Facts, ImagingFacts
from medeval.tasks.cdm.lab_names import LabMapping, closest, holds, plain
from medeval.tasks.cdm.laboratory import Laboratory
from medeval.tasks.cdm.prompts import ARGUMENTS

VERSIONS = (1, 2)
PHYSICAL_EXAMINATION = "physical_examination"
REQUEST_LAB_TEST = "request_lab_test"
REQUEST_IMAGING = "request_imaging"
RETRIEVE_CRITERIA = "retrieve_diagnosis_criteria"
TOOLS = tuple(ARGUMENTS)
# No list of tests is as long; a model that repeats itself writes one that is.
LONGEST_REQUEST = 4000
NO_EXAMINATION = "No physical exam data available."
NO_IMAGING = "No imaging results available for this patient."
# How like a known condition a name must be, of 100.
CONDITION_RATIO = 85


@dataclass(frozen=True)
class ToolAnswer:
    """What became of one call.

    Attributes:
        text: what the model reads.
        record: JSON values from which the call is scored: `tool`, `arguments`, `is_valid` (whether
            it named a tool that is enabled, with arguments that it takes); for tests `itemids` of
            each version of the scores and `unknown_names`; for imaging `region`, `modality`,
            `kind`, `scored_as` and `report`, the place of the report in the case; for criteria
            `condition`.
    """

    text: str
    record: dict[str, Any]


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
    """The tools of one conversation about one case; it remembers which reports were given out."""

    def __init__(
        self,
        case: ClinicalCase,
        facts: Facts,
        *,
        mapping: LabMapping,
        enabled: Sequence[str] = TOOLS,
        version: int = 2,
    ) -> None:
        """Take the case and what is known of tests.

        Args:
            case: the case; its ground truth is not read.
            facts: the facts.
            mapping: all tests by their label (`read_mapping` of an export's file).
            enabled: names of the tools that may be used.
            version: 1 behaves as the reference does, 2 without its faults.

        Raises:
            UserError: an unknown tool or version.
        """
        if version not in VERSIONS:
            raise UserError(f"Unknown version {version} of the tools. Versions: 1, 2.")
        self._case = case
        self._facts = facts
        self._version = version
        self._enabled = require_tools(enabled)
        self._laboratory = Laboratory(case, facts.labs, mapping)
        self._given: set[int] = set()

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Use a tool; whatever is wrong with a call is told to the model, not raised."""
        record: dict[str, Any] = {"tool": name, "arguments": dict(arguments)}
        missing = [
            argument
            for argument in ARGUMENTS.get(name, ())
            if not _is_given(arguments.get(argument), can_be_list=name == REQUEST_LAB_TEST)
        ]
        is_valid = name in self._enabled and not missing
        if name not in self._enabled:
            tools = ", ".join(self._enabled) or "none"
            text = f"There is no tool {name[:64]}. Tools: {tools}."
        elif missing:
            text = f"{name} needs the argument {missing[0]}, a text."
        elif name == REQUEST_LAB_TEST:
            text, is_valid = self._test(record, arguments["test_name"])
        elif name == REQUEST_IMAGING:
            text, is_valid = self._image(record, arguments["region"], arguments["modality"])
        elif name == RETRIEVE_CRITERIA:
            text = self._retrieve(record, arguments["condition"])
        else:
            text = self._case.physical_exams or NO_EXAMINATION
        return ToolAnswer(text, record | {"is_valid": is_valid})

    def _test(self, record: dict[str, Any], test_name: str | Sequence[str]) -> tuple[str, bool]:
        """Return the answer of the laboratory, and whether a test was named; the record grows."""
        is_too_long = sum(map(len, test_name)) > LONGEST_REQUEST
        tests = {
            version: [] if is_too_long else self._laboratory.requested(test_name, version)
            for version in VERSIONS
        }
        named = tests[self._version]
        record["itemids"] = {
            str(version): list(dict.fromkeys(item for test in found for item in test.items))
            for version, found in tests.items()
        }
        record["unknown_names"] = [test.name for test in named if not test.items]
        if is_too_long:
            most = f"A request for tests has no more than {LONGEST_REQUEST:,} characters."
            return f"{most} Name fewer tests at a time.", False
        if not named and self._version != 1:
            return f"{REQUEST_LAB_TEST} needs the name of a test.", False
        return self._laboratory.answer(test_name, self._version), True

    def _image(self, record: dict[str, Any], region: str, modality: str) -> tuple[str, bool]:
        """Return the next report, and whether the request can be understood; the record grows."""
        facts = self._facts.imaging
        request = understood(region, modality, facts)
        scored_as = request.modality and request.modality.lower()
        if request.kind is not None:
            scored_as = facts.kinds[request.kind].scored_as
        record |= {**asdict(request), "scored_as": scored_as, "report": None}
        reports = self._case.radiology_reports
        if self._version == 1:
            # The first whose region and modality hold the words of the request, again and again.
            asked = f"{region} {modality}"
            fits = left = [
                place
                for place, report in enumerate(reports)
                if region.lower() in report.region.lower()
                and modality.lower() in report.modality.lower()
            ]
        elif request.region is None or request.modality is None:
            what = "region" if request.region is None else "modality"
            return f"The {what} of the imaging is not known. Name it in one word.", False
        else:
            asked = f"{request.region} {request.kind or request.modality}"
            fits = [place for place, one in enumerate(reports) if shows(one, request, facts)]
            # Not in the order of the case, which is that of the notes' names.
            left = [place for place in fits if place not in self._given]
            left.sort(key=lambda place: by_time(reports[place]))
        if not left:
            what = "No further imaging result" if fits else "No imaging result found"
            return (f"{what} for {asked}." if reports else NO_IMAGING), True
        record["report"] = left[0]
        self._given.add(left[0])
        report = reports[left[0]]
        return (
            f"- Exam Name: {report.exam_name}\n- Region: {report.region}\n"
            f"- Modality: {report.modality}\n- Reports: {report.text}\n"
        ), True

    def _retrieve(self, record: dict[str, Any], condition: str) -> str:
        """Return the criteria of a condition, else which there are; the record grows."""
        names = {name: one for one in self._facts.criteria for name in one.names}
        name = plain(condition)
        if name not in names:
            name, ratio = closest(name, list(names))
            name = name if ratio >= CONDITION_RATIO else ""
        found = names.get(name)
        record["condition"] = found and found.condition
        if found is None:
            known = ", ".join(one.condition for one in self._facts.criteria)
            return f"No criteria are stored for it. Conditions: {known}."
        return f"{found.condition.capitalize()} ({found.guideline}): {found.text}"


def _is_given(value: Any, can_be_list: bool) -> bool:
    """Tell whether an argument is a text, or a list of some."""
    if can_be_list and isinstance(value, list | tuple):
        return bool(value) and all(isinstance(one, str) for one in value)
    return isinstance(value, str)


def by_time(report: RadiologyReport) -> tuple[Any, ...]:
    """Return what puts reports in the order of time."""
    return report.charttime, report.note_id, report.sequence_num


@dataclass(frozen=True)
class ImagingRequest:
    """What a request asks for; None where its words say nothing that is known.

    Attributes:
        region: one of the regions of the reports.
        modality: one of the modalities of the reports; the broad one of a special kind.
        kind: the special kind, such as EUS of Ultrasound.
    """

    region: str | None
    modality: str | None
    kind: str | None


def understood(region: str, modality: str, facts: ImagingFacts) -> ImagingRequest:
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
        found = _meaning(words, facts.modality_phrases, facts.modality_keywords, facts)
    place = _meaning(plain(region), facts.region_phrases, facts.region_keywords, facts)
    return ImagingRequest(place, found, kind)


def shows(report: RadiologyReport, request: ImagingRequest, facts: ImagingFacts) -> bool:
    """Tell whether a report is of the region and modality of a request.

    A broad modality accepts its special kinds; a special kind is told by the report's modality or
    by the examination's name.
    """
    name = plain(report.exam_name)
    kinds = {
        kind: one.modality
        for kind, one in facts.kinds.items()
        if report.modality == kind or any(holds(name, word) for word in one.exam_keywords)
    }
    shown = {*kinds} if request.kind is not None else {report.modality, *kinds.values()}
    return request.region == report.region and (request.kind or request.modality) in shown


def _meaning(
    words: str,
    phrases: Mapping[str, str],
    keywords: Iterable[tuple[str, str]] = (),
    facts: ImagingFacts | None = None,
) -> str | None:
    """Return the meaning of the longest phrase in some words, else that of the first keyword."""
    found = [phrase for phrase in phrases if holds(words, phrase)]
    if found:
        return phrases[max(found, key=len)]
    stems = facts.keyword_stems if facts is not None else ()
    held = (means for word, means in keywords if holds(words, word, is_stem=word in stems))
    return next(held, None)
