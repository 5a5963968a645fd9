"""Judging the answers of a run: by whom, into which folder, and the results read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from medeval.errors import UserError
from medeval.inference.run import RESPONSES, Run, RunConfig, read_answers
from medeval.inference.types import Outcome
from medeval.judging.jury import AUDIT_REPORT, Jury
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.task import AskedTask, JudgedTask

if TYPE_CHECKING:
    from medeval.inference.guard import DataUseGuard
    from medeval.judging.prompt import Subject
    from medeval.judging.results import JudgingResults
    from medeval.judging.rubric import Rubric
    from medeval.judging.running import Judging, OnJudging

JUDGINGS = "judgings"
NOT_ASKED = "not_asked"
# Ends without an answer, as the results call them; a blank reply is none of them.
_UNANSWERED = {
    None: NOT_ASKED,
    Outcome.ERRORED: "errored",
    Outcome.REFUSED: "refused",
    Outcome.TRUNCATED: "truncated",
    Outcome.TRUNCATED_REASONING: "truncated",
}


def judged(task: AskedTask) -> JudgedTask | None:
    """Return a task whose answers can be judged; None if it has no rubric."""
    found = cast("JudgedTask", task)
    return found if getattr(task, "rubric", None) is not None else None


def rubric_of(task: AskedTask) -> Rubric:
    """Return by what the answers to a task are judged.

    Raises:
        UserError: it has no rubric.
    """
    found = judged(task)
    if found is None or found.rubric is None:
        raise UserError(
            f"{task.name} is not judged. A task file that is to be says by which rubric, such as"
            " `judge: summarization`."
        )
    return found.rubric


def judging_of(task: AskedTask, record: RunRecord, jury: Jury) -> Judging:
    """Return the judging of a run's answers by a jury, in its folder below the run's.

    Raises:
        UserError: the task has no rubric, or there are no answers.
    """
    from medeval.judging.running import Judging

    return Judging(
        subjects_of_run(cast("JudgedTask", task), record),
        jury,
        rubric_of(task),
        record.folder / jury.folder,
        answering_model=record.model,
    )


def subjects_of_run(task: JudgedTask, record: RunRecord) -> list[Subject]:
    """Return the answers of a run as judges get them; where there is none, with the reason.

    Raises:
        UserError: there are no answers.
    """
    answers = read_answers(record.folder / RESPONSES, task.items(record.limit))
    reasons = {(one.item, one.sample): _UNANSWERED.get(one.outcome, "") for one in answers}
    return [replace(one, unanswered=reasons[one.id, one.sample]) for one in task.subjects(record)]


def judge(
    task: AskedTask,
    folder: Path,
    jury: Jury,
    options: RunConfig | None = None,
    gate: DataUseGuard | None = None,
    on_progress: OnJudging | None = None,
) -> JudgingResults:
    """Have the answers of a run judged, and keep with the run who did; see `Judging.run`.

    Raises:
        UserError: the task has no rubric, or as `Judging.run`.
    """
    from medeval.judging.running import verdicts_in

    record = read_record(folder)
    judging = judging_of(task, record, jury)
    others = [one for one in record.judgings if one.folder != jury.folder]

    def keep(juries: Sequence[Jury]) -> None:
        kept = [one.model_dump(mode="json") for one in juries]
        Run(folder, record.settings).update(JUDGINGS, kept)

    # Before anybody is paid: whatever ends the process, the judging can be gone on with.
    options = replace(options or RunConfig(), on_start=partial(keep, [*others, jury]))
    try:
        return judging.run(options, gate, on_progress)
    finally:
        # Judges that said nothing at all stand behind those that did.
        if not others or _has_judges(judging.folder):
            keep([*others, jury] if verdicts_in(judging.folder) else [jury, *others])


def results_of_run(task: JudgedTask, record: RunRecord) -> tuple[JudgingResults, Jury]:
    """Return the newest judging of a run that has a verdict; nobody is asked.

    One that was ended before its first verdict, as only a killed process leaves it, takes the
    place of none.

    Raises:
        UserError: it was never judged, or its judgments are those of other answers.
    """
    from medeval.judging.running import verdicts_in

    begun = (one for one in reversed(record.judgings) if verdicts_in(record.folder / one.folder))
    jury = next(begun, None) or chosen_jury(record, None)
    return judging_of(task, record, jury).results(), jury


def chosen_jury(
    record: RunRecord, wanted: Jury | None, choices: Mapping[str, Any] | None = None
) -> Jury:
    """Return the judging to be gone on with, or a new one with a folder of its own.

    The same judges go on where they were, and as they did, but for what is chosen anew: another
    pooling, more repeats or re-asks, another variable with the key.

    Args:
        record: of the run.
        wanted: who is to judge; None goes on with the newest judging.
        choices: pooling, repeats or re_asks that it is to have from now on.

    Raises:
        UserError: nobody is named, and the run was never judged; or a choice cannot be meant.
    """
    known, chosen = record.judgings, dict(choices or {})
    if wanted is None:
        if not known:
            raise UserError(
                f"{record.folder} was never judged. Name a judge: `python -m medeval judge"
                f" {record.folder} --judge-model MODEL` (`local` is a rule that needs no network)."
            )
        return known[-1].changed(chosen)
    same = [one for one in known if one.who_judges() == wanted.who_judges()]
    if not same:
        # The first folder that no other judging has, recorded or not.
        taken = {one.folder for one in known}
        names = chain([] if known else ["."], (f"judging-{number}" for number in count(2)))
        free = (one for one in names if one not in taken and not _has_judges(record.folder / one))
        return wanted.changed({"folder": next(free)})
    keys = {(one.model, one.base_url or ""): one.key_variable for one in same[-1].judges}
    judges = tuple(
        replace(one, key_variable=one.key_variable or keys[one.model, one.base_url or ""])
        for one in wanted.judges
    )
    return same[-1].changed({"judges": judges, **chosen})


def _has_judges(folder: Path) -> bool:
    """Tell whether a folder has the files of judges."""
    return any(path.is_file() and path.name != AUDIT_REPORT for path in folder.glob("judg*"))
