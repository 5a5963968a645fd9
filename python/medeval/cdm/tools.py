"""The tools that a model may use on one case: examination, tests, imaging, criteria."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.facts import Criteria, Facts, ImagingFacts
from medeval.cdm.lab_names import LabMapping, closest, holds, plain
from medeval.cdm.laboratory import Laboratory
from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase, RadiologyReport

VERSIONS = (1, 2)
PHYSICAL_EXAMINATION = "physical_examination"
REQUEST_LAB_TEST = "request_lab_test"
REQUEST_IMAGING = "request_imaging"
RETRIEVE_CRITERIA = "retrieve_diagnosis_criteria"
TOOLS = (PHYSICAL_EXAMINATION, REQUEST_LAB_TEST, REQUEST_IMAGING, RETRIEVE_CRITERIA)

# The arguments of each tool, all of them texts that must be there.
ARGUMENTS: dict[str, dict[str, str]] = {
    PHYSICAL_EXAMINATION: {},
    REQUEST_LAB_TEST: {
        "test_name": "The tests, panels or cultures, set apart by commas, for example"
        " 'CBC, lipase, blood culture'."
    },
    REQUEST_IMAGING: {
        "region": "The region of the body, for example 'Abdomen' or 'Chest'.",
        "modality": "The modality, for example 'CT', 'Ultrasound', 'MRI' or 'Radiograph'.",
    },
    RETRIEVE_CRITERIA: {"condition": "The name of the condition."},
}
DESCRIPTIONS = {
    PHYSICAL_EXAMINATION: "Examine the patient and return the findings.",
    REQUEST_LAB_TEST: "Return the patient's results of laboratory tests and cultures, with the"
    " ranges of reference.",
    REQUEST_IMAGING: "Return the report of one examination of a region by a modality. Asking again"
    " returns the next report, if there is one.",
    RETRIEVE_CRITERIA: "Return the criteria of a guideline by which a condition is diagnosed.",
}
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
        is_valid: whether the call named a tool that is enabled, with arguments that it takes.
        record: JSON values from which the call is scored: `tool`, `arguments`, `is_valid`; for
            tests `itemids` of each version of the scores and `unknown_names`; for imaging
            `region`, `modality`, `kind`, `scored_as` and `report`, the place of the report in the
            case; for criteria `condition`.
    """

    text: str
    is_valid: bool
    record: dict[str, Any]


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
        unknown = [name for name in enabled if name not in TOOLS]
        if unknown:
            raise UserError(f"Unknown tools {', '.join(unknown)}. Tools: {', '.join(TOOLS)}.")
        if version not in VERSIONS:
            raise UserError(f"Unknown version {version} of the tools. Versions: 1, 2.")
        self._case = case
        self._facts = facts
        self._version = version
        self._enabled = tuple(name for name in TOOLS if name in enabled)
        self._laboratory = Laboratory(case, facts.labs, mapping)
        self._archive = ImagingArchive(case, facts.imaging)
        self._tools: dict[str, Callable[..., ToolAnswer]] = {
            PHYSICAL_EXAMINATION: self._examine,
            REQUEST_LAB_TEST: self._test,
            REQUEST_IMAGING: self._image,
            RETRIEVE_CRITERIA: self._retrieve,
        }

    def definitions(self) -> list[dict[str, Any]]:
        """Return the enabled tools as OpenAI-compatible endpoints take them."""
        return [definition(name) for name in self._enabled]

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Use a tool; whatever is wrong with a call is told to the model, not raised."""
        record: dict[str, Any] = {"tool": name, "arguments": dict(arguments)}
        if name not in self._enabled:
            tools = ", ".join(self._enabled) or "none"
            return _invalid(f"There is no tool {name[:64]}. Tools: {tools}.", record)
        for argument in ARGUMENTS[name]:
            value = arguments.get(argument)
            if not isinstance(value, str) and not (name == REQUEST_LAB_TEST and _are_texts(value)):
                return _invalid(f"{name} needs the argument {argument}, a text.", record)
        given = {argument: arguments[argument] for argument in ARGUMENTS[name]}
        return self._tools[name](record, **given)

    def _examine(self, record: dict[str, Any]) -> ToolAnswer:
        return _valid(self._case.physical_exams or NO_EXAMINATION, record)

    def _test(self, record: dict[str, Any], test_name: str | Sequence[str]) -> ToolAnswer:
        if sum(map(len, test_name)) > LONGEST_REQUEST:
            nothing: dict[str, list[int]] = {str(version): [] for version in VERSIONS}
            record |= {"itemids": nothing, "unknown_names": []}
            return _invalid(
                f"A request for tests has no more than {LONGEST_REQUEST:,} characters. Name fewer"
                " tests at a time.",
                record,
            )
        tests = {version: self._laboratory.requested(test_name, version) for version in VERSIONS}
        record["itemids"] = {
            str(version): list(dict.fromkeys(item for test in found for item in test.items))
            for version, found in tests.items()
        }
        named = tests[self._version]
        record["unknown_names"] = [test.name for test in named if not test.items]
        if not named and self._version != 1:
            return _invalid(f"{REQUEST_LAB_TEST} needs the name of a test.", record)
        return _valid(self._laboratory.answer(test_name, self._version), record)

    def _image(self, record: dict[str, Any], region: str, modality: str) -> ToolAnswer:
        request = understood(region, modality, self._facts.imaging)
        record |= {
            "region": request.region,
            "modality": request.modality,
            "kind": request.kind,
            "scored_as": scored_as(request, self._facts.imaging),
            "report": None,
        }
        if self._version == 1:
            imaged = self._archive.as_the_reference(region, modality)
        elif request.region is None or request.modality is None:
            what = "region" if request.region is None else "modality"
            return _invalid(f"The {what} of the imaging is not known. Name it in one word.", record)
        else:
            imaged = self._archive.next_report(request)
        record["report"] = imaged.report
        return _valid(imaged.text, record)

    def _retrieve(self, record: dict[str, Any], condition: str) -> ToolAnswer:
        criteria = find_criteria(condition, self._facts)
        record["condition"] = criteria.condition if criteria else None
        if criteria is None:
            known = ", ".join(self._facts.criteria)
            return _valid(f"No criteria are stored for it. Conditions: {known}.", record)
        shown = f"{criteria.condition.capitalize()} ({criteria.guideline}): {criteria.text}"
        return _valid(shown, record)


def _are_texts(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(one, str) for one in value)
    )


def _valid(text: str, record: dict[str, Any]) -> ToolAnswer:
    return ToolAnswer(text, True, record | {"is_valid": True})


def _invalid(text: str, record: dict[str, Any]) -> ToolAnswer:
    return ToolAnswer(text, False, record | {"is_valid": False})


def definition(tool: str) -> dict[str, Any]:
    """Return the definition of a tool."""
    arguments = ARGUMENTS[tool]
    return {
        "type": "function",
        "function": {
            "name": tool,
            "description": DESCRIPTIONS[tool],
            "parameters": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "description": meaning}
                    for name, meaning in arguments.items()
                },
                "required": list(arguments),
                "additionalProperties": False,
            },
        },
    }


def find_criteria(condition: str, facts: Facts) -> Criteria | None:
    """Return the criteria of a condition by one of its names; None if there are none."""
    name = plain(condition)
    if name not in facts.condition_names:
        name, ratio = closest(name, list(facts.condition_names))
        if ratio < CONDITION_RATIO:
            return None
    return facts.criteria[facts.condition_names[name]]


@dataclass(frozen=True)
class Imaged:
    """The answer to a request for imaging, and the place of its report in the case, if any."""

    text: str
    report: int | None


class ImagingArchive:
    """The reports of one case. Version 2 remembers what it has given out."""

    def __init__(self, case: ClinicalCase, facts: ImagingFacts) -> None:
        """Take the case and the facts."""
        self._reports = case.radiology_reports
        self._facts = facts
        self._given: set[int] = set()
        # Not in the order of the case, which is that of the notes' names.
        self._by_time = sorted(
            range(len(self._reports)),
            key=lambda place: (
                self._reports[place].charttime,
                self._reports[place].note_id,
                self._reports[place].sequence_num,
            ),
        )

    def as_the_reference(self, region: str, modality: str) -> Imaged:
        """Return the first report whose region and modality hold the words of the request."""
        if not self._reports:
            return Imaged(NO_IMAGING, None)
        for place, report in enumerate(self._reports):
            if region.lower() in report.region.lower() and (
                modality.lower() in report.modality.lower()
            ):
                return Imaged(report_text(report), place)
        return Imaged(f"No imaging result found for {region} {modality}.", None)

    def next_report(self, request: ImagingRequest) -> Imaged:
        """Return the earliest report of the request that was not given out before."""
        if not self._reports:
            return Imaged(NO_IMAGING, None)
        asked = f"{request.region} {request.kind or request.modality}"
        places = [
            place for place in self._by_time if shows(self._reports[place], request, self._facts)
        ]
        for place in places:
            if place not in self._given:
                self._given.add(place)
                return Imaged(report_text(self._reports[place]), place)
        what = "No further imaging result" if places else "No imaging result found"
        return Imaged(f"{what} for {asked}.", None)


def report_text(report: RadiologyReport) -> str:
    """Return a report as the model reads it."""
    return (
        f"- Exam Name: {report.exam_name}\n- Region: {report.region}\n"
        f"- Modality: {report.modality}\n- Reports: {report.text}\n"
    )


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
    broad = {phrase: name for phrase, name in facts.modality_phrases.items() if phrase not in kinds}
    kind = _longest(words, kinds)
    if kind is not None:
        found: str | None = facts.kinds[kind].modality
    else:
        found = _longest(words, broad) or _first(words, facts.modality_keywords, facts)
    words = plain(region)
    place = _longest(words, facts.region_phrases) or _first(words, facts.region_keywords, facts)
    return ImagingRequest(place, found, kind)


def scored_as(request: ImagingRequest, facts: ImagingFacts) -> str | None:
    """Return the modality for which a request counts, in lower case; None if it is unknown."""
    if request.kind is not None:
        return facts.kinds[request.kind].scored_as
    return request.modality.lower() if request.modality is not None else None


def shows(report: RadiologyReport, request: ImagingRequest, facts: ImagingFacts) -> bool:
    """Tell whether a report is of the region and modality of a request.

    A broad modality accepts its special kinds; a special kind is told by the report's modality or
    by the examination's name.
    """
    if request.region != report.region:
        return False
    kinds = [kind for kind in facts.kinds if _is_of(report, kind, facts)]
    if request.kind is not None:
        return request.kind in kinds
    accepted = {report.modality, *(facts.kinds[kind].modality for kind in kinds)}
    return request.modality in accepted


def _is_of(report: RadiologyReport, kind: str, facts: ImagingFacts) -> bool:
    name = plain(report.exam_name)
    return report.modality == kind or any(
        holds(name, keyword) for keyword in facts.kinds[kind].exam_keywords
    )


def _longest(words: str, phrases: Mapping[str, str]) -> str | None:
    found = [phrase for phrase in phrases if holds(words, phrase)]
    return phrases[max(found, key=len)] if found else None


def _first(words: str, keywords: Iterable[tuple[str, str]], facts: ImagingFacts) -> str | None:
    return next(
        (
            meaning
            for keyword, meaning in keywords
            if holds(words, keyword, is_stem=keyword in facts.keyword_stems)
        ),
        None,
    )
