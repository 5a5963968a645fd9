"""The command `judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medeval.commands.judging import JudgeFlags, check_before, default_judge, judge_and_tell

WHO = "Who judges"


def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    judge_model: Annotated[
        list[str] | None,
        typer.Option(
            help="As its endpoint calls it; local for a rule that needs no network. Repeated: a"
            " jury. Without it the run's newest judging goes on.",
            rich_help_panel=WHO,
        ),
    ] = None,
    judge_base_url: Annotated[
        list[str] | None,
        typer.Option(
            help="Address of all judges, or one for each. Default: JUDGE_BASE_URL, else"
            " OPENAI_BASE_URL, else OpenAI.",
            rich_help_panel=WHO,
        ),
    ] = None,
    judge_api_key: Annotated[
        str | None,
        typer.Option(
            help="Better in JUDGE_API_KEY: a command line can be seen by others. Never stored.",
            rich_help_panel=WHO,
        ),
    ] = None,
    jury: Annotated[
        str | None,
        typer.Option(
            help="How a jury's rewards become one: mean, median or trimmed_mean.",
            rich_help_panel=WHO,
        ),
    ] = None,
    judge_repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Judgments of each answer by each judge.", rich_help_panel=WHO),
    ] = None,
    re_asks: Annotated[
        int | None,
        typer.Option(
            min=0, help="How often an unusable verdict is asked for again.", rich_help_panel=WHO
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls at a time, of each judge.")] = 32,
    prices: Annotated[Path | None, typer.Option(help="What tokens cost, TOML or JSON.")] = None,
    max_cost: Annotated[
        str | None, typer.Option(help="A limit on the cost of judging; needs prices.")
    ] = None,
    endpoints: Annotated[
        Path,
        typer.Option(help="Which endpoints may see credentialed text (docs/data_use.md)."),
    ] = Path("endpoints.toml"),
) -> None:
    """Have the answers of a run judged; the model is not asked again.

    What the same judges said before is kept and not paid for twice: only what failed is asked
    again. Other judges get a folder of their own in the run's. Exit code 1: a judge failed on more
    than one answer in twenty, or stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.amounts import amount, read_price_file
    from medeval.errors import UserError
    from medeval.inference.outcomes import Outcome
    from medeval.inference.runner import RunOptions
    from medeval.tasks.catalogue import resumed
    from medeval.tasks.judged import chosen_plan, judged
    from medeval.tasks.run_record import read_record

    record = read_record(run)
    task = judged(resumed(record))
    if task is None:
        raise UserError(
            f"{record.task} is not judged. A task file that is to be says by which rubric, such as"
            " `judge: summarization`."
        )
    flags = JudgeFlags(
        judge_model or (), judge_base_url or (), judge_api_key, jury, judge_repeats, re_asks
    )
    wanted = flags.plan(None if record.judgings else default_judge(task))
    plan = chosen_plan(record, wanted)
    check_before(task, plan, endpoints)
    results = judge_and_tell(
        task,
        run,
        plan,
        RunOptions(
            concurrency=concurrency,
            prices=read_price_file(prices),
            max_cost=amount(max_cost),
            ask_again=frozenset({Outcome.ERRORED}),
        ),
        endpoints,
    )
    print(f"python -m medeval score --task {record.task} {run}")
    if results.exit_code:
        raise typer.Exit(1)
