"""All information at once, and one answer.

Where it is too long for the model only imaging is made shorter, in the steps of Hager et al.
(Nature Medicine 30, 2024): the abdomen only, summaries of its reports, a summary of those, and at
last as much of it as there is budget for.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

from medeval.inference.tokens import UNLIMITED, ContextWindow
from medeval.inference.types import AskModel, Finished, Outcome, Sample, Turn
from medeval.models.clinical_case import ClinicalCase, LabResult, MicrobiologyEvent, RadiologyReport
from medeval.tasks.cdm.episode import TRUNCATED, CaseEpisode, said_in, shortened, too_long
from medeval.tasks.cdm.facts import FULL_INFORMATION, prompt
from medeval.tasks.cdm.text_protocol import FinalAnswer, partial_answer, read_answer
from medeval.tasks.cdm.tools import by_time, reference_range

# Tokens that a prompt leaves free.
MARGIN = 25
BLOCKS = ("History", "Physical examination", "Laboratory results", "Imaging", "Microbiology")
_UNREAD = (Outcome.UNPARSED, Outcome.EMPTY)


@dataclass
class FullInformation(CaseEpisode):
    """One case, all at once.

    Attributes:
        order: of the blocks of information.
    """

    order: tuple[str, ...] = BLOCKS

    @property
    def opening(self) -> Sample:
        """The information, whole."""
        return self._ask(imaging_text(self.case.radiology_reports))

    def _ask(self, imaging: str) -> Sample:
        """Return the request that shows all blocks that are not empty.

        Args:
            imaging: the text of the imaging block.
        """
        case = self.case
        labs = "\n".join(map(_line, case.lab_results))
        cultures = "\n".join(map(_line, case.microbiology_events))
        texts = (case.history_of_present_illness, case.physical_exams, labs, imaging, cultures)
        blocks = dict(zip(BLOCKS, texts, strict=True))
        shown = [(name, blocks[name].strip()) for name in self.order]
        text = "\n\n".join(f"# {name}\n{text}" for name, text in shown if text)
        system = {"role": "system", "content": prompt("system_full_information")}
        return self.item([system, {"role": "user", "content": text}], FULL_INFORMATION)

    async def play(self, ask: AskModel) -> Finished:
        """Ask with as much imaging as there is budget for."""
        measures: list[str] = []
        asked: set[str] = set()
        async with aclosing(self._imaging(ask)) as steps:
            async for measure, imaging, is_last in steps:
                measures += [measure] if measure else []
                if imaging in asked or not (is_last or await self.window.holds(self._ask(imaging))):
                    continue
                asked.add(imaging)
                turn = await ask(self._ask(imaging))
                if turn.completion is not None:
                    return await self._decided(ask, self._ask(imaging), turn, measures)
        return too_long(self._record(None, measures, is_reasked=False))

    async def _imaging(self, ask: AskModel) -> AsyncGenerator[tuple[str, str, bool]]:
        """Yield what is done to imaging, its text, and whether nothing is left to be done."""
        reports = self.case.radiology_reports
        bare = self._ask("")
        yield "", imaging_text(reports), not reports
        if not reports:
            return
        abdomen = [report for report in reports if report.region == "Abdomen"]
        if abdomen and await self.window.holds(bare):
            yield "abdomen_only", imaging_text(abdomen), False
            # The earliest report of each modality.
            firsts = {one.modality: one for one in sorted(abdomen, key=by_time, reverse=True)}
            summaries = [
                report_text(one, await shortened(report_text(one), bare, ask, self.window))
                for one in reversed(firsts.values())
            ]
            yield "reports_summarised", "\n\n".join(summaries), False
            summary = await shortened("\n\n".join(summaries), bare, ask, self.window)
            yield "summaries_summarised", summary, False
            kept = await self.window.cut_to_fit(summary, self._ask)
            yield TRUNCATED, kept, False
        yield "without_imaging", "", True

    async def _decided(
        self, ask: AskModel, question: Sample, turn: Turn, measures: Sequence[str]
    ) -> Finished:
        """Read the answer; one that cannot be read is asked for once more."""
        outcome, answer, said = _read(turn)
        is_reasked = outcome in _UNREAD
        if is_reasked:
            first, words = said, prompt("ask_again_full_information")
            unread = {"role": "assistant", "content": said or prompt("no_reply")}
            messages = [*question.messages, unread, {"role": "user", "content": words}]
            second = await ask(replace(question, messages=messages))
            if second.completion is not None:
                turn = second
                outcome, answer, said = _read(turn)
            if outcome in _UNREAD:
                answer = partial_answer(said) or partial_answer(first)
                outcome = outcome if answer is None else Outcome.ANSWERED
        text = turn.completion.text if turn.completion is not None else ""
        return Finished(outcome, text, record=self._record(answer, measures, is_reasked))

    def _record(
        self, answer: FinalAnswer | None, measures: Sequence[str], is_reasked: bool
    ) -> dict[str, Any]:
        return {
            "answer": answer and asdict(answer),
            "calls": None,
            "is_reasked": is_reasked,
            "context": list(measures),
            "order": list(self.order),
        }


def in_all_orders(
    case: ClinicalCase, window: ContextWindow = UNLIMITED, permute: int = 0, seed: int = 0
) -> Iterator[FullInformation]:
    """Yield a case in its own order, then in other ones.

    Args:
        case: to be shown.
        window: of prompts.
        permute: how many other orders; each is a further sample. Where the model is asked with a
            seed, each sample has the next one, as further samples always do.
        seed: of the orders.
    """
    yield FullInformation(case, window)
    for sample in range(1, permute + 1):
        # Not for secrets: the same order again is the point.
        chance = random.Random(f"{seed}/{case.hadm_id}/{sample}")  # noqa: S311
        order = tuple(chance.sample(BLOCKS, len(BLOCKS)))
        # Not only the blocks: what stands in each, too.
        parts = {
            name: tuple(chance.sample(getattr(case, name), len(getattr(case, name))))
            for name in ("lab_results", "radiology_reports", "microbiology_events")
        }
        yield FullInformation(case.model_copy(update=parts), window, sample, order)


def part_or_whole(said: str) -> FinalAnswer | None:
    """Return the answer in a reply without its thinking, else the part of one that it holds."""
    return read_answer(said) or partial_answer(said)


def _read(turn: Turn) -> tuple[Outcome, FinalAnswer | None, str]:
    """Return what kind of reply it is, the answer, and what was said without its thinking."""
    said = said_in(turn)
    answer = read_answer(said) if turn.outcome is Outcome.ANSWERED else None
    is_unparsed = turn.outcome is Outcome.ANSWERED and answer is None
    return Outcome.UNPARSED if is_unparsed else turn.outcome, answer, said


def imaging_text(reports: Sequence[RadiologyReport]) -> str:
    """Return reports as they stand in their block."""
    return "\n\n".join(map(report_text, reports))


def report_text(report: RadiologyReport, text: str | None = None) -> str:
    """Return one report under its name; with another text in place of its own."""
    body = report.text if text is None else text
    return f"## {report.exam_name} ({report.modality}, {report.region})\n{body.strip()}"


def _line(result: LabResult | MicrobiologyEvent) -> str:
    """Return a result with what is known of its range; an organism that nobody named is unknown."""
    if isinstance(result, LabResult):
        kinds = (result.category, result.fluid)
        found = f"{result.value}{reference_range(result)}"
    else:
        kinds = (result.spec_type_desc, None)
        found = "; ".join(filter(None, [result.organism_name or "Unknown", result.comments]))
    kind = " | ".join(filter(None, kinds))
    return f"- {result.test_name or 'Unnamed test'}{f' [{kind}]' if kind else ''}: {found}"
