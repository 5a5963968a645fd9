"""The command `synth`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def synth(
    kind: Annotated[str, typer.Argument(help="What to make: mimic3 or mimic4.")],
    scale: Annotated[
        int, typer.Option(help="Number of patients (mimic4: of admissions of interest), from 20.")
    ],
    seed: Annotated[int, typer.Option(help="Whole number from 0; the same one, the same bytes.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist or be empty.")],
    events_per_stay: Annotated[
        int,
        typer.Option(
            help="Mean number of chart events of one ICU stay (mimic4: of labs of an admission)."
        ),
    ] = 250,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a folder that this command wrote.")
    ] = False,
) -> None:
    """Write synthetic raw data in MIMIC's own layout; no real patient goes in."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from medeval.synth.run import write_synthetic

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("events"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("events", total=None)
        rows = write_synthetic(
            kind,
            scale,
            seed,
            events_per_stay,
            out,
            replace=replace,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    typer.echo(f"{out}: {len(rows)} tables, {sum(rows.values()):,} rows.")
