"""Models behind an address: batches that are posted, and chats by the prompts of the task types."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from medeval.evaluation import task_prompts
from medeval.evaluation.model_kinds import Call, LoadedModel, failed
from medeval.inference import errors
from medeval.inference.errors import Failure, Kind, RetryPolicy
from medeval.inference.guard import DataUseGuard, is_loopback, normalized
from medeval.inference.journal import Line
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.run import RunConfig, settings_of
from medeval.inference.secrets import key_from_environment, without_key
from medeval.inference.types import Model, Outcome, Request, Sample, digest, texts_of
from medeval.models.medical_task import MedicalTask
from medeval.models.schemas import Row
from medeval.text import whole_json


class ApiModel(LoadedModel):
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
    ) -> None:
        if not endpoint:
            raise ValueError("an api model needs endpoint, the address that batches are posted to")
        address, key = normalized(endpoint), api_key or ""
        if not key and key_variable is not None:
            key = key_from_environment(key_variable, os.environ)
        if not key and not is_loopback(address):
            raise ValueError(
                "an api model that is not on this machine needs api_key, or"
                " key_variable, the name of the environment variable that holds it"
            )
        if not (key.isascii() and key.isprintable()):
            raise ValueError("the key of the endpoint has characters that no header can carry")
        super().__init__({})
        self.settings = {"endpoint": address, "header_names": sorted(headers or {})}
        self.name, self.address = name, address
        retries = RetryPolicy(max_retries + 1, backoff_factor)
        self.config = replace(self.config, retries=retries)
        self._gate, self._timeout, self._key = gate, timeout, key
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        own = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        self._headers = {**bearer, **(headers or {}), **own}

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Sample, list[int]]]:
        """See `LoadedModel`."""
        if call.options:
            raise ValueError(f"an api model takes no options: {', '.join(sorted(call.options))}")
        try:
            json.dumps(call.rows, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(f"an input cannot be posted as JSON ({kind})") from None
        return super().items(call, lines)

    async def answer(self, request: Request, rows: list[Row], call: Call) -> Any:
        """Post a batch: the one place from which text leaves the machine."""
        import httpx2

        body = str(request.item.messages[0]["content"]).encode()
        self._gate.authorize(request, body, "answer")
        client = self._gate.client(self.address, self._timeout)
        try:
            async with asyncio.timeout(self._timeout), client:
                response = await client.post(self.address, content=body, headers=self._headers)
                text = without_key(response.text, self._key)
            if response.is_success:
                return whole_json(json.loads(text))
            told, asked = response.headers, texts_of(rows)
            return errors.failure_of_response(response.status_code, told, text, asked=asked)
        except (TimeoutError, httpx2.TimeoutException):
            return Failure(Kind.TIMEOUT)
        except httpx2.RequestError as error:
            is_broken = isinstance(error, httpx2.DecodingError)
            kind = Kind.BROKEN if is_broken else Kind.CONNECTION
            return Failure(kind, code=type(error).__name__)
        except (ValueError, RecursionError):
            return Failure(Kind.BROKEN, status=response.status_code)

    def output(self, given: Any) -> Row:
        """Return an output; what is no mapping is a label."""
        if given is None:
            return failed("empty")
        return given if isinstance(given, dict) else {"label": str(given), "score": 1.0}


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
        # One for each call, as an event loop has its own connections; one now, to be checked.
        self._client = partial(
            OpenAIModel,
            base_url,
            model or name,
            gate,
            parameters={**named, **(parameters or {})},
            key_variable=key_variable,
            timeout=timeout,
        )
        made, self._json_schema = self._client(), json_schema
        super().__init__({}, handle=made, per_item=True)
        retries = RetryPolicy(max_retries + 1, backoff_factor)
        self.config = RunConfig(concurrency, retries, retry=frozenset({Outcome.ERRORED}))
        decisive = settings_of(made, task_prompts.TASK_PROMPT_VERSION)
        self.settings = {**decisive, "json_schema": json_schema}
        readable = re.sub(r"[^\w.-]+", "-", made.model).strip("-.")[:60]
        self.folder = folder / f"{readable}-{digest(decisive)[:16]}"

    def items(self, call: Call, lines: Iterable[Line]) -> list[tuple[Sample, list[int]]]:
        """Return each input as the conversation that its task makes of it."""
        task = call.task
        if task is None:
            raise ValueError("an openai model needs task=, which says what is asked")
        schema = task_prompts.response_format_for(task) if self._json_schema else None
        form = {"response_format": schema} if schema else {}
        found: dict[str, tuple[Sample, list[int]]] = {}
        for place, row in enumerate(call.rows):
            messages = task_prompts.messages_for(task, row)
            key = digest([messages, form])[:32]
            item = Sample(key, messages, call.data_class, parameters=form)
            found.setdefault(key, (item, []))[1].append(place)
        return list(found.values())

    def asker(self, call: Call) -> Model:
        """See `LoadedModel`."""
        return self._client()

    def read(self, call: Call, text: str, places: Sequence[int]) -> Sequence[Row | None]:
        """See `LoadedModel`."""
        task = cast("MedicalTask", call.task)
        return [task_prompts.output_from_reply(task, text, call.rows[at]) for at in places]
