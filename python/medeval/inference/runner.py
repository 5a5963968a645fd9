"""A run: many items to one model, a bounded number at a time, each brought to exactly one end.

Items come from an iterator and answers go to the journal, so memory holds the items under way and
a short entry per item, never the texts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import Any

from medeval.errors import UserError
from medeval.inference.budget import Budget
from medeval.inference.completions import Completion
from medeval.inference.estimates import longest_reply, request_bytes
from medeval.inference.failures import CallFailedError, Failure
from medeval.inference.journal import Journal, Line
from medeval.inference.lines import CanRead, answered_line, failed_line
from medeval.inference.outcomes import Outcome
from medeval.inference.prices import Price, Prices
from medeval.inference.progress import OnProgress, Progress
from medeval.inference.providers import Provider
from medeval.inference.requests import Item, Request
from medeval.inference.retries import RetryPolicy
from medeval.inference.run_folder import RunFolder


@dataclass(frozen=True)
class RunOptions:
    """How a run is made.

    Attributes:
        prompt_version: of the text around the items' own; part of each request's key.
        concurrency: items under way at a time.
        retries: when and how often a failed call is made again.
        prices: what tokens cost.
        max_cost: not exceeded; None for no limit. Instead of it `budget` may be given to share a
            limit with judges.
        budget: shared with other runs.
        ask_again: items that ended so in an earlier start are asked again.
        can_read: tells whether the task finds an answer in a reply without its thinking; None to
            leave that to the score.
        on_progress: called after each item.
    """

    prompt_version: str = ""
    concurrency: int = 8
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    prices: Prices = field(default_factory=Prices)
    max_cost: Decimal | None = None
    budget: Budget | None = None
    ask_again: frozenset[Outcome] = frozenset()
    can_read: CanRead | None = None
    on_progress: OnProgress | None = None


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        progress: the sums.
        stopped: why it ended before its items did; empty if all came to an end. The same run
            started again goes on where it stopped.
    """

    progress: Progress
    stopped: str = ""


def settings_of(provider: Provider, prompt_version: str) -> dict[str, Any]:
    """Return what `run.json` must say of the model, for a run to be gone on with."""
    return {
        "endpoint": provider.address,
        "model": provider.model,
        "parameters": dict(provider.parameters),
        "prompt_version": prompt_version,
    }


def run(items: Iterable[Item], provider: Provider, folder: RunFolder, options: RunOptions) -> Ended:
    """Ask all items and wait for the end; see `run_items`."""
    return asyncio.run(run_items(items, provider, folder, options))


async def run_items(
    items: Iterable[Item], provider: Provider, folder: RunFolder, options: RunOptions
) -> Ended:
    """Ask all items that the journal of the folder does not answer yet.

    Raises:
        UserError: an item may not be sent, came twice or was asked otherwise before; a limit on
            cost cannot be held; the disk is full. Calls under way are awaited and kept first.
    """
    budget = options.budget or Budget(options.max_cost)
    price = options.prices.of(provider.address, provider.model)
    most_tokens = _held(budget, price, provider)
    provider.adaptation.recall(folder.learned)
    with Journal(folder.journal, options.ask_again) as journal:
        for line in journal.lines():
            budget.book(Decimal(0), Decimal(line["measured"].get("charged") or 0))
        try:
            work = _Run(items, provider, folder, options, journal, budget, price, most_tokens)
            return await work.to_the_end()
        finally:
            await provider.close()


def _held(budget: Budget, price: Price | None, provider: Provider) -> int:
    """Return the most tokens of a reply, without which no limit on cost can be held."""
    if budget.limit is None:
        return 0
    if price is None:
        raise UserError(
            f"A limit on cost cannot be held: the price of {provider.model} at {provider.address}"
            " is unknown. Add it to the file of prices, or leave the limit out."
        )
    tokens = longest_reply(provider)
    if tokens is None:
        raise UserError(
            "A limit on cost cannot be held without a limit on the length of replies. Set"
            " max_tokens."
        )
    return tokens


class _Run:
    """One start of a run."""

    def __init__(
        self,
        items: Iterable[Item],
        provider: Provider,
        folder: RunFolder,
        options: RunOptions,
        journal: Journal,
        budget: Budget,
        price: Price | None,
        most_tokens: int,
    ) -> None:
        self._items: Iterator[Item] = iter(items)
        self._provider = provider
        self._folder = folder
        self._options = options
        self._journal = journal
        self._budget = budget
        self._price = price
        self._most_tokens = most_tokens
        self._seen: set[tuple[str, int]] = set()
        self._progress = Progress()
        self._stop = asyncio.Event()
        self._stopped = ""
        self._error: UserError | None = None
        self._not_before = 0.0

    async def to_the_end(self) -> Ended:
        workers = [
            asyncio.create_task(self._work()) for _ in range(max(1, self._options.concurrency))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        if self._error is not None:
            raise self._error
        return Ended(self._progress, self._stopped)

    async def _work(self) -> None:
        try:
            while not self._stop.is_set():
                request = self._next()
                if request is None:
                    return
                line = await self._brought_to_an_end(request)
                if line is not None:
                    self._journal.append(line)
                    self._report(line, is_new=True)
        except UserError as error:
            self._error = self._error or error
            self._stop.set()

    def _next(self) -> Request | None:
        """Return the next request that has no answer yet; None at the end."""
        for item in self._items:
            name = (item.id, item.sample)
            if name in self._seen:
                raise UserError(f"Item {item.id!r} (sample {item.sample}) comes twice.")
            self._seen.add(name)
            provider = self._provider
            request = Request(
                item,
                provider.address,
                provider.model,
                provider.parameters,
                self._options.prompt_version,
            )
            place = self._journal.place(*name)
            if place is None:
                return request
            if place.key != request.key:
                raise UserError(
                    f"{self._journal.path}: item {item.id!r} (sample {item.sample}) was asked"
                    " otherwise before: its messages, the model, the parameters or the prompt"
                    " version have changed. Choose another folder for a new run."
                )
            line = self._journal.read(*name)
            if line is not None:
                self._report(line, is_new=False)
        return None

    def _report(self, line: Line, is_new: bool) -> None:
        self._progress.add(line, is_new)
        if self._options.on_progress is not None:
            self._options.on_progress(self._progress)

    async def _brought_to_an_end(self, request: Request) -> Line | None:
        """Return the line of an item; None if the run stopped before it came to an end."""
        policy = self._options.retries
        name = f"{request.item.id}/{request.item.sample}"
        spent = _Spent()
        for attempt in count(1):
            if await self._is_stopped_within(self._not_before - time.monotonic()):
                return None
            answer = await self._call(request, spent)
            if answer is None:
                return None
            if isinstance(answer, Failure):
                if answer.stops_the_run or policy.asks_too_much(answer):
                    self._stop_for(answer)
                    return None
                if policy.may_retry(answer, attempt):
                    self._hold_back(answer)
                    if await self._is_stopped_within(policy.wait(answer, name, attempt)):
                        return None
                    continue
            return self._line(request, answer, spent, attempt)
        return None

    async def _call(self, request: Request, spent: _Spent) -> Completion | Failure | None:
        """Make one call within the budget; None if the budget does not allow it."""
        most = self._most(request)
        if not await self._budget.set_aside(most):
            self._stop_because(f"The next call could exceed the limit of {self._budget.limit}")
            return None
        cost: Decimal | None = None
        try:
            answer: Completion | Failure = await self._provider.ask(request)
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
        self._folder.record_learned(self._provider.adaptation.learned)
        return answer

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

    def _stop_for(self, failure: Failure) -> None:
        asked = failure.retry_after
        wait = "" if asked is None else f"; it asks to be left alone for {asked:.0f} seconds"
        self._stop_because(failure.sentence() + wait)

    def _stop_because(self, reason: str) -> None:
        self._stopped = self._stopped or f"{reason}. Start the same run again to go on."
        self._stop.set()

    def _line(
        self, request: Request, answer: Completion | Failure, spent: _Spent, attempts: int
    ) -> Line:
        measured = {
            "seconds": round(time.monotonic() - spent.began, 3),
            "attempts": attempts,
            "charged": str(spent.charged),
        }
        if isinstance(answer, Failure):
            return failed_line(request, answer, spent.cost, measured)
        return answered_line(request, answer, spent.cost, measured, self._options.can_read)


class _Spent:
    """What the calls of one item cost, in time and money.

    Attributes:
        began: by the clock that only goes forward.
        cost: as far as it is known; None as soon as that of one call is not.
        charged: what was booked against the limit, unknown costs at the most they can be.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.cost: Decimal | None = Decimal(0)
        self.charged = Decimal(0)

    def add(self, cost: Decimal | None, charged: Decimal) -> None:
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.charged += charged
