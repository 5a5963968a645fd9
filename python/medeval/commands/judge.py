"""The command `judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medeval.commands import shared_options as shared
from medeval.commands.graceful_exit import command_of, graceful_exit, same_command
from medeval.commands.judging import (
    JudgeFlags,
    check_before,
    default_judge,
    judge_and_tell,
    judges_asked,
    refuse_unnamed,
    verdicts_kept,
)


def judge(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    judge_model: shared.JudgeModels = None,
    judge_base_url: shared.JudgeBaseUrls = None,
    judge_api_key: shared.JudgeApiKey = None,
    judge_key_variable: shared.JudgeKeyVariable = None,
    jury: shared.Jury = None,
    judge_repeats: shared.JudgeRepeats = None,
    re_asks: shared.ReAsks = None,
    concurrency: shared.Concurrency = 32,
    prices: shared.PriceFile = None,
    max_cost: shared.MaxCost = None,
    endpoints: shared.Endpoints = shared.ENDPOINTS,
) -> None:
    """Have the answers of a run judged; the model is not asked again.

    What the same judges said before is kept and not paid for twice: only calls without a reply are
    made again, and those that more repeats or re-asks add. Other judges get a folder of their own
    in the run's. Exit code 1: a judge failed on more than one answer in twenty, or stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.shared_options import read_price_file
    from medeval.tasks.catalogue import resumed
    from medeval.tasks.judged import chosen_jury, required
    from medeval.tasks.run_record import read_record

    record = read_record(run)
    task = required(resumed(record))
    flags = JudgeFlags(
        judge_model or (),
        judge_base_url or (),
        judge_api_key,
        judge_key_variable,
        jury,
        judge_repeats,
        re_asks,
    )
    again = same_command(context, "judge")
    wanted = flags.plan(None if record.judgings else default_judge(task))
    chosen = chosen_jury(record, wanted, flags.choices())
    refuse_unnamed(record, flags.missing(chosen), again)
    chosen = flags.with_key(chosen)
    check_before(task, chosen, endpoints)
    options = judges_asked(concurrency, read_price_file(prices), max_cost)
    with graceful_exit(lambda: f"{verdicts_kept(task, run, chosen)}; go on with `{again}`"):
        results = judge_and_tell(task, run, chosen, options, endpoints)
    print(command_of("score", "--task", task.asked_as, run))
    if results.exit_code:
        raise typer.Exit(1)
