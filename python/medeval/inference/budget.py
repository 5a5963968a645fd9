"""A limit on what is spent, held before a call is made and not noticed after it."""

from __future__ import annotations

import asyncio
from decimal import Decimal


class Budget:
    """Money that several models and judges may share.

    Before a call, the most it can cost is set aside; after it, what it did cost is booked. So the
    limit holds for retries and for calls under way as well. A call whose end nobody knows (a
    broken connection, a reply without counted tokens) is booked at the most it can have cost.

    Args:
        limit: never exceeded; None for no limit.
        spent: by earlier parts of the run.
    """

    def __init__(self, limit: Decimal | None, spent: Decimal = Decimal(0)) -> None:
        self.limit = limit
        self.spent = spent
        self._aside = Decimal(0)
        self._waiting: list[asyncio.Future[None]] = []

    async def set_aside(self, most: Decimal) -> bool:
        """Set money aside; wait for calls under way if they may set enough free.

        Returns:
            False if the limit does not allow the call, whatever the others cost.
        """
        if self.limit is None:
            return True
        while self.spent + self._aside + most > self.limit:
            if not self._aside:
                return False
            booked = asyncio.get_running_loop().create_future()
            self._waiting.append(booked)
            await booked
        self._aside += most
        return True

    def book(self, most: Decimal, cost: Decimal) -> None:
        """Book what a call cost in place of the most that was set aside for it."""
        if self.limit is not None:
            self._aside -= most
        self.spent += cost
        waiting, self._waiting = self._waiting, []
        for booked in waiting:
            if not booked.done():
                booked.set_result(None)
