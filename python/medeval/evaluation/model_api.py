"""A model behind a plain web address: a list of inputs is posted, a list of outputs comes back."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from medeval.evaluation.model_kinds import Call, failed, finished
from medeval.inference.endpoints import normalized
from medeval.inference.errors import Failure, Kind, RetryPolicy, failure_of_response
from medeval.inference.guard import DataUseGuard, key_from_environment
from medeval.inference.secrets import without_key
from medeval.inference.types import Item, Request, texts_of
from medeval.models.schemas import Row
from medeval.text import whole_json

if TYPE_CHECKING:
    import httpx2


class ApiModel:
    """A model that is asked by posting batches as JSON.

    A batch that fails, or is answered with another number of outputs, is an error for each of its
    items and for no other. What may pass is tried again: no connection, 408, 409, 429 and 5xx.

    Args:
        name: what the audit calls the model.
        gate: passed by every request before its first byte.
        endpoint: the address.
        api_key: sent as a bearer token; kept in memory and written nowhere.
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
        if not api_key and key_variable is None:
            raise ValueError(
                "an api model needs api_key, or key_variable with the name of the environment"
                " variable that holds it"
            )
        key = api_key or key_from_environment(key_variable, os.environ)
        if not (key.isascii() and key.isprintable()):
            raise ValueError("the key of the endpoint has characters that no header can carry")
        self.handle = self
        self.address = normalized(endpoint)
        self.settings: Mapping[str, Any] = {
            "endpoint": self.address,
            "header_names": sorted(headers or {}),
        }
        self._name = name
        self._gate = gate
        self._key = key
        self._headers = {"Authorization": f"Bearer {key}", **(headers or {})}
        self._timeout = timeout
        self._retries = RetryPolicy(max_retries + 1, backoff_factor, seed=seed)

    def __repr__(self) -> str:
        """Return name and address."""
        return f"ApiModel({self._name!r}, endpoint={self.address!r})"

    def outputs(self, inputs: list[Row], call: Call) -> list[Row]:
        """Post the inputs batch by batch.

        Raises:
            ValueError: options, which the body has no place for, or an input that is not JSON.
            RefusedError: the inputs may not go to the address; nothing was sent.
        """
        if call.options:
            raise ValueError(f"an api model takes no options: {', '.join(sorted(call.options))}")
        size = call.batch_size
        batches = [_body(inputs[start : start + size]) for start in range(0, len(inputs), size)]
        return finished(self._all(batches, len(inputs), call))

    def measured(self) -> list[dict[str, Any]]:
        """Nothing is measured."""
        return []

    def close(self) -> None:
        """Nothing stays open between calls."""

    async def _all(self, bodies: list[bytes], total: int, call: Call) -> list[Row]:
        outputs: list[Row] = []
        stopped: Failure | None = None
        declined = 0
        async with self._gate.client(self.address, self._timeout) as client:
            for number, body in enumerate(bodies):
                size = min(call.batch_size, total - len(outputs))
                if stopped is not None:
                    # A key or address that is refused is refused for every batch.
                    outputs += [_failure(stopped, 0, size) for _ in range(size)]
                    continue
                answer, attempts = await self._answered(client, number, body, call)
                if isinstance(answer, Failure):
                    declined += answer.stops_the_run
                    is_sure = declined >= self._retries.by_words or not answer.is_by_words
                    stopped = answer if answer.stops_the_run and is_sure else None
                    outputs += [_failure(answer, attempts, size) for _ in range(size)]
                else:
                    declined = 0
                    outputs += _aligned(answer, attempts, size)
        return outputs

    async def _answered(
        self, client: httpx2.AsyncClient, number: int, body: bytes, call: Call
    ) -> tuple[Any, int]:
        """Return what came back for a batch, or the last failure, and how often it was posted."""
        content = [{"role": "user", "content": body.decode()}]
        item = Item(f"batch-{number}", content, call.data_class)
        request = Request(item, self.address, self._name, {}, "")
        policy = self._retries
        attempt = 1
        while True:
            self._gate.authorize(request, body, "answer")
            answer = await self._post(client, body)
            if not isinstance(answer, Failure) or not policy.may_retry(answer, attempt):
                return answer, attempt
            if policy.asks_too_much(answer):
                return answer, attempt
            await asyncio.sleep(policy.wait(answer, item.id, attempt))
            attempt += 1

    async def _post(self, client: httpx2.AsyncClient, body: bytes) -> Any:
        """Post a batch: the one place from which text leaves the machine."""
        import httpx2

        own = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        headers = {**self._headers, **own}
        # Nothing is raised inside `except`: the client's exceptions hold the request with its key.
        try:
            async with asyncio.timeout(self._timeout):
                response = await client.post(self.address, content=body, headers=headers)
                text = without_key(response.text, self._key)
        except (TimeoutError, httpx2.TimeoutException):
            return Failure(Kind.TIMEOUT)
        except httpx2.DecodingError as error:
            return Failure(Kind.BROKEN, code=type(error).__name__)
        except httpx2.RequestError as error:
            return Failure(Kind.CONNECTION, code=type(error).__name__)
        if not response.is_success:
            told, asked = response.headers, texts_of(json.loads(body))
            return failure_of_response(response.status_code, told, text, datetime.now(UTC), asked)
        try:
            return whole_json(json.loads(text))
        except (ValueError, RecursionError):
            return Failure(Kind.BROKEN, status=response.status_code)


def _body(batch: list[Row]) -> bytes:
    try:
        return json.dumps(batch, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"an input cannot be posted as JSON ({type(error).__name__})") from None


def _aligned(answer: Any, attempts: int, size: int) -> list[Row]:
    """Return one output for each input of a batch, none of them shifted."""
    if not isinstance(answer, list):
        return [failed("NotAList", attempts, batch=size) for _ in range(size)]
    if len(answer) != size:
        wrong = {"batch": size, "returned": len(answer)}
        return [failed("WrongLength", attempts, **wrong) for _ in range(size)]
    return [_output(each, attempts) for each in answer]


def _output(each: Any, attempts: int) -> Row:
    if isinstance(each, dict):
        return each
    # A bare value is read as a label.
    return failed("empty", attempts) if each is None else {"label": str(each), "score": 1.0}


def _failure(failure: Failure, attempts: int, size: int) -> Row:
    """Return the error of an item; what the endpoint wrote is left out: it may quote the input."""
    return failed(
        str(failure.kind),
        attempts,
        status=failure.status,
        code=failure.code or None,
        batch=size,
    )
