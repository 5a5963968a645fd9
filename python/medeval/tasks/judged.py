"""Judging the answers of a run: by whom, into which folder, and the results read back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medeval.errors import UserError
from medeval.inference.endpoints import is_loopback
from medeval.inference.journal import read_journal
from medeval.inference.run_folder import RunFolder
from medeval.tasks.run_record import RunRecord, read_record
from medeval.tasks.task import AskedTask

if TYPE_CHECKING:
    from medeval.judging.judges import Judge
    from medeval.judging.options import JudgingOptions
    from medeval.judging.results import JudgingResults
    from medeval.judging.rubric import Rubric
    from medeval.judging.subjects import Subject

JUDGINGS = "judgings"
KEY_VARIABLE = "JUDGE_API_KEY"
NO_KEY = "none"

Pooling = Literal["mean", "median", "trimmed_mean"]


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


class JudgeModel(BaseModel):
    """One judge of a run, as its record keeps it: never a key.

    Attributes:
        model: as its endpoint calls it; `local` for the rule that is built in.
        base_url: of its endpoint; None for the rule.
        key_variable: the environment variable with its key; `none` for an endpoint without keys,
            None for JUDGE_API_KEY, else OPENAI_API_KEY.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)]
    base_url: str | None = None
    key_variable: str | None = None

    def as_judge(self) -> Judge:
        """Return the judge. An endpoint on this machine needs no key unless one is there for it."""
        from medeval.judging.judges import Judge

        is_here = self.base_url is not None and is_loopback(self.base_url)
        has_own = self.key_variable is not None or bool(os.environ.get(KEY_VARIABLE, "").strip())
        return Judge(
            self.model,
            base_url=self.base_url,
            key_variable=None if self.key_variable == NO_KEY else self.key_variable,
            needs_key=self.key_variable != NO_KEY and (has_own or not is_here),
        )


class JudgingPlan(BaseModel):
    """Who judges a run, and how their rewards become one.

    Attributes:
        judges: one, or a jury.
        pooling: of a jury.
        repeats: judgments of each answer by each judge.
        re_asks: how often an unusable verdict is asked for again.
        seed: of the fences around the material.
        folder: below the run's, where the judgments are; `.` is the run's own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    judges: tuple[JudgeModel, ...]
    pooling: Pooling = "mean"
    repeats: Annotated[int, Field(ge=1)] = 1
    re_asks: Annotated[int, Field(ge=0, le=9)] = 1
    seed: int = 0
    folder: str = "."

    @property
    def who(self) -> list[Judge]:
        """The judges."""
        return [judge.as_judge() for judge in self.judges]

    def who_judges(self) -> tuple[frozenset[tuple[str, str]], int]:
        """Return what the calls depend on: the judges, in whatever order, and the seed."""
        return frozenset((one.model, one.base_url or "") for one in self.judges), self.seed

    def same_judging(self) -> tuple[Any, ...]:
        """Return what two runs must have in common for their rewards to be compared."""
        return (*self.who_judges(), self.pooling if len(self.judges) > 1 else "", self.repeats)


def plan_of(
    models: Sequence[str],
    base_urls: Sequence[str],
    key_variable: str | None = None,
    **choices: Any,
) -> JudgingPlan:
    """Return a plan: judges by their models, with one address for all of them or one for each.

    The address is that of now: a judging that goes on later asks at the same one, whatever the
    environment says then.

    Raises:
        UserError: addresses that cannot be given to the judges, or a choice that cannot be meant.
    """
    from medeval.judging.judges import Judge
    from medeval.judging.local_judge import LOCAL

    if len(base_urls) not in (0, 1, len(models)):
        raise UserError(
            f"There are {len(models)} judges and {len(base_urls)} addresses. Give one address for"
            " all of them, or one for each."
        )
    urls: list[str | None] = list(base_urls)
    if len(urls) < len(models):
        urls = (urls or [None]) * len(models)
    given = {name: value for name, value in choices.items() if value is not None}
    try:
        judges = tuple(
            JudgeModel(model=model)
            if model == LOCAL and url is None
            else JudgeModel(
                model=model,
                base_url=Judge(model, base_url=url).endpoint(os.environ),
                key_variable=key_variable,
            )
            for model, url in zip(models, urls, strict=True)
        )
        return JudgingPlan(judges=judges, **given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UserError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def plans_of(record: RunRecord) -> list[JudgingPlan]:
    """Return the judgings of a run, the oldest first."""
    return [JudgingPlan.model_validate(one) for one in record.judgings]


def chosen_plan(
    record: RunRecord, wanted: JudgingPlan | None, choices: Mapping[str, Any] | None = None
) -> JudgingPlan:
    """Return the judging to be gone on with, or a new one with a folder of its own.

    The same judges go on where they were, also with another pooling, more repeats or re-asks.

    Args:
        record: of the run.
        wanted: who is to judge; None goes on with the newest judging.
        choices: pooling, repeats or re_asks that it is to have from now on.

    Raises:
        UserError: nobody is named, and the run was never judged.
    """
    known = plans_of(record)
    if wanted is None:
        if not known:
            raise UserError(
                f"{record.folder} was never judged. Name a judge: `python -m medeval judge"
                f" {record.folder} --judge-model MODEL` (`local` is a rule that needs no network)."
            )
        return known[-1].model_copy(update=dict(choices or {}))
    same = [plan for plan in known if plan.who_judges() == wanted.who_judges()]
    if same:
        return wanted.model_copy(update={"folder": same[-1].folder})
    folder = "." if not known else f"judging-{len(known) + 1}"
    return wanted.model_copy(update={"folder": folder})


def checked_plan(plan: JudgingPlan) -> JudgingPlan:
    """Return a plan whose changed choices can be meant.

    Raises:
        UserError: naming the one that cannot.
    """
    try:
        return JudgingPlan.model_validate(plan.model_dump())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UserError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


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
    subjects = task.subjects(record)
    others = [one for one in plans_of(record) if one.folder != plan.folder]
    try:
        return run_judges(
            subjects, plan.who, rubric, folder / plan.folder, _how(plan, record, options)
        )
    finally:
        # Judges that said nothing at all take the place of none that did.
        if not others or any(_has_verdicts(folder / plan.folder)):
            kept = [one.model_dump(mode="json") for one in (*others, plan)]
            RunFolder(folder, record.settings).record(JUDGINGS, kept)


def _has_verdicts(folder: Path) -> Iterator[bool]:
    for journal in sorted(folder.glob("judgments*.jsonl")):
        yield any("text" in line for line in read_journal(journal))


def results_of_run(task: JudgedTask, record: RunRecord) -> tuple[JudgingResults, JudgingPlan]:
    """Return the newest judging of a run; nobody is asked.

    Raises:
        UserError: it was never judged, or its judgments are those of other answers.
    """
    from medeval.judging.options import JudgingOptions
    from medeval.judging.running import read_results

    plan = chosen_plan(record, None)
    results = read_results(
        task.subjects(record),
        plan.who,
        required_rubric(task),
        record.folder / plan.folder,
        _how(plan, record, JudgingOptions()),
    )
    return results, plan


def required_rubric(task: JudgedTask) -> Rubric:
    """Return the rubric of a task.

    Raises:
        UserError: it has none.
    """
    rubric = task.rubric
    if rubric is None:
        raise UserError(
            f"{task.name} is not judged. A task file that is to be says by which rubric, such as"
            " `judge: summarization`."
        )
    return rubric


def charged(folder: Path, pattern: str) -> Decimal:
    """Return what the journals of a folder were charged with, for a limit on cost."""
    return sum(
        (
            Decimal(line["measured"].get("charged") or 0)
            for journal in sorted(folder.glob(pattern))
            for line in read_journal(journal)
        ),
        Decimal(0),
    )


def _how(plan: JudgingPlan, record: RunRecord, options: JudgingOptions) -> JudgingOptions:
    return replace(
        options,
        re_asks=plan.re_asks,
        repeats=plan.repeats,
        seed=plan.seed,
        answering_model=record.model,
    )
