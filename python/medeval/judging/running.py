"""A judging: every judge asked about every answer, side by side, each with a journal of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from medeval.inference.cost import Budget, longest_reply_under
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import AUDIT, OnProgress, Run, RunResult, settings_of
from medeval.judging.asking import Asking
from medeval.judging.judge_report import JudgeReport
from medeval.judging.judges import Judge, checked_jury, warnings_of_kinship
from medeval.judging.judgment_files import (
    STOPPED,
    JudgeRecord,
    prompt_of,
    read_report,
)
from medeval.judging.options import JudgingOptions
from medeval.judging.prompt import JudgePrompt
from medeval.judging.results import JudgingResults, results_of
from medeval.judging.rubric import Rubric
from medeval.judging.subjects import Subject, checked

RECORD = "judge"
JUDGMENTS = "judgments"
# What stands there while a judge is asked, so that it is there if nobody can write it afterwards.
_ENDED_FROM_OUTSIDE = "It was ended from outside. Start the same run again to go on."


@dataclass(frozen=True)
class _Seat:
    """A judge in its place: who, and the files of its calls."""

    judge: Judge
    record: str
    answers: str


def run_judges(
    subjects: Iterable[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    options: JudgingOptions | None = None,
) -> JudgingResults:
    """Have answers judged, and wait for the end.

    The folder gets `judge.json` and `judgments.jsonl`, or for a jury `judge-<name>.json` and
    `judgments-<name>.jsonl` each. Started again, it goes on where it was: no call that brought a
    reply is made twice. A judge that cannot be reached costs the others nothing; the results say
    so, and so do those that are read later, until the judge has come to its end.

    Args:
        subjects: the answers. A blank one is not sent to anybody: it earns 0.
        judges: one, or a jury.
        rubric: what is graded.
        folder: of the run whose answers they are; made if it is not there.
        options: how; the usual way if not given.

    Raises:
        UserError: there is no key or text may not be sent to one of the judges (then nobody is
            asked anything), the folder holds another judging, or the disk is full.
    """
    return asyncio.run(judge_all(subjects, judges, rubric, folder, options))


async def judge_all(
    subjects: Iterable[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    options: JudgingOptions | None = None,
) -> JudgingResults:
    """Do what `run_judges` does, within a loop that is there already."""
    options = options or JudgingOptions()
    listed, seats = checked(subjects), _seats(judges)
    asking = _asking(listed, rubric, options, [folder / seat.record for seat in seats])
    gate = options.gate or DataUseGuard({}, folder / AUDIT)
    providers = [seat.judge.provider(rubric, gate) for seat in seats]
    if not all(subject.data_class == "open" for subject in asking.subjects.values()):
        for provider in providers:
            gate.check(provider.address, is_open=False)
    budget = options.run.budget or Budget(options.run.max_cost)
    run = replace(
        options.run,
        max_cost=None,
        budget=budget,
        can_read=asking.can_read,
        follow_up=asking.ask_further,
        on_progress=None,
    )
    for provider in providers:
        # Raises where the limit on cost cannot be held, before anything is written.
        price = run.prices.of(provider.address, provider.model)
        longest_reply_under(budget.limit, price, provider)
    folders = [
        Run(
            folder,
            {**settings_of(provider, asking.prompt.version), "judging": asking.prompt.record()},
            provider,
            about={"judge": seat.judge.label},
            file=seat.record,
            answers=seat.answers,
            kind=JudgeRecord,
        )
        for seat, provider in zip(seats, providers, strict=True)
    ]
    for place in folders:
        place.update(STOPPED, _ENDED_FROM_OUTSIDE)
    # All of them come to an end, also when one raises: what is paid for is kept.
    ended = await asyncio.gather(
        *(
            place.process(
                asking.first_items(), replace(run, on_progress=_progress_of(seat, options))
            )
            for seat, place in zip(seats, folders, strict=True)
        ),
        return_exceptions=True,
    )
    for place, each in zip(folders, ended, strict=True):
        if isinstance(each, RunResult):
            place.update(STOPPED, each.stopped or None)
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return _read(listed, seats, asking, folder, options)


def read_results(
    subjects: Iterable[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    options: JudgingOptions | None = None,
) -> JudgingResults:
    """Return the results of a judging from its files; nobody is asked and no key is needed.

    Raises:
        UserError: a judge's files are not there, or are those of other answers or of another
            prompt.
    """
    options = options or JudgingOptions()
    listed, seats = checked(subjects), _seats(judges)
    asking = _asking(listed, rubric, options, [folder / seat.record for seat in seats])
    return _read(listed, seats, asking, folder, options)


def how_many(
    subjects: Iterable[Subject],
    judges: Sequence[Judge],
    rubric: Rubric,
    folder: Path,
    options: JudgingOptions | None = None,
) -> tuple[int, int]:
    """Return how many verdicts there are, and how many there will be at the end.

    A judge that was not asked yet has none.

    Raises:
        UserError: a judge's files are those of other answers or of another prompt.
    """
    options = options or JudgingOptions()
    seats = _seats(judges)
    begun = [seat for seat in seats if (folder / seat.record).exists()]
    asking = _asking(checked(subjects), rubric, options, [folder / seat.record for seat in begun])
    judged = sum(_report(seat, folder, asking).judged for seat in begun)
    return judged, len(seats) * len(asking.subjects) * options.repeats


def _progress_of(seat: _Seat, options: JudgingOptions) -> OnProgress | None:
    told = options.on_progress
    if told is None:
        return options.run.on_progress
    return lambda progress: told(seat.judge.label, progress)


def _seats(judges: Sequence[Judge]) -> list[_Seat]:
    jury = checked_jury(judges)
    if len(jury) == 1:
        return [_Seat(jury[0], f"{RECORD}.json", f"{JUDGMENTS}.jsonl")]
    return [
        _Seat(judge, f"{RECORD}-{judge.label}.json", f"{JUDGMENTS}-{judge.label}.jsonl")
        for judge in jury
    ]


def _asking(
    subjects: Sequence[Subject], rubric: Rubric, options: JudgingOptions, records: Sequence[Path]
) -> Asking:
    prompt = JudgePrompt(rubric, options.variant, options.seed, prompt_of(records))
    asked = {subject.name: subject for subject in subjects if not subject.blank_reason}
    return Asking(prompt, asked, options.re_asks, options.repeats)


def _read(
    subjects: Sequence[Subject],
    seats: Sequence[_Seat],
    asking: Asking,
    folder: Path,
    options: JudgingOptions,
) -> JudgingResults:
    reports = [_report(seat, folder, asking) for seat in seats]
    warnings = warnings_of_kinship([seat.judge for seat in seats], options.answering_model)
    return results_of(subjects, reports, asking.prompt, warnings, options)


def _report(seat: _Seat, folder: Path, asking: Asking) -> JudgeReport:
    return read_report(seat.judge.label, folder / seat.record, folder / seat.answers, asking)
