"""What became of one judge: its judgments, the ledger of its calls, and what to be warned of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from medeval.inference.cost import Spent
from medeval.inference.guard import IN_PROCESS
from medeval.inference.run import Progress
from medeval.judging.judgments import Judgment
from medeval.judging.local_judge import LOCAL
from medeval.judging.verdicts import OF_VERDICTS, Status

# More judgments than this that are not complete may be an outage read as a bad model.
MOST_NOT_OK = 0.05


@dataclass(frozen=True)
class JudgeReport:
    """What became of one judge.

    Attributes:
        judge: its name.
        model: as the user named it.
        endpoint: where it was asked.
        judgments: of every answer that is not blank.
        progress: the ledger of its calls: outcomes, tokens and money, re-asks included.
        learned: parameters that its endpoint refused, each with what is sent instead.
        stopped: why it was not asked about all answers; empty if it was.
        further: the ledger of calls that its journal has beyond these judgments: repeats that are
            not wanted now, or that an audit asked for.
        spent: on all calls of its journal, also those without a line; None if none had a price.
    """

    judge: str
    model: str
    endpoint: str
    judgments: tuple[Judgment, ...]
    progress: Progress
    learned: Mapping[str, str]
    stopped: str
    further: Progress = field(default_factory=Progress)
    spent: Spent | None = None

    @property
    def not_ok(self) -> int:
        """How many of its judgments are not complete."""
        return sum(each.status is not Status.OK for each in self.judgments)

    @property
    def judged(self) -> int:
        """How many of its judgments are there, complete or in part."""
        return sum(each.status is not Status.FAILED for each in self.judgments)

    @property
    def cost(self) -> Decimal | None:
        """What its calls cost; None as soon as a part of it is unknown. A rule costs nothing."""
        if (self.endpoint, self.model) == (IN_PROCESS, LOCAL):
            return Decimal(0)
        return self.progress.known_cost

    def warnings(self) -> list[str]:
        """Return what must not be overlooked."""
        found = []
        if self.stopped:
            found.append(
                f"The judge {self.judge} stopped with {self.judged:,} of {len(self.judgments):,}"
                f" judged: {self.stopped}"
            )
        if self.not_ok > MOST_NOT_OK * len(self.judgments):
            reasons = Counter(each.reason for each in self.judgments if each.reason)
            told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(3))
            found.append(
                f"The judge {self.judge} gave no complete verdict on {self.not_ok} of"
                f" {len(self.judgments)} answers ({told}). They are missing, not low."
            )
        return found

    def counts(self) -> dict[str, Any]:
        """Return how its judgments ended, with the reasons, and why it stopped.

        What a stopped judge was not asked has failed here, though no call of the ledger tells of
        it: a call that stops a judge is no answer's, so that the answer is asked about again.
        """
        statuses = Counter(each.status for each in self.judgments)
        return {
            "judgments": len(self.judgments),
            **{str(status): statuses[status] for status in OF_VERDICTS},
            "reasons": dict(sorted(Counter(e.reason for e in self.judgments if e.reason).items())),
            "stopped": self.stopped or None,
        }

    def as_json(self) -> dict[str, Any]:
        """Return counts, ledger and cost."""
        parses = Counter(str(each.verdict.parse) for each in self.judgments if each.verdict)
        return {
            "judge": self.judge,
            "model": self.model,
            "models_reported": sorted({each.model for each in self.judgments if each.model}),
            "endpoint": self.endpoint,
            **self.counts(),
            "parses": dict(sorted(parses.items())),
            "learned": dict(self.learned),
            "cost": None if self.cost is None else str(self.cost),
            "calls": self.progress.as_json(),
            "further_calls": {
                "asked": self.further.ledger.asked,
                "cost": None if self.further.known_cost is None else str(self.further.known_cost),
            },
            "all_calls": None if self.spent is None else self.spent.as_json(),
        }
