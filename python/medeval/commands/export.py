"""The command `export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from medeval.errors import UserError
from medeval.exporting.ordering import Order


def export(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="What to write: mimic3 (all five), in_hospital_mortality (ihm), decompensation"
            " (decomp), length_of_stay (los), phenotyping (pheno) or multitask. May be repeated;"
            " without it everything that is built."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("exports"),
    order: Annotated[
        Order,
        typer.Option(help="Row order of listfiles: sorted, or as mimic3-benchmarks shuffles them."),
    ] = Order.CANONICAL,
    timeseries: Annotated[
        bool, typer.Option("--timeseries", help="Also write the time series of every episode.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(help="Target of profiles.yml (default: MEDEVAL_TARGET).")
    ] = None,
) -> None:
    """Write the published tables as files, with a manifest of their hashes and their source."""
    # Here, not above: every other command starts without these.
    from medeval.exporting.floor import Request, build_command
    from medeval.exporting.registry import FLOORS, chosen_tasks
    from medeval.profile import load_target, project_root
    from medeval.warehouse import open_warehouse

    chosen = chosen_tasks(task or [])
    root = project_root()
    dbt_target = load_target(target, root)
    command = build_command(" ".join(chosen or FLOORS), dbt_target.name)
    with open_warehouse(dbt_target, root, build_command=command) as warehouse:
        if not chosen:
            built = {name: floor for name, floor in FLOORS.items() if floor.is_built(warehouse)}
            missing = [name for name in FLOORS if name not in built]
            if not built:
                raise UserError(f"Nothing is built yet ({', '.join(missing)}). Run `{command}`.")
            for name in missing:
                hint = build_command(name, dbt_target.name)
                print(f"medeval: {name} is not built, left out ({hint})", file=sys.stderr)
            chosen = {name: floor.tasks for name, floor in built.items()}
        for name, tasks in chosen.items():
            try:
                report = FLOORS[name].export(warehouse, Request(tasks, out, order, timeseries))
            except OSError as error:
                place = error.filename or out
                raise UserError(f"Cannot write {place}: {error.strerror or error}.") from error
            print("\n".join(report))
