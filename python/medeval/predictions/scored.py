"""From two files to all that is told of them: the whole way of the command `score`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from medeval.errors import UserError
from medeval.predictions.choices import Cluster, Grouping
from medeval.predictions.clusters import clusters
from medeval.predictions.evaluating import Evaluated, Method, evaluate
from medeval.predictions.files import Source, provenance, read_source
from medeval.predictions.joining import Joined, join
from medeval.predictions.layout import entries
from medeval.predictions.small_cells import require_min_cell
from medeval.predictions.subgroups import Group, groups
from medeval.predictions.tables import Predictions, read_predictions, read_truth
from medeval.predictions.tasks import Task
from medeval.predictions.undefined import undefined, undefined_sentences


@dataclass(frozen=True)
class Request:
    """What a user asked for.

    Attributes:
        task: what is scored.
        prediction: the prediction file.
        listfile: the truth; None takes the warehouse's test rows.
        method: resamples, seed, interval.
        cluster: what is resampled as one unit; None is the row.
        groupings: what to divide the rows by.
        min_cell: the least number of stays of a group that is shown.
        allow_duplicates: count a key as often as it is there.
        strict: take warnings for errors.
        target: the dbt target; None is the default one.
        as_built: take tables of another source than the one that is named now.
    """

    task: Task
    prediction: Path
    listfile: Path | None
    method: Method
    cluster: Cluster | None = None
    groupings: tuple[Grouping, ...] = ()
    min_cell: int = 11
    allow_duplicates: bool = False
    strict: bool = False
    target: str | None = None
    as_built: bool = False


@dataclass(frozen=True)
class Inputs:
    """Joined rows and where they come from; `attributes` holds each stay's groups."""

    joined: Joined
    prediction: Source
    listfile: Source
    data_class: str | None
    attributes: dict[Grouping, list[str]]


@dataclass(frozen=True)
class Scored:
    """All results of one request."""

    request: Request
    inputs: Inputs
    result: Evaluated
    subgroups: dict[Grouping, list[tuple[Group, Evaluated | None]]] = field(default_factory=dict)

    def content(self, *, peer_layout: bool) -> dict[str, Any]:
        """Return what is written: the published keys, then `extra`, `subgroups` and `meta`."""
        method = self.request.method
        bare_nan = peer_layout or method.strict_nan
        metrics = entries(self.result.metrics, method.n_iters, bare_nan=bare_nan)
        content: dict[str, Any] = {"n_iters": method.n_iters, **metrics}
        if peer_layout:
            return content
        if self.result.extra:
            content["extra"] = entries(self.result.extra, method.n_iters, bare_nan=bare_nan)
        if self.subgroups:
            content["subgroups"] = {
                grouping.value: {
                    group.name: self._group(group, evaluated, bare_nan=bare_nan)
                    for group, evaluated in cells
                }
                for grouping, cells in self.subgroups.items()
            }
        content["meta"] = self._meta()
        return content

    def warnings(self) -> list[str]:
        """Return what the user should know: of the rows, and of resamples without a value."""
        method = self.request.method
        sentences = undefined_sentences(
            {**self.result.metrics, **self.result.extra},
            method.n_iters,
            strict_nan=method.strict_nan,
        )
        return [*self.inputs.joined.warnings, *sentences]

    def _group(
        self, group: Group, evaluated: Evaluated | None, *, bare_nan: bool
    ) -> dict[str, Any]:
        told: dict[str, Any] = {
            "n": group.n,
            "n_stays": group.n_stays,
            "n_positive": group.n_positive,
            "suppressed": group.suppressed,
            "metrics": None,
        }
        if evaluated is not None:
            n_iters = self.request.method.n_iters
            metrics = {**evaluated.metrics, **evaluated.extra}
            told["metrics"] = entries(metrics, n_iters, bare_nan=bare_nan)
            told["undefined"] = undefined(metrics, n_iters)
            if group.suppressed_labels:
                told["suppressed_metrics"] = {
                    f"ROC AUC of task {label + 1}": reason
                    for label, reason in group.suppressed_labels.items()
                }
        return told

    def _meta(self) -> dict[str, Any]:
        request, inputs = self.request, self.inputs
        method = request.method
        joined = inputs.joined
        return {
            "task": request.task.name,
            "n": len(joined.stays),
            "n_stays": len(np.unique(joined.stays)),
            "n_iters": method.n_iters,
            "seed": method.seed,
            "generator": "MT19937, as numpy.random.RandomState(seed).randint",
            "interval": {"method": method.interval.value, "level": 0.95},
            "cluster": request.cluster.value if request.cluster else None,
            "strict_nan": method.strict_nan,
            "undefined": undefined({**self.result.metrics, **self.result.extra}, method.n_iters),
            "warnings": self.warnings(),
            "min_cell": request.min_cell if self.subgroups else None,
            **provenance(
                {"prediction": inputs.prediction.described()},
                inputs.listfile,
                inputs.data_class,
                is_file=request.listfile is not None,
            ),
        }


def score_files(request: Request) -> Scored:
    """Read, join and score.

    Raises:
        UserError: the input does not fit, or a smallest cell that hides nothing well; with
            `strict`, also if there is anything to warn of.
    """
    if request.groupings:
        require_min_cell(request.min_cell)
    inputs = read_inputs(request)
    joined = inputs.joined
    if request.strict and joined.warnings:
        raise UserError("\n".join([*joined.warnings, "--strict takes this for an error."]))
    numbers = clusters(joined, request.cluster)
    rows = np.arange(len(joined.stays))
    label = request.task.name
    result = evaluate(request.task, joined, rows, numbers, request.method, label)
    subgroups: dict[Grouping, list[tuple[Group, Evaluated | None]]] = {}
    for grouping, attributes in inputs.attributes.items():
        cells: list[tuple[Group, Evaluated | None]] = []
        for group in groups(request.task, joined, attributes, request.min_cell):
            evaluated = None
            if group.suppressed is None:
                label = f"{grouping.value} {group.name}"
                evaluated = evaluate(
                    request.task, joined, group.rows, numbers, request.method, label
                ).without([f"ROC AUC of task {number + 1}" for number in group.suppressed_labels])
            cells.append((group, evaluated))
        subgroups[grouping] = cells
    return Scored(request, inputs, result, subgroups)


def read_inputs(request: Request) -> Inputs:
    """Read both files and, if any grouping asks for it, what the warehouse knows of the stays.

    Raises:
        UserError: a file or the warehouse cannot be read, or the rows do not fit together.
    """
    prediction = read_source(request.prediction)
    predictions = read_predictions(request.task, prediction)
    if request.listfile is not None and not request.groupings:
        return _inputs(request, prediction, predictions, read_source(request.listfile))
    # Here, not above: files alone need no warehouse, and it takes a while to load.
    from medeval.builds import open_built
    from medeval.predictions.attributes import read_attributes
    from medeval.predictions.listfiles import warehouse_listfile

    with open_built("mimic3", request.target, as_built=request.as_built) as warehouse:
        if request.listfile is not None:
            inputs = _inputs(request, prediction, predictions, read_source(request.listfile))
        else:
            found = warehouse_listfile(request.task, warehouse)
            inputs = _inputs(request, prediction, predictions, found.source, found.data_class)
        if not request.groupings:
            return inputs
        attributes = read_attributes(warehouse, inputs.joined, request.groupings)
    return Inputs(inputs.joined, prediction, inputs.listfile, inputs.data_class, attributes)


def _inputs(
    request: Request,
    prediction: Source,
    predictions: Predictions,
    listfile: Source,
    data_class: str | None = None,
) -> Inputs:
    truth = read_truth(request.task, listfile)
    joined = join(request.task, truth, predictions, allow_duplicates=request.allow_duplicates)
    return Inputs(joined, prediction, listfile, data_class, {})
