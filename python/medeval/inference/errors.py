"""Why a call brought no reply, told apart before anything is tried again.

What may pass with time is tried again; what cannot pass is not, and what every further item would
meet as well stops the run. A used-up quota comes with the same status as a busy endpoint, and some
gateways send it as a bad request, so the status alone decides nothing. Words count only where they
are the endpoint's own: many repeat the request, and a note may say that a balance is insufficient.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from itertools import count
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from medeval.files import toml_beside
from medeval.inference.types import Outcome
from medeval.text import whole_json

VENDORS = toml_beside(__file__, "endpoint_errors.toml")
# Of each kind the words that vendors have for it.
FINISH_REASONS = {kind: frozenset(words) for kind, words in VENDORS["finish_reasons"].items()}
CODES = {kind: frozenset(words) for kind, words in VENDORS["codes"].items()}
TEXTS = {kind: re.compile("|".join(t), re.IGNORECASE) for kind, t in VENDORS["texts"].items()}
# Statuses that alone decide nothing, by what else counts with them.
STATUSES: dict[str, list[int]] = VENDORS["statuses_that"]

# Two complaints that a changed conversation mends, each under one code.
TOO_LONG = "context_length_exceeded"
NO_SYSTEM_ROLE = "system_role_not_supported"
# Nothing was sent: no connection was ever made.
NOT_CONNECTED = {"ConnectError", "ConnectTimeout"}

_TOO_LARGE = 413
_LONGEST_DETAIL = 200
# So much is read of a complaint's beginning, and as much of its end: no endpoint has more to say,
# but many repeat a long request, in front of their sentence or behind it.
_READ = 8_000
_PLAIN_WORD = re.compile(r"(?<!\w)[^\W\d]+(?!\w)")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_OF_A_SECOND = {"hours": 1 / 3600, "minutes": 1 / 60, "seconds": 1, "milliseconds": 1000}
_WORD = re.compile(r"[a-z0-9_]{1,99}|[^\W\x00-\x7F]", re.IGNORECASE)
# So many words in a row that stand in the request are repeated from there, and fewer in quotes.
_QUOTED = 4
_IN_QUOTES = re.compile(r"(?<!\w)(['\"`])([^'\"`]{2,})\1(?!\w)|[\u201c\u300c]([^\u201d\u300d]{2,})")


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


# The same call may succeed later.
PASSING = {Kind.LIMIT, Kind.SERVER, Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN}
# Every other item would fail in the same way.
FOR_ALL = {Kind.QUOTA, Kind.KEY, Kind.MODEL}


@dataclass(frozen=True)
class Failure:
    """One call without a reply. What the endpoint wrote is in `detail` and nowhere else.

    Attributes:
        kind: what it is.
        status: the HTTP status; None without a response.
        code: the endpoint's own word for it; empty if there is none.
        parameter: the parameter that the endpoint names; empty if it names none.
        detail: the endpoint's message, cut short. It may repeat the prompt, so it is kept only
            for items that are open.
        retry_after: seconds that the endpoint asks to wait; None if it does not say.
        is_by_words: neither the status, nor a code, nor a header says so, only its sentence, which
            may be about the one item.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="ignore")  # a newer version may keep more

    kind: Kind
    status: int | None = None
    code: str = ""
    parameter: str = ""
    detail: str = ""
    retry_after: float | None = None
    is_by_words: bool = False

    @property
    def outcome(self) -> Outcome:
        """The end that an item without a reply comes to."""
        return Outcome.REFUSED if self.kind is Kind.FILTER else Outcome.ERRORED

    @property
    def is_perhaps_billed(self) -> bool:
        """Tell whether the endpoint may have done the work all the same."""
        is_open = self.kind in (Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN)
        return is_open and self.code not in NOT_CONNECTED

    @property
    def is_silence(self) -> bool:
        """Tell whether no whole reply came in time, and nothing that says so."""
        return self.kind is Kind.TIMEOUT and self.status is None

    @property
    def is_unreached(self) -> bool:
        """Tell whether nothing came back, or only from a gateway before the endpoint."""
        is_of_gateway = self.status in STATUSES["come_from_gateways"]
        return self.kind is Kind.CONNECTION or is_of_gateway or self.is_silence

    @property
    def is_refused_request(self) -> bool:
        """Tell whether a request is refused for a form that others have too, not for its text."""
        is_of_the_form = self.kind is Kind.REQUEST and self.status in (400, 422)
        return is_of_the_form and self.code != TOO_LONG and not self.refuses_tools

    @property
    def refuses_tools(self) -> bool:
        """Tell whether the endpoint takes no tools, or none for this model."""
        return self.kind is Kind.REQUEST and _refuses_tools(self.status, Words(self.detail, ""))

    @property
    def words(self) -> tuple[int | None, str, str]:
        """Status, code and message without numbers and names of requests, to be compared."""
        return self.status, self.code, " ".join(_PLAIN_WORD.findall(self.detail.lower()))

    def recorded(self, is_open: bool) -> dict[str, Any]:
        """Return what the journal keeps: what the endpoint wrote only if the item is open."""
        names = ("status", "code", "parameter", *["detail"] * is_open)
        known = {name: getattr(self, name) for name in names}
        return {"kind": str(self.kind), **{name: value for name, value in known.items() if value}}

    def sentence(self) -> str:
        """Say in words what happened, without anything that the endpoint wrote."""
        status = f" (HTTP {self.status})" if self.status is not None else ""
        return f"{VENDORS['sentences'][self.kind]}{status}"


# Reads back a failure, as far as the line of a journal holds it.
FAILURE = TypeAdapter(Failure)


class CallFailedError(Exception):
    """A call brought no reply; carries the failure and nothing of the request.

    Attributes:
        failure: why.
        stops_the_run: whether every other item would fail in the same way.
    """

    def __init__(self, failure: Failure, *, is_of_the_item: bool = False) -> None:
        super().__init__(failure.sentence())
        self.failure = failure
        self.stops_the_run = failure.kind in FOR_ALL and not (is_of_the_item or failure.is_by_words)


class Words:
    """What an endpoint says, without what it repeats of the request.

    Args:
        text: as it came; of a long one only the beginning and the end are read.
        asked: all texts of the request.

    Attributes:
        own: the text with an ellipsis for what stands in the request too: each word of four in a
            row, and what it puts in quotes.
    """

    def __init__(self, text: str, asked: str) -> None:
        self._asked = _plain(asked)
        if len(text) > 2 * _READ:
            text = f"{text[:_READ]} \u2026 {text[-_READ:]}"

        def unquoted(quote: re.Match[str]) -> str:
            inside = _plain(quote[2] or quote[3])
            return "\u2026" if " " in inside and inside in self._asked else quote[0]

        text = _IN_QUOTES.sub(unquoted, text)
        repeated = set(_rows(_WORD.findall(self._asked)))
        rows = enumerate(_rows([word.lower() for word in _WORD.findall(text)]))
        quoted = {n + k for n, row in rows if row in repeated for k in range(_QUOTED)}
        number = count()
        self.own = _WORD.sub(lambda word: "\u2026" if next(number) in quoted else word[0], text)

    def find(self, kind: str) -> re.Match[str] | None:
        """Return the first place where they are like texts of a kind and no part of the request."""
        found = TEXTS[kind].finditer(self.own)
        return next((match for match in found if _plain(match[0]) not in self._asked), None)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _rows(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield each four words in a row."""
    return zip(*(words[start:] for start in range(_QUOTED)), strict=False)


def json_or_none(body: str, *, is_strict: bool = True) -> Any:
    """Return what a body says as JSON, texts whole; None if it is none, or too deep.

    Unless it is read strictly there may be line breaks in texts.
    """
    try:
        return whole_json(json.loads(body, strict=is_strict))
    except (ValueError, RecursionError):
        return None


def word(value: object) -> str:
    """Return a code if it is one word, else nothing: anything longer may be text of the prompt."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if re.fullmatch(r"[\w.\[\]-]{1,60}", text) else ""


def error_of(read: Any) -> Mapping[str, Any]:
    """Return the error object of a body that was read, in the layouts in use; empty without one."""
    read = read[0] if isinstance(read, list) and read else read
    if not isinstance(read, Mapping):
        return {}
    error = read.get("error")
    if isinstance(error, str) and error:
        return {**read, "message": read.get("message") or error}
    is_error = read.get("object") == "error"
    return error if isinstance(error, Mapping) else read if is_error else {}


def failure_of_response(
    status: int, headers: Mapping[str, str], body: str, now: datetime | None = None, asked: str = ""
) -> Failure:
    """Classify a response that is an error: by codes and headers first, then by words.

    Args:
        status: the HTTP status, 300 or above; of a body that carries an error with status 200, what
            the error says.
        headers: of the response; their names are read in any case.
        body: as it came, JSON or not.
        now: for a Retry-After that is a date; None for this moment.
        asked: all texts of the request: what stands in it too is not the endpoint's own word.
    """
    error = error_of(json_or_none(body))
    said, sentence = Words(body, asked), error.get("message")
    message = Words(sentence, asked) if sentence and isinstance(sentence, str) else said
    code, kind_of_error, parameter = (word(error.get(name)) for name in ("code", "type", "param"))
    code = code or kind_of_error
    named = {code.lower(), kind_of_error.lower()}
    wait = told = _told_wait({name.lower(): value for name, value in headers.items()}, said, now)
    in_words = message.find("wait") if status == 429 or status >= 500 else None
    if told is None and in_words is not None and any(in_words.groups()):
        wait = sum(float(in_words[unit] or 0) / of for unit, of in _OF_A_SECOND.items())
    kind = _kind(status, named, message, wait)
    if kind in (Kind.REQUEST, Kind.SERVER) and status in STATUSES["the_prompt_may_mend"]:
        own = message if message.own else said
        if TOO_LONG in named or _is_too_long(status, named, parameter, message, said):
            kind, code = Kind.REQUEST, TOO_LONG
        elif status != _TOO_LARGE and own.find("no_system_role"):
            kind, code = Kind.REQUEST, NO_SYSTEM_ROLE
    is_quota_by_words = kind is Kind.QUOTA and status != 402 and not named & CODES["quota"]
    return Failure(
        kind=kind,
        status=status,
        code=code,
        parameter=parameter,
        detail="" if status in (401, 403) else " ".join(message.own.split())[:_LONGEST_DETAIL],
        retry_after=wait,
        is_by_words=(told is None and wait is not None) or is_quota_by_words,
    )


def _told_wait(headers: Mapping[str, str], body: Words, now: datetime | None) -> float | None:
    """Return the seconds that an endpoint asks to wait, by a header or a field of the body."""
    for name, in_a_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        if _NUMBER.fullmatch(headers.get(name, "").strip()):
            return float(headers[name]) / in_a_second
    # No moment of this calendar is none; the body may say it better.
    with suppress(ValueError, OverflowError, TypeError):
        moment = parsedate_to_datetime(headers.get("retry-after", "").strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    delay = body.find("delay")
    return float(delay[1]) if delay else None


def _kind(status: int, codes: Set[str], message: Words, wait: float | None) -> Kind:
    named = next((kind for kind, words in CODES.items() if codes & words), "")
    if named == Kind.QUOTA or (named and status in STATUSES["leave_it_to_the_code"]):
        return Kind.REQUEST if named in ("too_long", "parameter") else Kind(named)
    if _refuses_tools(status, message):
        return Kind.REQUEST
    if status in STATUSES["tell_a_quota_in_words"] and wait is None and message.find("quota"):
        return Kind.QUOTA
    if status == 403 and message.find("moderated"):
        return Kind.FILTER
    if status < 400:
        return Kind.MODEL  # a redirection, which is not followed: text goes where it was allowed
    usual = Kind.SERVER if status >= 500 else Kind.REQUEST
    return Kind(VENDORS["statuses"].get(str(status), usual))


def _refuses_tools(status: int | None, message: Words) -> bool:
    return status in STATUSES["tell_of_no_tools"] and message.find("no_tools") is not None


def _is_too_long(status: int, codes: Set[str], parameter: str, message: Words, body: Words) -> bool:
    told = message.find("tokens_of_prompt")
    if told is not None and told["reply"] and int(told["reply"]) >= int(told["limit"]):
        return False  # no prompt is so short that this reply has room
    is_of_the_prompt = re.split(r"[.\[]", parameter)[0] in VENDORS["parts_of_a_prompt"]
    if told is None and (not is_of_the_prompt or TEXTS["other_parameter"].match(message.own)):
        return False
    # A request that is too large as a whole is mended by a shorter prompt, whatever the words are.
    is_said = status == _TOO_LARGE or bool(codes & CODES["too_long"])
    return is_said or any(text.find("too_long") for text in (message, body))


@dataclass(frozen=True)
class RetryPolicy:
    """When and how often.

    Attributes:
        attempts: calls per item at most, the first one counted.
        first_wait: seconds before the second call; doubled each time.
        longest_wait: no wait of our own is longer.
        longest_told: an endpoint that asks for a longer wait than this stops the run instead.
        seed: of the jitter that keeps many items from coming back at one moment.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 60.0
    longest_told: float = 300.0
    seed: int = 0

    def may_retry(self, failure: Failure, attempt: int) -> bool:
        """Tell whether there is a call after the failed one, which was number `attempt`."""
        return failure.kind in PASSING and attempt < self.attempts

    def asks_too_much(self, failure: Failure) -> bool:
        """Tell whether the endpoint wants to be left alone for longer than a run waits."""
        return failure.kind in PASSING and (failure.retry_after or 0) > self.longest_told

    def wait(self, failure: Failure, item: str, attempt: int) -> float:
        """Return the seconds before the next call: never less than the endpoint asks for."""
        # Not for secrets: the same waits again are the point.
        share = random.Random(f"{self.seed}/{item}/{attempt}").random()  # noqa: S311
        own = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        if failure.retry_after is not None:
            return failure.retry_after + share * min(1.0, own)
        return own * (0.5 + 0.5 * share)
