"""The command `judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medeval.commands.going_on import command_of, same_command, says_how_to_go_on
from medeval.commands.judging import (
    JudgeFlags,
    check_before,
    default_judge,
    judge_and_tell,
    refuse_unnamed,
    verdicts_kept,
)
from medeval.commands.shared_options import (
    ENDPOINTS,
    Concurrency,
    Endpoints,
    JudgeApiKey,
    JudgeBaseUrls,
    JudgeKeyVariable,
    JudgeModels,
    JudgeRepeats,
    Jury,
    MaxCost,
    PriceFile,
    ReAsks,
)


def judge(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    judge_model: JudgeModels = None,
    judge_base_url: JudgeBaseUrls = None,
    judge_api_key: JudgeApiKey = None,
    judge_key_variable: JudgeKeyVariable = None,
    jury: Jury = None,
    judge_repeats: JudgeRepeats = None,
    re_asks: ReAsks = None,
    concurrency: Concurrency = 32,
    prices: PriceFile = None,
    max_cost: MaxCost = None,
    endpoints: Endpoints = ENDPOINTS,
) -> None:
    """Have the answers of a run judged; the model is not asked again.

    What the same judges said before is kept and not paid for twice: only calls without a reply are
    made again, and those that more repeats or re-asks add. Other judges get a folder of their own
    in the run's. Exit code 1: a judge failed on more than one answer in twenty, or stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.amounts import amount, read_price_file
    from medeval.inference.outcomes import Outcome
    from medeval.inference.runner import RunOptions
    from medeval.tasks.catalogue import resumed
    from medeval.tasks.judged import required
    from medeval.tasks.judging_plan import checked_plan, chosen_plan
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
    wanted = flags.plan(None if record.judgings else default_judge(task))
    plan = checked_plan(**dict(chosen_plan(record, wanted, flags.choices())))
    refuse_unnamed(record, flags.missing(plan), same_command(context, "judge"))
    plan = flags.with_key(plan)
    check_before(task, plan, endpoints)
    options = RunOptions(
        concurrency=concurrency,
        prices=read_price_file(prices),
        max_cost=amount(max_cost),
        ask_again=frozenset({Outcome.ERRORED}),
    )

    def standing() -> str:
        return f"{verdicts_kept(task, run, plan)}; go on with `{same_command(context, 'judge')}`"

    with says_how_to_go_on(standing):
        results = judge_and_tell(task, run, plan, options, endpoints)
    print(command_of("score", "--task", task.asked_as, run))
    if results.exit_code:
        raise typer.Exit(1)
