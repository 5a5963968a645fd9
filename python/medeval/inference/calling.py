"""The calls of one start of a run: within the budget, tried again, until something stops them all.

What is asked, one question an item or many in a conversation, is for the runners to say.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count
from typing import Any, TypeVar

from medeval.errors import UserError
from medeval.inference.cost import Budget, CostLedger, Prices, longest_reply_under, request_bytes
from medeval.inference.errors import CallFailedError, Failure, Kind, RetryPolicy
from medeval.inference.executor import AdaptiveLimiter, CircuitBreaker, Workers
from medeval.inference.journal import Line
from medeval.inference.run import RunFolder
from medeval.inference.types import Completion, Model, Request

Work = TypeVar("Work")


@dataclass(frozen=True)
class Called:
    """What came of a request after all its attempts.

    Attributes:
        answer: the reply, or the failure of the last attempt.
        cost: of all attempts; None if it is unknown.
        measured: seconds, attempts and the like, which differ from run to run.
    """

    answer: Completion | Failure
    cost: Decimal | None
    measured: dict[str, Any]


class Caller:
    """Makes the calls of a run and knows when no more may be made.

    Args:
        provider: who answers.
        folder: where it is kept what an endpoint refuses.
        retries: when and how often a failed call is made again.
        prices: what tokens cost.
        budget: not exceeded.

    Attributes:
        stopped: why no more calls are made; empty as long as they are.

    Raises:
        UserError: the limit on cost cannot be held.
    """

    def __init__(
        self,
        provider: Model,
        folder: RunFolder,
        retries: RetryPolicy,
        prices: Prices,
        budget: Budget,
    ) -> None:
        self.stopped = ""
        self._provider = provider
        self._folder = folder
        self._retries = retries
        self._budget = budget
        self._price = prices.of(provider.address, provider.model)
        self._most_tokens = longest_reply_under(budget.limit, self._price, provider)
        self._spending: CostLedger | None = None
        self._has_answered = False
        self._declined: set[str] = set()
        self._formless: Counter[str] = Counter()
        self._refused: set[str] = set()
        self._refusal: tuple[int | None, str, str] | None = None
        self._stop = asyncio.Event()
        self._not_before = 0.0
        self._pace = AdaptiveLimiter(1)
        self._reach = CircuitBreaker()
        self._slots = 1
        self._stand_aside: Callable[[Awaitable[bool]], Awaitable[bool]] | None = None

    def take_up(self, spending: CostLedger, lines: Iterable[Line]) -> None:
        """Go on from what earlier starts spent, and from what came back in them.

        Args:
            spending: where it is kept what calls cost.
            lines: of the journal; read as far as the first reply.
        """
        self._spending = spending
        self._budget.book(Decimal(0), spending.before.charged)
        self._has_answered = any("text" in line for line in lines)

    async def work_off(
        self,
        take: Callable[[], Work | None],
        bring: Callable[[Work], Awaitable[None]],
        concurrency: int,
    ) -> None:
        """Bring all work to its end, a bounded number at a time, or stop.

        Args:
            take: returns the next piece of work; None if there is no more.
            bring: brings one to its end.
            concurrency: pieces under way at a time; fewer where the endpoint takes no more.

        Raises:
            Exception: the first that one of both raised. Work under way is awaited before.
        """
        most = self._slots = max(1, concurrency)
        self._pace = AdaptiveLimiter(most)
        workers = Workers(
            take,
            bring,
            most,
            is_stopped=self._stop.is_set,
            on_error=self._end_all,
            # Nobody is left who could hear from the endpoint.
            on_idle=lambda: self._reach.let_all_go(is_lost=True),
        )
        self._stand_aside = workers.stand_aside
        await workers.to_the_end()

    async def call(self, request: Request) -> Called | None:
        """Ask until there is a reply or a failure that stays; None if the run stopped before."""
        name = f"{request.item.id}/{request.item.sample}"
        spent = _Spent()
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
                    self._stop_with_words(answer, request)
                    return None
                if self._retries.may_retry(answer, attempt):
                    self._hold_back(answer)
                    if await self._is_stopped_within(self._retries.wait(answer, name, attempt)):
                        return None
                    continue
                if (
                    (answer.is_unreached or answer.is_silence)
                    and self._reach.is_in_doubt(spent.last_call)
                    and not await self._is_lost(answer, spent.last_call)
                ):
                    return None
            return Called(answer, spent.cost, spent.measured(attempt))
        return None

    def stop_for(self, failure: Failure) -> None:
        """Make no more calls, since every one of them would fail in the same way."""
        asked = failure.retry_after
        wait = "" if asked is None else f"; it asks to be left alone for {asked:.0f} seconds"
        self._stop_because(failure.sentence() + wait)

    def _stop_with_words(self, failure: Failure, request: Request) -> None:
        """Stop, and show what the endpoint wrote if the item is open."""
        words = f": {failure.detail}" if request.item.is_open and failure.detail else ""
        self._stop_because(failure.sentence() + words)

    def _is_of_another_form(self, failure: Failure, name: str) -> bool:
        """Tell whether the endpoint sends no chat completions at all.

        Two items are told so before any success, each twice: one such reply may pass.
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
        policy = self._retries
        return len(self._refused) >= (policy.refused if self._has_answered else policy.by_words)

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
        if self._reach.is_nobody_there(most):
            self._stop_because(
                f"{failure.sentence()}, for {most} items in a row and all"
                f" attempts: {self._provider.address}"
            )
            return False
        if self._stand_aside is None:
            return True  # there are no others who could tell
        return await self._stand_aside(self._reach.hold(call))

    async def _attempt_in_turn(
        self, request: Request, spent: _Spent
    ) -> Completion | Failure | None:
        """Make one call when there is a place for it; None if the run stopped before."""
        await self._pace.enter()
        try:
            if self._stop.is_set():
                return None
            call = spent.last_call = self._reach.begin()
            answer = await self._attempt(request, spent)
            if isinstance(answer, Failure) and answer.kind is Kind.LIMIT:
                self._pace.refused()
            elif isinstance(answer, Completion):
                self._pace.succeeded()
                self._has_answered = True
                self._declined.clear()
                self._refused.clear()
            if isinstance(answer, Completion) or (answer is not None and answer.came_back):
                self._reach.hear(call)
            return answer
        finally:
            self._pace.leave()

    async def _attempt(self, request: Request, spent: _Spent) -> Completion | Failure | None:
        """Make one call within the budget; None if the budget does not allow it."""
        most = self._most(request)
        if not await self._budget.set_aside(most):
            self._stop_because(
                f"The next call could exceed the limit of {self._budget.limit}, of which"
                f" {self._budget.spent:f} is spent: raise it"
            )
            return None
        number = self._begun(most)
        cost: Decimal | None = None
        try:
            answer: Completion | Failure = await self._asked(request)
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
            if (kept := self._spending) and (self._price is not None or kept.is_kept):
                kept.end(number, cost, charged, is_new=not most)
        self._folder.record_learned(self._provider.adaptation.learned)
        return answer

    def _begun(self, most: Decimal) -> int:
        """Keep that a call is made, before it is made, and return its number."""
        if self._spending is None:
            return 0
        try:
            return self._spending.begin(most)
        except UserError:
            self._budget.book(most, Decimal(0))
            raise

    async def _asked(self, request: Request) -> Completion:
        try:
            return await self._provider.ask(request)
        except CallFailedError as error:
            if not (
                error.is_of_another and self._has_answered and error.failure.may_be_of_one_item
            ):
                raise
        # What the first item of this start was told need not hold for any other.
        return await self._provider.ask(request)

    def _most(self, request: Request) -> Decimal:
        if self._price is None or self._budget.limit is None:
            return Decimal(0)
        return self._price.at_most(request_bytes(request), self._most_tokens)

    def _hold_back(self, failure: Failure) -> None:
        """Let all other items wait too when the endpoint says for how long."""
        if failure.retry_after is not None:
            self._not_before = max(self._not_before, time.monotonic() + failure.retry_after)

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
        self._reach.let_all_go(is_lost=False)


class _Spent:
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
