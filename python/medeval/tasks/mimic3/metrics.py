"""Metrics of the ICU tasks: those of mimic3-benchmarks, and further ones on the same resamples.

The same seed and the same clusters draw the same resamples for all, so the further values
(`--extra`) may be set beside the published ones, resample by resample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from medeval.scoring import binary, resample
from medeval.scoring.binary import ONE_CLASS, Binary, make_curve, make_steps, outcomes, ratio
from medeval.scoring.resample import Counts, Floats, Labels, MetricSummary, Statistic
from medeval.tasks.mimic3.task import LABELS, LAYOUT, IcuScoreOptions, IcuTask
from medeval.terminal import progress

if TYPE_CHECKING:
    from medeval.scoring.curves import Curves
    from medeval.tasks.mimic3.predictions import Rows
    from medeval.tasks.task import Method

# Upper edges of all bins but the last, half-open: mimic3models/metrics.py, class CustomBins.
EDGES_HOURS = 24.0 * np.array([1, 2, 3, 4, 5, 6, 7, 8, 14])
N_BINS = len(EDGES_HOURS) + 1
# What the bins are called, in days.
_DAYS = ["0", *(f"{edge / 24:g}" for edge in EDGES_HOURS)]
BINS = [*map("{}-{}".format, _DAYS, _DAYS[1:]), f"{_DAYS[-1]}+"]
# Added to the truth before dividing by it (mimic3models/metrics.py). It keeps 0 hours from dividing
# by zero, and nothing else: -0.1 hours does.
OFFSET_HOURS = 0.1
# Largest count that float32 holds exactly, as do all counts below it.
EXACT_FLOAT32 = 1 << 24
ONE_BIN = "one bin"
NO_PROBABILITY = "predictions outside 0 to 1"
NO_SLOPE = "no finite slope"
LABEL_METRIC = "ROC AUC of task "
MEANS = ("Macro ROC AUC", "Micro ROC AUC", "Weighted ROC AUC")
LOWER_IS_BETTER = ("MAD", "MSE", "MAPE")
# Which way is better, where it is not up.
DIRECTIONS = {**dict.fromkeys(LOWER_IS_BETTER, "lower"), **LAYOUT["directions"]}


class LengthOfStay(Statistic):
    """The four metrics of mimic3-benchmarks' evaluate_los.py; each row is a bin.

    `Kappa` (linear weights over ten bins), `MAD` (the mean absolute error, hours), `MSE` (hours
    squared) and `MAPE` (percent of the truth plus 0.1 hours).

    Attributes:
        errors: absolute, squared and relative error of each row (hours, hours squared, percent),
            shape (3, n).
        cells: cell of the confusion matrix of each row, 10 times the truth's bin plus the
            prediction's, shape (n,).
    """

    names = ("Kappa", *LOWER_IS_BETTER)
    why = (ONE_BIN, *["infinite"] * 3)

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, strict: bool = False) -> None:
        """Compute what does not change between resamples.

        Args:
            truth: hours, shape (n,), rounded through float32 as the published program reads them.
            prediction: hours, shape (n,); below 0 counts as 0.
            strict: makes no difference here; a kappa of one bin is NaN either way.
        """
        hours = np.asarray(truth, dtype=np.float64)
        guess = np.asarray(prediction, dtype=np.float64)
        if hours.ndim != 1 or hours.shape != guess.shape:
            raise ValueError(f"truth has shape {hours.shape}, prediction {guess.shape}")
        if not (np.isfinite(hours).all() and np.isfinite(guess).all()):
            raise ValueError("truth or prediction holds missing or infinite values")
        guess = np.maximum(guess, 0.0)
        error = hours - guess
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 100 * np.abs(error / (hours + OFFSET_HOURS))
        cells = N_BINS * np.digitize(hours, EDGES_HOURS) + np.digitize(guess, EDGES_HOURS)
        self.errors = np.stack([np.abs(error), error**2, relative])
        self.cells = cells.astype(np.uint8)
        self.rows = self.n_bins = len(cells)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 4), of row counts of shape (batch, n)."""
        weights = counts.astype(np.float64)
        cells = np.array(
            [np.bincount(self.cells, weights=one, minlength=N_BINS**2) for one in weights],
            dtype=np.float64,
        )
        # Not a matrix product: for one so narrow, BLAS keeps all cores busy and is no faster.
        sums = np.array(
            [[np.einsum("n,n->", error, one) for error in self.errors] for one in weights]
        )
        kappa = linear_kappa(cells.reshape(-1, N_BINS, N_BINS))
        means = ratio(sums, cells.sum(axis=1, keepdims=True))
        return np.concatenate([kappa[:, None], means], axis=1)


def linear_kappa(confusion: Floats, *, fixed_bins: bool = False) -> Floats:
    """Return Cohen's kappa with linear weights, shape (batch,); NaN where only one bin is present.

    Args:
        confusion: rows by bin of the truth and bin of the prediction, shape (batch, k, k).
        fixed_bins: take distances between bin numbers. By default, as in scikit-learn, which builds
            its weights from the labels it sees, distances are between ranks among the bins that are
            present in the truth or in the prediction.
    """
    truths, guesses = confusion.sum(axis=2), confusion.sum(axis=1)
    if fixed_bins:
        rank = np.broadcast_to(np.arange(confusion.shape[1]), truths.shape)
    else:
        rank = np.cumsum(truths + guesses > 0, axis=1)
    distance = np.abs(rank[:, :, None] - rank[:, None, :])
    observed = (distance * confusion).sum(axis=(1, 2))
    expected = (distance * truths[:, :, None] * guesses[:, None, :]).sum(axis=(1, 2))
    return 1 - ratio(observed * truths.sum(axis=1), expected)


class Phenotyping(Statistic):
    """The metrics of mimic3-benchmarks' evaluate_pheno.py, of k labels (there 25).

    `Macro ROC AUC`, `Micro ROC AUC` (of all pairs of a row and a label), `Weighted ROC AUC` (by
    each label's positives in the resample) and `ROC AUC of task 1` to `k`. Each row is a bin of its
    own, as every label ranks the rows anew.

    Attributes:
        steps: of each label, then of all n k pairs pooled.
        matrices: what turns row counts into the bins of each ranking, shape (bins, n): how many
            pairs of a row are in a bin.
    """

    names = (*MEANS, *(f"{LABEL_METRIC}{number}" for number in range(1, LABELS + 1)))

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, strict: bool = False) -> None:
        """Sort each label and the pooled pairs once.

        Args:
            truth: 0 or 1, shape (n, k).
            prediction: scores, shape (n, k).
            strict: the weighted mean of rows without any positive is 0, as in scikit-learn.
        """
        from scipy import sparse  # type: ignore[import-untyped]  # slow to load

        positive, scores = outcomes(truth, prediction, 2)
        self.rows = self.n_bins = len(scores)
        n_labels = scores.shape[1]
        self.names = (*MEANS, *(f"{LABEL_METRIC}{one}" for one in range(1, n_labels + 1)))
        missing = sum(not one.any() or one.all() for one in positive.T)
        some = f"{ONE_CLASS} in {missing} of {n_labels} labels"
        self.why = (some, ONE_CLASS, some, *[ONE_CLASS] * n_labels)
        self.strict = strict
        columns = [*zip(positive.T, scores.T, strict=True), (positive.ravel(), scores.ravel())]
        self.steps = [make_steps(one, score, only_ranks=True) for one, score in columns]
        # float32 holds these counts exactly and moves half the bytes; so does int32 their sums.
        is_small = scores.size < EXACT_FLOAT32
        self.exact, self.whole = map(np.dtype, ("f4", "i4") if is_small else ("f8", "i8"))
        self.matrices = []
        for steps in self.steps:
            pairs = len(steps.labels)
            rows = np.arange(pairs) // max(pairs // max(self.rows, 1), 1)
            places = (np.ones(pairs, dtype=self.exact), (steps.labels.astype(np.int32), rows))
            self.matrices.append(sparse.csr_matrix(places, shape=(steps.n_bins, self.rows)))

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, k + 3), of row counts of shape (batch, n)."""
        columns = np.ascontiguousarray(counts.T, dtype=self.exact)
        found = []
        for steps, matrix in zip(self.steps, self.matrices, strict=True):
            # Turned so that a resample lies in one piece. One curve at a time: they are large.
            curve = make_curve(steps, (matrix @ columns).T.astype(self.whole, order="C"))
            found.append((binary.area_under_roc(curve), curve.n_positives))
        areas, positives = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        weights = positives[:, :-1]
        # A label without a positive has no area, so there is no macro mean; its weight is 0, so it
        # is no part of the weighted mean, as in scikit-learn. Without a negative it leaves neither.
        by_label, total = areas[:, :-1], weights.sum(axis=1)
        weighted = ratio((np.where(weights > 0, by_label, 0.0) * weights).sum(axis=1), total)
        if self.strict:
            weighted[total == 0] = 0.0
        means = np.stack([by_label.mean(axis=1), areas[:, -1], weighted], axis=1)
        return np.concatenate([means, by_label], axis=1)


class ExtraBinary(Statistic):
    """Average precision, and how far predictions are probabilities.

    Brier score, calibration slope and error need predictions in 0 to 1. Rows with the same truth
    and prediction share a bin.

    Attributes:
        truth: whether the rows of a bin are positive, shape (n_bins,).
        prediction: of the rows of a bin, shape (n_bins,).
        start: intercept and slope of the whole data, from where resamples' fits start.
        has_slope: whether the slope is computed, which takes longer than all the rest.
    """

    names = ("average_precision", "brier", "calibration_slope", "expected_calibration_error")
    labels: Labels

    def __init__(self, truth: ArrayLike, prediction: ArrayLike, *, has_slope: bool = True) -> None:
        """Find the distinct rows; shapes as in `Binary`."""
        positive, scores = outcomes(truth, prediction, 1)
        distinct, self.labels = np.unique(scores + 1j * positive, return_inverse=True)
        self.truth, self.prediction = distinct.imag > 0, np.ascontiguousarray(distinct.real)
        self.rows, self.n_bins = len(scores), len(distinct)
        self.steps = make_steps(self.truth, self.prediction)
        inside = (self.prediction >= 0) & (self.prediction <= 1)
        self.is_probability, self.has_slope = bool(inside.all()), has_slope
        self.start = None
        if has_slope and self.is_probability:
            weights = np.bincount(self.labels).astype(np.float64)
            self.start = binary.fit_slope(binary.logits(self.prediction), self.truth, weights, None)
        slope = NO_SLOPE if self.truth.any() and not self.truth.all() else ONE_CLASS
        if not self.is_probability:
            slope = NO_PROBABILITY
        self.why = (ONE_CLASS, NO_PROBABILITY, slope, NO_PROBABILITY)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 4), of counts of shape (batch, n_bins)."""
        weights = counts.astype(np.float64)
        values = np.full((len(counts), len(self.names)), np.nan)
        by_step = [np.bincount(self.steps.labels, one, self.steps.n_bins) for one in weights]
        curve = make_curve(self.steps, np.array(by_step, dtype=np.int64))
        values[:, 0] = binary.average_precision(curve)
        values[(curve.n_positives == 0) | (curve.n_negatives == 0), 0] = np.nan
        if not self.is_probability:
            return values
        # The mean squared error of probabilities (Brier 1950).
        squares = (self.prediction - self.truth) ** 2
        values[:, 1] = ratio(np.einsum("bn,n->b", weights, squares), weights.sum(axis=1))
        if self.has_slope:
            linear = binary.logits(self.prediction)
            for one, row in zip(weights, values, strict=True):
                fitted = binary.fit_slope(linear, self.truth, one, self.start)
                row[2] = np.nan if fitted is None else fitted[1]
        values[:, 3] = binary.expected_calibration_error(self.truth, self.prediction, weights)
        return values


class FixedKappa(Statistic):
    """Cohen's kappa with linear weights between the ten bins' numbers, whichever are present."""

    names = ("kappa_fixed_bins",)
    why = (ONE_BIN,)
    n_bins = N_BINS**2

    def __init__(self, truth: ArrayLike, prediction: ArrayLike) -> None:
        """Find the bins; shapes as in `LengthOfStay`."""
        self.labels = LengthOfStay(truth, prediction).cells
        self.rows = len(self.labels)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metric, shape (batch, 1), of cell counts of shape (batch, 100)."""
        confusion = counts.reshape(-1, N_BINS, N_BINS).astype(np.float64)
        return linear_kappa(confusion, fixed_bins=True)[:, None]


class ExtraPhenotyping(Statistic):
    """Plain means over the labels of what `ExtraBinary` gives, but for the slope."""

    names = ("average_precision_macro", "brier_macro", "expected_calibration_error_macro")
    why = (ONE_CLASS, NO_PROBABILITY, NO_PROBABILITY)

    def __init__(self, truth: ArrayLike, prediction: ArrayLike) -> None:
        """Find the distinct rows of each label; shapes as in `Phenotyping`."""
        positive, scores = outcomes(truth, prediction, 2)
        self.by_label = [
            ExtraBinary(one, guess, has_slope=False)
            for one, guess in zip(positive.T, scores.T, strict=True)
        ]
        self.rows = self.n_bins = len(scores)

    def from_bins(self, counts: Counts) -> Floats:
        """Return the metrics, shape (batch, 3), of row counts of shape (batch, n)."""
        values = np.zeros((len(counts), len(ExtraBinary.names)))
        for label in self.by_label:
            by_bin = [np.bincount(label.labels, one, label.n_bins) for one in counts]
            values += label.from_bins(np.array(by_bin, dtype=np.int64))
        return values[:, [0, 1, 3]] / len(self.by_label)


# What computes the published metrics of truth and predictions, by kind of task, and the further
# ones. Each names its metrics in their order.
PUBLISHED: dict[str, Any] = {"binary": Binary, "hours": LengthOfStay, "labels": Phenotyping}
FURTHER: dict[str, Any] = {"binary": ExtraBinary, "hours": FixedKappa, "labels": ExtraPhenotyping}


def evaluate(
    task: type[IcuTask], joined: Rows, method: Method, label: str, curves: Curves | None = None
) -> dict[str, MetricSummary]:
    """Return the metrics of rows with predictions, the published ones first.

    Args:
        task: what is scored.
        joined: truth and predictions, with their clusters.
        method: resamples, their seed, and whether further metrics and BCa intervals are wanted.
        label: stands beside the progress bar.
        curves: of a binary outcome, which are told of each resample; None for none.
    """
    options, data = method.chosen(IcuScoreOptions), (joined.truth, joined.prediction)
    plain, further = PUBLISHED[task.kind], FURTHER[task.kind]
    published = plain(*data, strict=options.strict_nan)
    if curves is not None and isinstance(published, Binary):
        published.watch = curves.add
    statistics: dict[str, tuple[Statistic, Callable[..., Statistic]]] = {label: (published, plain)}
    if options.extra:
        statistics[f"{label}, extra"] = further(*data), further
    found: dict[str, MetricSummary] = {}
    for name, (statistic, make) in statistics.items():
        with progress(name, lambda: method.n_iters) as advance:
            scores = resample.score(
                statistic, method.n_iters, method.seed, joined.clusters, progress=advance
            )
        without = None
        if options.ci == "bca" and method.n_iters:
            # Without the rule of scikit-learn for rows of one class.
            without = resample.jackknife(make(*data), joined.clusters)
        found |= resample.summarise(scores, strict_nan=options.strict_nan, jackknife=without)
    return found
