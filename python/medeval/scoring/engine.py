"""The choice between numpy and numba; both give the same numbers."""

from __future__ import annotations

import os
from enum import StrEnum

SETTING = "MEDEVAL_SCORING_ENGINE"
# Loading numba and its compiled code takes longer than numpy needs for so many steps.
WORTHWHILE_STEPS = 200_000_000


class Engine(StrEnum):
    """What counts resamples and sums over them."""

    AUTO = "auto"
    NUMPY = "numpy"
    NUMBA = "numba"


def choose(engine: Engine, steps: int) -> Engine:
    """Return the engine for a task of so many steps (rows times resamples times rankings).

    `AUTO` follows the environment variable `MEDEVAL_SCORING_ENGINE` where it is set; else it takes
    numba where it is installed and the task is long enough to pay for loading it.
    """
    engine = Engine(engine)  # a plain "numba" is understood as well
    if engine is Engine.AUTO:
        engine = Engine(os.environ.get(SETTING) or Engine.AUTO)
    if engine is not Engine.AUTO:
        return engine
    if steps >= WORTHWHILE_STEPS and has_numba():
        return Engine.NUMBA
    return Engine.NUMPY


def has_numba() -> bool:
    """Tell whether numba is installed and goes with the numpy that is."""
    try:
        import numba  # noqa: F401  (slow to load, so only where it is used next)
    except ImportError:
        return False
    return True
