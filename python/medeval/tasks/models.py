"""Which model is meant: a built-in one, a Python function, or a model at an endpoint."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.guard import DataUseGuard, normalized
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.python_model import FileFailedError, PythonModel, module_of
from medeval.inference.types import Message, Model
from medeval.tasks.task import DEMO, AskedTask

OPENAI = "https://api.openai.com/v1"
BASE_URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True)
class ModelChoice:
    """Which model is asked, and how.

    Attributes:
        model: `demo`, `FILE.py:FUNCTION`, or the name by which an endpoint knows it.
        base_url: of the endpoint; None takes OPENAI_BASE_URL, else OpenAI's.
        key_variable: the environment variable that holds the key; None takes OPENAI_API_KEY where
            no address is given, else none: a key goes to no address that it was not meant for.
        parameters: temperature, max_tokens and what else the endpoint takes.
        timeout: seconds for one call.
        call: a function of this process that answers instead, from the messages to the reply.
        function: the file and the name of a Python function, if one is meant.
        is_local: whether the answers come from this process.
        key: the name of the variable that holds the key; None if none is sent.
    """

    model: str
    base_url: str | None = None
    key_variable: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600.0
    call: Callable[[Sequence[Message]], str] | None = None
    function: tuple[Path, str] | None = field(init=False, default=None)
    is_local: bool = field(init=False, default=False)
    key: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Find out what is meant."""
        file, colon, name = self.model.rpartition(":")
        of_file = bool(colon) and file.endswith(".py") and self.base_url is None
        is_demo = self.model == DEMO and self.base_url is None
        is_local = is_demo or of_file or self.call is not None
        key = self.key_variable
        if key is None and self.base_url is None:
            key = KEY_VARIABLE
        found = {
            "function": (Path(file), name) if of_file else None,
            "is_local": is_local,
            "key": None if is_local else key,
        }
        vars(self).update(found)  # the others may not be changed either

    @property
    def to_name(self) -> dict[str, str]:
        """The flags, with their values, that a command must have before a record's model is used.

        A record may name any function, any variable and any address. Of itself the usual variable
        goes to the usual address; no other is sent and no function is run.
        """
        if self.function is not None:
            return {"--model": self.model}
        usual = os.environ.get(BASE_URL_VARIABLE) or OPENAI
        is_usual = normalized(self.base_url or usual) == normalized(usual)
        if self.key is None or (is_usual and self.key == KEY_VARIABLE):
            return {}
        return {"--key-variable": self.key}

    def opened(self, task: AskedTask, guard: DataUseGuard) -> Model:
        """Return who answers a task.

        Raises:
            UserError: no such function, an address that cannot be meant, or a key that is not
                there.
        """
        if not self.is_local:
            return OpenAIModel(
                self.base_url or os.environ.get(BASE_URL_VARIABLE) or OPENAI,
                self.model,
                guard,
                parameters=self.parameters,
                key_variable=self.key,
                timeout=self.timeout,
            )
        call, file = self.call, Path("<python>")
        if call is not None:
            source = inspect.getsourcefile(call) if hasattr(call, "__code__") else None
            file = Path(source or file)
        elif self.function is None:
            return task.local_provider(DEMO, guard)
        else:
            file, name = self.function
            if not file.is_file():
                raise UserError(f"{file}: no such file. A function is named FILE.py:FUNCTION.")
            try:
                call = getattr(module_of(file), name, None)
            except (OSError, ValueError, FileFailedError) as error:
                raise UserError(f"{error}.") from None
            if not callable(call):
                raise UserError(f"{file} has no function {name!r}.")
        answer = call
        return PythonModel(
            lambda item: answer(item.messages), self.model, guard, timeout=self.timeout, file=file
        )
