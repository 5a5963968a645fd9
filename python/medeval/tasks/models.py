"""Which model is meant: a built-in one, a Python function, or a model at an endpoint."""

from __future__ import annotations

import hashlib
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
    """

    model: str
    base_url: str | None = None
    key_variable: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600.0
    call: Callable[[Sequence[Message]], str] | None = None

    @property
    def is_demo(self) -> bool:
        """Whether the built-in model is meant."""
        return self.model == DEMO and self.base_url is None

    @property
    def function(self) -> tuple[Path, str] | None:
        """The file and the name of a Python function, if one is meant."""
        file, colon, name = self.model.rpartition(":")
        is_function = bool(colon) and file.endswith(".py") and self.base_url is None
        return (Path(file), name) if is_function else None

    @property
    def key(self) -> str | None:
        """The name of the variable that holds the key; None if none is sent."""
        if self.is_demo or self.function is not None or self.call is not None:
            return None
        if self.key_variable is None and self.base_url is None:
            return KEY_VARIABLE
        return self.key_variable

    @property
    def address(self) -> str:
        """Where an endpoint is."""
        return self.base_url or os.environ.get(BASE_URL_VARIABLE) or OPENAI

    @property
    def to_name(self) -> dict[str, str]:
        """The flags, with their values, that a command must have before a record's model is used.

        A record may name any function, any variable and any address. Of itself the usual variable
        goes to the usual address; no other is sent and no function is run.
        """
        if self.function is not None:
            return {"--model": self.model}
        usual = normalized(ModelChoice(self.model).address)
        is_usual = self.key == KEY_VARIABLE and normalized(self.address) == usual
        return {} if is_usual or self.key is None else {"--key-variable": self.key}


def model_of(choice: ModelChoice, task: AskedTask, guard: DataUseGuard) -> Model:
    """Return who answers.

    Raises:
        UserError: no such function, an address that cannot be meant, or a key that is not there.
    """
    if (call := choice.call) is not None:
        source = inspect.getsourcefile(call) if hasattr(call, "__code__") else None
        return PythonModel(
            lambda item: call(item.messages),
            choice.model,
            guard,
            timeout=choice.timeout,
            file=Path(source or "<python>"),
        )
    if choice.is_demo:
        return task.local_provider(DEMO, guard)
    if choice.function is not None:
        file, name = choice.function
        if not file.is_file():
            raise UserError(f"{file}: no such file. A function is named FILE.py:FUNCTION.")
        try:
            ask = getattr(module_of(file), name, None)
        except (OSError, ValueError, FileFailedError) as error:
            raise UserError(f"{error}.") from None
        if not callable(ask):
            raise UserError(f"{file} has no function {name!r}.")
        return PythonModel(
            lambda item: ask(item.messages), choice.model, guard, timeout=choice.timeout, file=file
        )
    return OpenAIModel(
        choice.address,
        choice.model,
        guard,
        parameters=choice.parameters,
        key_variable=choice.key,
        timeout=choice.timeout,
    )


def code_sha256(choice: ModelChoice) -> dict[str, str]:
    """Return the hash of a function's file, by which a run that goes on knows it again."""
    if choice.function is None:
        return {}
    path = choice.function[0]
    try:
        return {"code_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}).") from None
