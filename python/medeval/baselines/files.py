"""The files of a baseline's run: predictions.csv and run.json, for their owner only."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from medeval.baselines.samples import Floats, Samples
from medeval.errors import UserError
from medeval.files import write_private
from medeval.predictions.tasks import Kind, Task

PREDICTIONS = "predictions.csv"
RUN = "run.json"


def prediction_file(task: Task, samples: Samples, predictions: Floats) -> bytes:
    """Return the file: predictions in the shortest form that reads back to the same double."""
    keys = ["stay", "period_length"] if task.has_period_length else ["stay"]
    label_format = ".6f" if task.kind is Kind.HOURS else ".0f"
    lines = [",".join([*keys, *task.prediction_columns, *task.truth_columns])]
    for stay, length, values, labels in zip(
        samples.stays,
        samples.period_lengths.tolist(),
        predictions.tolist(),
        samples.labels.tolist(),
        strict=True,
    ):
        cells = [stay, f"{length:.6f}"] if task.has_period_length else [stay]
        cells += [repr(value) for value in values]
        cells += [format(label, label_format) for label in labels]
        lines.append(",".join(cells))
    return ("\n".join(lines) + "\n").encode()


def write_run(out: Path, name: str, predictions: bytes, record: dict[str, Any]) -> Path:
    """Write the folder beside its place and rename it, so that a run is whole or not there.

    Raises:
        UserError: it cannot be written.
    """
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=".incomplete-", dir=out))
        write_private(half / PREDICTIONS, predictions)
        write_private(half / RUN, (json.dumps(record, indent=2) + "\n").encode())
        folder = out / name
        number = 1
        while folder.exists():  # another run of the same second
            number += 1
            folder = out / f"{name}-{number}"
        half.rename(folder)
    except OSError as error:
        raise UserError(f"Cannot write {error.filename or out}: {error.strerror}.") from error
    return folder
