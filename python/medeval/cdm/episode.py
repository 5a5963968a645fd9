"""The model at the bedside: it is told the history, asks for what it needs, and decides.

What came of each case is read back from the run's folder, for scores to be made of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from medeval.cdm import prompts
from medeval.cdm.context import ContextBudget, Conversation
from medeval.cdm.facts import Facts
from medeval.cdm.lab_names import LabMapping
from medeval.cdm.tool_protocols import (
    PROTOCOLS,
    FinalAnswer,
    Reply,
    ToolCall,
    ToolProtocol,
    partial_answer,
)
from medeval.cdm.tools import TOOLS, Toolbox, require_tools
from medeval.errors import UserError
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import RESPONSES
from medeval.inference.types import (
    Ask,
    AskModel,
    Finished,
    Item,
    Message,
    Outcome,
    Turn,
    Usage,
    failed,
)
from medeval.models.clinical_case import ClinicalCase
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
        enabled: the tools.
        version: of the tools' behaviour.
    """

    tool_protocol: ToolProtocol = "native"
    max_rounds: int = 20
    max_calls: int = 10
    enabled: tuple[str, ...] = TOOLS
    version: int = 2

    def as_json(self) -> dict[str, Any]:
        """Return what the record of a run says of it."""
        return {
            "mode": "tools",
            "tool_protocol": self.tool_protocol,
            "max_rounds": self.max_rounds,
            "max_calls": self.max_calls,
            "tools": list(self.enabled),
            "tools_version": self.version,
        }


@dataclass(frozen=True)
class CaseEpisode(ABC):
    """A conversation about one case; see `Episode`.

    Attributes:
        case: of which neither demographics nor ground truth are told.
        budget: of prompts; None if nobody knows.
        sample: which conversation about the case it is.
    """

    case: ClinicalCase
    budget: ContextBudget | None = None
    sample: int = 0

    @property
    def id(self) -> str:
        """The admission."""
        return str(self.case.hadm_id)

    @property
    def data_class(self) -> str:
        """The class of the case."""
        return self.case.data_class

    @property
    @abstractmethod
    def opening(self) -> Ask:
        """What it begins with."""

    @abstractmethod
    async def play(self, ask: AskModel) -> Finished:
        """Have the conversation."""

    def item(
        self, messages: Sequence[Message], parameters: Mapping[str, Any] | None = None
    ) -> Item:
        """Return a request of the conversation."""
        return Item(self.id, messages, self.data_class, self.sample, parameters or {})


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
        protocol = PROTOCOLS[self.options.tool_protocol](require_tools(self.options.enabled))
        messages = [
            {"role": "system", "content": protocol.system()},
            {"role": "user", "content": prompts.history(self.case.history_of_present_illness)},
        ]
        return Ask(messages, protocol.parameters(is_deciding=False))

    async def play(self, ask: AskModel) -> Finished:
        """Have the conversation."""
        course = _Course(self, ask)
        try:
            return await course.run()
        except CallFailedError as error:
            if error.stops_the_run:
                raise
            return failed(error.failure, course.record())


def tool_loops(
    cases: Iterable[ClinicalCase],
    facts: Facts,
    mapping: LabMapping,
    options: LoopOptions,
    budget: ContextBudget | None = None,
) -> Iterator[ToolLoop]:
    """Yield the conversation about each case."""
    for case in cases:
        yield ToolLoop(case, budget, facts=facts, mapping=mapping, options=options)


class _Course:
    """One conversation under way."""

    def __init__(self, loop: ToolLoop, ask: AskModel) -> None:
        self._ask = ask
        self._options = options = loop.options
        self._tools = require_tools(options.enabled)
        self._protocol = PROTOCOLS[options.tool_protocol](self._tools)
        self._toolbox = Toolbox(
            loop.case,
            loop.facts,
            mapping=loop.mapping,
            enabled=options.enabled,
            version=options.version,
        )
        opening = loop.opening
        item = loop.item(opening.messages, opening.parameters)
        self._conversation = Conversation(item, ask, loop.budget)
        self._calls: list[dict[str, Any]] = []
        self._rounds = 0
        self._customs = 0
        self._is_reasked = False
        self._part: FinalAnswer | None = None

    async def run(self) -> Finished:
        """Go on until the model answers or may not go on."""
        while self._rounds < self._options.max_rounds:
            turn = await self._turn(is_deciding=False)
            if self._conversation.must_decide:
                return await self._decision(CONTEXT_LIMIT)
            if turn is None:
                return too_long(self.record())
            reply = self._read(turn)
            if reply is None:
                return self._finished(turn)
            self._conversation.add(reply.message)
            if reply.calls:
                self._rounds += 1
                self._make(reply.calls)
            elif reply.answer is not None:
                return self._finished(turn, reply.answer)
            elif self._is_reasked:
                return self._unreadable(turn)
            else:
                self._is_reasked = True
                self._keep_part(turn)
                self._conversation.say(self._protocol.ask_again)
        return await self._decision(STEP_LIMIT)

    async def _decision(self, reason: str) -> Finished:
        """Have the model decide, without tools; a reply that does not is asked for once more."""
        words = self._protocol.decide
        for is_last in (False, True):
            turn = await self._turn(is_deciding=True, last_words=words)
            if turn is None:
                break
            reply = self._read(turn)
            if reply is None or reply.answer is not None:
                return self._finished(turn, None if reply is None else reply.answer, reason)
            if is_last:
                return self._unreadable(turn, reason)
            self._is_reasked = True
            self._keep_part(turn)
            self._conversation.say(words)
            self._conversation.add(reply.message)
            self._answer(reply.calls, [(prompts.NO_MORE_CALLS, _unmade(w)) for w in reply.calls])
        return too_long(self.record())

    async def _turn(self, is_deciding: bool, last_words: str = "") -> Turn | None:
        """Ask the model; None if the conversation is too long or has just been cut."""
        parameters = self._protocol.parameters(is_deciding)
        conversation = self._conversation
        while True:
            await conversation.truncate(parameters, last_words)
            if conversation.must_decide and not is_deciding:
                return None
            turn = await self._ask(Ask(conversation.messages(last_words), parameters))
            if turn.completion is not None:
                return turn
            if not await conversation.shorten(parameters, last_words, was_refused=True):
                return None

    def _read(self, turn: Turn) -> Reply | None:
        """Read a reply; None if it was cut off or refused, which is the end."""
        if turn.completion is None or turn.outcome in _ENDS:
            return None
        reply = self._protocol.read(turn.completion)
        self._customs += reply.customs
        return reply

    def _make(self, calls: tuple[ToolCall, ...]) -> None:
        """Make the calls of one step and tell the model what became of each."""
        made = []
        for number, call in enumerate(calls):
            if number >= self._options.max_calls:
                made.append((prompts.TOO_MANY_CALLS, _unmade(call)))
            elif call.arguments is None:
                names = prompts.ARGUMENTS[call.name] if call.name in self._tools else ()
                takes = ", ".join(names) or "none"
                made.append((prompts.BAD_ARGUMENTS.format(arguments=takes), _unmade(call)))
            else:
                answer = self._toolbox.call(call.name, call.arguments)
                made.append((answer.text, answer.record))
        self._answer(calls, made)

    def _answer(
        self, calls: Sequence[ToolCall], made: Sequence[tuple[str, dict[str, Any]]]
    ) -> None:
        """Tell the model what became of its calls, and keep the records of them."""
        self._calls += [{**record, "round": self._rounds} for _, record in made]
        texts = [text for text, _ in made]
        self._conversation.add(*self._protocol.answered(list(zip(calls, texts, strict=True))))

    def _keep_part(self, turn: Turn) -> None:
        """Keep what a reply holds of an answer, for when no whole one comes."""
        if turn.completion is not None and not turn.completion.tool_calls:
            said = split_thinking(turn.completion.text).answer
            self._part = partial_answer(said) or self._part

    def _unreadable(self, turn: Turn, reason: str = "") -> Finished:
        self._keep_part(turn)
        if self._part is None and turn.outcome is not Outcome.EMPTY:
            turn = replace(turn, outcome=Outcome.UNPARSED)
        return self._finished(turn, self._part, reason)

    def _finished(
        self, turn: Turn, answer: FinalAnswer | None = None, reason: str = ""
    ) -> Finished:
        outcome = turn.outcome if answer is None else Outcome.ANSWERED
        text = turn.completion.text if turn.completion is not None else ""
        return Finished(outcome, text, reason, self.record(answer))

    def record(self, answer: FinalAnswer | None = None) -> dict[str, Any]:
        """Return what a score needs to know of the way so far."""
        return {
            "answer": answer.as_json() if answer is not None else None,
            "calls": self._calls,
            "rounds": self._rounds,
            "invalid_calls": sum(not call["is_valid"] for call in self._calls),
            "custom_parsings": self._customs,
            "is_reasked": self._is_reasked,
            "context": list(self._conversation.measures),
        }


def _unmade(call: ToolCall) -> dict[str, Any]:
    """Return the record of a call that no tool has seen."""
    return {"tool": call.name, "arguments": dict(call.arguments or {}), "is_valid": False}


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
        order: of the blocks of information; empty where the model had to ask.
        usage: tokens of all turns.
        error: the kind of failure; empty if there was none.
        model: as the endpoint named it.
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
    order: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    model: str = ""


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
        transcripts += [
            _transcript(case, lines[sample], path)
            if sample in lines
            else Transcript(case, sample, None)
            for sample in sorted({*range(samples), *lines})
        ]
    if by_case:
        raise UserError(
            f"{path} holds {len(by_case)} cases that are not among those given, such as"
            f" {min(by_case)}. Read it with the cases of its run."
        )
    return transcripts


_TRANSCRIPT = TypeAdapter(Transcript)


def _transcript(case: ClinicalCase, line: Line, path: Path) -> Transcript:
    episode = line.get("episode")
    if not isinstance(episode, dict):
        raise UserError(f"{path} is not of a run of the CDM benchmark.")
    told = {name: line[name] for name in ("sample", "outcome", "usage")}
    error = (line.get("error") or {}).get("kind", "")
    model = line.get("model", "")
    return _TRANSCRIPT.validate_python(
        {**episode, **told, "case": case, "error": error, "model": model}
    )
