"""The calls of one start of a run: within the budget, tried again, until something stops them all.

What is asked, one question or many in a conversation, is for the engine to say.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from medeval.errors import UserError
from medeval.inference.cost import Budget, CostLedger, longest_reply_under
from medeval.inference.errors import CallFailedError, Failure, Kind
from medeval.inference.guard import IN_PROCESS
from medeval.inference.lines import Line
from medeval.inference.types import Completion, Episode, Item, Model, Request

if TYPE_CHECKING:
    from medeval.inference.run import RunConfig

# Seconds in which an endpoint refuses what it does not take; a reply may take longer.
_LONGEST_OPENING = 1.0
_OK = 200
_UNAUTHORIZED = 401
# Calls that succeed, for each call allowed, before one more is allowed: a limit that stays is met
# again by about one call in so many rounds.
ROUNDS_BEFORE_ONE_MORE = 4


class AdaptiveLimiter:
    """How many calls are under way: as many as are wished, fewer where an endpoint says so.

    An endpoint that refuses a call has said how many it takes: those that are still under way. So
    that many go on, and one more is tried after each few rounds without a refusal. Places are taken
    in the order in which they were asked for.

    Args:
        most: never more than this.

    Attributes:
        allowed: how many at a time for now.
    """

    def __init__(self, most: int) -> None:
        self.allowed = most
        self._most = most
        self._under_way = 0
        self._succeeded = 0
        self._places = asyncio.Semaphore(most)
        self._too_many = 0

    async def enter(self) -> None:
        """Take a place; wait for one if need be."""
        await self._places.acquire()
        self._under_way += 1

    def leave(self) -> None:
        """Give a place back."""
        self._under_way -= 1
        self._give()

    def succeeded(self) -> None:
        """Hear that the endpoint took a call; call before leaving."""
        self._succeeded += 1
        if self.allowed < self._most and self._succeeded >= ROUNDS_BEFORE_ONE_MORE * self.allowed:
            self.allowed += 1
            self._succeeded = 0
            self._give()

    async def refused(self) -> None:
        """Hear that a call was one too many; call before leaving."""
        allowed = max(1, min(self.allowed, self._under_way - 1))
        self._too_many += self.allowed - allowed
        self.allowed = allowed
        self._succeeded = 0
        while self._too_many and not self._places.locked():
            await self._places.acquire()
            self._too_many -= 1

    def _give(self) -> None:
        """Give a place to whoever waits, unless there are more than are allowed now."""
        if self._too_many:
            self._too_many -= 1
        else:
            self._places.release()


class CircuitBreaker:
    """Whether there is an endpoint at all, which one item that reached nobody cannot tell.

    Such an item is held until it is clear what it means. A reply to a call that was made later
    makes it an error of the item; too many such items in a row mean that nobody is there, and then
    they are no errors but still to be asked.

    Attributes:
        calls: that were made.
        answered: the number of the last one that anything came back for.
        held: items that reached nobody, each with the number of its last call.
    """

    def __init__(self) -> None:
        self.calls = self.answered = 0
        self.held: dict[asyncio.Future[bool], int] = {}

    def hear(self, call: int) -> None:
        """Hear from the endpoint: held items whose last call was before this one are lost."""
        self.answered = max(self.answered, call)
        self.release(is_lost=True, before=self.answered)

    async def hold(self, call: int) -> bool:
        """Hold an item by its last call until it is known whether it is lost."""
        is_lost: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.held[is_lost] = call
        return await is_lost

    def release(self, *, is_lost: bool, before: float = math.inf) -> None:
        """Hold items no longer whose last call was before one, or none any more."""
        for future in [future for future, call in self.held.items() if call < before]:
            del self.held[future]
            if not future.done():
                future.set_result(is_lost)


@dataclass
class Attempts:
    """What the calls of one request came to.

    Attributes:
        answer: the reply, or the failure of the last attempt.
        number: so many.
        began: when.
        cost: as far as it is known; None as soon as that of one call is not.
        charged: what was booked against the limit, unknown costs at the most they can be.
        last_call: the number of the last one among all calls of the run.
    """

    answer: Completion | Failure = field(init=False)
    number: int = 0
    began: float = field(default_factory=time.monotonic)
    cost: Decimal | None = Decimal(0)
    charged: Decimal = Decimal(0)
    last_call: int = 0

    def measured(self) -> dict[str, Any]:
        """Return seconds, attempts and the like, which differ from run to run."""
        seconds = round(time.monotonic() - self.began, 3)
        return {"seconds": seconds, "attempts": self.number, "charged": str(self.charged)}


class RequestExecutor:
    """Makes the calls of a run and knows when no more may be made.

    Args:
        model: who answers.
        config: retries, prices and the limit on cost.
        keep_learned: keeps what the endpoint refuses, once it is learned.

    Attributes:
        stopped: why no more calls are made; empty as long as they are.

    Raises:
        UserError: the limit on cost cannot be held.
    """

    _ledger: CostLedger
    _begin_worker: Callable[[], None]

    def __init__(
        self, model: Model, config: RunConfig, keep_learned: Callable[[dict[str, str]], None]
    ) -> None:
        self.stopped = ""
        self._model = model
        self._keep_learned = keep_learned
        self._retries = config.retries
        self._budget = config.budget or Budget(config.max_cost)
        self._price = config.prices.of(model.address, model.model)
        self._most_tokens = longest_reply_under(self._budget.limit, self._price, model)
        self._has_answered = False
        # How often each item was told what may be true of all, without a reply between.
        self._told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._refusal: tuple[int | None, str, str] | None = None
        self._opened = asyncio.Event()
        self._is_opened = model.address == IN_PROCESS
        if self._is_opened:
            self._opened.set()
        self._stop = asyncio.Event()
        self._not_before = 0.0
        self._slots = max(1, config.concurrency)
        self._limiter = AdaptiveLimiter(self._slots)
        self._breaker = CircuitBreaker()
        self._at_work = 0

    def resume(self, ledger: CostLedger, lines: Iterable[Line]) -> None:
        """Go on from what earlier starts spent, and from what came back in them.

        Args:
            ledger: where it is kept what calls cost.
            lines: of the journal; read as far as the first reply.
        """
        self._ledger = ledger
        self._budget.book(Decimal(0), ledger.before.charged)
        self._has_answered = any("text" in line for line in lines)

    async def drain(
        self,
        take: Callable[[], Item | Episode | None],
        process: Callable[[Item | Episode], Awaitable[None]],
    ) -> None:
        """Bring all work to its end, a bounded number at a time, or stop.

        Args:
            take: returns the next piece of work; None if there is no more.
            process: brings one to its end.

        Raises:
            Exception: the first that one of both raised. Work under way is awaited before: what it
                brings may be paid for.
        """
        errors: list[Exception] = []

        async def worker() -> None:
            try:
                # After pieces that stood aside there are more at work than are wished.
                while not self._stop.is_set() and self._at_work <= self._slots:
                    work = take()
                    if work is None:
                        return
                    await process(work)
            except Exception as error:  # noqa: BLE001  raised when the others have come to their ends
                errors.append(error)
                self._end_all()
            finally:
                self._at_work -= 1
                if not self._at_work:
                    # Nobody is left who could hear from the endpoint.
                    self._breaker.release(is_lost=True)

        async with asyncio.TaskGroup() as group:

            def begin() -> None:
                self._at_work += 1
                group.create_task(worker())

            self._begin_worker = begin
            for _ in range(self._slots):
                begin()
        if errors:
            raise errors[0]

    async def call(self, request: Request) -> Attempts | None:
        """Ask until there is a reply or a failure that stays; None if the run stopped before.

        Others wait for the first request of a run, for a moment: its refusal would be theirs too.
        """
        if not self._is_opened and not self._has_answered:
            self._is_opened = True
            try:
                return await self._call(request)
            finally:
                self._opened.set()
                await asyncio.sleep(0)  # the others are on their way before this reply is read
        if not self._has_answered:
            await _within(_LONGEST_OPENING, self._opened)
            self._opened.set()  # it takes its time; no other request waits for it again
        return await self._call(request)

    async def _call(self, request: Request) -> Attempts | None:
        name = f"{request.item.id}/{request.item.sample}"
        made = Attempts()
        while not await _within(self._not_before - time.monotonic(), self._stop):
            made.number += 1
            answer = await self._attempt(request, made)
            if answer is None:
                return None
            made.answer = answer
            if isinstance(answer, Completion):
                return made
            if self._is_of_all(answer, name):
                self.stop_for(answer, request)
                return None
            self._opened.set()  # what it was told is no refusal of all others
            if not self._retries.may_retry(answer, made.number):
                is_in_doubt = answer.is_unreached and self._breaker.answered < made.last_call
                return made if not is_in_doubt or await self._is_lost(answer, made) else None
            if self._retries.asks_too_much(answer):
                answer = replace(answer, retry_after=None)
            if answer.retry_after is not None:  # all other items wait too
                until = time.monotonic() + answer.retry_after
                self._not_before = max(self._not_before, until)
            if await _within(self._retries.wait(answer, name, made.number), self._stop):
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
        retries, each, most = self._retries, 1, self._retries.by_words
        if failure.stops_the_run or retries.asks_too_much(failure):
            told = "declined"
            is_of_one = failure.kind in (Kind.KEY, Kind.MODEL) and failure.status != _UNAUTHORIZED
            if not failure.is_by_words:
                most = retries.declined if is_of_one and self._has_answered else 1
        elif failure.is_refused_request:
            told = "refused"
            if self._has_answered:
                most = retries.refused
                if failure.words != self._refusal:
                    self._told[told].clear()
            self._refusal = failure.words
        elif failure.kind is Kind.BROKEN and failure.status == _OK and not failure.code:
            told, each = "another form", min(2, retries.attempts)
            if self._has_answered:
                return False
        else:
            return False
        self._told[told][name] += 1
        return sum(times >= each for times in self._told[told].values()) >= most

    async def _is_lost(self, failure: Failure, made: Attempts) -> bool:
        """Hold an item that reached nobody, while others are asked, until it is clear why.

        Returns:
            False if nobody is there, or the run stopped: then it is asked in the next start.
        """
        if self._stop.is_set():
            return False
        # Of silence as many as may be asked at a time: each of them has waited for itself alone.
        most = max(2, self._slots) if failure.is_silence else self._retries.unreached
        if len(self._breaker.held) + 1 >= most:
            self._stop_because(
                f"{failure.sentence()}, for {most} items in a row and all"
                f" attempts: {self._model.address}"
            )
            return False
        self._at_work -= 1
        self._begin_worker()
        try:
            return await self._breaker.hold(made.last_call)
        finally:
            self._at_work += 1

    async def _attempt(self, request: Request, made: Attempts) -> Completion | Failure | None:
        """Make one call when there is a place for it; None if the run stopped before."""
        await self._limiter.enter()
        try:
            if self._stop.is_set():
                return None
            self._breaker.calls += 1
            call = made.last_call = self._breaker.calls
            answer = await self._within_budget(request, made)
            if isinstance(answer, Completion):
                self._limiter.succeeded()
                self._has_answered = True
                self._told.clear()
            elif answer is None or answer.is_unreached:
                return answer
            elif answer.kind is Kind.LIMIT:
                await self._limiter.refused()
            self._breaker.hear(call)
            return answer
        finally:
            self._limiter.leave()

    async def _within_budget(self, request: Request, made: Attempts) -> Completion | Failure | None:
        """Make one call; None if the budget does not allow it."""
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
            answer: Completion | Failure = await self._model.ask(request)
            if isinstance(answer, Completion) and self._price is not None:
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
                self._ledger.end(number, cost, charged, is_new=not most)
        self._keep_learned(self._model.fallbacks.learned)
        return answer

    def _stop_because(self, reason: str) -> None:
        self.stopped = self.stopped or f"{reason}. Start the same run again to go on."
        self._end_all()

    def _end_all(self) -> None:
        self._stop.set()
        self._breaker.release(is_lost=False)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait; tell whether something has happened by then."""
    if seconds > 0:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
    return event.is_set()
