"""What every benchmark tells the export about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from medeval.exporting.ordering import Layout, Order
from medeval.warehouse import Warehouse


@dataclass(frozen=True)
class Request:
    """What a user asked of one floor."""

    tasks: tuple[str, ...]
    out: Path
    order: Order
    timeseries: bool
    layout: Layout


@dataclass(frozen=True)
class Floor:
    """One benchmark: its folder in models/, its tasks, and how it is written.

    Attributes:
        name: as in `dbt build --select <name>`; also the task name that means all of it.
        tasks: the names of its parts, in the order in which they are written.
        aliases: shorter names of the tasks.
        is_built: tells whether the warehouse has its published tables.
        export: writes the files; returns lines that tell the user what was written.
    """

    name: str
    tasks: tuple[str, ...]
    aliases: Mapping[str, str]
    is_built: Callable[[Warehouse], bool]
    export: Callable[[Warehouse, Request], list[str]]


def build_command(floor: str, target: str) -> str:
    """Return the command that builds a floor, as messages show it."""
    return f"dbt build --select {floor} --target {target}"
