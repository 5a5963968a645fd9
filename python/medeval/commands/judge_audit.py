"""The command `judge-audit`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from medeval.commands import shared_options as shared
from medeval.commands.graceful_exit import graceful_exit, same_command
from medeval.commands.judging import JudgeFlags, judges_asked, refuse_unnamed

REPORT = "judge-audit.json"


def judge_audit(
    context: typer.Context,
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help="The folder of a run. Without it judges are tried on weak answers that come along,"
            " with and without attacks in them.",
        ),
    ] = None,
    human: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="What people gave the run's answers; see docs/judging.md."
        ),
    ] = None,
    judge_model: shared.JudgeModels = None,
    judge_base_url: shared.JudgeBaseUrls = None,
    judge_api_key: shared.JudgeApiKey = None,
    judge_key_variable: shared.JudgeKeyVariable = None,
    judge_repeats: shared.JudgeRepeats = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            help="Of agreement, repeats, order, reference, length, attacks, sanity; repeated, or"
            " with commas. Default: all; without RUN: attacks."
        ),
    ] = None,
    attacks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.yaml",
            help="Attacks of your own in place of those that come along; see docs/judging.md.",
        ),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(help="A rubric's name or file. Default: that of the run's task."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The report's JSON file. Default: judge-audit.json in the run's folder."),
    ] = None,
    concurrency: shared.Concurrency = 32,
    prices: shared.PriceFile = None,
    max_cost: shared.MaxCost = None,
    endpoints: shared.Endpoints = shared.ENDPOINTS,
) -> None:
    """Find out how far judges may be believed.

    Do they agree with people, with each other and with themselves; are they moved by the order of
    the prompt, by the length of an answer, by attacks; do they tell a right answer from a wrong
    one? Without --judge-model those who judged the run last are audited. Nothing that was judged
    before is asked again, and the run's own judging stays as it is. Exit code 1: a judge failed on
    more than one answer in twenty, or stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.commands.amounts import read_price_file
    from medeval.commands.judge_audited import of_a_run, of_the_shipped
    from medeval.commands.run_progress import shown_judging
    from medeval.inference.endpoints import read_endpoints
    from medeval.inference.guard import DataUseGuard
    from medeval.inference.run import AUDIT
    from medeval.judging.attacking import read_attacks
    from medeval.judging.audit import ATTACKS, PARTS, audit
    from medeval.judging.audit_tables import audit_tables
    from medeval.judging.human import read_human_ratings
    from medeval.judging.options import JudgingOptions
    from medeval.models.text_files import write_text
    from medeval.predictions.layout import require_writable
    from medeval.terminal import Terminal

    if out is not None:
        require_writable(out)
    keys = (judge_api_key, judge_key_variable)
    flags = JudgeFlags(judge_model or (), judge_base_url or (), *keys, repeats=judge_repeats)
    audited = of_a_run(run, flags, rubric) if run else of_the_shipped(flags, human, rubric)
    if audited.record is not None:
        again = same_command(context, "judge-audit")
        refuse_unnamed(audited.record, flags.missing(audited.plan), again)
    ratings = None if human is None else read_human_ratings(human, audited.rubric)
    own_attacks = None if attacks is None else read_attacks(attacks)
    named = [name.strip() for each in parts or () for name in each.split(",") if name.strip()]
    read_prices = read_price_file(prices)

    def standing() -> str:
        again = same_command(context, "judge-audit")
        return f"{audited.verdicts:,} verdicts are kept; go on with `{again}`"

    with graceful_exit(standing), shown_judging(read_prices.currency) as show:
        report = audit(
            audited.subjects,
            audited.plan.who,
            audited.rubric,
            audited.folder / audited.plan.folder,
            JudgingOptions(
                run=judges_asked(concurrency, read_prices, max_cost),
                gate=DataUseGuard(read_endpoints(endpoints), audited.folder / AUDIT),
                re_asks=audited.plan.re_asks,
                repeats=audited.plan.repeats,
                seed=audited.plan.seed,
                answering_model=audited.answering_model,
                on_progress=show,
            ),
            named or (PARTS if run else (ATTACKS,)),
            attacks=own_attacks,
            human=ratings,
        )
    console = Terminal()
    for shown in audit_tables(report):
        console.print(shown)
    for warning in report["warnings"]:
        print(f"medeval: {warning}", file=sys.stderr)
    place = out or audited.folder / REPORT
    described = {**audited.described(), **report}
    write_text(place, json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    cost = "cost unknown" if report["cost"] is None else f"{report['cost']} {read_prices.currency}"
    print(f"{report['calls']:,} calls in all, {cost}")
    print(f"saving the report in {place}")
    if report["exit_code"]:
        raise typer.Exit(1)
