"""The command `synth`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import medeval
from medeval.commands.options import command_flags
from medeval.errors import UserError
from medeval.sources import project_root
from medeval.tasks.registry import RAW_KINDS


@command_flags("synth")
def synth(
    kind: Annotated[str, typer.Argument(help=f"What to make: {' or '.join(RAW_KINDS)}.")],
    **given: Any,
) -> None:
    """Write synthetic raw data in MIMIC's own layout. No real patient goes in.

    Needs a checkout of the project, whose tools/synth makes the data.
    """
    from rich.console import Console
    from rich.progress import Progress

    # The checkout that this package is in, else the one that the user is in.
    roots = [Path(medeval.__file__).resolve().parents[2]]
    if not (roots[0] / "tools" / "synth").is_dir():
        roots.append(project_root())
    root = roots[-1]
    if not (root / "tools" / "synth").is_dir():
        raise UserError(
            f"{root} has no folder tools/synth, which makes synthetic data. Restore it from the"
            " repository (git checkout)."
        )
    sys.path.insert(0, str(root / "tools"))
    from synth.run import write_synthetic

    console, out = Console(stderr=True), given["out"]
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("events", total=None)
        rows = write_synthetic(
            kind,
            given["scale"],
            given["seed"],
            given["events_per_stay"],
            out,
            replace=given["replace"],
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    print(f"{out}: {len(rows)} tables, {sum(rows.values()):,} rows.")
