"""Types of scores and times: finite numbers, and moments in UTC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from numbers import Real
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def _in_utc(time: datetime) -> datetime:
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        raise ValueError("outside the years that can be written in UTC") from None


def utc_now() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)


def checked_scores(scores: Any) -> dict[str, float]:
    """Return scores as floats; null is no scores, a truth value is 1 or 0.

    Raises:
        ValueError: a value is no number, or not a finite one; naming the metric.
    """
    if scores is None:
        return {}
    if not isinstance(scores, Mapping):
        raise ValueError("must be a mapping from metric to number")
    checked = {}
    for metric, value in scores.items():
        if not isinstance(metric, str):
            raise ValueError(f"the metric {metric!r} is not a text")
        if not isinstance(value, Real):
            raise ValueError(f"{metric}: must be a number, not {type(value).__name__}")
        try:
            checked[metric] = float(value)
        except OverflowError:
            checked[metric] = math.inf
        if not math.isfinite(checked[metric]):
            raise ValueError(f"{metric}: must be finite")
    return checked


# Naive times are UTC, others are converted.
Moment = Annotated[datetime, AfterValidator(_in_utc)]
# Strict, as a metric that is a text is a mistake of whoever computed it.
Scores = Annotated[dict[str, float], BeforeValidator(checked_scores)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Interval(BaseModel):
    """An interval of a metric and how it was found.

    Attributes:
        low: its lower end; None where the metric is not defined.
        high: its upper end.
        level: the confidence level, 0.95 for instance.
        method: how it was found.
        n: the number of items behind it.
    """

    model_config = ConfigDict(frozen=True)

    low: Finite | None
    high: Finite | None
    level: Annotated[float, Field(gt=0, lt=1)]
    method: str
    n: Annotated[int, Field(ge=0)]
