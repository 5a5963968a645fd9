"""What `judge-audit` audits: the answers of a run or those that come along, and who judges them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import medeval
from medeval.commands.judging import JudgeFlags, default_judge
from medeval.errors import UserError
from medeval.inference.journal import read_journal
from medeval.judging.attacking import weak_subjects
from medeval.judging.audit import FOLDER as PARTS
from medeval.judging.judges import DEFAULT_JUDGE
from medeval.judging.prompt import JudgePrompt
from medeval.judging.rubric import Rubric, read_rubric, shipped_rubric, shipped_rubrics
from medeval.judging.subjects import Subject
from medeval.tasks.catalogue import resumed
from medeval.tasks.judged import JudgedTask, subjects_of_run
from medeval.tasks.judging_plan import JudgingPlan
from medeval.tasks.mtsamples import NAME as MTSAMPLES
from medeval.tasks.run_record import RUNS, RunRecord, read_record

_NO_JUDGE = "Name a judge with --judge-model (`local` is a rule that needs no network)."


@dataclass(frozen=True)
class Audited:
    """What is audited.

    Attributes:
        subjects: the answers.
        rubric: what is graded.
        plan: who judges; its folder is that of the judgments.
        folder: the run's, or one of the audit's own.
        record: of the run; None for the answers that come along.
    """

    subjects: list[Subject]
    rubric: Rubric
    plan: JudgingPlan
    folder: Path
    record: RunRecord | None = None

    @property
    def answering_model(self) -> str:
        """Whose answers they are; empty for those that come along."""
        return "" if self.record is None else self.record.model

    @property
    def verdicts(self) -> int:
        """How many replies of judges there are by now, those of all parts together."""
        place = self.folder / self.plan.folder
        journals = [*place.glob("judgments*.jsonl"), *(place / PARTS).rglob("judgments*.jsonl")]
        return sum("text" in line for journal in journals for line in read_journal(journal))

    def described(self) -> dict[str, Any]:
        """Return what the report says of it."""
        prompt = JudgePrompt(self.rubric, seed=self.plan.seed)
        return {
            "versions": {"medeval": medeval.__version__},
            "run": None if self.record is None else self.folder.name,
            "task": None if self.record is None else self.record.task,
            "answering_model": self.answering_model or None,
            "prompt_version": prompt.version,
            **prompt.record(),
            "repeats": self.plan.repeats,
            "re_asks": self.plan.re_asks,
            "seed": self.plan.seed,
        }


def of_a_run(folder: Path, flags: JudgeFlags, named: str | None) -> Audited:
    """Return the answers of a run, and who judges them.

    Args:
        folder: of the run.
        flags: who is to judge; nobody means those who judged it last.
        named: a rubric's name or file; None for that of the run's task.

    Raises:
        UserError: the run's task is not judged, or there is no judge.
    """
    record = read_record(folder)
    task = cast("JudgedTask", resumed(record))
    if not hasattr(task, "subjects"):
        raise UserError(f"The answers to {record.task} are not of a kind that judges grade.")
    own = task.rubric
    rubric = own if named is None else _rubric(named)
    if rubric is None:
        raise UserError(f"{record.task} has no rubric. Name one with --rubric.")
    wanted = flags.plan(None if record.judgings else default_judge(task))
    # Judgments by another rubric are no judging of this run.
    known = record.judgings if own is not None and own.sha256 == rubric.sha256 else ()
    plan = _plan(wanted or _newest(record), known, rubric)
    plan = flags.with_key(plan.model_copy(update={"repeats": flags.repeats or plan.repeats}))
    return Audited(subjects_of_run(task, record), rubric, plan, folder, record)


def of_the_shipped(flags: JudgeFlags, human: Path | None, named: str | None) -> Audited:
    """Return the weak answers that come along, and who judges them.

    Raises:
        UserError: people's ratings are given, which are of a run.
    """
    if human is not None:
        raise UserError("--human needs the run whose answers were rated: name its folder.")
    rubric = _rubric(named or MTSAMPLES)
    plan = flags.plan(DEFAULT_JUDGE)
    if plan is None:
        raise UserError(_NO_JUDGE)
    return Audited(weak_subjects(), rubric, plan, RUNS / _folder_of(plan, rubric))


def _newest(record: RunRecord) -> JudgingPlan:
    if not record.judgings:
        raise UserError(f"{record.folder} was never judged. {_NO_JUDGE}")
    return record.judgings[-1]


def _plan(wanted: JudgingPlan, known: Sequence[JudgingPlan], rubric: Rubric) -> JudgingPlan:
    """Return the judging of the run by the same judges, so that nothing is asked twice.

    Others get a folder that the run's record does not know of: the run's score stays that of its
    own judging.
    """
    same = [plan for plan in known if plan.who_judges()[0] == wanted.who_judges()[0]]
    if same:
        return same[-1]
    return wanted.model_copy(update={"folder": _folder_of(wanted, rubric)})


def _folder_of(plan: JudgingPlan, rubric: Rubric) -> str:
    """Return the name of a folder that the same judges and rubric have again next time."""
    unkeyed = (judge.model_copy(update={"key_variable": None}) for judge in plan.judges)
    judges = "\n".join(judge.model_dump_json() for judge in unkeyed)
    digest = hashlib.sha256(f"{judges}\n{plan.seed}\n{rubric.sha256}".encode()).hexdigest()
    return f"judge-audit-{digest[:12]}"


def _rubric(named: str) -> Rubric:
    """Return a rubric by its name or file.

    Raises:
        UserError: there is none.
    """
    path = Path(named)
    if named.replace("-", "_") not in shipped_rubrics() and path.is_file():
        return read_rubric(path)
    return shipped_rubric(named)
