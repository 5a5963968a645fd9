"""The calls of one start of a run: within the budget, tried again, until something stops them all.

What is asked, one question or many in a conversation, is for the engine to say.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.inference.cost import Budget, CostLedger, longest_reply_under
from medeval.inference.errors import FOR_ALL, CallFailedError, Failure, Kind
from medeval.inference.journal import Line
from medeval.inference.types import Reply, Request

if TYPE_CHECKING:
    from medeval.inference.run import Run, RunConfig

# So many items in a row stop the run that an endpoint tells by its sentence alone what would stop
# it; that it declines in the words of a bad key or an unknown model; whose requests it refuses in
# the same words; and that reached nobody.
BY_WORDS, DECLINED, REFUSED, UNREACHED = 2, 5, 10, 5
_OK = 200
_UNAUTHORIZED = 401
# Calls that succeed, for each call allowed, before one more is allowed: a limit that stays is met
# again by about one call in so many rounds.
ROUNDS_BEFORE_ONE_MORE = 4


class AdaptiveLimiter:
    """How many calls are under way: as many as are wished, fewer where an endpoint says so.

    An endpoint that refuses a call has said how many it takes: those that are still under way. So
    that many go on, and one more is tried after each few rounds without a refusal.

    Args:
        most: never more than this.

    Attributes:
        allowed: how many at a time for now.
    """

    def __init__(self, most: int) -> None:
        self.allowed = self._most = most
        self._under_way = self._succeeded = 0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """Hold a place for a call; wait for one if need be."""
        async with self._freed:
            await self._freed.wait_for(lambda: self._under_way < self.allowed)
            self._under_way += 1
        try:
            yield
        finally:
            async with self._freed:
                self._under_way -= 1
                self._freed.notify_all()

    def hear(self, *, was_refused: bool) -> None:
        """Hear, while its place is held, that a call was answered, or that it was one too many."""
        if was_refused:
            self.allowed = max(1, min(self.allowed, self._under_way - 1))
        self._succeeded = 0 if was_refused else self._succeeded + 1
        if self.allowed < self._most and self._succeeded >= ROUNDS_BEFORE_ONE_MORE * self.allowed:
            self.allowed += 1
            self._succeeded = 0


class CircuitBreaker:
    """Whether there is an endpoint at all, which one item that reached nobody cannot tell.

    Args:
        slots: how many items are asked at a time.

    Attributes:
        calls: how many were made; the number of the last one.
        held: the last calls of items that reached nobody. As long as nothing comes back for a call
            that was made later, it is not known whether they are errors, or still to be asked.
    """

    def __init__(self, slots: int) -> None:
        self.held: list[int] = []
        self.calls = self._heard = 0
        self._slots = slots

    def hear(self, call: int) -> None:
        """Hear from the endpoint in reply to a call."""
        self._heard = max(self._heard, call)
        self.held = [each for each in self.held if each > self._heard]

    def trips(self, failure: Failure, call: int) -> int:
        """Hold an item that failed in all attempts, if it may be that nobody is there.

        Args:
            failure: of its last call.
            call: the number of that.

        Returns:
            The items in a row that reached nobody, if they are so many that nobody is there.
        """
        if not failure.is_unreached or self._heard > call:
            return 0
        self.held.append(call)
        # Of silence as many as may be asked at a time: each of them has waited for itself alone.
        most = max(2, self._slots) if failure.is_silence else UNREACHED
        return most if len(self.held) >= most else 0


@dataclass
class CallResult:
    """What the calls of one request came to.

    Attributes:
        answer: the reply, or the failure of the last attempt.
        attempts: so many.
        cost: as far as it is known; None as soon as that of one call is not.
        charged: what was booked against the limit, unknown costs at the most they can be.
        call: the number of the last one among all calls of the run.
    """

    answer: Reply | Failure = field(init=False)
    attempts: int = 0
    cost: Decimal | None = Decimal(0)
    charged: Decimal = Decimal(0)
    call: int = 0
    began: float = field(default_factory=time.monotonic)

    def measured(self) -> dict[str, Any]:
        """Return seconds, attempts and the like, which differ from run to run."""
        seconds = round(time.monotonic() - self.began, 3)
        return {"seconds": seconds, "attempts": self.attempts, "charged": str(self.charged)}


class RequestExecutor:
    """Makes the calls of a run and knows when no more may be made.

    Args:
        run: with the model that answers; it keeps what the endpoint refuses, once that is learned.
        config: retries, prices and the limit on cost.

    Attributes:
        stopped: why no more calls are made; empty as long as they are.
        stop: set when no more calls are made.
        breaker: knows whether there is an endpoint.

    Raises:
        UserError: the limit on cost cannot be held.
    """

    _ledger: CostLedger

    def __init__(self, run: Run, config: RunConfig) -> None:
        self.stopped, self.stop = "", asyncio.Event()
        self._run, self._model = run, run.model
        self._retries = config.retries
        self._budget = config.budget or Budget(config.max_cost)
        self._price = config.prices.of(run.model.address, run.model.model)
        self._most_tokens = longest_reply_under(self._budget.limit, self._price, run.model)
        self._has_answered = False
        # How often each item was told what may be true of all, without a reply between.
        self._told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._refusal: tuple[int | None, str, str] | None = None
        self._not_before = 0.0
        slots = max(1, config.concurrency)
        self._limiter, self.breaker = AdaptiveLimiter(slots), CircuitBreaker(slots)

    def resume(self, ledger: CostLedger, lines: Iterable[Line]) -> None:
        """Go on from what earlier starts spent, and from what came back in them.

        Args:
            ledger: where it is kept what calls cost.
            lines: of the journal; read as far as the first reply.
        """
        self._ledger = ledger
        self._budget.spent += ledger.before.charged
        self._has_answered = any("text" in line for line in lines)

    async def call(self, request: Request) -> CallResult | None:
        """Ask until there is a reply or a failure that stays; None if the run stopped before."""
        name = f"{request.item.id}/{request.item.sample}"
        made = CallResult()
        while not await _within(self._not_before - time.monotonic(), self.stop):
            made.attempts += 1
            answer = await self._attempt(request, made)
            if answer is None:
                return None
            made.answer = answer
            if isinstance(answer, Reply):
                return made
            if self._is_of_all(answer, name):
                self.stop_for(answer, request)
                return None
            if not self._retries.may_retry(answer, made.attempts):
                if many := self.breaker.trips(answer, made.call):
                    told = f"{answer.sentence()}, for {many} items in a row and all attempts"
                    self._stop_because(f"{told}: {self._model.address}")
                return None if many else made
            if self._retries.asks_too_much(answer):
                answer = replace(answer, retry_after=None)
            if answer.retry_after is not None:  # all other items wait too
                until = time.monotonic() + answer.retry_after
                self._not_before = max(self._not_before, until)
            if await _within(self._retries.wait(answer, name, made.attempts), self.stop):
                return None
        return None

    def stop_for(self, failure: Failure, request: Request | None = None) -> None:
        """Make no more calls, since every one of them would fail in the same way.

        Args:
            failure: that one met.
            request: that met it; what the endpoint wrote may repeat it, and is shown if it is open.
        """
        reason = failure.sentence()
        if failure.retry_after is not None:
            reason += f"; it asks to be left alone for {failure.retry_after:.0f} seconds"
        elif failure.kind in (Kind.BROKEN, Kind.REQUEST) and request and request.item.is_open:
            reason += f": {failure.detail}" if failure.detail else ""
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
        if failure.kind in FOR_ALL or self._retries.asks_too_much(failure):
            told = "declined"
            is_of_one = failure.kind in (Kind.KEY, Kind.MODEL) and failure.status != _UNAUTHORIZED
            if not failure.is_by_words:
                most = DECLINED if is_of_one and self._has_answered else 1
        elif failure.is_refused_request:
            told = "refused"
            if self._has_answered:
                most = REFUSED
                if failure.words != self._refusal:
                    self._told[told].clear()
            self._refusal = failure.words
        elif failure.kind is Kind.BROKEN and failure.status == _OK and not failure.code:
            told, each = "another form", min(2, self._retries.attempts)
            if self._has_answered:
                return False
        else:
            return False
        self._told[told][name] += 1
        return sum(times >= each for times in self._told[told].values()) >= most

    async def _attempt(self, request: Request, made: CallResult) -> Reply | Failure | None:
        """Make one call when there is a place and money for it; None if the run stopped before."""
        async with self._limiter.place():
            if self.stop.is_set():
                return None
            self.breaker.calls += 1
            made.call = self.breaker.calls
            most = Decimal(0)
            if self._price is not None and self._budget.limit is not None:
                most = self._price.at_most(request, self._most_tokens)
            if not await self._budget.set_aside(most):
                self._stop_because(
                    f"The next call could exceed the limit of {self._budget.limit}, of which"
                    f" {self._budget.spent:f} is spent: raise it"
                )
                return None
            number, cost = 0, None
            try:
                number = self._ledger.begin(most)
                answer: Reply | Failure = await self._model.ask(request)
                if isinstance(answer, Reply) and self._price is not None:
                    cost = self._price.cost(answer.usage)
            except CallFailedError as error:
                answer = error.failure
                cost = None if answer.is_perhaps_billed else Decimal(0)
            except UserError:
                cost = Decimal(0)
                raise
            finally:
                charged = most if cost is None else cost
                self._budget.book(most, charged)
                made.cost = None if made.cost is None or cost is None else made.cost + cost
                made.charged += charged
                if number and (self._price is not None or self._ledger.is_kept):
                    self._ledger.end(number, cost, charged)
            self._run.update("learned", self._model.fallbacks.learned)
            if isinstance(answer, Failure) and answer.is_unreached:
                return answer
            if isinstance(answer, Reply):
                self._has_answered = True
                self._told.clear()
                self._limiter.hear(was_refused=False)
            elif answer.kind is Kind.LIMIT:
                self._limiter.hear(was_refused=True)
            self.breaker.hear(made.call)
            return answer

    def _stop_because(self, reason: str) -> None:
        self.stopped = self.stopped or f"{reason}. Start the same run again to go on."
        self.stop.set()


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait; tell whether something has happened by then."""
    if seconds > 0:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
    return event.is_set()
