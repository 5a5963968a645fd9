"""How many calls are under way at a time: as many as are wished, fewer where an endpoint says so.

An endpoint that refuses a call for being one too many has said how many it takes: those that are
still under way. So that many go on, and one more is tried after each few rounds without a refusal.
"""

from __future__ import annotations

import asyncio
from collections import deque

# Calls that succeed, for each call allowed, before one more is allowed: a limit that stays is met
# again by about one call in so many rounds.
ROUNDS_BEFORE_ONE_MORE = 4


class Pace:
    """Places for calls under way, taken in the order in which they were asked for.

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
        self._let_in()

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

    def _let_in(self) -> None:
        while self._waiting and self._under_way < self.allowed:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
