"""The command `predict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from medeval.commands.shared_options import AsBuilt, DbtTarget
from medeval.predictions.tasks import TASKS


def predict(
    task: Annotated[
        str, typer.Option(help=", ".join(f"{one.name} ({one.short})" for one in TASKS))
    ],
    model: Annotated[
        str, typer.Option(help="logistic; for length of stay a ridge regression.")
    ] = "logistic",
    target: DbtTarget = None,
    as_built: AsBuilt = False,
    out: Annotated[Path, typer.Option(help="Folder for the run's folder.")] = Path("runs"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the solvers.")] = 0,
) -> None:
    """Train a baseline on the warehouse's features and predict the test rows of an ICU task."""
    # Here, not above: every other command starts without scikit-learn.
    from medeval.baselines.run import predict_to_run
    from medeval.predictions.inputs import PREDICTIONS, RUN

    folder = predict_to_run(task, model, target=target, out=out, seed=seed, as_built=as_built)
    record = json.loads((folder / RUN).read_text(encoding="utf-8"))
    rows, parameters = record["rows"], record["parameters"]
    strength = "alpha" if "alpha" in parameters else "C"
    print(
        f"{folder / PREDICTIONS}: {rows['test']:,} predictions; trained on {rows['train']:,} rows,"
        f" tuned on {rows['validation']:,} ({parameters['penalty']},"
        f" {strength} = {parameters[strength]:g})"
    )
