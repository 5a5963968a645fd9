"""The command `export`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from medeval.builds import build_command, newest_build, open_built, untested
from medeval.commands.options import command_flags, flag, given_options
from medeval.errors import UserError, os_error_as
from medeval.export import MANIFEST
from medeval.tasks.options import parse_arguments
from medeval.tasks.registry import benchmark_exports, chosen_exports
from medeval.terminal import warn
from medeval.warehouse import Warehouse, schema_name

_EXPORTS = benchmark_exports()
STANDARD_OUTPUT = Path("-")


@command_flags("export", [one.options for one in _EXPORTS.values()])
def export(
    task: Annotated[
        list[str] | None,
        typer.Option(
            help=f"What to write: {', '.join(map(str, _EXPORTS.values()))}. May be repeated;"
            " without it everything that is built."
        ),
    ] = None,
    **given: Any,
) -> None:
    """Write the published tables as files, with a manifest.

    It holds the hashes of the files and where their rows come from.
    """
    out, target = given["out"], given["target"]
    own = {name: given_options(one.options, given) for name, one in _EXPORTS.items()}
    options = {name: _EXPORTS[name].options(**of_one) for name, of_one in own.items()}
    if given["format"] is not None:
        _write_tasks(task or [], given)
        return
    chosen = chosen_exports(task or [])
    if out == STANDARD_OUTPUT and [len(tasks) for tasks in chosen.values()] != [1]:
        raise UserError("--out - takes one task: name it with --task, or name a folder.")
    with open_built(" ".join(chosen or _EXPORTS), target, as_built=given["as_built"]) as warehouse:
        if not chosen:
            for name, one in _EXPORTS.items():
                schema, command = schema_name(name), build_command(name, warehouse.target.name)
                if any(warehouse.columns(schema, table) for table in one.tables):
                    chosen[name] = one.tasks
                else:
                    warn(f"{name} is not built, left out ({command})")
            if not chosen:
                command = build_command(" ".join(_EXPORTS), warehouse.target.name)
                raise UserError(f"Nothing is built yet ({', '.join(_EXPORTS)}). Run `{command}`.")
        for name in [one for one in _EXPORTS if one not in chosen]:
            if flags := [flag(one) for one in own[name] if one != "as_built"]:
                what = f"for {name} only; this would write {', '.join(chosen)}."
                raise UserError(f"{', '.join(flags)}: {what}")
        # All are looked at before the first is written.
        builds = {name: newest_build(warehouse, name) for name in chosen}
        told = {name: untested(name, build, warehouse.target) for name, build in builds.items()}
        if given["strict"] and any(told.values()):
            raise UserError(" ".join(filter(None, told.values())))
        for name, tasks in chosen.items():
            with os_error_as("Cannot write {file}: {why}.", out):
                if out == STANDARD_OUTPUT:
                    _print_file(warehouse, name, tasks, options[name])
                else:
                    print("\n".join(_EXPORTS[name].write(warehouse, tasks, out, options[name])))
            if told[name]:
                warn(told[name])


def _write_tasks(names: list[str], given: dict[str, Any]) -> None:
    """Write folders of tasks for the runner of others that `--format` names.

    Raises:
        UserError: no task, no such runner, or one that is not installed.
    """
    if given["format"] != "lm-eval":
        raise UserError(f"--format {given['format']}: there is lm-eval.")
    if not names:
        raise UserError("--format lm-eval: name the tasks with --task.")
    from medeval.adapters.lm_eval import write_task

    options = parse_arguments(None, given["task_option"] or ())
    for name in names:
        place = write_task(name, options, given["out"], given["base_url"], given["endpoints"])
        print(f"lm_eval --include_path {given['out']} --tasks {place.name}")


def _print_file(warehouse: Warehouse, name: str, tasks: tuple[str, ...], options: Any) -> None:
    """Write the one file of an export to standard output, and what it is to standard error.

    Raises:
        UserError: the export is several files.
    """
    with tempfile.TemporaryDirectory(prefix="medeval-") as folder:
        _EXPORTS[name].write(warehouse, tasks, Path(folder), options)
        (place,) = Path(folder).iterdir()
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        if len(files) != 1:
            names = ", ".join(file["path"] for file in files[:3])
            raise UserError(
                f"--out - takes an export of one file; {tasks[0]} is {len(files)} files ({names}"
                f"{', …' if files[3:] else ''}). Name a folder."
            )
        with (place / files[0]["path"]).open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
        warn(f"{files[0]['path']}: {files[0]['rows']:,} rows, data class {manifest['data_class']}")
