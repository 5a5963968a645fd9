"""What tasks of single items have in common: one question, one reply, no conversation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from medeval.inference.guard import DataUseGuard
from medeval.inference.python_model import PythonModel
from medeval.inference.run import RunConfig, RunFolder, RunResult, run
from medeval.inference.types import Item, Model
from medeval.tasks.task import LocalModel


class ItemTask(ABC):
    """A task whose items are asked by themselves; see `AskedTask` for what each method is."""

    @abstractmethod
    def items(self, limit: int | None = None) -> Iterator[Item]:
        """Yield what is asked."""

    @abstractmethod
    def local_model(self, kind: str) -> LocalModel:
        """Return a built-in model as a function of an item."""

    def prepared(self, provider: Model) -> Self:
        """Return itself: no model has to tell anything."""
        return self

    def keep(self, folder: Path) -> list[Path]:
        """Write nothing: the file is there, and its hash is in the record."""
        return []

    def ask(
        self, provider: Model, folder: RunFolder, options: RunConfig, limit: int | None
    ) -> RunResult:
        """Ask all items that have no answer yet."""
        return run(self.items(limit), provider, folder, options)

    def local_provider(self, kind: str, gate: DataUseGuard) -> Model:
        """Return a built-in model."""
        return PythonModel(self.local_model(kind), kind, gate)
