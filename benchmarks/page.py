"""Results as titled tables of text, for the terminal and for a page of the documentation alike."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.kept import Kept, Setting

Results = TypeVar("Results", bound=Kept)


@dataclass
class Section:
    """A heading, a sentence, and a table."""

    title: str
    text: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def markdown(self) -> str:
        """Return it as a part of a page."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        text = textwrap.fill(self.text, 100, break_on_hyphens=False)
        return "\n\n".join(filter(None, [f"## {self.title}", text, table])) + "\n"


@dataclass(frozen=True)
class Page(Generic[Results]):
    """One benchmark's page.

    Attributes:
        head: what was measured, and beside what.
        sections: the tables of the results; those without rows are left out.
        tail: how to measure again.
    """

    head: str
    sections: Callable[[Results], Sequence[Section]]
    tail: str

    def markdown(self, results: Results) -> str:
        """Return the page."""
        blocks = [section.markdown() for section in self._filled(results)]
        return "\n".join([self.head, *blocks, self.tail])

    def show(self, results: Results, console: Console) -> None:
        """Print the tables."""
        for section in self._filled(results):
            table = Table(*section.columns, title=section.title, box=box.SIMPLE)
            for row in section.rows:
                table.add_row(*row)
            console.print(table)

    def _filled(self, results: Results) -> list[Section]:
        return [section for section in self.sections(results) if section.rows]


def where_and_when(settings: Mapping[str, Setting], column: str = "part") -> Section:
    """Name the machine, the versions and the day of each part."""
    section = Section("Where and when", "", [column, "date", "machine", "versions"])
    for name, at in settings.items():
        machine = f"{at.cores} cores, {at.memory_gb} GB, {at.system}"
        versions = ", ".join(f"{package} {number}" for package, number in at.versions.items())
        section.rows.append([name, at.date, machine, versions])
    return section
