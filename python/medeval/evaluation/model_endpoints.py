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
from typing import Any

from medeval.evaluation.model_kinds import (
    Asked,
    BatchModel,
    Call,
    LoadedModel,
    failed_line,
    in_batches,
)
from medeval.evaluation.task_prompts import (
    TASK_PROMPT_VERSION,
    messages_for,
    output_from_reply,
    response_format_for,
)
from medeval.inference.errors import (
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
from medeval.inference.types import Outcome, Request, Sample, canonical, texts_of
from medeval.models.schemas import Row
from medeval.text import whole_json


def api_model(
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
) -> LoadedModel:
    """Load a model that is asked by posting batches as JSON.

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
    if not endpoint:
        raise ValueError("an api model needs endpoint, the address that batches are posted to")
    address = normalized(endpoint)
    if not api_key and key_variable is None and not is_loopback(address):
        raise ValueError(
            "an api model that is not on this machine needs api_key, or key_variable with the"
            " name of the environment variable that holds it"
        )
    key = api_key or ""
    if not key and key_variable is not None:
        key = key_from_environment(key_variable, os.environ)
    if not (key.isascii() and key.isprintable()):
        raise ValueError("the key of the endpoint has characters that no header can carry")
    own = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
    sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {}), **own}
    retries = RetryPolicy(max_retries + 1, backoff_factor, seed=seed)

    def put(call: Call, lines: Iterable[Line]) -> Asked:
        if call.options:
            raise ValueError(f"an api model takes no options: {', '.join(sorted(call.options))}")
        try:
            json.dumps(call.rows, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(f"an input cannot be posted as JSON ({kind})") from None
        client = gate.client(address, timeout)

        async def post(request: Request) -> Any:
            """Post a batch: the one place from which text leaves the machine."""
            body = str(request.item.messages[0]["content"])
            gate.authorize(request, body.encode(), "answer")
            return await _posted(client, address, body, sent, key, timeout)

        model = BatchModel(name, post, address, client.aclose)
        return in_batches(model, call, lines, bare_labels=True, retries=retries)

    return LoadedModel({"endpoint": address, "header_names": sorted(headers or {})}, put)


async def _posted(
    client: Any, address: str, body: str, headers: Mapping[str, str], key: str, timeout: float
) -> Any:
    """Return what an endpoint answers to a batch, or why there is no answer."""
    import httpx2

    try:
        async with asyncio.timeout(timeout):
            response = await client.post(address, content=body.encode(), headers=headers)
            text = without_key(response.text, key)
        if response.is_success:
            return whole_json(json.loads(text))
        told, asked = response.headers, texts_of(json.loads(body))
        return failure_of_response(response.status_code, told, text, datetime.now(UTC), asked)
    except (TimeoutError, httpx2.TimeoutException):
        return Failure(Kind.TIMEOUT)
    except httpx2.RequestError as error:
        is_broken = isinstance(error, httpx2.DecodingError)
        kind = Kind.BROKEN if is_broken else Kind.CONNECTION
        return Failure(kind, code=type(error).__name__)
    except (ValueError, RecursionError):
        return Failure(Kind.BROKEN, status=response.status_code)


def chat_model(
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
) -> LoadedModel:
    """Load a chat model with its answers on disk.

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
    if not base_url:
        raise ValueError("an openai model needs base_url, the endpoint's address with /v1")
    given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    named = {key: value for key, value in given.items() if value is not None}
    # A client of its own for each call, and one that is made at once to be checked.
    client = partial(
        OpenAIModel,
        base_url,
        model or name,
        gate,
        parameters={**named, **(parameters or {})},
        key_variable=key_variable,
        timeout=timeout,
    )
    made, retries = client(), RetryPolicy(max_retries + 1, backoff_factor)

    def put(call: Call, lines: Iterable[Line]) -> Asked:
        task = call.task
        if task is None:
            raise ValueError(
                "an openai model needs task=..., whose type and schemas say what is asked"
            )
        schema = response_format_for(task) if json_schema else None
        form = {"response_format": schema} if schema else {}
        found: dict[str, tuple[Sample, list[int]]] = {}
        for place, row in enumerate(call.rows):
            messages = messages_for(task, row)
            key = hashlib.sha256(canonical([messages, form]).encode()).hexdigest()[:32]
            item = Sample(key, messages, call.data_class, parameters=form)
            found.setdefault(key, (item, []))[1].append(place)

        def output(text: str, item: str) -> Row | None:
            return output_from_reply(task, text, call.rows[found[item][1][0]])

        def read(line: Line | None, places: Sequence[int]) -> list[Row]:
            answer = None
            if line is not None and line["outcome"] in (Outcome.ANSWERED, Outcome.UNPARSED):
                answer = output(line["text"], line["item"])
            return [dict(answer) if answer else failed_line(line) for _ in places]

        config = RunConfig(
            concurrency=concurrency,
            retries=retries,
            retry=frozenset({Outcome.ERRORED}),
            can_read=lambda item, text: output(text, item.id) is not None,
        )
        return Asked(client(), list(found.values()), config, read)

    settings = {
        "endpoint": made.address,
        "model": made.model,
        "parameters": dict(made.parameters),
        "json_schema": json_schema,
        "prompt_version": TASK_PROMPT_VERSION,
    }
    readable = re.sub(r"[^\w.-]+", "-", made.model).strip("-.")[:60]
    decisive = canonical(settings_of(made, TASK_PROMPT_VERSION))
    kept = folder / f"{readable}-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}"
    return LoadedModel(settings, put, made, kept)
