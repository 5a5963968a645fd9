"""A model behind an endpoint that speaks the chat completions of OpenAI.

Parameters that the endpoint refuses are found by experiment: the request is repeated without one
optional part at a time, first the one that the endpoint names. Nothing is taken away silently: the
run says which parameters were left out or renamed, and whether a system message was sent as words
of the user.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.inference import errors
from medeval.inference.errors import Failure, Kind, failure_of_response
from medeval.inference.guard import DataUseGuard, Purpose, RefusedError, normalized
from medeval.inference.openai_replies import read_reply
from medeval.inference.secrets import key_from_environment, secret_places, without_key
from medeval.inference.types import Message, Reply, Request, body_of, texts_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# What is no parameter of a model, and what an endpoint needs to be told: the file says why.
_NOT_OF_A_MODEL = re.compile("|".join(errors.VENDORS["not_of_a_model"]), re.IGNORECASE)
_HEADERS = frozenset(errors.VENDORS["headers"])
# An address where nobody answers the first packet is not waited for as long as a reply.
_LONGEST_CONNECT = 10.0
RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
LEFT_OUT = ""
RESPONSE_FORMAT = "response_format"
# A reply is read without them: readers cut off what is made up behind an end without `stop`, too.
_OPTIONAL = (RESPONSE_FORMAT, "temperature", "seed", "stop")
# What an endpoint that takes no schema is sent instead, before the parameter is left out.
JSON_OBJECT = "json_object"
# What is learned where a template has no place for a system message.
SYSTEM_ROLE = "system role"
AS_USER = "user"


# Each parameter that an endpoint refuses with the one sent instead; empty where it is left out. A
# schema that is refused is asked for as a plain JSON object first: `json_object`.
Learned = Mapping[str, str]


def sent_parameters(parameters: Mapping[str, Any], learned: Learned) -> dict[str, Any]:
    """Return parameters as an endpoint takes them, by what was learned of it."""
    sent = {learned.get(name, name): value for name, value in parameters.items()}
    sent.pop(LEFT_OUT, None)
    if JSON_OBJECT in sent:
        del sent[JSON_OBJECT]
        sent[RESPONSE_FORMAT] = {"type": JSON_OBJECT}
    return sent


def sent_messages(messages: Sequence[Message], learned: Learned) -> list[dict[str, Any]]:
    """Return messages as an endpoint takes them, by what was learned of it.

    Where there may be no system message its words stand before the user's first ones.
    """
    if SYSTEM_ROLE not in learned:
        return [dict(message) for message in messages]
    said = [str(message["content"]) for message in messages if message.get("role") == "system"]
    rest = [dict(message) for message in messages if message.get("role") != "system"]
    first = rest[0] if rest else {}
    if first.get("role") == "user" and isinstance(first.get("content"), str):
        first["content"] = "\n\n".join([*said, first["content"]])
    elif said:
        rest.insert(0, {"role": "user", "content": "\n\n".join(said)})
    return rest


def _trials(
    failure: Failure, request: Request, learned: Learned, *, only_named: bool
) -> list[dict[str, str]]:
    """Return what there may be to learn of a refused request, one part at a time.

    Args:
        failure: of the request.
        request: as it is before anything is left out.
        learned: of the endpoint before.
        only_named: leave out no part but one that the endpoint names.
    """
    sent = sent_parameters(request.all_parameters, learned)
    has_system = any(message.get("role") == "system" for message in request.item.messages)
    roles = [{SYSTEM_ROLE: AS_USER}] if has_system and SYSTEM_ROLE not in learned else []
    if failure.code == errors.NO_SYSTEM_ROLE and roles:
        return roles
    if not failure.is_refused_request:
        return []
    form = sent.get(RESPONSE_FORMAT)
    is_schema = isinstance(form, Mapping) and form.get("type") == "json_schema"
    parts = [{RESPONSE_FORMAT: JSON_OBJECT}] if is_schema else []
    parts += [{name: LEFT_OUT} for name in _OPTIONAL if name in sent]
    # Refused under both names, a limit of tokens stays an error: a run without it is dear.
    parts += [{n: o} for n, o in RENAMED.items() if n in sent and o not in learned]
    parts += roles
    named = _named_in(failure, sent)
    of_named = [part for part in parts if named in (*part, *part.values())]
    return of_named + [part for part in parts if part not in of_named and not only_named]


def _named_in(failure: Failure, sent: Mapping[str, Any]) -> str | None:
    """Return which of the sent parameters an endpoint says that it does not take."""
    is_in_words = errors.TEXTS["parameter"].search(failure.detail)
    if not (failure.code in errors.CODES["parameter"] or is_in_words):
        return None
    if failure.parameter:
        return failure.parameter.split(".")[0]
    # The first that the message names: the second is the one to use instead.
    forms = {name: errors.VENDORS["other_names"].get(name, re.escape(name)) for name in sent}
    places = [
        (match.start(), name)
        for name, form in forms.items()
        if (match := re.search(rf"(?<!\w)(?:{form})(?!\w)", failure.detail, re.IGNORECASE))
    ]
    return min(places, default=(0, None))[1]


@dataclass(eq=False)
class OpenAIModel:
    """A model behind an endpoint; see `Model`.

    Attributes:
        address: of the endpoint, up to and with `/v1`.
        model: as the endpoint calls it.
        guard: passed by every request before its first byte.
        parameters: `temperature`, `max_tokens`, `seed`, `response_format` and what else it takes.
        key_variable: the environment variable that holds its key; None if it needs none.
        timeout: seconds from the first byte sent to the last one read.
        purpose: what the audit calls its requests.
        learned: see `Model`.

    Raises:
        UserError: the address or the parameters cannot be meant, or the key is not there.
    """

    address: str
    model: str
    guard: DataUseGuard
    _: KW_ONLY
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key_variable: str | None = None
    timeout: float = 600.0
    purpose: Purpose = "answer"
    learned: Learned = field(default_factory=dict)
    _client: AsyncOpenAI | None = None
    _is_named: bool = False
    _has_answered: bool = False
    _is_tried: bool = False
    _experiment: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.address = normalized(self.address)
        own = filter(_NOT_OF_A_MODEL.search, self.parameters)
        if reserved := sorted({*secret_places(self.parameters), *own}):
            raise UserError(f"{', '.join(reserved)} cannot be set as parameters of a model.")
        key_from_environment(self.key_variable, os.environ)
        # What asking needs is imported before the first question is on its way. Ctrl-C waits for
        # its end: within an import it may leave a lock behind, or be taken by Python for one that
        # nobody handles.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            for name in ("openai", "httpcore2", "anyio._backends._asyncio"):
                with contextlib.suppress(ImportError):  # the last two are the client's own affair
                    import_module(name)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    async def ask(self, request: Request) -> Reply | Failure:
        """Ask once; a refused request is repeated without one part at a time until that helps.

        A part is left out for good where that brings an answer, or at least another refusal: then
        it was one of several that are refused.
        """
        while True:
            known = tried = self.learned
            refused = await self._post(request, tried)
            only_named = self._has_answered or self._is_tried
            if not isinstance(refused, Failure):
                return refused
            last = refused
            is_refused = refused.is_refused_request or refused.code == errors.NO_SYSTEM_ROLE
            if is_refused and self.learned != known:
                continue  # what another request has learned meanwhile may help this one
            if not (trials := _trials(last, request, tried, only_named=only_named)):
                return refused
            async with self._experiment:
                if self.learned != known:
                    continue
                while trials:
                    trial = {**tried, **trials.pop(0)}
                    answer = await self._post(request, trial)
                    if not isinstance(answer, Failure):
                        self.learned = {**self.learned, **trial}
                        return answer
                    if not (answer.is_refused_request or answer.code == errors.NO_SYSTEM_ROLE):
                        return answer
                    if answer.words != last.words:
                        tried, last = trial, answer
                        trials = _trials(last, request, tried, only_named=only_named)
                self._is_tried = self._is_tried or not only_named
                return refused

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _post(self, request: Request, learned: Learned) -> Reply | Failure:
        body = {
            **body_of(request, sent_parameters(request.all_parameters, learned)),
            "messages": sent_messages(request.item.messages, learned),
        }
        sent = await self.send("/chat/completions", request, body)
        answer = sent if isinstance(sent, Failure) else read_reply(sent, texts_of(body))
        self._has_answered = self._has_answered or not isinstance(answer, Failure)
        return answer

    async def send(
        self, path: str, request: Request | None = None, body: Mapping[str, Any] | None = None
    ) -> str | Failure:
        """Return what comes back: the one place from which text leaves the machine.

        Args:
            path: under the endpoint's address, or a whole address of the same server.
            request: whose text is sent; None to send no body at all.
            body: with the text.
        """
        if request is not None:
            self.guard.authorize(request, json.dumps(body).encode(), self.purpose)
        import httpx2
        import openai

        key = key_from_environment(self.key_variable, os.environ)
        client = self._client = self._client or self._new_client(key)
        # Nothing is raised inside `except`: the client's exceptions hold the request with its key.
        refused: RefusedError
        try:
            async with asyncio.timeout(self.timeout):
                call = client.get if request is None else partial(client.post, body=body)
                response = await call(path, cast_to=httpx2.Response)
                return without_key(response.text, key)
        except openai.APIStatusError as error:
            text = without_key(error.response.text, key)
            told, status = error.response.headers, error.status_code
            return failure_of_response(status, told, text, asked=texts_of(body))
        except (TimeoutError, openai.APIConnectionError, httpx2.TransportError) as error:
            met = error.__cause__ or error
            cause = type(met).__name__
            if isinstance(met, httpx2.DecodingError):
                return Failure(Kind.BROKEN, code=cause, detail=str(met))
            is_late = isinstance(error, TimeoutError | openai.APITimeoutError)
            if is_late and cause not in errors.NOT_CONNECTED:
                return Failure(Kind.TIMEOUT)
            if not isinstance(met, RefusedError):
                return Failure(Kind.CONNECTION, code=cause)
            refused = met.with_traceback(None)
        except (openai.OpenAIError, ValueError) as error:
            # Half a surrogate pair or NaN, which no request can carry; or no response of HTTP.
            kind = Kind.REQUEST if isinstance(error, ValueError) else Kind.BROKEN
            return Failure(kind, code=type(error).__name__)
        raise refused

    def _new_client(self, key: str) -> AsyncOpenAI:
        import httpx2
        from openai import AsyncOpenAI

        async def keep_what_is_needed(sent: httpx2.Request) -> None:
            needed = {name: value for name, value in sent.headers.items() if name in _HEADERS}
            own = {"authorization": f"Bearer {key}", "accept-encoding": "gzip"}
            sent.headers = httpx2.Headers({**needed, **own})

        timeout = httpx2.Timeout(self.timeout, connect=min(self.timeout / 2, _LONGEST_CONNECT))
        if not self._is_named:  # a client for each event loop, and a line for all of them
            self._is_named = True
            named = self.key_variable or "none"
            print(
                f"medeval: {self.model} at {self.address}, key variable: {named}", file=sys.stderr
            )
        http_client = self.guard.client(self.address, timeout)
        http_client.event_hooks["request"].append(keep_what_is_needed)
        return AsyncOpenAI(
            api_key=key,
            base_url=self.address,
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
        )
