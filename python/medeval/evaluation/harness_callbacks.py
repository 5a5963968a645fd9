"""What a program may hook into an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from medeval.models.evaluation_result import EvaluationResult

OnTask = Callable[[str], None]
OnResult = Callable[[str, EvaluationResult], None]
OnProgress = Callable[[int, int, str], None]
OnError = Callable[[str, Exception], None]
OnMetrics = Callable[[str, Mapping[str, float]], None]


@dataclass(frozen=True)
class Callbacks:
    """Functions that are called while an evaluation runs; what one of them raises ends it.

    Attributes:
        on_task_start: before a task, with its id.
        on_task_end: after a task that did not fail, with its result.
        on_progress: before each task: its number from 1, how many there are, its id.
        on_error: when a task fails, with the exception.
        on_metrics: the scores of a task that has some.
    """

    on_task_start: OnTask | None = None
    on_task_end: OnResult | None = None
    on_progress: OnProgress | None = None
    on_error: OnError | None = None
    on_metrics: OnMetrics | None = None

    def start(self, number: int, count: int, task_id: str) -> None:
        """Say that a task begins."""
        if self.on_progress:
            self.on_progress(number, count, task_id)
        if self.on_task_start:
            self.on_task_start(task_id)

    def end(self, task_id: str, result: EvaluationResult) -> None:
        """Say that a task did not fail."""
        if self.on_metrics and result.metrics_results:
            self.on_metrics(task_id, dict(result.metrics_results))
        if self.on_task_end:
            self.on_task_end(task_id, result)

    def fail(self, task_id: str, error: Exception) -> None:
        """Say that a task failed."""
        if self.on_error:
            self.on_error(task_id, error)
