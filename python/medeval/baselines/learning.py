"""The models: mean imputation, standardisation, then logistic regression or ridge."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.impute import SimpleImputer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]
from sklearn.metrics import (  # type: ignore[import-untyped]
    mean_absolute_error,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from medeval.baselines.samples import Floats
from medeval.predictions.tasks import Kind, Task

MAX_ITERATIONS = 2_000


@dataclass(frozen=True)
class Penalty:
    """One point of the grid: a penalty and the strength that scikit-learn calls C or alpha."""

    name: str
    strength: float

    @property
    def parameters(self) -> dict[str, Any]:
        """Return it as the run's record shows it."""
        strength = "alpha" if self.name == "ridge" else "C"
        return {"penalty": self.name, strength: self.strength}


# From strong to weak. The first is what stays where validation cannot tell: that of the reference
# for its single-label tasks. L1 is for tasks of a row a stay; over hours it takes too long.
LOGISTIC = tuple(Penalty("l2", strength) for strength in (0.001, 0.01, 0.1, 1.0))
SPARSE = tuple(Penalty("l1", strength) for strength in (0.01, 0.1))
RIDGE = tuple(Penalty("ridge", strength) for strength in (10_000.0, 1_000.0, 100.0, 10.0))


class Estimator(Protocol):
    """Predicts one number a row from prepared features."""

    def predict(self, features: Floats) -> Floats:
        """Return a probability, or the hours that remain."""


@dataclass(frozen=True)
class Constant:
    """For a label that has one class in train: its prevalence there."""

    value: float

    def predict(self, features: Floats) -> Floats:
        """Return the same for every row."""
        return np.full(len(features), self.value)


@dataclass(frozen=True)
class Fitted:
    """A model of scikit-learn that was fitted."""

    model: Any

    def predict(self, features: Floats) -> Floats:
        """Return the probability of class 1, or the value."""
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(features)[:, 1], dtype=np.float64)
        return np.asarray(self.model.predict(features), dtype=np.float64)


@dataclass(frozen=True)
class Part:
    """What is learnt from, or tuned on."""

    features: Floats
    labels: Floats
    weights: Floats


@dataclass(frozen=True)
class Baseline:
    """A trained baseline.

    Attributes:
        penalty: the point of the grid that did best in validation.
        metric: by which.
        validation: its value for each point tried, in order; None where it is undefined.
        constant_labels: numbers of the labels that had one class in train.
        not_converged: numbers of the labels whose fit stopped at the limit of iterations.
    """

    prepare: Any
    estimators: Sequence[Estimator]
    penalty: Penalty
    metric: str
    validation: list[tuple[Penalty, float | None]] = field(default_factory=list)
    constant_labels: list[int] = field(default_factory=list)
    not_converged: list[int] = field(default_factory=list)

    def predict(self, features: Floats) -> Floats:
        """Return one column a label for features as they come from the warehouse."""
        return _predict(self.estimators, self.prepare.transform(features))


def train(task: Task, training: Part, validation: Part, seed: int) -> Baseline:
    """Fit the grid on the training part and keep what does best on the validation part.

    Args:
        task: the task.
        training: at least one row.
        validation: may be empty; then the strongest penalty stays.
        seed: of the one solver that draws random numbers (L1).
    """
    prepare = make_pipeline(
        SimpleImputer(strategy="mean", keep_empty_features=True), StandardScaler()
    )
    prepared = prepare.fit_transform(training.features)
    weights = training.weights / training.weights.mean()
    tuning = prepare.transform(validation.features) if len(validation.labels) else None
    metric = "mean absolute error" if task.kind is Kind.HOURS else "AUC of ROC"

    best: tuple[Penalty, list[Estimator], float | None] | None = None
    tried: list[tuple[Penalty, float | None]] = []
    for penalty in _grid(task):
        estimators = [_fit(penalty, prepared, label, weights, seed) for label in training.labels.T]
        value = None
        if tuning is not None:
            value = _evaluate(task, _predict(estimators, tuning), validation)
        tried.append((penalty, value))
        if best is None or _is_better(task, value, best[2]):
            best = (penalty, estimators, value)
    assert best is not None  # noqa: S101 - no grid is empty
    kept = best[1]
    return Baseline(
        prepare,
        kept,
        best[0],
        metric,
        tried,
        [number for number, each in enumerate(kept, 1) if isinstance(each, Constant)],
        [number for number, each in enumerate(kept, 1) if _stopped_early(each)],
    )


def _grid(task: Task) -> tuple[Penalty, ...]:
    if task.kind is Kind.HOURS:
        return RIDGE
    return LOGISTIC if task.has_sample_times else LOGISTIC + SPARSE


def _fit(
    penalty: Penalty, features: Floats, label: Floats, weights: Floats, seed: int
) -> Estimator:
    if penalty.name == "ridge":
        model = Ridge(alpha=penalty.strength, solver="cholesky")
        return Fitted(model.fit(features, label, sample_weight=weights))
    if len(np.unique(label)) == 1:
        return Constant(float(label[0]))
    is_sparse = penalty.name == "l1"
    model = LogisticRegression(
        C=penalty.strength,
        l1_ratio=1.0 if is_sparse else 0.0,
        solver="liblinear" if is_sparse else "lbfgs",
        # liblinear also penalises the intercept, and so pulls rare labels towards one half.
        intercept_scaling=100.0 if is_sparse else 1.0,
        max_iter=MAX_ITERATIONS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # The run's record says it of the model that is kept.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Fitted(model.fit(features, label, sample_weight=weights))


def _predict(estimators: Sequence[Estimator], prepared: Floats) -> Floats:
    return np.column_stack([estimator.predict(prepared) for estimator in estimators])


def _evaluate(task: Task, predicted: Floats, validation: Part) -> float | None:
    """Return the mean over the labels where the metric is defined; None if it is for none."""
    if task.kind is Kind.HOURS:
        # As the score does: nobody leaves before now.
        clipped = np.maximum(predicted[:, 0], 0)
        return float(
            mean_absolute_error(validation.labels[:, 0], clipped, sample_weight=validation.weights)
        )
    areas = [
        roc_auc_score(truth, scores, sample_weight=validation.weights)
        for truth, scores in zip(validation.labels.T, predicted.T, strict=True)
        if len(np.unique(truth)) == 2
    ]
    return float(np.mean(areas)) if areas else None


def _is_better(task: Task, value: float | None, best: float | None) -> bool:
    if value is None or best is None:
        return False
    return value < best if task.kind is Kind.HOURS else value > best


def _stopped_early(estimator: Estimator) -> bool:
    iterations = getattr(getattr(estimator, "model", None), "n_iter_", None)
    return iterations is not None and bool(np.max(iterations) >= MAX_ITERATIONS)
