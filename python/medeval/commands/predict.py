"""The command `predict`."""

from __future__ import annotations

import json
from typing import Any

from medeval.commands.shared_options import flags_in
from medeval.registry import with_options


def _predict(**given: Any) -> None:
    """Train a baseline on the warehouse's features and predict the test rows of an ICU task."""
    # Here, not above: every other command starts without scikit-learn.
    from medeval.tasks.mimic3.baseline import predict_to_run
    from medeval.tasks.mimic3.task import PREDICTIONS, RUN

    folder = predict_to_run(given.pop("task"), given.pop("model"), **given)
    record = json.loads((folder / RUN).read_text(encoding="utf-8"))
    rows, parameters = record["rows"], record["parameters"]
    strength = "alpha" if "alpha" in parameters else "C"
    print(
        f"{folder / PREDICTIONS}: {rows['test']:,} predictions; trained on {rows['train']:,} rows,"
        f" tuned on {rows['validation']:,} ({parameters['penalty']},"
        f" {strength} = {parameters[strength]:g})"
    )


predict = with_options(_predict, [flags_in("predict_flags.toml")])
