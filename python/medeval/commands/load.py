"""The command `load`."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands.options import flags_of, options_of, with_options
from medeval.errors import UserError
from medeval.load import LoadRequest
from medeval.tasks.registry import LOADERS, RAW_KINDS

if TYPE_CHECKING:
    from medeval.load import Part
    from medeval.sources import Source

DEFAULT_TARGET = "postgres"
_LOADERS = {kind: import_module(module) for kind, module in LOADERS.items()}


def _load(
    kind: Annotated[
        str,
        typer.Argument(help=f"The source: {', '.join([*RAW_KINDS, *_LOADERS])}."),
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="Its files: .csv, .csv.gz or .parquet of MIMIC; what else a kind takes says"
            " docs/bring_your_own_mimic.md. Default: what the kind's variables name, or the demo.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="The schema to make, for a kind of one. Default: the dbt variable."),
    ] = None,
    cohort_file: Annotated[
        Path | None,
        typer.Option(
            help="mimic4: the admissions of the benchmark, one hadm_id a line. Default: the dbt"
            " variable."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the schemas if `load` made them.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(help=f"The PostgreSQL target of profiles.yml. Default: {DEFAULT_TARGET}."),
    ] = None,
    **given: Any,
) -> None:
    """Copy raw files into PostgreSQL: every table in one transaction, or nothing."""
    from medeval.sources import project_root, sources

    root = project_root()
    of_tables = [*sources(root).values()]
    plans = [plan for plan in of_tables if plan.kind == kind]
    known = sorted({*(plan.kind for plan in of_tables), *_LOADERS})
    if kind not in known:
        raise UserError(f"Unknown kind {kind!r}. load knows: {', '.join(known)}.")
    for name, loader in _LOADERS.items():
        if kind != name and flags_of(loader.Options, given):
            flags = flags_of(loader.Options)
            are = "is" if len(flags) == 1 else "are"
            raise UserError(f"{' and '.join(flags)} {are} for {name}, not for {kind}.")
    if cohort_file is not None and not any(plan.list_table for plan in plans):
        raise UserError(f"{kind} has no list of admissions; --cohort-file is for mimic4.")
    request = LoadRequest(folder, schema, replace, target or DEFAULT_TARGET, root)
    if plans:
        _load_tables(plans, cohort_file, request)
        return
    options = options_of(_LOADERS[kind].Options, given)
    settings = {"--schema": schema, "--replace": replace, "--target": target}
    unused = [flag for flag, value in settings.items() if value not in (None, False)]
    if options.instead and unused:
        # A database is described, and another flag says that nothing is loaded.
        raise UserError(
            f"{options.instead} loads nothing into PostgreSQL, so {', '.join(unused)} would be"
            f" ignored. Leave it out, or leave {options.instead} out to load."
        )
    _LOADERS[kind].load(request, options)


load = with_options(_load, (loader.Options for loader in _LOADERS.values()))


def _load_tables(plans: list[Source], cohort_file: Path | None, request: LoadRequest) -> None:
    from rich.table import Table

    from medeval.load import load_parts
    from medeval.terminal import Terminal
    from medeval.warehouse import load_target

    parts = _parts(plans, cohort_file, request)
    target = load_target(request.target, request.root)
    table = Table("table")
    table.add_column("rows", justify="right")
    table.add_column("seconds", justify="right")
    for entry in load_parts(parts, target, replace=request.replace, say=request.say):
        name = entry.table if len(parts) == 1 else f"{entry.schema}.{entry.table}"
        table.add_row(name, f"{entry.rows:,}", f"{entry.seconds:.1f}")
    Terminal().print(table)


def _parts(plans: list[Source], cohort_file: Path | None, request: LoadRequest) -> list[Part]:
    """Return what to load of each source of a kind, and into which schema."""
    from medeval.load import Part
    from medeval.raw_files import read_cohort_file
    from medeval.sources import project_variable

    variables = ", ".join(plan.schema_variable for plan in plans)
    if request.schema is not None and len(plans) > 1:
        raise UserError(
            f"{plans[0].kind} fills {len(plans)} schemas, so --schema cannot name them: set the dbt"
            f" variables {variables} in dbt_project.yml."
        )
    named = request.place
    folders = (
        _named_folders(plans, named.expanduser(), request)
        if named
        else _default_folders(plans, request)
    )
    parts = []
    for plan in plans:
        admissions, chosen = [], None
        if plan.list_table:
            # Without a list the models select the admissions.
            chosen = cohort_file or project_variable(plan.list_variable, request.root)
        if chosen:
            admissions = read_cohort_file(Path(chosen).expanduser())
            request.say(f"The cohort is the {len(admissions):,} admissions of {chosen}.")
        schema = request.schema or str(project_variable(plan.schema_variable, request.root))
        setting = "--schema" if len(plans) == 1 else f"the dbt variable {plan.schema_variable}"
        parts.append(Part(plan, folders[plan.name], schema, admissions, setting))
    return parts


def _named_folders(
    plans: list[Source], folder: Path, request: LoadRequest
) -> dict[str, Path | None]:
    """Return where each source is if the user names one folder.

    The first source is there; the others are in it too, unless a variable names another place.
    """
    folders: dict[str, Path | None] = {plans[0].name: folder}
    for plan in plans[1:]:
        variable = plan.meta["directory_variable"]
        if named := os.environ.get(variable):
            request.say(f"{plan.name} is read from {named} ({variable}).")
            folders[plan.name] = Path(named).expanduser()
        elif plan.is_optional and not any(
            (folder / name).is_dir() for name in plan.meta["subfolders"]
        ):
            folders[plan.name] = None
        else:
            folders[plan.name] = folder
    return folders


def _default_folders(plans: list[Source], request: LoadRequest) -> dict[str, Path | None]:
    """Return the folders that the environment names, else the demo's, and say so."""
    from medeval.sources import source_place, variables_set

    metas = [plan.meta for plan in plans]
    places = {plan.name: source_place(plan.meta, metas, request.root) for plan in plans}
    for plan in plans:
        kind, variable = places[plan.name].kind, plan.meta["directory_variable"]
        if kind == "database":
            raise UserError(
                f"{plan.meta['database_variable']} is set, and load reads files: give DIR or"
                f" {variable}."
            )
        if kind == "absent" and not plan.is_optional:
            raise UserError(
                f"{', '.join(variables_set(metas))} is set and {variable} is not. Name"
                f" the folder of {plan.name} too: the demo never stands beside real data."
            )
    first = places[plans[0].name]
    if first.kind == "demo":
        variables = [meta["directory_variable"] for meta in metas]
        none = f"no {variables[0]}" if len(plans) == 1 else f"none of {', '.join(variables)}"
        request.say(f"No DIR and {none}: loading the synthetic demo, {first.location}.")
    return {
        name: None if place.kind == "absent" else Path(place.location)
        for name, place in places.items()
    }
