"""Models in this process: a user's function or file, each call in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from medeval.inference.errors import Failure, Kind
from medeval.inference.guard import IN_PROCESS, DataUseGuard, Purpose
from medeval.inference.types import Model, Reply, Request, Sample, body_of
from medeval.text import sha256_of, whole


@dataclass(eq=False)
class PythonModel(Model):
    """A function in this process that takes an item and returns its text, or a whole reply.

    Attributes:
        function: called in a thread of its own for each item; it may be called in several at once.
        model: what the run calls the model.
        guard: it stops the items or records them in its audit.
        purpose: what the audit calls its requests.
        timeout: seconds after which an item is an error and its call no longer waited for; None to
            wait for as long as it takes.
        file: where a user's function stands, by which the guard knows it; None for a built-in one.
    """

    function: Callable[[Sample], str | Reply]
    model: str
    guard: DataUseGuard
    purpose: Purpose = "answer"
    timeout: float | None = 600.0
    file: Path | None = None
    address = IN_PROCESS

    async def ask(self, request: Request) -> Reply | Failure:
        """Call the function; what it raises is the item's error."""
        body = json.dumps(body_of(request, {})).encode()
        if self.file is not None:
            self.guard.check(str(self.file.resolve()), request.item.is_open)
        self.guard.authorize(request, body, self.purpose)
        try:
            answer = await self._called(request.item)
        except TimeoutError:
            told = f"it took longer than {self.timeout} seconds"
            return Failure(Kind.CALLABLE, code="TimeoutError", detail=told)
        except RuntimeError as error:  # there is no thread to be had
            return _failure_of(error)
        if isinstance(answer, str):
            answer = Reply(whole(answer), finish_reason="stop")
        if isinstance(answer, Reply):
            return replace(answer, model=self.model)
        if isinstance(answer, Failure):
            return answer
        return Failure(Kind.CALLABLE, code="TypeError", detail="it returned no text")

    async def _called(self, item: Sample) -> Any:
        """Return what the function returns in a thread; a failure if it raises.

        A thread cannot be ended from outside. One that takes too long is left to itself, and ends
        with the process at the latest; the threads of a pool would hold the process up. Whatever
        the function raises is the item's: a library that is asked to stop raises what would end the
        event loop and, uncaught, the process. A KeyboardInterrupt stays what it is.
        """
        returned: Future[Any] = Future()

        def call() -> None:
            with suppress(InvalidStateError):  # the run has gone on or ended without it
                try:
                    # A copy: what the function does to it must not change what was asked.
                    returned.set_result(self.function(deepcopy(item)))
                except KeyboardInterrupt as raised:
                    returned.set_exception(raised)
                except BaseException as raised:  # noqa: BLE001  whatever a user's function raises
                    returned.set_result(_failure_of(raised))

        threading.Thread(target=call, name="callable", daemon=True).start()
        return await asyncio.wait_for(asyncio.wrap_future(returned), self.timeout)


def _failure_of(raised: BaseException) -> Failure:
    """Return the failure of an item by the class and place of what was raised.

    The message may hold an input's text, or a key that the function reads for itself.
    """
    frames = traceback.extract_tb(raised.__traceback__)
    place = f"at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if len(frames) > 1 else ""
    return Failure(Kind.CALLABLE, code=type(raised).__name__, detail=place)


def module_of(file: Path) -> ModuleType:
    """Return a Python file as a module of its own.

    While it is loaded it may import its neighbours, as a script may. What it imports of them is
    forgotten afterwards: two files in two folders may each have a neighbour of the same name.

    Args:
        file: the file.

    Raises:
        ValueError: its name does not end in .py.
        ImportError: it cannot be run, or it ends the process; the message names what it raised.
        OSError: it cannot be read.
    """
    # A name of its own for each content, so that no module is mistaken for another.
    content = str(file.resolve()).encode() + file.read_bytes()
    name = f"medeval_model_{sha256_of(content)[:16]}"
    spec = spec_from_file_location(name, file)
    if file.suffix != ".py" or spec is None or spec.loader is None:
        raise ValueError(f"{file} is no Python file: its name must end in .py")
    folder, known = file.resolve().parent, set(sys.modules)
    module = module_from_spec(spec)
    # Classes of the file look their module up while they are made.
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file that is meant as a script may end the process
        sys.modules.pop(name, None)
        told = f"{type(error).__name__}: {error}".rstrip(": ")
        raise ImportError(f"{file} cannot be run ({told})") from error
    finally:
        sys.path.remove(str(folder))
        new = set(sys.modules) - known - {name}
        # Not those of an environment somewhere below the folder.
        neighbours = {one for one in new if _parent_of(sys.modules[one]) == folder}
        for one in new:
            if one.partition(".")[0] in neighbours:
                del sys.modules[one]
    return module


def _parent_of(module: ModuleType) -> Path | None:
    """Return the folder in which the file of a module, or the folder of a package, stands."""
    places = [*(getattr(module, "__path__", None) or ()), getattr(module, "__file__", None)]
    return Path(places[0]).resolve().parent if places[0] else None
