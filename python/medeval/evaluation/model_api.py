"""A model behind a plain web address: a list of inputs is posted, a list of outputs comes back."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from medeval.evaluation.model_kinds import BatchModel, Call, failed
from medeval.inference.errors import (
    CallFailedError,
    Failure,
    Kind,
    RetryPolicy,
    failure_of_response,
)
from medeval.inference.guard import DataUseGuard, normalized
from medeval.inference.secrets import key_from_environment, without_key
from medeval.inference.types import Request, texts_of
from medeval.models.schemas import Row
from medeval.text import whole_json


class ApiModel(BatchModel):
    """A model that is asked by posting batches as JSON.

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
        self.address = normalized(endpoint)
        settings = {"endpoint": self.address, "header_names": sorted(headers or {})}
        retries = RetryPolicy(max_retries + 1, backoff_factor, seed=seed)
        super().__init__(name, self, settings, retries=retries)
        self._gate, self._key, self._timeout = gate, key, timeout
        own = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        self._headers = {"Authorization": f"Bearer {key}", **(headers or {}), **own}
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
