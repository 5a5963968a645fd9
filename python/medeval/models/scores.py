"""Types of scores and times: finite numbers, and moments in UTC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from numbers import Real
from statistics import fmean
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, TypeAdapter

DRAWS = 1000
LEVEL = 0.95


def _finite_number(value: Any) -> float:
    """Return a score as a float; a truth value is 1 or 0.

    Raises:
        ValueError: it is no number, or not a finite one.
    """
    if not isinstance(value, Real):
        raise ValueError(f"must be a number, not {type(value).__name__}")
    with suppress(OverflowError):
        if math.isfinite(number := float(value)):
            return number
    raise ValueError("must be finite")


utc_now = partial(datetime.now, UTC)
# Naive times are UTC, others are converted.
Moment = Annotated[
    datetime,
    AfterValidator(lambda time: time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]
# Strict, as a metric that is a text is a mistake of whoever computed it; null is no scores.
Scores = Annotated[
    dict[str, Annotated[float, BeforeValidator(_finite_number)]],
    BeforeValidator(lambda scores: {} if scores is None else scores),
]
SCORES: TypeAdapter[dict[str, float]] = TypeAdapter(Scores)


def statistics_of(values: Sequence[float]) -> dict[str, float]:
    """Return count, mean, min and max of values of which there is at least one."""
    told = {"mean": fmean(values), "min": min(values), "max": max(values)}
    return {"count": float(len(values)), **told}


class Interval(BaseModel, frozen=True):
    """A value with its interval; None where there is nothing to say.

    Attributes:
        value: of the data themselves; not kept in files that were made before it was.
        low: its lower end; None where there is no interval.
        high: its upper end.
        level: the confidence level, 0.95 for instance.
        method: how it was found; empty without an interval.
        n: the number of items (or of clusters of them) behind it.
        n_undefined: items that are left out since they have no score; for a statistic of whole
            rows, resamples that are.
        reason: why items, or the value, are missing.
    """

    value: Finite | None = None
    low: Finite | None
    high: Finite | None
    level: Annotated[float, Field(gt=0, lt=1)]
    method: str
    n: Annotated[int, Field(ge=0)]
    n_undefined: Annotated[int, Field(ge=0)] = 0
    reason: str | None = None
