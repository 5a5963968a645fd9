"""The command `run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medeval.commands import shared_options as shared
from medeval.commands.judging import JudgeFlags
from medeval.commands.task_options import given_options, the_only

QUESTIONS = "What is asked"
MODEL = "The model"
BATCH = "Without a connection"


def run(
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
        typer.Option(help="Go on with the run in this folder; errored items are asked again."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="The endpoint, up to and with /v1. Default: OPENAI_BASE_URL, else OpenAI.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    key_variable: Annotated[
        str | None,
        typer.Option(
            help="The environment variable that holds the endpoint's key. Default: OPENAI_API_KEY"
            " where no --base-url is given, else none.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Default: 0.", rich_help_panel=MODEL)
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="The most tokens of a reply.", rich_help_panel=MODEL),
    ] = None,
    model_seed: Annotated[
        int | None, typer.Option(help="Asks for the same answer again.", rich_help_panel=MODEL)
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(
            help="Further parameters as one JSON object, such as '{\"top_p\": 0.9}'.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="How often each item is asked.", rich_help_panel=QUESTIONS),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first so many items.", rich_help_panel=QUESTIONS),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="yier: the file of questions. Default: MEDEVAL_YIER, else the demo's.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="yier: of the instruction, zh or en.", rich_help_panel=QUESTIONS),
    ] = None,
    shuffle_seed: Annotated[
        int | None,
        typer.Option(help="yier: shuffle the options.", rich_help_panel=QUESTIONS),
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option(
            help="yier: training file from which examples are chosen.", rich_help_panel=QUESTIONS
        ),
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(min=0, help="yier: how many examples.", rich_help_panel=QUESTIONS),
    ] = None,
    example_seed: Annotated[
        int | None, typer.Option(help="yier: of their choice.", rich_help_panel=QUESTIONS)
    ] = None,
    skip_without_context: Annotated[
        bool | None,
        typer.Option(
            "--skip-without-context",
            help="yier: leave out questions without a context.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    json_schema: Annotated[
        bool | None,
        typer.Option(
            "--json-schema/--no-json-schema",
            help="Hold replies to a schema where the endpoint can.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    use_think: Annotated[
        bool | None,
        typer.Option(
            "--use-think",
            help="mtsamples: ask the model to think between tags first.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    prompt_style: Annotated[
        str | None,
        typer.Option(
            help="mtsamples: medarc (instruction as system message) or helm (one message).",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            help="mtsamples: the warehouse must have been built of the notes downloaded there.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="cdm: the folder of the export. Default: exports/cdm; with --resume where it was.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="cdm: ask the cases of a file only, one hadm_id a line or a CSV with that column.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="cdm: tools, the model asks for what it needs; full_information, it sees all at"
            " once.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    tool_protocol: Annotated[
        str | None,
        typer.Option(
            help="cdm: native, or text for models without tool calling.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    max_rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="cdm: steps with tools, after which the model has to decide.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    permute: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="cdm, full_information: further samples with the information in other orders.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    context_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="cdm: tokens that the model takes in. Default: what the server says, else 8192.",
            rich_help_panel=QUESTIONS,
        ),
    ] = None,
    as_built: shared.AsBuilt = False,
    env_args: Annotated[
        str | None,
        typer.Option(
            "--env-args",
            "-a",
            help="Options of the task as one JSON object; a flag wins over it.",
            rich_help_panel=QUESTIONS,
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
            "--no-judge",
            help="Answers only; `judge RUN` later.",
            rich_help_panel=shared.WHO_JUDGES,
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
        typer.Option(
            help="Ask nothing; write the prompts as a batch file of OpenAI's form.",
            rich_help_panel=BATCH,
        ),
    ] = None,
    import_answers: Annotated[
        list[Path] | None,
        typer.Option(
            help="Ask nothing; read the answers of a batch, output and error files. May be"
            " repeated.",
            rich_help_panel=BATCH,
        ),
    ] = None,
) -> None:
    """Put a task to a model; killed or stopped, it goes on where it was with --resume.

    Exit code 1: items without a reply, or a run that stopped before its end.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.amounts import amount
    from medeval.commands.run_batch import Batch
    from medeval.commands.run_flow import (
        How,
        ModelFlags,
        begin,
        go_on,
        go_through,
        with_recorded_limits,
    )
    from medeval.tasks.run_record import RUNS
    from medeval.tasks.task_run import parse_parameters

    options = given_options(
        env_args,
        samples=samples,
        questions=questions,
        language=language,
        shuffle_seed=shuffle_seed,
        examples=examples,
        shots=shots,
        example_seed=example_seed,
        skip_without_context=skip_without_context,
        json_schema=json_schema,
        use_think=use_think,
        prompt_style=prompt_style,
        cache_dir=cache_dir,
        # A run that goes on has its cases; they may be elsewhere now.
        cases=cases if resume is None else None,
        subset=the_only("--subset", subset),
        mode=mode,
        tool_protocol=tool_protocol,
        max_rounds=max_rounds,
        permute=permute,
        context_limit=context_limit,
        as_built=as_built or None,
    )
    judges = JudgeFlags(
        judge_model or (), judge_base_url or (), judge_api_key, judge_key_variable, jury
    )
    how = How(
        concurrency,
        timeout,
        prices,
        amount(max_cost),
        endpoints,
        limit,
        no_judge,
        judges,
        None if resume is None else cases,
        is_limit_given=max_cost is not None,
    )
    batch = Batch(export_prompts, import_answers or ())
    batch.require_one_way()
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
        asking = go_on(resume, given, how)
        how = with_recorded_limits(how, resume)
    else:
        named = {
            "temperature": 0.0 if temperature is None else temperature,
            "max_tokens": max_tokens,
            "seed": model_seed,
        }
        flags = ModelFlags(
            model, base_url, key_variable, parse_parameters(parameters, named), of_the_model
        )
        asking = begin(task, flags, options, how, out or RUNS)
    is_whole = go_through(asking, how, batch, is_again=resume is not None)
    if not is_whole:
        raise typer.Exit(1)
