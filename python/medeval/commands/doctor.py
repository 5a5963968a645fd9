"""The command `doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.commands.shared_options import ENDPOINTS, AsBuilt, DbtTarget, Endpoints
from medeval.errors import UserError
from medeval.tasks.task import Check

if TYPE_CHECKING:
    from medeval.warehouse import Target


def doctor(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Check a task: gold answers must score the maximum, no answers the minimum, gold"
            " answers of other items like chance. May be repeated; all for every one that comes"
            " along."
        ),
    ] = None,
    target: DbtTarget = None,
    as_built: AsBuilt = False,
    endpoints: Endpoints = ENDPOINTS,
) -> None:
    """Say what is wrong with this set-up, or check how a task is scored; exit code 1 if anything.

    Nothing is sent anywhere.
    """
    failed = False
    for check in _task_checks(task, as_built) if task else _setup(target, endpoints, as_built):
        # Each as soon as it is made.
        print(f"{'ok  ' if check.passed else 'NOT '} {check.name}: {check.told}", flush=True)
        failed = failed or not check.passed
    if failed:
        raise typer.Exit(1)


def _task_checks(names: Sequence[str], as_built: bool) -> Iterator[Check]:
    from medeval.tasks.catalogue import all_names, begin
    from medeval.tasks.self_check import check_task

    chosen = all_names() if list(names) == ["all"] else names
    for name in chosen:
        try:
            task = begin(name, {"as_built": as_built})
        except UserError as error:
            if len(chosen) == 1:
                raise
            yield Check(f"{name}: can be asked", False, str(error))
            continue
        for check in check_task(task):
            yield Check(f"{task.name}: {check.name}", check.passed, check.told)


def _setup(target: str | None, endpoints: Path, as_built: bool) -> Iterator[Check]:
    """Yield what is found about this set-up, one thing at a time."""
    from medeval.builds import newest_build, open_built
    from medeval.registry import benchmark_exports
    from medeval.sources import project_root, variables
    from medeval.warehouse import load_target

    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("Python 3.11 or newer", sys.version_info >= (3, 11), version)
    try:
        root = project_root()
        named = [name for name in variables(root) if os.environ.get(name)]
        if not named:
            yield Check("your own data", True, "none named, so a build would read the demo")
        for name in named:
            path = Path(os.environ[name]).expanduser().resolve()
            there = path.exists()
            yield Check(f"{name} is there", there, str(path) if there else f"no {path}")
        yield _private(load_target(target, root))
        names = list(benchmark_exports())
        with open_built(" ".join(names), target, as_built=as_built) as warehouse:
            yield Check(f"target {warehouse.target.name} opens", True, warehouse.server_version())
            for name in names:
                try:
                    build = newest_build(warehouse, name)
                except UserError as error:
                    yield Check(f"{name} is built", False, str(error))
                    continue
                told = f"of {build.source_location} ({build.source_kind})"
                yield Check(f"{name} is built", True, f"{told}, started {build.started_at}")
    except UserError as error:
        yield Check("the warehouse opens", False, str(error))
    yield _endpoints(endpoints)


def _private(target: Target) -> Check:
    """Look for what others of this machine may open, where dbt and the commands write."""
    from medeval.files import exposed, exposed_warehouse

    places = {"target": "DBT_TARGET_PATH", "logs": "DBT_LOG_PATH", "runs": "", "exports": ""}
    folders = [Path(os.environ.get(variable, name)) for name, variable in places.items()]
    found = [path for folder in folders for path in exposed(folder)]
    if target.type == "duckdb":
        options = target.settings["config_options"]
        found += exposed_warehouse(target.settings["path"], options["temp_directory"])
    told = f"others may open {len(found):,} files and folders, such as {found[0]}" if found else ""
    return Check("what is written is yours only", not found, told or "mode 0600, folders 0700")


def _endpoints(path: Path) -> Check:
    from datetime import UTC, datetime

    from medeval.inference.endpoints import read_endpoints

    try:
        declared = read_endpoints(path)
    except UserError as error:
        return Check(f"{path} can be read", False, str(error))
    today = datetime.now(UTC).date()
    broken = [
        f"{address} ({', '.join(gaps)})"
        for address, endpoint in declared.items()
        if not endpoint.runs_locally and (gaps := endpoint.gaps(today))
    ]
    if broken:
        return Check("attestations hold", False, "; ".join(broken))
    count = f"{len(declared):,} declared" if declared else "none declared"
    return Check("endpoints for credentialed text", True, count)
