"""What a metric is: a score per item, or a record per item from which one value is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from medeval.metrics.item import Item

Direction = Literal["higher", "lower", "neither"]
Pool = Callable[[Mapping[Any, int]], float | None]


@dataclass(frozen=True)
class Metric:
    """A metric with all that a table of results says about it.

    Attributes:
        name: as it is called in task files and reports.
        description: one phrase, without a full stop.
        record: what one item contributes, None where the metric is undefined for it. The item's
            score, unless there is a `pool`.
        undefined: when an item has no record.
        binary: every score is 0 or 1.
        direction: which way is better.
        pool: makes the value from counts of records; by default it is the mean of the scores.
    """

    name: str
    description: str
    record: Callable[[Item], Any]
    undefined: str
    binary: bool = False
    direction: Direction = "higher"
    pool: Pool | None = None

    def item_scores(self, items: Iterable[Item]) -> list[float | None]:
        """Return the score of each item; all None for a metric of the whole task."""
        return [self.record(item) if self.pool is None else None for item in items]
