"""The tools that a model may use on one case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.facts import Facts
from medeval.cdm.tools.criteria import criteria_text, find_criteria, known_conditions
from medeval.cdm.tools.definitions import (
    ARGUMENTS,
    PHYSICAL_EXAMINATION,
    REQUEST_IMAGING,
    REQUEST_LAB_TEST,
    RETRIEVE_CRITERIA,
    TOOLS,
    definition,
)
from medeval.cdm.tools.imaging import ImagingArchive
from medeval.cdm.tools.imaging_words import scored_as, understood
from medeval.cdm.tools.lab_mapping import LabMapping
from medeval.cdm.tools.laboratory import Laboratory
from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase

__all__ = ["TOOLS", "VERSIONS", "ToolAnswer", "Toolbox"]

VERSIONS = (1, 2)
# No list of tests is as long; a model that repeats itself writes one that is.
LONGEST_REQUEST = 4000
NO_EXAMINATION = "No physical exam data available."


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
        text = criteria_text(criteria) if criteria else known_conditions(self._facts)
        return _valid(text, record)


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
