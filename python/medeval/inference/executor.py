"""The calls of one start of a run: within the budget, tried again, until something stops them all.

What is asked, one question or many in a conversation, is for the engine to say.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

from medeval.errors import UserError
from medeval.inference.cost import CostLedger, Spent, longest_reply_under
from medeval.inference.errors import FOR_ALL, VENDORS, Failure, Kind
from medeval.inference.journal import Line, line_of
from medeval.inference.openai_replies import with_calls_in_text
from medeval.inference.run import Run, RunConfig
from medeval.inference.types import Reply, Request

# So many items in a row stop the run that an endpoint tells by its sentence alone what would stop
# it; that it declines in the words of a bad key or an unknown model; whose requests it refuses in
# the same words; and that reached nobody.
BY_WORDS, DECLINED, REFUSED, UNREACHED = 2, 5, 10, 5
# Calls that succeed, for each call allowed, before one more is allowed: a limit that stays is met
# again by about one call in so many rounds.
_ROUNDS_BEFORE_ONE_MORE = 4
_LET_IT_CALL = VENDORS["let_it_call_tools"]


class AdaptiveLimiter:
    """How many calls are under way: as many as are wished, fewer where an endpoint says so.

    An endpoint that refuses a call has said how many it takes: those that are still under way. So
    that many go on, and one more is tried after each few rounds without a refusal. Entered, it
    holds a place for a call.

    Args:
        most: never more than this.
    """

    def __init__(self, most: int) -> None:
        self._allowed = self._most = most
        self._under_way = self._succeeded = 0
        self._freed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._freed:
            await self._freed.wait_for(lambda: self._under_way < self._allowed)
            self._under_way += 1

    async def __aexit__(self, *_: object) -> None:
        async with self._freed:
            self._under_way -= 1
            self._freed.notify_all()

    def hear(self, *, was_refused: bool) -> None:
        """Hear, while its place is held, that a call was answered, or that it was one too many."""
        self._succeeded += 1
        if was_refused:
            self._allowed, self._succeeded = max(1, min(self._allowed, self._under_way - 1)), 0
        elif self._succeeded >= _ROUNDS_BEFORE_ONE_MORE * self._allowed:
            self._allowed, self._succeeded = min(self._most, self._allowed + 1), 0


class StoppedError(Exception):
    """The run stopped before there was a reply or a failure that stays."""


class RequestExecutor:
    """Makes the calls of a run and knows when no more may be made.

    Args:
        run: with the model that answers; it keeps what the endpoint refuses, once that is learned.
        config: retries, prices and the limit on cost.
        ledger: where it is kept what calls cost; what earlier starts spent counts.
        lines: of the journal; read as far as the first reply.

    Attributes:
        stopped: why no more calls are made; empty as long as they are.
        stop: set when no more calls are made.
        unreached: names of items that reached nobody in all attempts, each with the number of its
            last call. As long as nothing comes back for a later call it is not known whether they
            are errors, or still to be asked.

    Raises:
        UserError: the limit on cost cannot be held.
    """

    def __init__(
        self, run: Run, config: RunConfig, ledger: CostLedger, lines: Iterable[Line]
    ) -> None:
        self.stopped, self.stop = "", asyncio.Event()
        self.unreached: dict[str, int] = {}
        self._calls = self._heard = 0
        self._run, self._model, self._retries = run, run.model, config.retries
        self._slots = max(1, config.concurrency)
        self._limiter = AdaptiveLimiter(self._slots)
        self._ledger, self._budget = ledger, config.budget
        self._price = config.prices.of(run.model.address, run.model.model)
        self._most_tokens = longest_reply_under(self._budget.limit, config.prices, run.model)
        self._budget.spent += ledger.before.charged
        self._has_answered = any("text" in line for line in lines)
        # How often each item was told what may be true of all, without a reply between.
        self._told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._refusal: tuple[int | None, str, str] | None = None
        self._not_before = 0.0
        # Those that were told that there are no tools, and those whose calls could not be read.
        self._toolless, self._unread = set[str](), set[str]()

    async def call(self, request: Request) -> Line:
        """Ask until there is a reply or a failure that stays.

        Raises:
            StoppedError: the run stopped before.
            UserError: the endpoint takes no tools, or the request may not be sent.
        """
        name, began = request.item.name, time.monotonic()
        attempts, spent = 0, Spent()
        while not await _within(self._not_before - time.monotonic(), self.stop):
            attempts += 1
            answer, of_call, number = await self._attempt(request)
            spent += of_call
            if isinstance(answer, Failure):
                if self._is_of_all(answer, name):
                    self.stop_for(answer, request)
                if self._retries.may_retry(answer, attempts):
                    if self._retries.asks_too_much(answer):
                        answer = replace(answer, retry_after=None)
                    if answer.retry_after is not None:  # all other items wait too
                        until = time.monotonic() + answer.retry_after
                        self._not_before = max(self._not_before, until)
                    await _within(self._retries.wait(answer, name, attempts), self.stop)
                    continue
                if answer.is_unreached and number > self._heard:
                    self.unreached[name] = number
                # Of silence as many as may be asked at a time: each has waited for itself alone.
                most = max(2, self._slots) if answer.is_silence else UNREACHED
                if name in self.unreached and len(self.unreached) >= most:
                    told = f"{answer.sentence()}, for {most} items in a row and all attempts"
                    self._stop_because(f"{told}: {self._model.address}")
            answer = self._with_tools(request, answer, name)
            seconds = round(time.monotonic() - began, 3)
            measured = {"seconds": seconds, "attempts": attempts, "charged": str(spent.charged)}
            return line_of(request, answer, spent.known, measured)
        raise StoppedError

    def stop_for(self, failure: Failure, request: Request | None = None) -> NoReturn:
        """Make no more calls, since every one of them would fail in the same way.

        Args:
            failure: that one met.
            request: that met it; what the endpoint wrote may repeat it, and is shown if it is open.

        Raises:
            StoppedError: always.
        """
        reason = failure.sentence()
        if failure.retry_after is not None:
            reason += f"; it asks to be left alone for {failure.retry_after:.0f} seconds"
        elif failure.kind is not Kind.KEY and request and request.item.is_open:
            # What is said of a key may hold it; a page says no more than its status.
            is_said = failure.detail and not failure.detail.startswith("<")
            reason += f": {failure.detail.rstrip('.')}" if is_said else ""
        self._stop_because(reason)

    def _is_of_all(self, failure: Failure, name: str) -> bool:
        """Tell whether a failure is more than the affair of its item.

        Gateways decline single items in the words of a bad key or an unknown model, and a sentence
        may repeat what the item says. So it takes several items in a row to believe it: two for a
        sentence, more for a status where the endpoint has answered before. That requests are
        refused as they are made, two show before any reply, and ten in the same words after one;
        that no chat completions are sent at all, two that were each told so twice.
        """
        each, most = 1, BY_WORDS
        # What came is no chat completion at all, and none that broke off.
        is_other_form = failure.kind is Kind.BROKEN and failure.status == 200 and not failure.code
        if failure.kind in FOR_ALL or self._retries.asks_too_much(failure):
            told = "declined"
            is_of_one = failure.kind in (Kind.KEY, Kind.MODEL) and failure.status != 401
            if not failure.is_by_words:
                most = DECLINED if is_of_one and self._has_answered else 1
        elif failure.is_refused_request:
            told = "refused"
            if self._has_answered:
                most = REFUSED
                if failure.words != self._refusal:
                    self._told[told].clear()
            self._refusal = failure.words
        elif is_other_form and not self._has_answered:
            told, each = "another form", min(2, self._retries.attempts)
        else:
            return False
        self._told[told][name] += 1
        return sum(times >= each for times in self._told[told].values()) >= most

    async def _attempt(self, request: Request) -> tuple[Reply | Failure, Spent, int]:
        """Make one call when there is a place and money for it.

        Returns:
            What came back, what it came to, and its number among all calls.

        Raises:
            StoppedError: the run stopped before.
        """
        async with self._limiter:
            if self.stop.is_set():
                raise StoppedError
            self._calls += 1
            call, most = self._calls, Decimal(0)
            if self._price is not None and self._budget.limit is not None:
                most = self._price.at_most(request, self._most_tokens)
            if not await self._budget.set_aside(most):
                self._stop_because(
                    f"The next call could exceed the limit of {self._budget.limit}, of which"
                    f" {self._budget.spent:f} is spent: raise it"
                )
            number, cost = 0, None
            try:
                number = self._ledger.begin(most)
                answer = await self._model.ask(request)
                if isinstance(answer, Failure):
                    cost = None if answer.is_perhaps_billed else Decimal(0)
                elif self._price is not None:
                    cost = self._price.cost(answer.usage)
            except UserError:
                cost = Decimal(0)
                raise
            finally:
                charged = most if cost is None else cost
                self._budget.book(most, charged)
                if number and (self._price is not None or self._ledger.is_kept):
                    self._ledger.end(number, cost, charged)
            if isinstance(answer, Reply):
                self._has_answered = True
                self._told.clear()
                self._limiter.hear(was_refused=False)
            elif answer.kind is Kind.LIMIT:
                self._limiter.hear(was_refused=True)
        self._run.update("learned", self._model.learned)
        if isinstance(answer, Reply) or not answer.is_unreached:
            self._heard = max(self._heard, call)
            later = {name: its for name, its in self.unreached.items() if its > self._heard}
            self.unreached = later
        return answer, Spent(cost or Decimal(0), int(cost is None), charged), call

    def _with_tools(self, request: Request, answer: Reply | Failure, name: str) -> Reply | Failure:
        """Return an answer with the calls of tools that the server left in its text.

        Raises:
            UserError: the endpoint takes no tools, as two episodes in a row were told.
        """
        parameters = request.item.parameters
        if isinstance(answer, Failure):
            if "tools" in parameters and answer.refuses_tools:
                self._toolless.add(name)
            if len(self._toolless) >= BY_WORDS:
                raise UserError(
                    f"{request.endpoint} takes no tools for {request.model}: every conversation"
                    f" would fail. {_LET_IT_CALL}"
                )
            return answer
        self._toolless.clear()
        may_call = parameters.get("tools") and parameters.get("tool_choice") != "none"
        if answer.tool_calls or not may_call:
            return answer
        read = with_calls_in_text(answer, parameters["tools"])
        if read is None and name not in self._unread:
            self._unread.add(name)
            if len(self._unread) == BY_WORDS:
                print(
                    f"medeval: {request.endpoint} does not parse the tool calls of {request.model}:"
                    f" they come as text that cannot be read. {_LET_IT_CALL}",
                    file=sys.stderr,
                )
        return read or answer

    def _stop_because(self, reason: str) -> NoReturn:
        self.stopped = self.stopped or f"{reason}. Start the same run again to go on."
        self.stop.set()
        raise StoppedError


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait; tell whether something has happened by then."""
    if seconds > 0:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
    return event.is_set()
