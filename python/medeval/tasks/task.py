"""What a run and a score need of a benchmark that is put to models."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from medeval.inference.guard import DataUseGuard
    from medeval.inference.types import Episode, Item, Model
    from medeval.judging.prompt import Subject
    from medeval.judging.rubric import Rubric
    from medeval.models.evaluation_result import EvaluationResult
    from medeval.scoring.compare import Difference
    from medeval.tasks.run_record import RunRecord

LocalModel = Callable[["Item"], str]

# Answers by simple rules, from what is asked alone.
DEMO = "demo"
# These know the gold answers, or nothing at all: what every scorer is checked with.
ORACLE = "oracle"
EMPTY = "empty"
SHUFFLED = "shuffled"


@dataclass(frozen=True)
class Method:
    """How a score and its intervals are made.

    Attributes:
        n_iters: resamples; 0 gives values only.
        seed: of the resamples.
        groupings: by what the values are shown again.
        cluster: what is drawn as one unit, if not the item.
        min_cell: groups with fewer items are not shown.
        score_version: cdm: 1 for the reference's scores, 2 for the repaired ones.
    """

    n_iters: int = 1000
    seed: int = 0
    groupings: Sequence[str] = ()
    cluster: str | None = None
    min_cell: int = 1
    score_version: int = 2


@dataclass(frozen=True)
class Table:
    """A table of a score beside its values.

    Attributes:
        title: of the table.
        columns: their names.
        rows: their cells, as they are shown.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class TaskScore:
    """The score of one run or file.

    Attributes:
        result: values, intervals and item scores, with what a reader must know in its metadata.
        headline: the metric that counts.
        warnings: in sentences.
        groups: grouping to group to metric to value; `n` stands among the metrics, and None for
            what is hidden.
        notes: in sentences, for whoever reads the tables.
        tables: further ones.
        details: tables that a report has room for, but no terminal.
        said_again: metrics that say here what others say, and are left out on a terminal.
    """

    result: EvaluationResult
    headline: str
    warnings: Sequence[str] = ()
    groups: dict[str, dict[str, dict[str, float | None]]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    details: Sequence[Table] = ()
    said_again: Sequence[str] = ()


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what.
        passed: whether it is as it must be.
        told: what was found.
    """

    name: str
    passed: bool
    told: str


class AskedTask(ABC):
    """A benchmark with its data and options, ready to be asked and scored.

    Attributes:
        name: as the command line, run records and reports call it.
        prompt_version: of the text around the items' own; part of each request's key.
        asked_as: what names the task on the command line: its name, or the file it is from.
    """

    name: str
    prompt_version: str
    asked_as: str

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what decides the questions, as `run.json` keeps it: options, hash of the data."""

    def keep(self, folder: Path) -> list[Path]:
        """Write into a run's folder what it is scored with, if that may not be had again.

        Returns:
            The files; none where the data are a file, whose hash is in the record.
        """
        return []

    @abstractmethod
    def items(self, limit: int | None = None) -> Iterator[Item]:
        """Yield what is asked, in the order of the data.

        Args:
            limit: only so many items, from the first on, each with all its samples.
        """

    @property
    def is_conversation(self) -> bool:
        """Whether what is asked next depends on a reply, so that there is no batch of prompts."""
        return False

    def can_read(self, item: Item, reply: str) -> bool:
        """Tell whether a reply without its thinking holds an answer to the item; any text may."""
        return True

    def prepared(self, provider: Model) -> Self:
        """Return the task as it is put to a model, once that has told what it takes in."""
        return self

    def samples(self, limit: int | None = None) -> Iterator[Item | Episode]:
        """Yield the items, or the conversations that they begin; see `items`."""
        yield from self.items(limit)

    @abstractmethod
    def local_provider(self, kind: str, gate: DataUseGuard) -> Model:
        """Return a built-in model: demo, oracle, empty or shuffled."""

    @abstractmethod
    def chance(self) -> float:
        """Return the mean headline score of gold answers that are given to other items."""

    @abstractmethod
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return for each metric what an oracle must score and what an empty model must score."""

    @abstractmethod
    def score(self, folder: Path, method: Method) -> TaskScore:
        """Score the answers of a run.

        Raises:
            UserError: the folder holds no run of this task with these data.
        """

    @abstractmethod
    def compare(self, first: Path, other: Any, second: Path, method: Method) -> list[Difference]:
        """Compare two runs on the items that both were asked, the headline first.

        Args:
            first: the folder of a run of this task.
            other: the task as the second run asked it; its options may differ.
            second: the folder of that run.
            method: resamples and their seed.

        Raises:
            UserError: a folder holds no run of this task with these data.
        """


class JudgedTask(AskedTask):
    """A task whose answers can be judged.

    One that cannot be scored without a judge says under `default_judge` who is to judge.
    """

    @property
    @abstractmethod
    def rubric(self) -> Rubric | None:
        """What is graded; None if the task file names no judge."""

    @abstractmethod
    def subjects(self, record: RunRecord) -> list[Subject]:
        """Return the answers of a run as judges get them."""


class ItemTask(AskedTask):
    """A task whose items are asked by themselves."""

    @abstractmethod
    def local_reply(self, item: Item, gold_of: str | None) -> str:
        """Return as a reply the gold answer of an item of this id; of None one by simple rules."""

    def local_model(self, kind: str) -> LocalModel:
        """Return a built-in model as a function of an item."""
        if kind == EMPTY:
            return lambda item: ""
        if kind == DEMO:
            return lambda item: self.local_reply(item, None)
        if kind == ORACLE:
            return lambda item: self.local_reply(item, item.id)
        # Each item gets the gold answer of another one.
        order = list(dict.fromkeys(item.id for item in self.items()))
        random.Random(0).shuffle(order)  # noqa: S311
        others = dict(zip(order, order[1:] + order[:1], strict=True))
        return lambda item: self.local_reply(item, others[item.id])

    def local_provider(self, kind: str, gate: DataUseGuard) -> Model:
        """Return a built-in model."""
        from medeval.inference.python_model import PythonModel

        return PythonModel(self.local_model(kind), kind, gate)
