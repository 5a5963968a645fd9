"""The commands that look: what is wrong (`doctor`), and what there is (`tasks`, `models`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from medeval.builds import open_built, recorded_build
from medeval.errors import UserError
from medeval.files import exposed, exposed_warehouse
from medeval.inference.guard import read_endpoints
from medeval.sources import project_root, variables
from medeval.tasks import registry
from medeval.tasks.task import DEMO, Check
from medeval.terminal import print_json, show_results, table_of
from medeval.warehouse import load_target

# Where dbt and the commands write, each with the variable that names another place.
_PLACES = {"target": "DBT_TARGET_PATH", "logs": "DBT_LOG_PATH", "runs": "", "exports": ""}


def doctor(**given: Any) -> None:
    """Say what is wrong with this set-up or a task's score.

    Exit code 1 if anything is. Nothing is sent anywhere.
    """
    found = []
    for check in _task_checks(given) if given["task"] else _setup(given):
        found.append(check)
        if not given["json"]:
            # Each as soon as it is made.
            print(f"{'ok  ' if check.passed else 'NOT '} {check.name}: {check.told}", flush=True)
    if given["json"]:
        print_json([asdict(check) for check in found])
    if not all(check.passed for check in found):
        raise typer.Exit(1)


def _task_checks(given: Mapping[str, Any]) -> Iterator[Check]:
    from medeval.tasks.medical import bundled

    names = given["task"]
    for named in [*registry.names(), *bundled()] if names == ["all"] else names:
        name = registry.canonical_name(named)
        if name not in (*registry.names(), *bundled()) and not Path(name).exists():
            registry.start(named, {})  # says what there is
        try:
            recorded = registry.recorded_name(name)
            for check in registry.task_class(name).self_check(name, given["as_built"]):
                yield replace(check, name=f"{recorded}: {check.name}")
        except UserError as error:
            yield Check(f"{named}: can be evaluated", False, str(error))


def _setup(given: Mapping[str, Any]) -> Iterator[Check]:
    """Yield what is found about this set-up, one thing at a time."""
    target, endpoints, as_built = (given[name] for name in ("target", "endpoints", "as_built"))
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
        folders = [Path(os.environ.get(variable, name)) for name, variable in _PLACES.items()]
        found = [path for folder in folders for path in exposed(folder)]
        opened = load_target(target, root)
        if opened.type == "duckdb":
            options = opened.settings["config_options"]
            found += exposed_warehouse(opened.settings["path"], options["temp_directory"])
        told = "mode 0600, folders 0700"
        if found:
            told = f"others may open {len(found):,} files and folders, such as {found[0]}"
        yield Check("what is written is yours only", not found, told)
        names = list(registry.benchmark_exports())
        with open_built(" ".join(names), target, as_built=as_built) as warehouse:
            yield Check(f"target {warehouse.target.name} opens", True, warehouse.server_version())
            for name in names:
                try:
                    build = recorded_build(warehouse, name)
                except UserError as error:
                    yield Check(f"{name} is built", False, str(error))
                    continue
                told = f"of {build.source_location} ({build.source_kind})"
                yield Check(f"{name} is built", True, f"{told}, started {build.started_at}")
    except UserError as error:
        yield Check("the warehouse opens", False, str(error))
    try:
        declared = _declared(endpoints)
    except UserError as error:
        yield Check(f"{endpoints} can be read", False, str(error))
        return
    broken = [f"{address} ({', '.join(gaps)})" for address, _, gaps in declared if gaps]
    told = f"{len(declared):,} declared" if declared else "none declared"
    name = "attestations hold" if broken else "endpoints for credentialed text"
    yield Check(name, not broken, "; ".join(broken) or told)


def _declared(endpoints: Path) -> list[tuple[str, bool, list[str]]]:
    """Return each declared endpoint: address, whether it is local, what its attestation lacks."""
    today = datetime.now(UTC).date()
    return [
        (address, one.runs_locally, [] if one.runs_locally else one.gaps(today))
        for address, one in read_endpoints(endpoints).items()
    ]


def tasks(**given: Any) -> None:
    """List the tasks, with what each is scored by."""
    from medeval.evaluation.task_registry import TaskRegistry

    keys = ("task", "aliases", "answered_by", "scored_by", "items")
    rows: list[tuple[str, list[str], str, str, int | None]] = []
    for name in registry.names():
        task = registry.task_class(name)
        aliases = [alias for alias, own in registry.ALIASES.items() if own == name]
        rows.append((name, aliases, task.answered_by, task.scored_by, None))
    rows += [
        (one.task_id, [], "run", ", ".join(one.metrics), one.num_examples)
        for one in TaskRegistry().list_available()
    ]
    cells = [
        (", ".join([name, *aliases]), by, metrics, "" if items is None else f"{items:,}")
        for name, aliases, by, metrics, items in rows
    ]
    show_results(
        [table_of("tasks", ("task", "answered by", "scored by", "items"), cells)],
        ["A task file of your own is named by its path: `run --task my_task.yaml`."],
        content=[dict(zip(keys, row, strict=True)) for row in rows],
        as_json=given["json"],
    )


def models(**given: Any) -> None:
    """List the built-in models and the declared endpoints."""
    endpoints = given["endpoints"]
    baselines = dict.fromkeys(name for task in registry.classes() for name in task.BASELINES)
    rows = [
        (DEMO, "run: rules in this process, no network; shows the way, says nothing more"),
        ("FILE.py:FUNCTION", "run: your function, from the messages to the reply"),
        ("any name", "run: the model of an endpoint, --base-url"),
        *((name, "predict: a baseline of the ICU tasks") for name in baselines),
    ]
    states = []
    for address, is_local, gaps in _declared(endpoints):
        may = f"may go ({'local' if is_local else 'attested'})"
        states.append((address, f"refused: {', '.join(gaps)}" if gaps else may))
    title, columns = f"endpoints declared in {endpoints}", ("address", "credentialed text")
    none = f"{endpoints} declares no endpoint: credentialed text stays in this process."
    tables = [table_of("models", ("model", "for"), rows), table_of(title, columns, states)]
    content = {
        "models": [{"model": model, "for": use} for model, use in rows],
        "endpoints": [{"address": at, "credentialed_text": may} for at, may in states],
    }
    told = (tables, []) if states else (tables[:1], [none])
    show_results(*told, content=content, as_json=given["json"])
