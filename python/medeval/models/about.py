"""What a benchmark says of itself to the readers of its results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from pydantic import BaseModel


class MetricAbout(BaseModel, frozen=True, extra="forbid"):
    """A metric as a glossary has it.

    Attributes:
        meaning: one sentence.
        range: from its worst to its best value, or what it counts.
        right: what is the case where an item scores 1 ("the diagnosis is right"), of a metric that
            is 0 or 1 for each; so its value can be told as a count.
    """

    meaning: str
    range: str = "0 to 1"
    right: str = ""


class SourceRows(BaseModel, frozen=True, extra="forbid"):
    """Where to find which rows of a source an item is made of.

    Attributes:
        source: the source's table.
        table: the published table with their names.
        mode: of the exports that show them; empty for all.
        names: its columns that name them; the item is in the column `item` of the benchmark.
    """

    source: str
    table: str
    names: tuple[str, ...]
    mode: str = ""


class About(BaseModel, frozen=True, extra="forbid"):
    """A benchmark as pages name it.

    Attributes:
        title: its name as papers have it; empty where only its task is known.
        unit: what its samples are, in the plural.
        methods: sentences for a paper: what a model is given, and how answers are scored.
        metrics: its glossary; `*` in a name stands for anything.
        bibtex: entries of the benchmark and its data.
        benchmark: whose published tables its items are rows of; empty where they are in a file.
        item: the column of these tables that names an item.
        sources: the rows of the source that an item is made of.
    """

    title: str = ""
    unit: str = "items"
    methods: str = ""
    metrics: Mapping[str, MetricAbout] = {}
    bibtex: str = ""
    benchmark: str = ""
    item: str = ""
    sources: tuple[SourceRows, ...] = ()

    @classmethod
    def read(cls, file: Path, task: str) -> Self:
        """Read a file, whose section `tasks.<name>` says what is the task's own.

        Raises:
            ValueError: it is no such file.
        """
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        return cls.model_validate(told | told.pop("tasks", {}).get(task, {}))

    def metric(self, name: str) -> MetricAbout | None:
        """Return what the glossary has of a metric."""
        fits = (one for pattern, one in self.metrics.items() if fnmatchcase(name, pattern))
        return self.metrics.get(name) or next(fits, None)
