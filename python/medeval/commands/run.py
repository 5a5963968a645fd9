"""The command `run`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import typer

from medeval.commands.graceful_exit import graceful_exit
from medeval.commands.judge import JudgeFlags
from medeval.commands.options import flags_in, given_options, with_options
from medeval.errors import UserError
from medeval.tasks import registry


def _run(context: typer.Context, **given: Any) -> None:
    """Evaluate a model on a task. Resume a run that was stopped with --resume.

    `run --task NAME --help` also shows the options of that task.

    Examples:
    python -m medeval run --task yier --model demo

    python -m medeval run --task cdm --model llama --base-url http://localhost:8000/v1

    Exit code 1: an item has no reply, many replies could not be read, or the run was stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.run_flow import RunFlags, execute, resume, show_prompt, start
    from medeval.tasks.options import parse_arguments

    given |= context.obj["options"]
    if given["export_prompts"] is not None and given["import_answers"]:
        raise UserError("--export-prompts and --import-answers: one after the other.")
    named = {one.name: given[one.name] for one in fields(RunFlags) if one.name in given}
    flags = RunFlags(**named, judges=JudgeFlags.of(given))
    _ = flags.limits  # an amount that is none is reported before anything is read
    single = parse_arguments(given["env_args"], given["task_option"] or ())
    tasks, models = given["task"] or [None], given["model"] or [None]
    is_whole = True
    with graceful_exit(lambda: "nothing was asked; start the same command again"):
        if flags.resume is not None:
            given = {**given, "model": models[0]}
            run, flags = resume(given, single, flags)
            is_whole = execute(run, flags)
        else:
            several = len(tasks) * len(models) > 1
            chosen = {
                name: registry.task_class(registry.canonical_name(name)) for name in tasks if name
            }
            for name in tasks:
                kind = chosen.get(name)
                options = single if kind is None else single | given_options(kind.Options, given)
                if len(tasks) > 1 and kind is not None:
                    options = {
                        option: value
                        for option, value in options.items()
                        if option in kind.Options.model_fields
                        or not any(option in one.Options.model_fields for one in chosen.values())
                    }
                for model in models:
                    one = {**given, "task": name, "model": model}
                    if given["show_prompt"]:
                        show_prompt(one, options)
                        continue
                    run, own = start(one, options, flags, may_resume=several)
                    is_whole = execute(run, own) and is_whole
    if not is_whole:
        raise typer.Exit(1)


run = with_options(_run, flags_in("run_flags.toml"))
