"""The command line: one module of `medeval.commands` a subcommand, and the exit codes.

0 is fine, 1 is a finding or failed items, 2 is bad usage or bad input.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, redirect_stdout

import typer

from medeval.commands import (
    compare,
    doctor,
    export,
    judge,
    judge_audit,
    listing,
    load,
    predict,
    report,
    run,
    score,
    synth,
)
from medeval.errors import UserError
from medeval.files import UMASK
from medeval.tasks.yier import cli as yier
from medeval.text import visible_stream

app = typer.Typer(
    name="medeval",
    help="Clinical benchmarks from MIMIC: data, baselines, scores with intervals.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("synth")(synth.synth)
app.command("load")(load.load)
app.command("export")(export.export)
app.command("run")(run.run)
app.command("judge")(judge.judge)
app.command("judge-audit")(judge_audit.judge_audit)
app.command("predict")(predict.predict)
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("tasks")(listing.tasks)
app.command("models")(listing.models)
app.command("doctor")(doctor.doctor)
app.add_typer(yier.app, name="yier")


def main() -> None:
    """Run the command line; a `UserError` becomes one sentence and exit code 2.

    What the commands write is for its owner only.
    """
    os.umask(UMASK)
    with redirect_stdout(visible_stream(sys.stdout)), redirect_stderr(visible_stream(sys.stderr)):
        try:
            app()
        except UserError as error:
            print(f"medeval: {error}", file=sys.stderr)
            sys.exit(2)
