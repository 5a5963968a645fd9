"""What became of each item that was asked, and the ledger in which nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from medeval.inference.openai_replies import end_of
from medeval.inference.thinking import split_thinking
from medeval.inference.types import Completion


class Outcome(StrEnum):
    """The one end that every item comes to.

    Attributes:
        ANSWERED: a complete reply that the task could read.
        UNPARSED: a complete reply in which the task found no answer.
        REFUSED: the model or its filter declined.
        TRUNCATED: cut off at the token limit while answering.
        TRUNCATED_REASONING: cut off while still thinking; there is no answer.
        EMPTY: a reply with nothing in it.
        ERRORED: no reply, after all attempts.
    """

    ANSWERED = "answered"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    TRUNCATED_REASONING = "truncated_reasoning"
    EMPTY = "empty"
    ERRORED = "errored"


def outcome_of(completion: Completion) -> Outcome:
    """Tell what kind of reply a completion is; whether a task can read it is the task's word."""
    end = end_of(completion.finish_reason)
    if completion.refusal or end == "declined":
        return Outcome.REFUSED
    reply = split_thinking(completion.text)
    if end == "cut_off":
        usage = completion.usage
        hidden = usage.reasoning_tokens and usage.reasoning_tokens >= (usage.output_tokens or 0)
        only_thought = reply.state == "empty" and (completion.reasoning or reply.thinking or hidden)
        if reply.state == "truncated_reasoning" or only_thought:
            return Outcome.TRUNCATED_REASONING
        return Outcome.TRUNCATED
    if reply.state == "truncated_reasoning":
        return Outcome.TRUNCATED_REASONING
    return Outcome.EMPTY if reply.state == "empty" else Outcome.ANSWERED


class Ledger:
    """Counts of outcomes; their sum is the number of items that came to an end."""

    def __init__(self) -> None:
        self._counts: Counter[Outcome] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Enter one item."""
        self._counts[outcome] += 1

    @property
    def asked(self) -> int:
        """The denominator: all items with an outcome, whatever it is."""
        return self._counts.total()

    @property
    def counts(self) -> Mapping[str, int]:
        """Every outcome with its count, zeros included, in a fixed order."""
        return MappingProxyType({str(outcome): self._counts[outcome] for outcome in Outcome})

    def __getitem__(self, outcome: Outcome) -> int:
        return self._counts[outcome]

    def as_json(self) -> dict[str, int]:
        """Return the denominator and its parts."""
        return {"asked": self.asked, **self.counts}
