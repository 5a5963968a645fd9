"""What an evaluation is going to do, settled before a model is loaded or asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from medeval.errors import UserError
from medeval.evaluation.task_loader import build_task
from medeval.evaluation.task_registry import TaskRegistry
from medeval.metrics.registry import MetricRegistry
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.documents import described
from medeval.models.medical_task import task_hash
from medeval.models.schemas import Row, required_keys
from medeval.models.task_types import EvaluatedTask
from medeval.models.yaml_text import packaged_yaml

CategoryMap = Mapping[str, Sequence[str]]

CATEGORIES: CategoryMap = packaged_yaml("medeval.evaluation", "categories")


@dataclass(frozen=True)
class Planned:
    """One task of an evaluation.

    Attributes:
        task_id: its id.
        task: with its own `score`.
        metrics: the names that are scored.
        inputs: what the model is shown, one mapping an item.
        has_gold: something is expected of some item, so that it can be scored.
        hash: of the task's content.
        violations: where the task breaks its own schemas or rules.
    """

    task_id: str
    task: EvaluatedTask
    metrics: tuple[str, ...]
    inputs: tuple[Row, ...]
    has_gold: bool
    hash: str
    violations: tuple[str, ...]


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
    ready = [one for one in planned if isinstance(one, Planned)]
    counts = Counter(one.task_id for one in ready)
    if twice := sorted(task_id for task_id in counts if counts[task_id] > 1):
        raise UserError(
            f"Two of the tasks are called {twice[0]!r}. Register one of them under another id."
        )
    for one in ready:
        for name in one.metrics:
            try:
                metrics.find(name)
            except UserError as error:
                raise UserError(f"Task {one.task_id!r}: {error}") from None
    _check_averages(averages, [name for one in ready for name in one.metrics], metrics)
    return planned


def members(
    categories: CategoryMap, metrics: Iterable[str], registry: MetricRegistry
) -> dict[str, list[str]]:
    """Return the metrics of each category that a task has, as the task calls them.

    Names of one metric (`rouge1`, `rouge_1`) are one member. A category without any is left out.
    """
    named: dict[str, str] = {}
    for metric in metrics:
        named.setdefault(_canonical(metric, registry), metric)
    found = {
        category: [
            named[one]
            for one in dict.fromkeys(_canonical(name, registry) for name in wanted)
            if one in named
        ]
        for category, wanted in categories.items()
    }
    return {category: present for category, present in found.items() if present}


def _check_averages(averages: Averages, metrics: Iterable[str], registry: MetricRegistry) -> None:
    """Check that scores of all these metrics can be averaged as wanted.

    Raises:
        UserError: a name stands for two things, a weight is of nothing that is scored, weights
            cannot be used, or a metric of which higher is not better would be averaged.
    """
    scored, categories = list(dict.fromkeys(metrics)), averages.categories
    weights, combined_name = averages.weights, averages.combined_name
    if taken := sorted(set(categories) & set(scored)):
        raise UserError(f"Category {taken[0]!r} has the name of a metric. Choose another name.")
    present = members(categories, scored, registry)
    for category, named in present.items():
        for metric in named:
            _check_direction(metric, registry, f"category {category!r}")
    if not weights:
        return
    if combined_name in scored or combined_name in categories:
        raise UserError(f"The combined score cannot be called {combined_name!r}: that is scored.")
    for name in weights:
        if name in scored:
            _check_direction(name, registry, f"combined score {combined_name!r}")
        elif name not in present:
            known = ", ".join([*scored, *present])
            raise UserError(f"A weight is given for {name!r}, which no task has. Known: {known}.")
    try:
        BenchmarkReport(model_id="weights").add_combined_score(weights, combined_name)
    except ValueError as error:
        raise UserError(f"The combined score cannot be made: {error}.") from None


def _planned(ref: str, tasks: TaskRegistry) -> Planned | NotPlanned:
    task_id = ref
    try:
        found = tasks.get(ref)
        task_id = found.task_id
        task = found
        if not isinstance(task, EvaluatedTask):
            # In the class of its type, which knows how outputs are scored.
            task = build_task(found.model_dump(), task_id, task_id)
        inputs, expected = task.pairs()
        if not task.dataset and not any(any(row.values()) for row in inputs):
            raise UserError(f"Task {task_id!r} has no rows, so there is nothing to ask.")
        expected = expected if task.dataset and any(expected) else list(task.expected_outputs)
        wanted, gold = task.schemas()
        # An item of which nothing is expected is asked, and not scored.
        golds = [row or None for row in expected]
        found_broken = (
            *_broken_rules(task),
            *violations(inputs, wanted, "inputs"),
            *violations(golds, gold, "expected_outputs"),
        )
        names = tuple(task.metrics or task.simple_metrics)
        content = task_hash(task)
    except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
        return NotPlanned(task_id, error)
    return Planned(task_id, task, names, tuple(inputs), any(expected), content, found_broken)


def _broken_rules(task: EvaluatedTask) -> list[str]:
    """Return the rules of fields that are broken, as assignment checks none."""
    try:
        task.validate()
    except ValidationError as error:
        # Rows that lack keys are found one by one, and rows that are none have been refused.
        return [rule for rule in described(error) if not rule.startswith("dataset")]
    except ValueError:
        return []  # a row that lacks a key
    return []


def violations(
    rows: Iterable[Row | None], schema: Mapping[str, object], label: str
) -> Iterator[str]:
    """Yield which rows lack which keys; None stands for no row."""
    for index, row in enumerate(rows):
        missing = [] if row is None else [key for key in required_keys(schema) if key not in row]
        if missing:
            yield f"{label}[{index}] missing required keys: {missing}"


def _canonical(name: str, registry: MetricRegistry) -> str:
    return registry.find(name).name if name in registry else name


def _check_direction(metric: str, registry: MetricRegistry, place: str) -> None:
    direction = registry.find(metric).direction
    if direction != "higher":
        better = "lower is better" if direction == "lower" else "neither way is better"
        raise UserError(
            f"{metric!r} is in {place}, but {better}: a mean with other scores says nothing."
            " Leave it out."
        )
