"""The benchmarks that come along, for commands that serve every one: listed here, nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.export import BenchmarkExport

EXPORTS = (
    "medeval.tasks.cdm.export",
    "medeval.tasks.mimic3.export",
    "medeval.tasks.mtsamples.export",
    "medeval.tasks.yier.cli",
)
# What `load` knows: raw tables, as their sources declare them, and files in a form of their own.
RAW_KINDS = ("mimic3", "mimic4")
# Each of these has `Options`, a dataclass whose fields are flags of the command, as typer annotates
# them, and whose `instead` is the flag by which nothing is loaded, if that is given; and `load`.
LOADERS = {"mtsamples": "medeval.tasks.mtsamples.download", "yier": "medeval.tasks.yier.cli"}


@dataclass(frozen=True)
class LoadRequest:
    """What a user asked of `load`: the place of the files, if one is named, and the database.

    Attributes:
        place: a file or folder.
        schema: the schema to make; None takes that of the dbt variable.
        replace: replace the schema if `load` made it.
        target: of profiles.yml.
        root: the project's folder.
    """

    place: Path | None
    schema: str | None
    replace: bool
    target: str
    root: Path

    def say(self, line: str) -> None:
        """Print a line beside the results, on the error stream."""
        print(line, file=sys.stderr)


def benchmark_exports() -> dict[str, BenchmarkExport]:
    """Return how each benchmark is written, by name."""
    found = [import_module(module).EXPORT for module in EXPORTS]
    return {one.name: one for one in found}


def with_options(command: Callable[..., None], kinds: Iterable[type]) -> Callable[..., None]:
    """Give a command a flag for each field of some dataclasses, which come as its keywords."""
    own = signature(command, eval_str=True).parameters.values()
    flags = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for kind in kinds
        for name, (default, annotation) in _fields(kind).items()
    ]
    parameters = [one for one in own if one.kind is not Parameter.VAR_KEYWORD]
    command.__signature__ = Signature([*parameters, *flags])  # type: ignore[attr-defined]
    return command


def options_of(kind: type, given: Mapping[str, Any]) -> Any:
    """Return the options of one kind, of the values of all flags."""
    return kind(**{name: given[name] for name in _fields(kind)})


def flags_of(kind: type, given: Mapping[str, Any] | None = None) -> list[str]:
    """Return the flags of one kind; of given values those that are not as they are by default."""
    return [
        f"--{name.replace('_', '-')}"
        for name, (default, _) in _fields(kind).items()
        if given is None or given[name] != default
    ]


def _fields(kind: type) -> dict[str, tuple[Any, Any]]:
    """Return the default and the annotation of each option."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: (field.default, hints[field.name]) for field in fields(kind)}


def chosen_tasks(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
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
    for name in names:
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
