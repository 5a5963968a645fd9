"""What a metric is: a score per item, or a record per item from which one value is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from medeval.metrics.item import Item

if TYPE_CHECKING:
    from medeval.scoring.table import Column

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
        binary: every score is 0 or 1, also where neither way is better.
        direction: which way is better; `neither` for scores that leave 0 to 1, too.
        pool: makes the value from counts of records; by default it is the mean of the scores.
    """

    name: str
    description: str
    record: Callable[[Item], Any]
    undefined: str
    binary: bool = False
    direction: Direction = "higher"
    pool: Pool | None = None

    def column(self, items: Iterable[Item]) -> Column:
        """Score items: the column of a score table."""
        from medeval.scoring.table import Pooled, Ratio  # numpy is slow to load

        records = [self.record(item) for item in items]
        if self.pool is not None:
            return Pooled(records, self.pool, self.undefined)
        # Scores with a better end lie between 0 and 1.
        is_share = self.binary or self.direction != "neither"
        return Ratio(records, is_share=is_share, reason=self.undefined)
