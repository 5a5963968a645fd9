"""What the commands of all benchmarks have in common: measure or not, show, write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.kept import replace_text
from benchmarks.page import Page, Results
from benchmarks.processes import CommandFailedError

Say = Callable[[str], None]


def new_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has.

    Args:
        module: of the command.
        description: its docstring.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--write", type=Path, metavar="FILE", help="write the page of all kept results")
    add("--render", action="store_true", help="show the kept results, measure nothing")
    return parser


def carry_out(
    arguments: argparse.Namespace,
    results: Results,
    measure: Callable[[argparse.Namespace, Results, Say], None],
    page: Page[Results],
) -> int:
    """Measure if that is wanted, show all results, and write the page if that is wanted.

    Args:
        arguments: of a parser of `new_parser`.
        results: those kept so far.
        measure: measures what the arguments choose, and keeps each part as soon as it is there.
        page: of the results.

    Returns:
        The exit code: 1 when a measured command failed.
    """
    console = Console()
    try:
        if not arguments.render:
            measure(arguments, results, console.print)
    except CommandFailedError as error:
        print(error, file=sys.stderr)
        return 1
    page.show(results, console)
    if arguments.write:
        replace_text(arguments.write, page.markdown(results))
    return 0
