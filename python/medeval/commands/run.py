"""The command `run`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from medeval.commands.graceful_exit import graceful_exit
from medeval.commands.judge import JudgeFlags
from medeval.commands.shared_options import flags_in
from medeval.errors import UserError
from medeval.registry import with_options

OWN = flags_in("run_flags.toml")
# Flags that are options of tasks.
OF_TASKS = flags_in("task_flags.toml", rich_help_panel="What is asked")


def _run(**given: Any) -> None:
    """Evaluate a model on a task; a run that was killed or stopped is resumed with --resume.

    Exit code 1: items without a reply, or a run that stopped before its end.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.run_flow import RunFlags, execute, resume, start
    from medeval.tasks.options import parse_arguments

    subsets = given["subset"] or ()
    if len(subsets) > 1:
        raise UserError(f"--subset was given {len(subsets)} times: a run has one of them.")
    if given["export_prompts"] is not None and given["import_answers"]:
        raise UserError("--export-prompts and --import-answers: one after the other.")
    options = {field.name: given[field.name] for field in fields(OF_TASKS)}
    options |= {
        # A run that is resumed has its cases; they may be elsewhere now.
        "cases": None if given["resume"] else given["cases"],
        "subset": next(iter(subsets), None),
        "as_built": given["as_built"] or None,
    }
    options = parse_arguments(given["env_args"]) | {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None
    }
    named = {one.name: given[one.name] for one in fields(RunFlags) if one.name in given}
    flags = RunFlags(**named, judges=JudgeFlags.of(given))
    _ = flags.limits  # an amount that is none is told before anything is read
    with graceful_exit(lambda: "nothing was asked; start the same command again"):
        run, flags = (resume if flags.resume else start)(given, options, flags)
    if not execute(run, flags):
        raise typer.Exit(1)


run = with_options(_run, [OWN, OF_TASKS])
