"""What an evaluation is going to do, settled before a model is loaded or asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from medeval.errors import UserError
from medeval.evaluation.harness_categories import CategoryMap, check_averages
from medeval.evaluation.task_building import build_task
from medeval.evaluation.task_registry import TaskRegistry
from medeval.metrics.registry import MetricRegistry
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row, ensure_task_schemas, validate_record_against_schema
from medeval.models.task_content import task_hash
from medeval.models.task_types import EvaluatedTask


@dataclass(frozen=True)
class Planned:
    """One task of an evaluation.

    Attributes:
        task: with its own `score`.
        metrics: the names that are scored.
        inputs: what the model is shown, one mapping an item.
        has_gold: something is expected of some item, so that it can be scored.
        hash: of the task's content.
        violations: where the task breaks its own schemas or rules.
    """

    task: EvaluatedTask
    metrics: tuple[str, ...]
    inputs: tuple[Row, ...]
    has_gold: bool
    hash: str
    violations: tuple[str, ...]

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.task.task_id


@dataclass(frozen=True)
class NotPlanned:
    """A task that cannot be run.

    Attributes:
        task_id: its id, or what it was asked for by.
        reason: why not.
    """

    task_id: str
    reason: Exception


@dataclass(frozen=True)
class Averages:
    """How scores are averaged beyond single metrics.

    Attributes:
        categories: category to metrics.
        weights: metric or category to weight; empty for no combined score.
        combined_name: what the combined score is called.
    """

    categories: CategoryMap
    weights: Mapping[str, float]
    combined_name: str


def plan(
    refs: Iterable[str], tasks: TaskRegistry, metrics: MetricRegistry, averages: Averages
) -> list[Planned | NotPlanned]:
    """Load the tasks and check all that can be checked without a model.

    Args:
        refs: ids, paths or URLs; one that comes twice counts once.
        tasks: where they are found.
        metrics: where their metrics are found.
        averages: what is to be averaged.

    Raises:
        UserError: there is no task, two tasks share an id, a metric is not known, or averages
            cannot be made.
    """
    if isinstance(refs, str):
        raise UserError(f"task_ids is a list of ids: [{refs!r}].")
    planned = [_planned(ref, tasks) for ref in dict.fromkeys(map(str, refs))]
    if not planned:
        raise UserError("No task to evaluate. Name at least one.")
    _check_ids([one.task_id for one in planned if isinstance(one, Planned)])
    for one in planned:
        for name in one.metrics if isinstance(one, Planned) else ():
            try:
                metrics.find(name)
            except UserError as error:
                raise UserError(f"Task {one.task_id!r}: {error}") from None
    scored = [name for one in planned if isinstance(one, Planned) for name in one.metrics]
    check_averages(averages.categories, averages.weights, averages.combined_name, scored, metrics)
    return planned


def output_violations(task: MedicalTask, outputs: Sequence[Row | None]) -> list[str]:
    """Return where outputs lack a key that the task requires; None stands for no output."""
    _, expected = ensure_task_schemas(task.task_type, task.input_schema, task.output_schema)
    return [
        violation
        for index, output in enumerate(outputs)
        if output is not None
        for violation in _violation(output, expected, "model_outputs", index)
    ]


def _planned(ref: str, tasks: TaskRegistry) -> Planned | NotPlanned:
    task_id = ref
    try:
        found = tasks.get(ref)
        task_id = found.task_id
        task = _evaluated(found)
        inputs, expected = task.pairs()
        if not task.dataset and not any(any(row.values()) for row in inputs):
            raise UserError(f"Task {task_id!r} has no rows, so there is nothing to ask.")
        expected = expected if task.dataset and any(expected) else list(task.expected_outputs)
        violations = _violations(task, inputs, expected)
        names = tuple(task.metrics or task.simple_metrics)
        content = task_hash(task)
    except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
        return NotPlanned(task_id, error)
    return Planned(task, names, tuple(inputs), any(expected), content, tuple(violations))


def _evaluated(task: MedicalTask) -> EvaluatedTask:
    """Return the task in the class of its type, which knows how outputs are scored."""
    if isinstance(task, EvaluatedTask):
        return task
    built = build_task(task.model_dump(), task.task_id, task.task_id)
    if not isinstance(built, EvaluatedTask):
        raise TypeError(f"{type(built).__name__} cannot score outputs")
    return built


def _violations(task: EvaluatedTask, inputs: Sequence[Row], expected: Sequence[Row]) -> list[str]:
    found = _broken_rules(task)
    wanted, gold = ensure_task_schemas(task.task_type, task.input_schema, task.output_schema)
    for index, row in enumerate(inputs):
        found += _violation(row, wanted, "inputs", index)
    for index, row in enumerate(expected):
        # An item of which nothing is expected is asked, and not scored.
        found += _violation(row, gold, "expected_outputs", index) if row else []
    return found


def _broken_rules(task: EvaluatedTask) -> list[str]:
    """Return the rules of fields that are broken, as assignment checks none."""
    try:
        task.validate()
    except ValidationError as error:
        # Rows that lack keys are found one by one, and rows that are none have been refused.
        return [
            f"{'.'.join(map(str, each['loc'])) or 'the task'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False, include_context=False)
            if each["loc"][:1] != ("dataset",)
        ]
    except ValueError:
        return []  # a row that lacks a key
    return []


def _violation(row: Row, schema: Mapping[str, object], label: str, index: int) -> list[str]:
    try:
        validate_record_against_schema(row, schema, label, index)
    except ValueError as error:
        return [str(error)]
    return []


def _check_ids(ids: Sequence[str]) -> None:
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        raise UserError(
            f"Two of the tasks are called {twice[0]!r}. Register one of them under another id."
        )
