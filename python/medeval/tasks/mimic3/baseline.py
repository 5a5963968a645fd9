"""Baselines: 714 features of a stay, logistic regression or ridge, and a run's folder.

Train, tune on the validation subjects, predict the test rows, write predictions.csv and run.json.
"""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn  # type: ignore[import-untyped]
from sklearn.dummy import DummyRegressor  # type: ignore[import-untyped]
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
from sklearn.impute import SimpleImputer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]
from sklearn.metrics import mean_absolute_error, roc_auc_score  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

import medeval
from medeval.builds import build_command, newest_build, open_built, read_source
from medeval.errors import UserError, os_error_as
from medeval.inference.run import RUN
from medeval.models.text_files import save_text
from medeval.raw_files import sql_text
from medeval.scoring.resample import Floats
from medeval.tasks.mimic3.task import FLOOR, PREDICTIONS, IcuTask
from medeval.tasks.task_run import new_folder
from medeval.text import sha256_of
from medeval.warehouse import Warehouse, flat, schema_name

FEATURES_FLOOR = "mimic3_features"

VARIABLES = 17
SUB_WINDOWS = ("all", "first_10", "first_25", "first_50", "last_10", "last_25", "last_50")
STATISTICS = ("minimum", "maximum", "mean", "standard_deviation", "skewness", "count")
# The columns of a variable in mimic3_features, and the order of the features in a matrix.
COLUMNS = tuple(f"{part}_{statistic}" for part in SUB_WINDOWS for statistic in STATISTICS)
FEATURES = VARIABLES * len(COLUMNS)

TRAIN = "windows.partition = 'train' and not windows.is_validation"
VALIDATION = "windows.partition = 'train' and windows.is_validation"
TEST = "windows.partition = 'test'"

# Rows of one block of features: 714 doubles each, so about 90 MB.
BLOCK_ROWS = 16_384
MAX_ITERATIONS = 2_000

# One point of the grid, as the run's record shows it: `penalty`, and its strength as scikit-learn
# calls it, `C` or `alpha`.
Penalty = dict[str, Any]
# From strong to weak. The first is what stays where validation cannot tell: that of the reference
# for its single-label tasks. L1 is for tasks of a row a stay; over hours it takes too long.
LOGISTIC = [{"penalty": "l2", "C": strength} for strength in (0.001, 0.01, 0.1, 1.0)]
SPARSE = [{"penalty": "l1", "C": strength} for strength in (0.01, 0.1)]
RIDGE = [{"penalty": "ridge", "alpha": strength} for strength in (10_000.0, 1_000.0, 100.0, 10.0)]


class Samples(NamedTuple):
    """The samples of one part of a task, by stay in byte order, then by hour.

    Attributes:
        stays: the name of the stay of each.
        window_hours: where its window of observations ends.
        period_lengths: what the listfile says; missing for in-hospital mortality.
        weights: how many samples of the stay each stands for.
        labels: what is true, one column a label.
    """

    stays: list[str]
    window_hours: Floats
    period_lengths: Floats
    weights: Floats
    labels: Floats


class Part(NamedTuple):
    """What is learnt from, or tuned on."""

    features: Floats
    labels: Floats
    weights: Floats


def predict_to_run(
    task: type[IcuTask],
    model: str,
    *,
    target: str | None,
    out: Path,
    seed: int,
    as_built: bool = False,
) -> Path:
    """Train a baseline on the warehouse's features and write its predictions of the test rows.

    Args:
        task: the task.
        model: `logistic`; for length of stay it is the ridge regression that stands in its place.
        target: of profiles.yml; None takes MEDEVAL_TARGET.
        out: the folder of runs.
        seed: of the solvers that draw random numbers.
        as_built: take features of another source than the one that is named now.

    Returns:
        The run's folder, with predictions.csv and run.json.

    Raises:
        UserError: the features are not there, or of an older build.
    """
    started = datetime.now(UTC)
    with open_built(f"{FLOOR} {FEATURES_FLOOR}", target, as_built=as_built) as warehouse:
        tables = [f"mimic3_{task.name}", "mimic3_data_class", "mimic3_source_tables"]
        builds = {
            FLOOR: newest_build(warehouse, FLOOR, tables),
            FEATURES_FLOOR: newest_build(warehouse, FEATURES_FLOOR),
        }
        if builds[FEATURES_FLOOR].started_at < builds[FLOOR].started_at:
            command = build_command(FEATURES_FLOOR, warehouse.target.name)
            raise UserError(f"The baselines' features are older than {FLOOR}. Run `{command}`.")
        digest = hashlib.sha256()
        training = _read_part(warehouse, task, TRAIN, digest)
        if not len(training.labels):
            raise UserError(
                f"{task.name} has no training rows, as in a small extract of MIMIC-III."
            )
        validation = _read_part(warehouse, task, VALIDATION, digest)
        test = read_samples(warehouse, task, TEST)
        if not test.stays:
            raise UserError(f"{task.name} has no test rows, so there is nothing to predict.")
        predict, parameters = train(task, training, validation, seed)
        blocks = read_features(warehouse, task, TEST, test, digest)
        text = _prediction_text(task, test, np.vstack([predict(block) for block in blocks]))
        sha256 = sha256_of(text)
        parts = {"train": training.labels, "validation": validation.labels, "test": test.labels}
        record = {
            "task": task.name,
            "model": model,
            "seed": seed,
            "started_at": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "data_class": read_source(warehouse, FLOOR)["data_class"],
            "data_sha256": digest.hexdigest(),
            "rows": {part: len(labels) for part, labels in parts.items()},
            "features": FEATURES,
            "parameters": parameters,
            "files": [{"path": PREDICTIONS, "rows": len(test.stays), "sha256": sha256}],
            "target": warehouse.target.name,
            "builds": {floor: asdict(build) for floor, build in builds.items()},
            "versions": {
                "medeval": medeval.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "scikit-learn": sklearn.__version__,
                warehouse.target.type: warehouse.server_version(),
            },
        }
    return _write_run(out, started, text, record)


def _read_part(warehouse: Warehouse, task: type[IcuTask], part: str, digest: hashlib._Hash) -> Part:
    samples = read_samples(warehouse, task, part)
    features, start = np.empty((len(samples.stays), FEATURES)), 0
    for block in read_features(warehouse, task, part, samples, digest):
        features[start : start + len(block)] = block
        start += len(block)
    return Part(features, samples.labels, samples.weights)


def _prediction_text(task: type[IcuTask], samples: Samples, predictions: Floats) -> str:
    """Return the file: predictions in the shortest form that reads back to the same double."""
    keys = ["stay", "period_length"] if task.has_period_length else ["stay"]
    label = ("{:.6f}" if task.kind == "hours" else "{:.0f}").format
    lines = [",".join([*keys, *task.prediction_columns, *task.truth_columns])]
    numbers = samples.period_lengths.tolist(), predictions.tolist(), samples.labels.tolist()
    for stay, length, values, labels in zip(samples.stays, *numbers, strict=True):
        hour = [f"{length:.6f}"] * task.has_period_length
        lines.append(",".join([stay, *hour, *map(repr, values), *map(label, labels)]))
    return "\n".join(lines) + "\n"


def _write_run(out: Path, started: datetime, predictions: str, record: dict[str, Any]) -> Path:
    """Write the folder beside its place and rename it, so that a run is whole or not there.

    Raises:
        UserError: it cannot be written.
    """
    with os_error_as("Cannot write {file}: {why}.", out):
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=".incomplete-", dir=out))
        save_text(half / PREDICTIONS, predictions)
        save_text(half / RUN, json.dumps(record, indent=2) + "\n")
        folder = new_folder(out, record["task"], record["model"], started)
        half.rename(folder)
    return folder


def read_samples(warehouse: Warehouse, task: type[IcuTask], part: str) -> Samples:
    """Read who is sampled, without the features.

    Args:
        warehouse: where the tables are.
        task: the task.
        part: TRAIN, VALIDATION or TEST.
    """
    period_length = "period_length" if task.has_period_length else "null"
    columns = ["stay", "window_hours", period_length, "weight", *task.truth_columns]
    select = f" select {', '.join(columns)} from numbered order by sample_number"  # noqa: S608
    rows = flat(warehouse.query(_numbered(warehouse, task, part) + select))
    width = 3 + len(task.truth_columns)
    numbers = np.array([row[1:] for row in rows], dtype=np.float64).reshape(len(rows), width)
    hours, lengths, weights = numbers.T[:3]
    return Samples([str(row[0]) for row in rows], hours, lengths, weights, numbers[:, 3:])


def read_features(
    warehouse: Warehouse, task: type[IcuTask], part: str, samples: Samples, digest: hashlib._Hash
) -> Iterator[Floats]:
    """Yield the features of the samples, in blocks of rows in the samples' order.

    Missing features are NaN. A block is a new array each time. What was used is in the digest when
    all are taken.

    Args:
        warehouse: where the tables are.
        task: the task.
        part: TRAIN, VALIDATION or TEST.
        samples: those of the part.
        digest: of what is used.
    """
    of_windows = sql_text(
        "icu_features",
        features=warehouse.relation(schema_name(FLOOR), "mimic3_features"),
        columns=", ".join(f"features.{column}" for column in COLUMNS),
    )
    sql = f"{_numbered(warehouse, task, part)} {of_windows}"
    batches = (np.array(batch, dtype=np.float64) for batch in warehouse.query(sql))
    rows = np.empty((0, 2 + len(COLUMNS)))
    for start in range(0, len(samples.stays), BLOCK_ROWS):
        size = min(BLOCK_ROWS, len(samples.stays) - start)
        block = np.full((size, VARIABLES, len(COLUMNS)), np.nan)
        more: Floats | None = rows
        while more is not None:
            numbers = more[:, 0].astype(np.intp) - start
            inside = int(np.searchsorted(numbers, size))
            block[numbers[:inside], more[:inside, 1].astype(np.intp) - 1] = more[:inside, 2:]
            rows = more[inside:]
            more = None if len(rows) else next(batches, None)
        digest.update(block.data)
        yield block.reshape(size, FEATURES)
    digest.update("\n".join(samples.stays).encode())
    for array in (samples.window_hours, samples.weights, samples.labels):
        digest.update(array.tobytes())


def _numbered(warehouse: Warehouse, task: type[IcuTask], part: str) -> str:
    """Return a CTE of the part's samples with their labels, numbered from 0.

    The names come from the code; nothing of a user's is in the text.
    """
    schema, kind = schema_name(FLOOR), "hourly" if task.has_sample_times else task.name
    columns = [*task.truth_columns, *["period_length"] * task.has_period_length]
    same_hour = " and windows.window_hours = listed.period_length" * task.has_sample_times
    return sql_text(
        "icu_samples",
        columns=", ".join(f"listed.{column}" for column in columns),
        listed=warehouse.relation(schema, f"mimic3_{task.name}"),
        windows=warehouse.relation(schema, "mimic3_feature_windows"),
        conditions=f"windows.kind = '{kind}' and {part}{same_hour}",
    )


def train(
    task: type[IcuTask], training: Part, validation: Part, seed: int
) -> tuple[Callable[[Floats], Floats], dict[str, Any]]:
    """Fit the grid on the training part and keep what does best on the validation part.

    Args:
        task: the task.
        training: at least one row.
        validation: may be empty; then the strongest penalty stays.
        seed: of the one solver that draws random numbers (L1).

    Returns:
        What predicts, one column a label, from features as they come from the warehouse; and what
        the run's record says: the penalty that stays, each one tried with its `value` (None where
        that is undefined), and by number the labels that had one class in train and those whose
        fit stopped at the limit of iterations.
    """
    prepare = make_pipeline(
        SimpleImputer(strategy="mean", keep_empty_features=True), StandardScaler()
    )
    prepared = prepare.fit_transform(training.features)
    weights = training.weights / training.weights.mean()
    tuning = prepare.transform(validation.features) if len(validation.labels) else None
    hours = task.kind == "hours"
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
    models = dict(enumerate(fitted[best], 1))
    parameters = {
        **grid[best],
        "metric": "mean absolute error" if hours else "AUC of ROC",
        "validation": [{**one, "value": value} for one, value in zip(grid, values, strict=True)],
        "constant_labels": [key for key, one in models.items() if isinstance(one, DummyRegressor)],
        "not_converged": [
            key
            for key, one in models.items()
            if np.max(getattr(one, "n_iter_", None) or 0) >= MAX_ITERATIONS
        ],
    }
    return lambda features: _predict(fitted[best], prepare.transform(features)), parameters


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


def _evaluate(task: type[IcuTask], predicted: Floats, validation: Part) -> float | None:
    """Return the mean over the labels where the metric is defined; None if it is for none."""
    if task.kind == "hours":
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
