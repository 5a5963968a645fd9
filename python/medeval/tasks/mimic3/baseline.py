"""A run of a baseline: train, tune, predict the test rows, write the run's folder."""

from __future__ import annotations

import hashlib
import json
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn  # type: ignore[import-untyped]

import medeval
from medeval.builds import Build, build_command, newest_build, open_built, read_source
from medeval.errors import UserError
from medeval.models.text_files import save_text
from medeval.tasks.mimic3.inputs import PREDICTIONS, RUN
from medeval.tasks.mimic3.learning import Part, train
from medeval.tasks.mimic3.samples import (
    FEATURES,
    FLOOR,
    SCHEMA,
    TABLES,
    TEST,
    TRAIN,
    VALIDATION,
    Floats,
    Samples,
    read_features,
    read_samples,
)
from medeval.tasks.mimic3.tasks import Kind, Task, task_named
from medeval.warehouse import Warehouse, schema_name

MODELS = ("logistic",)


def predict_to_run(
    task: str, model: str, *, target: str | None, out: Path, seed: int, as_built: bool = False
) -> Path:
    """Train a baseline on the warehouse's features and write its predictions of the test rows.

    Args:
        task: the task's name or short name.
        model: `logistic`; for length of stay it is the ridge regression that stands in its place.
        target: of profiles.yml; None takes MEDEVAL_TARGET.
        out: the folder of runs.
        seed: of the solvers that draw random numbers.
        as_built: take features of another source than the one that is named now.

    Returns:
        The run's folder, with predictions.csv and run.json.

    Raises:
        UserError: an unknown task or model, or the features are not there, or of an older build.
    """
    chosen = task_named(task)
    if model not in MODELS:
        raise UserError(f"Unknown model {model!r}. Models: {', '.join(MODELS)}.")
    started = datetime.now(UTC)
    with open_built(f"mimic3 {FLOOR}", target, as_built=as_built) as warehouse:
        builds = _builds(warehouse, chosen)
        digest = hashlib.sha256()
        training = _read_part(warehouse, chosen, TRAIN, digest)
        if not len(training.labels):
            raise UserError(
                f"{chosen.name} has no training rows: no stay outside the test and validation"
                " subjects. A small extract of MIMIC-III may have none."
            )
        validation = _read_part(warehouse, chosen, VALIDATION, digest)
        test = read_samples(warehouse, chosen, TEST)
        if not len(test):
            raise UserError(f"{chosen.name} has no test rows, so there is nothing to predict.")
        baseline = train(chosen, training, validation, seed)
        blocks = _hashed(warehouse, chosen, TEST, test, digest)
        predictions = np.vstack([baseline.predict(block) for block in blocks])
        text = _prediction_file(chosen, test, predictions)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        record = {
            "task": chosen.name,
            "model": model,
            "seed": seed,
            "started_at": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "data_class": read_source(warehouse, SCHEMA)["data_class"],
            "data_sha256": digest.hexdigest(),
            "rows": {
                "train": len(training.labels),
                "validation": len(validation.labels),
                "test": len(test),
            },
            "features": FEATURES,
            "parameters": {
                **baseline.penalty,
                "metric": baseline.metric,
                "validation": baseline.validation,
                "constant_labels": baseline.constant_labels,
                "not_converged": baseline.not_converged,
            },
            "files": [{"path": PREDICTIONS, "rows": len(test), "sha256": sha256}],
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
    name = f"{started:%Y%m%dT%H%M%SZ}-{chosen.name}-{model}"
    return _write_run(out, name, text, record)


def _builds(warehouse: Warehouse, task: Task) -> dict[str, Build]:
    """Return the builds of listfiles and features; the features must not be the older ones."""
    command = build_command(f"mimic3 {FLOOR}", warehouse.target.name)
    schema = schema_name(SCHEMA)
    tables = [f"mimic3_{task.name}", "mimic3_data_class", "mimic3_source_tables", *TABLES]
    missing = [table for table in tables if not warehouse.columns(schema, table)]
    if missing:
        raise UserError(
            f"The features of the baselines are not built: the warehouse has no"
            f" {', '.join(f'{schema}.{table}' for table in missing)}. Run `{command}`."
        )
    floor = newest_build(warehouse, SCHEMA)
    features = newest_build(warehouse, FLOOR)
    if features.started_at < floor.started_at:
        only = build_command(FLOOR, warehouse.target.name)
        raise UserError(
            f"The features of the baselines are older than the tables of {SCHEMA}. Run `{only}`."
        )
    return {SCHEMA: floor, FLOOR: features}


def _read_part(warehouse: Warehouse, task: Task, part: str, digest: hashlib._Hash) -> Part:
    samples = read_samples(warehouse, task, part)
    features = np.empty((len(samples), FEATURES))
    start = 0
    for block in _hashed(warehouse, task, part, samples, digest):
        features[start : start + len(block)] = block
        start += len(block)
    return Part(features, samples.labels, samples.weights)


def _hashed(
    warehouse: Warehouse, task: Task, part: str, samples: Samples, digest: hashlib._Hash
) -> Iterator[Floats]:
    """Yield the features of samples; what was used is in the digest when all are taken."""
    for block in read_features(warehouse, task, part, len(samples)):
        digest.update(block.data)
        yield block
    digest.update("\n".join(samples.stays).encode())
    for array in (samples.window_hours, samples.weights, samples.labels):
        digest.update(array.tobytes())


def _prediction_file(task: Task, samples: Samples, predictions: Floats) -> str:
    """Return the file: predictions in the shortest form that reads back to the same double."""
    keys = ["stay", "period_length"] if task.has_period_length else ["stay"]
    label = ("{:.6f}" if task.kind is Kind.HOURS else "{:.0f}").format
    lines = [",".join([*keys, *task.prediction_columns, *task.truth_columns])]
    numbers = samples.period_lengths.tolist(), predictions.tolist(), samples.labels.tolist()
    for stay, length, values, labels in zip(samples.stays, *numbers, strict=True):
        hour = [f"{length:.6f}"] * task.has_period_length
        lines.append(",".join([stay, *hour, *map(repr, values), *map(label, labels)]))
    return "\n".join(lines) + "\n"


def _write_run(out: Path, name: str, predictions: str, record: dict[str, Any]) -> Path:
    """Write the folder beside its place and rename it, so that a run is whole or not there.

    Raises:
        UserError: it cannot be written.
    """
    folder, number = out / name, 1
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=".incomplete-", dir=out))
        save_text(half / PREDICTIONS, predictions)
        save_text(half / RUN, json.dumps(record, indent=2) + "\n")
        while folder.exists():  # another run of the same second
            number += 1
            folder = out / f"{name}-{number}"
        half.rename(folder)
    except OSError as error:
        raise UserError(f"Cannot write {error.filename or out}: {error.strerror}.") from error
    return folder
