"""The command `run`."""

from __future__ import annotations

import tomllib
from dataclasses import make_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from medeval.commands import shared_options as shared
from medeval.commands.judging import JudgeFlags
from medeval.errors import UserError
from medeval.registry import with_options

QUESTIONS = "What is asked"
MODEL = "The model"
BATCH = "Without a connection"
question = partial(typer.Option, rich_help_panel=QUESTIONS)
of_model = partial(typer.Option, rich_help_panel=MODEL)
of_batch = partial(typer.Option, rich_help_panel=BATCH)
_TYPES: dict[str, Any] = {
    "number": int | None,
    "path": Path | None,
    "switch": bool | None,
    "text": str | None,
    "texts": list[str] | None,
}


def _task_flags() -> type:
    """Return the flags that are options of tasks, as `task_flags.toml` describes them."""
    described = tomllib.loads(Path(__file__).with_name("task_flags.toml").read_text("utf-8"))
    flags = [
        (name, Annotated[_TYPES[one.pop("type")], question(*one.pop("words", ()), **one)], None)
        for name, one in described.items()
    ]
    return make_dataclass("TaskFlags", flags)


def _run(
    task: Annotated[
        str | None,
        typer.Option(
            help="cdm, yier, mtsamples, or the id, file or address of a task file.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="As the endpoint calls it; demo for the built-in one; FILE.py:FUNCTION for a"
            " function that takes the messages and returns the reply.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Resume the run in this folder; errored items are asked again."),
    ] = None,
    base_url: Annotated[
        str | None,
        of_model(help="The endpoint, up to and with /v1. Default: OPENAI_BASE_URL, else OpenAI."),
    ] = None,
    key_variable: Annotated[
        str | None,
        of_model(
            help="The environment variable that holds the endpoint's key. Default: OPENAI_API_KEY"
            " where no --base-url is given, else none."
        ),
    ] = None,
    temperature: Annotated[float | None, of_model(min=0, help="Default: 0.")] = None,
    max_tokens: Annotated[int | None, of_model(min=1, help="The most tokens of a reply.")] = None,
    model_seed: Annotated[int | None, of_model(help="Asks for the same answer again.")] = None,
    parameters: Annotated[
        str | None,
        of_model(help="Further parameters as one JSON object, such as '{\"top_p\": 0.9}'."),
    ] = None,
    limit: Annotated[int | None, question(min=1, help="Only the first so many items.")] = None,
    as_built: shared.AsBuilt = False,
    env_args: Annotated[
        str | None,
        question(
            "--env-args", "-a", help="Options of the task as one JSON object; a flag wins over it."
        ),
    ] = None,
    judge_model: shared.JudgeModels = None,
    judge_base_url: shared.JudgeBaseUrls = None,
    judge_api_key: shared.JudgeApiKey = None,
    judge_key_variable: shared.JudgeKeyVariable = None,
    jury: shared.Jury = None,
    no_judge: Annotated[
        bool,
        typer.Option(
            "--no-judge", help="Answers only; `judge RUN` later.", rich_help_panel=shared.WHO_JUDGES
        ),
    ] = False,
    concurrency: shared.Concurrency = 32,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for one call.", rich_help_panel=shared.HOW)
    ] = 600.0,
    prices: shared.PriceFile = None,
    max_cost: shared.MaxCost = None,
    endpoints: shared.Endpoints = shared.ENDPOINTS,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the run's folder. Default: runs.", rich_help_panel=shared.HOW
        ),
    ] = None,
    export_prompts: Annotated[
        Path | None,
        of_batch(help="Ask nothing; write the prompts as a batch file of OpenAI's form."),
    ] = None,
    import_answers: Annotated[
        list[Path] | None,
        of_batch(
            help="Ask nothing; read the answers of a batch, output and error files. May be"
            " repeated."
        ),
    ] = None,
    **options: Any,
) -> None:
    """Evaluate a model on a task; a run that was killed or stopped is resumed with --resume.

    Exit code 1: items without a reply, or a run that stopped before its end.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.amounts import amount
    from medeval.commands.run_flow import RunFlags, execute, start
    from medeval.commands.run_flow import resume as resumed
    from medeval.tasks.models import ModelChoice
    from medeval.tasks.options import parse_arguments, parse_parameters
    from medeval.tasks.run_record import RUNS

    cases, subsets = options.pop("cases"), options.pop("subset") or ()
    if len(subsets) > 1:
        raise UserError(f"--subset was given {len(subsets)} times: a run has one of them.")
    # A run that is resumed has its cases; they may be elsewhere now.
    of_run = {"cases": None if resume else cases, "subset": next(iter(subsets), None)}
    options |= {**of_run, "as_built": as_built or None}
    options = parse_arguments(env_args) | {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if value is not None
    }
    judges = JudgeFlags(
        judge_model or (), judge_base_url or (), judge_api_key, judge_key_variable, jury
    )
    flags = RunFlags(
        concurrency,
        timeout,
        prices,
        amount(max_cost),
        endpoints,
        limit,
        no_judge,
        judges,
        is_limit_given=max_cost is not None,
        moved_cases=None if resume is None else cases,
        prompts=export_prompts,
        answers=import_answers or (),
        is_resumed=resume is not None,
    )
    if export_prompts is not None and import_answers:
        raise UserError("--export-prompts and --import-answers: one after the other.")
    of_the_model: dict[str, object] = {
        "--parameters": parameters,
        "--temperature": temperature,
        "--max-tokens": max_tokens,
        "--model-seed": model_seed,
    }
    if resume is not None:
        given: dict[str, object] = {
            "--task": task,
            "--model": model,
            "--key-variable": key_variable,
            "--base-url": base_url,
            "--out": out,
            **of_the_model,
            **{f"--{name.replace('_', '-')}": True for name in options},
        }
        started, flags = resumed(resume, given, flags)
    else:
        named = {
            "temperature": 0.0 if temperature is None else temperature,
            "max_tokens": max_tokens,
            "seed": model_seed,
        }
        asked = parse_parameters(parameters, named)
        choice = model and ModelChoice(model, base_url, key_variable, asked, timeout)
        started = start(task, choice or None, of_the_model, options, flags, out or RUNS)
    if not execute(started, flags):
        raise typer.Exit(1)


run = with_options(_run, [_task_flags()])
