"""How far a stated confidence is a probability of being right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def confidence_of(output: Mapping[str, Any]) -> float | None:
    """Return the stated confidence; None if there is none, or it is no number from 0 to 1."""
    stated = output.get("confidence")
    if isinstance(stated, bool) or not isinstance(stated, (int, float, str)):
        return None
    try:
        value = float(stated)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def squared_error(confidence: float, correct: float) -> float:
    """Return the Brier score of one answer: 0 is best, 1 worst."""
    return (confidence - correct) ** 2


def expected_calibration_error(counts: Mapping[tuple[float, float], int]) -> float | None:
    """Return the mean distance of confidence and accuracy over ten bins; 0 is best.

    Args:
        counts: how often each pair of confidence and correctness (1 or 0) occurs.
    """
    import numpy as np

    from medeval.scoring import calibration

    if not counts:
        return None
    pairs = np.array(list(counts), dtype=np.float64)
    times = np.array(list(counts.values()), dtype=np.int64)
    confidence = np.repeat(pairs[:, 0], times)
    correct = np.repeat(pairs[:, 1], times) == 1
    weights = np.ones((1, len(confidence)))
    error = float(calibration.expected_calibration_error(correct, confidence, weights)[0])
    return None if math.isnan(error) else error
