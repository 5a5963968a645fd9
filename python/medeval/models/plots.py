"""What a result can be drawn as: descriptions that tasks make, and any page or figure draws.

They stand in a result's metadata under `plots`, each as JSON, see `read_plots`. They hold numbers
and short names only: no item, no text, and nothing of fewer cases than the smallest cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError, model_validator

from medeval.models.scores import Finite, Interval

PLOTS = "plots"
Kind = Literal["forest", "curve", "calibration", "bars", "confusion"]
Values = list[Finite | None]
Count = Annotated[int, Field(ge=0)]


class Plot(BaseModel, frozen=True):
    """One plot.

    - `forest`: one row a label, from above: `y` with `low` and `high` on a horizontal scale.
    - `bars`: the same as bars from zero.
    - `curve`: a line through (`x`, `y`) with the band `low` to `high`.
    - `calibration`: a point a bin: mean prediction `x`, observed share `y` with `low` and `high`,
      and the bin's cases `n`. Bins that are hidden are not there.
    - `confusion`: `cells` of the bins `labels`, one row a bin of the truth, from the lowest.

    A plot without any value is not drawn, and its note says why.

    Attributes:
        kind: how it is drawn.
        name: what tells it from the task's others, and the name of its file: a-z, 0-9, `_`.
        title: above it.
        x_label: of the horizontal scale.
        y_label: of the vertical scale.
        x: places; none for forest, bars and confusion.
        y: values; None is hidden or undefined, and then so are its ends.
        low: lower ends of the intervals; empty where there are none at all.
        high: upper ends, likewise.
        n: cases behind each value; empty where they are not told, None where one is hidden.
        labels: names of the rows, bars or bins.
        cells: cases, k x k; None is hidden, 0 is none.
        level: a value to compare with, drawn as a line across; None for none.
        level_label: what it is (`all`, `chance`).
        has_diagonal: whether the line from (0, 0) to (1, 1) is drawn to compare with.
        limits: ends of the scale of values; None leaves them to the data.
        method: how the intervals were made; empty without any.
        note: what a reader has to know, in a sentence or two; stands below.
    """

    kind: Kind
    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=60)]
    title: str
    x_label: str = ""
    y_label: str = ""
    x: list[Finite] = []
    y: Values = []
    low: Values = []
    high: Values = []
    n: list[Count | None] = []
    labels: list[str] = []
    cells: list[list[Count | None]] = []
    level: Finite | None = None
    level_label: str = ""
    has_diagonal: bool = False
    limits: tuple[Finite, Finite] | None = None
    method: str = ""
    note: str = ""

    def has_values(self) -> bool:
        """Tell whether there is anything to draw."""
        shown = self.y if self.kind != "confusion" else [one for row in self.cells for one in row]
        return any(one is not None for one in shown)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind == "confusion":
            k = len(self.labels)
            if len(self.cells) != k or any(len(row) != k for row in self.cells):
                raise ValueError("a confusion has as many rows and columns as labels")
            return self
        places = len(self.labels if self.kind in ("forest", "bars") else self.x)
        if len(self.y) != places:
            raise ValueError(f"{places} places with {len(self.y)} values")
        if len(self.low) != len(self.high):
            raise ValueError("lower and upper ends differ in number")
        if len(self.low) not in (0, places) or len(self.n) not in (0, places):
            raise ValueError(f"intervals and counts are of all {places} places or of none")
        return self


def ends_of(intervals: Sequence[Interval | None]) -> dict[str, Any]:
    """Return what a plot has of intervals: `low`, `high` and `method`, all empty without any."""
    given = [one for one in intervals if one is not None and one.low is not None]
    ends = [(one.low, one.high) if one else (None, None) for one in intervals if given]
    methods = sorted({one.method for one in given if one.method})
    low, high = map(list, zip(*ends, strict=True)) if ends else ([], [])
    return {"low": low, "high": high, "method": ", ".join(methods)}


def plot_name(text: str) -> str:
    """Return the name of a plot that is told of with a text."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:60] or "plot"


def read_plots(metadata: Mapping[str, Any]) -> list[Plot]:
    """Return the plots of a result; what is none, of another version or by hand, is left out."""
    told, found = metadata.get(PLOTS), list[Plot]()
    for one in told if isinstance(told, list) else []:
        with suppress(ValidationError):
            found.append(Plot.model_validate(one))
    return found
