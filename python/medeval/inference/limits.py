"""How many calls may be under way, and whether there is anybody to call."""

from __future__ import annotations

import asyncio
from collections import deque

# Calls that succeed, for each call allowed, before one more is allowed: a limit that stays is met
# again by about one call in so many rounds.
ROUNDS_BEFORE_ONE_MORE = 4


class AdaptiveLimiter:
    """How many calls are under way: as many as are wished, fewer where an endpoint says so.

    An endpoint that refuses a call has said how many it takes: those that are still under way. So
    that many go on, and one more is tried after each few rounds without a refusal. Places are taken
    in the order in which they were asked for.

    Args:
        most: never more than this.

    Attributes:
        allowed: how many at a time for now.
    """

    def __init__(self, most: int) -> None:
        self.allowed = most
        self._most = most
        self._under_way = 0
        self._succeeded = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Take a place; wait for one if need be."""
        if self._under_way < self.allowed and not self._waiting:
            self._under_way += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give a place back."""
        self._under_way -= 1
        while self._waiting and self._under_way < self.allowed:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)

    def succeeded(self) -> None:
        """Hear that the endpoint took a call; call before leaving."""
        self._succeeded += 1
        if self.allowed < self._most and self._succeeded >= ROUNDS_BEFORE_ONE_MORE * self.allowed:
            self.allowed += 1
            self._succeeded = 0

    def refused(self) -> None:
        """Hear that a call was one too many; call before leaving."""
        self.allowed = max(1, min(self.allowed, self._under_way - 1))
        self._succeeded = 0


class CircuitBreaker:
    """Whether there is an endpoint at all, which one item that reached nobody cannot tell.

    Such an item is held until it is clear what it means. A reply to a call that was made later
    makes it an error of the item; too many such items in a row mean that nobody is there, and then
    they are no errors but still to be asked.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._answered = 0
        self._held: list[tuple[int, asyncio.Future[bool]]] = []

    def begin(self) -> int:
        """Return the number of a call that is about to be made."""
        self._calls += 1
        return self._calls

    def hear(self, call: int) -> None:
        """Hear from the endpoint: held items whose last call was before this one are lost."""
        self._answered = max(self._answered, call)
        self._release([held for held in self._held if held[0] < self._answered], is_lost=True)

    def is_in_doubt(self, call: int) -> bool:
        """Tell whether nothing came back for any call that was made later."""
        return self._answered < call

    def is_open(self, most: int) -> bool:
        """Tell whether one more item that reached nobody makes too many."""
        return len(self._held) + 1 >= most

    def hold(self, call: int) -> asyncio.Future[bool]:
        """Hold an item by its last call until it is known whether it is lost."""
        is_lost: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._held.append((call, is_lost))
        return is_lost

    def release_all(self, *, is_lost: bool) -> None:
        """Hold nothing any more, since nothing more will be heard."""
        self._release(list(self._held), is_lost=is_lost)

    def _release(self, those: list[tuple[int, asyncio.Future[bool]]], *, is_lost: bool) -> None:
        for held in those:
            self._held.remove(held)
            if not held[1].done():
                held[1].set_result(is_lost)
