"""The command `synth`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import medeval
from medeval.errors import UserError
from medeval.tasks.registry import RAW_KINDS


def synth(
    kind: Annotated[str, typer.Argument(help=f"What to make: {' or '.join(RAW_KINDS)}.")],
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
    """Write synthetic raw data in MIMIC's own layout; no real patient goes in.

    Needs a checkout of the project, whose tools/synth makes the data.
    """
    from rich.console import Console
    from rich.progress import Progress

    from medeval.sources import project_root

    # The folder `tools` of the checkout that this package, else the user, is in.
    root = Path(medeval.__file__).resolve().parents[2]
    if not (root / "tools" / "synth").is_dir():
        root = project_root()
    if not (root / "tools" / "synth").is_dir():
        raise UserError(
            f"{root} has no folder tools/synth, which makes synthetic data. Restore it from the "
            "repository (git checkout)."
        )
    sys.path.insert(0, str(root / "tools"))
    from synth.run import write_synthetic

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
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
