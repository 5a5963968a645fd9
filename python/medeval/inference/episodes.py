"""A conversation of many turns with a model, and the lines that the journals keep of it.

An episode plays itself: it asks, looks at what came back, and asks again until it has finished.
Whoever plays it answers from the journal what was answered before, so an episode that always does
the same after the same replies goes on where a killed run had been, and asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from medeval.inference.errors import Failure, Kind
from medeval.inference.journal import Line
from medeval.inference.lines import completion_of, failure_of
from medeval.inference.types import Completion, Message, Outcome, Request, Usage


@dataclass(frozen=True)
class Ask:
    """What is asked in one turn.

    Attributes:
        messages: the conversation so far, whole.
        parameters: of this turn, beside those of the run; such as the tools it may call.
    """

    messages: Sequence[Message]
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """What came back in one turn.

    Attributes:
        completion: the reply; None if the conversation is too long for the model.
        outcome: what kind of reply it is; a call of tools counts as answered.
    """

    completion: Completion | None
    outcome: Outcome


@dataclass(frozen=True)
class Finished:
    """How an episode ended.

    Attributes:
        outcome: the one end that it counts under.
        text: the last reply, in which the answer is.
        reason: why it ended so or what was done to it, in one word; empty for the usual end.
        record: what a score needs to know of the way (JSON values).
        failure: if it is errored; what was wrong.
    """

    outcome: Outcome
    text: str = ""
    reason: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


def failed(failure: Failure, record: Mapping[str, Any] | None = None) -> Finished:
    """Return the end of an episode that a call without a reply has ended."""
    is_refusal = failure.kind is Kind.FILTER
    outcome = Outcome.REFUSED if is_refusal else Outcome.ERRORED
    return Finished(outcome, record=record or {}, failure=failure)


AskModel = Callable[[Ask], Awaitable[Turn]]


class Episode(Protocol):
    """One conversation to be had."""

    @property
    def id(self) -> str:
        """Its name within the run; unique together with the sample."""

    @property
    def sample(self) -> int:
        """Which of several conversations about the same this is."""

    @property
    def data_class(self) -> str | None:
        """The class of all that it says, as an item has it."""

    @property
    def opening(self) -> Ask:
        """What it begins with before anything is known; part of its key."""

    async def play(self, ask: AskModel) -> Finished:
        """Have the conversation, anew with each call, and the same after the same replies.

        Raises:
            CallFailedError: it needs an answer of the endpoint beside those of the model, and
                there is none.
        """


class Totals:
    """What the turns of an episode came to."""

    def __init__(self) -> None:
        self.turns = 0
        self.last: Completion | None = None
        self._usage: list[Usage] = []
        self._cost: Decimal | None = Decimal(0)
        self._charged = Decimal(0)
        self._seconds = 0.0
        self._retries = 0

    def add(self, line: Line) -> None:
        """Add the line of a turn."""
        self.turns += 1
        if "text" in line:
            self.last = completion_of(line)
            self._usage.append(self.last.usage)
        cost = line["cost"]
        self._cost = None if self._cost is None or cost is None else self._cost + Decimal(cost)
        measured = line["measured"]
        self._charged += Decimal(measured.get("charged") or 0)
        self._seconds += measured["seconds"] or 0.0
        self._retries += measured["attempts"] - 1

    @property
    def told(self) -> Line:
        """Cost and measurements, as the line of an item has them."""
        return {
            "cost": None if self._cost is None else str(self._cost),
            "measured": {
                "seconds": round(self._seconds, 3),
                "attempts": 1 + self._retries,
                "charged": str(self._charged),
            },
        }

    @property
    def usage(self) -> Usage:
        """The sums over all turns; a sum of which a part is unknown is unknown."""

        def total(name: str) -> int | None:
            counts = [getattr(usage, name) for usage in self._usage]
            return None if not counts or None in counts else sum(counts)

        return Usage(
            input_tokens=total("input_tokens"),
            cached_tokens=total("cached_tokens"),
            output_tokens=total("output_tokens"),
            reasoning_tokens=total("reasoning_tokens"),
        )


def turn_line(line: Line, turn: int) -> Line:
    """Return the line of an answered or failed item as that of a turn."""
    outcome = line["outcome"]
    if line.get("tool_calls") and outcome == Outcome.EMPTY:
        outcome = str(Outcome.ANSWERED)
    named = {key: line[key] for key in ("item", "sample")}
    return {**named, "turn": turn, **line, "outcome": outcome}


def turn_of(line: Line) -> Turn | Failure:
    """Read back a turn; a failure that ends the episode as what it is."""
    if "error" in line:
        failure = failure_of(line)
        return Turn(None, Outcome.ERRORED) if failure.is_overflow else failure
    return Turn(completion_of(line), Outcome(line["outcome"]))


def episode_line(request: Request, finished: Finished, totals: Totals) -> Line:
    """Return the line of an episode, which reads like that of an item with one turn.

    Args:
        request: of its opening.
        finished: how it ended.
        totals: over its turns.
    """
    line: Line = {
        "item": request.item.id,
        "sample": request.item.sample,
        "key": request.key,
        "outcome": str(finished.outcome),
    }
    if finished.failure is not None:
        shown = finished.failure if request.item.is_open else finished.failure.without_detail()
        line["error"] = shown.as_json()
    else:
        last = totals.last or Completion("")
        line |= {
            "text": finished.text,
            "reasoning": last.reasoning,
            "refusal": last.refusal,
            "finish_reason": last.finish_reason,
            "model": last.model,
            "fingerprint": last.fingerprint,
        }
    episode = {"turns": totals.turns, "reason": finished.reason, **finished.record}
    return {**line, "usage": totals.usage.as_json(), "episode": episode, **totals.told}
