"""The command `load`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.load import Part
    from medeval.sources import Source

COHORT_VARIABLE = "cdm_cohort_file"
DEFAULT_TARGET = "postgres"


def load(
    kind: Annotated[str, typer.Argument(help="The source: mimic3, mimic4, mtsamples or yier.")],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="For yier a file of questions; for mtsamples a folder of .txt files or a .jsonl or"
            " .jsonl.gz file. Else its files (.csv, .csv.gz, .parquet); for mimic4 the folder with"
            " hosp/, note/ and, if there are any, note_extract/. Default: what the variables"
            " name (MEDEVAL_MIMIC3_DIR; MEDEVAL_MIMIC4_DIR, MEDEVAL_MIMIC4_NOTE_DIR and"
            " MEDEVAL_CDM_EXTRACT_DIR; MEDEVAL_MTSAMPLES; MEDEVAL_YIER), or the demo.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            help="The schema to make, for a kind of one. Default: the dbt variable (mimic3_schema)."
        ),
    ] = None,
    cohort_file: Annotated[
        Path | None,
        typer.Option(
            help="mimic4: the admissions of the benchmark, one hadm_id a line. Default: the dbt"
            " variable cdm_cohort_file."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="yier: write clean JSON Lines to this file, for MEDEVAL_YIER, and load nothing."
        ),
    ] = None,
    download: Annotated[
        bool,
        typer.Option(
            "--download",
            help="mtsamples: get the public notes into the cache folder, and load nothing.",
        ),
    ] = False,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            help="mtsamples: the cache folder to load from, or to fill. Default with --download:"
            " MTSAMPLES_PROCEDURES_CACHE_DIR, else ~/.cache/mtsamples_procedures."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the schemas if `load` made them.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(help=f"The PostgreSQL target of profiles.yml. Default: {DEFAULT_TARGET}."),
    ] = None,
) -> None:
    """Copy raw files into PostgreSQL: every table in one transaction, or nothing."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table

    from medeval.load import load_parts
    from medeval.profile import load_target, project_root
    from medeval.sources import load_kinds
    from medeval.terminal import Terminal

    root = project_root()
    kinds = load_kinds(root)
    known = sorted([*kinds, "mtsamples", "yier"])
    if kind not in known:
        raise UserError(f"Unknown kind {kind!r}. load knows: {', '.join(known)}.")
    if kind != "mtsamples" and (download or cache_dir is not None):
        raise UserError(f"--download and --cache-dir are for mtsamples, not for {kind}.")
    if kind != "yier" and out is not None:
        raise UserError(f"--out is for yier; {kind} is loaded into PostgreSQL.")
    if kind in ("mtsamples", "yier") and cohort_file is not None:
        raise UserError(f"{kind} has no list of admissions; --cohort-file is for mimic4.")
    if download or out is not None:
        _refuse_settings_of_a_load("--download" if download else "--out", schema, replace, target)
    target = target or DEFAULT_TARGET
    if kind == "yier":
        from medeval.commands.load_yier import clean_file, load_file

        if out is not None:
            clean_file(folder, out, root)
        else:
            load_file(folder, schema, replace, target, root)
        return
    if kind == "mtsamples":
        from medeval.commands.load_mtsamples import download_notes, load_notes

        if download:
            download_notes(folder, cache_dir)
        else:
            load_notes(folder, cache_dir, schema, replace, target, root)
        return
    parts = _parts(kinds[kind], folder, schema, cohort_file, root)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Terminal(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with progress:
        bar = progress.add_task(kind, total=None)
        loaded = load_parts(
            parts,
            load_target(target, root),
            replace=replace,
            say=say,
            watch=lambda table, done, total: progress.update(
                bar, description=table, completed=done, total=total
            ),
        )
    table = Table("table")
    table.add_column("rows", justify="right")
    table.add_column("seconds", justify="right")
    for entry in loaded:
        name = entry.table if len(parts) == 1 else f"{entry.schema}.{entry.table}"
        table.add_row(name, f"{entry.rows:,}", f"{entry.seconds:.1f}")
    Terminal().print(table)


def _refuse_settings_of_a_load(
    instead: str, schema: str | None, replace: bool, target: str | None
) -> None:
    """Stop where a database is described and another flag says that nothing is loaded."""
    given = {"--schema": schema is not None, "--replace": replace, "--target": target is not None}
    unused = ", ".join(flag for flag, is_given in given.items() if is_given)
    if unused:
        raise UserError(
            f"{instead} loads nothing into PostgreSQL, so {unused} would be ignored. Leave it out,"
            f" or leave {instead} out to load."
        )


def _parts(
    plans: list[Source],
    folder: Path | None,
    schema: str | None,
    cohort_file: Path | None,
    root: Path,
) -> list[Part]:
    """Return what to load of each source of a kind, and into which schema."""
    from medeval.load import Part
    from medeval.profile import project_variable

    variables = ", ".join(plan.schema_variable for plan in plans)
    if schema is not None and len(plans) > 1:
        raise UserError(
            f"{plans[0].kind} fills {len(plans)} schemas, so --schema cannot name them: set the dbt"
            f" variables {variables} in dbt_project.yml."
        )
    if cohort_file is not None and not any(plan.list_table for plan in plans):
        raise UserError(f"{plans[0].kind} has no list of admissions; --cohort-file is for mimic4.")
    folders = (
        _named_folders(plans, folder.expanduser()) if folder else _default_folders(plans, root)
    )
    return [
        Part(
            plan,
            folders[plan.name],
            schema or str(project_variable(plan.schema_variable, root)),
            _admissions(cohort_file, root) if plan.list_table else (),
            "--schema" if len(plans) == 1 else f"the dbt variable {plan.schema_variable}",
        )
        for plan in plans
    ]


def _admissions(cohort_file: Path | None, root: Path) -> Sequence[int]:
    """Return the user's list of admissions; nothing lets the models select them."""
    from medeval.cohort_file import read_cohort_file
    from medeval.profile import project_variable

    chosen = cohort_file or project_variable(COHORT_VARIABLE, root)
    if not chosen:
        return ()
    admissions = read_cohort_file(Path(chosen).expanduser())
    say(f"The cohort is the {len(admissions):,} admissions of {chosen}.")
    return admissions


def _named_folders(plans: list[Source], folder: Path) -> dict[str, Path | None]:
    """Return where each source is if the user names one folder.

    The first source is there; the others are in it too, unless a variable names another place.
    """
    folders: dict[str, Path | None] = {plans[0].name: folder}
    for plan in plans[1:]:
        named = os.environ.get(plan.folder_variable)
        if named:
            say(f"{plan.name} is read from {named} ({plan.folder_variable}).")
            folders[plan.name] = Path(named).expanduser()
        elif plan.is_optional and not any((folder / name).is_dir() for name in plan.subfolders):
            folders[plan.name] = None
        else:
            folders[plan.name] = folder
    return folders


def _default_folders(plans: list[Source], root: Path) -> dict[str, Path | None]:
    """Return the folders that the environment names, else the demo's, and say so."""
    named = {plan.name: os.environ.get(plan.folder_variable) for plan in plans}
    for plan in plans:
        if not named[plan.name] and os.environ.get(plan.database_variable or "-"):
            # Real and synthetic rows do not mix: with a real source named, no demo stands in.
            raise UserError(
                f"{plan.database_variable} is set, and load reads files: give DIR or "
                f"{plan.folder_variable}."
            )
    if not any(named.values()):
        return _demo_folders(plans, root)
    folders: dict[str, Path | None] = {}
    for plan in plans:
        place = named[plan.name]
        if not place and not plan.is_optional:
            others = ", ".join(other.folder_variable for other in plans if named[other.name])
            raise UserError(
                f"{others} is set and {plan.folder_variable} is not. Name the folder of"
                f" {plan.name} too: the demo never stands beside real data."
            )
        folders[plan.name] = Path(place).expanduser() if place else None
    return folders


def _demo_folders(plans: list[Source], root: Path) -> dict[str, Path | None]:
    variables = [plan.folder_variable for plan in plans]
    none = f"no {variables[0]}" if len(plans) == 1 else f"none of {', '.join(variables)}"
    say(f"No DIR and {none}: loading the synthetic demo, {root / plans[0].demo}.")
    return {plan.name: root / plan.demo if plan.demo else None for plan in plans}


def say(line: str) -> None:
    """Print a line beside the results, on the error stream."""
    print(line, file=sys.stderr)
