"""The way of a run: begun or gone on with, asked, judged, and told."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from medeval.commands.amounts import amount, read_price_file
from medeval.commands.judging import (
    JudgeFlags,
    check_before,
    default_judge,
    judge_and_tell,
    shown_flags,
    taken_from_arguments,
)
from medeval.commands.run_progress import ledger_table, shown_progress
from medeval.errors import UserError
from medeval.inference.guard import IN_PROCESS
from medeval.inference.outcomes import Outcome
from medeval.inference.prices import Prices
from medeval.inference.run_folder import RESPONSES
from medeval.inference.runner import Ended, RunOptions
from medeval.tasks import catalogue
from medeval.tasks.asking import Asking, choice_of, export_prompts, import_answers, open_run
from medeval.tasks.judged import JUDGINGS, JudgingPlan, charged, judged, plans_of
from medeval.tasks.models import ModelChoice
from medeval.tasks.run_record import read_record
from medeval.tasks.task import AskedTask


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
    parameters_text: str | None

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
        if self.parameters_text is not None:
            raise UserError(f"--parameters: {self.model} answers in this process and takes none.")
        return choice


@dataclass(frozen=True)
class Batch:
    """Files instead of a connection: where prompts go, where answers come from."""

    prompts: Path | None = None
    answers: Sequence[Path] = ()


def begin(
    task: str | None,
    flags: ModelFlags,
    options: dict[str, Any],
    judges: JudgeFlags,
    how: How,
    out: Path,
) -> Asking:
    """Make a new run's folder.

    Raises:
        UserError: no such task or model, options that cannot be meant, or a key is missing.
    """
    if task is None:
        raise UserError("Name a task with --task, or a run to go on with: --resume.")
    judges = taken_from_arguments(judges, options)
    asked = catalogue.begin(task, options)
    choice = flags.choice(how.timeout)
    plan = _plan(asked, judges, how)
    _ = how.prices  # a file that cannot be read is told before a folder is made
    asking = open_run(asked, choice, runs=out, endpoints=how.endpoints, limit=how.limit)
    asking.folder.record(JUDGINGS, [] if plan is None else [plan.model_dump(mode="json")])
    return asking


def go_on(
    folder: Path,
    given: Mapping[str, object],
    key_variable: str | None,
    judges: JudgeFlags,
    how: How,
) -> Asking:
    """Open the folder of a run to go on with it.

    Raises:
        UserError: what the run was begun with is given again, or has changed.
    """
    named = shown_flags({**given, "--judge-model": judges.models, "--jury": judges.pooling})
    if named:
        raise UserError(
            f"--resume goes on with what the run was begun with; leave {', '.join(named)} away, or"
            " begin a new run. Other judges: `python -m medeval judge`."
        )
    judges.plan()  # a key for them may be given anew
    record = read_record(folder)
    task = catalogue.resumed(record)
    asked, plans = judged(task), plans_of(record)
    if asked is not None and plans and not how.no_judge:
        check_before(asked, plans[-1], how.endpoints)
    return open_run(
        task,
        choice_of(record, key_variable, how.timeout),
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
        max_cost=how.max_cost or amount(record.max_cost or None),
    )


def go_through(asking: Asking, how: How, batch: Batch, *, is_again: bool) -> bool:
    """Ask, judge where the task is judged, and say what came of it.

    Returns:
        Whether all items have a reply, and all answers that were to be judged a verdict.
    """
    print(f"run {asking.folder.path}")
    asking.folder.record("max_cost", "" if how.max_cost is None else str(how.max_cost))
    asking.folder.record("prices", "" if how.price_file is None else str(how.price_file.resolve()))
    if batch.prompts is not None:
        _export(asking, how, batch.prompts)
        return True
    if batch.answers:
        is_whole = _import(asking, how, batch.answers)
    else:
        ended = _answered(asking, how, is_again)
        _tell(asking, ended, how)
        is_whole = not ended.stopped and not ended.progress.ledger[Outcome.ERRORED]
        if ended.stopped:
            return False
    is_whole = _judged(asking, how) and is_whole
    name = shlex.quote(asking.task.asked_as)
    print(f"python -m medeval score --task {name} {asking.folder.path}")
    return is_whole


def _plan(task: AskedTask, judges: JudgeFlags, how: How) -> JudgingPlan | None:
    """Return who judges; checked, so that no answer is paid that cannot be judged."""
    named = judges.plan(None if how.no_judge else default_judge(task))
    if named is None:
        if judges.choices():
            raise UserError("--jury without --judge-model: name the judges.")
        return None
    if how.no_judge:
        raise UserError("--no-judge and --judge-model: leave one of them away.")
    asked = judged(task)
    if asked is None:
        raise UserError(
            f"{task.name} is not judged. A task file that is to be says by which rubric, such as"
            " `judge: summarization`."
        )
    check_before(asked, named, how.endpoints)
    return named


def _export(asking: Asking, how: How, path: Path) -> None:
    count = export_prompts(asking, path, how.endpoints)
    print(f"{count:,} prompts in {path}. When they are answered:")
    print(f"python -m medeval run --resume {asking.folder.path} --import-answers ANSWERS.jsonl")


def _import(asking: Asking, how: How, paths: Sequence[Path]) -> bool:
    imported = import_answers(asking, paths, how.prices)
    print(f"{imported.new:,} answers are new, {imported.known:,} were there already")
    if not imported.missing:
        return True
    print(
        f"medeval: {len(imported.missing):,} items have no answer ({imported.expired:,} expired);"
        f" ask them with `python -m medeval run --resume {asking.folder.path}`",
        file=sys.stderr,
    )
    return False


def _answered(asking: Asking, how: How, is_again: bool) -> Ended:
    total = sum(1 for _ in asking.task.items(asking.limit))
    spent = charged(asking.folder.path, "**/judgments*.jsonl")
    with shown_progress(total, how.prices.currency) as show:
        return asking.answer(
            RunOptions(
                prompt_version=asking.task.prompt_version,
                concurrency=how.concurrency,
                prices=how.prices,
                # What judges cost in an earlier start is of the same limit.
                max_cost=None if how.max_cost is None else how.max_cost - spent,
                ask_again=frozenset({Outcome.ERRORED}) if is_again else frozenset(),
                can_read=asking.task.can_read,
                on_progress=show,
            )
        )


def _judged(asking: Asking, how: How) -> bool:
    record = read_record(asking.folder.path)
    task = judged(asking.task)
    plans = plans_of(record)
    if task is None or not plans or how.no_judge:
        return True
    spent = charged(record.folder, RESPONSES)
    run = RunOptions(
        concurrency=how.concurrency,
        prices=how.prices,
        max_cost=None if how.max_cost is None else how.max_cost - spent,
        ask_again=frozenset({Outcome.ERRORED}),
    )
    results = judge_and_tell(task, record.folder, plans[-1], run, how.endpoints)
    return not results.exit_code


def _tell(asking: Asking, ended: Ended, how: How) -> None:
    is_local = asking.provider.address == IN_PROCESS
    Console().print(ledger_table(ended.progress, None if is_local else how.prices.currency))
    for name, instead in asking.folder.learned.items():
        told = f"sent as {instead}" if instead else "left out"
        print(f"medeval: the endpoint refuses {name}; it was {told}", file=sys.stderr)
    again = f"`python -m medeval run --resume {asking.folder.path}`"
    if ended.stopped:
        print(f"medeval: {ended.stopped}", file=sys.stderr)
        print(f"python -m medeval run --resume {asking.folder.path}")
    elif ended.progress.errors:
        count = sum(ended.progress.errors.values())
        print(
            f"medeval: {count:,} items have no reply; ask them again with {again}", file=sys.stderr
        )
