"""The harness: a model, tasks, and a report of how it did on them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from medeval.errors import UserError
from medeval.evaluation.averages import CATEGORIES, CategoryMap, Scoring
from medeval.evaluation.model_runner import ModelRunner, ModelSettings
from medeval.evaluation.task_loader import TaskLoader, build_task
from medeval.evaluation.task_registry import TaskRegistry
from medeval.inference.types import Ledger, Outcome, digest
from medeval.metrics.metric import text_of
from medeval.metrics.registry import MetricRegistry, default_registry
from medeval.models.benchmark_report import BenchmarkReport, EvaluationResult
from medeval.models.documents import described
from medeval.models.medical_task import input_ids, task_hash
from medeval.models.schemas import Row, missing_keys
from medeval.models.scores import DRAWS
from medeval.models.task_types import EvaluatedTask

__all__ = ["CATEGORIES", "EvaluationHarness", "ItemsFailedError", "MisalignedError"]

# How an item ended, and the kind of an error in the place of its output.
Ending = tuple[Outcome, str | None]
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,60}")


class ItemsFailedError(RuntimeError):
    """The model gave no output for items; the message counts them and names the kinds."""


class MisalignedError(ValueError):
    """A runner returned more or fewer outputs than inputs, so none can be told to be whose."""


class Planned(NamedTuple):
    """One task of an evaluation.

    Attributes:
        task_id: its id, or what it was asked for by.
        task: with its own `score`; or why it cannot be run.
        about: what its result says of it: its hash, its status when it goes well (`unscored` if
            nothing is expected of any item), where it breaks its own schemas or rules. Empty for
            one that cannot be run.
    """

    task_id: str
    task: EvaluatedTask | Exception
    about: Mapping[str, Any]


@dataclass(eq=False)
class EvaluationHarness(AbstractContextManager["EvaluationHarness"]):
    """Runs models on tasks and scores them; may be used as a context manager.

    What a callback raises ends the evaluation.

    Attributes:
        tasks_dir: the folder in which tasks are found; the package's own if not given.
        results_dir: where reports are kept, one file a run.
        cache_dir: where answers are kept, a run folder for each model and task; None keeps none.
        registry: of tasks, instead of one for the folder.
        loader: of task files, instead of one for the folder.
        runner: of models.
        metrics: where the names of metrics are found; those of this package if not given.
        draws: resamples of the bootstrap behind intervals; 0 for none.
        seed: of the bootstrap.
        on_task_start: before a task; gets its id.
        on_task_end: after a task that did not fail; gets its id and its result.
        on_progress: before each task; gets its number from 1, how many there are, and its id.
        on_error: when a task fails; gets its id and the exception.
        on_metrics: after a task that has scores; gets its id and the scores.
        tasks: the task registry.

    Raises:
        ValueError: more than one of folder, loader and registry are given.
    """

    tasks_dir: str | Path | None = None
    results_dir: str | Path = "results"
    cache_dir: str | Path | None = None
    _: KW_ONLY
    registry: TaskRegistry | None = None
    loader: TaskLoader | None = None
    runner: ModelRunner = field(default_factory=ModelRunner)
    metrics: MetricRegistry | None = None
    draws: int = DRAWS
    seed: int = 0
    on_task_start: Callable[[str], object] | None = None
    on_task_end: Callable[[str, EvaluationResult], object] | None = None
    on_progress: Callable[[int, int, str], object] | None = None
    on_error: Callable[[str, Exception], object] | None = None
    on_metrics: Callable[[str, Mapping[str, float]], object] | None = None
    tasks: TaskRegistry = field(init=False)

    def __post_init__(self) -> None:
        """Find out where tasks are."""
        if sum(one is not None for one in (self.tasks_dir, self.loader, self.registry)) > 1:
            raise ValueError("give one of tasks_dir, loader and registry: each has the one before")
        self.tasks = self.registry or TaskRegistry(self.tasks_dir, loader=self.loader)

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
        scoring = Scoring(
            self.metrics or default_registry(),
            self.draws,
            self.seed,
            CATEGORIES if category_map is None else category_map,
            combined_weights or {},
            combined_metric_name or "combined_score",
        )
        planned = self._plan(task_ids, scoring, strict_validation)
        started = datetime.now(UTC)
        report = BenchmarkReport(model_id=model_id, timestamp=started)
        is_loaded = model_id in self.runner.loaded
        if model_type is None and (model_kwargs or not is_loaded):
            raise UserError(f"Model {model_id!r}: name its model_type, to load it.")
        if model_type is not None:
            if is_loaded:  # The runner would keep it: the scores would be of another model.
                raise UserError(
                    f"Model {model_id!r} is loaded in the runner. Leave out model_type and"
                    " parameters to evaluate that one, or unload it first."
                )
            self.runner.load_model(model_id, model_type, **model_kwargs)
        try:
            told = self.runner.model(model_id).settings
            settings = ModelSettings(model_id, model_type, model_kwargs, told)
            how = scoring, settings, batch_size, use_cache, strict_validation
            for number, one in enumerate(planned, start=1):
                _call(self.on_progress, number, len(planned), one.task_id)
                _call(self.on_task_start, one.task_id)
                report.add_evaluation_result(self._result(one, *how))
        finally:
            if model_type is not None:
                self.runner.unload_model(model_id)
        contents = sorted(([one.task_id, one.about.get("task_hash")] for one in planned), key=str)
        model = digest({"model": settings.recorded, "tasks": contents})[:12]
        name = f"{started:%Y%m%dT%H%M%S%fZ}-{model}"
        about = {
            "run_id": name,
            "model": settings.recorded,
            "prompt_version": str(told.get("prompt_version", "")),
            "batch_size": batch_size,
            "strict_validation": strict_validation,
            "seconds": (datetime.now(UTC) - started).total_seconds(),
        }
        scoring.finish(report, about)
        results = Path(self.results_dir)
        if save_results:
            write_report(report, results / f"{name}.json", keep_outputs=True)
        for form in formats:
            write_report(report, Path(report_dir or results) / f"{name}-report.{form}")
        return report

    def _plan(self, refs: Iterable[str], scoring: Scoring, strict: bool) -> list[Planned]:
        """Load the tasks and check all that can be checked without a model.

        Args:
            refs: ids, paths or URLs; one that comes twice counts once.
            scoring: how they will be scored.
            strict: raise whatever keeps a task from being run, and where it breaks its schemas.

        Raises:
            UserError: there is no task, two tasks share an id, a metric is not known, or averages
                cannot be made.
        """
        if isinstance(refs, str):
            raise UserError(f"task_ids is a list of ids: [{refs!r}].")
        if not (planned := [self._planned(ref, strict) for ref in dict.fromkeys(map(str, refs))]):
            raise UserError("No task to evaluate. Name at least one.")
        scored: dict[str, None] = {}
        ids: set[str] = set()
        for task_id, task, _ in planned:
            if isinstance(task, Exception):
                continue
            if task_id in ids:
                raise UserError(f"Two of the tasks are called {task_id!r}. Rename one of them.")
            ids.add(task_id)
            for name in task.metrics or task.simple_metrics:
                try:
                    scoring.metrics.find(name)
                except UserError as error:
                    raise UserError(f"Task {task_id!r}: {error}") from None
                scored[name] = None
        scoring.check(list(scored))
        return planned

    def _planned(self, ref: str, strict: bool) -> Planned:
        task_id = ref
        try:
            task = self.tasks.get(ref)
            task_id = task.task_id
            if not isinstance(task, EvaluatedTask):
                # In the class of its type, which knows how outputs are scored.
                task = build_task(task.model_dump(), task_id, task_id)
            inputs, expected = task.pairs()
            if not task.dataset and not any(any(row.values()) for row in inputs):
                raise UserError(f"Task {task_id!r} has no rows, so there is nothing to ask.")
            expected = expected if task.dataset and any(expected) else list(task.expected_outputs)
            wanted, gold = task.schemas()
            # An item of which nothing is expected is asked, and not scored.
            broken = missing_keys(inputs, wanted, "inputs")
            broken += missing_keys([row or None for row in expected], gold, "expected_outputs")
            try:
                task.validate()
            except ValidationError as error:
                # Rows that lack keys are found one by one, and rows that are none were refused.
                broken[:0] = [rule for rule in described(error) if not rule.startswith("dataset")]
            except ValueError:
                pass  # a row that lacks a key
            if strict and broken:
                raise ValueError(f"{task_id}: {broken[0]}")
            about = {
                "status": "ok" if any(expected) else "unscored",
                "task_hash": task_hash(task),
                "task_type": str(task.task_type),
                "task_name": task.name,
                "data_class": task.data_class,
                "input_ids": input_ids(inputs),
                "validation_errors": broken,
            }
        except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
            if strict:
                raise
            return Planned(task_id, error, {})
        return Planned(task_id, task, about)

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
        begun = time.monotonic()
        task_id, task, about = planned.task_id, planned.task, dict(planned.about)
        endings: list[Ending] = [(Outcome.ERRORED, None)] * len(about.get("input_ids", ()))
        answered: dict[str, Any] = {}
        try:
            if isinstance(task, Exception):
                raise task
            # Only a model that is described by data alone is found again: two objects of a program
            # may differ in anything.
            folder, inputs = None, task.pairs()[0]
            if self.cache_dir is not None and settings.is_data:
                parts = {"model": settings.recorded, "task": about["task_hash"]}
                folder = Path(self.cache_dir) / f"answers-{digest(parts)}"
            ask = partial(self.runner.run_model, task=task, folder=folder, ask_anew=not use_cache)
            outputs = ask(settings.model_id, inputs, batch_size)
            if len(outputs) != len(inputs):
                told = f"the model runner returned {len(outputs)} outputs for {len(inputs)} inputs"
                raise MisalignedError(told)
            seconds = time.monotonic() - begun
            endings = [_ending(output, task.target) for output in outputs]
            scores = _scored(task, about, outputs, endings, scoring, strict)
            answered = {"inputs": inputs, "model_outputs": outputs, **scores}
        except Exception as error:  # whatever a model or a task raises
            _call(self.on_error, task_id, error)
            if strict or isinstance(error, MisalignedError):
                raise
            # A message is kept where it cannot quote a patient.
            is_own = isinstance(error, UserError | ItemsFailedError)
            may_quote = is_own or about.get("data_class", "open") == "open"
            message = {"message": settings.scrubbed(str(error))} if may_quote else {}
            about |= {"status": "error", "error": {"type": type(error).__name__, **message}}
        if endings:
            about["outcomes"] = Ledger(outcome for outcome, _ in endings).as_json()
        if answered:
            run = self.runner.model(settings.model_id)
            about["item_outcomes"] = [str(outcome) for outcome, _ in endings]
            about |= {"from_cache": not run.asked, "seconds": seconds, "measured": run.measured}
        result = EvaluationResult(
            model_id=settings.model_id, task_id=task_id, **answered, metadata=about
        )
        if result.metrics_results:
            _call(self.on_metrics, task_id, dict(result.metrics_results))
        if answered:
            _call(self.on_task_end, task_id, result)
        return result


def _scored(
    task: EvaluatedTask,
    about: dict[str, Any],
    outputs: Sequence[Row],
    endings: Sequence[Ending],
    scoring: Scoring,
    strict: bool,
) -> dict[str, Any]:
    """Return the scores of a task as fields of its result; failed items score as nothing.

    Args:
        task: that was asked.
        about: of the task; gets what is to be said of its metrics, and what outputs break.
        outputs: one for each item.
        endings: of the items.
        scoring: how they are scored.
        strict: raise where an item failed or an output breaks the task's schema.

    Raises:
        ItemsFailedError: every item failed, or, if strict, some did.
        ValueError: the references do not fit the outputs, or, if strict, an output breaks the
            schema.
    """
    from medeval.scoring.table import ScoreTable, result_fields  # numpy is slow to load

    n_failed = sum(outcome is Outcome.ERRORED for outcome, _ in endings)
    if n_failed == len(endings) or (strict and n_failed):
        # A model writes what it likes there: what is not the name of a kind may quote an input.
        kinds = {kind if _KIND.fullmatch(kind) else "other" for _, kind in endings if kind}
        told = f"{n_failed} of {len(endings)} items failed ({', '.join(sorted(kinds))})"
        raise ItemsFailedError(f"{task.task_id}: {told}")
    answers = [None if kind else output for output, (_, kind) in zip(outputs, endings, strict=True)]
    broken = missing_keys(answers, task.schemas()[1], "model_outputs")
    if strict and broken:
        raise ValueError(f"{task.task_id}: {broken[0]}")
    table = ScoreTable({})
    if about["status"] == "ok":
        table = task.table([answer or {} for answer in answers], registry=scoring.metrics)
    scores = table.summary(draws=scoring.draws, seed=scoring.seed)
    about["validation_errors"] = [*about["validation_errors"], *broken]
    about["metrics"] = {}
    for name, score in scores.items():
        metric, known = scoring.metrics.find(name), table.columns[name].coverage
        about["metrics"][name] = {
            **score.model_dump(include={"n", "n_undefined", "reason"}),
            "description": metric.description,
            "direction": metric.direction,
            **({} if known is None else {"coverage": known}),
        }
    return result_fields(table, scores)


def _ending(output: Row, target: str) -> Ending:
    error = output.get("error")
    if isinstance(error, Mapping) and "type" in error:
        # A reply that was refused or cut off came from the model: the call did not fail.
        kind = str(error["type"])
        return Outcome(kind) if kind in set(Outcome) else Outcome.ERRORED, kind
    if text_of(output.get(target)).strip():
        return Outcome.ANSWERED, None
    return Outcome.UNPARSED if text_of(output).strip() else Outcome.EMPTY, None


def _call(callback: Callable[..., object] | None, *told: Any) -> None:
    if callback is not None:
        callback(*told)
