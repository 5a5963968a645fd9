"""One loop for questions and conversations: each is brought to exactly one end.

A single question is an episode of one turn. The turns of a longer one are in a journal of their own
before the next one is asked; an episode that has come to its end has one line in the run's journal.
An episode plays itself: it asks, looks at what came back, and asks again until it has finished. It
is answered from the journal what was answered before, so one that always does the same after the
same replies goes on where a killed run had been, and nothing is asked twice. Items come from an
iterator and answers go to the journal, so memory holds the items under way and a short entry per
item, never the texts.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from medeval.errors import UserError
from medeval.inference import lines
from medeval.inference.cost import CostLedger
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure
from medeval.inference.executor import RequestExecutor
from medeval.inference.journal import Journal
from medeval.inference.lines import Line, Totals
from medeval.inference.openai_replies import UnreadCallError, with_calls_in_text
from medeval.inference.run import STEPS, Progress, RunConfig, RunResult
from medeval.inference.types import (
    Ask,
    AskModel,
    Completion,
    Episode,
    Item,
    Outcome,
    Request,
    Turn,
    failed,
)
from medeval.text import split_thinking

if TYPE_CHECKING:
    from medeval.inference.run import Run

_LET_IT_CALL = (
    "Let the server call tools (vLLM: --enable-auto-tool-choice and --tool-call-parser; llama.cpp:"
    " --jinja), or use the text protocol: --tool-protocol text."
)


async def process(run: Run, samples: Iterable[Item | Episode], config: RunConfig) -> RunResult:
    """Bring all samples to their ends that the journal of the run does not answer yet.

    A conversation that ended as `config.retry` says goes on from the turn that failed if it is
    errored, and is had anew otherwise.

    Raises:
        UserError: a sample may not be sent, came twice or was asked otherwise before; the endpoint
            takes no tools; a limit on cost cannot be held; the disk is full. Calls under way are
            awaited and kept first.
        Exception: what `can_read` or `follow_up` raised; the reply is kept all the same.
    """
    model, retry = run.model, config.retry
    executor = RequestExecutor(model, config, lambda learned: run.update("learned", learned))
    model.fallbacks.recall(run.learned)
    samples = iter(samples)
    first = next(samples, None)
    samples = samples if first is None else chain([first], samples)
    has_steps = first is not None and not isinstance(first, Item)
    steps_path = run.folder / STEPS
    again = _retried(run, retry) if has_steps and retry else {}
    # Read before lines are discarded, which are paid for all the same.
    ledger = CostLedger(run.journal, steps_path if has_steps else None)
    with ExitStack() as stack:
        # The turns first: killed in between, the episodes still have their ends.
        steps = None
        if has_steps:
            steps = Journal(steps_path, (lambda line: _is_out(line, again)) if again else None)
            stack.enter_context(steps)
        journal = Journal(run.journal, (lambda line: line["outcome"] in retry) if retry else None)
        stack.enter_context(journal)
        stack.enter_context(ledger)
        executor.resume(ledger, (journal if steps is None else steps).lines())
        if config.on_start is not None:
            config.on_start()
        loop = _Loop(run, samples, config, journal, steps, executor)
        try:
            await executor.drain(loop.take, loop.process)
        finally:
            await model.close()
    spent = ledger.total if ledger.is_kept else None
    return RunResult(loop.progress, executor.stopped, spent, dict(sorted(loop.reasons.items())))


def _retried(run: Run, outcomes: frozenset[Outcome]) -> dict[tuple[str, int], bool]:
    """Return the episodes to be had again, each with whether it goes on where it failed.

    One that was too long is had anew: it would meet the same end again behind the same turns, since
    what a server says of its limit is remembered with them.
    """
    ended = (line for line in run.lines() if line["outcome"] in outcomes)
    return {
        (line["item"], line["sample"]): line["outcome"] == Outcome.ERRORED
        and lines.failure_of(line).code != TOO_LONG
        for line in ended
    }


def _is_out(line: Line, again: Mapping[tuple[str, int], bool]) -> bool:
    """Tell whether a turn is forgotten: the failed one if its episode goes on, else all of them."""
    goes_on = again.get((line["item"], line["sample"]))
    return goes_on is not None and (not goes_on or isinstance(lines.turn_of(line), Failure))


class _StoppedError(Exception):
    """The run stopped while an episode was under way."""


@dataclass
class _Loop:
    """One start of a run."""

    run: Run
    samples: Iterator[Item | Episode]
    config: RunConfig
    journal: Journal
    steps: Journal | None
    executor: RequestExecutor
    progress: Progress = field(default_factory=Progress)
    reasons: Counter[str] = field(default_factory=Counter)
    further: deque[Item] = field(default_factory=deque)
    seen: set[tuple[str, int]] = field(default_factory=set)
    # Those that were told that there are no tools, and those whose calls could not be read.
    toolless: set[tuple[str, int]] = field(default_factory=set)
    unread: set[tuple[str, int]] = field(default_factory=set)

    def take(self) -> Item | Episode | None:
        """Return the next sample that has not come to its end; None if there is no more."""
        while True:
            sample = self.further.popleft() if self.further else next(self.samples, None)
            if sample is None:
                return None
            name = (sample.id, sample.sample)
            if name in self.seen:
                raise UserError(f"Item {sample.id!r} (sample {sample.sample}) comes twice.")
            self.seen.add(name)
            line = self._known(self.journal, self._request(sample, sample.opening))
            if line is None:
                return sample
            self._end(sample, line, is_new=False)

    async def process(self, sample: Item | Episode) -> None:
        """Bring a sample to its end, unless the run stops before."""
        totals = Totals()
        opening = self._request(sample, sample.opening)

        async def ask(asked: Ask) -> Turn:
            return await self._turn(self._request(sample, asked), totals)

        try:
            if isinstance(sample, Item):
                outcome = await self._outcome(sample, ask)
                line = {**totals.line, "outcome": str(outcome)}
            else:
                line = lines.episode_line(opening, await sample.play(ask), totals)
        except _StoppedError:
            return
        except CallFailedError as error:
            if error.stops_the_run:
                self.executor.stop_for(error.failure)
                return
            line = totals.line
            if not isinstance(sample, Item):
                line = lines.episode_line(opening, failed(error.failure), totals)
        except Exception:
            if isinstance(sample, Item) and totals.last is not None:
                # It is paid for: kept as a reply in which nothing is found, whatever failed.
                self.journal.append({**totals.line, "outcome": str(Outcome.UNPARSED)})
            raise
        self.journal.append(line)
        self._end(sample, line, is_new=True)

    async def _outcome(self, item: Item, ask: AskModel) -> Outcome:
        """Ask a single question; a reply in which the task finds no answer is unparsed."""
        turn = await ask(item.opening)
        can_read = self.config.can_read
        if turn.completion is None or turn.outcome is not Outcome.ANSWERED or can_read is None:
            return turn.outcome
        is_read = can_read(item, split_thinking(turn.completion.text).answer)
        return Outcome.ANSWERED if is_read else Outcome.UNPARSED

    def _request(self, sample: Item | Episode, asked: Ask) -> Request:
        model, version = self.run.model, self.run.settings["prompt_version"]
        item = Item(sample.id, asked.messages, sample.data_class, sample.sample, asked.parameters)
        return Request(item, model.address, model.model, model.parameters, version)

    async def _turn(self, request: Request, totals: Totals) -> Turn:
        """Return the next turn, from the journal if it is there.

        Raises:
            CallFailedError: there is no reply, which is the end of the episode.
            UserError: the endpoint takes no tools, as two episodes in a row were told: that is the
                end of the run.
        """
        steps = self.steps
        line = None if steps is None else self._known(steps, request, len(totals.told))
        if line is None:
            made = await self.executor.call(request)
            if made is None:
                raise _StoppedError
            if isinstance(made.answer, Completion):
                self.toolless.clear()
                answer = self._with_calls(request, made.answer)
                line = lines.line_of(request, answer, made.cost, made.measured())
            else:
                self._require_tools(request, made.answer)
                line = lines.line_of(request, made.answer, made.cost, made.measured())
            if steps is not None:
                line = lines.turn_line(line, len(totals.told))
                steps.append(line)
        totals.add(line)
        turn = lines.turn_of(line)
        if isinstance(turn, Failure):
            # Whether all others would meet it too is decided where the call was made.
            raise CallFailedError(turn, is_of_the_item=True)
        return turn

    def _require_tools(self, request: Request, failure: Failure) -> None:
        if "tools" in request.item.parameters and failure.refuses_tools:
            self.toolless.add((request.item.id, request.item.sample))
        if len(self.toolless) >= self.config.retries.by_words:
            raise UserError(
                f"{request.endpoint} takes no tools for {request.model}: every conversation"
                f" would fail. {_LET_IT_CALL}"
            )

    def _with_calls(self, request: Request, answer: Completion) -> Completion:
        """Return a reply with the calls that the server left in its text; say so if it cannot."""
        parameters = request.item.parameters
        may_call = "tools" in parameters and parameters.get("tool_choice") != "none"
        if answer.tool_calls or not may_call:
            return answer
        try:
            return with_calls_in_text(answer, parameters["tools"])
        except UnreadCallError:
            before = len(self.unread)
            self.unread.add((request.item.id, request.item.sample))
        if before < self.config.retries.by_words == len(self.unread):
            print(
                f"medeval: {request.endpoint} does not parse the tool calls of {request.model}:"
                f" they come as text that cannot be read. {_LET_IT_CALL}",
                file=sys.stderr,
            )
        return answer

    def _known(self, journal: Journal, request: Request, turn: int = 0) -> Line | None:
        """Return the line that answers a request; None if there is none.

        Raises:
            UserError: the line answers another request.
        """
        item = request.item
        line = journal.read(item.id, item.sample, turn)
        if line is not None and line["key"] != request.key:
            raise UserError(
                f"{journal.path}: item {item.id!r} (sample {item.sample}) was asked otherwise"
                " before: its messages, the model, the parameters or the prompt version have"
                " changed. Choose another folder for a new run."
            )
        return line

    def _end(self, sample: Item | Episode, line: Line, is_new: bool) -> None:
        if self.config.follow_up is not None and isinstance(sample, Item):
            further = self.config.follow_up(sample, line)
            self.further += [] if further is None else [further]
        self.progress.add(line, is_new)
        if reason := line.get("episode", {}).get("reason"):
            self.reasons[reason] += 1
        if self.config.on_progress is not None:
            self.config.on_progress(self.progress)
