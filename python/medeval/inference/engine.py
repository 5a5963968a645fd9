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

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain, islice

from medeval.errors import UserError
from medeval.inference.cost import CostLedger, spent_by
from medeval.inference.errors import FAILURE, TOO_LONG, CallFailedError
from medeval.inference.executor import RequestExecutor, StoppedError
from medeval.inference.journal import MESSAGES, Journal, Line, conversation, line_of, reply_of
from medeval.inference.run import STEPS, Progress, Run, RunConfig, RunResult
from medeval.inference.types import Episode, Finished, Outcome, Reply, Sample, Turn, Usage, total
from medeval.text import split_thinking


async def process(run: Run, samples: Iterable[Sample | Episode], config: RunConfig) -> RunResult:
    """Bring all samples to their ends that the journal of the run does not answer yet.

    A conversation that ended as `config.retry` says goes on from the turn that failed if it is
    errored, and is had anew otherwise.

    Raises:
        UserError: a sample may not be sent, came twice or was asked otherwise before; the endpoint
            takes no tools; a limit on cost cannot be held; the disk is full. Calls under way are
            awaited and kept first.
        Exception: what `can_read` or `follow_up` raised; the reply is kept all the same.
    """
    run.model.learned = {**run.model.learned, **run.learned}
    samples = iter(samples)
    first = list(islice(samples, 1))
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(run.journal))
        has_turns = bool(first) and not isinstance(first[0], Sample)
        steps = stack.enter_context(Journal(run.folder / STEPS)) if has_turns else None
        turns = steps or journal
        ledger = stack.enter_context(CostLedger(run.journal, turns.lines()))
        executor = RequestExecutor(run, config, ledger, turns.lines())
        if config.retry:
            _discard(journal, steps, config.retry)
        if config.on_start is not None:
            config.on_start()
        loop = _Loop(run, chain(first, samples), config, journal, steps, executor)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, config.concurrency)):
                    group.create_task(loop.work())
        finally:
            await run.model.close()
        if loop.errors:
            raise loop.errors[0]
        if not executor.stopped:
            executor.unreached.clear()
            loop.settle()
    run.record_errors(loop.progress)
    spent = ledger.total if ledger.is_kept else None
    return RunResult(loop.progress, executor.stopped, spent)


def _discard(journal: Journal, steps: Journal | None, retry: frozenset[Outcome]) -> None:
    """Forget what is to be asked again: of an errored episode the failed turn, else all of them.

    One that was too long is had anew: it would meet the same end again behind the same turns, since
    what a server says of its limit is remembered with them.
    """

    def may_go_on(line: Line) -> bool:
        return "error" in line and line["error"].get("code") != TOO_LONG

    again = {
        (line["item"], line["sample"]): line["outcome"] == Outcome.ERRORED and may_go_on(line)
        for line in journal.lines()
        if line["outcome"] in retry
    }

    def is_out(line: Line) -> bool:
        name = line["item"], line["sample"]
        return name in again and (not again[name] or may_go_on(line))

    if again:
        if steps is not None:
            # The turns first: killed in between, the episodes still have their ends.
            steps.discard(is_out)
        journal.discard(lambda line: line["outcome"] in retry)


@dataclass
class _Loop:
    """One start of a run."""

    run: Run
    samples: Iterator[Sample | Episode]
    config: RunConfig
    journal: Journal
    steps: Journal | None
    executor: RequestExecutor
    progress: Progress = field(default_factory=Progress)
    further: deque[Sample] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    errors: list[Exception] = field(default_factory=list)
    # By their names, until it is known whether it is an error of theirs that they reached nobody.
    ended: dict[str, tuple[Sample | Episode, Line]] = field(default_factory=dict)

    async def work(self) -> None:
        """Bring samples to their ends, one after another, until none is left or the run stops.

        The first error that one of them raises stops the others behind what is under way, which may
        be paid for.
        """
        try:
            while not self.executor.stop.is_set() and (sample := self._take()) is not None:
                await self._process(sample)
        except Exception as error:  # noqa: BLE001  raised when the others have come to their ends
            self.errors.append(error)
            self.executor.stop.set()

    def settle(self) -> None:
        """Write the ends of which it is known that they are."""
        held = self.executor.unreached
        for name in [name for name in self.ended if name not in held]:
            sample, line = self.ended.pop(name)
            self.journal.append(line)
            self._end(sample, line, is_new=True)

    def _take(self) -> Sample | Episode | None:
        """Return the next sample that has not come to its end; None if there is no more."""
        while sample := self.further.popleft() if self.further else next(self.samples, None):
            item = sample if isinstance(sample, Sample) else sample.opening
            if item.name in self.seen:
                raise UserError(f"Item {item.id!r} (sample {item.sample}) comes twice.")
            self.seen.add(item.name)
            if (line := self.journal.answer(self.run.request(item))) is None:
                return sample
            self._end(sample, line, is_new=False)
        return None

    async def _process(self, sample: Sample | Episode) -> None:
        """Bring a sample to its end, unless the run stops before."""
        turns: list[Line] = []
        asked: list[Sample] = []
        try:
            if isinstance(sample, Sample):
                line = await self._line(sample, turns)
                if line["outcome"] == Outcome.ANSWERED and self.config.can_read:
                    # It is paid for: kept as one in which nothing is found, whatever fails.
                    turns[0] = {**line, "outcome": str(Outcome.UNPARSED)}
                    if not self.config.can_read(sample, split_thinking(line["text"]).answer):
                        line = turns[0]
            else:
                try:
                    finished = await sample.play(partial(self._turn, turns, asked))
                except CallFailedError as error:
                    if error.stops_the_run:
                        self.executor.stop_for(error.failure)
                    finished = Finished(error.failure.outcome, failure=error.failure)
                line = self._episode_line(sample, finished, turns, asked)
        except StoppedError:
            return
        except Exception:
            if isinstance(sample, Sample) and turns:
                self.journal.append(turns[0])
            raise
        item = sample if isinstance(sample, Sample) else sample.opening
        self.ended[item.name] = sample, line
        self.settle()

    async def _turn(self, turns: list[Line], asked: list[Sample], item: Sample) -> Turn:
        """Return the next turn behind those before it, from the journal if it is there.

        Raises:
            CallFailedError: there is no reply, which is the end of the episode.
            UserError: the endpoint takes no tools.
        """
        asked.append(item)
        line = await self._line(item, turns)
        if "error" not in line:
            return Turn(reply_of(line), Outcome(line["outcome"]))
        failure = FAILURE.validate_python(line["error"])
        if failure.code == TOO_LONG:
            return Turn(None, Outcome.ERRORED)
        # Whether all others would meet it too is decided where the call was made.
        raise CallFailedError(failure, is_of_the_item=True)

    async def _line(self, item: Sample, turns: list[Line]) -> Line:
        """Return the line of a turn behind those before it, from the journal if it is there."""
        request = self.run.request(item)
        line = None if self.steps is None else self.steps.answer(request, len(turns))
        if line is None:
            line = await self.executor.call(request)
            if self.steps is not None:
                if line.get("tool_calls") and line["outcome"] == Outcome.EMPTY:
                    line["outcome"] = str(Outcome.ANSWERED)
                named = {"item": line["item"], "sample": line["sample"], "turn": len(turns)}
                line = {**named, **line}
                if item.name not in self.executor.unreached:
                    self.steps.append(line)
        turns.append(line)
        return line

    def _episode_line(
        self,
        sample: Episode,
        finished: Finished,
        turns: Sequence[Line],
        asked: Sequence[Sample],
    ) -> Line:
        """Return the line of an episode, which reads like that of an item with one turn.

        A sum over its turns of which a part is unknown is unknown.
        """
        replies = [line for line in turns if "text" in line]
        last = reply_of(replies[-1]) if replies else Reply("")
        answer = finished.failure or replace(last, text=finished.text, tool_calls=(), message=None)
        spent, measured = spent_by(turns), [line["measured"] for line in turns]
        usages = [line.get("usage") or {} for line in replies]
        names = [each.name for each in fields(Usage)]
        return line_of(
            self.run.request(sample.opening),
            answer,
            spent.known,
            {
                "seconds": round(sum(each["seconds"] or 0.0 for each in measured), 3),
                "attempts": 1 + sum(each["attempts"] - 1 for each in measured),
                "charged": str(spent.charged),
            },
            outcome=str(finished.outcome),
            usage={name: total(usage.get(name) for usage in usages) for name in names},
            episode={
                "turns": len(turns),
                "reason": finished.reason,
                **finished.record,
                MESSAGES: conversation(asked, turns),
            },
        )

    def _end(self, sample: Sample | Episode, line: Line, is_new: bool) -> None:
        if self.config.follow_up is not None and isinstance(sample, Sample):
            further = self.config.follow_up(sample, line)
            self.further += [] if further is None else [further]
        self.progress.add(line, is_new)
        if self.config.on_progress is not None:
            self.config.on_progress(self.progress)
