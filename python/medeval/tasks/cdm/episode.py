"""The model at the bedside: it is told the history, asks for what it needs, and decides.

What came of each case is read back from the run's folder, for scores to be made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from medeval.errors import UserError
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import RESPONSES
from medeval.inference.types import Ask, AskModel, Finished, Item, Outcome, Turn, failed
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm import prompts
from medeval.tasks.cdm.context import UNLIMITED, ContextBudget, Conversation
from medeval.tasks.cdm.facts import Facts
from medeval.tasks.cdm.lab_names import LabMapping
from medeval.tasks.cdm.tool_protocols import (
    PROTOCOLS,
    FinalAnswer,
    Reply,
    ToolCall,
    ToolProtocol,
    partial_answer,
)
from medeval.tasks.cdm.tools import TOOLS, ToolAnswer, Toolbox, require_tools
from medeval.text import split_thinking

STEP_LIMIT = "step_limit"
CONTEXT_LIMIT = "context_limit"
_ENDS = (Outcome.REFUSED, Outcome.TRUNCATED, Outcome.TRUNCATED_REASONING)


@dataclass(frozen=True)
class LoopOptions:
    """How the model may use tools.

    Attributes:
        tool_protocol: in the endpoint's own form, or in text.
        max_rounds: steps with tools, after which the model has to decide.
        max_calls: calls in one step; more are not made.
        tools: those that there are.
    """

    tool_protocol: ToolProtocol = "native"
    max_rounds: int = 20
    max_calls: int = 10
    tools: tuple[str, ...] = TOOLS


@dataclass(frozen=True)
class CaseEpisode:
    """What conversations about one case have in common; see `Episode`.

    Attributes:
        case: of which neither demographics nor ground truth are told.
        budget: of prompts.
        sample: which conversation about the case it is.
    """

    case: ClinicalCase
    budget: ContextBudget = UNLIMITED
    sample: int = 0

    @property
    def id(self) -> str:
        """The admission."""
        return str(self.case.hadm_id)

    @property
    def data_class(self) -> str:
        """The class of the case."""
        return self.case.data_class

    def item(self, asked: Ask) -> Item:
        """Return a request of the conversation."""
        return Item(self.id, asked.messages, self.data_class, self.sample, asked.parameters)


def too_long(record: Mapping[str, Any]) -> Finished:
    """Return the end of a conversation that cannot be made short enough."""
    failure = Failure(Kind.REQUEST, code=TOO_LONG)
    return Finished(Outcome.ERRORED, "", CONTEXT_LIMIT, record, failure)


@dataclass(frozen=True, kw_only=True)
class ToolLoop(CaseEpisode):
    """A conversation that begins with the history.

    Attributes:
        facts: of the tools.
        mapping: all tests by their label.
        options: how the model may use the tools.
    """

    facts: Facts
    mapping: LabMapping
    options: LoopOptions

    @property
    def opening(self) -> Ask:
        """System prompt, history and tools."""
        protocol = PROTOCOLS[self.options.tool_protocol](require_tools(self.options.tools))
        history = prompts.history(self.case.history_of_present_illness)
        messages = [
            {"role": "system", "content": protocol.system},
            {"role": "user", "content": history},
        ]
        return Ask(messages, protocol.parameters(is_deciding=False))

    async def play(self, ask: AskModel) -> Finished:
        """Have the conversation."""
        episode = ToolEpisode(self, ask)
        try:
            return await episode.run()
        except CallFailedError as error:
            if error.stops_the_run:
                raise
            return failed(error.failure, episode.record())


def tool_loops(
    cases: Iterable[ClinicalCase],
    facts: Facts,
    mapping: LabMapping,
    options: LoopOptions,
    budget: ContextBudget = UNLIMITED,
) -> Iterator[ToolLoop]:
    """Yield the conversation about each case."""
    for case in cases:
        yield ToolLoop(case, budget, facts=facts, mapping=mapping, options=options)


class ToolEpisode:
    """One conversation under way."""

    def __init__(self, loop: ToolLoop, ask: AskModel) -> None:
        self._options = loop.options
        tools = require_tools(loop.options.tools)
        self._protocol = PROTOCOLS[loop.options.tool_protocol](tools)
        self._toolbox = Toolbox(loop.case, loop.facts, mapping=loop.mapping, enabled=tools)
        self._conversation = Conversation(loop.item(loop.opening), ask, loop.budget)
        self._calls: list[dict[str, Any]] = []
        self._rounds = 0
        self._customs = 0
        self._is_reasked = False
        self._part: FinalAnswer | None = None

    async def run(self) -> Finished:
        """Go on until the model answers, or until it has to decide."""
        reason = STEP_LIMIT
        parameters = self._protocol.parameters(is_deciding=False)
        while self._rounds < self._options.max_rounds:
            turn = await self._conversation.ask(parameters)
            if turn is None and not self._conversation.must_decide:
                return too_long(self.record())
            if turn is None:
                reason = CONTEXT_LIMIT
                break
            reply = self._read(turn)
            if reply is None or reply.answer is not None:
                return self._finished(turn, reply)
            self._conversation.add(reply.message)
            if reply.calls:
                self._rounds += 1
                self._make(reply.calls)
            elif self._is_reasked:
                return self._unreadable(turn)
            else:
                self._ask_again(turn, self._protocol.ask_again)
        return await self._decision(reason)

    async def _decision(self, reason: str) -> Finished:
        """Have the model decide, without tools; a reply that does not is asked for once more."""
        words = self._protocol.decide
        parameters = self._protocol.parameters(is_deciding=True)
        for is_last in (False, True):
            turn = await self._conversation.ask(parameters, words)
            if turn is None:
                break
            reply = self._read(turn)
            if reply is None or reply.answer is not None:
                return self._finished(turn, reply, reason)
            if is_last:
                return self._unreadable(turn, reason)
            self._ask_again(turn, words)
            self._conversation.add(reply.message)
            self._answer([(call, _unmade(prompts.NO_MORE_CALLS, call)) for call in reply.calls])
        return too_long(self.record())

    def _read(self, turn: Turn) -> Reply | None:
        """Read a reply; None if it was cut off or refused, which is the end."""
        if turn.completion is None or turn.outcome in _ENDS:
            return None
        reply = self._protocol.read(turn.completion)
        self._customs += reply.customs
        return reply

    def _make(self, calls: Sequence[ToolCall]) -> None:
        """Make the calls of one step."""
        made = []
        for number, call in enumerate(calls):
            if number >= self._options.max_calls:
                answer = _unmade(prompts.TOO_MANY_CALLS, call)
            elif call.arguments is None:
                names = prompts.ARGUMENTS[call.name] if call.name in self._options.tools else ()
                takes = ", ".join(names) or "none"
                answer = _unmade(prompts.BAD_ARGUMENTS.format(arguments=takes), call)
            else:
                answer = self._toolbox.call(call.name, call.arguments)
            made.append((call, answer))
        self._answer(made)

    def _answer(self, made: Sequence[tuple[ToolCall, ToolAnswer]]) -> None:
        """Tell the model what became of its calls, and keep the records of them."""
        self._calls += [{**answer.record, "round": self._rounds} for _, answer in made]
        told = [(call, answer.text) for call, answer in made]
        self._conversation.add(*self._protocol.answered(told))

    def _ask_again(self, turn: Turn, words: str) -> None:
        self._is_reasked = True
        self._keep_part(turn)
        self._conversation.say(words)

    def _keep_part(self, turn: Turn) -> None:
        """Keep what a reply holds of an answer, for when no whole one comes."""
        if turn.completion is not None and not turn.completion.tool_calls:
            said = split_thinking(turn.completion.text).answer
            self._part = partial_answer(said) or self._part

    def _unreadable(self, turn: Turn, reason: str = "") -> Finished:
        self._keep_part(turn)
        if self._part is None and turn.outcome is not Outcome.EMPTY:
            turn = replace(turn, outcome=Outcome.UNPARSED)
        return self._finished(turn, Reply({}, answer=self._part), reason)

    def _finished(self, turn: Turn, reply: Reply | None, reason: str = "") -> Finished:
        answer = None if reply is None else reply.answer
        outcome = turn.outcome if answer is None else Outcome.ANSWERED
        text = turn.completion.text if turn.completion is not None else ""
        return Finished(outcome, text, reason, self.record(answer))

    def record(self, answer: FinalAnswer | None = None) -> dict[str, Any]:
        """Return what a score needs to know of the way so far."""
        return {
            "answer": answer and asdict(answer),
            "calls": self._calls,
            "rounds": self._rounds,
            "invalid_calls": sum(not call["is_valid"] for call in self._calls),
            "custom_parsings": self._customs,
            "is_reasked": self._is_reasked,
            "context": list(self._conversation.measures),
        }


def _unmade(text: str, call: ToolCall) -> ToolAnswer:
    """Return the answer to a call that no tool has seen."""
    record = {"tool": call.name, "arguments": dict(call.arguments or {}), "is_valid": False}
    return ToolAnswer(text, record)


@dataclass(frozen=True)
class Transcript:
    """What came of one case, or of one sample of it.

    Attributes:
        case: with its ground truth.
        sample: 0, or the number of the order of its information.
        outcome: the end it came to; None if it has not come to one.
        reason: why it ended otherwise than usual, in one word; empty for the usual end.
        answer: what the model decided; None if it did not.
        calls: records of its tools in the order of the calls, each with its round; None where it
            had no tools.
        rounds: steps with tools.
        turns: requests to the model, summaries and questions asked again included.
        invalid_calls: calls of tools that were none.
        custom_parsings: places where another layout than the one asked for had to be understood.
        is_reasked: whether an answer had to be asked for again.
        context: what was done to make the conversation fit, in order.
        error: the kind of failure; empty if there was none.
    """

    case: ClinicalCase
    sample: int
    outcome: Outcome | None
    reason: str = ""
    answer: FinalAnswer | None = None
    calls: tuple[dict[str, Any], ...] | None = None
    rounds: int = 0
    turns: int = 0
    invalid_calls: int = 0
    custom_parsings: int = 0
    is_reasked: bool = False
    context: tuple[str, ...] = ()
    error: str = ""


_TRANSCRIPT = TypeAdapter(Transcript)


def read_transcripts(
    folder: Path, cases: Iterable[ClinicalCase], samples: int = 1
) -> list[Transcript]:
    """Return what came of each case, in the order of the cases and of their samples.

    A sample without a line has a transcript without an outcome: nothing leaves the denominator
    unseen, wherever a run stopped.

    Args:
        folder: of the run.
        cases: all that were to be asked.
        samples: how often each of them was to be asked.

    Raises:
        UserError: there is no journal, a line of it is of none of the cases, or it is not of a run
            of this benchmark.
    """
    path = folder / RESPONSES
    if not path.is_file():
        raise UserError(f"{path}: there are no answers. Run the model first.")
    by_case: dict[str, list[Line]] = {}
    for line in read_journal(path):
        by_case.setdefault(line["item"], []).append(line)
    transcripts: list[Transcript] = []
    for case in cases:
        lines = {int(line["sample"]): line for line in by_case.pop(str(case.hadm_id), [])}
        for sample in sorted({*range(samples), *lines}):
            told: dict[str, Any] = {"case": case, "sample": sample, "outcome": None}
            if (end := lines.get(sample)) is not None:
                if not isinstance(episode := end.get("episode"), dict):
                    raise UserError(f"{path} is not of a run of the CDM benchmark.")
                error = (end.get("error") or {}).get("kind", "")
                told = {**episode, **told, "outcome": end["outcome"], "error": error}
            transcripts.append(_TRANSCRIPT.validate_python(told))
    if by_case:
        raise UserError(
            f"{path} holds {len(by_case)} cases that are not among those given, such as"
            f" {min(by_case)}. Read it with the cases of its run."
        )
    return transcripts
