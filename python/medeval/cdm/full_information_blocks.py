"""What is known of a case, in blocks with headings; what nothing is known of has no block."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from medeval.models.clinical_case import (
    ClinicalCase,
    LabResult,
    MicrobiologyEvent,
    RadiologyReport,
)

HISTORY = "History"
EXAMINATION = "Physical examination"
LABORATORY = "Laboratory results"
IMAGING = "Imaging"
MICROBIOLOGY = "Microbiology"
BLOCKS = (HISTORY, EXAMINATION, LABORATORY, IMAGING, MICROBIOLOGY)


@dataclass(frozen=True)
class Information:
    """The information of a case in the order in which it is shown; never its ground truth.

    Attributes:
        order: of the blocks.
        history: of the patient.
        examination: of the body.
        labs: results of laboratory tests.
        reports: of imaging.
        cultures: of microbiology.
    """

    order: tuple[str, ...]
    history: str
    examination: str
    labs: tuple[LabResult, ...]
    reports: tuple[RadiologyReport, ...]
    cultures: tuple[MicrobiologyEvent, ...]

    def text(self, imaging: str) -> str:
        """Return all blocks that are not empty.

        Args:
            imaging: the text of the imaging block.
        """
        blocks = {
            HISTORY: self.history,
            EXAMINATION: self.examination,
            LABORATORY: "\n".join(map(lab_line, self.labs)),
            IMAGING: imaging,
            MICROBIOLOGY: "\n".join(map(culture_line, self.cultures)),
        }
        shown = [(name, blocks[name].strip()) for name in self.order]
        return "\n\n".join(f"# {name}\n{text}" for name, text in shown if text)


def information_of(case: ClinicalCase) -> Information:
    """Return the information of a case in its own order."""
    return Information(
        BLOCKS,
        case.history_of_present_illness,
        case.physical_exams,
        case.lab_results,
        case.radiology_reports,
        case.microbiology_events,
    )


def shuffled(information: Information, seed: str) -> Information:
    """Return the information with its blocks, and what stands in each, in another order."""
    # Not for secrets: the same order again is the point.
    chance = random.Random(seed)  # noqa: S311
    return Information(
        tuple(chance.sample(information.order, len(information.order))),
        information.history,
        information.examination,
        tuple(chance.sample(information.labs, len(information.labs))),
        tuple(chance.sample(information.reports, len(information.reports))),
        tuple(chance.sample(information.cultures, len(information.cultures))),
    )


def imaging_text(reports: Sequence[RadiologyReport]) -> str:
    """Return reports as they stand in their block."""
    return "\n\n".join(map(report_text, reports))


def report_text(report: RadiologyReport, text: str | None = None) -> str:
    """Return one report under its name; with another text in place of its own."""
    body = report.text if text is None else text
    return f"## {report.exam_name} ({report.modality}, {report.region})\n{body.strip()}"


def lab_line(lab: LabResult) -> str:
    """Return one result with what is known of its range."""
    kind = " | ".join(part for part in (lab.category, lab.fluid) if part)
    shown = f" [{kind}]" if kind else ""
    return f"- {lab.test_name or 'Unnamed test'}{shown}: {lab.value}{_range(lab)}"


def culture_line(culture: MicrobiologyEvent) -> str:
    """Return one culture; an organism that nobody named is unknown."""
    specimen = f" [{culture.spec_type_desc}]" if culture.spec_type_desc else ""
    comments = f"; {culture.comments}" if culture.comments else ""
    name = culture.test_name or "Unnamed test"
    return f"- {name}{specimen}: {culture.organism_name or 'Unknown'}{comments}"


def _range(lab: LabResult) -> str:
    low, high = lab.ref_range_lower, lab.ref_range_upper
    if low is not None and high is not None:
        return f" (ref: {low:.15g}-{high:.15g})"
    if low is not None:
        return f" (ref: from {low:.15g})"
    return f" (ref: up to {high:.15g})" if high is not None else ""
