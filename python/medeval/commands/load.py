"""Raw data: `synth` makes some, and `load` copies it into PostgreSQL or into Parquet."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import medeval
from medeval import sources
from medeval.commands.options import command_flags, flag, given_options
from medeval.errors import UserError
from medeval.sources import LoadRequest, Source
from medeval.tasks.registry import LOADERS, RAW_KINDS
from medeval.terminal import Terminal, say, table_of

DEFAULT_TARGET = "postgres"
_LOADERS = {kind: import_module(module) for kind, module in LOADERS.items()}


@command_flags("load", [loader.Options for loader in _LOADERS.values()])
def load(
    kind: Annotated[str, typer.Argument(help=f"The source: {', '.join([*RAW_KINDS, *_LOADERS])}.")],
    **given: Any,
) -> None:
    """Copy raw files into PostgreSQL, or write Parquet for Spark.

    All tables are there in the end, or none.
    """
    root = sources.project_root()
    of_tables = [*sources.sources(root).values()]
    plans = [plan for plan in of_tables if plan.kind == kind]
    known = sorted({*(plan.kind for plan in of_tables), *_LOADERS})
    if kind not in known:
        raise UserError(f"Unknown kind {kind!r}. load knows: {', '.join(known)}.")
    for name, loader in _LOADERS.items():
        if kind != name and (flags := [*map(flag, given_options(loader.Options, given))]):
            raise UserError(f"{' and '.join(flags)}: for {name}, not for {kind}.")
    cohort_file, target = given["cohort_file"], given["target"] or DEFAULT_TARGET
    if cohort_file is not None and not any(plan.list_table for plan in plans):
        raise UserError(f"{kind} has no list of admissions; --cohort-file is for mimic4.")
    form, parquet = given["to"] or (None, None)
    if form not in (None, "parquet"):
        raise UserError(f"--to {form}: the format is parquet.")
    if form and (ignored := [flag(name) for name in ("schema", "target") if given[name]]):
        raise UserError(f"{' and '.join(ignored)} would be ignored beside --to. Leave it out.")
    request = LoadRequest(given["folder"], given["schema"], given["replace"], target, root, parquet)
    if plans:
        _load_tables(plans, cohort_file, request)
        return
    loader = _LOADERS[kind]
    own = given_options(loader.Options, given)
    unused = [flag(name) for name in ("schema", "replace", "target", "to") if given[name]]
    if loader.INSTEAD in own and unused:
        # A database is described, and another flag says that nothing is loaded.
        instead = flag(loader.INSTEAD)
        raise UserError(
            f"{instead} loads nothing, so {', '.join(unused)} would be"
            f" ignored. Leave it out, or leave {instead} out to load."
        )
    loader.load(request, loader.Options(**own))


def _load_tables(plans: list[Source], cohort_file: Path | None, request: LoadRequest) -> None:
    from medeval.load import Part, load_parts
    from medeval.raw_files import read_cohort_file

    if request.schema is not None and len(plans) > 1:
        raise UserError(
            f"{plans[0].kind} fills {len(plans)} schemas, so --schema cannot name them: set the dbt"
            f" variables {', '.join(plan.schema_variable for plan in plans)} in dbt_project.yml."
        )
    folders, parts = _folders(plans, request), []
    for plan in plans:
        admissions: list[int] = []
        # Without a list the models select the admissions.
        if plan.list_table and (
            chosen := cohort_file or sources.project_variable(plan.list_variable, request.root)
        ):
            admissions = read_cohort_file(Path(chosen).expanduser())
            say(f"The cohort is the {len(admissions):,} admissions of {chosen}.")
        schema = request.schema or str(sources.project_variable(plan.schema_variable, request.root))
        setting = "--schema" if len(plans) == 1 else f"the dbt variable {plan.schema_variable}"
        parts.append(Part(plan, folders[plan.name], schema, admissions, setting))
    loaded = load_parts(parts, request)
    mark = "/" if request.parquet else "."
    names = [f"{one.schema}{mark}{one.table}".removeprefix("/") for one in loaded]
    rows = [
        (name, f"{one.rows:,}", f"{one.seconds:.1f}")
        for name, one in zip(names, loaded, strict=True)
    ]
    Terminal().print(table_of("what was loaded", ("table", "rows", "seconds"), rows, names=1))
    if request.parquet:
        of_sources = dict.fromkeys(
            part.plan.meta["directory_variable"] for part in parts if part.folder or part.admissions
        )
        named = " ".join(f"{variable}={request.parquet}" for variable in of_sources)
        print(f"Name it: {named}, then `dbt build --target spark`.")


def _folders(plans: list[Source], request: LoadRequest) -> dict[str, Path | None]:
    """Return where each source is, None where it is absent, and say what the user did not name.

    The first source is in the folder that the user names; the others are in it too, unless a
    variable names another place. Without a folder the variables name them, else the demo's.
    """
    metas = [plan.meta for plan in plans]
    variables = [meta["directory_variable"] for meta in metas]
    folders: dict[str, Path | None] = {}
    for plan, variable in zip(plans, variables, strict=True):
        is_first, named = plan is plans[0], os.environ.get(variable)
        if folder := request.place:
            folder = folder.expanduser()
            modules = plan.meta.get("subfolders", ())
            if named and not is_first:
                say(f"{plan.name} is read from {named} ({variable}).")
                folder = Path(named).expanduser()
            elif plan.is_optional and not any((folder / name).is_dir() for name in modules):
                folder = None
            folders[plan.name] = folder
            continue
        place = sources.source_place(plan.meta, metas, request.root)
        if place.kind == "database":
            other = plan.meta["database_variable"]
            raise UserError(f"{other} is set, and load reads files: give DIR or {variable}.")
        if place.kind == "absent" and not plan.is_optional:
            raise UserError(
                f"{', '.join(sources.variables_set(metas))} is set and {variable} is not. Name"
                f" the folder of {plan.name} too: the demo never stands beside real data."
            )
        if place.kind == "demo" and is_first:
            none = f"no {variable}" if len(plans) == 1 else f"none of {', '.join(variables)}"
            say(f"No DIR and {none}: loading the synthetic demo, {place.location}.")
        folders[plan.name] = None if place.kind == "absent" else Path(place.location)
    return folders


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
        roots.append(sources.project_root())
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
