"""The command `judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of, graceful_exit, same_command
from medeval.commands.judging import (
    JudgeFlags,
    check_before,
    judge_and_tell,
    judges_asked,
    refuse_unnamed,
    verdicts_kept,
)
from medeval.commands.options import flags_in, with_options


def _judge(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    **given: Any,
) -> None:
    """Have the answers of a run judged; the model is not asked again.

    What the same judges said before is kept and not paid for twice: only calls without a reply are
    made again, and those that more repeats or re-asks add. Other judges get a folder of their own
    in the run's. Exit code 1: a judge failed on more than one answer in twenty, or stopped.
    """
    # Here, not above: every other command starts without the client of endpoints.
    from medeval.tasks import registry
    from medeval.tasks.judged import chosen_jury, rubric_of
    from medeval.tasks.run_record import read_record

    record = read_record(run)
    task = registry.resume(record)
    rubric_of(task)  # raises where it is not judged
    flags = JudgeFlags.of(given)
    again = same_command(context, "judge")
    wanted = flags.plan(None if record.judgings else getattr(task, "default_judge", None))
    chosen = chosen_jury(record, wanted, flags.choices)
    refuse_unnamed(record, flags.missing(chosen), again)
    chosen = flags.with_key(chosen)
    check_before(task, chosen, given["endpoints"])
    options = judges_asked(given)
    with graceful_exit(lambda: f"{verdicts_kept(task, run, chosen)}; go on with `{again}`"):
        results = judge_and_tell(task, run, chosen, options, given["endpoints"])
    print(command_of("score", run))
    if results.exit_code:
        raise typer.Exit(1)


judge = with_options(_judge, [flags_in("judge_flags.toml")])
