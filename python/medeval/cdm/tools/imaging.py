"""Imaging: the reports of a region and modality, one a request."""

from __future__ import annotations

from dataclasses import dataclass

from medeval.cdm.imaging_facts import ImagingFacts
from medeval.cdm.tools.imaging_words import ImagingRequest, shows
from medeval.models.clinical_case import ClinicalCase, RadiologyReport

NOTHING = "No imaging results available for this patient."


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
            return Imaged(NOTHING, None)
        for place, report in enumerate(self._reports):
            if region.lower() in report.region.lower() and (
                modality.lower() in report.modality.lower()
            ):
                return Imaged(report_text(report), place)
        return Imaged(f"No imaging result found for {region} {modality}.", None)

    def next_report(self, request: ImagingRequest) -> Imaged:
        """Return the earliest report of the request that was not given out before."""
        if not self._reports:
            return Imaged(NOTHING, None)
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
