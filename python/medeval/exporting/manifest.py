"""manifest.json: what the files of an export are, and where they come from."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import medeval
from medeval.data_class import CREDENTIALED, strictest
from medeval.exporting.builds import Build
from medeval.exporting.files import MANIFEST, ExportFolder
from medeval.exporting.ordering import Order
from medeval.warehouse import Warehouse, flat, schema_name

SCHEMA_VERSION = 1


def read_source(warehouse: Warehouse, floor: str, *more: str) -> dict[str, Any]:
    """Return `data_class`, `edition` and further columns of what is said of a floor's source.

    Whatever is not plainly `open` is credentialed; no option changes that.

    Raises:
        UserError: the floor was built before it said so.
    """
    table, columns = f"{floor}_data_class", ["data_class", "edition", *more]
    rows = flat(warehouse.select(columns, schema_name(floor), table))
    found = dict(zip(columns, rows[0], strict=True)) if len(rows) == 1 else {}
    return {**found, "data_class": strictest([found.get("data_class")])}


def _row_counts(warehouse: Warehouse, floor: str) -> dict[str, dict[str, Any]]:
    """Return the rows and the edition of each source table, where a floor counts them."""
    schema, counted = schema_name(floor), f"{floor}_source_tables"
    if not warehouse.relation_exists(schema, counted):
        return {}
    columns = ["source_table", "row_count", "edition"]
    tables = flat(warehouse.select(columns, schema, counted, 'order by source_table collate "C"'))
    return {name: {"rows": rows, "edition": edition} for name, rows, edition in tables}


def exported_class(file: Path, sha256: str) -> str:
    """Return the class of an exported file by the manifest beside it.

    The manifest speaks of the bytes that were exported: of a file with another hash, or one that it
    does not list, nothing is known, so it is credentialed.
    """
    try:
        manifest = json.loads((file.parent / MANIFEST).read_text(encoding="utf-8"))
        hashes = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
        return strictest([manifest["data_class"] if hashes[file.name] == sha256 else None])
    except (OSError, ValueError, TypeError, KeyError):
        return CREDENTIALED


def make_manifest(
    warehouse: Warehouse,
    floor: str,
    build: Build,
    folder: ExportFolder,
    orders: dict[str, Order | None],
    *more: str,
) -> dict[str, Any]:
    """Describe the files of this export and those of an earlier one that still hold.

    Args:
        warehouse: where the rows come from.
        floor: the benchmark.
        build: the dbt invocation that made the tables.
        folder: the folder with the files just written.
        orders: the row order of each task just written; None where there is no choice.
        more: `patients_md5`, where the source has patients.
    """
    source = read_source(warehouse, floor, *more)
    manifest: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "benchmark": floor,
        "data_class": source["data_class"],
        "source": {
            "kind": build.source_kind,
            "location": build.source_location,
            "edition": source.get("edition"),
            "patients_md5": source.get("patients_md5"),
            "tables": _row_counts(warehouse, floor),
        },
        "target": warehouse.target.name,
        "build": {"invocation_id": build.invocation_id, "started_at": build.started_at},
        "settings": _settings(build),
        "tests": build.tests or "not run",
        "versions": {
            "medeval": medeval.__version__,
            "project": build.project_version,
            "dbt": build.dbt_version,
            "python": platform.python_version(),
            warehouse.target.type: warehouse.server_version(),
        },
    }
    tasks = {task: {"order": order} for task, order in orders.items()}
    files = [asdict(file) for file in folder.written]
    kept_tasks, kept_files = _still_valid(folder, manifest, set(tasks))
    manifest["tasks"] = dict(sorted((kept_tasks | tasks).items()))
    manifest["files"] = sorted(kept_files + files, key=lambda file: str(file["path"]))
    return manifest


def _settings(build: Build) -> dict[str, Any]:
    """Return the variables of a build; none of one by a version that kept them as a text."""
    try:
        found: dict[str, Any] = json.loads(build.settings)
    except ValueError:
        return {}
    return found


def _still_valid(
    folder: ExportFolder, manifest: dict[str, Any], rewritten: set[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what an earlier export of the same build, by the same versions, left complete.

    So `--task ihm` and then `--task los` leave both; after another `dbt build` the first is gone,
    because the manifest could not vouch for it.
    """
    previous = folder.previous
    if previous is None or any(previous.get(key) != value for key, value in manifest.items()):
        return {}, []
    tasks: dict[str, Any] = {}
    files: list[dict[str, Any]] = []
    for task, settings in previous["tasks"].items():
        of_task = [file for file in previous["files"] if file["task"] == task]
        if task not in rewritten and all(
            folder.is_intact(file["path"], file["sha256"]) for file in of_task
        ):
            tasks[task] = settings
            files += of_task
    return tasks, files
