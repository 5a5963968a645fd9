"""What tasks of single items have in common: one question, one reply, no conversation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from medeval.inference.guard import Gate
from medeval.inference.providers import Provider, PythonCallable
from medeval.inference.requests import Item
from medeval.inference.run_folder import RunFolder
from medeval.inference.runner import Ended, RunOptions, run
from medeval.tasks.task import LocalModel


class ItemTask(ABC):
    """A task whose items are asked by themselves; see `AskedTask` for what each method is."""

    @abstractmethod
    def items(self, limit: int | None = None) -> Iterator[Item]:
        """Yield what is asked."""

    @abstractmethod
    def local_model(self, kind: str) -> LocalModel:
        """Return a built-in model as a function of an item."""

    def prepared(self, provider: Provider) -> Self:
        """Return itself: no model has to tell anything."""
        return self

    def keep(self, folder: Path) -> list[Path]:
        """Write nothing: the file is there, and its hash is in the record."""
        return []

    def ask(
        self, provider: Provider, folder: RunFolder, options: RunOptions, limit: int | None
    ) -> Ended:
        """Ask all items that have no answer yet."""
        return run(self.items(limit), provider, folder, options)

    def local_provider(self, kind: str, gate: Gate) -> Provider:
        """Return a built-in model."""
        return PythonCallable(self.local_model(kind), kind, gate)
