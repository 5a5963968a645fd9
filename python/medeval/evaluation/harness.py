"""The harness: a model, tasks, and a report of how it did on them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from medeval.errors import UserError
from medeval.evaluation.harness_tasks import (
    CATEGORIES,
    CategoryMap,
    ItemsFailedError,
    MisalignedError,
    Planned,
    Scoring,
    failed_result,
    finish_report,
    plan,
    scored_result,
)
from medeval.evaluation.model_kinds import failed, writable
from medeval.evaluation.model_runner import ModelRunner, ModelSettings, model_settings
from medeval.evaluation.task_loader import TaskLoader, bundled_tasks_dir
from medeval.evaluation.task_registry import TaskRegistry
from medeval.inference.types import canonical
from medeval.metrics.registry import MetricRegistry, default_registry
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.evaluation_result import EvaluationResult
from medeval.models.schemas import Row
from medeval.models.scores import DRAWS

__all__ = ["CATEGORIES", "EvaluationHarness", "ItemsFailedError", "MisalignedError"]


class EvaluationHarness:
    """Runs models on tasks and scores them; may be used as a context manager.

    Attributes:
        tasks: the task registry.
        runner: the model runner.
        results_dir: where reports are kept, one file a run.
        cache_dir: where answers are kept; None keeps none.
    """

    def __init__(
        self,
        tasks_dir: str | Path | None = None,
        results_dir: str | Path = "results",
        cache_dir: str | Path | None = None,
        *,
        registry: TaskRegistry | None = None,
        loader: TaskLoader | None = None,
        runner: ModelRunner | None = None,
        metrics: MetricRegistry | None = None,
        draws: int = DRAWS,
        seed: int = 0,
        on_task_start: Callable[[str], None] | None = None,
        on_task_end: Callable[[str, EvaluationResult], None] | None = None,
        on_progress: Callable[[int, int, str], None] | None = None,
        on_error: Callable[[str, Exception], None] | None = None,
        on_metrics: Callable[[str, Mapping[str, float]], None] | None = None,
    ) -> None:
        """Make a harness; what a callback raises ends the evaluation.

        Args:
            tasks_dir: the folder in which tasks are found; the package's own if not given.
            results_dir: where reports are kept.
            cache_dir: where answers are kept, a run folder for each model and task; None keeps
                none.
            registry: of tasks, instead of one for the folder.
            loader: of task files, instead of one for the folder.
            runner: of models; a `ModelRunner` if not given.
            metrics: where the names of metrics are found; those of this package if not given.
            draws: resamples of the bootstrap behind intervals; 0 for none.
            seed: of the bootstrap.
            on_task_start: before a task; gets its id.
            on_task_end: after a task that did not fail; gets its id and its result.
            on_progress: before each task; gets its number from 1, how many there are, and its id.
            on_error: when a task fails; gets its id and the exception.
            on_metrics: after a task that has scores; gets its id and the scores.

        Raises:
            ValueError: more than one of folder, loader and registry are given.
        """
        if sum(given is not None for given in (tasks_dir, loader, registry)) > 1:
            raise ValueError("give one of tasks_dir, loader and registry: each has the one before")
        folder = bundled_tasks_dir() if tasks_dir is None else Path(tasks_dir)
        self.tasks = registry or TaskRegistry(folder, loader=loader or TaskLoader(folder))
        self.runner = runner or ModelRunner()
        self.results_dir = Path(results_dir)
        self.cache_dir = None if cache_dir is None else Path(cache_dir)
        self._scoring = partial(Scoring, metrics or default_registry(), draws, seed)
        self._on_task_start, self._on_task_end = on_task_start or _ignore, on_task_end or _ignore
        self._on_progress, self._on_error = on_progress or _ignore, on_error or _ignore
        self._on_metrics = on_metrics or _ignore

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Hold nothing: an evaluation lets go of the model that it loaded."""

    def evaluate(
        self,
        model_id: str,
        task_ids: Iterable[str],
        model_type: str | None = None,
        batch_size: int = 8,
        use_cache: bool = True,
        save_results: bool = True,
        strict_validation: bool = False,
        report_formats: Sequence[str] | None = None,
        report_dir: str | Path | None = None,
        combined_weights: Mapping[str, float] | None = None,
        combined_metric_name: str | None = None,
        category_map: CategoryMap | None = None,
        **model_kwargs: Any,
    ) -> BenchmarkReport:
        """Run a model on tasks and score it.

        A task that fails has the status `error` and a reason, no scores, and no part in any mean.
        An item that fails scores as an output with nothing in it and stays in the denominator;
        if every item of a task fails, the task has.

        Args:
            model_id: the model's name.
            task_ids: ids of tasks, paths or URLs.
            model_type: as the runner calls it; None for a model that the runner has loaded.
            batch_size: inputs per call.
            use_cache: take answers from the cache folder, if there is one; it is filled anyway.
            save_results: keep the report in the folder of results, without the inputs of tasks
                that are not open.
            strict_validation: raise at the first task or item that fails, and the first row or
                output that breaks a schema. Without it these are noted and the work goes on.
            report_formats: also write reports in these formats: json, yaml, md, csv, html.
            report_dir: where these go; the folder of results if not given.
            combined_weights: metric or category to weight in a combined score.
            combined_metric_name: what that is called; `combined_score` if not given.
            category_map: category to metrics; `CATEGORIES` if not given, empty for none.
            **model_kwargs: what the runner loads the model with. Secrets among them are written
                nowhere.

        Raises:
            UserError: found before the model is loaded: no task, an unknown metric or format,
                averages that cannot be made.
            MisalignedError: the runner does not return one output for each input.
            ValueError: a schema is broken, if strict.
            ItemsFailedError: items failed, if strict.
        """
        from medeval.reporting.report import format_named, write_report

        formats = dict.fromkeys(map(format_named, report_formats or ()))
        scoring = self._scoring(
            CATEGORIES if category_map is None else category_map,
            combined_weights or {},
            combined_metric_name or "combined_score",
        )
        planned = plan(task_ids, self.tasks, scoring)
        for one in planned if strict_validation else ():
            if one.reason:
                raise one.reason
            if one.violations:
                raise ValueError(f"{one.task_id}: {one.violations[0]}")
        started = datetime.now(UTC)
        report = BenchmarkReport(model_id=model_id, timestamp=started)
        is_loaded = model_id in self.runner.loaded
        if model_type is None and (model_kwargs or not is_loaded):
            raise UserError(
                f"Model {model_id!r}: name its model_type, to load it with its parameters."
            )
        if model_type is not None and is_loaded:
            # The runner would keep the first: the scores would be of another model than is named.
            raise UserError(
                f"Model {model_id!r} is loaded in the runner. Leave out model_type and parameters"
                " to evaluate that one, or unload it first."
            )
        if model_type is not None:
            self.runner.load_model(model_id, model_type, **model_kwargs)
        try:
            described = self.runner.model(model_id).settings
            settings = model_settings(model_id, model_type, model_kwargs, described)
            how = scoring, settings, batch_size, use_cache, strict_validation
            for number, one in enumerate(planned, start=1):
                self._on_progress(number, len(planned), one.task_id)
                self._on_task_start(one.task_id)
                report.add_evaluation_result(self._result(one, *how))
        finally:
            if model_type is not None:
                self.runner.unload_model(model_id)
        contents = sorted(([one.task_id, one.hash] for one in planned), key=str)
        asked = {"model": settings.recorded, "tasks": contents}
        digest = hashlib.sha256(canonical(asked).encode()).hexdigest()[:12]
        name = f"{started:%Y%m%dT%H%M%S%fZ}-{digest}"
        about = {
            "run_id": name,
            "model": settings.recorded,
            "prompt_version": str(described.get("prompt_version", "")),
            "batch_size": batch_size,
            "strict_validation": strict_validation,
            "seconds": (datetime.now(UTC) - started).total_seconds(),
        }
        finish_report(report, scoring, about)
        if save_results:
            write_report(report, self.results_dir / f"{name}.json", keep_outputs=True)
        folder = Path(report_dir or self.results_dir)
        for form in formats:
            write_report(report, folder / f"{name}-report.{form}")
        return report

    def _result(
        self,
        planned: Planned,
        scoring: Scoring,
        settings: ModelSettings,
        batch_size: int,
        use_cache: bool,
        strict: bool,
    ) -> EvaluationResult:
        """Ask the model about one task, and score its answers."""
        model_id, begun = settings.model_id, time.monotonic()
        outputs: list[Row] | None = None
        try:
            if planned.reason:
                raise planned.reason
            # Only a model that is described by data alone is found again: two objects of a program
            # may differ in anything.
            folder = None
            if self.cache_dir is not None and settings.is_data:
                parts = {"model": settings.recorded, "task": planned.hash}
                key = hashlib.sha256(canonical(parts).encode()).hexdigest()
                folder = self.cache_dir / f"answers-{key}"
            given = self.runner.run_model(
                model_id,
                list(planned.inputs),
                batch_size,
                task=planned.task,
                folder=folder,
                ask_anew=not use_cache,
            )
            count = len(planned.inputs)
            if len(given) != count:
                raise MisalignedError(
                    f"the model runner returned {len(given)} outputs for {count} inputs"
                )
            # What is no mapping of JSON values is a failed item.
            outputs = [
                writable(one) if isinstance(one, dict) else failed("NotAMapping", 1)
                for one in given
            ]
            seconds = time.monotonic() - begun
            result = scored_result(model_id, planned, outputs, scoring, strict)
        except Exception as error:  # whatever a model or a task raises
            self._on_error(planned.task_id, error)
            if strict or isinstance(error, MisalignedError):
                raise
            return failed_result(planned, error, outputs, settings)
        run = self.runner.model(model_id)
        told = {"from_cache": not run.asked, "seconds": seconds, "measured": run.measured}
        result.metadata |= told
        if result.metrics_results:
            self._on_metrics(planned.task_id, dict(result.metrics_results))
        self._on_task_end(planned.task_id, result)
        return result


def _ignore(*told: object) -> None:
    """Stand in for a callback that is not given."""
