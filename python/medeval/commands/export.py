"""The command `export`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from medeval.commands.shared_options import AsBuilt, DbtTarget
from medeval.errors import UserError
from medeval.exporting.ordering import Layout, Order


def export(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="What to write: cdm, mimic3 (all five), in_hospital_mortality (ihm),"
            " decompensation (decomp), length_of_stay (los), phenotyping (pheno) or multitask. May"
            " be repeated; without it everything that is built."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("exports"),
    order: Annotated[
        Order,
        typer.Option(help="Row order of listfiles: sorted, or as mimic3-benchmarks shuffles them."),
    ] = Order.CANONICAL,
    timeseries: Annotated[
        bool,
        typer.Option(
            "--timeseries",
            help="Also write the whole time series of every episode, from before the stay until"
            " after it: not what a model may see.",
        ),
    ] = False,
    layout: Annotated[
        Layout,
        typer.Option(
            help="Folders and files of the ICU tasks: listfiles alone, or all that the published"
            " readers open, with the time series of each task cut to what its model may see."
        ),
    ] = Layout.MEDEVAL,
    num_cases: Annotated[
        int | None, typer.Option(help="cdm: only so many cases, from the front of the list.")
    ] = None,
    first_only: Annotated[
        bool,
        typer.Option("--first-only", help="cdm: the first result of each test, at any time."),
    ] = False,
    extended: Annotated[
        bool,
        typer.Option(
            "--extended",
            help="cdm: up to three results of each test, all before the day of the first procedure"
            " (the default).",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse tables that the tests of dbt have not passed since they were built.",
        ),
    ] = False,
    target: DbtTarget = None,
    as_built: AsBuilt = False,
) -> None:
    """Write the published tables as files, with a manifest of their hashes and their source."""
    # Here, not above: every other command starts without these.
    from medeval.exporting import cdm
    from medeval.exporting.builds import newest_build, open_built, untested
    from medeval.exporting.cdm_rows import Mode
    from medeval.exporting.floor import Request, build_command
    from medeval.exporting.registry import FLOORS, chosen_tasks

    if num_cases is not None and num_cases < 1:
        raise UserError(f"--num-cases is {num_cases}; it can be 1 or more.")
    if first_only and extended:
        raise UserError("--first-only and --extended exclude each other.")
    options: dict[str, dict[str, object]] = {
        "cdm": {"--num-cases": num_cases, "--first-only": first_only, "--extended": extended},
        "mimic3": {
            "--order": order is not Order.CANONICAL,
            "--timeseries": timeseries,
            "--layout": layout is not Layout.MEDEVAL,
        },
    }
    chosen = chosen_tasks(task or [])
    if chosen:
        _check_options(options, list(chosen))
    with open_built(" ".join(chosen or FLOORS), target, as_built=as_built) as warehouse:
        if not chosen:
            built = {name: floor for name, floor in FLOORS.items() if floor.is_built(warehouse)}
            missing = [name for name in FLOORS if name not in built]
            if not built:
                command = build_command(" ".join(FLOORS), warehouse.target.name)
                raise UserError(f"Nothing is built yet ({', '.join(missing)}). Run `{command}`.")
            for name in missing:
                hint = build_command(name, warehouse.target.name)
                print(f"medeval: {name} is not built, left out ({hint})", file=sys.stderr)
            chosen = {name: floor.tasks for name, floor in built.items()}
            _check_options(options, list(chosen))
        # All are looked at before the first is written.
        builds = {name: newest_build(warehouse, name) for name in chosen}
        warnings = {
            name: told
            for name, build in builds.items()
            if (told := untested(name, build, warehouse.target))
        }
        if strict and warnings:
            raise UserError(" ".join(warnings.values()))
        choice = cdm.CaseChoice(Mode.FIRST_ONLY if first_only else Mode.EXTENDED, num_cases)
        exports = {name: floor.export for name, floor in FLOORS.items()}
        exports[cdm.NAME] = partial(cdm.export, choice=choice)
        for name, tasks in chosen.items():
            try:
                report = exports[name](warehouse, Request(tasks, out, order, timeseries, layout))
            except OSError as error:
                place = error.filename or out
                raise UserError(f"Cannot write {place}: {error.strerror or error}.") from error
            print("\n".join(report))
            if name in warnings:
                print(f"medeval: {warnings[name]}", file=sys.stderr)


def _check_options(options: dict[str, dict[str, object]], chosen: list[str]) -> None:
    """Stop at an option that means nothing to any floor that is written."""
    for floor, given in options.items():
        names = [name for name, value in given.items() if value]
        if names and floor not in chosen:
            raise UserError(
                f"{', '.join(names)}: for {floor} only; this would write {', '.join(chosen)}."
            )
