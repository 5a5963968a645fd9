"""A chat model behind an OpenAI-compatible endpoint, asked by the prompts of the task types."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from medeval.evaluation.model_kinds import Call, LoadedModel, failed_line
from medeval.evaluation.task_prompts import (
    TASK_PROMPT_VERSION,
    messages_for,
    output_from_reply,
    response_format_for,
)
from medeval.inference.errors import RetryPolicy
from medeval.inference.guard import DataUseGuard
from medeval.inference.journal import Line
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import RunConfig, settings_of
from medeval.inference.types import Item, Model, Outcome, canonical
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row

_WHOLE = (Outcome.ANSWERED, Outcome.UNPARSED)


class ChatModel(LoadedModel):
    """A chat model with its answers on disk.

    Each answer is kept under the hash of its messages, in a folder for the endpoint, model,
    parameters and prompt version; what is there is not asked again, errors are. Identical inputs
    of a call are asked once.

    Args:
        name: what the runner calls it.
        gate: passed by every request before its first byte.
        folder: in which the folders of answers are made.
        base_url: of the endpoint, up to and with `/v1`.
        model: as the endpoint calls it; the name if not given.
        key_variable: the environment variable that holds the endpoint's key; None if it needs
            none. The key itself is never taken.
        temperature: None to leave it to the endpoint.
        max_tokens: of a reply; None to leave it to the endpoint.
        seed: None to leave it to the endpoint.
        json_schema: hold replies to the task's JSON schema, where the endpoint can.
        parameters: others that the endpoint takes.
        concurrency: requests under way at a time.
        max_retries: further requests for an item after a failed one.
        backoff_factor: seconds before the first of them, doubled each time, with jitter.
        timeout: seconds for one request as a whole.

    Raises:
        ValueError: there is no address.
        UserError: the address or a parameter cannot be meant, or the key is not there.
    """

    def __init__(
        self,
        name: str,
        gate: DataUseGuard,
        folder: Path,
        *,
        base_url: str | None = None,
        model: str | None = None,
        key_variable: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        seed: int | None = 0,
        json_schema: bool = True,
        parameters: Mapping[str, Any] | None = None,
        concurrency: int = 8,
        max_retries: int = 5,
        backoff_factor: float = 1.0,
        timeout: float = 600.0,
    ) -> None:
        if not base_url:
            raise ValueError("an openai model needs base_url, the endpoint's address with /v1")
        given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        named = {key: value for key, value in given.items() if value is not None}
        self.handle = self
        self._json_schema, self._concurrency = json_schema, concurrency
        self._retries = RetryPolicy(max_retries + 1, backoff_factor)
        self._model = partial(
            OpenAIModel,
            base_url,
            model or name,
            gate,
            parameters={**named, **(parameters or {})},
            key_variable=key_variable,
            timeout=timeout,
        )
        # Made also to be checked: an address, a parameter or a key that is wrong is so at once.
        made = self._model()
        self.settings = {
            "endpoint": made.address,
            "model": made.model,
            "parameters": dict(made.parameters),
            "json_schema": json_schema,
            "prompt_version": TASK_PROMPT_VERSION,
        }
        readable = re.sub(r"[^\w.-]+", "-", made.model).strip("-.")[:60]
        decisive = canonical(settings_of(made, TASK_PROMPT_VERSION))
        self.folder = folder / f"{readable}-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}"

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Item, Sequence[int]]]:
        """Return the conversations; inputs with the same one are asked about once.

        Raises:
            ValueError: no task is given, or an input has nothing to show.
        """
        task = _task_of(call)
        found: dict[str, tuple[Item, list[int]]] = {}
        form = {"response_format": response_format_for(task)} if self._json_schema else {}
        for place, row in enumerate(call.rows):
            messages = messages_for(task, row)
            name = hashlib.sha256(canonical([messages, form]).encode()).hexdigest()[:32]
            item = Item(name, messages, call.data_class, parameters=form)
            found.setdefault(name, (item, []))[1].append(place)
        return list(found.values())

    def answering(self, call: Call) -> Model:
        """Return who answers: a client of its own for each call."""
        return self._model()

    def config(self, call: Call) -> RunConfig:
        """Return how the run is made."""
        task = _task_of(call)
        return RunConfig(
            concurrency=self._concurrency,
            retries=self._retries,
            retry=frozenset({Outcome.ERRORED}),
            can_read=lambda item, text: output_from_reply(task, text) is not None,
        )

    def outputs(self, line: Line | None, count: int, call: Call) -> list[Row]:
        """Return the outputs of an item; identical inputs have the same."""
        read = None
        if line is not None and line["outcome"] in _WHOLE:
            read = output_from_reply(_task_of(call), line["text"])
        return [dict(read) if read else failed_line(line) for _ in range(count)]


def _task_of(call: Call) -> MedicalTask:
    if call.task is None:
        raise ValueError("an openai model needs task=..., whose type and schemas say what is asked")
    return call.task
