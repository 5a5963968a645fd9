"""A judging: every judge asked about every answer, side by side, each with a journal of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.budget import Budget
from medeval.inference.calling import Caller
from medeval.inference.guard import Gate
from medeval.inference.journal import Line, read_journal
from medeval.inference.progress import OnProgress, Progress
from medeval.inference.requests import Item, Request
from medeval.inference.run_folder import AUDIT, RunFolder
from medeval.inference.runner import Ended, run_items, settings_of
from medeval.judging.asking import ASKS_PER_REPEAT, Asking
from medeval.judging.judge_report import JudgeReport
from medeval.judging.judges import Judge, checked_jury, warnings_of_kinship
from medeval.judging.options import JudgingOptions
from medeval.judging.prompt import JudgePrompt
from medeval.judging.results import JudgingResults, results_of
from medeval.judging.rubric import Rubric
from medeval.judging.subjects import Subject, checked

RECORD = "judge"
JUDGMENTS = "judgments"


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
    so.

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
    asking = _asking(listed, rubric, options)
    gate = options.gate or Gate({}, folder / AUDIT)
    providers = [seat.judge.provider(rubric, gate) for seat in seats]
    if not all(subject.data_class == "open" for subject in asking.subjects.values()):
        for provider in providers:
            gate.check(provider.address, is_open=False)
    budget = options.run.budget or Budget(options.run.max_cost)
    run = replace(
        options.run,
        prompt_version=asking.prompt.version,
        max_cost=None,
        budget=budget,
        can_read=asking.can_read,
        ask_further=asking.ask_further,
        on_progress=None,
    )
    folders = [
        RunFolder(
            folder,
            {**settings_of(provider, run.prompt_version), "judging": asking.prompt.record()},
            {"judge": seat.judge.label},
            record=seat.record,
            answers=seat.answers,
        )
        for seat, provider in zip(seats, providers, strict=True)
    ]
    for provider, place in zip(providers, folders, strict=True):
        # Raises where the limit on cost cannot be held, before any judge is asked.
        Caller(provider, place, run.retries, run.prices, budget)
    # All of them come to an end, also when one raises: what is paid for is kept.
    ended = await asyncio.gather(
        *(
            run_items(
                asking.first_items(),
                provider,
                place,
                replace(run, on_progress=_progress_of(seat, options)),
            )
            for seat, provider, place in zip(seats, providers, folders, strict=True)
        ),
        return_exceptions=True,
    )
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    stopped = [each.stopped for each in ended if isinstance(each, Ended)]
    return _read(listed, seats, asking, folder, options, stopped)


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
    asking = _asking(listed, rubric, options)
    return _read(listed, seats, asking, folder, options, [""] * len(seats))


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


def _asking(subjects: Sequence[Subject], rubric: Rubric, options: JudgingOptions) -> Asking:
    prompt = JudgePrompt(rubric, options.variant, options.seed)
    asked = {subject.name: subject for subject in subjects if not subject.blank_reason}
    return Asking(prompt, asked, options.re_asks, options.repeats)


def _read(
    subjects: Sequence[Subject],
    seats: Sequence[_Seat],
    asking: Asking,
    folder: Path,
    options: JudgingOptions,
    stopped: Sequence[str],
) -> JudgingResults:
    reports = [_report(seat, asking, folder, why) for seat, why in zip(seats, stopped, strict=True)]
    warnings = warnings_of_kinship([seat.judge for seat in seats], options.answering_model)
    return results_of(subjects, reports, asking.prompt, warnings, options)


def _report(seat: _Seat, asking: Asking, folder: Path, stopped: str) -> JudgeReport:
    record = _record(folder / seat.record)
    if record["settings"]["prompt_version"] != asking.prompt.version:
        raise UserError(
            f"{folder / seat.record} is of another prompt or rubric"
            f" ({record['settings']['prompt_version']}, not {asking.prompt.version})."
        )
    journal = folder / seat.answers
    lines = list(read_journal(journal)) if journal.exists() else []
    own = list(_own_lines(lines, asking, record["settings"], journal))
    progress = Progress()
    for line in own:
        progress.add(line, is_new=False)
    return JudgeReport(
        judge=seat.judge.label,
        model=record["settings"]["model"],
        endpoint=record["settings"]["endpoint"],
        judgments=tuple(asking.judgments(seat.judge.label, own)),
        progress=progress,
        learned=record.get("learned", {}),
        stopped=stopped,
    )


def _own_lines(
    lines: Iterable[Line], asking: Asking, settings: Mapping[str, Any], journal: Path
) -> Iterable[Line]:
    """Yield the lines of these subjects, which must answer the very prompts that are made of them.

    Repeats beyond those that are wanted, which an audit may have asked for, are left out.

    Raises:
        UserError: a subject was judged with other texts.
    """
    for line in lines:
        subject = asking.subjects.get(line["item"])
        if subject is None or line["sample"] >= asking.repeats * ASKS_PER_REPEAT:
            continue
        item = Item(
            subject.name,
            asking.prompt.messages(subject, line["sample"]),
            subject.data_class,
            line["sample"],
        )
        request = Request(
            item,
            settings["endpoint"],
            settings["model"],
            settings["parameters"],
            settings["prompt_version"],
        )
        if request.key != line["key"]:
            raise UserError(
                f"{journal}: {subject.id!r} (sample {subject.sample}) was judged with another"
                " question, answer or reference. Judge again into another folder."
            )
        yield line


def _record(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: there are no judgments. Run the judges first.") from None
    except ValueError:
        raise UserError(f"{path} is not the record of a judging.") from None
    return record
