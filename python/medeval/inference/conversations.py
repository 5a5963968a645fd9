"""A run of conversations: many episodes, a bounded number at a time, each brought to one end.

Every turn is one request through the same provider, gate, retries and budget as an item of a run
with one turn, and is in a journal of its own before the next one is asked. An episode that has come
to its end has one line in the run's journal, which reads like the line of an item.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from medeval.errors import UserError
from medeval.inference.cost import Budget, CostLedger
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure
from medeval.inference.executor import RequestExecutor
from medeval.inference.journal import Journal, Line, read_journal
from medeval.inference.lines import (
    Totals,
    answered_line,
    episode_line,
    failed_line,
    failure_of,
    turn_line,
    turn_of,
)
from medeval.inference.run import Progress, RunConfig, RunFolder, RunResult, asked_otherwise
from medeval.inference.tool_text import UnreadCallError, with_calls_in_text
from medeval.inference.types import (
    Ask,
    Completion,
    Episode,
    Item,
    Model,
    Outcome,
    Request,
    Turn,
    failed,
)

STEPS = "steps.jsonl"
_LET_IT_CALL = (
    "Let the server call tools (vLLM: --enable-auto-tool-choice and --tool-call-parser; llama.cpp:"
    " --jinja), or use the text protocol: --tool-protocol text."
)


@dataclass(frozen=True)
class EpisodesEnded(RunResult):
    """How a run of conversations ended.

    Attributes:
        reasons: episodes by the word that says why they ended otherwise than usual.
    """

    reasons: Mapping[str, int] = field(default_factory=dict)


def converse(
    episodes: Iterable[Episode], provider: Model, folder: RunFolder, options: RunConfig
) -> EpisodesEnded:
    """Have all conversations and wait for the end; see `run_episodes`."""
    return asyncio.run(run_episodes(episodes, provider, folder, options))


async def run_episodes(
    episodes: Iterable[Episode], provider: Model, folder: RunFolder, options: RunConfig
) -> EpisodesEnded:
    """Have all conversations that the journal of the folder does not hold yet.

    One that ended as `options.ask_again` says goes on from the turn that failed if it is errored,
    and is had anew otherwise. An episode reads its own replies and asks further by itself, so
    `can_read` and `ask_further` of the options are not used.

    Raises:
        UserError: an episode may not be sent, came twice or was asked otherwise before; the
            endpoint takes no tools; a limit on cost cannot be held; the disk is full. Calls under
            way are awaited and kept first.
    """
    budget = options.budget or Budget(options.max_cost)
    caller = RequestExecutor(provider, folder, options.retries, options.prices, budget)
    provider.fallbacks.recall(folder.learned)
    steps_path = folder.path / STEPS
    again = _to_be_had_again(folder, options.ask_again)
    spending = CostLedger(folder.journal, steps_path)  # before lines are taken out
    # The turns first: killed in between, the episodes still have their ends.
    with (
        Journal(
            steps_path, takes_out=(lambda line: _is_out(line, again)) if again else None
        ) as steps,
        Journal(folder.journal, options.ask_again) as journal,
        spending,
    ):
        caller.take_up(spending, steps.lines())
        if options.on_begun is not None:
            options.on_begun()
        run = _Run(episodes, provider, options, journal, steps, caller)
        try:
            await caller.work_off(run.take, run.bring, options.concurrency)
        finally:
            await provider.close()
    return EpisodesEnded(
        run.progress,
        caller.stopped,
        spending.total if spending.is_kept else None,
        dict(sorted(run.reasons.items())),
    )


def _to_be_had_again(
    folder: RunFolder, outcomes: frozenset[Outcome]
) -> dict[tuple[str, int], bool]:
    """Return the episodes to be had again, each with whether it goes on where it failed."""
    if not outcomes or not folder.journal.exists():
        return {}
    ended = {
        (line["item"], line["sample"]): line
        for line in read_journal(folder.journal)
        if Outcome(line["outcome"]) in outcomes
    }
    return {name: _goes_on(line) for name, line in ended.items()}


def _goes_on(line: Line) -> bool:
    """Tell whether an episode goes on from its failed turn, else it is had anew.

    One that was too long would meet the same end again behind the same turns: what a server says
    of its limit is remembered with them.
    """
    if Outcome(line["outcome"]) is not Outcome.ERRORED:
        return False
    return failure_of(line).code != TOO_LONG


def _is_out(line: Line, again: Mapping[tuple[str, int], bool]) -> bool:
    """Tell whether a turn is forgotten: the failed one if its episode goes on, else all of them."""
    goes_on = again.get((line["item"], line["sample"]))
    if goes_on is None:
        return False
    return not goes_on or isinstance(turn_of(line), Failure)


class _StoppedError(Exception):
    """The run stopped while an episode was under way."""


class _Run:
    """One start of a run."""

    def __init__(
        self,
        episodes: Iterable[Episode],
        provider: Model,
        options: RunConfig,
        journal: Journal,
        steps: Journal,
        caller: RequestExecutor,
    ) -> None:
        self.progress = Progress()
        self.reasons: Counter[str] = Counter()
        self._episodes: Iterator[Episode] = iter(episodes)
        self._provider = provider
        self._options = options
        self._journal = journal
        self._steps = steps
        self._caller = caller
        self._seen: set[tuple[str, int]] = set()
        self._toolless: set[tuple[str, int]] = set()
        self._unread: set[tuple[str, int]] = set()
        self._is_told = False

    def take(self) -> Episode | None:
        """Return the next episode that has not come to its end; None if there is no more."""
        for episode in self._episodes:
            name = (episode.id, episode.sample)
            if name in self._seen:
                raise UserError(f"Episode {episode.id!r} (sample {episode.sample}) comes twice.")
            self._seen.add(name)
            place = self._journal.place(*name)
            if place is None:
                return episode
            request = self._request(episode, episode.opening)
            if place.key != request.key:
                raise asked_otherwise(self._journal, request.item)
            line = self._journal.read(*name)
            if line is not None:
                self._report(line, is_new=False)
        return None

    async def bring(self, episode: Episode) -> None:
        """Bring an episode to its end, unless the run stops before."""
        totals = Totals()

        async def ask(asked: Ask) -> Turn:
            return await self._turn(self._request(episode, asked), totals)

        try:
            finished = await episode.play(ask)
        except _StoppedError:
            return
        except CallFailedError as error:
            if error.stops_the_run:
                self._caller.stop_for(error.failure)
                return
            finished = failed(error.failure)
        line = episode_line(self._request(episode, episode.opening), finished, totals)
        self._journal.append(line)
        self._report(line, is_new=True)

    def _request(self, episode: Episode, asked: Ask) -> Request:
        provider = self._provider
        return Request(
            Item(episode.id, asked.messages, episode.data_class, episode.sample, asked.parameters),
            provider.address,
            provider.model,
            provider.parameters,
            self._options.prompt_version,
        )

    async def _turn(self, request: Request, totals: Totals) -> Turn:
        """Return the next turn, from the journal if it is there.

        Raises:
            CallFailedError: there is no reply, which is the end of the episode.
            UserError: the endpoint takes no tools, as two episodes in a row were told: that is the
                end of the run.
        """
        line = self._journalled(request, totals.turns)
        if line is None:
            called = await self._caller.call(request)
            if called is None:
                raise _StoppedError
            answer, cost, measured = called.answer, called.cost, called.measured
            if isinstance(answer, Failure):
                if "tools" in request.item.parameters and answer.refuses_tools:
                    self._toolless.add((request.item.id, request.item.sample))
                if len(self._toolless) >= self._options.retries.by_words:
                    raise UserError(
                        f"{request.endpoint} takes no tools for {request.model}: every conversation"
                        f" would fail. {_LET_IT_CALL}"
                    )
                line = failed_line(request, answer, cost, measured)
            else:
                self._toolless.clear()
                answer = self._with_calls(request, answer)
                line = answered_line(request, answer, cost, measured)
            line = turn_line(line, totals.turns)
            self._steps.append(line)
        totals.add(line)
        turn = turn_of(line)
        if isinstance(turn, Failure):
            # Whether all others would meet it too is decided where the call was made.
            raise CallFailedError(turn, is_of_the_item=True)
        return turn

    def _with_calls(self, request: Request, answer: Completion) -> Completion:
        """Return a reply with the calls that the server left in its text; say so if it cannot."""
        parameters = request.item.parameters
        may_call = "tools" in parameters and parameters.get("tool_choice") != "none"
        if answer.tool_calls or not may_call:
            return answer
        try:
            return with_calls_in_text(answer, parameters["tools"])
        except UnreadCallError:
            self._unread.add((request.item.id, request.item.sample))
        if len(self._unread) == self._options.retries.by_words and not self._is_told:
            self._is_told = True
            print(
                f"medeval: {request.endpoint} does not parse the tool calls of {request.model}:"
                f" they come as text that cannot be read. {_LET_IT_CALL}",
                file=sys.stderr,
            )
        return answer

    def _journalled(self, request: Request, turn: int) -> Line | None:
        item = request.item
        place = self._steps.place(item.id, item.sample, turn)
        if place is None:
            return None
        if place.key != request.key:
            raise asked_otherwise(self._steps, item)
        return self._steps.read(item.id, item.sample, turn)

    def _report(self, line: Line, is_new: bool) -> None:
        self.progress.add(line, is_new)
        reason = line.get("episode", {}).get("reason")
        if reason:
            self.reasons[reason] += 1
        if self._options.on_progress is not None:
            self._options.on_progress(self.progress)
