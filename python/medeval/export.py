"""Published tables of the warehouse as files, with a manifest of what they are and come from.

SQL has built every value and puts the rows in order; here they are only formatted and written. A
folder has complete files and a manifest, or what was there before: new files are written below
`.incomplete` in the same folder and renamed when all of them are there; the manifest is renamed
last. While files change place there is no manifest, so a folder that has one is described by it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Self

import medeval
from medeval.builds import Build, newest_build, read_source, require_named
from medeval.errors import UserError
from medeval.files import create_private, hold, make_folder, replace_file, sha256
from medeval.tasks.options import TaskOptions
from medeval.terminal import progress
from medeval.text import CREDENTIALED, OPEN, strictest
from medeval.warehouse import Row, Warehouse, flat, load_target, schema_name

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
_STAGING = ".incomplete"
_OLD = "old.json"
# Appends whole lines to a file; so many of them are data, and not its header.
Add = Callable[[bytes, int], object]


@dataclass(frozen=True)
class BenchmarkExport:
    """How one benchmark is written.

    Attributes:
        name: as in `dbt build --select <name>`; also the task name that means all of it.
        tasks: the names of its parts, in the order in which they are written.
        aliases: shorter names of the tasks.
        tables: published tables; it is built where one of them is there.
        write: writes the files, given the warehouse, the tasks that are wanted, the folder of all
            exports and the options; returns lines that say what was written.
        options: what can be chosen; its fields are flags of the command.
    """

    name: str
    tasks: tuple[str, ...]
    aliases: Mapping[str, str]
    tables: tuple[str, ...]
    write: Callable[[Warehouse, Sequence[str], Path, Any], list[str]]
    options: type[TaskOptions] = TaskOptions

    def __str__(self) -> str:
        """Return the name, with those of its parts."""
        short = {task: f" ({alias})" for alias, task in self.aliases.items()}
        parts = ", ".join(f"{task}{short.get(task, '')}" for task in self.tasks)
        return f"{self.name}, or of it {parts}" if len(self.tasks) > 1 else self.name


def lines_export(
    name: str,
    file: str,
    table: str,
    needs: Sequence[str],
    records: Callable[[Warehouse], Iterable[Mapping[str, Any]]],
    are: tuple[str, str],
    *,
    aliases: Mapping[str, str] = MappingProxyType({}),
    about: Callable[[Warehouse], dict[str, Any]] = lambda _: {},
) -> BenchmarkExport:
    """Return the export of a benchmark as one file: rows of a table as JSON objects, one a line.

    Args:
        name: of the benchmark, also of its one task.
        file: the name of the file.
        table: the published table with a row for each object.
        needs: other tables that are read.
        records: yields the objects in their order.
        are: what the rows are, and what they were made of, in words.
        aliases: other names of the task.
        about: returns what else the manifest says of them.
    """

    def write(
        warehouse: Warehouse, tasks: Sequence[str], out: Path, options: TaskOptions
    ) -> list[str]:
        """Write the file and the manifest.

        Raises:
            UserError: the tables are not there, their last build failed, or there is no row.
        """
        schema, attrition = schema_name(name), f"{name}_attrition"
        build = newest_build(warehouse, name, [table, *needs, attrition, f"{name}_data_class"])
        total = warehouse.count(schema, table)
        rows, sources = are
        if not total:
            raise UserError(f"{table} is empty; {attrition} says why.")
        with ExportFolder(out / name) as folder:
            with progress(name, lambda: total) as advance, folder.create(file, name) as add:
                for record in records(warehouse):
                    add((json.dumps(record, ensure_ascii=False) + "\n").encode(), 1)
                    advance(1)
            manifest = make_manifest(warehouse, name, build, folder, {name: None})
            more = about(warehouse)
            steps = warehouse.select(
                ["rule", "rows_removed"], schema, attrition, "order by step_number"
            )
            # Rules that took nothing are not named.
            left_out = {rule: count for rule, count in flat(steps) if count}
            manifest["tasks"][name].update(more, left_out=left_out)
            folder.publish(manifest)
        lost = "".join(f", {count:,} left out ({rule})" for rule, count in left_out.items())
        of = f" of {more['note_count']:,} {sources}" if "note_count" in more else ""
        return [
            f"{folder.folder / file}: {total:,} {rows}{of}{lost}",
            f"{folder.folder / MANIFEST}: data class {manifest['data_class']}",
        ]

    return BenchmarkExport(name, (name,), aliases, (table,), write)


class ExportFolder:
    """One export at work in its folder; use as a context manager.

    Attributes:
        folder: where the files will be.
        written: the files of this export so far, as the manifest lists them.
        previous: the manifest that describes the folder now; None if nothing does.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[dict[str, Any]] = []
        self.previous: dict[str, Any] | None = None
        self._staging = folder / _STAGING
        self._files = self._staging / "files"
        self._descriptor = -1
        # Which files are ours: an export that ended while it renamed has left two of them.
        self._lists = [folder / MANIFEST, self._staging / _OLD, self._staging / MANIFEST]

    def __enter__(self) -> Self:
        make_folder(self.folder)
        self._descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            if not hold(self._descriptor):
                raise UserError(f"Another export is writing to {self.folder}. Wait for its end.")
            self.previous = _read_list(self.folder / MANIFEST)
            # An export that did not end left its files.
            shutil.rmtree(self._files, ignore_errors=True)
            make_folder(self._files)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        # Without a manifest the lists in the staging folder alone say which files are ours.
        has_lists = any(path.exists() for path in self._lists[1:])
        is_whole = self._lists[0].exists() or not has_lists
        shutil.rmtree(self._staging if is_whole else self._files, ignore_errors=True)
        os.close(self._descriptor)

    @contextmanager
    def create(self, path: str, task: str) -> Iterator[Add]:
        """Write a file; `path` is relative to the folder, with `/`."""
        place, count = self._files / path, 0
        make_folder(place.parent)
        with create_private(place) as stream:

            def add(lines: bytes, rows: int) -> None:
                nonlocal count
                stream.write(lines)
                count += rows

            yield add
        entry = {"path": path, "task": task, "sha256": sha256(place)}
        self.written.append({**entry, "bytes": place.stat().st_size, "rows": count})

    def publish(self, manifest: dict[str, Any]) -> None:
        """Put all new files in place, remove those of earlier exports, the manifest last.

        A folder that was there before is closed to everyone but its owner, unless data are open.
        Only files that an earlier manifest of this folder lists are removed, never foreign ones.
        """
        current, old, new = self._lists
        owned = {path for listed in self._lists for path in _paths(_read_list(listed))}
        content = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
        replace_file(self._files / MANIFEST, content)
        if manifest["data_class"] != OPEN:
            self.folder.chmod(0o700)
        if current.exists():
            current.replace(old)
        for path in owned.difference(_paths(manifest)):
            (self.folder / path).unlink(missing_ok=True)
            with suppress(OSError):  # not empty: more to come, or something of somebody else
                for parent in PurePosixPath(path).parents[:-1]:
                    (self.folder / parent).rmdir()
        (self._files / MANIFEST).replace(new)
        for entry in self.written:
            place = self.folder / entry["path"]
            make_folder(place.parent)
            (self._files / entry["path"]).replace(place)
        new.replace(current)


def make_manifest(
    warehouse: Warehouse,
    benchmark: str,
    build: Build,
    folder: ExportFolder,
    orders: Mapping[str, str | None],
    *more: str,
) -> dict[str, Any]:
    """Describe the files of this export and those of an earlier one that still hold.

    Args:
        warehouse: where the rows come from.
        benchmark: its name.
        build: the dbt invocation that made the tables.
        folder: the folder with the files just written.
        orders: the row order of each task just written; None where there is no choice.
        more: `patients_md5`, where the source has patients.
    """
    source = read_source(warehouse, benchmark, *more)
    schema, counted = schema_name(benchmark), f"{benchmark}_source_tables"
    counts: list[Row] = []
    if warehouse.columns(schema, counted):
        columns = ["source_table", "row_count", "edition"]
        order = 'order by source_table collate "C"'
        counts = flat(warehouse.select(columns, schema, counted, order))
    manifest: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "benchmark": benchmark,
        "data_class": source["data_class"],
        "source": {
            "kind": build.source_kind,
            "location": build.source_location,
            "edition": source.get("edition"),
            "patients_md5": source.get("patients_md5"),
            "tables": {name: {"rows": rows, "edition": edition} for name, rows, edition in counts},
        },
        "target": warehouse.target.name,
        "build": {"invocation_id": build.invocation_id, "started_at": build.started_at},
        # A version that kept none may have built the tables.
        "settings": json.loads(build.settings or "{}"),
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
    # What an earlier export of the same build, by the same versions, left complete stays: `--task
    # ihm` and then `--task los` leave both. For another build the manifest could not vouch.
    previous, files = folder.previous, [*folder.written]
    if previous and all(previous.get(key) == value for key, value in manifest.items()):
        for task in previous["tasks"].keys() - tasks.keys():
            of_task = [file for file in previous["files"] if file["task"] == task]
            with suppress(OSError):
                if all(sha256(folder.folder / file["path"]) == file["sha256"] for file in of_task):
                    tasks[task] = previous["tasks"][task]
                    files += of_task
    manifest["tasks"] = dict(sorted(tasks.items()))
    manifest["files"] = sorted(files, key=lambda file: str(file["path"]))
    return manifest


# Manifests that are there


def _read_list(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        _paths(manifest)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        what = f"{path} is no manifest of medeval ({type(error).__name__})"
        raise UserError(f"{what}. Move it away or choose another --out.") from None
    return dict(manifest)


def _paths(manifest: Mapping[str, Any] | None) -> list[str]:
    """Return the paths that a manifest lists, all of them inside its folder."""
    paths = [str(entry["path"]) for entry in manifest["files"]] if manifest else []
    for path in paths:
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts or not parts.name:
            raise ValueError(path)
    return paths


def exported_class(file: Path, digest: str) -> str:
    """Return the class of an exported file by the manifest beside it.

    The manifest speaks of the bytes that were exported: of a file with another hash, or one that it
    does not list, nothing is known, so it is credentialed.
    """
    try:
        manifest = json.loads((file.parent / MANIFEST).read_text(encoding="utf-8"))
        hashes = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
        return strictest([manifest["data_class"] if hashes[file.name] == digest else None])
    except (OSError, ValueError, TypeError, KeyError):
        return CREDENTIALED


def export_of(folder: Path, digest: str) -> dict[str, Any]:
    """Return the manifest of an export that lists a file with a SHA-256; else nothing.

    Raises:
        UserError: the folder's manifest is none.
    """
    manifest = _read_list(folder / MANIFEST) or {}
    return manifest if digest in {file["sha256"] for file in manifest.get("files", ())} else {}


def require_named_export(folder: Path) -> None:
    """Stop where an export is of another source than the one that is named now.

    Raises:
        UserError: it is, or there is no manifest that says of which.
    """
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        kind, location = told["source"]["kind"], told["source"]["location"]
        benchmark, target = told["benchmark"], load_target(told["target"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{folder / MANIFEST} names no source. Export again.") from None
    require_named(benchmark, kind, location, target)
