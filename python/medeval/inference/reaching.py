"""Whether there is an endpoint at all, which one item that reached nobody cannot tell.

Such an item is held until it is clear what it means. A reply to a call that was made later makes it
an error of the item; too many such items in a row mean that nobody is there, and then they are no
errors but still to be asked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True)
class _Held:
    call: int
    is_lost: asyncio.Future[bool]


class Reach:
    """What is known of an endpoint's being there."""

    def __init__(self) -> None:
        self._calls = 0
        self._heard_of = 0
        self._held: list[_Held] = []

    def begin(self) -> int:
        """Return the number of a call that is about to be made."""
        self._calls += 1
        return self._calls

    def hear(self, call: int) -> None:
        """Hear from the endpoint: held items whose last call was before this one are lost."""
        self._heard_of = max(self._heard_of, call)
        self._let_go([held for held in self._held if held.call < self._heard_of], is_lost=True)

    def is_in_doubt(self, call: int) -> bool:
        """Tell whether nothing came back for any call that was made later."""
        return self._heard_of < call

    def is_nobody_there(self, most: int) -> bool:
        """Tell whether one more item that reached nobody makes as many as are too many."""
        return len(self._held) + 1 >= most

    def hold(self, call: int) -> asyncio.Future[bool]:
        """Hold an item; the future tells whether it is lost, or else to be asked again.

        Args:
            call: the item's last.
        """
        held = _Held(call, asyncio.get_running_loop().create_future())
        self._held.append(held)
        return held.is_lost

    def let_all_go(self, *, is_lost: bool) -> None:
        """Hold nothing any more, since nothing more will be heard."""
        self._let_go(list(self._held), is_lost=is_lost)

    def _let_go(self, those: list[_Held], *, is_lost: bool) -> None:
        for held in those:
            self._held.remove(held)
            if not held.is_lost.done():
                held.is_lost.set_result(is_lost)
