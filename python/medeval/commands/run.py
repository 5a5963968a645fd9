"""The commands that make answers: `run` asks a model, `predict` trains a baseline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import typer

from medeval.commands import judge as judging
from medeval.commands.options import (
    amount,
    command_of,
    flag,
    given_options,
    with_flags,
)
from medeval.commands.progress import graceful_exit, ledger_table, shown_progress
from medeval.errors import UserError
from medeval.inference.cost import Budget, charged_in, kept_spending
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import RunConfig, RunResult
from medeval.inference.types import Outcome
from medeval.tasks import registry
from medeval.tasks.judged import JUDGINGS, check_before, judged, judgings_with
from medeval.tasks.options import parse_arguments, parse_parameters
from medeval.tasks.run_record import RUNS, SHARD, read_record, warning_of_cut_prompts
from medeval.tasks.task import DEMO
from medeval.tasks.task_run import ENDPOINTS, ModelChoice, TaskRun
from medeval.terminal import Terminal, warn

# What a run is begun with, and no other start may change.
_WHO = ("task", "model", "key_variable", "base_url", "out", "shard")
_PARAMETERS = ("model_parameter", "parameters", "temperature", "max_tokens", "model_seed")
_JUDGES = ("judge_model", "judge_base_url", "jury", "rubric")


def run(context: typer.Context, **given: Any) -> None:
    """Evaluate a model on a task. Resume a run that was stopped with --resume.

    `run --task NAME --help` also shows the options of that task, and of judges if it has any.

    python -m medeval run --task yier --model demo

    python -m medeval run --task cdm --model m --base-url http://gpu:8000/v1

    Exit code 1: an item has no reply, many replies could not be read, or the run was stopped.
    """
    given |= context.obj["options"]
    if given["export_prompts"] is not None and given["import_answers"]:
        raise UserError("--export-prompts and --import-answers: one after the other.")
    amount(given["max_cost"])  # one that is none is reported before anything is read
    options = parse_arguments(given["env_args"], given["task_option"] or ())
    given["tasks"] = given["task"] or []
    starts = [*product(given["task"] or [None], given["model"] or [None])]
    given["is_one_of_several"] = len(starts) > 1
    if len(starts) > 1 and (given["export_prompts"] is not None or given["import_answers"]):
        raise UserError("A batch file is of one task and one model. Name one of each.")
    is_whole, opened = True, list[tuple[TaskRun, dict[str, Any]]]()
    try:
        # What is executed says itself how far it is, and by which signal it was ended.
        with graceful_exit(lambda: "nothing was asked; start the same command again"):
            # All are opened before one is asked: a mistake in the last is told first.
            for task, model in starts[:1] if given["resume"] else starts:
                one = {**given, "task": task, "model": model}
                if begun := (resume if given["resume"] else start)(one, dict(options)):
                    opened.append((begun, one))
            for begun, one in opened if len(starts) > 1 else ():
                begun.check(one["config"])
        while opened:
            is_whole = _execute(*opened.pop(0)) and is_whole
    finally:
        for begun, _ in opened:
            begun.discard()
    if not is_whole:
        raise typer.Exit(1)


def start(given: dict[str, Any], options: dict[str, Any]) -> TaskRun | None:
    """Make a new run's folder; with `--show-prompt` print the first prompt, and make none.

    Where several runs are wanted, the newest of the same task, model and settings is gone on with.

    Args:
        given: the flags of the command, with one task and one model. What `execute` needs is added:
            `config`, how it is asked, and `named_again`, flags that every command about this run
            needs.
        options: of the task, for all tasks that are named.

    Raises:
        UserError: no such task or model, options that cannot be meant, or a key is missing.
    """
    for name in ("judge_model", "judge_base_url", "judge_api_key"):
        # Among a task's options these are flags; one that is given wins.
        if (value := options.pop(name, None)) is None:
            continue
        is_one = name == "judge_api_key"
        texts = value if isinstance(value, list) and not is_one else [value]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise UserError(f"--env-args: {name} is empty, or no text. Say what is meant.")
        given[name] = given[name] or (texts[0] if is_one else texts)
    numbers = {"temperature": given["temperature"] or 0.0, "max_tokens": given["max_tokens"]}
    numbers |= {"seed": given["model_seed"]}
    parameters = parse_parameters(given["parameters"], given["model_parameter"] or (), numbers)
    named, model = given["task"], given["model"] or (DEMO if given["show_prompt"] else None)
    if named is None:
        raise UserError("Name a task with --task, or a run to resume: --resume.")
    kinds = {name: registry.task_class(registry.canonical_name(name)) for name in given["tasks"]}
    own = kinds[named].Options
    # Options and judges go to the tasks that have them, and to all if none has them.
    others = {option for kind in kinds.values() for option in kind.Options.model_fields}
    options |= given_options(own, given)
    unwanted = others.difference(own.model_fields)
    if judged(kinds[named]) is None and any(map(judged, kinds.values())):
        given |= dict.fromkeys((*_JUDGES, "judge_api_key", "judge_key_variable"))
    task = registry.start(named, {name: options[name] for name in options if name not in unwanted})
    if model is None:
        raise UserError("Name a model with --model, or a run to resume: --resume.")
    who = model, given["base_url"], given["key_variable"]
    choice = ModelChoice(*who, parameters, given["timeout"])
    if choice.is_local:
        if flags := _flags_among(_PARAMETERS, given):
            raise UserError(f"{', '.join(flags)}: {model} answers in this process and takes none.")
        choice = replace(choice, parameters={})
    if given["show_prompt"]:
        if (item := next(iter(task.items(1)), None)) is None:
            raise UserError(f"{task.name} has no item to be asked.")
        for message in item.messages:
            print(f"[{message['role']}]\n{message['content']}\n")
        for name, value in item.parameters.items():
            print(f"[{name}]\n{json.dumps(value, ensure_ascii=False, indent=2)}\n")
        return None
    shard = _shard(given)
    # All answers are judged together, when the shards are merged.
    is_judged = judged(task) is not None and not given["no_judge"] and not shard
    usual = getattr(task, "default_judge", None) if is_judged else None
    jury = judging.named_jury(given, task, usual)
    if jury is None and (flags := _flags_among(("judge_key_variable", "jury", "rubric"), given)):
        raise UserError(f"{flags[0]} without --judge-model: name the judges.")
    if jury is not None:
        if given["no_judge"]:
            raise UserError("--no-judge and --judge-model: leave one of them away.")
        # No answer is paid that cannot be judged.
        check_before(task, jury, given["endpoints"])
    of_file = named if registry.FILE_CLASS.fullmatch(named) else ""
    given["named_again"] = {"--task": of_file} if of_file else {}
    given["config"] = judging.how_asked(given)  # reported before a folder is made
    run = TaskRun(
        task,
        choice,
        runs=given["out"] or RUNS,
        endpoints=given["endpoints"],
        limit=given["limit"],
        shard=shard,
        asked_task=of_file,
        may_resume=given["is_one_of_several"],
        can_ask=given["export_prompts"] is None,
    )
    if run.made:
        run.update(JUDGINGS, [] if jury is None else [jury.model_dump(mode="json")])
    elif is_judged and (jury or read_record(run.folder).judgings):
        # As `judge RUN` with the same flags.
        record = read_record(run.folder)
        command = _resume_words(run.folder, given)
        jury = judging.chosen_and_checked(given, task, record, command)
        run.update(JUDGINGS, judgings_with(record, jury))
    return run


def _shard(given: Mapping[str, Any]) -> str:
    """Return the part of the items that `--shard` names; empty for all.

    Raises:
        UserError: it is none, or judges are named.
    """
    if not (shard := given["shard"] or ""):
        return ""
    number, _, count = shard.partition("/")
    if not re.match(SHARD, shard) or int(number) > int(count):
        raise UserError(f"--shard {shard}: name it as 2/8, the second of eight.")
    if flags := _flags_among(_JUDGES, given):
        raise UserError(
            f"{flags[0]} beside --shard: merge the shards, then `python -m medeval judge RUN`."
        )
    return shard


def resume(given: dict[str, Any], options: dict[str, Any]) -> TaskRun:
    """Open the folder of a run to resume it, with the prices and the limit on cost of before.

    Args:
        given: the flags of the command, as `start` takes them.
        options: of the task; only those of its `MOVED` may be given again.

    Raises:
        UserError: what the run was started with is given again, or has changed; or what its record
            may not decide alone is not.
    """
    record, task_named = read_record(given["resume"]), given["task"]
    # The same model and the same code may be named again, and a key.
    is_same = bool(task_named) and task_named == record.asked_task
    again = {"key_variable": None, **({"task": None} if is_same else {})}
    again |= {"model": None} if given["model"] == record.asked_model else {}
    flags = _flags_among((*_WHO, *_PARAMETERS), {**given, **again})
    kind = registry.task_class(task_named if is_same else record.task)
    options |= given_options(kind.Options, given)
    moved = {name: options.pop(name) for name in kind.MOVED if name in options}
    options.pop("as_built", None)
    flags += [*map(flag, options), *_flags_among(_JUDGES, given)]
    if flags:
        raise UserError(
            f"--resume goes on with what the run was begun with; leave {', '.join(flags)} away, or"
            " begin a new run. Other judges: `python -m medeval judge`."
        )
    judging.named_jury(given)  # a key for judges may be given anew
    given["named_again"] = {flag(name): str(one) for name, one in moved.items()}
    given["named_again"] |= {"--task": record.asked_task} if record.asked_task else {}
    given["prices"] = given["prices"] or (Path(record.prices) if record.prices else None)
    given["max_cost"] = given["max_cost"] or record.max_cost or None
    endpoint = str(record.settings["endpoint"])
    choice = ModelChoice(
        record.asked_model,
        None if endpoint == IN_PROCESS else endpoint,
        given["key_variable"] or record.key_variable,
        record.settings["parameters"],
        given["timeout"],
    )
    is_given = {flag(name) for name in ("model", "key_variable") if given[name]}
    missing = {word: value for word, value in choice.to_name.items() if word not in is_given}
    juries = () if given["no_judge"] else record.judgings[-1:]
    for jury in juries:
        missing |= judging.unnamed(given, jury)
    # A record may not decide alone where keys are sent and what is run.
    judging.refuse_unnamed(record, missing, _resume_words(record.folder, given))
    task = registry.resume(record, moved, task_named)
    for jury in juries if judged(task) else ():
        check_before(task, judging.with_key(given, jury), given["endpoints"])
    limit = record.limit if given["limit"] is None else given["limit"]
    given["config"] = judging.how_asked(given)
    return TaskRun(
        task,
        choice,
        folder=record.folder,
        endpoints=given["endpoints"],
        limit=limit,
        shard=record.shard,
    )


def _flags_among(names: Iterable[str], given: Mapping[str, Any]) -> list[str]:
    """Return the flags among some that were given."""
    return [flag(name) for name in names if given[name] not in (None, [], False)]


def _execute(run: TaskRun, given: Mapping[str, Any]) -> bool:
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
    # For the next start.
    config: RunConfig = given["config"]
    run.kept["max_cost"] = str(config.budget.limit or "")
    run.kept["prices"] = str(given["prices"].resolve()) if given["prices"] else ""
    with graceful_exit(lambda: _status_line(run, given)):
        try:
            if not run.made:
                print(f"run {run.folder}")
            warn(*run.warnings_of_context(), *getattr(run.task, "left_out", ()))
            if given["export_prompts"] is not None:
                _export(run, given)
                return True
            if given["import_answers"]:
                result, warnings = _import(run, given)
            else:
                total = sum(1 for _ in run.items())
                with shown_progress(config.prices.currency, total) as show:
                    own = replace(
                        _with_spending(config, run, run.journal),
                        # A new run is named now: it is there to stay.
                        on_start=partial(print, f"run {run.folder}") if run.made else None,
                        on_progress=partial(show, "asking"),
                    )
                    result = run.evaluate(own)
                warnings = [
                    f"the endpoint refuses {name}; it was"
                    f" {f'sent as {instead}' if instead else 'left out'}"
                    for name, instead in run.learned.items()
                ]
                warnings.append(warning_of_cut_prompts(run.items(), run.lines()))
            is_whole = _tell(run, given, result, warnings)
            if given["import_answers"]:
                is_whole = is_whole and not warnings
            if result.stopped:
                return False
            record, task = read_record(run.folder), judged(run.task)
            if task is not None and record.judgings and not given["no_judge"]:
                jury = judging.with_key(given, record.judgings[-1])
                # What the model's answers cost is of the same limit.
                config = _with_spending(config, run, run.folder / jury.folder / "judgments")
                results = judging.judge_and_tell(task, run.folder, jury, config, given["endpoints"])
                is_whole = is_whole and not results.exit_code
        except UserError:
            run.discard()
            raise
    last = ("merge", "RUN...") if run.shard else ("score", run.folder)
    print(command_of(*last, named=given["named_again"]))
    return is_whole


def _with_spending(config: RunConfig, run: TaskRun, journal: Path) -> RunConfig:
    """Return how one part of a run is executed.

    Args:
        config: by the flags of the command.
        run: of the model and its judges, which have one limit on cost.
        journal: of those that are to be asked, or how their names begin: they book their own.
    """
    limit, is_retried = config.budget.limit, not run.made or journal != run.journal
    spent = Decimal(0) if limit is None else charged_in(run.folder, beside=journal)
    retry = config.retry if is_retried else frozenset[Outcome]()
    return replace(config, budget=Budget(limit, spent), retry=retry)


def _export(run: TaskRun, given: Mapping[str, Any]) -> None:
    """Write the prompts of a run as a batch file."""
    from medeval.inference.batch import export_batch

    run.require_batch()
    path = given["export_prompts"]
    count = export_batch(run, run.items(), run.guard, path)
    run.record_alone()
    if run.made:
        print(f"run {run.folder}")
    print(f"{count:,} prompts in {path}. When they are answered:")
    print(_resume_command(run, given, "--import-answers", "ANSWERS.jsonl"))


def _import(run: TaskRun, given: Mapping[str, Any]) -> tuple[RunResult, list[str]]:
    """Read the answers of batch files; return what came of it, and a warning if some lack one."""
    from medeval.inference.batch import import_batch

    run.require_batch()
    items, files = run.items(), given["import_answers"]
    imported = import_batch(run, items, files, given["config"].prices, run.task.can_read)
    run.record_alone()
    if run.made:
        print(f"run {run.folder}")
    print(f"{imported['new']:,} answers are new, {imported['known']:,} were there already")
    sums = run.progress()
    left = sum(1 for _ in run.items()) - sums.ledger.asked
    expired, again = imported["expired"], _resume_command(run, given)
    warning = f"{left:,} items have no answer ({expired:,} expired); ask them with `{again}`"
    return RunResult(sums, spent=kept_spending(run.journal)), [warning] if left else []


def _tell(
    run: TaskRun, given: Mapping[str, Any], result: RunResult, warnings: Sequence[str]
) -> bool:
    """Say what became of the items, and how those that errored are asked again.

    Returns:
        Whether no item errored, and replies were read.
    """
    sums, stopped = result.progress, result.stopped
    currency = None if run.choice.is_local else given["config"].prices.currency
    Terminal().print(ledger_table(sums, currency, result.spent))
    unread = run.warning_of_unread(sums)
    warn(*filter(None, [*warnings, unread, stopped]))
    if stopped:
        print(_resume_command(run, given))
    elif count := sum(sums.errors.values()):
        warn(*(f"{reason}: {words}" for reason, words in sorted(sums.words.items())))
        warn(f"{count:,} items have no reply; ask them again with `{_resume_command(run, given)}`")
    return not (sums.ledger[Outcome.ERRORED] or unread)


def _status_line(run: TaskRun, given: Mapping[str, Any]) -> str:
    """Say how far a run is, and how it is resumed."""
    due = sum(1 for _ in run.items())
    sums = run.progress()
    done = sums.ledger.asked
    status = f"{done:,} of {due:,} items are done"
    status += f", errored: {sums.errored}" if sums.errored else ""
    task, juries = judged(run.task), read_record(run.folder).judgings
    if done == due and task is not None and juries and not given["no_judge"]:
        status += f", {judging.verdicts_kept(task, run.folder, juries[-1])}"
    batch = ["--export-prompts", given["export_prompts"]] if given["export_prompts"] else []
    batch += [word for one in given["import_answers"] or () for word in ("--import-answers", one)]
    return f"{status}; go on with `{_resume_command(run, given, *batch)}`"


def _resume_command(run: TaskRun, given: Mapping[str, Any], *words: object) -> str:
    """Return the command that resumes a run.

    What the run keeps itself is left out, and so is what cannot keep it from going on.
    """
    # A key that was given by itself is not in it, nor that one was.
    next_time = {**given, "judge_model": None, "judge_key_variable": None}
    missing = dict(run.choice.to_name)
    for jury in () if given["no_judge"] else read_record(run.folder).judgings[-1:]:
        missing |= judging.unnamed(next_time, judging.with_key(given, jury))
    return with_flags(_resume_words(run.folder, given, *words), missing)


def _resume_words(folder: Path, given: Mapping[str, Any], *words: object) -> str:
    """Return the command that resumes a run whose record may decide all else."""
    named: list[object] = ["run", "--resume", folder, *words]
    if given["no_judge"] and read_record(folder).judgings:
        named.append("--no-judge")
    if given["endpoints"] != ENDPOINTS:
        named += ["--endpoints", given["endpoints"]]
    return command_of(*named, named=given["named_again"])


def predict(**given: Any) -> None:
    """Train a baseline and predict the test rows of an ICU task.

    Its features are those of the warehouse.
    """
    name = registry.canonical_name(given.pop("task"))
    kind, model = registry.task_class(name), given.pop("model")
    if not kind.BASELINES:
        can = [one.name for one in registry.classes() if one.BASELINES]
        raise UserError(f"{name} has no baseline. Tasks with one: {', '.join(can)}.")
    if model not in kind.BASELINES:
        raise UserError(f"Unknown model {model!r}. Models: {', '.join(kind.BASELINES)}.")
    print(kind.predict(name, model, **given))
