"""The command `load`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.sources import Source


def load(
    kind: Annotated[str, typer.Argument(help="The source: mimic3.")],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="Its files (.csv, .csv.gz, .parquet). Default: MEDEVAL_MIMIC3_DIR, or the demo.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="The schema to make. Default: the dbt variable (mimic3_schema)."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the schema if `load` made it.")
    ] = False,
    target: Annotated[
        str, typer.Option(help="The PostgreSQL target of profiles.yml.")
    ] = "postgres",
) -> None:
    """Copy raw files into PostgreSQL: every table in one transaction, or nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table

    from medeval.load import load as load_tables
    from medeval.profile import load_target, project_root, project_variable
    from medeval.sources import sources

    root = project_root()
    known = sources(root)
    if kind not in known:
        raise UserError(f"Unknown kind {kind!r}. load knows: {', '.join(known)}.")
    plan = known[kind]
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    chosen = folder.expanduser() if folder else _default_folder(plan, root)
    with progress:
        bar = progress.add_task(plan.name, total=None)
        loaded = load_tables(
            plan,
            chosen,
            load_target(target, root),
            schema or str(project_variable(plan.schema_variable, root)),
            replace=replace,
            say=_say,
            watch=lambda table, done, total: progress.update(
                bar, description=table, completed=done, total=total
            ),
        )
    table = Table("table")
    table.add_column("rows", justify="right")
    table.add_column("seconds", justify="right")
    for entry in loaded:
        table.add_row(entry.table, f"{entry.rows:,}", f"{entry.seconds:.1f}")
    Console().print(table)


def _default_folder(plan: Source, root: Path) -> Path:
    """Return the folder that the environment names, else the demo's, and say so."""
    named = os.environ.get(plan.folder_variable)
    if named:
        return Path(named).expanduser()
    if os.environ.get(plan.database_variable):
        # Real and synthetic rows do not mix: with a real source named, the demo does not stand in.
        raise UserError(
            f"{plan.database_variable} is set, and load reads files: give DIR or "
            f"{plan.folder_variable}."
        )
    demo = root / plan.demo
    _say(f"No DIR and no {plan.folder_variable}: loading the synthetic demo, {demo}.")
    return demo


def _say(line: str) -> None:
    print(line, file=sys.stderr)
