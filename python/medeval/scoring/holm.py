"""Holm's correction of p values for many comparisons.

Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
Statistics 6 (1979) 65-70. It bounds the chance of even one false finding in the family, whatever
the dependence between the tests, and never rejects less than Bonferroni's correction.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return adjusted p values in the order given.

    With m tests made, the i-th smallest p value (from 0) is multiplied by m - i; no adjusted value
    is below the one before it, and none is above 1.

    Args:
        p_values: None where no test was made; such a place stays None and does not count in m.

    Raises:
        ValueError: a p value outside [0, 1].
    """
    made = [(p, place) for place, p in enumerate(p_values) if p is not None]
    if not all(0 <= p <= 1 for p, _ in made):
        raise ValueError("a p value lies between 0 and 1")
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(sorted(made)):
        highest = max(highest, min(1.0, p * (len(made) - rank)))
        adjusted[place] = highest
    return adjusted
