"""The answers of a model to a task: asked for, or taken from the cache."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

from medeval.evaluation.harness_cache import AnswerCache, cache_key
from medeval.evaluation.harness_plan import Planned
from medeval.evaluation.harness_settings import ModelSettings
from medeval.evaluation.harness_task import outcomes_of, taken_in
from medeval.inference.types import Outcome
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row


class Runner(Protocol):
    """What the harness asks of a model runner."""

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the models that are loaded."""

    def load_model(self, model_name: str, model_type: str, **parameters: Any) -> Any:
        """Load a model under a name."""

    def unload_model(self, model_name: str) -> None:
        """Let go of a model; an unknown name is none."""

    def describe(self, model_name: str) -> dict[str, Any]:
        """Return type and settings of a model."""

    def measured(self, model_name: str) -> list[dict[str, Any]]:
        """Return what was measured of each input of the last run."""

    def run_model(
        self, model_id: str, inputs: list[Row], batch_size: int, *, task: MedicalTask
    ) -> list[Row]:
        """Return one output for each input, none of which it changes."""


@dataclass(frozen=True)
class Answers:
    """Answers to one task.

    Attributes:
        outputs: one for each item.
        from_cache: nobody was asked.
        seconds: how long it took.
        measured: tokens, cost and time of each item, where the runner measures them.
    """

    outputs: list[Row]
    from_cache: bool
    seconds: float
    measured: list[dict[str, Any]]


@dataclass(frozen=True)
class Asker:
    """Asks one model.

    Attributes:
        runner: where the model is loaded.
        model_id: its name there.
        settings: how it was loaded.
        batch_size: inputs per call.
        cache: where answers are kept; None for nowhere.
        use_cache: take answers from there, not only put them there.
    """

    runner: Runner
    model_id: str
    settings: ModelSettings
    batch_size: int
    cache: AnswerCache | None
    use_cache: bool

    def answers(self, planned: Planned) -> Answers:
        """Return one answer for each item of a task.

        Answers are kept only if no item failed, so that those that did are asked again, and only
        if the model is described by data alone: two objects of a program may differ in anything.

        Raises:
            MisalignedError: the runner returned more or fewer outputs than inputs.
        """
        started = time.monotonic()
        cache = None if self.settings.opaque else self.cache
        key = cache_key(self.settings.decisive, self.settings.prompt_version, planned.hash)
        count = len(planned.inputs)
        known = cache.read(key, count) if cache and self.use_cache else None
        if known is not None:
            return Answers(known, True, time.monotonic() - started, [])
        inputs = list(planned.inputs)
        given = self.runner.run_model(self.model_id, inputs, self.batch_size, task=planned.task)
        outputs = taken_in(given, count)
        if cache and Outcome.ERRORED not in outcomes_of(outputs, planned.task.target):
            cache.write(key, outputs)
        seconds = time.monotonic() - started
        return Answers(outputs, False, seconds, self.runner.measured(self.model_id))
