"""The four ICU tasks, which are answered by predictions, and not by a model that is asked."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence, Set
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from medeval.errors import UserError
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.scores import LEVEL, Interval
from medeval.tasks.mimic3 import tasks
from medeval.tasks.mimic3.tasks import Cluster, Grouping, Kind, task_named
from medeval.tasks.options import TaskOptions
from medeval.tasks.task import Comparison, Method, Task, TaskScore

if TYPE_CHECKING:
    from medeval.tasks.mimic3.inputs import Request
    from medeval.tasks.mimic3.scored import Scored


Choice = TypeVar("Choice", bound=StrEnum)


class IcuScoreOptions(TaskOptions):
    """What can be chosen about the score of predictions."""

    listfile: str | None = Field(
        None,
        description="The truth (.csv, .csv.gz, .parquet). Default: the warehouse's test rows.",
        json_schema_extra={"words": ["--test_listfile"]},
    )
    target: str | None = Field(None, description="Target of profiles.yml. Default: MEDEVAL_TARGET.")
    allow_duplicates: bool = Field(False, description="Count a key as often as the files have it.")
    strict: bool = Field(False, description="Take warnings about the rows for errors.")
    peer_layout: bool = Field(
        False, description="Write the keys of mimic3-benchmarks only; undefined is NaN."
    )
    strict_nan: bool = Field(
        False, description="One resample without a value makes the statistic NaN."
    )
    extra: bool = Field(
        False, description="Also average precision, Brier score, calibration, a second kappa."
    )
    ci: Literal["percentile", "bca"] = Field(
        "percentile", description="How the interval is made of the resamples."
    )
    threshold: float | None = Field(
        None, ge=0, le=1, description="Also test answers that say yes above this (McNemar)."
    )


class IcuTask(Task):
    """A task of the MIMIC-III listfiles; see `Task`."""

    answered_by = "predict, or a prediction file"
    BASELINES = ("logistic",)
    ScoreOptions: ClassVar[type[TaskOptions]] = IcuScoreOptions
    COMPARED: ClassVar[Set[str]] = frozenset({"listfile", "target", "threshold"})

    @classmethod
    def predict(cls, name: str, model: str, **given: Any) -> str:
        """See `Task`."""
        from medeval.tasks.mimic3.baseline import predict_to_run
        from medeval.tasks.mimic3.inputs import PREDICTIONS

        folder = predict_to_run(name, model, **given)
        record = _record(folder)
        rows, parameters = record["rows"], record["parameters"]
        strength = "alpha" if "alpha" in parameters else "C"
        return (
            f"{folder / PREDICTIONS}: {rows['test']:,} predictions; trained on {rows['train']:,}"
            f" rows, tuned on {rows['validation']:,} ({parameters['penalty']},"
            f" {strength} = {parameters[strength]:g})"
        )

    @classmethod
    def newest(cls, name: str, method: Method) -> Path:
        """See `Task`; without a run, a baseline is trained."""
        from medeval.tasks.mimic3.inputs import newest_or_trained

        options = _options(method)
        return newest_or_trained(task_named(name), options.target, method.seed, options.as_built)

    @classmethod
    def score_file(cls, path: Path, name: str, method: Method) -> TaskScore:
        """See `Task`: a prediction file, or the folder of a run with one."""
        # Here, not above: every other command starts without these.
        from medeval.tasks.mimic3.inputs import prediction_file
        from medeval.tasks.mimic3.scored import score_files

        options, task = _options(method), task_named(name)
        if options.peer_layout and (options.extra or method.groupings):
            raise UserError(
                "--peer-layout has no place for --extra and --by: leave one of them away."
            )
        file = prediction_file(path, task)
        scored = score_files(_request(name, {file.name: file}, method))
        return _task_score(scored, path, options)

    @classmethod
    def compare_files(
        cls, paths: Sequence[Path], name: str, metrics: Sequence[str], method: Method
    ) -> Comparison:
        """See `Task`."""
        from medeval.scoring.compare import answer_sentence
        from medeval.tasks.mimic3.comparing import chosen_metrics, compare_files, named_files
        from medeval.tasks.mimic3.layout import label_names

        options, task = _options(method), task_named(name)
        if options.threshold is not None and task.kind is not Kind.BINARY:
            raise UserError(f"--threshold: {task.name} has no answers that are yes or no.")
        chosen = chosen_metrics(task, metrics)
        found = compare_files(_request(name, named_files(task, paths), method, chosen))
        first, last = found.method_sentences()
        return Comparison(
            found.differences,
            [*map(answer_sentence, found.answers), *first, *last],
            found.content([]),
            found.warnings(),
            found.areas,
            label_names(found.inputs.rows.columns),
        )


class InHospitalMortality(IcuTask):
    """Death in hospital, from the first 48 hours of a stay."""

    name = "in_hospital_mortality"
    N_ITERS = 10_000


class Decompensation(IcuTask):
    """Death within 24 hours, from all hours until then."""

    name = "decompensation"


class LengthOfStay(IcuTask):
    """The hours that a stay still lasts, at each of its hours."""

    name = "length_of_stay"


class Phenotyping(IcuTask):
    """Which of 25 conditions a stay had."""

    name = "phenotyping"
    N_ITERS = 10_000


def _options(method: Method) -> IcuScoreOptions:
    options = method.options
    return options if isinstance(options, IcuScoreOptions) else IcuScoreOptions.model_validate({})


def _request(
    name: str, files: dict[str, Path], method: Method, metrics: tuple[str, ...] = ()
) -> Request:
    """Return what is to be scored, as the modules below take it.

    Raises:
        UserError: a grouping or a cluster that there is not.
    """
    from medeval.tasks.mimic3.inputs import Request

    options = _options(method)
    return Request(
        task=task_named(name),
        predictions=files,
        listfile=None if options.listfile is None else Path(options.listfile),
        n_iters=method.n_iters,
        seed=method.seed,
        cluster=None if method.cluster is None else _one_of(Cluster, "--cluster", method.cluster),
        groupings=tuple(_one_of(Grouping, "--by", one) for one in method.groupings),
        allow_duplicates=options.allow_duplicates,
        target=options.target,
        as_built=options.as_built,
        interval=tasks.Interval(options.ci),
        strict_nan=options.strict_nan,
        extra=options.extra,
        min_cell=method.min_cell,
        strict=options.strict,
        metrics=metrics,
        threshold=options.threshold,
    )


def _one_of(kind: type[Choice], flag: str, value: str) -> Choice:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise UserError(f"{flag} {value}: there are {known}.") from None


def _task_score(scored: Scored, path: Path, options: IcuScoreOptions) -> TaskScore:
    """Return a score in the form of all tasks.

    Args:
        scored: of one prediction file.
        path: as it was named: the file, or the folder of its run.
        options: of the score.
    """
    from medeval.tasks.mimic3.layout import label_names

    request, name, rows = scored.request, scored.request.task.name, scored.inputs.rows
    found = {**scored.result.metrics, **scored.result.extra}
    (prediction,) = scored.inputs.sources.values()
    method = f"{request.interval.value} of resamples"
    intervals = {
        metric: Interval(low=one.low, high=one.high, level=LEVEL, method=method, n=len(rows.stays))
        for metric, one in found.items()
        if math.isfinite(one.low) and math.isfinite(one.high)
    }
    record = _record(path)
    headline = next(iter(scored.result.metrics))
    content = scored.content(peer_layout=options.peer_layout)
    names = label_names(rows.columns)
    result = EvaluationResult(
        model_id=str(record.get("model") or prediction.name),
        task_id=name,
        metrics_results={
            metric: one.value for metric, one in found.items() if math.isfinite(one.value)
        },
        intervals=intervals,
        metadata={
            "run_id": path.name if path.is_dir() else None,
            "headline": headline,
            "data": {
                "sha256": scored.inputs.listfile.sha256,
                "data_class": scored.inputs.data_class or "credentialed",
                "prediction_sha256": prediction.sha256,
            },
            "n": len(rows.stays),
            "n_iters": request.n_iters,
            "seed": request.seed,
            "undefined": {
                metric: {"items": 0, "reason": one.reason}
                for metric, one in found.items()
                if not math.isfinite(one.value)
            },
            "about_metrics": {metric: {"label": label} for metric, label in names.items()},
            "subgroups": content.get("subgroups", {}),
        },
    )
    return TaskScore(
        result,
        headline,
        scored.warnings(),
        groups=_groups(scored),
        notes=list(scored.sentences()),
        file=content,
        place=Path(f"{request.task.short}_results.json"),
        bare_nan=options.peer_layout or options.strict_nan,
    )


def _record(folder: Path) -> dict[str, Any]:
    """Return what the record of a run says; nothing if a path is no run's."""
    try:
        return dict(json.loads((folder / "run.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return {}


def _groups(scored: Scored) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the first metrics of each group, with None for what is hidden."""
    first = list(scored.result.metrics)[:3]
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    for grouping, cells in scored.subgroups.items():
        found[grouping.value] = {
            group.name: {
                "n": None if group.n is None else float(group.n),
                **{
                    metric: _defined(one.metrics[metric].value if one else None) for metric in first
                },
            }
            for group, one in cells
        }
    return found


def _defined(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
