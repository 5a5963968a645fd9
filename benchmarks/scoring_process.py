"""The programs that bench_scoring measures, each a process of its own.

python -m benchmarks.scoring_process ours TASK FOLDER ENGINE
python -m benchmarks.scoring_process floor TASK FOLDER
python -m benchmarks.scoring_process loop TASK FOLDER ITERATIONS
python -m benchmarks.scoring_process published TASK FOLDER ITERATIONS

`loop` goes through the resamples one by one and calls scikit-learn for all that mimic3-benchmarks
computes on each. `published` also keeps its Python loops over rows and thresholds (the bins of a
length of stay, the minimum of precision and recall), where `loop` has numpy.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.scoring_data import SIZES

RANDOM_SEED = 1
EDGES = 24.0 * np.array([1, 2, 3, 4, 5, 6, 7, 8, 14])
Array = NDArray[np.float64]


def user_seconds() -> float:
    """Return the CPU seconds of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def ours(task: str, folder: Path, engine: str) -> None:
    """Score as `python -m medeval score` does after it has read its files."""
    from medeval.predictions.evaluating import published
    from medeval.predictions.tasks import task_named
    from medeval.scoring.bootstrap import Resampling, score
    from medeval.scoring.engine import Engine
    from medeval.scoring.summary import summarise

    truth, prediction = load(folder)
    resampling = Resampling(SIZES[task].n_iters, RANDOM_SEED)
    statistic = published(task_named(task).kind)(truth, prediction)
    scores = score(statistic, resampling, engine=Engine(engine))
    found = {name: vars(summary) for name, summary in summarise(scores).items()}
    (folder / "ours.json").write_text(json.dumps(found), encoding="utf-8")
    np.save(folder / f"{engine}.npy", scores.samples)


def floor(task: str, folder: Path) -> None:
    """Draw the same indices with numpy's own call, and do nothing with them."""
    size = SIZES[task]
    random = np.random.RandomState(RANDOM_SEED)
    for _ in range(size.n_iters):
        random.randint(0, size.rows, size=size.rows)


def baseline(task: str, folder: Path, iterations: int, *, published: bool) -> None:
    """Go through some resamples one by one with scikit-learn."""
    from sklearn.utils import resample  # type: ignore[import-untyped]

    by_task: dict[str, Callable[[Array, Array, bool], list[float]]]
    by_task = {"los": length_of_stay, "pheno": phenotyping}
    metrics = by_task.get(task, binary)
    truth, prediction = load(folder)
    random = np.random.RandomState(RANDOM_SEED)
    started = user_seconds()
    samples = []
    for _ in range(iterations):
        drawn = resample(truth, prediction, random_state=random)
        samples.append(metrics(drawn[0], drawn[1], published))
    used = user_seconds() - started
    (folder / "loop.json").write_text(json.dumps({"loop_user_s": used}), encoding="utf-8")
    np.save(folder / "loop.npy", np.array(samples))


def binary(truth: Array, scores: Array, published: bool) -> list[float]:
    """Compute the seven numbers of a binary outcome, and return the three that are kept."""
    from sklearn import metrics  # type: ignore[import-untyped]

    confusion = metrics.confusion_matrix(truth, scores > 0.5).astype(np.float32)
    # accuracy, and precision and recall of both classes
    with np.errstate(all="ignore"):
        _ = np.trace(confusion) / confusion.sum()
        _ = np.diag(confusion) / confusion.sum(axis=0), np.diag(confusion) / confusion.sum(axis=1)
    area = metrics.roc_auc_score(truth, scores)
    precisions, recalls, _thresholds = metrics.precision_recall_curve(truth, scores)
    if published:
        least = np.max([min(x, y) for x, y in zip(precisions, recalls, strict=True)])
    else:
        least = np.minimum(precisions, recalls).max()
    return [area, metrics.auc(recalls, precisions), least]


def phenotyping(truth: Array, scores: Array, published: bool) -> list[float]:
    """Compute four multilabel areas and 25 sets of binary metrics; return what is kept."""
    from sklearn import metrics

    by_label = metrics.roc_auc_score(truth, scores, average=None)
    micro, macro, weighted = (
        metrics.roc_auc_score(truth, scores, average=average)
        for average in ("micro", "macro", "weighted")
    )
    for outcome, guess in zip(truth.T, scores.T, strict=True):
        binary(outcome, guess, published)
    return [macro, micro, weighted, *by_label]


def length_of_stay(truth: Array, guess: Array, published: bool) -> list[float]:
    """Compute the confusion matrix, kappa and three errors; return what is kept."""
    from sklearn import metrics

    guess = np.maximum(guess, 0)
    truths, guesses = (
        [loop_bin(hours) for hours in column] if published else np.digitize(column, EDGES)
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


def load(folder: Path) -> tuple[Array, Array]:
    """Read truth and predictions."""
    return np.load(folder / "truth.npy"), np.load(folder / "prediction.npy")


def main(words: list[str]) -> None:
    """Run from the command line."""
    program, task, place, *rest = words
    folder = Path(place)
    if program == "ours":
        ours(task, folder, rest[0])
    elif program == "floor":
        floor(task, folder)
    else:
        warnings.simplefilter("ignore")
        baseline(task, folder, int(rest[0]), published=program == "published")


if __name__ == "__main__":
    main(sys.argv[1:])
