"""The models: mean imputation, standardisation, then logistic regression or ridge."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.impute import SimpleImputer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]
from sklearn.metrics import mean_absolute_error, roc_auc_score  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from medeval.tasks.mimic3.samples import Floats
from medeval.tasks.mimic3.tasks import Kind, Task

MAX_ITERATIONS = 2_000


# One point of the grid, as the run's record shows it: `penalty`, and its strength as scikit-learn
# calls it, `C` or `alpha`.
Penalty = dict[str, Any]

# From strong to weak. The first is what stays where validation cannot tell: that of the reference
# for its single-label tasks. L1 is for tasks of a row a stay; over hours it takes too long.
LOGISTIC = [{"penalty": "l2", "C": strength} for strength in (0.001, 0.01, 0.1, 1.0)]
SPARSE = [{"penalty": "l1", "C": strength} for strength in (0.01, 0.1)]
RIDGE = [{"penalty": "ridge", "alpha": strength} for strength in (10_000.0, 1_000.0, 100.0, 10.0)]


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
        prepare: imputes and standardises features.
        models: of scikit-learn, one a label.
        penalty: the point of the grid that did best in validation.
        metric: by which.
        validation: each point tried, in order, with its `value`; None where that is undefined.
    """

    prepare: Any
    models: Sequence[Any]
    penalty: Penalty
    metric: str
    validation: list[Penalty]

    def predict(self, features: Floats) -> Floats:
        """Return one column a label for features as they come from the warehouse."""
        return _predict(self.models, self.prepare.transform(features))

    @property
    def constant_labels(self) -> list[int]:
        """Return the numbers of the labels that had one class in train."""
        models = enumerate(self.models, 1)
        return [number for number, model in models if isinstance(model, DummyRegressor)]

    @property
    def not_converged(self) -> list[int]:
        """Return the numbers of the labels whose fit stopped at the limit of iterations."""
        done = [np.max(getattr(model, "n_iter_", None) or 0) for model in self.models]
        return [number for number, count in enumerate(done, 1) if count >= MAX_ITERATIONS]


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
    hours = task.kind is Kind.HOURS
    grid = RIDGE if hours else LOGISTIC if task.has_sample_times else LOGISTIC + SPARSE
    fitted = [
        [_fit(penalty, prepared, label, weights, seed) for label in training.labels.T]
        for penalty in grid
    ]
    values = [
        None if tuning is None else _evaluate(task, _predict(models, tuning), validation)
        for models in fitted
    ]
    # Of equals, and of what is undefined, the first.
    defined = [value for value in values if value is not None]
    best = values.index(min(defined) if hours else max(defined)) if defined else 0
    metric = "mean absolute error" if hours else "AUC of ROC"
    tried = [{**one, "value": value} for one, value in zip(grid, values, strict=True)]
    return Baseline(prepare, fitted[best], grid[best], metric, tried)


def _fit(penalty: Penalty, features: Floats, label: Floats, weights: Floats, seed: int) -> Any:
    model: Any
    if penalty["penalty"] == "ridge":
        model = Ridge(alpha=penalty["alpha"], solver="cholesky")
    elif len(np.unique(label)) == 1:
        model = DummyRegressor()  # its prevalence
    else:
        is_sparse = penalty["penalty"] == "l1"
        model = LogisticRegression(
            C=penalty["C"],
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
        return model.fit(features, label, sample_weight=weights)


def _predict(models: Sequence[Any], prepared: Floats) -> Floats:
    """Return the probability of class 1, or the hours that remain, one column a label."""
    return np.column_stack(
        [
            model.predict_proba(prepared)[:, 1]
            if hasattr(model, "predict_proba")
            else model.predict(prepared)
            for model in models
        ]
    )


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
