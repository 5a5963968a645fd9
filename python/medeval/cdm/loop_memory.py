"""A conversation that is kept short enough for the model: summarised, and at last cut.

After Hager et al. (Nature Medicine 30, 2024): near the limit what was found is summarised by the
model itself; when that helps no more it is cut to the room there is, and the model has to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medeval.cdm import prompts
from medeval.cdm.context import Room, shortened
from medeval.inference.openai_replies import text_of
from medeval.inference.types import AskModel, Item, Message

MARGIN = 100
MOST_SUMMARIES = 3
_MOST_CUTS = 4
SUMMARISED = "summarised"
TRUNCATED = "truncated"


class Memory:
    """The messages of one conversation.

    Args:
        item: the first request; its id and class are those of all others.
        ask: asks the model.
        room: that prompts have; None if nobody knows.

    Attributes:
        must_decide: nothing more may be asked for, since there is no room for an answer.
        measures: what was done to the conversation, in order.
    """

    def __init__(self, item: Item, ask: AskModel, room: Room | None) -> None:
        self.must_decide = False
        self.measures: list[str] = []
        self._item = item
        self._ask = ask
        self._room = room
        self._head = list(item.messages)
        self._found = ""
        self._steps: list[Message] = []

    def add(self, *messages: Message) -> None:
        """Go on with the conversation."""
        self._steps += messages

    def say(self, text: str) -> None:
        """Go on with words of the user."""
        self._steps = _with_user(self._steps, text) if self._steps else [_user(text)]

    def messages(self, last_words: str = "") -> list[Message]:
        """Return the whole conversation, with words of the user at its end if there are any."""
        found = prompts.found_so_far(self._found) if self._found else ""
        head = _with_user(self._head, found) if found else self._head
        steps = self._steps
        if steps and steps[0]["role"] == "user":
            # Many templates take no two messages of one speaker.
            head, steps = _with_user(head, str(steps[0]["content"])), steps[1:]
        return _with_user([*head, *steps], last_words) if last_words else [*head, *steps]

    async def make_fit(self, parameters: Mapping[str, Any], last_words: str = "") -> None:
        """Shorten the conversation as long as it does not fit and can be shortened."""
        while self._room is not None and not await self._room.holds(
            self._as_item(self.messages(last_words), parameters)
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
        if self._steps and self.measures.count(SUMMARISED) < MOST_SUMMARIES:
            self.measures.append(SUMMARISED)
            self._found = await shortened(self._told(), self._item, self._ask, self._room)
            self._steps = []
            return True
        told = self._told()
        if not told or self.measures.count(TRUNCATED) >= _MOST_CUTS:
            return False
        self.must_decide = True
        if not last_words:
            return True
        self.measures.append(TRUNCATED)
        self._steps = []
        kept = told[: len(told) // 2] if was_refused else told
        if self._room is not None:
            kept = await self._room.cut_to_fit(
                kept, lambda text: self._as_item(self._with_found(text, last_words), parameters)
            )
        self._found = kept
        return True

    def _told(self) -> str:
        parts = [self._found, *map(_told, self._steps)]
        return "\n".join(part for part in parts if part)

    def _with_found(self, text: str, last_words: str) -> list[Message]:
        messages = _with_user(self._head, prompts.found_so_far(text))
        return _with_user(messages, last_words) if last_words else messages

    def _as_item(
        self, messages: Sequence[Message], parameters: Mapping[str, Any] | None = None
    ) -> Item:
        item = self._item
        return Item(item.id, messages, item.data_class, item.sample, parameters or {})


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _with_user(messages: Sequence[Message], text: str) -> list[Message]:
    """Return messages that end in words of the user, joined to those that are there."""
    *before, last = messages
    if last["role"] != "user":
        return [*messages, _user(text)]
    return [*before, _user(f"{last['content']}\n\n{text}")]


def _told(message: Message) -> str:
    """Return a message as a line of what was asked and found."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    asked = [f"Asked: {call['name']} {call['arguments']}" for call in calls]
    return "\n".join(part for part in (text_of(message.get("content")), *asked) if part)
