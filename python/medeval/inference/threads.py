"""A user's function in a thread of its own, which nobody waits for longer than is wanted."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")
Result = TypeVar("Result")


class FunctionFailedError(Exception):
    """A user's function raised something: by its class and place, without its message.

    Whatever it raised comes as this one: a function of a library that is asked to stop raises what
    would end the event loop and, uncaught, the process.

    Attributes:
        kind: the class of what was raised.
        place: the file and line where it was raised.
    """

    def __init__(self, raised: BaseException) -> None:
        self.kind = type(raised).__name__
        # The message may hold an input's text, or a key that the function reads for itself.
        self.place = _place(raised)
        super().__init__(f"{self.kind} {self.place}".rstrip())


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
        FunctionFailedError: the function raised, or there is no thread to be had for it. A
            KeyboardInterrupt stays what it is.
    """
    loop = asyncio.get_running_loop()
    returned: asyncio.Future[Result] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        if not returned.done():
            set_it()

    def call() -> None:
        try:
            result = function(value)
        except KeyboardInterrupt as raised:
            set_it = partial(returned.set_exception, raised)
        except BaseException as raised:  # noqa: BLE001  it is raised where it is waited for
            set_it = partial(returned.set_exception, FunctionFailedError(raised))
        else:
            set_it = partial(returned.set_result, result)
        try:
            loop.call_soon_threadsafe(settle, set_it)
        except RuntimeError:
            return  # the run has ended without it

    try:
        threading.Thread(target=call, name="callable", daemon=True).start()
    except RuntimeError as error:
        raise FunctionFailedError(error) from None
    try:
        done, _ = await asyncio.wait([returned], timeout=timeout)
        if not done:
            raise TimeoutError(f"it took longer than {timeout} seconds")
        return returned.result()
    finally:
        returned.cancel()


def _place(raised: BaseException) -> str:
    frames = traceback.extract_tb(raised.__traceback__)
    return f"at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if len(frames) > 1 else ""
