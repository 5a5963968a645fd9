"""What `doctor` looks at without a task: the target, what is built in it, the declarations."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from medeval.errors import UserError
from medeval.files import exposed, exposed_warehouse
from medeval.tasks.self_check import Check

if TYPE_CHECKING:
    from medeval.warehouse import Target, Warehouse


def setup_checks(target: str | None, endpoints: Path, as_built: bool) -> Iterator[Check]:
    """Yield what is found about this set-up, one thing at a time."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("Python 3.11 or newer", sys.version_info >= (3, 11), version)
    yield from _warehouse(target, as_built)
    yield _endpoints(endpoints)


def _data(root: Path) -> Iterator[Check]:
    from medeval.sources import real_path, variables

    named = [name for name in variables(root) if os.environ.get(name)]
    if not named:
        yield Check("your own data", True, "none named, so a build would read the demo")
    for name in named:
        path = Path(real_path(os.environ[name]))
        there = path.exists()
        yield Check(f"{name} is there", there, str(path) if there else f"no {path}")


def _warehouse(target: str | None, as_built: bool) -> Iterator[Check]:
    from medeval.builds import open_built
    from medeval.registry import benchmark_exports
    from medeval.sources import project_root
    from medeval.warehouse import load_target

    try:
        root = project_root()
        yield from _data(root)
        yield _private(load_target(target, root))
        names = list(benchmark_exports())
        with open_built(" ".join(names), target, as_built=as_built) as warehouse:
            yield Check(f"target {warehouse.target.name} opens", True, warehouse.server_version())
            for name in names:
                yield _floor(warehouse, name)
    except UserError as error:
        yield Check("the warehouse opens", False, str(error))


def _private(target: Target) -> Check:
    """Look for what others of this machine may open, where dbt and the commands write."""
    places = {"target": "DBT_TARGET_PATH", "logs": "DBT_LOG_PATH", "runs": "", "exports": ""}
    folders = [Path(os.environ.get(variable, name)) for name, variable in places.items()]
    found = [path for folder in folders for path in exposed(folder)]
    if target.type == "duckdb":
        options = target.settings["config_options"]
        found += exposed_warehouse(target.settings["path"], options["temp_directory"])
    told = f"others may open {len(found):,} files and folders, such as {found[0]}" if found else ""
    return Check("what is written is yours only", not found, told or "mode 0600, folders 0700")


def _floor(warehouse: Warehouse, name: str) -> Check:
    from medeval.builds import newest_build

    try:
        build = newest_build(warehouse, name)
    except UserError as error:
        return Check(f"{name} is built", False, str(error))
    told = f"of {build.source_location} ({build.source_kind}), started {build.started_at}"
    return Check(f"{name} is built", True, told)


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
