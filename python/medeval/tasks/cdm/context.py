"""How long a prompt may be, and a conversation that is kept short enough for the model.

After Hager et al. (Nature Medicine 30, 2024): near the limit what was found is summarised by the
model itself; when that helps no more it is cut to the budget, and the model has to decide.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medeval.errors import UserError
from medeval.inference.cost import longest_reply
from medeval.inference.openai_replies import text_of
from medeval.inference.tokens import ContextWindow, Counter, EstimatedTokens
from medeval.inference.types import Ask, AskModel, Item, Message, Model, Turn, canonical
from medeval.tasks.cdm import prompts
from medeval.text import split_thinking

# A text that is cut is cut a little more than its mean length of tokens says.
_CAUTION = 0.97
_MOST_CUTS = 12
# Tokens that a conversation leaves free.
MARGIN = 100
MOST_SUMMARIES = 3
_MOST_TRUNCATIONS = 4
SUMMARISED = "summarised"
TRUNCATED = "truncated"


@dataclass(frozen=True)
class ContextBudget:
    """How long a prompt may be.

    Attributes:
        counter: counts prompts.
        size: tokens of the longest prompt.
    """

    counter: Counter
    size: int

    async def holds(self, item: Item) -> bool:
        """Tell whether a prompt fits.

        Raises:
            CallFailedError: the server counts and did not reply.
        """
        # No prompt has more tokens than its JSON has bytes: most need not be counted.
        if len(canonical([list(map(dict, item.messages)), dict(item.parameters)])) <= self.size:
            return True
        return await self.counter.count(item) <= self.size

    async def cut_to_fit(self, text: str, item_with: Callable[[str], Item]) -> str:
        """Return as much of the beginning of a text as fits into a prompt.

        Args:
            text: to be cut.
            item_with: makes the prompt with a text in its place.
        """
        if not text or await self.holds(item_with(text)):
            return text
        bare = await self.counter.count(item_with(""))
        room = max(0, self.size - bare)
        for _ in range(_MOST_CUTS):
            tokens = await self.counter.count(item_with(text)) - bare
            if tokens <= room:
                return text
            text = text[: int(len(text) * room / tokens * _CAUTION)]
            if not text:
                break
        return ""


UNLIMITED = ContextBudget(EstimatedTokens(), sys.maxsize)


def budget_in(window: ContextWindow, provider: Model, margin: int) -> ContextBudget:
    """Return the budget that prompts have.

    Args:
        window: what the model takes in.
        provider: whose parameters may set a longest reply, which is kept free.
        margin: tokens that are kept free at least.

    Raises:
        UserError: what is kept free leaves no budget for a prompt.
    """
    reply = longest_reply(provider) or 0
    size = window.limit - max(margin, reply)
    if size > 0:
        return ContextBudget(window.counter, size)
    kept, advice = f"{margin} are always kept free", "ask a model that takes more"
    first = "--context-limit to what the model takes"
    if reply > margin:
        kept, first = f"max_tokens keeps {reply:,} for the reply", "max_tokens lower"
        advice = "--context-limit higher if the model takes more"
    told = {"user": " (--context-limit)", "server": " (so the server says)"}
    raise UserError(
        f"The model takes {window.limit:,} tokens{told.get(window.limit_from, '')} and {kept}: none"
        f" are left for a prompt. Set {first}, or {advice}."
    )


async def shortened(text: str, item: Item, ask: AskModel, budget: ContextBudget) -> str:
    """Return a text as the model summarises it; as it was if the model writes nothing.

    Args:
        text: to be summarised; cut first if it is too long for that.
        item: any other request of the episode.
        ask: asks the model.
        budget: of prompts.
    """
    system = {"role": "system", "content": prompts.SYSTEM_SUMMARY}
    request = replace(item, messages=[system], parameters={})
    text = await budget.cut_to_fit(
        text, lambda kept: replace(request, messages=_with_user([system], kept))
    )
    turn = await ask(Ask(_with_user([system], text)))
    said = "" if turn.completion is None else split_thinking(turn.completion.text).answer
    return said or text


class Conversation:
    """The messages of one conversation.

    Args:
        item: the first request; its id and class are those of all others.
        ask: asks the model.
        budget: of prompts.

    Attributes:
        must_decide: nothing more may be asked for, since there is no budget for an answer.
        measures: what was done to the conversation, in order.
    """

    def __init__(self, item: Item, ask: AskModel, budget: ContextBudget) -> None:
        self.must_decide = False
        self.measures: list[str] = []
        self._item = item
        self._ask = ask
        self._budget = budget
        self._found = ""
        self._steps: list[Message] = []

    def add(self, *messages: Message) -> None:
        """Add messages."""
        self._steps += messages

    def say(self, text: str) -> None:
        """Add words of the user."""
        self._steps = _with_user(self._steps, text)

    async def ask(self, parameters: Mapping[str, Any], last_words: str = "") -> Turn | None:
        """Ask the model, with the conversation made shorter as long as it must and can be.

        None is returned if it cannot be made short enough, or if it has to be cut and there are no
        last words.

        Args:
            parameters: of the request.
            last_words: of the user, that have the model decide; without them nothing is cut yet.
        """
        while not self.must_decide or last_words:
            head = list(self._item.messages)
            if self._found:
                head = _with_user(head, prompts.found_so_far(self._found))
            steps = self._steps
            if steps and steps[0]["role"] == "user":
                # Many templates take no two messages of one speaker.
                head, steps = _with_user(head, str(steps[0]["content"])), steps[1:]
            messages = [*head, *steps]
            messages = _with_user(messages, last_words) if last_words else messages
            item = replace(self._item, messages=messages, parameters=parameters)
            if not await self._budget.holds(item) and await self._shorten(parameters, last_words):
                continue
            turn = await self._ask(Ask(messages, parameters))
            if turn.completion is not None:
                return turn
            if not await self._shorten(parameters, last_words, was_refused=True):
                return None
        return None

    async def _shorten(
        self, parameters: Mapping[str, Any], last_words: str, was_refused: bool = False
    ) -> bool:
        """Shorten the conversation by one step; False if no step is left.

        Where the endpoint found too long what was counted as fitting, half of it is cut.
        """
        told = "\n".join(part for part in (self._found, *map(_told, self._steps)) if part)
        if self._steps and self.measures.count(SUMMARISED) < MOST_SUMMARIES:
            self.measures.append(SUMMARISED)
            self._found = await shortened(told, self._item, self._ask, self._budget)
            self._steps = []
            return True
        if not told or self.measures.count(TRUNCATED) >= _MOST_TRUNCATIONS:
            return False
        self.must_decide = True
        if last_words:
            self.measures.append(TRUNCATED)
            self._steps = []
            self._found = await self._budget.cut_to_fit(
                told[: len(told) // 2] if was_refused else told,
                lambda text: replace(
                    self._item,
                    messages=_with_user(
                        self._item.messages, f"{prompts.found_so_far(text)}\n\n{last_words}"
                    ),
                    parameters=parameters,
                ),
            )
        return True


def _with_user(messages: Sequence[Message], text: str) -> list[Message]:
    """Return messages that end in words of the user, joined to those that are there."""
    if not messages or messages[-1]["role"] != "user":
        return [*messages, {"role": "user", "content": text}]
    *before, last = messages
    return [*before, {"role": "user", "content": f"{last['content']}\n\n{text}"}]


def _told(message: Message) -> str:
    """Return a message as a line of what was asked and found."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    asked = [f"Asked: {call['name']} {call['arguments']}" for call in calls]
    return "\n".join(part for part in (text_of(message.get("content")), *asked) if part)
