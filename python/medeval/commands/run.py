"""The command `run`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from medeval.commands.judging import JudgeFlags
from medeval.commands.shared_options import flags_in
from medeval.errors import UserError
from medeval.registry import with_options

OWN = flags_in("run_flags.toml")
# Flags that are options of tasks.
OF_TASKS = flags_in("task_flags.toml", rich_help_panel="What is asked")
# What a run is begun with, and no other start may change.
WHO = ("task", "model", "key_variable", "base_url", "out")
PARAMETERS = ("parameters", "temperature", "max_tokens", "model_seed")


def _run(**given: Any) -> None:
    """Evaluate a model on a task; a run that was killed or stopped is resumed with --resume.

    Exit code 1: items without a reply, or a run that stopped before its end.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.amounts import amount
    from medeval.commands.run_flow import RunFlags, execute, resume, start
    from medeval.tasks.models import ModelChoice
    from medeval.tasks.options import parse_arguments, parse_parameters
    from medeval.tasks.run_record import RUNS

    folder, model, cases = given["resume"], given["model"], given["cases"]
    subsets = given["subset"] or ()
    if len(subsets) > 1:
        raise UserError(f"--subset was given {len(subsets)} times: a run has one of them.")
    if given["export_prompts"] is not None and given["import_answers"]:
        raise UserError("--export-prompts and --import-answers: one after the other.")
    options = {field.name: given[field.name] for field in fields(OF_TASKS)}
    options |= {
        # A run that is resumed has its cases; they may be elsewhere now.
        "cases": None if folder else cases,
        "subset": next(iter(subsets), None),
        "as_built": given["as_built"] or None,
    }
    options = parse_arguments(given["env_args"]) | {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None
    }
    flags = RunFlags(
        given["concurrency"],
        given["timeout"],
        given["prices"],
        amount(given["max_cost"]),
        given["endpoints"],
        given["limit"],
        given["no_judge"],
        JudgeFlags.of(given),
        is_limit_given=given["max_cost"] is not None,
        moved_cases=cases if folder else None,
        prompts=given["export_prompts"],
        answers=given["import_answers"] or (),
        is_resumed=folder is not None,
    )
    who, of_model = (
        {f"--{name.replace('_', '-')}": given[name] for name in names}
        for names in (WHO, PARAMETERS)
    )
    if folder is not None:
        of_task = {f"--{name.replace('_', '-')}": True for name in options}
        run, flags = resume(folder, {**who, **of_model, **of_task}, flags)
    else:
        named = {
            "temperature": given["temperature"] or 0.0,
            "max_tokens": given["max_tokens"],
            "seed": given["model_seed"],
        }
        asked = parse_parameters(given["parameters"], named)
        choice = model and ModelChoice(
            model, given["base_url"], given["key_variable"], asked, flags.timeout
        )
        run = start(given["task"], choice or None, of_model, options, flags, given["out"] or RUNS)
    if not execute(run, flags):
        raise typer.Exit(1)


run = with_options(_run, [OWN, OF_TASKS])
