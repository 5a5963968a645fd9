"""A run: many items to one model, a bounded number at a time, each brought to exactly one end.

Items come from an iterator and answers go to the journal, so memory holds the items under way and
a short entry per item, never the texts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from medeval.errors import UserError
from medeval.inference.cost import Budget, CostLedger, Prices, Spent
from medeval.inference.errors import Failure, RetryPolicy
from medeval.inference.executor import RequestExecutor
from medeval.inference.journal import Journal, Line
from medeval.inference.lines import CanRead, answered_line, failed_line
from medeval.inference.run import OnProgress, Progress, RunFolder
from medeval.inference.types import Item, Model, Outcome, Request

AskFurther = Callable[[Item, Line], Item | None]


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
        can_read: tells whether the task finds an answer to an item in a reply without its
            thinking; None to leave that to the score.
        ask_further: called with each item and the line of its end, from this start or an earlier
            one; may return a further sample of it, which is asked next.
        on_begun: called once, when the run has its folder to itself and can be made as it is
            wished, before anything is asked.
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
    ask_further: AskFurther | None = None
    on_begun: Callable[[], None] | None = None
    on_progress: OnProgress | None = None


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        progress: the sums.
        stopped: why it ended before its items did; empty if all came to an end. The same run
            started again goes on where it stopped.
        spent: on all calls of this start and those before it, also those whose item has no line;
            None if none of them had a price.
    """

    progress: Progress
    stopped: str = ""
    spent: Spent | None = None


def settings_of(provider: Model, prompt_version: str) -> dict[str, Any]:
    """Return what `run.json` must say of the model, for a run to be gone on with."""
    return {
        "endpoint": provider.address,
        "model": provider.model,
        "parameters": dict(provider.parameters),
        "prompt_version": prompt_version,
    }


def run(items: Iterable[Item], provider: Model, folder: RunFolder, options: RunOptions) -> Ended:
    """Ask all items and wait for the end; see `run_items`."""
    return asyncio.run(run_items(items, provider, folder, options))


async def run_items(
    items: Iterable[Item], provider: Model, folder: RunFolder, options: RunOptions
) -> Ended:
    """Ask all items that the journal of the folder does not answer yet.

    Raises:
        UserError: an item may not be sent, came twice or was asked otherwise before; a limit on
            cost cannot be held; the disk is full. Calls under way are awaited and kept first.
        Exception: what `can_read` or `ask_further` raised; the reply is kept all the same.
    """
    budget = options.budget or Budget(options.max_cost)
    caller = RequestExecutor(provider, folder, options.retries, options.prices, budget)
    provider.fallbacks.recall(folder.learned)
    spending = CostLedger(folder.journal)  # before lines are taken out
    with Journal(folder.journal, options.ask_again) as journal, spending:
        caller.take_up(spending, journal.lines())
        if options.on_begun is not None:
            options.on_begun()
        try:
            progress = await _Run(items, provider, options, journal, caller).to_the_end()
        finally:
            await provider.close()
    return Ended(progress, caller.stopped, spending.total if spending.is_kept else None)


class _Run:
    """One start of a run."""

    def __init__(
        self,
        items: Iterable[Item],
        provider: Model,
        options: RunOptions,
        journal: Journal,
        caller: RequestExecutor,
    ) -> None:
        self._items: Iterator[Item] = iter(items)
        self._further: deque[Item] = deque()
        self._provider = provider
        self._options = options
        self._journal = journal
        self._caller = caller
        self._seen: set[tuple[str, int]] = set()
        self._progress = Progress()

    async def to_the_end(self) -> Progress:
        await self._caller.work_off(self._next, self._bring, self._options.concurrency)
        return self._progress

    def _next(self) -> Request | None:
        """Return the next request that has no answer yet; None at the end."""
        while (item := self._next_item()) is not None:
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
                raise asked_otherwise(self._journal, item)
            line = self._journal.read(*name)
            if line is not None:
                self._end(item, line, is_new=False)
        return None

    async def _bring(self, request: Request) -> None:
        """Bring an item to its end, unless the run stops before."""
        called = await self._caller.call(request)
        if called is None:
            return
        answer, cost, measured = called.answer, called.cost, called.measured
        if isinstance(answer, Failure):
            line = failed_line(request, answer, cost, measured)
        else:
            try:
                line = answered_line(request, answer, cost, measured, self._options.can_read)
            except Exception:
                # It is paid for: kept as a reply in which nothing is found, whatever failed.
                self._journal.append(answered_line(request, answer, cost, measured, _finds_nothing))
                raise
        self._journal.append(line)
        self._end(request.item, line, is_new=True)

    def _next_item(self) -> Item | None:
        return self._further.popleft() if self._further else next(self._items, None)

    def _end(self, item: Item, line: Line, is_new: bool) -> None:
        if self._options.ask_further is not None:
            further = self._options.ask_further(item, line)
            if further is not None:
                self._further.append(further)
        self._progress.add(line, is_new)
        if self._options.on_progress is not None:
            self._options.on_progress(self._progress)


def _finds_nothing(_item: Item, _reply: str) -> bool:
    return False


def asked_otherwise(journal: Journal, item: Item) -> UserError:
    """Return the error of an item whose line answers another request than the one to be made."""
    return UserError(
        f"{journal.path}: item {item.id!r} (sample {item.sample}) was asked otherwise before: its"
        " messages, the model, the parameters or the prompt version have changed. Choose another"
        " folder for a new run."
    )
