"""How many calls may be under way, and whether there is anybody to call."""

from __future__ import annotations

import asyncio
import math

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
        self._places = asyncio.Semaphore(most)
        self._too_many = 0

    async def enter(self) -> None:
        """Take a place; wait for one if need be."""
        await self._places.acquire()
        self._under_way += 1

    def leave(self) -> None:
        """Give a place back."""
        self._under_way -= 1
        self._give()

    def succeeded(self) -> None:
        """Hear that the endpoint took a call; call before leaving."""
        self._succeeded += 1
        if self.allowed < self._most and self._succeeded >= ROUNDS_BEFORE_ONE_MORE * self.allowed:
            self.allowed += 1
            self._succeeded = 0
            self._give()

    async def refused(self) -> None:
        """Hear that a call was one too many; call before leaving."""
        allowed = max(1, min(self.allowed, self._under_way - 1))
        self._too_many += self.allowed - allowed
        self.allowed = allowed
        self._succeeded = 0
        while self._too_many and not self._places.locked():
            await self._places.acquire()
            self._too_many -= 1

    def _give(self) -> None:
        """Give a place to whoever waits, unless there are more than are allowed now."""
        if self._too_many:
            self._too_many -= 1
        else:
            self._places.release()


class CircuitBreaker:
    """Whether there is an endpoint at all, which one item that reached nobody cannot tell.

    Such an item is held until it is clear what it means. A reply to a call that was made later
    makes it an error of the item; too many such items in a row mean that nobody is there, and then
    they are no errors but still to be asked.

    Attributes:
        calls: that were made.
        answered: the number of the last one that anything came back for.
        held: items that reached nobody, each with the number of its last call.
    """

    def __init__(self) -> None:
        self.calls = self.answered = 0
        self.held: dict[asyncio.Future[bool], int] = {}

    def hear(self, call: int) -> None:
        """Hear from the endpoint: held items whose last call was before this one are lost."""
        self.answered = max(self.answered, call)
        self.release(is_lost=True, before=self.answered)

    async def hold(self, call: int) -> bool:
        """Hold an item by its last call until it is known whether it is lost."""
        is_lost: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.held[is_lost] = call
        return await is_lost

    def release(self, *, is_lost: bool, before: float = math.inf) -> None:
        """Hold items no longer whose last call was before one, or none any more."""
        for future in [future for future, call in self.held.items() if call < before]:
            del self.held[future]
            if not future.done():
                future.set_result(is_lost)
