"""Which tasks there are: those that come along, those of other packages, those in files of users.

The module of a task is imported when its name is given: no command waits for those of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.tasks.options import read_options
from medeval.tasks.run_record import RunRecord, content_of
from medeval.tasks.task import AskedTask, Task

if TYPE_CHECKING:
    from medeval.export import BenchmarkExport
    from medeval.models.about import About

# The report of a run that is scored, in its folder.
SCORES = "scores.json"
_OWN: dict[str, dict[str, str]] = toml_beside(__file__, "registry.toml")
_PLACES = ("tasks", "aliases", "loaders", "commands")
BUILT_IN, ALIASES, LOADERS, COMMANDS = (_OWN[name] for name in _PLACES)
# All others are task files, in a form of their own.
TASK_FILES = "medeval.tasks.medical:MedicalTaskRun"
# Their names, where they come along.
BUNDLED = "medeval.tasks.medical:bundled"
# A task in a file of a user's.
FILE_CLASS = re.compile(r"(.*\.py):([^\W\d]\w*)", re.DOTALL)
# Tasks of other packages; each entry point names a class.
GROUP = "medeval.tasks"
# Raw tables, as their sources declare them.
RAW_KINDS = ("mimic3", "mimic4")


@cache
def names() -> Mapping[str, str]:
    """Return the classes of tasks, by their names: those that come along, then installed ones."""
    installed = {one.name: one.value for one in entry_points(group=GROUP)}
    return {**BUILT_IN, **installed, **BUILT_IN}  # in this order, and none takes a name of ours


def classes() -> list[type[Task]]:
    """Return the classes of these tasks."""
    return [task_class(name) for name in names()]


def canonical_name(name: str) -> str:
    """Return a task's name as it is recorded; what names a file stays as it is."""
    folded = name.strip().replace("-", "_").lower()
    folded = ALIASES.get(folded, folded)
    return folded if folded in names() or folded in resolve_name(BUNDLED)() else name


def task_class(name: str) -> type[Task]:
    """Return the class of a task.

    Args:
        name: of it, as `canonical_name` returns it, or FILE.py:CLASS.

    Raises:
        UserError: a file or package that has no such class.
    """
    of_file = FILE_CLASS.fullmatch(name)
    if of_file is None and (name in BUILT_IN or name not in names()):
        own: type[Task] = resolve_name(BUILT_IN.get(name, TASK_FILES))
        return own
    from medeval.inference.python_model import module_of

    place = name if of_file else names()[name]
    try:
        found = getattr(module_of(Path(of_file[1])), of_file[2]) if of_file else resolve_name(place)
    except AttributeError:
        found = None
    except (ImportError, OSError, ValueError) as error:
        raise UserError(f"The task {name} cannot be loaded: {error}.") from None
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise UserError(f"{place} is no class that is a Task (see docs/adding_a_benchmark.md).")
    return found


def about(task_id: str) -> About:
    """Return what pages say of a task that a report names; no code of a user's file is run.

    Raises:
        UserError: its own words cannot be read.
    """
    own: type[Task] = task_class(task_id) if task_id in names() else resolve_name(TASK_FILES)
    try:
        return own.about(task_id)
    except (OSError, ValueError) as error:
        raise UserError(f"What {task_id} says of itself cannot be read: {error}") from None


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
        moved: options for data that are elsewhere now, of the task's `MOVED`.
        named: what names the task now, if that is something else than it was.

    Raises:
        UserError: its data are not there any more or are others, or its record says nothing of
            them.
    """
    if named is None:
        _refuse_code(record.folder, record.asked_task, record.task)
    else:
        named = canonical_name(named)
    kind = task_class(named if named and FILE_CLASS.fullmatch(named) else record.task)
    try:
        return kind.resume(record, moved or {}, named)
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
    record = content_of(folder)
    if "task" not in record:
        return None
    task = str(record["task"])
    _refuse_code(folder, str(record.get("asked_task", "")), task)
    return task


def _refuse_code(folder: Path, *names: str) -> None:
    """Stop at a record that names code: it may come from others, who may not decide what is run."""
    if code := [name for name in names if FILE_CLASS.fullmatch(name)]:
        raise UserError(
            f"{folder} is a run of {code[0]}. Name that with --task, if this code is to be run."
        )


def benchmark_exports() -> dict[str, BenchmarkExport]:
    """Return how each benchmark is written, by name."""
    return {name: resolve_name(place) for name, place in _OWN["exports"].items()}


def chosen_exports(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the tasks of each benchmark that the names of `--task` mean, in their own order.

    Raises:
        UserError: a name that no benchmark has.
    """
    # Each word, and the tasks that it means.
    known: dict[str, Set[str]] = {}
    exports = benchmark_exports()
    for name, one in exports.items():
        known |= {name: {*one.tasks}, **{task: {task} for task in one.tasks}}
        known |= {alias: {task} for alias, task in one.aliases.items()}
    chosen = set[str]()
    for word in given:
        if (key := word.strip().lower().replace("-", "_")) not in known:
            raise UserError(f"Unknown task {word!r}. Tasks: {', '.join(known)}.")
        chosen |= known[key]
    of_each = {name: tuple(filter(chosen.__contains__, one.tasks)) for name, one in exports.items()}
    return {name: tasks for name, tasks in of_each.items() if tasks}
