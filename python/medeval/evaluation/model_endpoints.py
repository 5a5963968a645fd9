"""Models behind an address: batches that are posted, and chats by the prompts of the task types."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from medeval.evaluation.model_kinds import BatchModel, Call, LoadedModel, failed, failed_line
from medeval.evaluation.task_prompts import (
    TASK_PROMPT_VERSION,
    messages_for,
    output_from_reply,
    response_format_for,
)
from medeval.inference.errors import (
    CallFailedError,
    Failure,
    Kind,
    RetryPolicy,
    failure_of_response,
)
from medeval.inference.guard import DataUseGuard, is_loopback, normalized
from medeval.inference.journal import Line
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import RunConfig, settings_of
from medeval.inference.secrets import key_from_environment, without_key
from medeval.inference.types import Item, Model, Outcome, Request, canonical, texts_of
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row
from medeval.text import whole_json


class ApiModel(BatchModel):
    """A model that is asked by posting batches as JSON.

    Args:
        name: what the audit calls the model.
        gate: passed by every request before its first byte.
        endpoint: the address.
        api_key: sent as a bearer token; kept in memory and written nowhere. An address of this
            machine needs none.
        key_variable: the environment variable that holds the key, instead of the key itself.
        timeout: seconds for one request as a whole.
        max_retries: further requests after a failed one.
        backoff_factor: seconds before the first of them, doubled each time, with jitter.
        headers: sent with every request; their values are written nowhere.
        seed: of the jitter.

    Raises:
        ValueError: there is no endpoint or no key, or the key cannot be sent.
        UserError: the address cannot be meant, or the variable is not set.
    """

    def __init__(
        self,
        name: str,
        gate: DataUseGuard,
        *,
        endpoint: str | None = None,
        api_key: str | None = None,
        key_variable: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 0,
        backoff_factor: float = 0.5,
        headers: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        if not endpoint:
            raise ValueError("an api model needs endpoint, the address that batches are posted to")
        self.address = normalized(endpoint)
        if not api_key and key_variable is None and not is_loopback(self.address):
            raise ValueError(
                "an api model that is not on this machine needs api_key, or key_variable with the"
                " name of the environment variable that holds it"
            )
        key = api_key or ""
        if not key and key_variable is not None:
            key = key_from_environment(key_variable, os.environ)
        if not (key.isascii() and key.isprintable()):
            raise ValueError("the key of the endpoint has characters that no header can carry")
        settings = {"endpoint": self.address, "header_names": sorted(headers or {})}
        retries = RetryPolicy(max_retries + 1, backoff_factor, seed=seed)
        super().__init__(name, self, settings, retries=retries)
        self._gate, self._key, self._timeout = gate, key, timeout
        own = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self._headers = {**bearer, **(headers or {}), **own}
        self._client: Any = None

    def answering(self, call: Call) -> Self:
        """See `BatchModel`.

        Raises:
            ValueError: there are options, which the body has no place for.
        """
        if call.options:
            raise ValueError(f"an api model takes no options: {', '.join(sorted(call.options))}")
        return super().answering(call)

    def body(self, batch: Sequence[Row]) -> str:
        """Return a batch as it is posted.

        Raises:
            ValueError: an input is not JSON.
        """
        try:
            return json.dumps(batch, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(f"an input cannot be posted as JSON ({kind})") from None

    async def reply(self, batch: list[Row], request: Request) -> str:
        """Post a batch: the one place from which text leaves the machine.

        Raises:
            RefusedError: the inputs may not go to the address; nothing was sent.
        """
        import httpx2

        body = self.body(batch).encode()
        self._gate.authorize(request, body, "answer")
        self._client = self._client or self._gate.client(self.address, self._timeout)
        # Nothing is raised inside `except`: the client's exceptions hold the request with its key.
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(
                    self.address, content=body, headers=self._headers
                )
                text = without_key(response.text, self._key)
            if response.is_success:
                return json.dumps(whole_json(json.loads(text)))
            told, asked = response.headers, texts_of(batch)
            failure = failure_of_response(
                response.status_code, told, text, datetime.now(UTC), asked
            )
        except (TimeoutError, httpx2.TimeoutException):
            failure = Failure(Kind.TIMEOUT)
        except httpx2.RequestError as error:
            is_broken = isinstance(error, httpx2.DecodingError)
            kind = Kind.BROKEN if is_broken else Kind.CONNECTION
            failure = Failure(kind, code=type(error).__name__)
        except (ValueError, RecursionError):
            failure = Failure(Kind.BROKEN, status=response.status_code)
        raise CallFailedError(failure)

    async def close(self) -> None:
        """See `Model`."""
        if self._client is not None:
            await self._client.aclose()

    def output(self, given: Any, attempts: int) -> Row:
        """Return an output as it is; a bare value is read as a label."""
        if isinstance(given, dict):
            return given
        return failed("empty", attempts) if given is None else {"label": str(given), "score": 1.0}


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
        schema = response_format_for(task) if self._json_schema else None
        form = {"response_format": schema} if schema else {}
        for place, row in enumerate(call.rows):
            messages = messages_for(task, row)
            name = hashlib.sha256(canonical([messages, form]).encode()).hexdigest()[:32]
            item = Item(name, messages, call.data_class, parameters=form)
            found.setdefault(name, (item, []))[1].append(place)
            call.asked[name] = row
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
            can_read=lambda item, text: (
                output_from_reply(task, text, call.asked[item.id]) is not None
            ),
        )

    def outputs(self, line: Line | None, count: int, call: Call) -> list[Row]:
        """Return the outputs of an item; identical inputs have the same."""
        read = None
        if line is not None and line["outcome"] in _WHOLE:
            read = output_from_reply(_task_of(call), line["text"], call.asked[line["item"]])
        return [dict(read) if read else failed_line(line) for _ in range(count)]


def _task_of(call: Call) -> MedicalTask:
    if call.task is None:
        raise ValueError("an openai model needs task=..., whose type and schemas say what is asked")
    return call.task
