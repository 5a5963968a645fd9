"""Why a call brought no reply, told apart before anything is tried again.

What may pass with time is tried again; what cannot pass is not, and what every further item would
meet as well stops the run. A used-up quota comes with the same status as a busy endpoint, and some
gateways send it as a bad request, so the status alone decides nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from medeval.inference.error_bodies import (
    CODES,
    TEXTS,
    Words,
    error_of,
    json_or_none,
    message_of,
    retry_after_of,
    wait_told_in,
    word,
)
from medeval.inference.types import Outcome

# Two complaints that a changed conversation mends, each under one code.
TOO_LONG = "context_length_exceeded"
NO_SYSTEM_ROLE = "system_role_not_supported"

_TOO_LARGE = 413
_MENDED_BY_THE_PROMPT = {400, _TOO_LARGE, 422, 500}
_PARTS_OF_A_PROMPT = {"", "messages", "prompt", "input", "inputs", "input_text", "input_tokens"}
_OF_ANOTHER_PARAMETER = re.compile(
    r"\A\W*(?:(?:unsupported|unknown|unrecogni[sz]ed|unexpected|invalid)"
    r" (?:parameter|argument|field)"
    r"|max_\w*tokens\b|temperature\b|top_[pk]\b|stop\b|seed\b|user\b|context_\w+\b)",
    re.IGNORECASE,
)
# vLLM blames max_tokens for a prompt that leaves no room for it: (1024 > 8192 - 7500).
_TOKENS_OF_PROMPT = re.compile(
    r"\d (?:input|prompt) tokens"
    r"(?:[^.]{0,20}\((?P<reply>\d{1,12}) > (?P<limit>\d{1,12}) - \d{1,12}\))?",
    re.IGNORECASE,
)


class Kind(StrEnum):
    """What a failure is.

    Attributes:
        LIMIT: too many requests for now.
        SERVER: the endpoint failed or is overloaded.
        CONNECTION: no connection, or it broke.
        TIMEOUT: no whole reply in time.
        BROKEN: a reply that is no chat completion.
        QUOTA: the account has nothing left.
        KEY: the endpoint does not accept the key, or not for this.
        MODEL: the endpoint does not know the model or the address.
        FILTER: the endpoint's filter declined the prompt.
        REQUEST: a request that the endpoint does not take.
        CALLABLE: the user's own function raised.
    """

    LIMIT = "limit"
    SERVER = "server"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    BROKEN = "broken_reply"
    QUOTA = "quota"
    KEY = "key"
    MODEL = "model"
    FILTER = "filter"
    REQUEST = "request"
    CALLABLE = "callable"


_PASSING = {Kind.LIMIT, Kind.SERVER, Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN}
_FOR_ALL = {Kind.QUOTA, Kind.KEY, Kind.MODEL}
# Gateways that moderate, or that choose a host for each request, say it of one request too.
_PERHAPS_OF_ONE = {Kind.KEY, Kind.MODEL}
_OK = 200
_UNAUTHORIZED = 401
# After these nobody can say whether the endpoint worked, and bills, or not.
_PERHAPS_BILLED = {Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN}
# Nothing was sent: no connection was ever made.
NOT_CONNECTED = {"ConnectError", "ConnectTimeout"}
# What a gateway says when there is nothing behind it.
_GATEWAY = {502, 503, 504}

_BY_STATUS = {
    401: Kind.KEY,
    402: Kind.QUOTA,
    403: Kind.KEY,
    404: Kind.MODEL,
    405: Kind.MODEL,
    408: Kind.TIMEOUT,
    409: Kind.SERVER,
    429: Kind.LIMIT,
}
_LEAVES_IT_TO_THE_CODE = {400, 403, 413, 422, 429}
# A code that says one of these is believed before any sentence.
_BY_CODE = {
    "filter": Kind.FILTER,
    "key": Kind.KEY,
    "model": Kind.MODEL,
    "limit": Kind.LIMIT,
    "too_long": Kind.REQUEST,
    "parameter": Kind.REQUEST,
}
# Statuses with which it is said that there are no tools: none of them passes with time then.
_NO_TOOLS_STATUSES = {400, 404, 405, 422, 500, 501}
_LONGEST_DETAIL = 200
_PLAIN_WORD = re.compile(r"(?<!\w)[^\W\d]+(?!\w)")


@dataclass(frozen=True)
class Failure:
    """One call without a reply. What the endpoint wrote is in `detail` and nowhere else.

    Attributes:
        kind: what it is.
        status: the HTTP status; None without a response.
        code: the endpoint's own word for it; empty if there is none.
        parameter: the parameter that the endpoint names; empty if it names none.
        retry_after: seconds that the endpoint asks to wait; None if it does not say.
        detail: the endpoint's message, cut short. It may repeat the prompt, so it is kept only
            for items that are open.
        is_by_words: neither the status, nor a code, nor a header says so, only its sentence, which
            may be about the one item.
    """

    kind: Kind
    status: int | None = None
    code: str = ""
    parameter: str = ""
    retry_after: float | None = None
    detail: str = ""
    is_by_words: bool = False

    @property
    def outcome(self) -> Outcome:
        """The end that an item without a reply comes to."""
        return Outcome.REFUSED if self.kind is Kind.FILTER else Outcome.ERRORED

    @property
    def is_passing(self) -> bool:
        """Tell whether the same call may succeed later."""
        return self.kind in _PASSING

    @property
    def stops_the_run(self) -> bool:
        """Tell whether every other item would fail in the same way."""
        return self.kind in _FOR_ALL

    @property
    def may_be_of_one_item(self) -> bool:
        """Tell whether gateways say the same of a single item that they do not take."""
        return self.kind in _PERHAPS_OF_ONE and self.status != _UNAUTHORIZED

    @property
    def is_of_another_form(self) -> bool:
        """Tell whether a reply came that is no chat completion, and not one that was broken off."""
        return self.kind is Kind.BROKEN and self.status == _OK and not self.code

    @property
    def is_perhaps_billed(self) -> bool:
        """Tell whether the endpoint may have done the work all the same."""
        return self.kind in _PERHAPS_BILLED and self.code not in NOT_CONNECTED

    @property
    def is_unreached(self) -> bool:
        """Tell whether nothing came back, or only from a gateway before the endpoint."""
        return self.kind is Kind.CONNECTION or self.status in _GATEWAY

    @property
    def is_silence(self) -> bool:
        """Tell whether no whole reply came in time, and nothing that says so."""
        return self.kind is Kind.TIMEOUT and self.status is None

    @property
    def came_back(self) -> bool:
        """Tell whether the endpoint itself said something."""
        return not self.is_unreached and self.kind is not Kind.TIMEOUT

    @property
    def is_overflow(self) -> bool:
        """Tell whether a request failed because its prompt is too long."""
        return self.kind is Kind.REQUEST and self.code == TOO_LONG

    @property
    def is_refused_request(self) -> bool:
        """Tell whether a request is refused for a form that others have too, not for its text."""
        is_of_the_form = self.kind is Kind.REQUEST and self.status in (400, 422)
        return is_of_the_form and not self.is_overflow and not self.refuses_tools

    @property
    def words(self) -> tuple[int | None, str, str]:
        """Status, code and message without numbers and names of requests, to be compared."""
        return self.status, self.code, " ".join(_PLAIN_WORD.findall(self.detail.lower()))

    @property
    def refuses_tools(self) -> bool:
        """Tell whether the endpoint takes no tools, or none for this model."""
        detail = Words(self.detail, "")
        return self.kind is Kind.REQUEST and refuses_tools_by(self.status, detail)

    def without_detail(self) -> Failure:
        """Return the failure without what the endpoint wrote."""
        return replace(self, detail="")

    def as_json(self) -> dict[str, Any]:
        """Return what is known, for the journal."""
        known = {
            "status": self.status,
            "code": self.code or None,
            "parameter": self.parameter or None,
            "detail": self.detail or None,
        }
        return {"kind": str(self.kind), **{k: v for k, v in known.items() if v is not None}}

    def sentence(self) -> str:
        """Say in words what happened, without anything that the endpoint wrote."""
        status = f" (HTTP {self.status})" if self.status is not None else ""
        return f"{_SENTENCES[self.kind]}{status}"


_SENTENCES = {
    Kind.LIMIT: "The endpoint takes no more requests for now",
    Kind.SERVER: "The endpoint failed",
    Kind.CONNECTION: "There was no connection to the endpoint, or it broke",
    Kind.TIMEOUT: "The endpoint did not reply in time",
    Kind.BROKEN: "The endpoint's reply is no chat completion",
    Kind.QUOTA: "The account's quota is used up",
    Kind.KEY: "The endpoint does not accept the key",
    Kind.MODEL: "The endpoint does not know the model, or the address is wrong",
    Kind.FILTER: "The endpoint's filter declined the prompt",
    Kind.REQUEST: "The endpoint does not take the request",
    Kind.CALLABLE: "The function raised an error",
}


class CallFailedError(Exception):
    """A call brought no reply; carries the failure and nothing of the request.

    Attributes:
        failure: why.
        is_of_the_item: whether it is known to be of the item alone, whatever its kind.
    """

    def __init__(self, failure: Failure, *, is_of_the_item: bool = False) -> None:
        super().__init__(failure.sentence())
        self.failure = failure
        self.is_of_the_item = is_of_the_item

    @property
    def stops_the_run(self) -> bool:
        """Tell whether every other item would fail in the same way."""
        is_of_one = self.is_of_the_item or self.failure.is_by_words
        return self.failure.stops_the_run and not is_of_one


def failure_of_response(
    status: int, headers: Mapping[str, str], body: str, now: datetime, asked: str = ""
) -> Failure:
    """Classify a response that is an error by its status: codes and headers first, then words.

    Args:
        status: the HTTP status, 300 or above.
        headers: of the response; their names are read in any case.
        body: as it came, JSON or not.
        now: for a Retry-After that is a date.
        asked: all texts of the request: what stands in it too is not the endpoint's own word.
    """
    return _failure(status, headers, error_of(json_or_none(body)), body, now, asked)


def _failure(
    status: int,
    headers: Mapping[str, str],
    error: Mapping[str, Any],
    body: str,
    now: datetime,
    asked: str,
) -> Failure:
    code = word(error.get("code")) or word(error.get("type"))
    said = Words(body, asked)
    message = Words(told, asked) if (told := message_of(error)) else said
    told_by = {name.lower(): value for name, value in headers.items()}
    retry_after = retry_after_of(told_by, said, now)
    is_by_words = retry_after is None
    if retry_after is None and (status == 429 or status >= 500):
        retry_after = wait_told_in(message)
    codes = {code, word(error.get("type"))}
    parameter = word(error.get("param"))
    kind = _kind(status, codes, message, retry_after)
    if kind in (Kind.REQUEST, Kind.SERVER):
        # Of the whole body: the detail may be cut before what matters.
        told = _complaint(status, codes, parameter, message, said)
        kind, code = (Kind.REQUEST, told) if told else (kind, code)
    return Failure(
        kind=kind,
        status=status,
        code=code,
        parameter=parameter,
        retry_after=retry_after,
        detail="" if status in (401, 403) else " ".join(message.own.split())[:_LONGEST_DETAIL],
        is_by_words=(retry_after is not None and is_by_words)
        or (kind is Kind.QUOTA and status != 402 and not _lower(codes) & CODES["quota"]),
    )


def failure_in_body(read: Any, body: str, now: datetime, asked: str = "") -> Failure | None:
    """Return the failure that a response with status 200 carries; None if it carries none.

    Args:
        read: the JSON of the body.
        body: as it came.
        now: see `failure_of_response`.
        asked: see `failure_of_response`.
    """
    error = error_of(read)
    if not error:
        return None
    number = word(error.get("code", error.get("status")))
    status = int(number) if re.fullmatch("[45][0-9]{2}", number) else 500
    return _failure(status, {}, error, body, now, asked)


def _complaint(
    status: int | None, codes: Set[str], parameter: str, message: Words, body: Words
) -> str:
    """Return the code of what an endpoint complains of; empty if it is neither of both.

    Args:
        status: of the response.
        codes: the endpoint's own words for it.
        parameter: that it names; empty if it names none.
        message: its sentence, whole.
        body: all that it says: gateways put the endpoint's own answer beside a sentence of theirs.
    """
    if status not in _MENDED_BY_THE_PROMPT:
        return ""
    if TOO_LONG in codes or _is_too_long(status, codes, parameter, message, body):
        return TOO_LONG
    if NO_SYSTEM_ROLE in codes or (message if message.own else body).find(TEXTS["no_system_role"]):
        return NO_SYSTEM_ROLE if status != _TOO_LARGE else ""
    return ""


def _is_too_long(
    status: int | None, codes: Set[str], parameter: str, message: Words, body: Words
) -> bool:
    told = message.find(_TOKENS_OF_PROMPT)
    if told is not None:
        if told["reply"] and int(told["reply"]) >= int(told["limit"]):
            return False  # no prompt is so short that this reply has room
    else:
        is_of_the_prompt = re.split(r"[.\[]", parameter)[0] in _PARTS_OF_A_PROMPT
        if not is_of_the_prompt or _OF_ANOTHER_PARAMETER.match(message.own):
            return False
    # A request that is too large as a whole is mended by a shorter prompt, whatever the words are.
    is_said = status == _TOO_LARGE or bool(codes & CODES["too_long"])
    return is_said or any(text.find(TEXTS["too_long"]) for text in (message, body))


def _lower(codes: set[str]) -> set[str]:
    return {code.lower() for code in codes}


def _kind(status: int, codes: set[str], message: Words, retry_after: float | None) -> Kind:
    named = _lower(codes)
    if named & CODES["quota"]:
        return Kind.QUOTA
    by_code = next((kind for name, kind in _BY_CODE.items() if named & CODES[name]), None)
    if by_code is not None and status in _LEAVES_IT_TO_THE_CODE:
        return by_code
    if refuses_tools_by(status, message):
        return Kind.REQUEST
    # Limits by the minute are told in the words of a quota too, but with a time to wait.
    if status in (400, 402, 403, 429) and retry_after is None and message.find(TEXTS["quota"]):
        return Kind.QUOTA
    if status == 403 and message.find(TEXTS["moderated"]):
        return Kind.FILTER
    if status >= 500:
        return Kind.SERVER
    if status < 400:
        return Kind.MODEL  # a redirection, which is not followed: text goes where it was allowed
    return _BY_STATUS.get(status, Kind.REQUEST)


def refuses_tools_by(status: int | None, message: Words) -> bool:
    """Tell whether an endpoint says that it takes no tools, or none for the model."""
    return status in _NO_TOOLS_STATUSES and message.find(TEXTS["no_tools"]) is not None


@dataclass(frozen=True)
class RetryPolicy:
    """When and how often.

    Attributes:
        attempts: calls per item at most, the first one counted.
        first_wait: seconds before the second call; doubled each time.
        longest_wait: no wait of our own is longer.
        longest_told: an endpoint that asks for a longer wait than this stops the run instead.
        unreached: so many items in a row that reached no endpoint in all their attempts stop the
            run.
        declined: so many items in a row that an endpoint declines in the words of a bad key or an
            unknown model stop the run, also where it has answered others before.
        by_words: so many items in a row stop the run of which only the endpoint's sentence, and no
            status, code or header, says what would stop it.
        refused: so many items in a row whose requests an endpoint refuses in the same words stop
            the run, also where it has answered others before.
        seed: of the jitter that keeps many items from coming back at one moment.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_told: float = 300.0
    unreached: int = 5
    declined: int = 5
    by_words: int = 2
    refused: int = 10
    seed: int = 0

    def may_retry(self, failure: Failure, attempt: int) -> bool:
        """Tell whether there is a call after the failed one, which was number `attempt`."""
        return failure.is_passing and attempt < self.attempts

    def asks_too_much(self, failure: Failure) -> bool:
        """Tell whether the endpoint wants to be left alone for longer than a run waits."""
        return (
            failure.is_passing
            and failure.retry_after is not None
            and failure.retry_after > self.longest_told
        )

    def wait(self, failure: Failure, item: str, attempt: int) -> float:
        """Return the seconds before the next call: never less than the endpoint asks for."""
        # Not for secrets: the same waits again are the point.
        share = random.Random(f"{self.seed}/{item}/{attempt}").random()  # noqa: S311
        own = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        if failure.retry_after is not None:
            return failure.retry_after + share * min(1.0, own)
        return own * (0.5 + 0.5 * share)
