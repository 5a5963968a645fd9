"""The distribution of the bootstrap against all resamples there are."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from medeval.yier.counting import Counts
from medeval.yier.intervals import bootstrap

pytestmark = pytest.mark.slow

TOLERANCE = 1e-9
UNITS = [Counts(2, 2, 2), Counts(0, 1, 1), Counts(1, 1, 3), Counts(1, 2, 1)]


def all_resamples(units: list[Counts]) -> list[float]:
    sums = (sum(drawn, Counts(0, 0, 0)) for drawn in product(units, repeat=len(units)))
    return sorted(total.f1 for total in sums)


def neighbours(values: list[float], value: float) -> tuple[float, float]:
    """Return the attainable values next to a quantile on both sides, or itself."""
    below = [each for each in values if each <= value + TOLERANCE]
    above = [each for each in values if each >= value - TOLERANCE]
    return (max(below) - TOLERANCE, min(above) + TOLERANCE)


def test_the_median_of_the_draws_is_that_of_all_resamples() -> None:
    every = all_resamples(UNITS)
    assert len(every) == 256
    found = bootstrap(UNITS, n_iters=10_000, seed=7)
    low, high = neighbours(every, float(np.median(every)))
    assert low <= found.median <= high
    # Half of the draws lie on each side; no other attainable value would do.
    assert found.median == pytest.approx(0.6153846153846154)


@pytest.mark.parametrize("number", range(3))
def test_the_median_and_all_other_figures_are_those_listed(shared: Path, number: int) -> None:
    path = shared / "golden" / "yier_llm" / "bootstrap_exact.json"
    case = json.loads(path.read_text(encoding="utf-8"))["cases"][number]
    units = [Counts(**counts) for counts in case["question_counts"]]
    every = all_resamples(units)
    assert len(every) == case["n_resamples_enumerated"]
    exact = {
        "micro_f1": sum(units, Counts(0, 0, 0)).f1,
        "bootstrap_mean": np.mean(every),
        "bootstrap_sd": np.std(every),
        **{f"q{name}": np.quantile(every, float(f"0.{name}")) for name in ("025", "50", "975")},
    }
    for name, value in exact.items():
        assert value == pytest.approx(case[name], abs=1e-6), name
    found = bootstrap(units, n_iters=10_000, seed=7)
    low, high = neighbours(every, case["q50"])
    assert low <= found.median <= high
