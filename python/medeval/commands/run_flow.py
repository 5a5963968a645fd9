"""The way of a run: started or resumed, asked, judged, and its end said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from medeval.commands.graceful_exit import command_of, graceful_exit, with_flags
from medeval.commands.judge import (
    JudgeFlags,
    check_before,
    judge_and_tell,
    refuse_unnamed,
    taken_from_arguments,
    verdicts_kept,
)
from medeval.commands.options import amount, given_options, read_price_file
from medeval.commands.run_progress import ledger_table, shown_progress
from medeval.errors import UserError
from medeval.inference.cost import Budget, Prices, Spent, charged_in, kept_spending
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import Progress, RunConfig
from medeval.inference.types import Outcome
from medeval.tasks import registry
from medeval.tasks.judged import JUDGINGS, judged, judgings_with
from medeval.tasks.models import ModelChoice
from medeval.tasks.options import parse_parameters
from medeval.tasks.run_record import RUNS, RunRecord, read_record, warning_of_cut_prompts
from medeval.tasks.task import DEMO, AskedTask
from medeval.tasks.task_run import (
    ENDPOINTS,
    TaskRun,
    choice_of,
    export_prompts,
    import_answers,
    open_run,
)
from medeval.terminal import Terminal, warn
from medeval.text import visible

# What a run is begun with, and no other start may change.
_WHO = ("task", "model", "key_variable", "base_url", "out")
_PARAMETERS = ("model_parameter", "parameters", "temperature", "max_tokens", "model_seed")
_JUDGES = ("judge_model", "judge_base_url", "jury", "rubric")
# Above it a run says that its replies were not read, and shows so much of the first.
_MOST_UNREAD = 0.2
_MOST_SHOWN = 300


@dataclass(frozen=True)
class RunFlags:
    """The flags of `run` that are no setting, under their names: they may differ by the start.

    Attributes:
        judges: who judges.
        named_again: further flags that every command about this run needs, such as the place of
            data that were moved.
    """

    concurrency: int
    timeout: float
    prices: Path | None
    max_cost: str | None
    endpoints: Path
    limit: int | None
    no_judge: bool
    resume: Path | None
    export_prompts: Path | None
    import_answers: Sequence[Path] | None
    judges: JudgeFlags
    named_again: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def read_prices(self) -> Prices:
        """What tokens cost."""
        return read_price_file(self.prices)

    @property
    def limits(self) -> dict[str, str]:
        """What a run keeps of its money, for the next start."""
        return {
            "max_cost": str(amount(self.max_cost) or ""),
            "prices": str(self.prices.resolve()) if self.prices else "",
        }


def start(
    given: Mapping[str, Any], options: dict[str, Any], flags: RunFlags, *, may_resume: bool = False
) -> tuple[TaskRun, RunFlags]:
    """Make a new run's folder.

    Args:
        given: the flags of the command, with one task and one model.
        options: of the task.
        flags: how it is run.
        may_resume: go on with the newest run of the same task, model and settings, if there is one.

    Raises:
        UserError: no such task or model, options that cannot be meant, or a key is missing.
    """
    judges = taken_from_arguments(flags.judges, options)
    task, choice = _asked(given, options, flags.timeout)
    is_judged = judged(task) is not None and not flags.no_judge
    plan = judges.plan(task, getattr(task, "default_judge", None) if is_judged else None)
    if plan is None and (named := _shown(("judge_key_variable", "jury", "rubric"), given)):
        raise UserError(f"{named[0]} without --judge-model: name the judges.")
    if plan is not None:
        if flags.no_judge:
            raise UserError("--no-judge and --judge-model: leave one of them away.")
        # No answer is paid that cannot be judged.
        check_before(task, plan, flags.endpoints)
    _ = flags.read_prices  # a file that cannot be read is reported before a folder is made
    out, asked_task = given["out"] or RUNS, registry.file_of_class(given["task"])
    run = open_run(
        task,
        choice,
        runs=out,
        endpoints=flags.endpoints,
        limit=flags.limit,
        asked_task=asked_task,
        may_resume=may_resume,
        can_ask=flags.export_prompts is None,
    )
    if run.made:
        run.update(JUDGINGS, [] if plan is None else [plan.model_dump(mode="json")])
    elif is_judged and (plan or read_record(run.folder).judgings):
        # As `judge RUN` with the same flags.
        record = read_record(run.folder)
        chosen = judges.chosen(task, record)
        refuse_unnamed(record, judges.missing(chosen), _command(record, flags))
        check_before(task, chosen, flags.endpoints)
        run.update(JUDGINGS, judgings_with(record, chosen))
    return run, replace(flags, named_again={"--task": asked_task} if asked_task else {})


def _asked(
    given: Mapping[str, Any], options: Mapping[str, Any], timeout: float = 600.0
) -> tuple[AskedTask, ModelChoice]:
    """Return the task and the model that a command names."""
    numbers = {"temperature": given["temperature"] or 0.0, "max_tokens": given["max_tokens"]}
    parameters = parse_parameters(
        given["parameters"],
        given["model_parameter"] or (),
        {**numbers, "seed": given["model_seed"]},
    )
    if given["task"] is None:
        raise UserError("Name a task with --task, or a run to resume: --resume.")
    task = registry.start(given["task"], options)
    if not given["model"]:
        raise UserError("Name a model with --model, or a run to resume: --resume.")
    choice = ModelChoice(
        given["model"], given["base_url"], given["key_variable"], parameters, timeout
    )
    if choice.is_demo or choice.function is not None:
        if named := _shown(_PARAMETERS, given):
            raise UserError(
                f"{', '.join(named)}: {choice.model} answers in this process and takes none."
            )
        choice = replace(choice, parameters={})
    return task, choice


def show_prompt(given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Print the first prompt of a task; nothing is sent, and no folder is made.

    Raises:
        UserError: as `start`.
    """
    task, _ = _asked({**given, "model": given["model"] or DEMO}, options)
    item = next(iter(task.items(1)), None)
    if item is None:
        raise UserError(f"{task.name} has no item to be asked.")
    for message in item.messages:
        print(f"[{message['role']}]\n{message['content']}\n")
    for name, value in item.parameters.items():
        print(f"[{name}]\n{json.dumps(value, ensure_ascii=False, indent=2)}\n")


def resume(
    given: Mapping[str, Any], options: Mapping[str, Any], flags: RunFlags
) -> tuple[TaskRun, RunFlags]:
    """Open the folder of a run to resume it, with the prices and the limit on cost of before.

    Raises:
        UserError: what the run was started with is given again, or has changed; or what its record
            may not decide alone is not.
    """
    judges, record = flags.judges, read_record(given["resume"])
    named_task = (given["task"] or [None])[0]
    # The same model and the same code may be named again, and a key.
    begun_with = {**given, "key_variable": None}
    begun_with |= {"model": None} if given["model"] == record.asked_model else {}
    begun_with |= {"task": None} if named_task and named_task == record.asked_task else {}
    named = _shown((*_WHO, *_PARAMETERS), begun_with)
    kind = registry.task_class((begun_with["task"] is None and named_task) or record.task)
    chosen = {**options, **given_options(kind.Options, given)}
    moved = {name: chosen.pop(name) for name in kind.MOVED if name in chosen}
    chosen.pop("as_built", None)
    named += [*map(_flag, chosen), *_shown(_JUDGES, given)]
    if named:
        raise UserError(
            f"--resume goes on with what the run was begun with; leave {', '.join(named)} away, or"
            " begin a new run. Other judges: `python -m medeval judge`."
        )
    judges.plan()  # a key for them may be given anew
    flags = replace(flags, named_again={_flag(name): str(one) for name, one in moved.items()})
    if record.asked_task:
        flags = replace(flags, named_again={**flags.named_again, "--task": record.asked_task})
    choice = choice_of(record, given["key_variable"], flags.timeout)
    is_given = {_flag(name) for name in ("model", "key_variable") if given[name]}
    unnamed = {flag: value for flag, value in choice.to_name.items() if flag not in is_given}
    plans = () if flags.no_judge else record.judgings[-1:]
    for plan in plans:
        unnamed |= judges.missing(plan)
    # A record may not decide alone where keys are sent and what is run.
    refuse_unnamed(record, unnamed, _command(record, flags))
    task = registry.resume(record, moved, named_task)
    for plan in plans if judged(task) else ():
        check_before(task, judges.with_key(plan), flags.endpoints)
    limit = record.limit if flags.limit is None else flags.limit
    folder = record.folder
    run = open_run(task, choice, folder=folder, endpoints=flags.endpoints, limit=limit)
    prices = flags.prices or (Path(record.prices) if record.prices else None)
    return run, replace(flags, prices=prices, max_cost=flags.max_cost or record.max_cost or None)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(names: Iterable[str], given: Mapping[str, Any]) -> list[str]:
    """Return the flags among some that were given."""
    return [_flag(name) for name in names if given[name] not in (None, [], False)]


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
            if flags.export_prompts is not None:
                _ = flags.read_prices  # one that cannot be read is not kept
                count = export_prompts(run, flags.export_prompts, flags.endpoints)
                _keep(run, run.record_alone, flags)
                print(f"{count:,} prompts in {flags.export_prompts}. When they are answered:")
                print(resume_command(run, flags, "--import-answers", "ANSWERS.jsonl"))
                return True
            has_replies = (_import if flags.import_answers else _ask)(run, flags)
            if has_replies is None:
                return False
            is_whole, record, task = has_replies, read_record(run.folder), judged(run.task)
            if task is not None and record.judgings and not flags.no_judge:
                plan = flags.judges.with_key(record.judgings[-1])
                config = _config(run, flags, run.folder / plan.folder / "judgments")
                results = judge_and_tell(task, run.folder, plan, config, flags.endpoints)
                is_whole = has_replies and not results.exit_code
        except UserError:
            run.discard()
            raise
    print(with_flags(command_of("score", run.folder), flags.named_again))
    return is_whole


def _ask(run: TaskRun, flags: RunFlags) -> bool | None:
    """Ask what has no answer yet; see `_tell` for what is returned."""
    total = sum(1 for _ in run.task.items(run.limit))
    with shown_progress(flags.read_prices.currency, total) as show:
        # What judges cost in an earlier start is of the same limit.
        config = _config(run, flags, run.journal)
        on_start = partial(_keep, run, run.record_choices, flags)
        asking = partial(show, "asking")
        result = run.evaluate(replace(config, on_start=on_start, on_progress=asking))
    warnings = [
        f"the endpoint refuses {name}; it was {f'sent as {instead}' if instead else 'left out'}"
        for name, instead in run.learned.items()
    ]
    warnings.append(warning_of_cut_prompts(run.task.items(run.limit), run.lines()))
    return _tell(run, flags, result.progress, result.spent, warnings, result.stopped)


def _import(run: TaskRun, flags: RunFlags) -> bool | None:
    """Read the answers of batch files; return whether all items have a reply."""
    imported = import_answers(run, flags.import_answers or (), flags.read_prices)
    _keep(run, run.record_alone, flags)
    print(f"{imported.new:,} answers are new, {imported.known:,} were there already")
    sums = run.progress()
    left = sum(1 for _ in run.task.items(run.limit)) - sums.ledger.asked
    warning = left and (
        f"{left:,} items have no answer ({imported.expired:,} expired); ask them with"
        f" `{resume_command(run, flags)}`"
    )
    return _tell(run, flags, sums, kept_spending(run.journal), [warning or ""]) and not left


def _tell(
    run: TaskRun,
    flags: RunFlags,
    sums: Progress,
    spent: Spent | None,
    warnings: Sequence[str],
    stopped: str | None = None,
) -> bool | None:
    """Say what became of the items, and how those that errored are asked again.

    Returns:
        Whether no item errored; None if the run stopped.
    """
    is_local = run.settings["endpoint"] == IN_PROCESS
    currency = None if is_local else flags.read_prices.currency
    Terminal().print(ledger_table(sums, currency, spent))
    unread = _warning_of_unread(run, sums)
    warn(*filter(None, [*warnings, unread, stopped]))
    if stopped:
        print(resume_command(run, flags))
        return None
    if count := sum(sums.errors.values()):
        warn(*(f"{reason}: {words}" for reason, words in sorted(sums.words.items())))
        warn(f"{count:,} items have no reply; ask them again with `{resume_command(run, flags)}`")
    return not (sums.ledger[Outcome.ERRORED] or unread)


def _warning_of_unread(run: TaskRun, sums: Progress) -> str:
    """Return a warning if more than one reply in five could not be read, with the first of them.

    Text that is not open is not shown.
    """
    count, total = sums.ledger[Outcome.UNPARSED], sums.ledger.asked
    if count <= _MOST_UNREAD * total:
        return ""
    options = [_flag(name) for name in run.task.READING if name in run.task.Options.model_fields]
    said = f"{count:,} of {total:,} replies could not be read"
    if options:
        said += f"; see what {', '.join(options)} would change"
    line = next((one for one in run.lines() if one["outcome"] == Outcome.UNPARSED), None)
    open_items = {one.id for one in run.task.items(run.limit) if one.data_class == "open"}
    if line is None or line["item"] not in open_items:
        return f"{said}."
    return f"{said}. The first, of item {line['item']}: {visible(line['text'][:_MOST_SHOWN])}"


def _config(run: TaskRun, flags: RunFlags, journal: Path) -> RunConfig:
    """Return how one part of a run is executed.

    Args:
        run: of the model and its judges, which have one limit on cost.
        flags: of the command.
        journal: of those that are to be asked, or how their names begin: they book their own.
    """
    max_cost = amount(flags.max_cost)
    spent = Decimal(0) if max_cost is None else charged_in(run.folder, beside=journal)
    is_retried = not run.made or journal != run.journal
    return RunConfig(
        concurrency=flags.concurrency,
        prices=flags.read_prices,
        budget=Budget(max_cost, spent),
        retry=frozenset({Outcome.ERRORED}) if is_retried else frozenset(),
    )


def _keep(run: TaskRun, record: Callable[..., None], flags: RunFlags) -> None:
    """Keep what may change from start to start, and name a new run, which is there to stay."""
    record(**flags.limits)
    if run.made:
        print(f"run {run.folder}")


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
    sums = run.progress()
    done = sums.ledger.asked
    status = f"{done:,} of {due:,} items are done"
    status += f", errored: {sums.errored}" if sums.errored else ""
    task, plans = judged(run.task), read_record(run.folder).judgings
    if done == due and task is not None and plans and not flags.no_judge:
        status += f", {verdicts_kept(task, run.folder, plans[-1])}"
    batch = ["--export-prompts", flags.export_prompts] if flags.export_prompts else []
    batch += [word for one in flags.import_answers or () for word in ("--import-answers", one)]
    return f"{status}; go on with `{resume_command(run, flags, *batch)}`"


def resume_command(run: TaskRun, flags: RunFlags, *words: object) -> str:
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


def _command(record: RunRecord, flags: RunFlags, *words: object) -> str:
    named: list[object] = ["run", "--resume", record.folder, *words]
    if flags.no_judge and record.judgings:
        named.append("--no-judge")
    if flags.endpoints != ENDPOINTS:
        named += ["--endpoints", flags.endpoints]
    return with_flags(command_of(*named), flags.named_again)
