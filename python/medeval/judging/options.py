"""How a judging is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard
from medeval.inference.run import Progress, RunConfig
from medeval.judging.asking import MOST_RE_ASKS
from medeval.judging.prompt import STANDARD, Variant


@dataclass(frozen=True)
class JudgingOptions:
    """How a judging is made.

    Attributes:
        run: concurrency (of each judge), retries, prices, limit on cost and what else a run has;
            a budget in it is shared with the model's own run.
        gate: what may go where; None: only what is open, anywhere.
        re_asks: how often an unusable or incomplete verdict is asked for again.
        repeats: judgments of each answer by each judge.
        seed: of the fences around the material, and of the intervals.
        variant: how the prompt is put.
        answering_model: whose answers are judged, for a warning of kinship.
        on_progress: called with a judge's name and its sums after each of its calls.
    """

    run: RunConfig = field(default_factory=RunConfig)
    gate: DataUseGuard | None = None
    re_asks: int = 1
    repeats: int = 1
    seed: int = 0
    variant: Variant = STANDARD
    answering_model: str = ""
    on_progress: Callable[[str, Progress], None] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if not 0 <= self.re_asks <= MOST_RE_ASKS:
            raise UserError(f"re_asks is {self.re_asks}, but must lie in 0 to {MOST_RE_ASKS}.")
        if self.repeats < 1:
            raise UserError(f"repeats is {self.repeats}, but must be at least 1.")
        if self.seed < 0:
            raise UserError(f"seed is {self.seed}, but cannot be below 0.")
