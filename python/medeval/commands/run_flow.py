"""The way of a run: begun or gone on with, asked, judged, and told."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from medeval.commands.amounts import amount, read_price_file
from medeval.commands.context_told import tell_default_limit
from medeval.commands.graceful_exit import command_of, graceful_exit
from medeval.commands.judging import (
    JudgeFlags,
    check_before,
    default_judge,
    judge_and_tell,
    shown_flags,
    taken_from_arguments,
)
from medeval.commands.left_out_told import tell_left_out
from medeval.commands.run_again import again, limits, named_again, standing, tell_errored, tell_made
from medeval.commands.run_batch import Batch, bring_in, export
from medeval.commands.run_progress import ledger_table, shown_progress
from medeval.commands.task_options import moved_to
from medeval.errors import UserError
from medeval.inference.cost import Budget, Prices, charged_in
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import RunConfig, RunResult
from medeval.inference.types import Outcome
from medeval.judging.jury import Jury
from medeval.tasks import catalogue
from medeval.tasks.cdm_taken_up import taken_up
from medeval.tasks.judged import JUDGINGS, judged, required
from medeval.tasks.models import ModelChoice
from medeval.tasks.run_record import read_record
from medeval.tasks.task import AskedTask
from medeval.tasks.task_run import (
    Asking,
    choice_of,
    open_run,
)
from medeval.terminal import Terminal


@dataclass(frozen=True)
class How:
    """How a run is made, apart from what is asked of whom; may differ from start to start."""

    concurrency: int
    timeout: float
    price_file: Path | None
    max_cost: Decimal | None
    endpoints: Path
    limit: int | None
    no_judge: bool
    judges: JudgeFlags
    moved_cases: Path | None = None
    is_limit_given: bool = False

    @cached_property
    def prices(self) -> Prices:
        """What tokens cost."""
        return read_price_file(self.price_file)


@dataclass(frozen=True)
class ModelFlags:
    """What the command line says of the model."""

    model: str | None
    base_url: str | None
    key_variable: str | None
    parameters: Mapping[str, Any]
    given: Mapping[str, object]

    def choice(self, timeout: float) -> ModelChoice:
        """Return the model that is meant.

        Raises:
            UserError: none is named, or parameters for one that takes none.
        """
        if self.model is None:
            raise UserError("Name a model with --model, or a run to go on with: --resume.")
        choice = ModelChoice(self.model, self.base_url, self.key_variable, {}, timeout)
        if not choice.is_demo and choice.function is None:
            return replace(choice, parameters=self.parameters)
        named = shown_flags(self.given)
        if named:
            raise UserError(
                f"{', '.join(named)}: {self.model} answers in this process and takes none."
            )
        return choice


def _nothing_asked() -> str:
    return "nothing was asked; start the same command again"


@graceful_exit(_nothing_asked)
def begin(
    task: str | None, flags: ModelFlags, options: dict[str, Any], how: How, out: Path
) -> Asking:
    """Make a new run's folder.

    Raises:
        UserError: no such task or model, options that cannot be meant, or a key is missing.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    if task is None:
        raise UserError("Name a task with --task, or a run to go on with: --resume.")
    judges = taken_from_arguments(how.judges, options)
    asked = catalogue.begin(task, options)
    choice = flags.choice(how.timeout)
    plan = _plan(asked, judges, how)
    _ = how.prices  # a file that cannot be read is told before a folder is made
    asking = open_run(asked, choice, runs=out, endpoints=how.endpoints, limit=how.limit)
    asking.folder.record(JUDGINGS, [] if plan is None else [plan.model_dump(mode="json")])
    return asking


@graceful_exit(_nothing_asked)
def go_on(folder: Path, given: Mapping[str, Any], how: How) -> Asking:
    """Open the folder of a run to go on with it.

    Raises:
        UserError: what the run was begun with is given again, or has changed; or what its record
            may not decide alone is not.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    judges, model = how.judges, given["--model"]
    is_same = model is not None and model == read_record(folder).asked_model
    allowed = {"--model": None if is_same else model, "--key-variable": None}
    of_judges = {"--judge-model": judges.models, "--judge-base-url": judges.base_urls}
    named = shown_flags({**given, **allowed, **of_judges, "--jury": judges.pooling})
    if named:
        raise UserError(
            f"--resume goes on with what the run was begun with; leave {', '.join(named)} away, or"
            " begin a new run. Other judges: `python -m medeval judge`."
        )
    judges.plan()  # a key for them may be given anew
    record = read_record(folder)
    choice = choice_of(record, given["--key-variable"], how.timeout)
    named_again(record, choice, how, given)
    task = taken_up(record, how.moved_cases)
    asked = judged(task)
    if asked is not None and record.judgings and not how.no_judge:
        check_before(asked, judges.with_key(record.judgings[-1]), how.endpoints)
    return open_run(
        task,
        choice,
        folder=folder,
        endpoints=how.endpoints,
        limit=record.limit if how.limit is None else how.limit,
    )


def with_recorded_limits(how: How, folder: Path) -> How:
    """Return how a run goes on: with the prices and the limit on cost of before, if not others."""
    record = read_record(folder)
    return replace(
        how,
        price_file=how.price_file or (Path(record.prices) if record.prices else None),
        max_cost=how.max_cost if how.is_limit_given else amount(record.max_cost or None),
    )


def go_through(asking: Asking, how: How, batch: Batch, *, is_again: bool) -> bool:
    """Ask, judge where the task is judged, and say what came of it.

    Returns:
        Whether all items have a reply, and all answers that were to be judged a verdict.

    Raises:
        UserError: it cannot be made as it is wished. A new run then leaves no folder.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    with graceful_exit(lambda: standing(asking, how, batch)):
        try:
            return _gone_through(asking, how, batch, is_again)
        except UserError:
            asking.take_back()
            raise


def _gone_through(asking: Asking, how: How, batch: Batch, is_again: bool) -> bool:
    if not asking.made:
        print(f"run {asking.folder.path}")
    tell_default_limit(asking)
    tell_left_out(asking.task)
    if batch.prompts is not None:
        export(asking, how, batch.prompts)
        return True
    if batch.answers:
        is_whole = bring_in(asking, how, batch.answers)
    else:
        ended = _answered(asking, how, is_again)
        _tell(asking, ended, how)
        is_whole = not ended.stopped and not ended.progress.ledger[Outcome.ERRORED]
        if ended.stopped:
            return False
    is_whole = _judged(asking, how) and is_whole
    score = command_of("score", "--task", asking.task.asked_as, asking.folder.path)
    print(f"{score}{moved_to(how.moved_cases)}")
    return is_whole


def _plan(task: AskedTask, judges: JudgeFlags, how: How) -> Jury | None:
    """Return who judges; checked, so that no answer is paid that cannot be judged."""
    named = judges.plan(None if how.no_judge else default_judge(task))
    if named is None:
        if judges.choices() or judges.key_variable:
            flag = "--judge-key-variable" if judges.key_variable else "--jury"
            raise UserError(f"{flag} without --judge-model: name the judges.")
        return None
    if how.no_judge:
        raise UserError("--no-judge and --judge-model: leave one of them away.")
    check_before(required(task), named, how.endpoints)
    return named


def _answered(asking: Asking, how: How, is_again: bool) -> RunResult:
    total = sum(1 for _ in asking.task.items(asking.limit))

    def on_begun() -> None:
        asking.record_choices(**limits(how))
        tell_made(asking)

    with shown_progress(total, how.prices.currency) as show:
        return asking.answer(
            RunConfig(
                prompt_version=asking.task.prompt_version,
                concurrency=how.concurrency,
                prices=how.prices,
                # What judges cost in an earlier start is of the same limit.
                budget=_budget(asking.folder.path, how, asking.folder.journal),
                ask_again=frozenset({Outcome.ERRORED}) if is_again else frozenset(),
                can_read=asking.task.can_read,
                on_begun=on_begun,
                on_progress=show,
            )
        )


def _budget(folder: Path, how: How, journal: Path) -> Budget:
    """Return the one limit on cost of a run and its judges, with what the others spent.

    Args:
        folder: of the run.
        how: it is made.
        journal: of those that are to be asked, or how their names begin: they book their own.
    """
    if how.max_cost is None:
        return Budget(None)
    return Budget(how.max_cost, charged_in(folder, beside=journal))


def _judged(asking: Asking, how: How) -> bool:
    record = read_record(asking.folder.path)
    task = judged(asking.task)
    if task is None or not record.judgings or how.no_judge:
        return True
    plan = how.judges.with_key(record.judgings[-1])
    run = RunConfig(
        concurrency=how.concurrency,
        prices=how.prices,
        budget=_budget(record.folder, how, record.folder / plan.folder / "judgments"),
        ask_again=frozenset({Outcome.ERRORED}),
    )
    results = judge_and_tell(task, record.folder, plan, run, how.endpoints)
    return not results.exit_code


def _tell(asking: Asking, ended: RunResult, how: How) -> None:
    is_local = asking.provider.address == IN_PROCESS
    currency = None if is_local else how.prices.currency
    Terminal().print(ledger_table(ended.progress, currency, ended.spent))
    for name, instead in asking.folder.learned.items():
        told = f"sent as {instead}" if instead else "left out"
        print(f"medeval: the endpoint refuses {name}; it was {told}", file=sys.stderr)
    if ended.stopped:
        print(f"medeval: {ended.stopped}", file=sys.stderr)
        print(again(asking, how))
    else:
        tell_errored(asking, how, ended.progress)
