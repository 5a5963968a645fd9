"""Judging the answers of a run: by whom, into which folder, and the results read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from medeval.errors import UserError
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES, Run, read_answers
from medeval.inference.types import Outcome
from medeval.tasks.judging_plan import JudgingPlan, chosen_plan
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.task import AskedTask

if TYPE_CHECKING:
    from medeval.judging.options import JudgingOptions
    from medeval.judging.results import JudgingResults
    from medeval.judging.rubric import Rubric
    from medeval.judging.subjects import Subject

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


class JudgedTask(AskedTask, Protocol):
    """A task whose answers can be judged."""

    @property
    def rubric(self) -> Rubric | None:
        """What is graded; None if the task file names no judge."""

    def subjects(self, record: RunRecord) -> list[Subject]:
        """Return the answers of a run as judges get them."""


def judged(task: AskedTask) -> JudgedTask | None:
    """Return a task whose answers can be judged; None if it has no rubric."""
    found = cast("JudgedTask", task)
    return found if getattr(task, "rubric", None) is not None else None


def judge(
    task: JudgedTask, folder: Path, plan: JudgingPlan, options: JudgingOptions
) -> JudgingResults:
    """Have the answers of a run judged, and keep with the run who did; see `run_judges`.

    Raises:
        UserError: the task has no rubric, or as `run_judges`.
    """
    from medeval.judging.running import run_judges

    record = read_record(folder)
    rubric = required_rubric(task)
    subjects = subjects_of_run(task, record)
    before = record.judgings
    others = [one for one in before if one.folder != plan.folder]

    def keep(plans: Sequence[JudgingPlan]) -> None:
        kept = [one.model_dump(mode="json") for one in plans]
        Run(folder, record.settings).update(JUDGINGS, kept)

    def on_start() -> None:
        # Before anybody is paid: whatever ends the process, the judging can be gone on with.
        keep([*others, plan])

    how = _how(plan, record, options)
    try:
        return run_judges(
            subjects,
            plan.who,
            rubric,
            folder / plan.folder,
            replace(how, run=replace(how.run, on_start=on_start)),
        )
    finally:
        # Judges that said nothing at all take the place of none that did.
        is_kept = not others or _has_verdicts(folder / plan.folder)
        keep([*others, plan] if is_kept else before)


def subjects_of_run(task: JudgedTask, record: RunRecord) -> list[Subject]:
    """Return the answers of a run as judges get them; where there is none, with the reason.

    Raises:
        UserError: there are no answers.
    """
    answers = read_answers(record.folder / RESPONSES, task.items(record.limit))
    reasons = {(one.item, one.sample): _UNANSWERED.get(one.outcome, "") for one in answers}
    return [replace(one, unanswered=reasons[one.id, one.sample]) for one in task.subjects(record)]


def _has_verdicts(folder: Path) -> bool:
    journals = sorted(folder.glob("judgments*.jsonl"))
    return any("text" in line for journal in journals for line in read_journal(journal))


def results_of_run(task: JudgedTask, record: RunRecord) -> tuple[JudgingResults, JudgingPlan]:
    """Return the newest judging of a run that has a verdict; nobody is asked.

    One that was ended before its first verdict, as only a killed process leaves it, takes the
    place of none.

    Raises:
        UserError: it was never judged, or its judgments are those of other answers.
    """
    from medeval.judging.options import JudgingOptions
    from medeval.judging.running import read_results

    known = record.judgings
    begun = (one for one in reversed(known) if _has_verdicts(record.folder / one.folder))
    plan = next(begun, None) or chosen_plan(record, None)
    results = read_results(
        subjects_of_run(task, record),
        plan.who,
        required_rubric(task),
        record.folder / plan.folder,
        _how(plan, record, JudgingOptions()),
    )
    return results, plan


def how_far(task: JudgedTask, folder: Path, plan: JudgingPlan) -> tuple[int, int]:
    """Return how many verdicts a judging has, and how many it is to have.

    Raises:
        UserError: the task has no rubric, or the judgments are those of other answers.
    """
    from medeval.judging.options import JudgingOptions
    from medeval.judging.running import how_many

    record = read_record(folder)
    return how_many(
        subjects_of_run(task, record),
        plan.who,
        required_rubric(task),
        folder / plan.folder,
        _how(plan, record, JudgingOptions()),
    )


def required(task: AskedTask) -> JudgedTask:
    """Return a task whose answers can be judged.

    Raises:
        UserError: it has no rubric.
    """
    found = judged(task)
    if found is None:
        raise UserError(
            f"{task.name} is not judged. A task file that is to be says by which rubric, such as"
            " `judge: summarization`."
        )
    return found


def required_rubric(task: JudgedTask) -> Rubric:
    """Return the rubric of a task.

    Raises:
        UserError: it has none.
    """
    return cast("Rubric", required(task).rubric)


def _how(plan: JudgingPlan, record: RunRecord, options: JudgingOptions) -> JudgingOptions:
    return replace(
        options,
        re_asks=plan.re_asks,
        repeats=plan.repeats,
        seed=plan.seed,
        answering_model=record.model,
    )
