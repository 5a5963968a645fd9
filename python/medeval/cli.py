"""The command line: one module of `medeval.commands` a subcommand, and the exit codes.

0 is fine, 1 is a finding or failed items, 2 is bad usage or bad input.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import Annotated, Any

import typer

import medeval
from medeval.commands import (
    compare,
    doctor,
    export,
    judge,
    judge_audit,
    load,
    report,
    run,
    score,
    synth,
)
from medeval.commands.options import CompareCommand, ScoreCommand, TaskCommand
from medeval.errors import UserError
from medeval.files import UMASK
from medeval.tasks import registry
from medeval.text import visible_stream

app = typer.Typer(
    name="medeval",
    help="Clinical benchmarks from MIMIC: data, baselines, scores with intervals.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("synth")(synth.synth)
app.command("load")(load.load)
app.command("export")(export.export)
app.command("run", cls=TaskCommand)(run.run)
app.command("judge")(judge.judge)
app.command("judge-audit")(judge_audit.judge_audit)
app.command("predict")(run.predict)
app.command("score", cls=ScoreCommand)(score.score)
app.command("compare", cls=CompareCommand)(compare.compare)
app.command("report")(report.report)
app.command("tasks")(doctor.tasks)
app.command("models")(doctor.models)
app.command("doctor")(doctor.doctor)
for name, group in registry.command_groups().items():
    app.add_typer(group, name=name)


@app.callback(invoke_without_command=True)
def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results only, unless something is wrong.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error comes from.")
    ] = False,
) -> None:
    if version:
        print(f"medeval {medeval.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")
    context.obj["debug"] = debug
    if quiet:
        context.obj["held"] = sys.stderr = io.StringIO()


def main() -> None:
    """Run the command line; a `UserError` becomes one sentence and exit code 2.

    What the commands write is for its owner only.
    """
    os.umask(UMASK)
    with redirect_stdout(visible_stream(sys.stdout)), redirect_stderr(visible_stream(sys.stderr)):
        errors = sys.stderr
        chosen: dict[str, Any] = {}
        try:
            app(obj=chosen)
        except UserError as error:
            if chosen.get("debug"):
                traceback.print_exc()
            print(f"medeval: {error}", file=sys.stderr)
            sys.exit(2)
        except SystemExit as end:
            if not end.code:
                chosen.pop("held", None)
            raise
        finally:
            if "held" in chosen:
                errors.write(chosen["held"].getvalue())
