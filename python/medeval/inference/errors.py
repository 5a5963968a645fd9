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
    VENDORS,
    Words,
    error_of,
    json_or_none,
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
_LEAVES_IT_TO_THE_CODE = {400, 403, _TOO_LARGE, 422, 429}
# Limits by the minute are told in the words of a quota too, but with a time to wait.
_TELLS_A_QUOTA_IN_WORDS = {400, 402, 403, 429}
# Statuses with which it is said that there are no tools: none of them passes with time then.
_NO_TOOLS_STATUSES = {400, 404, 405, 422, 500, 501}
# What a gateway says when there is nothing behind it.
_GATEWAY = {502, 503, 504}
# Nothing was sent: no connection was ever made.
NOT_CONNECTED = {"ConnectError", "ConnectTimeout"}
_LONGEST_DETAIL = 200
_PLAIN_WORD = re.compile(r"(?<!\w)[^\W\d]+(?!\w)")


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
# After these nobody can say whether the endpoint worked, and bills, or not.
_PERHAPS_BILLED = {Kind.CONNECTION, Kind.TIMEOUT, Kind.BROKEN}


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
    def is_perhaps_billed(self) -> bool:
        """Tell whether the endpoint may have done the work all the same."""
        return self.kind in _PERHAPS_BILLED and self.code not in NOT_CONNECTED

    @property
    def is_silence(self) -> bool:
        """Tell whether no whole reply came in time, and nothing that says so."""
        return self.kind is Kind.TIMEOUT and self.status is None

    @property
    def is_unreached(self) -> bool:
        """Tell whether nothing came back, or only from a gateway before the endpoint."""
        return self.kind is Kind.CONNECTION or self.status in _GATEWAY or self.is_silence

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
        return self.kind is Kind.REQUEST and _refuses_tools(self.status, Words(self.detail, ""))

    def without_detail(self) -> Failure:
        """Return the failure without what the endpoint wrote."""
        return replace(self, detail="")

    def as_json(self) -> dict[str, Any]:
        """Return what is known, for the journal."""
        names = ("status", "code", "parameter", "detail")
        known = {name: getattr(self, name) for name in names}
        return {"kind": str(self.kind), **{name: told for name, told in known.items() if told}}

    def sentence(self) -> str:
        """Say in words what happened, without anything that the endpoint wrote."""
        status = f" (HTTP {self.status})" if self.status is not None else ""
        return f"{VENDORS['sentences'][self.kind]}{status}"


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
    status: int,
    headers: Mapping[str, str],
    body: str,
    now: datetime | None = None,
    asked: str = "",
    error: Mapping[str, Any] | None = None,
) -> Failure:
    """Classify a response that is an error: by codes and headers first, then by words.

    Args:
        status: the HTTP status, 300 or above.
        headers: of the response; their names are read in any case.
        body: as it came, JSON or not.
        now: for a Retry-After that is a date; None for this moment.
        asked: all texts of the request: what stands in it too is not the endpoint's own word.
        error: the error object of the body, if it was read already.
    """
    error = error_of(json_or_none(body)) if error is None else error
    said, sentence = Words(body, asked), error.get("message")
    message = Words(sentence, asked) if sentence and isinstance(sentence, str) else said
    code, kind_of_error, parameter = (word(error.get(name)) for name in ("code", "type", "param"))
    code = code or kind_of_error
    named = {code.lower(), kind_of_error.lower()}
    retry_after = told = retry_after_of({k.lower(): v for k, v in headers.items()}, said, now)
    if told is None and (status == 429 or status >= 500):
        retry_after = wait_told_in(message)
    kind = _kind(status, named, message, retry_after)
    if kind in (Kind.REQUEST, Kind.SERVER) and status in _MENDED_BY_THE_PROMPT:
        # Of the whole body: the detail may be cut before what matters.
        complaint = _complaint(status, named, parameter, message, said)
        kind, code = (Kind.REQUEST, complaint) if complaint else (kind, code)
    is_quota_by_words = kind is Kind.QUOTA and status != 402 and not named & CODES["quota"]
    return Failure(
        kind=kind,
        status=status,
        code=code,
        parameter=parameter,
        retry_after=retry_after,
        detail="" if status in (401, 403) else " ".join(message.own.split())[:_LONGEST_DETAIL],
        is_by_words=(told is None and retry_after is not None) or is_quota_by_words,
    )


def failure_in_body(read: Any, body: str, asked: str) -> Failure | None:
    """Return the failure that a response with status 200 carries; None if it carries none.

    Args:
        read: the JSON of the body.
        body: as it came.
        asked: see `failure_of_response`.
    """
    error = error_of(read)
    if not error:
        return None
    number = word(error.get("code", error.get("status")))
    status = int(number) if re.fullmatch("[45][0-9]{2}", number) else 500
    return failure_of_response(status, {}, body, asked=asked, error=error)


def _kind(status: int, codes: Set[str], message: Words, retry_after: float | None) -> Kind:
    named = next((kind for kind, words in CODES.items() if codes & words), "")
    if named == Kind.QUOTA or (named and status in _LEAVES_IT_TO_THE_CODE):
        return Kind.REQUEST if named in ("too_long", "parameter") else Kind(named)
    if _refuses_tools(status, message):
        return Kind.REQUEST
    if status in _TELLS_A_QUOTA_IN_WORDS and retry_after is None and message.find(TEXTS["quota"]):
        return Kind.QUOTA
    if status == 403 and message.find(TEXTS["moderated"]):
        return Kind.FILTER
    if status < 400:
        return Kind.MODEL  # a redirection, which is not followed: text goes where it was allowed
    usual = Kind.SERVER if status >= 500 else Kind.REQUEST
    return Kind(VENDORS["statuses"].get(str(status), usual))


def _refuses_tools(status: int | None, message: Words) -> bool:
    return status in _NO_TOOLS_STATUSES and message.find(TEXTS["no_tools"]) is not None


def _complaint(status: int, codes: Set[str], parameter: str, message: Words, body: Words) -> str:
    """Return the code of what a changed conversation would mend; empty if it is neither of both.

    Gateways put the endpoint's own answer beside a sentence of theirs, so the body counts too.
    """
    if TOO_LONG in codes or _is_too_long(status, codes, parameter, message, body):
        return TOO_LONG
    own = message if message.own else body
    is_of_the_role = NO_SYSTEM_ROLE in codes or own.find(TEXTS["no_system_role"])
    return NO_SYSTEM_ROLE if is_of_the_role and status != _TOO_LARGE else ""


def _is_too_long(status: int, codes: Set[str], parameter: str, message: Words, body: Words) -> bool:
    told = message.find(TEXTS["tokens_of_prompt"])
    if told is not None and told["reply"] and int(told["reply"]) >= int(told["limit"]):
        return False  # no prompt is so short that this reply has room
    is_of_the_prompt = re.split(r"[.\[]", parameter)[0] in _PARTS_OF_A_PROMPT
    if told is None and (not is_of_the_prompt or TEXTS["other_parameter"].match(message.own)):
        return False
    # A request that is too large as a whole is mended by a shorter prompt, whatever the words are.
    is_said = status == _TOO_LARGE or bool(codes & CODES["too_long"])
    return is_said or any(text.find(TEXTS["too_long"]) for text in (message, body))


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
        return failure.is_passing and (failure.retry_after or 0) > self.longest_told

    def wait(self, failure: Failure, item: str, attempt: int) -> float:
        """Return the seconds before the next call: never less than the endpoint asks for."""
        # Not for secrets: the same waits again are the point.
        share = random.Random(f"{self.seed}/{item}/{attempt}").random()  # noqa: S311
        own = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        if failure.retry_after is not None:
            return failure.retry_after + share * min(1.0, own)
        return own * (0.5 + 0.5 * share)
