"""Which tasks there are: those that come along, those of other packages, those in files of users.

The module of a task is imported when its name is given: no command waits for those of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from medeval.errors import UserError
from medeval.inference.run import RUN
from medeval.tasks.options import read_options
from medeval.tasks.run_record import RunRecord
from medeval.tasks.task import AskedTask, Task

if TYPE_CHECKING:
    import typer

    from medeval.export import BenchmarkExport

# The report of a run that is scored, in its folder.
SCORES = "scores.json"
# The tasks that come along, by the names under which runs are recorded.
BUILT_IN = {
    "in_hospital_mortality": "medeval.tasks.mimic3.task:InHospitalMortality",
    "decompensation": "medeval.tasks.mimic3.task:Decompensation",
    "length_of_stay": "medeval.tasks.mimic3.task:LengthOfStay",
    "phenotyping": "medeval.tasks.mimic3.task:Phenotyping",
    "cdm": "medeval.tasks.cdm.task:CdmTask",
    "mtsamples_procedures": "medeval.tasks.mtsamples.task:MtsamplesTask",
    "yier": "medeval.tasks.yier.task:YierTask",
}
ALIASES = {
    "ihm": "in_hospital_mortality",
    "decomp": "decompensation",
    "los": "length_of_stay",
    "pheno": "phenotyping",
    "mtsamples": "mtsamples_procedures",
}
# All others are task files, in a form of their own.
TASK_FILES = "medeval.tasks.medical:MedicalTaskRun"
# Their names, where they come along.
BUNDLED = "medeval.tasks.medical:bundled"
# A task in a file of a user's.
FILE_CLASS = re.compile(r"(.*\.py):([^\W\d]\w*)", re.DOTALL)
# Tasks of other packages; each entry point names a class.
GROUP = "medeval.tasks"
# The benchmarks that the warehouse holds, each with a module `export` in its folder.
_WAREHOUSE = ("cdm", "mimic3", "mtsamples", "yier")
# What `load` knows: raw tables, as their sources declare them, and files in a form of their own:
# each of these has `Options`, whose fields are flags and whose `instead` is the flag by which
# nothing is loaded, and `load`.
RAW_KINDS = ("mimic3", "mimic4")
LOADERS = {"mtsamples": "medeval.tasks.mtsamples.download", "yier": "medeval.tasks.yier.export"}
# Commands of benchmarks, each a group under its name.
COMMANDS = {"yier": "medeval.tasks.yier.commands:app"}


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


@cache
def names() -> Mapping[str, str]:
    """Return the classes of tasks, by their names: those that come along, then installed ones."""
    installed = {one.name: one.value for one in entry_points(group=GROUP)}
    return {**BUILT_IN, **installed, **BUILT_IN}  # in this order, and none takes a name of ours


def classes() -> list[type[Task]]:
    """Return the classes of these tasks."""
    return [task_class(name) for name in names()]


def command_groups() -> dict[str, typer.Typer]:
    """Return the commands of benchmarks, by the names of their groups."""
    return {name: _found(place) for name, place in COMMANDS.items()}


def canonical_name(name: str) -> str:
    """Return a task's name as it is recorded; what names a file stays as it is."""
    folded = name.strip().replace("-", "_").lower()
    folded = ALIASES.get(folded, folded)
    return folded if folded in names() or folded in _found(BUNDLED)() else name


def is_known(name: str) -> bool:
    """Tell whether a name is that of a task or of a file that is there."""
    known = canonical_name(name)
    return known in names() or known in _found(BUNDLED)() or Path(known).exists()


def task_class(name: str) -> type[Task]:
    """Return the class of a task.

    Args:
        name: of it, as `canonical_name` returns it, or FILE.py:CLASS.

    Raises:
        UserError: a file or package that has no such class.
    """
    if of_file := FILE_CLASS.fullmatch(name):
        from medeval.inference.python_model import FileFailedError, module_of

        file, own = of_file.groups()
        try:
            found = getattr(module_of(Path(file)), own, None)
        except (OSError, ValueError, FileFailedError) as error:
            raise UserError(f"{error}.") from None
        kind = f"{file} has no class {own!r} that is a Task"
    elif name not in BUILT_IN and name in names():
        place = names()[name]
        try:
            found = _found(place)
        except (ImportError, AttributeError) as error:
            raise UserError(f"The task {name} of another package fails: {error}.") from None
        kind = f"{place}, which is installed as the task {name}, is no Task"
    else:
        return cast("type[Task]", _found(BUILT_IN.get(name, TASK_FILES)))
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise UserError(f"{kind} (see docs/adding_a_benchmark.md).")
    return found


def recorded_name(name: str) -> str:
    """Return the name under which runs of a task are recorded: its id, if a file was named.

    Raises:
        UserError: no such task.
    """
    name = canonical_name(name)
    if name in names():
        return name
    own = getattr(task_class(name), "name", None)
    return own if isinstance(own, str) else start(name, {}).name


def start(name: str, given: Mapping[str, Any]) -> AskedTask:
    """Return a task with its data and options.

    Args:
        name: of the task; hyphens count as underscores.
        given: options by name, as far as they were given.

    Raises:
        UserError: no such task, an option that it does not have, or data that cannot be read.
    """
    named = canonical_name(name)
    kind = task_class(named)
    if not issubclass(kind, AskedTask):
        return kind.start(named, None)  # says how it is answered
    return kind.start(named, read_options(kind.Options, given, named))


def resume(
    record: RunRecord, moved: Mapping[str, Any] | None = None, named: str | None = None
) -> AskedTask:
    """Return the task of a run, as it was asked there.

    Args:
        record: of the run.
        moved: options for data that are elsewhere now; None among them counts as not given.
        named: what names the task now, if that is something else than it was.

    Raises:
        UserError: its data are not there any more or are others, or its record says nothing of
            them.
    """
    named = None if named is None else canonical_name(named)
    given = {name: value for name, value in (moved or {}).items() if value is not None}
    if named is None:
        _refuse_code(record.folder, record.asked_task, record.task)
    kind = task_class(named if named and FILE_CLASS.fullmatch(named) else record.task)
    if unknown := [name for name in given if name not in kind.MOVED]:
        flag = unknown[0].replace("_", "-")
        raise UserError(f"{record.folder} is a run of {record.task}, which has no --{flag}.")
    try:
        return kind.resume(record, given, named)
    except (KeyError, TypeError):
        raise UserError(f"{record.folder} does not say how {record.task} was asked.") from None


def named_by(words: Iterable[str]) -> list[str]:
    """Return the tasks that a command line names: after `--task`, else by the folder of a run."""
    named, folders, is_next = [], [], False
    for word in words:
        flag, equals, value = word.partition("=")
        if is_next or (flag == "--task" and equals):
            named.append(canonical_name(word if is_next else value))
        elif not word.startswith("-"):
            folders.append(Path(word))
        is_next = word == "--task" and not is_next
    return named or [task for folder in folders if (task := task_of(folder))][:1]


def task_of(folder: Path) -> str | None:
    """Return the task of a run, as it is recorded; None if a folder is no run's.

    Raises:
        UserError: it is a class in a file.
    """
    try:
        record = json.loads((folder / RUN).read_bytes())
        asked_task, task = str(record.get("asked_task", "")), str(record["task"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    _refuse_code(folder, asked_task, task)
    return task


def _refuse_code(folder: Path, *names: str) -> None:
    """Stop at a record that names code: it may come from others, who may not decide what is run."""
    for name in names:
        if FILE_CLASS.fullmatch(name):
            raise UserError(
                f"{folder} is a run of {name}. Name that with --task, if this code is to be run."
            )


def benchmark_exports() -> dict[str, BenchmarkExport]:
    """Return how each benchmark is written, by name."""
    found = [_found(f"medeval.tasks.{name}.export:EXPORT") for name in _WAREHOUSE]
    return {one.name: one for one in found}


def chosen_exports(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the tasks of each benchmark that the names of `--task` mean, in their own order.

    Raises:
        UserError: a name that no benchmark has.
    """
    exports = benchmark_exports()
    known: dict[str, tuple[str, set[str]]] = {}
    for one in exports.values():
        known[one.name] = (one.name, set(one.tasks))
        known |= {task: (one.name, {task}) for task in one.tasks}
        known |= {alias: (one.name, {task}) for alias, task in one.aliases.items()}
    chosen: dict[str, set[str]] = {}
    for name in given:
        key = name.strip().lower().replace("-", "_")
        if key not in known:
            raise UserError(f"Unknown task {name!r}. Tasks: {', '.join(known)}.")
        benchmark, tasks = known[key]
        chosen.setdefault(benchmark, set()).update(tasks)
    return {
        one.name: tuple(task for task in one.tasks if task in chosen[one.name])
        for one in exports.values()
        if one.name in chosen
    }
