"""Who answers: an endpoint that speaks the chat completions of OpenAI, or a function in Python."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from medeval.errors import UserError
from medeval.inference.endpoints import normalized
from medeval.inference.errors import (
    NOT_CONNECTED,
    CallFailedError,
    Failure,
    Kind,
    failure_of_response,
)
from medeval.inference.guard import (
    IN_PROCESS,
    DataUseGuard,
    Purpose,
    RefusedError,
    key_from_environment,
)
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.openai_replies import read_reply
from medeval.inference.python_model import FunctionFailedError, in_a_thread
from medeval.inference.secrets import secret_places, without_key
from medeval.inference.types import Completion, Item, Message, Request, body_of, texts_of
from medeval.text import whole

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# What the runner says itself; and names by which keys would get into requests and records.
_RESERVED = {"messages", "model", "n", "stream"}
_NOT_OF_A_MODEL = re.compile(r"key|token$|secret|password|authorization|headers|extra_|base_url")
# An address where nobody answers the first packet is not waited for as long as a reply.
_LONGEST_CONNECT = 10.0
# All that an endpoint needs to be told; the client would add what the environment holds for others.
_HEADERS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
}


class Provider(Protocol):
    """What the runner needs of whoever answers."""

    @property
    def address(self) -> str:
        """Where requests go, in the form of the guard."""

    @property
    def model(self) -> str:
        """The name of the model as the user gave it."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What is asked for, before an endpoint refuses some of it."""

    @property
    def adaptation(self) -> ParameterFallbacks:
        """What has been learned about parameters that are refused."""

    async def ask(self, request: Request) -> Completion:
        """Ask once.

        Raises:
            CallFailedError: there is no reply.
            UserError: the request may not be sent.
        """

    async def close(self) -> None:
        """Give back what was opened."""


@dataclass(frozen=True)
class EndpointSettings:
    """How an endpoint is asked.

    Attributes:
        base_url: up to and with `/v1`.
        model: as the endpoint calls it.
        parameters: `temperature`, `max_tokens`, `seed`, `response_format` and what else it takes.
        key_variable: the environment variable that holds its key; None if it needs none.
        timeout: seconds from the first byte sent to the last one read.
        opening: seconds that other requests leave the first one alone, so that a parameter which
            the endpoint refuses costs one failed call and not one per request under way.
    """

    base_url: str
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key_variable: str | None = None
    timeout: float = 600.0
    opening: float = 5.0


class OpenAICompatible:
    """An endpoint that speaks the chat completions of OpenAI.

    Args:
        settings: how it is asked.
        gate: passed by every request before its first byte.
        purpose: what the audit calls its requests.

    Raises:
        UserError: the address or the parameters cannot be meant, or the key is not there.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        gate: DataUseGuard,
        purpose: Purpose = "answer",
    ) -> None:
        self.address = normalized(settings.base_url)
        self.model = settings.model
        self.parameters: Mapping[str, Any] = dict(settings.parameters)
        self.fallbacks = ParameterFallbacks()
        self._settings = settings
        self._gate = gate
        self._purpose: Purpose = purpose
        self._client: AsyncOpenAI | None = None
        self._is_opening = False
        self._opened = asyncio.Event()
        self._first_failure: Failure | None = None
        self._has_answered = False
        self._experiment = asyncio.Lock()
        self._is_tried = False
        reserved = sorted(
            {
                name
                for name in settings.parameters
                if name in _RESERVED or _NOT_OF_A_MODEL.search(name.lower())
            }
            | set(secret_places(settings.parameters))
        )
        if reserved:
            raise UserError(f"{', '.join(reserved)} cannot be set as parameters of a model.")
        key_from_environment(settings.key_variable, os.environ)

    async def ask(self, request: Request) -> Completion:
        """Ask once; a parameter that the endpoint refuses is left out and learned."""
        if self._is_opening:
            if not self._opened.is_set():
                await self._wait_for_the_first()
                if self._first_failure is not None:
                    raise CallFailedError(self._first_failure, is_of_another=True)
            return await self._adapted(request)
        self._is_opening = True
        try:
            return await self._adapted(request)
        except CallFailedError as error:
            # Those that wait would be told the same, and would send their text for it.
            told = error.failure
            self._first_failure = told if told.stops_the_run and not told.is_by_words else None
            raise
        finally:
            self._opened.set()

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _wait_for_the_first(self) -> None:
        try:
            async with asyncio.timeout(self._settings.opening):
                await self._opened.wait()
        except TimeoutError:
            self._opened.set()  # it takes its time; no other request waits for it again

    async def _adapted(self, request: Request) -> Completion:
        while True:
            known = self.fallbacks.learned
            sent, messages = self._parts_of(request, self.fallbacks)
            answer = await self._post(request, sent, messages)
            if not isinstance(answer, Failure):
                self._has_answered = True
                return answer
            if self.fallbacks.learn(answer, sent, messages):
                continue
            if not answer.is_refused_request or self._has_answered:
                raise CallFailedError(answer)
            async with self._experiment:
                if self.fallbacks.learned != known:
                    continue  # what helped another request
                if self._is_tried:
                    raise CallFailedError(answer)
                return await self._without_parts(request, answer)

    async def _without_parts(self, request: Request, refused: Failure) -> Completion:
        """Repeat a refused request without one optional part at a time, until one is answered.

        A part is left out for good where that brings an answer, or at least another refusal: then
        it was one of several that are refused.

        Raises:
            CallFailedError: no part helps.
        """
        tried, last = ParameterFallbacks(), refused
        tried.recall(self.fallbacks.learned)
        is_nearer = True
        while is_nearer:
            is_nearer = False
            for without in list(tried.trials(*self._parts_of(request, tried))):
                trial = ParameterFallbacks()
                trial.recall({**tried.learned, **without})
                answer = await self._post(request, *self._parts_of(request, trial))
                if not isinstance(answer, Failure):
                    self._has_answered = True
                    self.fallbacks.recall(trial.learned)
                    return answer
                if not answer.is_refused_request:
                    raise CallFailedError(answer)
                if answer.words != last.words:
                    tried, last, is_nearer = trial, answer, True
                    break
        self._is_tried = True
        raise CallFailedError(refused)

    @staticmethod
    def _parts_of(
        request: Request, adaptation: ParameterFallbacks
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the parameters and the messages of a request as they are to be sent."""
        sent = adaptation.apply(request.all_parameters)
        return sent, adaptation.messages(request.item.messages)

    async def _post(
        self, request: Request, sent: Mapping[str, Any], messages: Sequence[Message]
    ) -> Completion | Failure:
        body = {**body_of(request, sent), "messages": messages}
        answer = await self.send(request, "/chat/completions", body)
        return answer if isinstance(answer, Failure) else read_reply(answer, texts_of(body))

    async def send(self, request: Request, path: str, body: Mapping[str, Any]) -> str | Failure:
        """Send a body with the text of a request: the one place from which text leaves the machine.

        Args:
            request: whose text it is.
            path: under the endpoint's address, or a whole address of the same server.
            body: to be sent.
        """
        self._gate.authorize(request, json.dumps(body).encode(), self._purpose)
        return await self._exchanged(path, body)

    async def look_up(self, path: str, is_open: bool) -> str | Failure:
        """Return what the endpoint says of itself; asked only where the text itself may go.

        Args:
            path: under the endpoint's address.
            is_open: whether all that is to be sent later is open.
        """
        self._gate.check(self.address, is_open)
        return await self._exchanged(path, None)

    async def _exchanged(self, path: str, body: Mapping[str, Any] | None) -> str | Failure:
        import httpx2
        import openai

        key = key_from_environment(self._settings.key_variable, os.environ)
        client = self._client = self._client or self._new_client(key)
        # Nothing is raised inside `except`: the client's exceptions hold the request with its key.
        refused: RefusedError
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = (
                    await client.get(path, cast_to=httpx2.Response)
                    if body is None
                    else await client.post(path, body=body, cast_to=httpx2.Response)
                )
                return without_key(response.text, key)
        except openai.APIStatusError as error:
            text = without_key(error.response.text, key)
            told, status = error.response.headers, error.status_code
            return failure_of_response(status, told, text, datetime.now(UTC), texts_of(body))
        except (TimeoutError, openai.APITimeoutError) as error:
            cause = type(error.__cause__).__name__
            if cause in NOT_CONNECTED:
                return Failure(Kind.CONNECTION, code=cause)
            return Failure(Kind.TIMEOUT)
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            met = error.__cause__ or error
            if isinstance(met, httpx2.DecodingError):
                return Failure(Kind.BROKEN, code=type(met).__name__, detail=str(met))
            if not isinstance(met, RefusedError):
                return Failure(Kind.CONNECTION, code=type(met).__name__)
            refused = met.with_traceback(None)
        except openai.OpenAIError as error:
            return Failure(Kind.BROKEN, code=type(error).__name__)
        except UnicodeEncodeError as error:  # half a surrogate pair, which no request can carry
            return Failure(Kind.REQUEST, code=type(error).__name__)
        raise refused

    def _new_client(self, key: str) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI

        async def keep_what_is_needed(sent: httpx2.Request) -> None:
            for name in [name for name in sent.headers if name.lower() not in _HEADERS]:
                del sent.headers[name]
            sent.headers["Authorization"] = f"Bearer {key}"
            sent.headers["Accept-Encoding"] = "gzip"

        longest = self._settings.timeout
        timeout = httpx2.Timeout(longest, connect=min(longest / 2, _LONGEST_CONNECT))
        named = self._settings.key_variable or "none"
        print(f"medeval: {self.model} at {self.address}, key variable: {named}", file=sys.stderr)
        http_client = self._gate.client(self.address, timeout)
        http_client.event_hooks["request"].append(keep_what_is_needed)
        return AsyncOpenAI(
            api_key=key,
            base_url=self.address,
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
        )


class PythonCallable:
    """A function in this process that takes an item and returns its text.

    Args:
        function: called in a thread of its own for each item; it may be called in several at once.
        name: what the run calls the model.
        gate: it stops the items or records them in its audit.
        purpose: what the audit calls its requests.
        timeout: seconds after which an item is an error and its call no longer waited for; None to
            wait for as long as it takes.
        file: where a user's function stands, by which the gate knows it; None for what is built in.
    """

    def __init__(
        self,
        function: Callable[[Item], str],
        name: str,
        gate: DataUseGuard,
        purpose: Purpose = "answer",
        timeout: float | None = 600.0,
        file: Path | None = None,
    ) -> None:
        self.address = IN_PROCESS
        self.model = name
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._function = function
        self._gate = gate
        self._purpose: Purpose = purpose
        self._timeout = timeout
        self._file = None if file is None else str(file.resolve())

    async def ask(self, request: Request) -> Completion:
        """Call the function; what it raises is the item's error."""
        body = json.dumps(body_of(request, {})).encode()
        if self._file is not None:
            self._gate.check(self._file, request.item.is_open)
        self._gate.authorize(request, body, self._purpose)
        failure = Failure(Kind.CALLABLE, code="TypeError", detail="it returned no text")
        try:
            # A copy: what the function does to it must not change what was asked.
            text = await in_a_thread(self._function, deepcopy(request.item), self._timeout)
            if isinstance(text, str):
                return Completion(whole(text), finish_reason="stop", model=self.model)
        except TimeoutError as error:
            failure = Failure(Kind.CALLABLE, code=type(error).__name__, detail=str(error))
        except FunctionFailedError as error:
            failure = Failure(Kind.CALLABLE, code=error.kind, detail=error.place)
        raise CallFailedError(failure)

    async def close(self) -> None:
        """Nothing was opened."""
