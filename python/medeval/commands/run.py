"""The commands that make answers: `run` asks a model, `predict` trains a baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import typer

from medeval.commands.graceful_exit import (
    command_of,
    graceful_exit,
    resume_command,
    resume_words,
    with_flags,
)
from medeval.commands.judge import (
    JudgeFlags,
    check_before,
    judge_and_tell,
    refuse_unnamed,
    taken_from_arguments,
    verdicts_kept,
)
from medeval.commands.options import (
    amount,
    flag,
    flags_in,
    given_options,
    read_price_file,
    with_options,
)
from medeval.commands.progress import ledger_table, shown_progress
from medeval.errors import UserError
from medeval.inference.cost import Budget, charged_in, kept_spending
from medeval.inference.guard import IN_PROCESS, DataUseGuard, read_endpoints
from medeval.inference.run import AUDIT, RunConfig, RunResult
from medeval.inference.types import Outcome
from medeval.tasks import registry
from medeval.tasks.judged import JUDGINGS, judged, judgings_with
from medeval.tasks.options import parse_arguments, parse_parameters
from medeval.tasks.run_record import RUNS, read_record, warning_of_cut_prompts
from medeval.tasks.task import DEMO, AskedTask
from medeval.tasks.task_run import ModelChoice, TaskRun
from medeval.terminal import Terminal, warn

# What a run is begun with, and no other start may change.
_WHO = ("task", "model", "key_variable", "base_url", "out")
_PARAMETERS = ("model_parameter", "parameters", "temperature", "max_tokens", "model_seed")
_JUDGES = ("judge_model", "judge_base_url", "jury", "rubric")


def _run(context: typer.Context, **given: Any) -> None:
    """Evaluate a model on a task. Resume a run that was stopped with --resume.

    `run --task NAME --help` also shows the options of that task.

    Examples:
    python -m medeval run --task yier --model demo

    python -m medeval run --task cdm --model llama --base-url http://localhost:8000/v1

    Exit code 1: an item has no reply, many replies could not be read, or the run was stopped.
    """
    given |= context.obj["options"]
    if given["export_prompts"] is not None and given["import_answers"]:
        raise UserError("--export-prompts and --import-answers: one after the other.")
    given["judges"] = JudgeFlags.of(given)
    amount(given["max_cost"])  # one that is none is reported before anything is read
    options = parse_arguments(given["env_args"], given["task_option"] or ())
    tasks, models = given["task"] or [None], given["model"] or [None]
    is_whole = True
    # What is executed says itself how far it is, and by which signal it was ended.
    before_asking = partial(
        graceful_exit, lambda: "nothing was asked; start the same command again"
    )
    if given["resume"] is not None:
        with before_asking():
            resumed = resume(given, options)
        is_whole = execute(*resumed)
        tasks = []
    with before_asking():
        kinds = [one and registry.task_class(registry.canonical_name(one)).Options for one in tasks]
    for name, kind in zip(tasks, kinds, strict=True):
        own = {**options, **(given_options(kind, given) if kind else {})}
        # An option goes to the tasks that have it, and to all if none has it.
        others = {option for one in kinds if one for option in one.model_fields}
        if len(tasks) > 1 and kind:
            others.difference_update(kind.model_fields)
            own = {option: value for option, value in own.items() if option not in others}
        for model in models:
            several = len(tasks) * len(models) > 1
            one = {**given, "task": name, "model": model, "may_resume": several}
            with before_asking():
                run = start(one, dict(own))
            is_whole = (run is None or execute(run, one)) and is_whole
    if not is_whole:
        raise typer.Exit(1)


run = with_options(_run, flags_in("run_flags.toml"))


def start(given: dict[str, Any], options: dict[str, Any]) -> TaskRun | None:
    """Make a new run's folder; with `--show-prompt` print the first prompt, and make none.

    Args:
        given: the flags of the command, with one task and one model; under `may_resume` whether
            the newest run of the same task, model and settings is gone on with, if there is one.
            What `execute` needs is added: `read_prices`, what tokens cost, and `named_again`,
            flags that every command about this run needs.
        options: of the task.

    Raises:
        UserError: no such task or model, options that cannot be meant, or a key is missing.
    """
    judges = taken_from_arguments(given["judges"], options)
    numbers = {"temperature": given["temperature"] or 0.0, "max_tokens": given["max_tokens"]}
    numbers |= {"seed": given["model_seed"]}
    parameters = parse_parameters(given["parameters"], given["model_parameter"] or (), numbers)
    if given["task"] is None:
        raise UserError("Name a task with --task, or a run to resume: --resume.")
    task = registry.start(given["task"], options)
    model = given["model"] or (DEMO if given["show_prompt"] else None)
    if model is None:
        raise UserError("Name a model with --model, or a run to resume: --resume.")
    who = model, given["base_url"], given["key_variable"]
    choice = ModelChoice(*who, parameters, given["timeout"])
    if choice.is_local:
        if named := _named(_PARAMETERS, given):
            raise UserError(f"{', '.join(named)}: {model} answers in this process and takes none.")
        choice = replace(choice, parameters={})
    if given["show_prompt"]:
        _show_prompt(task)
        return None
    is_judged = judged(task) is not None and not given["no_judge"]
    plan = judges.plan(task, getattr(task, "default_judge", None) if is_judged else None)
    if plan is None and (named := _named(("judge_key_variable", "jury", "rubric"), given)):
        raise UserError(f"{named[0]} without --judge-model: name the judges.")
    if plan is not None:
        if given["no_judge"]:
            raise UserError("--no-judge and --judge-model: leave one of them away.")
        # No answer is paid that cannot be judged.
        check_before(task, plan, given["endpoints"])
    of_file = given["task"] if registry.FILE_CLASS.fullmatch(given["task"]) else ""
    given["named_again"] = {"--task": of_file} if of_file else {}
    given["read_prices"] = read_price_file(given["prices"])  # reported before a folder is made
    run = TaskRun(
        task,
        choice,
        runs=given["out"] or RUNS,
        endpoints=given["endpoints"],
        limit=given["limit"],
        asked_task=of_file,
        may_resume=given["may_resume"],
        can_ask=given["export_prompts"] is None,
    )
    if run.made:
        run.update(JUDGINGS, [] if plan is None else [plan.model_dump(mode="json")])
    elif is_judged and (plan or read_record(run.folder).judgings):
        # As `judge RUN` with the same flags.
        record = read_record(run.folder)
        chosen = judges.chosen(task, record)
        refuse_unnamed(record, judges.missing(chosen), resume_words(record, given))
        check_before(task, chosen, given["endpoints"])
        run.update(JUDGINGS, judgings_with(record, chosen))
    return run


def _show_prompt(task: AskedTask) -> None:
    item = next(iter(task.items(1)), None)
    if item is None:
        raise UserError(f"{task.name} has no item to be asked.")
    for message in item.messages:
        print(f"[{message['role']}]\n{message['content']}\n")
    for name, value in item.parameters.items():
        print(f"[{name}]\n{json.dumps(value, ensure_ascii=False, indent=2)}\n")


def resume(given: dict[str, Any], options: Mapping[str, Any]) -> tuple[TaskRun, dict[str, Any]]:
    """Open the folder of a run to resume it, with the prices and the limit on cost of before.

    Args:
        given: the flags of the command.
        options: of the task; only those of its `MOVED` may be given again.

    Returns:
        The run, and the flags, with what `start` adds.

    Raises:
        UserError: what the run was started with is given again, or has changed; or what its record
            may not decide alone is not.
    """
    judges, record = given["judges"], read_record(given["resume"])
    model, task_named = ((given[name] or [None])[0] for name in ("model", "task"))
    # The same model and the same code may be named again, and a key.
    begun_with = {**given, "key_variable": None}
    begun_with |= {"model": None} if model == record.asked_model else {}
    is_same = bool(task_named) and task_named == record.asked_task
    begun_with |= {"task": None} if is_same else {}
    named = _named((*_WHO, *_PARAMETERS), begun_with)
    kind = registry.task_class(task_named if is_same else record.task)
    chosen = {**options, **given_options(kind.Options, given)}
    moved = {name: chosen.pop(name) for name in kind.MOVED if name in chosen}
    chosen.pop("as_built", None)
    named += [*map(flag, chosen), *_named(_JUDGES, given)]
    if named:
        raise UserError(
            f"--resume goes on with what the run was begun with; leave {', '.join(named)} away, or"
            " begin a new run. Other judges: `python -m medeval judge`."
        )
    judges.plan()  # a key for them may be given anew
    named_again = {flag(name): str(one) for name, one in moved.items()}
    named_again |= {"--task": record.asked_task} if record.asked_task else {}
    endpoint = str(record.settings["endpoint"])
    choice = ModelChoice(
        record.asked_model,
        None if endpoint == IN_PROCESS else endpoint,
        given["key_variable"] or record.key_variable,
        record.settings["parameters"],
        given["timeout"],
    )
    is_given = {flag(name) for name in ("model", "key_variable") if given[name]}
    unnamed = {word: value for word, value in choice.to_name.items() if word not in is_given}
    plans = () if given["no_judge"] else record.judgings[-1:]
    for plan in plans:
        unnamed |= judges.missing(plan)
    given = {
        **given,
        "named_again": named_again,
        "prices": given["prices"] or (Path(record.prices) if record.prices else None),
        "max_cost": given["max_cost"] or record.max_cost or None,
    }
    # A record may not decide alone where keys are sent and what is run.
    refuse_unnamed(record, unnamed, resume_words(record, given))
    task = registry.resume(record, moved, task_named)
    for plan in plans if judged(task) else ():
        check_before(task, judges.with_key(plan), given["endpoints"])
    limit = record.limit if given["limit"] is None else given["limit"]
    given["read_prices"] = read_price_file(given["prices"])
    places = {"folder": record.folder, "endpoints": given["endpoints"]}
    return TaskRun(task, choice, **places, limit=limit), given


def _named(names: Iterable[str], given: Mapping[str, Any]) -> list[str]:
    """Return the flags among some that were given."""
    return [flag(name) for name in names if given[name] not in (None, [], False)]


def execute(run: TaskRun, given: Mapping[str, Any]) -> bool:
    """Ask, judge where the task is judged, and say what came of it.

    Args:
        run: of a task.
        given: flags, with what `start` adds.

    Returns:
        Whether all items have a reply, and all answers that were to be judged a verdict.

    Raises:
        UserError: it cannot be made as it is wished. A new run then leaves no folder.
        typer.Exit: the user or the system has ended it; see `graceful_exit`.
    """
    prices = given["read_prices"]
    # For the next start.
    run.kept["max_cost"] = str(amount(given["max_cost"]) or "")
    run.kept["prices"] = str(given["prices"].resolve()) if given["prices"] else ""
    with graceful_exit(lambda: _status_line(run, given)):
        try:
            if not run.made:
                print(f"run {run.folder}")
            warn(*run.warnings_of_context(), *getattr(run.task, "left_out", ()))
            if given["export_prompts"] is not None:
                return _export(run, given)
            if given["import_answers"]:
                is_whole = _import(run, given)
            else:
                total = sum(1 for _ in run.task.items(run.limit))
                with shown_progress(prices.currency, total) as show:
                    config = replace(
                        _config(run, given, run.journal),
                        # A new run is named now: it is there to stay.
                        on_start=partial(print, f"run {run.folder}") if run.made else None,
                        on_progress=partial(show, "asking"),
                    )
                    result = run.evaluate(config)
                warnings = [
                    f"the endpoint refuses {name}; it was"
                    f" {f'sent as {instead}' if instead else 'left out'}"
                    for name, instead in run.learned.items()
                ]
                warnings.append(warning_of_cut_prompts(run.task.items(run.limit), run.lines()))
                is_whole = _tell(run, given, result, warnings)
                if result.stopped:
                    return False
            record, task = read_record(run.folder), judged(run.task)
            if task is not None and record.judgings and not given["no_judge"]:
                plan = given["judges"].with_key(record.judgings[-1])
                # What the model's answers cost is of the same limit.
                config = _config(run, given, run.folder / plan.folder / "judgments")
                results = judge_and_tell(task, run.folder, plan, config, given["endpoints"])
                is_whole = is_whole and not results.exit_code
        except UserError:
            run.discard()
            raise
    print(with_flags(command_of("score", run.folder), given["named_again"]))
    return is_whole


def _config(run: TaskRun, given: Mapping[str, Any], journal: Path) -> RunConfig:
    """Return how one part of a run is executed.

    Args:
        run: of the model and its judges, which have one limit on cost.
        given: flags of the command.
        journal: of those that are to be asked, or how their names begin: they book their own.
    """
    max_cost = amount(given["max_cost"])
    spent = Decimal(0) if max_cost is None else charged_in(run.folder, beside=journal)
    is_retried = not run.made or journal != run.journal
    return RunConfig(
        concurrency=given["concurrency"],
        prices=given["read_prices"],
        budget=Budget(max_cost, spent),
        retry=frozenset({Outcome.ERRORED}) if is_retried else frozenset(),
    )


def _export(run: TaskRun, given: Mapping[str, Any]) -> bool:
    """Write the prompts of a run as a batch file."""
    from medeval.inference.batch import export_batch

    run.require_batch()
    path = given["export_prompts"]
    guard = DataUseGuard(read_endpoints(given["endpoints"]), run.folder / AUDIT)
    count = export_batch(run, run.task.items(run.limit), guard, path)
    run.record_alone()
    if run.made:
        print(f"run {run.folder}")
    print(f"{count:,} prompts in {path}. When they are answered:")
    print(resume_command(run, given, "--import-answers", "ANSWERS.jsonl"))
    return True


def _import(run: TaskRun, given: Mapping[str, Any]) -> bool:
    """Read the answers of batch files; return whether all items have a reply."""
    from medeval.inference.batch import import_batch

    run.require_batch()
    items, files = run.task.items(run.limit), given["import_answers"]
    imported = import_batch(run, items, files, given["read_prices"], run.task.can_read)
    run.record_alone()
    if run.made:
        print(f"run {run.folder}")
    print(f"{imported.new:,} answers are new, {imported.known:,} were there already")
    sums = run.progress()
    left = sum(1 for _ in run.task.items(run.limit)) - sums.ledger.asked
    warning = left and (
        f"{left:,} items have no answer ({imported.expired:,} expired); ask them with"
        f" `{resume_command(run, given)}`"
    )
    result = RunResult(sums, spent=kept_spending(run.journal))
    return _tell(run, given, result, [warning or ""]) and not left


def _tell(
    run: TaskRun, given: Mapping[str, Any], result: RunResult, warnings: Sequence[str]
) -> bool:
    """Say what became of the items, and how those that errored are asked again.

    Returns:
        Whether no item errored, and replies were read.
    """
    sums, stopped = result.progress, result.stopped
    currency = None if run.choice.is_local else given["read_prices"].currency
    Terminal().print(ledger_table(sums, currency, result.spent))
    unread = run.warning_of_unread(sums)
    warn(*filter(None, [*warnings, unread, stopped]))
    if stopped:
        print(resume_command(run, given))
    elif count := sum(sums.errors.values()):
        warn(*(f"{reason}: {words}" for reason, words in sorted(sums.words.items())))
        warn(f"{count:,} items have no reply; ask them again with `{resume_command(run, given)}`")
    return not (sums.ledger[Outcome.ERRORED] or unread)


def _status_line(run: TaskRun, given: Mapping[str, Any]) -> str:
    """Say how far a run is, and how it is resumed."""
    due = sum(1 for _ in run.task.items(run.limit))
    sums = run.progress()
    done = sums.ledger.asked
    status = f"{done:,} of {due:,} items are done"
    status += f", errored: {sums.errored}" if sums.errored else ""
    task, plans = judged(run.task), read_record(run.folder).judgings
    if done == due and task is not None and plans and not given["no_judge"]:
        status += f", {verdicts_kept(task, run.folder, plans[-1])}"
    batch = ["--export-prompts", given["export_prompts"]] if given["export_prompts"] else []
    batch += [word for one in given["import_answers"] or () for word in ("--import-answers", one)]
    return f"{status}; go on with `{resume_command(run, given, *batch)}`"


def _predict(**given: Any) -> None:
    """Train a baseline on the warehouse's features and predict the test rows of an ICU task."""
    name = registry.canonical_name(given.pop("task"))
    kind, model = registry.task_class(name), given.pop("model")
    if not kind.BASELINES:
        can = [one.name for one in registry.classes() if one.BASELINES]
        raise UserError(f"{name} has no baseline. Tasks with one: {', '.join(can)}.")
    if model not in kind.BASELINES:
        raise UserError(f"Unknown model {model!r}. Models: {', '.join(kind.BASELINES)}.")
    print(kind.predict(name, model, **given))


predict = with_options(_predict, flags_in("predict_flags.toml"))
