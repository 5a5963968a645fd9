"""Synthetic predictions of the size and prevalence of the published test sets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 20231117
DECIMALS = 6  # as the published prediction files are written
PHENOTYPES = 25


@dataclass(frozen=True)
class Size:
    """One task at full size.

    Attributes:
        rows: of the published test set.
        n_iters: the published programs' default.
        recorded_s: CPU seconds of the published program, measured (ihm) or extrapolated from fewer
            iterations (the others) on one core, once.
        baseline_iterations: how many the loops over scikit-learn run here.
    """

    rows: int
    n_iters: int
    recorded_s: float
    baseline_iterations: int


SIZES = {
    "ihm": Size(3_236, 10_000, 46, 200),
    "pheno": Size(6_281, 10_000, 3_090, 8),
    "decomp": Size(523_208, 1_000, 508, 6),
    "los": Size(525_912, 1_000, 1_750, 4),
}
POSITIVE = {"ihm": 374, "decomp": 9_683}


def make(task: str, folder: Path) -> None:
    """Write truth.npy and prediction.npy of a task."""
    truth, prediction = arrays(task, SIZES[task].rows)
    np.save(folder / "truth.npy", truth)
    np.save(folder / "prediction.npy", prediction)


def arrays(task: str, rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return truth and predictions of a task, seeded."""
    random = np.random.default_rng(SEED)
    if task == "los":
        # Half of MIMIC's remaining stays are below three days, some are weeks.
        hours = random.lognormal(4.2, 1.2, rows).astype(np.float32).astype(np.float64)
        return hours, (hours * random.lognormal(0, 0.8, rows)).round(DECIMALS)
    if task == "pheno":
        prevalence = random.uniform(0.04, 0.45, PHENOTYPES)
        truth = (random.random((rows, PHENOTYPES)) < prevalence).astype(np.float64)
    else:
        truth = np.zeros(rows)
        truth[random.choice(rows, POSITIVE[task], replace=False)] = 1
    scores = random.normal(1.7 * truth - 2)
    return truth, (1 / (1 + np.exp(-scores))).round(DECIMALS)
