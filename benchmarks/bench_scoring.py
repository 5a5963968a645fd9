"""Speed and memory of scoring at full size, beside loops over scikit-learn in the same call.

python -m benchmarks.bench_scoring                           # all tasks, and the page
python -m benchmarks.bench_scoring --only ihm --runs 5       # one; the others are kept
python -m benchmarks.bench_scoring --render                  # the page, nothing is measured

The data are synthetic predictions of the size and prevalence of the published test sets. `loop`
goes through the resamples one by one and calls scikit-learn for all that mimic3-benchmarks computes
on each. `published` also keeps its Python loops over rows and thresholds (the bins of a length of
stay, the minimum of precision and recall), where `loop` has numpy.
"""

from __future__ import annotations

import json
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import CommandFailedError, Usage, function
from benchmarks.pages import Benchmark, Ratio, largest, say

RANDOM_SEED = 1
DATA_SEED = 20231117
DECIMALS = 6  # as the published prediction files are written
LARGEST_DIFFERENCE = 1e-9
# Of each task the rows of the published test set; the published programs' default number of
# resamples; CPU seconds of the published program, measured (ihm) or extrapolated from fewer
# iterations (the others) on one core, once; and how many resamples the loops go through here.
SIZES = {
    "ihm": {"rows": 3_236, "resamples": 10_000, "recorded_s": 46, "iterations": 200},
    "pheno": {"rows": 6_281, "resamples": 10_000, "recorded_s": 3_090, "iterations": 8},
    "decomp": {"rows": 523_208, "resamples": 1_000, "recorded_s": 508, "iterations": 6},
    "los": {"rows": 525_912, "resamples": 1_000, "recorded_s": 1_750, "iterations": 4},
}
POSITIVE = {"ihm": 374, "decomp": 9_683}
PHENOTYPES = 25
EDGES = 24.0 * np.array([1, 2, 3, 4, 5, 6, 7, 8, 14])
PACKAGES = ("medeval", "numpy", "scipy", "scikit-learn")
Array = NDArray[np.float64]


def task(name: str, runs: int = 3, iterations_of_baseline: int = 0) -> dict[str, Any]:
    """One task: ours, the drawing alone, and both baselines."""
    iterations = iterations_of_baseline or SIZES[name]["iterations"]
    with tempfile.TemporaryDirectory(prefix="medeval-bench-") as temporary:
        folder = Path(temporary)

        def program(kind: str, *words: str | int) -> Usage:
            return function(f"benchmarks.bench_scoring:{kind}", name, folder, *words)

        truth, prediction = arrays(name, SIZES[name]["rows"])
        np.save(folder / "truth.npy", truth)
        np.save(folder / "prediction.npy", prediction)
        used = []
        for run in range(1, runs + 1):
            used.append(program("ours"))
            say(f"{name}, run {run}: {used[-1]}")
        growth = []
        for part in (1, 2, 4):
            few = folder / f"{part}"
            few.mkdir()
            for array, of in (("truth", truth), ("prediction", prediction)):
                np.save(few / f"{array}.npy", of[: len(of) * part // 10])
            growth.append(function("benchmarks.bench_scoring:ours", name, few))
        found: dict[str, Any] = {"ours": used, "growth": growth, "floor": program("floor")}
        samples = np.load(folder / "ours.npy")
        difference = 0.0
        for kind in ("loop", "published"):
            usage = program(kind, iterations)
            spent = json.loads((folder / "loop.json").read_text(encoding="utf-8"))
            found[kind] = {"iterations": iterations, **spent, "usage": usage}
            theirs = np.load(folder / "loop.npy")
            relative = np.abs(samples[:iterations] - theirs) / np.maximum(1, np.abs(theirs))
            difference = max(difference, float(relative.max()))
            say(f"{name}, {kind}: {usage} for {iterations} of {SIZES[name]['resamples']:,}")
    if not difference < LARGEST_DIFFERENCE:
        raise CommandFailedError(f"{name}: our values differ from the baseline's by {difference}")
    return {**found, "largest_difference": difference}


def arrays(name: str, rows: int) -> tuple[Array, Array]:
    """Return truth and predictions of a task, seeded."""
    random = np.random.default_rng(DATA_SEED)
    if name == "los":
        # Half of MIMIC's remaining stays are below three days, some are weeks.
        hours = random.lognormal(4.2, 1.2, rows).astype(np.float32).astype(np.float64)
        return hours, (hours * random.lognormal(0, 0.8, rows)).round(DECIMALS)
    if name == "pheno":
        prevalence = random.uniform(0.04, 0.45, PHENOTYPES)
        truth = (random.random((rows, PHENOTYPES)) < prevalence).astype(np.float64)
    else:
        truth = np.zeros(rows)
        truth[random.choice(rows, POSITIVE[name], replace=False)] = 1
    scores = random.normal(1.7 * truth - 2)
    return truth, (1 / (1 + np.exp(-scores))).round(DECIMALS)


def ours(name: str, folder: str) -> None:
    """Score as `python -m medeval score` does after it has read its files."""
    from medeval.scoring.resample import score, summarise
    from medeval.tasks.mimic3.metrics import PUBLISHED
    from medeval.tasks.mimic3.task import TASKS

    truth, prediction = load(folder)
    (kind,) = (task.kind for task in TASKS if task.short == name)
    statistic = PUBLISHED[kind](truth, prediction)
    scores = score(statistic, SIZES[name]["resamples"], RANDOM_SEED)
    found = {key: vars(summary) for key, summary in summarise(scores).items()}
    (Path(folder) / "ours.json").write_text(json.dumps(found), encoding="utf-8")
    np.save(Path(folder) / "ours.npy", scores.samples)


def floor(name: str, folder: str) -> None:
    """Draw the same indices with numpy's own call, and do nothing with them."""
    random, rows = np.random.RandomState(RANDOM_SEED), SIZES[name]["rows"]
    for _ in range(SIZES[name]["resamples"]):
        random.randint(0, rows, size=rows)


def loop(name: str, folder: str, iterations: str, *, as_published: bool = False) -> None:
    """Go through some resamples one by one with scikit-learn."""
    from sklearn.utils import resample  # type: ignore[import-untyped]

    warnings.simplefilter("ignore")
    by_task: dict[str, Callable[[Array, Array, bool], list[float]]]
    by_task = {"los": length_of_stay, "pheno": phenotyping}
    metrics = by_task.get(name, binary)
    truth, prediction = load(folder)
    random = np.random.RandomState(RANDOM_SEED)
    started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    samples = []
    for _ in range(int(iterations)):
        drawn = resample(truth, prediction, random_state=random)
        samples.append(metrics(drawn[0], drawn[1], as_published))
    spent = {"loop_user_s": resource.getrusage(resource.RUSAGE_SELF).ru_utime - started}
    (Path(folder) / "loop.json").write_text(json.dumps(spent), encoding="utf-8")
    np.save(Path(folder) / "loop.npy", np.array(samples))


published = partial(loop, as_published=True)


def binary(truth: Array, scores: Array, as_published: bool) -> list[float]:
    """Compute the seven numbers of a binary outcome, and return the three that are kept."""
    from sklearn import metrics  # type: ignore[import-untyped]

    confusion = metrics.confusion_matrix(truth, scores > 0.5).astype(np.float32)
    # accuracy, and precision and recall of both classes
    with np.errstate(all="ignore"):
        _ = np.trace(confusion) / confusion.sum()
        _ = np.diag(confusion) / confusion.sum(axis=0), np.diag(confusion) / confusion.sum(axis=1)
    area = metrics.roc_auc_score(truth, scores)
    precisions, recalls, _thresholds = metrics.precision_recall_curve(truth, scores)
    if as_published:
        least = np.max([min(x, y) for x, y in zip(precisions, recalls, strict=True)])
    else:
        least = np.minimum(precisions, recalls).max()
    return [area, metrics.auc(recalls, precisions), least]


def phenotyping(truth: Array, scores: Array, as_published: bool) -> list[float]:
    """Compute four multilabel areas and 25 sets of binary metrics; return what is kept."""
    from sklearn import metrics

    by_label = metrics.roc_auc_score(truth, scores, average=None)
    averages = ("macro", "micro", "weighted")
    areas = [metrics.roc_auc_score(truth, scores, average=average) for average in averages]
    for outcome, guess in zip(truth.T, scores.T, strict=True):
        binary(outcome, guess, as_published)
    return [*areas, *by_label]


def length_of_stay(truth: Array, guess: Array, as_published: bool) -> list[float]:
    """Compute the confusion matrix, kappa and three errors; return what is kept."""
    from sklearn import metrics

    guess = np.maximum(guess, 0)
    truths, guesses = (
        [loop_bin(hours) for hours in column] if as_published else np.digitize(column, EDGES)
        for column in (truth, guess)
    )
    metrics.confusion_matrix(truths, guesses)
    return [
        metrics.cohen_kappa_score(truths, guesses, weights="linear"),
        metrics.mean_absolute_error(truth, guess),
        metrics.mean_squared_error(truth, guess),
        np.mean(np.abs((truth - guess) / (truth + 0.1))) * 100,
    ]


def loop_bin(hours: float) -> Any:
    """Find the bin of a length of stay as mimic3models/metrics.py does, one after the other."""
    bounds = [-1e18, *(1, 2, 3, 4, 5, 6, 7, 8, 14), 1e18]
    for place in range(len(bounds) - 1):
        if bounds[place] * 24.0 <= hours < bounds[place + 1] * 24.0:
            return place
    return None


def load(folder: str) -> tuple[Array, Array]:
    """Read truth and predictions."""
    return np.load(Path(folder) / "truth.npy"), np.load(Path(folder) / "prediction.npy")


def rows(name: str, part: dict[str, Any]) -> Iterator[Ratio]:
    """Return the row of the table of all benchmarks."""
    size, loops = SIZES[name], part["loop"]
    ours = min(run["user_s"] for run in part["ours"])
    each = loops["loop_user_s"] / loops["iterations"]
    theirs = loops["usage"]["user_s"] + each * (size["resamples"] - loops["iterations"])
    yield Ratio(
        f"scoring, {name}",
        "scikit-learn loop (extrapolated)",
        f"{size['rows']:,} rows, {size['resamples']:,} resamples",
        "user CPU s",
        ours,
        theirs,
        largest(part["ours"]),
        loops["usage"]["peak_mb"],
        [*(run["user_s"] for run in part["growth"]), ours],
    )


BENCHMARK = Benchmark(
    "scoring",
    "scoring",
    {name: partial(task, name) for name in SIZES},
    lambda part: [name for name in PACKAGES if find_spec(name.replace("scikit-learn", "sklearn"))],
    under="tasks",
    constants={"sizes": SIZES},
    rows=rows,
)

if __name__ == "__main__":
    BENCHMARK.main(__doc__)
