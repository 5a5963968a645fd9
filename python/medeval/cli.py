"""The command line: one module of `medeval.commands` a subcommand, and the exit codes.

0 is fine, 1 is a finding or failed items, 2 is bad usage or bad input.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import typer

import medeval
from medeval.commands.compare import compare
from medeval.commands.doctor import doctor, models, tasks
from medeval.commands.export import export
from medeval.commands.init import init
from medeval.commands.judge import judge
from medeval.commands.judge_audit import judge_audit
from medeval.commands.load import load, synth
from medeval.commands.merge import merge
from medeval.commands.options import Command, command_flags, command_group
from medeval.commands.report import leaderboard, publish, report, view
from medeval.commands.run import predict, run
from medeval.commands.score import score
from medeval.commands.trace import trace
from medeval.errors import UserError, os_error_as
from medeval.files import UMASK
from medeval.tasks import registry
from medeval.text import visible_stream

app = typer.Typer(
    name="medeval",
    help="Clinical benchmarks from MIMIC: data, baselines, scores with intervals.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_COMMANDS = (
    *(init, synth, load, export, run, merge, judge, judge_audit, predict, score, compare, report),
    *(trace, view, leaderboard, publish, tasks, models, doctor),
)
for command in _COMMANDS:
    # Those that also have flags of benchmarks have all of theirs already.
    own = command if hasattr(command, "__signature__") else command_flags(command.__name__)(command)
    app.command(command.__name__.replace("_", "-"), cls=Command)(own)
for name, module in registry.COMMANDS.items():
    app.add_typer(command_group(module), name=name)


@app.callback(invoke_without_command=True)
@command_flags("program")
def _program(context: typer.Context, **given: Any) -> None:
    if given["version"]:
        print(f"medeval {medeval.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("Missing command.")
    context.obj["debug"] = given["debug"]
    if given["quiet"]:
        context.obj["held"] = sys.stderr = io.StringIO()


def main() -> None:
    """Run the command line; a `UserError`, or what the system refuses, is a sentence and code 2.

    What the commands write is for its owner only.
    """
    os.umask(UMASK)
    # A stream that the caller has closed is none.
    out, err = (visible_stream(one or io.StringIO()) for one in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        chosen: dict[str, Any] = {}
        try:
            with os_error_as("{file}: {why}.", "the output"):
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
                err.write(chosen["held"].getvalue())
