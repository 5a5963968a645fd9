"""A user's function in a thread of its own, which nobody waits for longer than is wanted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

Value = TypeVar("Value")
Result = TypeVar("Result")


async def in_a_thread(
    function: Callable[[Value], Result], value: Value, timeout: float | None
) -> Result:
    """Call a function in a thread.

    A thread cannot be ended from outside. One that takes too long is left to itself, and ends with
    the process at the latest; the threads of a pool would hold the process up.

    Args:
        function: called once.
        value: its argument.
        timeout: seconds until it is no longer waited for; None to wait for as long as it takes.

    Raises:
        TimeoutError: it took too long.
        Exception: whatever the function raises.
    """
    loop = asyncio.get_running_loop()
    returned: asyncio.Future[Result] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        if not returned.done():
            set_it()

    def call() -> None:
        try:
            result = function(value)
        except BaseException as raised:  # noqa: BLE001  it is raised where it is waited for
            # A future takes no StopIteration, which means something else to it.
            error = RuntimeError(repr(raised)) if isinstance(raised, StopIteration) else raised
            set_it = partial(returned.set_exception, error)
        else:
            set_it = partial(returned.set_result, result)
        try:
            loop.call_soon_threadsafe(settle, set_it)
        except RuntimeError:
            return  # the run has ended without it

    threading.Thread(target=call, name="callable", daemon=True).start()
    try:
        done, _ = await asyncio.wait([returned], timeout=timeout)
        if not done:
            raise TimeoutError(f"it took longer than {timeout} seconds")
        return returned.result()
    finally:
        returned.cancel()
