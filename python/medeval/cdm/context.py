"""How long a prompt may be, and a conversation that is kept short enough for the model.

After Hager et al. (Nature Medicine 30, 2024): near the limit what was found is summarised by the
model itself; when that helps no more it is cut to the budget, and the model has to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medeval.cdm import prompts
from medeval.errors import UserError
from medeval.inference.cost import longest_reply
from medeval.inference.openai_replies import text_of
from medeval.inference.tokens import ContextWindow
from medeval.inference.types import Ask, AskModel, Item, Message, Model, canonical
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
        window: what the model takes in, and who counts.
        size: tokens of the longest prompt.
    """

    window: ContextWindow
    size: int

    async def holds(self, item: Item) -> bool:
        """Tell whether a prompt fits.

        Raises:
            CallFailedError: the server counts and did not reply.
        """
        # No prompt has more tokens than its JSON has bytes: most need not be counted.
        if len(canonical([list(map(dict, item.messages)), dict(item.parameters)])) <= self.size:
            return True
        return await self.window.counter.count(item) <= self.size

    async def cut_to_fit(self, text: str, item_with: Callable[[str], Item]) -> str:
        """Return as much of the beginning of a text as fits into a prompt.

        Args:
            text: to be cut.
            item_with: makes the prompt with a text in its place.
        """
        if not text or await self.holds(item_with(text)):
            return text
        count = self.window.counter.count
        bare = await count(item_with(""))
        budget = max(0, self.size - bare)
        for _ in range(_MOST_CUTS):
            tokens = await count(item_with(text)) - bare
            if tokens <= budget:
                return text
            text = text[: int(len(text) * budget / tokens * _CAUTION)]
            if not text:
                break
        return ""


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
        return ContextBudget(window, size)
    told = {"user": " (--context-limit)", "server": " (so the server says)"}
    takes = f"The model takes {window.limit:,} tokens{told.get(window.limit_from, '')}"
    if reply > margin:
        raise UserError(
            f"{takes} and max_tokens keeps {reply:,} for the reply: none are left for a prompt. Set"
            " max_tokens lower, or --context-limit higher if the model takes more."
        )
    raise UserError(
        f"{takes} and {margin} are always kept free: none are left for a prompt. Set"
        " --context-limit to what the model takes, or ask a model that takes more."
    )


async def shortened(text: str, item: Item, ask: AskModel, budget: ContextBudget | None) -> str:
    """Return a text as the model summarises it; as it was if the model writes nothing.

    Args:
        text: to be summarised; cut first if it is too long for that.
        item: any other request of the episode.
        ask: asks the model.
        budget: of prompts; None if nobody knows.
    """
    if budget is not None:
        text = await budget.cut_to_fit(
            text, lambda kept: replace(item, messages=_to_shorten(kept), parameters={})
        )
    turn = await ask(Ask(_to_shorten(text)))
    if turn.completion is None:
        return text
    return split_thinking(turn.completion.text).answer or text


def _to_shorten(text: str) -> list[Message]:
    return [
        {"role": "system", "content": prompts.SYSTEM_SUMMARY},
        {"role": "user", "content": text},
    ]


class Conversation:
    """The messages of one conversation.

    Args:
        item: the first request; its id and class are those of all others.
        ask: asks the model.
        budget: of prompts; None if nobody knows.

    Attributes:
        must_decide: nothing more may be asked for, since there is no budget for an answer.
        measures: what was done to the conversation, in order.
    """

    def __init__(self, item: Item, ask: AskModel, budget: ContextBudget | None) -> None:
        self.must_decide = False
        self.measures: list[str] = []
        self._item = item
        self._ask = ask
        self._budget = budget
        self._head = list(item.messages)
        self._found = ""
        self._steps: list[Message] = []

    def add(self, *messages: Message) -> None:
        """Go on with the conversation."""
        self._steps += messages

    def say(self, text: str) -> None:
        """Go on with words of the user."""
        self._steps = _with_user(self._steps, text)

    def messages(self, last_words: str = "") -> list[Message]:
        """Return the whole conversation, with words of the user at its end if there are any."""
        found = prompts.found_so_far(self._found) if self._found else ""
        head = _with_user(self._head, found) if found else self._head
        steps = self._steps
        if steps and steps[0]["role"] == "user":
            # Many templates take no two messages of one speaker.
            head, steps = _with_user(head, str(steps[0]["content"])), steps[1:]
        return _with_user([*head, *steps], last_words) if last_words else [*head, *steps]

    async def truncate(self, parameters: Mapping[str, Any], last_words: str = "") -> None:
        """Shorten the conversation as long as it does not fit and can be shortened."""
        while self._budget is not None and not await self._budget.holds(
            replace(self._item, messages=self.messages(last_words), parameters=parameters)
        ):
            if self.must_decide and not last_words:
                return
            if not await self.shorten(parameters, last_words):
                return

    async def shorten(
        self, parameters: Mapping[str, Any], last_words: str = "", was_refused: bool = False
    ) -> bool:
        """Shorten the conversation by one step; False if no step is left.

        Args:
            parameters: of the request to come.
            last_words: that have the model decide; without them nothing is cut yet.
            was_refused: the endpoint found too long what was counted as fitting.
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
        if not last_words:
            return True
        self.measures.append(TRUNCATED)
        self._steps = []
        kept = told[: len(told) // 2] if was_refused else told
        if self._budget is not None:

            def item_with(text: str) -> Item:
                messages = _with_user(self._head, prompts.found_so_far(text))
                messages = _with_user(messages, last_words)
                return replace(self._item, messages=messages, parameters=parameters)

            kept = await self._budget.cut_to_fit(kept, item_with)
        self._found = kept
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
