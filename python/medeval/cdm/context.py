"""The room that a prompt has in what a model takes in, and texts that are made to fit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from medeval.cdm import prompts
from medeval.errors import UserError
from medeval.inference.cost import longest_reply
from medeval.inference.thinking import split_thinking
from medeval.inference.tokens import ContextWindow
from medeval.inference.types import Ask, AskModel, Item, Message, Model, canonical

# A text that is cut is cut a little more than its mean length of tokens says.
_CAUTION = 0.97
_MOST_CUTS = 12


@dataclass(frozen=True)
class Room:
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
        room = max(0, self.size - bare)
        for _ in range(_MOST_CUTS):
            tokens = await count(item_with(text)) - bare
            if tokens <= room:
                return text
            text = text[: int(len(text) * room / tokens * _CAUTION)]
            if not text:
                break
        return ""


def room_in(window: ContextWindow, provider: Model, margin: int) -> Room:
    """Return the room that prompts have.

    Args:
        window: what the model takes in.
        provider: whose parameters may set a longest reply, which is kept free.
        margin: tokens that are kept free at least.

    Raises:
        UserError: what is kept free leaves no room for a prompt.
    """
    reply = longest_reply(provider) or 0
    size = window.limit - max(margin, reply)
    if size > 0:
        return Room(window, size)
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


async def shortened(text: str, item: Item, ask: AskModel, room: Room | None) -> str:
    """Return a text as the model summarises it; as it was if the model writes nothing.

    Args:
        text: to be summarised; cut first if it is too long for that.
        item: any other request of the episode.
        ask: asks the model.
        room: that prompts have; None if nobody knows.
    """
    if room is not None:
        text = await room.cut_to_fit(
            text, lambda kept: Item(item.id, _to_shorten(kept), item.data_class, item.sample)
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
