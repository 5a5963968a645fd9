"""The way of a run: started or resumed, asked, judged, and its end said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from medeval.commands.amounts import amount, read_price_file
from medeval.commands.graceful_exit import command_of, graceful_exit, moved_to, with_flags
from medeval.commands.judging import (
    JudgeFlags,
    check_before,
    judge_and_tell,
    refuse_unnamed,
    shown_flags,
    taken_from_arguments,
    verdicts_kept,
)
from medeval.commands.run_progress import ledger_table, shown_progress
from medeval.errors import UserError
from medeval.inference.cost import Budget, Prices, Spent, charged_in, kept_spending
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import Progress, RunConfig
from medeval.inference.types import Outcome
from medeval.tasks import catalogue
from medeval.tasks.judged import JUDGINGS, judged
from medeval.tasks.models import ModelChoice
from medeval.tasks.run_record import RunRecord, read_record, warning_of_cut_prompts
from medeval.tasks.task_run import (
    ENDPOINTS,
    TaskRun,
    choice_of,
    export_prompts,
    import_answers,
    open_run,
)
from medeval.terminal import Terminal, warn

_NOTHING_ASKED = "nothing was asked; start the same command again"


@dataclass(frozen=True)
class RunFlags:
    """The flags of `run` that are no setting: they may differ from start to start.

    Attributes:
        concurrency: items under way at a time.
        timeout: seconds for one call.
        price_file: what tokens cost.
        max_cost: the limit on cost.
        is_limit_given: whether it is from the command line.
        endpoints: the declarations of where credentialed text may go.
        limit: how many items are asked at most.
        no_judge: answers only.
        judges: who judges.
        moved_cases: the folder of the cases of a run that is resumed.
        prompts: where a batch file is written to, and nothing is asked.
        answers: batch files that are read, and nothing is asked.
        is_resumed: whether the folder was named.
    """

    concurrency: int
    timeout: float
    price_file: Path | None
    max_cost: Decimal | None
    endpoints: Path
    limit: int | None
    no_judge: bool
    judges: JudgeFlags
    is_limit_given: bool = False
    moved_cases: Path | None = None
    prompts: Path | None = None
    answers: Sequence[Path] = ()
    is_resumed: bool = False

    @cached_property
    def prices(self) -> Prices:
        """What tokens cost."""
        return read_price_file(self.price_file)

    @property
    def limits(self) -> dict[str, str]:
        """What a run keeps of its money, for the next start."""
        return {
            "max_cost": "" if self.max_cost is None else str(self.max_cost),
            "prices": "" if self.price_file is None else str(self.price_file.resolve()),
        }


@graceful_exit(lambda: _NOTHING_ASKED)
def start(
    task: str | None,
    choice: ModelChoice | None,
    given: Mapping[str, object],
    options: dict[str, Any],
    flags: RunFlags,
    out: Path,
) -> TaskRun:
    """Make a new run's folder.

    Args:
        task: its name.
        choice: who is asked.
        given: the parameters of the model, by flag.
        options: of the task.
        flags: how it is run.
        out: where its folder is made.

    Raises:
        UserError: no such task or model, options that cannot be meant, or a key is missing.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    if task is None:
        raise UserError("Name a task with --task, or a run to go on with: --resume.")
    judges = taken_from_arguments(flags.judges, options)
    asked = catalogue.begin(task, options)
    if choice is None:
        raise UserError("Name a model with --model, or a run to go on with: --resume.")
    if choice.is_demo or choice.function is not None:
        if named := shown_flags(given):
            raise UserError(
                f"{', '.join(named)}: {choice.model} answers in this process and takes none."
            )
        choice = replace(choice, parameters={})
    is_judged = judged(asked) is not None and not flags.no_judge
    plan = judges.plan(getattr(asked, "default_judge", None) if is_judged else None)
    if plan is None and (judges.choices or judges.key_variable):
        flag = "--judge-key-variable" if judges.key_variable else "--jury"
        raise UserError(f"{flag} without --judge-model: name the judges.")
    if plan is not None:
        if flags.no_judge:
            raise UserError("--no-judge and --judge-model: leave one of them away.")
        # No answer is paid that cannot be judged.
        check_before(asked, plan, flags.endpoints)
    _ = flags.prices  # a file that cannot be read is reported before a folder is made
    run = open_run(asked, choice, runs=out, endpoints=flags.endpoints, limit=flags.limit)
    run.update(JUDGINGS, [] if plan is None else [plan.model_dump(mode="json")])
    return run


@graceful_exit(lambda: _NOTHING_ASKED)
def resume(folder: Path, given: Mapping[str, Any], flags: RunFlags) -> tuple[TaskRun, RunFlags]:
    """Open the folder of a run to resume it, with the prices and the limit on cost of before.

    Raises:
        UserError: what the run was started with is given again, or has changed; or what its record
            may not decide alone is not.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    from medeval.tasks.cdm_taken_up import taken_up

    judges, model, key = flags.judges, given["--model"], given["--key-variable"]
    is_same = model is not None and model == read_record(folder).asked_model
    allowed = {"--model": None if is_same else model, "--key-variable": None}
    of_judges = {"--judge-model": judges.models, "--judge-base-url": judges.base_urls}
    named = shown_flags({**given, **allowed, **of_judges, "--jury": judges.choices.get("pooling")})
    if named:
        raise UserError(
            f"--resume goes on with what the run was begun with; leave {', '.join(named)} away, or"
            " begin a new run. Other judges: `python -m medeval judge`."
        )
    judges.plan()  # a key for them may be given anew
    record = read_record(folder)
    choice = choice_of(record, key, flags.timeout)
    unnamed = {flag: value for flag, value in choice.to_name.items() if not given[flag]}
    plans = () if flags.no_judge else record.judgings[-1:]
    for plan in plans:
        unnamed |= judges.missing(plan)
    # A record may not decide alone where keys are sent and what is run.
    refuse_unnamed(record, unnamed, _command(record, flags))
    task = taken_up(record, flags.moved_cases)
    asked = judged(task)
    for plan in plans if asked else ():
        check_before(task, judges.with_key(plan), flags.endpoints)
    run = open_run(
        task,
        choice,
        folder=folder,
        endpoints=flags.endpoints,
        limit=record.limit if flags.limit is None else flags.limit,
    )
    return run, replace(
        flags,
        price_file=flags.price_file or (Path(record.prices) if record.prices else None),
        max_cost=flags.max_cost if flags.is_limit_given else amount(record.max_cost or None),
    )


def execute(run: TaskRun, flags: RunFlags) -> bool:
    """Ask, judge where the task is judged, and say what came of it.

    Returns:
        Whether all items have a reply, and all answers that were to be judged a verdict.

    Raises:
        UserError: it cannot be made as it is wished. A new run then leaves no folder.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    with graceful_exit(lambda: status_line(run, flags)):
        try:
            if not run.made:
                print(f"run {run.folder}")
            _warn_of_the_context(run)
            warn(*getattr(run.task, "left_out", ()))
            if flags.prompts is not None:
                _export(run, flags, flags.prompts)
                return True
            is_whole = _import(run, flags) if flags.answers else _ask(run, flags)
            if is_whole is None:
                return False
            is_whole = _judged(run, flags) and is_whole
        except UserError:
            run.discard()
            raise
    score = command_of("score", "--task", run.task.asked_as, run.folder)
    print(f"{score}{moved_to(flags.moved_cases)}")
    return is_whole


def _ask(run: TaskRun, flags: RunFlags) -> bool | None:
    """Ask what has no answer yet; return whether all items have a reply, None if it stopped."""
    total = sum(1 for _ in run.task.items(run.limit))
    with shown_progress(total, flags.prices.currency) as show:
        # What judges cost in an earlier start is of the same limit.
        config = _config(run, flags, run.journal)
        on_start = partial(_keep, run, run.record_choices, flags)
        result = run.evaluate(replace(config, on_start=on_start, on_progress=show))
    _print_ledger(run, result.progress, flags, result.spent)
    for name, instead in run.learned.items():
        sent = f"sent as {instead}" if instead else "left out"
        warn(f"the endpoint refuses {name}; it was {sent}")
    if warning := warning_of_cut_prompts(run.task.items(run.limit), run.lines()):
        warn(warning)
    if result.stopped:
        warn(result.stopped)
        print(resume_command(run, flags))
        return None
    return _has_replies(run, result.progress, flags)


def _config(run: TaskRun, flags: RunFlags, journal: Path) -> RunConfig:
    """Return how one part of a run is executed.

    Args:
        run: of the model and its judges, which have one limit on cost.
        flags: of the command.
        journal: of those that are to be asked, or how their names begin: they book their own.
    """
    is_limited = flags.max_cost is not None
    spent = charged_in(run.folder, beside=journal) if is_limited else Decimal(0)
    is_retried = flags.is_resumed or journal != run.journal
    return RunConfig(
        concurrency=flags.concurrency,
        prices=flags.prices,
        budget=Budget(flags.max_cost, spent),
        retry=frozenset({Outcome.ERRORED}) if is_retried else frozenset(),
    )


def _judged(run: TaskRun, flags: RunFlags) -> bool:
    record = read_record(run.folder)
    task = judged(run.task)
    if task is None or not record.judgings or flags.no_judge:
        return True
    plan = flags.judges.with_key(record.judgings[-1])
    config = _config(run, flags, run.folder / plan.folder / "judgments")
    results = judge_and_tell(task, run.folder, plan, config, flags.endpoints)
    return not results.exit_code


def _export(run: TaskRun, flags: RunFlags, path: Path) -> None:
    """Write the prompts of a run as a batch file, and say how their answers come in."""
    _ = flags.prices  # one that cannot be read is not kept
    count = export_prompts(run, path, flags.endpoints)
    _keep(run, run.record_alone, flags)
    print(f"{count:,} prompts in {path}. When they are answered:")
    print(resume_command(run, flags, "--import-answers", "ANSWERS.jsonl"))


def _import(run: TaskRun, flags: RunFlags) -> bool:
    """Read the answers of batch files; return whether all items have a reply."""
    imported = import_answers(run, flags.answers, flags.prices)
    _keep(run, run.record_alone, flags)
    print(f"{imported.new:,} answers are new, {imported.known:,} were there already")
    sums = run.progress()
    _print_ledger(run, sums, flags, kept_spending(run.journal))
    left = sum(1 for _ in run.task.items(run.limit)) - sums.ledger.asked
    if left:
        warn(
            f"{left:,} items have no answer ({imported.expired:,} expired); ask them with"
            f" `{resume_command(run, flags)}`"
        )
    return _has_replies(run, sums, flags) and not left


def _keep(run: TaskRun, record: Callable[..., None], flags: RunFlags) -> None:
    """Keep what may change from start to start, and name a new run, which is there to stay."""
    record(**flags.limits)
    if run.made:
        print(f"run {run.folder}")


def _print_ledger(run: TaskRun, sums: Progress, flags: RunFlags, spent: Spent | None) -> None:
    is_local = run.settings["endpoint"] == IN_PROCESS
    Terminal().print(ledger_table(sums, None if is_local else flags.prices.currency, spent))


def _has_replies(run: TaskRun, sums: Progress, flags: RunFlags) -> bool:
    """Return whether no item errored; say how those that did are asked again."""
    if count := sum(sums.errors.values()):
        warn(f"{count:,} items have no reply; ask them again with `{resume_command(run, flags)}`")
    return not sums.ledger[Outcome.ERRORED]


def _warn_of_the_context(run: TaskRun) -> None:
    """Say that the length of a model's context is only supposed, if the task minds it.

    Built-in models take whatever they are given.
    """
    if run.choice.is_demo:
        return
    for settings in run.task.settings().values():
        context = settings.get("context") if isinstance(settings, Mapping) else None
        if isinstance(context, Mapping) and context.get("limit_from") == "default":
            warn(
                f"nobody says how much {run.choice.model} takes in; longer than"
                f" {context['limit']:,} tokens is shortened. Say it with --context-limit."
            )


def status_line(run: TaskRun, flags: RunFlags) -> str:
    """Say how far a run is, and how it is resumed."""
    due = sum(1 for _ in run.task.items(run.limit))
    done = run.progress().ledger.asked
    status = f"{done:,} of {due:,} items are done"
    task, plans = judged(run.task), read_record(run.folder).judgings
    if done == due and task is not None and plans and not flags.no_judge:
        status += f", {verdicts_kept(task, run.folder, plans[-1])}"
    batch = [] if flags.prompts is None else ["--export-prompts", str(flags.prompts)]
    batch += [word for one in flags.answers for word in ("--import-answers", str(one))]
    return f"{status}; go on with `{resume_command(run, flags, *batch)}`"


def resume_command(run: TaskRun, flags: RunFlags, *words: str) -> str:
    """Return the command that resumes a run.

    What the run keeps itself is left out, and so is what cannot keep it from going on.
    """
    record = read_record(run.folder)
    # A key that was given by itself is not in it, nor that one was.
    next_time = replace(flags.judges, models=(), key_variable=None)
    missing = dict(run.choice.to_name)
    for plan in () if flags.no_judge else record.judgings[-1:]:
        missing |= next_time.missing(flags.judges.with_key(plan))
    return with_flags(_command(record, flags, *words), missing)


def _command(record: RunRecord, flags: RunFlags, *words: str) -> str:
    named: list[object] = ["run", "--resume", record.folder, *words]
    if flags.no_judge and record.judgings:
        named.append("--no-judge")
    if flags.endpoints != ENDPOINTS:
        named += ["--endpoints", flags.endpoints]
    return command_of(*named) + moved_to(flags.moved_cases)
