"""What an evaluation is going to do, settled before a model is loaded or asked.

Of how a model is loaded everything but secrets is recorded. A secret is known by the name of its
parameter. It is left out of records and cache keys, and its text is taken out of whatever else
quotes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from medeval.errors import UserError
from medeval.evaluation.task_loader import build_task
from medeval.evaluation.task_registry import TaskRegistry
from medeval.inference.secrets import (
    WITHHELD,
    holds_secret,
    is_secret,
    split_secrets,
)
from medeval.metrics.registry import MetricRegistry
from medeval.models.benchmark_report import BenchmarkReport
from medeval.models.documents import described
from medeval.models.medical_task import task_hash
from medeval.models.schemas import Row, missing_keys
from medeval.models.task_types import EvaluatedTask
from medeval.models.text_files import packaged_yaml

CategoryMap = Mapping[str, Sequence[str]]

CATEGORIES: CategoryMap = packaged_yaml("medeval.evaluation", "categories")


@dataclass(frozen=True)
class Planned:
    """One task of an evaluation.

    Attributes:
        task_id: its id, or what it was asked for by.
        reason: why it cannot be run; None if it can, and without the rest if not.
        task: with its own `score`.
        metrics: the names that are scored.
        inputs: what the model is shown, one mapping an item.
        has_gold: something is expected of some item, so that it can be scored.
        hash: of the task's content.
        violations: where the task breaks its own schemas or rules.
    """

    task_id: str
    reason: Exception | None = None
    task: EvaluatedTask = field(default=cast("EvaluatedTask", None))
    metrics: Sequence[str] = ()
    inputs: Sequence[Row] = ()
    has_gold: bool = False
    hash: str | None = None
    violations: Sequence[str] = ()


@dataclass(frozen=True)
class Scoring:
    """How outputs are scored, and scores averaged beyond single metrics.

    Attributes:
        metrics: where names are found.
        draws: resamples of the bootstrap.
        seed: of the bootstrap.
        categories: category to metrics.
        weights: metric or category to weight; empty for no combined score.
        combined_name: what the combined score is called.
    """

    metrics: MetricRegistry
    draws: int
    seed: int
    categories: CategoryMap
    weights: Mapping[str, float]
    combined_name: str

    def members(self, metrics: Iterable[str]) -> dict[str, list[str]]:
        """Return the metrics of each category that a task has, as the task calls them.

        Names of one metric (`rouge1`, `rouge_1`) are one member. A category without any is left
        out.
        """

        def canonical(name: str) -> str:
            return self.metrics.find(name).name if name in self.metrics else name

        named = {canonical(metric): metric for metric in reversed([*metrics])}
        found: dict[str, list[str]] = {}
        for category, names in self.categories.items():
            wanted = dict.fromkeys(map(canonical, names))
            if present := [named[name] for name in wanted if name in named]:
                found[category] = present
        return found

    def check(self, scored: Sequence[str]) -> None:
        """Check that scores of all these metrics can be averaged as wanted.

        Raises:
            UserError: a name stands for two things, a weight is of nothing that is scored, weights
                cannot be used, or a metric of which higher is not better would be averaged.
        """
        if taken := sorted(set(self.categories) & set(scored)):
            raise UserError(f"Category {taken[0]!r} has the name of a metric. Choose another name.")
        present = self.members(scored)
        for category, named in present.items():
            for metric in named:
                self._check_direction(metric, f"category {category!r}")
        if not self.weights:
            return
        if self.combined_name in {*scored, *self.categories}:
            raise UserError(
                f"The combined score cannot be called {self.combined_name!r}: that is scored."
            )
        for name in self.weights:
            if name in scored:
                self._check_direction(name, f"combined score {self.combined_name!r}")
            elif name not in present:
                known = ", ".join([*scored, *present])
                raise UserError(
                    f"A weight is given for {name!r}, which no task has. Known: {known}."
                )
        try:
            BenchmarkReport(model_id="x").add_combined_score(self.weights, self.combined_name)
        except ValueError as error:
            raise UserError(f"The combined score cannot be made: {error}.") from None

    def _check_direction(self, metric: str, place: str) -> None:
        direction = self.metrics.find(metric).direction
        if direction != "higher":
            better = "lower is better" if direction == "lower" else "neither way is better"
            raise UserError(
                f"{metric!r} is in {place}, but {better}: a mean with other scores says nothing."
                " Leave it out."
            )


def plan(refs: Iterable[str], tasks: TaskRegistry, scoring: Scoring) -> list[Planned]:
    """Load the tasks and check all that can be checked without a model.

    Args:
        refs: ids, paths or URLs; one that comes twice counts once.
        tasks: where they are found.
        scoring: how they will be scored.

    Raises:
        UserError: there is no task, two tasks share an id, a metric is not known, or averages
            cannot be made.
    """
    if isinstance(refs, str):
        raise UserError(f"task_ids is a list of ids: [{refs!r}].")
    planned = [_planned(ref, tasks) for ref in dict.fromkeys(map(str, refs))]
    if not planned:
        raise UserError("No task to evaluate. Name at least one.")
    ready = [one for one in planned if one.reason is None]
    counts = Counter(one.task_id for one in ready)
    if twice := sorted(task_id for task_id in counts if counts[task_id] > 1):
        raise UserError(
            f"Two of the tasks are called {twice[0]!r}. Register one of them under another id."
        )
    for one in ready:
        for name in one.metrics:
            try:
                scoring.metrics.find(name)
            except UserError as error:
                raise UserError(f"Task {one.task_id!r}: {error}") from None
    scoring.check(list(dict.fromkeys(name for one in ready for name in one.metrics)))
    return planned


def _planned(ref: str, tasks: TaskRegistry) -> Planned:
    task_id = ref
    try:
        task = tasks.get(ref)
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
            # Rows that lack keys are found one by one, and rows that are none have been refused.
            broken[:0] = [rule for rule in described(error) if not rule.startswith("dataset")]
        except ValueError:
            pass  # a row that lacks a key
        names = task.metrics or list(task.simple_metrics)
        content = task_hash(task)
    except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
        return Planned(task_id, error)
    return Planned(task_id, None, task, names, inputs, any(expected), content, broken)


# Of headers the names alone are written: what they carry is for their reader.
_HEADERS = "headers"
# What stands before a key in a header.
_SCHEME = re.compile(r"\A(?:Bearer|Basic|Token)\s+(\S+)\Z", re.IGNORECASE)
# Shorter texts are words of their own, and taking them out would garble what is written.
_SHORTEST_SECRET = 6


@dataclass(frozen=True)
class ModelSettings:
    """How a model was loaded, fit to be written down.

    Attributes:
        model_id: its name.
        recorded: name, type, parameters and the runner's description as JSON values, without
            secrets.
        is_data: it is told apart by these: no parameter is an object of the program, and the model
            was not loaded elsewhere.
        scrubbed: takes the secrets out of a text.
    """

    model_id: str
    recorded: Mapping[str, Any]
    is_data: bool
    scrubbed: Callable[[str], str]


def model_settings(
    model_id: str,
    model_type: str | None,
    parameters: Mapping[str, Any],
    described: Mapping[str, Any],
) -> ModelSettings:
    """Return what may be recorded of a model.

    Args:
        model_id: its name.
        model_type: as the runner calls it; None for one that was loaded before.
        parameters: what it was loaded with.
        described: what the runner says of it.
    """
    secrets = {secret for given in (parameters, described) for secret in _secrets_in(given)}
    # The longest first, as one may hold another.
    known = "|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))
    scrubbed = partial(re.compile(known or r"(?!)").sub, WITHHELD)
    objects: list[str] = []
    recorded = {
        "id": model_id,
        "type": model_type or described.get("type"),
        "parameters": _written(parameters, scrubbed, objects),
        "described": _written(described, scrubbed, objects),
    }
    return ModelSettings(model_id, recorded, model_type is not None and not objects, scrubbed)


def _written(
    value: Any, scrubbed: Callable[[str], str], objects: list[str], is_headers: bool = False
) -> Any:
    """Return a value as JSON without its secrets; `objects` gets the classes of what is none."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        if is_headers:
            return dict.fromkeys(sorted(map(str, value)), WITHHELD)
        return {
            str(name): _written(each, scrubbed, objects, name == _HEADERS)
            for name, each in value.items()
            if not holds_secret(str(name), each)
        }
    if is_headers:
        return WITHHELD
    if isinstance(value, str | Path):
        # Names tell where secrets stand, so what has a name goes first.
        return scrubbed(split_secrets(str(value))[0])
    if isinstance(value, list | tuple):
        return [_written(member, scrubbed, objects) for member in value]
    objects.append(f"{type(value).__module__}.{type(value).__qualname__}")
    return objects[-1]


def _secrets_in(value: Any, is_hidden: bool = False) -> Iterator[str]:
    """Yield the texts of a parameter, however deep, that are secrets or have some in them."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _secrets_in(each, is_hidden or name == _HEADERS or is_secret(str(name)))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets_in(each, is_hidden)
    elif isinstance(value, str | Path):
        text = str(value)
        own = [text, *_SCHEME.findall(text)] if is_hidden else []
        found = [*split_secrets(text)[1], *own]
        yield from (secret for secret in found if len(secret) >= _SHORTEST_SECRET)
