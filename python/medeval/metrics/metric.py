"""What a metric is, and plain text out of whatever a record holds.

A metric is a decorated function of an item: a score, or a record from which one value is made.
`registry.default_registry` has all of them by name.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib.resources import files
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from medeval.scoring.table import Column

Pool = Callable[[Mapping[Any, int]], float | None]
Function = TypeVar("Function", bound=Callable[..., Any])

NO_REFERENCE = "no reference"
# Han, kana and Hangul: scripts in which a character, not a run between spaces, is a token.
CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)
_ANY_CJK = re.compile(f"[{CJK}]")
_ACCENTED = re.compile("([a-zA-Z])[\u0300-\u036f]+")


def text_of(value: object) -> str:
    """Return the text of a value: "" for nothing, one line per member of a list or mapping."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (Mapping, list, tuple)):
        members = value.values() if isinstance(value, Mapping) else value
        return "\n".join(map(text_of, members))
    return str(value)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that there are; None if there is none."""
    given = [value for value in values if value is not None]
    return fmean(given) if given else None


def rationale_of(record: Mapping[str, Any]) -> str:
    """Return the reasons given in a record: its `explanation`, else its `rationale`."""
    return text_of(record.get("explanation")) or text_of(record.get("rationale"))


def has_cjk(text: str) -> bool:
    """Tell whether the text has a Chinese, Japanese or Korean character."""
    return _ANY_CJK.search(text) is not None


def fold_accents(text: str) -> str:
    """Return the text with accented Latin letters as their base letters.

    Marks on other scripts stay: a Japanese voicing mark makes another syllable.
    """
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text.translate(_LIGATURES)))
    return unicodedata.normalize("NFC", bare)


def vocabulary(name: str) -> dict[str, Any]:
    """Return a table that comes with this package: what is meant, and its spellings."""
    path = files("medeval.metrics").joinpath("data", f"{name}.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


# Latin letters that Unicode does not decompose.
_LIGATURES = str.maketrans(vocabulary("ligatures"))


@dataclass(frozen=True)
class Sample:
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
        coverage: the share of an item's reference that the metric can read, for one that reads
            known words only; None where it has no word.
    """

    name: str
    description: str
    record: Callable[..., Any]
    undefined: str
    binary: bool = False
    direction: Literal["higher", "lower", "neither"] = "higher"
    pool: Pool | None = None
    coverage: Callable[..., float | None] | None = None

    def column(self, items: Iterable[Sample]) -> Column:
        """Score items: the column of a score table."""
        from medeval.scoring.table import Pooled, Ratio  # numpy is slow to load

        items = list(items)
        records = [self.record(item) for item in items]
        if self.pool is not None:
            return Pooled(records, self.pool, self.undefined)
        # Scores with a better end lie between 0 and 1.
        is_share = self.binary or self.direction != "neither"
        column = Ratio(records, is_share=is_share, reason=self.undefined)
        if self.coverage is not None:
            column.coverage = mean_of(map(self.coverage, items))
        return column


# Every decorated function, in the order in which the modules are loaded.
DECORATED: list[Metric] = []
# What tables of results say of each of them: see `Metric`.
_TOLD = vocabulary("metrics")


def metric(
    *names: str,
    of_texts: bool = False,
    pool: Pool | None = None,
    coverage: Callable[..., float | None] | None = None,
) -> Callable[[Function], Function]:
    """Make metrics of a function, which stays what it is; `data/metrics.json` describes them.

    The function takes a `Sample`, and by name a `lexicon` or `synonyms` if it has such a
    parameter.

    Args:
        names: of the metrics.
        of_texts: the function takes the texts of reference and output instead of the item.
        pool: see `Metric`.
        coverage: see `Metric`; it takes a `lexicon`, too.
    """

    def register(function: Function) -> Function:
        @wraps(function)
        def of_item(item: Sample, **words: Any) -> Any:
            return function(item.reference_text, item.output_text, **words)

        record = of_item if of_texts else function
        for name in names:
            told = {"undefined": NO_REFERENCE, **_TOLD[name]}
            DECORATED.append(Metric(name, record=record, pool=pool, coverage=coverage, **told))
        return function

    return register
