"""The calls of one start of a run: within the budget, tried again, until something stops them all.

What is asked, one question or many in a conversation, is for the engine to say.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from medeval.errors import UserError
from medeval.inference.cost import Budget, CostLedger, longest_reply_under, request_bytes
from medeval.inference.errors import CallFailedError, Failure, Kind
from medeval.inference.guard import IN_PROCESS
from medeval.inference.limits import AdaptiveLimiter, CircuitBreaker
from medeval.inference.lines import Line
from medeval.inference.types import Completion, Model, Request

if TYPE_CHECKING:
    from medeval.inference.run import RunConfig

Work = TypeVar("Work")

# Seconds in which an endpoint refuses what it does not take; a reply may take longer.
_LONGEST_OPENING = 1.0


@dataclass(frozen=True)
class CallResult:
    """What came of a request after all its attempts.

    Attributes:
        answer: the reply, or the failure of the last attempt.
        cost: of all attempts; None if it is unknown.
        measured: seconds, attempts and the like, which differ from run to run.
    """

    answer: Completion | Failure
    cost: Decimal | None
    measured: dict[str, Any]


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
        self._ledger: CostLedger | None = None
        self._has_answered = False
        self._declined: set[str] = set()
        self._formless: Counter[str] = Counter()
        self._refused: set[str] = set()
        self._refusal: tuple[int | None, str, str] | None = None
        self._is_opened = False
        self._opened = asyncio.Event()
        if model.address == IN_PROCESS:
            self._opened.set()
        self._stop = asyncio.Event()
        self._not_before = 0.0
        self._slots = max(1, config.concurrency)
        self._limiter = AdaptiveLimiter(self._slots)
        self._breaker = CircuitBreaker()
        self._at_work = 0
        self._begin_worker: Callable[[], None] | None = None

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
        self, take: Callable[[], Work | None], process: Callable[[Work], Awaitable[None]]
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
                    self._breaker.release_all(is_lost=True)

        async with asyncio.TaskGroup() as group:

            def begin() -> None:
                self._at_work += 1
                group.create_task(worker())

            self._begin_worker = begin
            for _ in range(self._slots):
                begin()
        if errors:
            raise errors[0]

    async def call(self, request: Request) -> CallResult | None:
        """Ask until there is a reply or a failure that stays; None if the run stopped before."""
        if self._has_answered or self._opened.is_set():
            return await self._call(request)
        if self._is_opened:
            await self._wait_for_the_first()
            return await self._call(request)
        self._is_opened = True
        try:
            return await self._call(request)
        finally:
            self._opened.set()
            await asyncio.sleep(0)  # the others are on their way before this reply is read

    async def _wait_for_the_first(self) -> None:
        """Wait for the first request of a run, whose refusal would be that of all others."""
        try:
            async with asyncio.timeout(_LONGEST_OPENING):
                await self._opened.wait()
        except TimeoutError:
            self._opened.set()  # it takes its time; no other request waits for it again

    async def _call(self, request: Request) -> CallResult | None:
        name = f"{request.item.id}/{request.item.sample}"
        spent = _RequestSpent()
        for attempt in count(1):
            if await self._is_stopped_within(self._not_before - time.monotonic()):
                return None
            answer = await self._attempt_in_turn(request, spent)
            if answer is None:
                return None
            if isinstance(answer, Failure):
                if answer.stops_the_run or self._retries.asks_too_much(answer):
                    if self._is_of_all(answer, name):
                        self.stop_for(answer)
                        return None
                    answer = replace(answer, retry_after=None)
                if self._is_of_another_form(answer, name) or self._is_refused(answer, name):
                    # What the endpoint wrote may repeat the prompt: it is shown if that is open.
                    words = f": {answer.detail}" if request.item.is_open and answer.detail else ""
                    self._stop_because(answer.sentence() + words)
                    return None
                self._opened.set()  # what it was told is no refusal of all others
                if self._retries.may_retry(answer, attempt):
                    if answer.retry_after is not None:  # all other items wait too
                        until = time.monotonic() + answer.retry_after
                        self._not_before = max(self._not_before, until)
                    if await self._is_stopped_within(self._retries.wait(answer, name, attempt)):
                        return None
                    continue
                if (
                    (answer.is_unreached or answer.is_silence)
                    and self._breaker.is_in_doubt(spent.last_call)
                    and not await self._is_lost(answer, spent.last_call)
                ):
                    return None
            return CallResult(answer, spent.cost, spent.measured(attempt))
        return None

    def stop_for(self, failure: Failure) -> None:
        """Make no more calls, since every one of them would fail in the same way."""
        reason = failure.sentence()
        if failure.retry_after is not None:
            reason += f"; it asks to be left alone for {failure.retry_after:.0f} seconds"
        self._stop_because(reason)

    def _is_of_another_form(self, failure: Failure, name: str) -> bool:
        """Tell whether the endpoint sends no chat completions at all.

        Two items show it before any success, each twice: one such reply may pass.
        """
        if self._has_answered or not failure.is_of_another_form:
            return False
        self._formless[name] += 1
        most = min(2, self._retries.attempts)
        return sum(count >= most for count in self._formless.values()) >= self._retries.by_words

    def _is_refused(self, failure: Failure, name: str) -> bool:
        """Tell whether the endpoint refuses requests as they are made, and not only this one.

        Without a success, two items are enough; after one, several in a row in the same words.
        """
        if not failure.is_refused_request:
            return False
        if failure.words != self._refusal and self._has_answered:
            self._refused.clear()
        self._refusal = failure.words
        self._refused.add(name)
        most = self._retries.refused if self._has_answered else self._retries.by_words
        return len(self._refused) >= most

    def _is_of_all(self, failure: Failure, name: str) -> bool:
        """Tell whether what would stop the run is more than the affair of its item.

        Gateways decline single items in the words of a bad key or an unknown model, and a sentence
        may repeat what the item says. It takes several items in a row to believe it: two for a
        sentence, more for a status where the endpoint has answered before.
        """
        self._declined.add(name)
        if failure.is_by_words:
            return len(self._declined) >= self._retries.by_words
        if not (self._has_answered and failure.may_be_of_one_item):
            return True
        return len(self._declined) >= self._retries.declined

    async def _is_lost(self, failure: Failure, call: int) -> bool:
        """Hold an item that reached nobody, while others are asked, until it is clear why.

        Returns:
            False if nobody is there, or the run stopped: then it is asked in the next start.
        """
        if self._stop.is_set():
            return False
        # Of silence as many as may be asked at a time: each of them has waited for itself alone.
        most = max(2, self._slots) if failure.is_silence else self._retries.unreached
        if self._breaker.is_open(most):
            self._stop_because(
                f"{failure.sentence()}, for {most} items in a row and all"
                f" attempts: {self._model.address}"
            )
            return False
        if self._begin_worker is None:
            return True  # there are no others who could tell
        self._at_work -= 1
        self._begin_worker()
        try:
            return await self._breaker.hold(call)
        finally:
            self._at_work += 1

    async def _attempt_in_turn(
        self, request: Request, spent: _RequestSpent
    ) -> Completion | Failure | None:
        """Make one call when there is a place for it; None if the run stopped before."""
        await self._limiter.enter()
        try:
            if self._stop.is_set():
                return None
            call = spent.last_call = self._breaker.begin()
            answer = await self._attempt(request, spent)
            if isinstance(answer, Failure) and answer.kind is Kind.LIMIT:
                self._limiter.refused()
            elif isinstance(answer, Completion):
                self._limiter.succeeded()
                self._has_answered = True
                self._declined.clear()
                self._refused.clear()
            if isinstance(answer, Completion) or (answer is not None and answer.came_back):
                self._breaker.hear(call)
            return answer
        finally:
            self._limiter.leave()

    async def _attempt(self, request: Request, spent: _RequestSpent) -> Completion | Failure | None:
        """Make one call within the budget; None if the budget does not allow it."""
        most = Decimal(0)
        if self._price is not None and self._budget.limit is not None:
            most = self._price.at_most(request_bytes(request), self._most_tokens)
        if not await self._budget.set_aside(most):
            self._stop_because(
                f"The next call could exceed the limit of {self._budget.limit}, of which"
                f" {self._budget.spent:f} is spent: raise it"
            )
            return None
        number, cost = 0, None
        try:
            if self._ledger is not None:
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
            spent.add(cost, charged)
            ledger = self._ledger if number else None
            if ledger is not None and (self._price is not None or ledger.is_kept):
                ledger.end(number, cost, charged, is_new=not most)
        self._keep_learned(self._model.fallbacks.learned)
        return answer

    async def _is_stopped_within(self, seconds: float) -> bool:
        """Wait; tell whether the run was stopped in the meantime."""
        if seconds > 0:
            try:
                async with asyncio.timeout(seconds):
                    await self._stop.wait()
            except TimeoutError:
                pass
        return self._stop.is_set()

    def _stop_because(self, reason: str) -> None:
        self.stopped = self.stopped or f"{reason}. Start the same run again to go on."
        self._end_all()

    def _end_all(self) -> None:
        self._stop.set()
        self._breaker.release_all(is_lost=False)


class _RequestSpent:
    """What the calls of one request cost, in time and money.

    Attributes:
        cost: as far as it is known; None as soon as that of one call is not.
        charged: what was booked against the limit, unknown costs at the most they can be.
        last_call: the number of the last one among all calls of the run.
    """

    def __init__(self) -> None:
        self.last_call = 0
        self._began = time.monotonic()
        self.cost: Decimal | None = Decimal(0)
        self.charged = Decimal(0)

    def add(self, cost: Decimal | None, charged: Decimal) -> None:
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.charged += charged

    def measured(self, attempts: int) -> dict[str, Any]:
        return {
            "seconds": round(time.monotonic() - self._began, 3),
            "attempts": attempts,
            "charged": str(self.charged),
        }
