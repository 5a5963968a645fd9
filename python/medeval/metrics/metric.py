"""What a metric is: a score per item, or a record per item from which one value is made.

A metric is a decorated function; `registry.default_registry` has all of them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from medeval.metrics.text import text_of, vocabulary

if TYPE_CHECKING:
    from medeval.scoring.table import Column

Pool = Callable[[Mapping[Any, int]], float | None]
Function = TypeVar("Function", bound=Callable[..., Any])

NO_REFERENCE = "no reference"


@dataclass(frozen=True)
class Item:
    """One item of a task.

    Attributes:
        source: what the model was given.
        reference: the gold output.
        output: what the model returned.
        target: the key of reference and output that holds the answer.
    """

    source: Mapping[str, Any]
    reference: Mapping[str, Any]
    output: Mapping[str, Any]
    target: str

    @property
    def source_text(self) -> str:
        """Everything the model was given but the item's name, one line per value."""
        return text_of({key: value for key, value in self.source.items() if key != "id"})

    @property
    def reference_text(self) -> str:
        """The gold answer."""
        return text_of(self.reference.get(self.target))

    @property
    def output_text(self) -> str:
        """The model's answer."""
        return text_of(self.output.get(self.target))


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
    record: Callable[..., Any]
    undefined: str
    binary: bool = False
    direction: Literal["higher", "lower", "neither"] = "higher"
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


# Every decorated function, in the order in which the modules are loaded.
DECORATED: list[Metric] = []
# What tables of results say of each of them: see `Metric`.
_TOLD = vocabulary("metrics")


def metric(
    *names: str, of_texts: bool = False, pool: Pool | None = None
) -> Callable[[Function], Function]:
    """Make metrics of a function, which stays what it is; `data/metrics.json` describes them.

    The function takes an `Item`, and by name a `lexicon` or `synonyms` if it has such a parameter.

    Args:
        names: of the metrics.
        of_texts: the function takes the texts of reference and output instead of the item.
        pool: see `Metric`.
    """

    def register(function: Function) -> Function:
        @wraps(function)
        def of_item(item: Item, **words: Any) -> Any:
            return function(item.reference_text, item.output_text, **words)

        record = of_item if of_texts else function
        for name in names:
            told = {"undefined": NO_REFERENCE, **_TOLD[name]}
            DECORATED.append(Metric(name, record=record, pool=pool, **told))
        return function

    return register
