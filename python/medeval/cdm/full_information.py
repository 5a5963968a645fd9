"""All information at once, and one answer.

Where it is too long for the model only imaging is made shorter, in the steps of Hager et al.
(Nature Medicine 30, 2024): the abdomen only, summaries of its reports, a summary of those, and at
last as much of it as there is budget for.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from medeval.cdm import prompts
from medeval.cdm.context import ContextBudget, shortened
from medeval.cdm.laboratory import reference_range
from medeval.cdm.text_protocol import FinalAnswer, partial_answer, read_answer
from medeval.inference.errors import TOO_LONG, Failure, Kind
from medeval.inference.types import Ask, AskModel, Finished, Item, Message, Outcome, Turn
from medeval.models.clinical_case import (
    ClinicalCase,
    LabResult,
    MicrobiologyEvent,
    RadiologyReport,
)
from medeval.text import split_thinking

MARGIN = 25
CONTEXT_LIMIT = "context_limit"

ABDOMEN_ONLY = "abdomen_only"
REPORTS_SUMMARISED = "reports_summarised"
SUMMARIES_SUMMARISED = "summaries_summarised"
TRUNCATED = "truncated"
WITHOUT_IMAGING = "without_imaging"

HISTORY = "History"
EXAMINATION = "Physical examination"
LABORATORY = "Laboratory results"
IMAGING = "Imaging"
MICROBIOLOGY = "Microbiology"
BLOCKS = (HISTORY, EXAMINATION, LABORATORY, IMAGING, MICROBIOLOGY)

_SCHEMA = {
    "type": "object",
    "properties": {
        "diagnosis": {"type": "string"},
        "treatment": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["diagnosis", "treatment"],
    "additionalProperties": False,
}
PARAMETERS: dict[str, Any] = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "decision", "strict": True, "schema": _SCHEMA},
    }
}


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


@dataclass(frozen=True)
class FullInformationOptions:
    """How the information is shown.

    Attributes:
        permute: further samples of each case, with the information in another order. Where the
            model is asked with a seed, each sample has the next one, as further samples always do.
        seed: of the orders.
    """

    permute: int = 0
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return what the record of a run says of it."""
        return {"mode": "full_information", "permute": self.permute, "seed": self.seed}


@dataclass(frozen=True)
class FullInformation:
    """One case, all at once.

    Attributes:
        case: of which all is shown but demographics and ground truth.
        information: of the case, in the order of this sample.
        budget: of prompts; None if nobody knows.
    """

    case: ClinicalCase
    information: Information
    budget: ContextBudget | None = None
    sample: int = 0

    @property
    def id(self) -> str:
        """The admission."""
        return str(self.case.hadm_id)

    @property
    def data_class(self) -> str:
        """The class of the case."""
        return self.case.data_class

    @cached_property
    def opening(self) -> Ask:
        """The information, whole."""
        return Ask(self._messages(imaging_text(self.information.reports)), PARAMETERS)

    async def play(self, ask: AskModel) -> Finished:
        """Ask with as much imaging as there is budget for."""
        measures: list[str] = []
        asked: set[str] = set()
        async with aclosing(self._imaging(ask)) as steps:
            async for measure, imaging, is_last in steps:
                if measure:
                    measures.append(measure)
                if imaging in asked or not (is_last or await self._fits(imaging)):
                    continue
                asked.add(imaging)
                turn = await ask(Ask(self._messages(imaging), PARAMETERS))
                if turn.completion is not None:
                    return await self._decided(ask, turn, imaging, measures)
        failure = Failure(Kind.REQUEST, code=TOO_LONG)
        record = self._record(None, measures, is_reasked=False)
        return Finished(Outcome.ERRORED, "", CONTEXT_LIMIT, record, failure)

    async def _imaging(self, ask: AskModel) -> AsyncGenerator[tuple[str, str, bool]]:
        """Yield what is done to imaging, its text, and whether nothing is left to be done."""
        reports = self.information.reports
        yield "", imaging_text(reports), not reports
        if not reports:
            return
        abdomen = [report for report in reports if report.region == "Abdomen"]
        if abdomen and await self._fits(""):
            yield ABDOMEN_ONLY, imaging_text(abdomen), False
            summaries = [
                report_text(report, await self._shortened(report_text(report), ask))
                for report in _one_per_modality(abdomen)
            ]
            yield REPORTS_SUMMARISED, "\n\n".join(summaries), False
            summary = await self._shortened("\n\n".join(summaries), ask)
            yield SUMMARIES_SUMMARISED, summary, False
            kept = summary[: len(summary) // 2]
            if self.budget is not None:
                kept = await self.budget.cut_to_fit(summary, self._item)
            yield TRUNCATED, kept, False
        yield WITHOUT_IMAGING, "", True

    async def _fits(self, imaging: str) -> bool:
        return self.budget is None or await self.budget.holds(self._item(imaging))

    async def _shortened(self, text: str, ask: AskModel) -> str:
        return await shortened(text, self._item(""), ask, self.budget)

    def _item(self, imaging: str) -> Item:
        return Item(self.id, self._messages(imaging), self.data_class, self.sample)

    def _messages(self, imaging: str) -> list[Message]:
        return [
            {"role": "system", "content": prompts.SYSTEM_FULL_INFORMATION},
            {"role": "user", "content": self.information.text(imaging)},
        ]

    async def _decided(
        self, ask: AskModel, turn: Turn, imaging: str, measures: Sequence[str]
    ) -> Finished:
        """Read the answer; one that cannot be read is asked for once more."""
        outcome, answer, said = _read(turn)
        is_reasked = outcome in (Outcome.UNPARSED, Outcome.EMPTY)
        if is_reasked:
            again = [
                *self._messages(imaging),
                {"role": "assistant", "content": said or prompts.NO_REPLY},
                {"role": "user", "content": prompts.ASK_AGAIN_FULL_INFORMATION},
            ]
            first = said
            second = await ask(Ask(again, PARAMETERS))
            if second.completion is not None:
                outcome, answer, said = _read(second)
                turn = second
            if outcome in (Outcome.UNPARSED, Outcome.EMPTY):
                answer = partial_answer(said) or partial_answer(first)
                outcome = outcome if answer is None else Outcome.ANSWERED
        text = turn.completion.text if turn.completion is not None else ""
        return Finished(outcome, text, record=self._record(answer, measures, is_reasked))

    def _record(
        self, answer: FinalAnswer | None, measures: Sequence[str], is_reasked: bool
    ) -> dict[str, Any]:
        return {
            "answer": answer.as_json() if answer is not None else None,
            "calls": None,
            "is_reasked": is_reasked,
            "context": list(measures),
            "order": list(self.information.order),
        }


def full_information(
    cases: Iterable[ClinicalCase],
    options: FullInformationOptions,
    budget: ContextBudget | None = None,
) -> Iterator[FullInformation]:
    """Yield each case in its own order, then in each of the other orders."""
    for case in cases:
        information = information_of(case)
        yield FullInformation(case, information, budget)
        for sample in range(1, options.permute + 1):
            seed = f"{options.seed}/{case.hadm_id}/{sample}"
            yield FullInformation(case, shuffled(information, seed), budget, sample)


def _read(turn: Turn) -> tuple[Outcome, FinalAnswer | None, str]:
    """Return what kind of reply it is, the answer, and what was said without its thinking."""
    said = split_thinking(turn.completion.text).answer if turn.completion is not None else ""
    answer = read_answer(said) if turn.outcome is Outcome.ANSWERED else None
    is_unparsed = turn.outcome is Outcome.ANSWERED and answer is None
    return Outcome.UNPARSED if is_unparsed else turn.outcome, answer, said


def _one_per_modality(reports: Iterable[RadiologyReport]) -> list[RadiologyReport]:
    """Return the earliest report of each modality."""
    by_time = sorted(reports, key=lambda one: (one.charttime, one.note_id, one.sequence_num))
    return list({report.modality: report for report in reversed(by_time)}.values())[::-1]


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
    return f"- {lab.test_name or 'Unnamed test'}{shown}: {lab.value}{reference_range(lab)}"


def culture_line(culture: MicrobiologyEvent) -> str:
    """Return one culture; an organism that nobody named is unknown."""
    specimen = f" [{culture.spec_type_desc}]" if culture.spec_type_desc else ""
    comments = f"; {culture.comments}" if culture.comments else ""
    name = culture.test_name or "Unnamed test"
    return f"- {name}{specimen}: {culture.organism_name or 'Unknown'}{comments}"
