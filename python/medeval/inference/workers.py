"""Pieces of work brought to their ends, a bounded number at a time, until there is no more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")


class Workers(Generic[Work]):
    """Workers that each take a piece, bring it to its end, and take the next.

    Args:
        take: returns the next piece of work; None if there is no more.
        bring: brings one to its end.
        most: pieces under way at a time.
        is_stopped: tells whether no more is to be begun.
        on_error: called when one raised; is to stop the others.
        on_idle: called when no piece is under way but those that stand aside.
    """

    def __init__(
        self,
        take: Callable[[], Work | None],
        bring: Callable[[Work], Awaitable[None]],
        most: int,
        is_stopped: Callable[[], bool],
        on_error: Callable[[], None],
        on_idle: Callable[[], None],
    ) -> None:
        self._take = take
        self._bring = bring
        self._most = most
        self._is_stopped = is_stopped
        self._on_error = on_error
        self._on_idle = on_idle
        self._at_work = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._errors: list[Exception] = []

    async def to_the_end(self) -> None:
        """Bring all work to its end, or stop.

        Raises:
            Exception: the first that one raised. Work under way is awaited before: what it brings
                may be paid for.
        """
        for _ in range(self._most):
            self._start()
        try:
            while under_way := [task for task in self._tasks if not task.done()]:
                await asyncio.wait(under_way, return_when=asyncio.FIRST_EXCEPTION)
                for task in self._tasks:
                    if task.done():
                        task.result()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._errors:
            raise self._errors[0]

    async def stand_aside(self, event: Awaitable[Result]) -> Result:
        """Let another piece be under way in place of the one that waits for an event."""
        self._at_work -= 1
        self._start()
        try:
            return await event
        finally:
            self._at_work += 1

    def _start(self) -> None:
        self._at_work += 1
        self._tasks.append(asyncio.create_task(self._work()))

    async def _work(self) -> None:
        try:
            # After pieces that stood aside there are more at work than are wished.
            while not self._is_stopped() and self._at_work <= self._most:
                work = self._take()
                if work is None:
                    return
                await self._bring(work)
        except Exception as error:  # noqa: BLE001  raised when the others have come to their ends
            self._errors.append(error)
            self._on_error()
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._on_idle()
