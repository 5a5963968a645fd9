"""The model at the bedside: it is told the history, asks for what it needs, and decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from medeval.cdm import prompts
from medeval.cdm.context import Room
from medeval.cdm.facts import Facts
from medeval.cdm.loop_answers import FinalAnswer
from medeval.cdm.loop_memory import Memory
from medeval.cdm.loop_protocols import PROTOCOLS, Protocol, Reply, ToolProtocol, Wish
from medeval.cdm.loop_text import partial_answer
from medeval.cdm.toolbox import TOOLS, Toolbox
from medeval.cdm.tools.lab_mapping import LabMapping
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind
from medeval.inference.thinking import split_thinking
from medeval.inference.types import Ask, AskModel, Finished, Item, Outcome, Turn, failed
from medeval.models.clinical_case import ClinicalCase

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
class ToolLoop:
    """The conversation about one case.

    Attributes:
        case: of which the model is told the history only.
        new_toolbox: makes the tools of a conversation that begins.
        options: how the model may use them.
        room: that prompts have; None if nobody knows.
    """

    case: ClinicalCase
    new_toolbox: Callable[[], Toolbox]
    options: LoopOptions = field(default_factory=LoopOptions)
    room: Room | None = None
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
    def opening(self) -> Ask:
        """System prompt, history and tools."""
        protocol = self.protocol
        messages = [
            {"role": "system", "content": protocol.system()},
            {"role": "user", "content": prompts.history(self.case.history_of_present_illness)},
        ]
        return Ask(messages, protocol.parameters(is_deciding=False))

    @cached_property
    def protocol(self) -> Protocol:
        """How the model uses the tools."""
        return PROTOCOLS[self.options.tool_protocol](self.new_toolbox().definitions())

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
    room: Room | None = None,
) -> Iterator[ToolLoop]:
    """Yield the conversation about each case."""

    def new_toolbox(case: ClinicalCase) -> Toolbox:
        return Toolbox(
            case, facts, mapping=mapping, enabled=options.enabled, version=options.version
        )

    for case in cases:
        yield ToolLoop(case, partial(new_toolbox, case), options, room)


class _Course:
    """One conversation under way."""

    def __init__(self, loop: ToolLoop, ask: AskModel) -> None:
        self._ask = ask
        self._options = loop.options
        self._protocol = loop.protocol.begun()
        self._toolbox = loop.new_toolbox()
        opening = loop.opening
        item = Item(loop.id, opening.messages, loop.data_class, loop.sample, opening.parameters)
        self._memory = Memory(item, ask, loop.room)
        self._calls: list[dict[str, Any]] = []
        self._rounds = 0
        self._invalid = 0
        self._customs = 0
        self._is_reasked = False
        self._part: FinalAnswer | None = None

    async def run(self) -> Finished:
        """Go on until the model answers or may not go on."""
        while self._rounds < self._options.max_rounds:
            turn = await self._turn(is_deciding=False)
            if self._memory.must_decide:
                return await self._decision(CONTEXT_LIMIT)
            if turn is None:
                return self._too_long()
            reply = self._read(turn)
            if isinstance(reply, Finished):
                return reply
            self._memory.add(reply.message)
            if reply.wishes:
                self._rounds += 1
                self._make(reply.wishes)
            elif reply.answer is not None:
                return self._finished(Outcome.ANSWERED, turn, reply.answer)
            elif self._is_reasked:
                return self._unreadable(turn)
            else:
                self._is_reasked = True
                self._keep_part(turn)
                self._memory.say(self._protocol.ask_again)
        return await self._decision(STEP_LIMIT)

    async def _decision(self, reason: str) -> Finished:
        """Have the model decide, without tools; a reply that does not is asked for once more."""
        words = self._protocol.decide
        for is_last in (False, True):
            turn = await self._turn(is_deciding=True, last_words=words)
            if turn is None:
                break
            reply = self._read(turn)
            if isinstance(reply, Finished):
                return replace(reply, reason=reason)
            if reply.answer is not None:
                return self._finished(Outcome.ANSWERED, turn, reply.answer, reason)
            if is_last:
                return self._unreadable(turn, reason)
            self._is_reasked = True
            self._keep_part(turn)
            self._memory.say(words)
            self._memory.add(reply.message)
            self._answer(reply.wishes, [(prompts.NO_MORE_CALLS, _unmade(w)) for w in reply.wishes])
        return self._too_long()

    async def _turn(self, is_deciding: bool, last_words: str = "") -> Turn | None:
        """Ask the model; None if the conversation is too long or has just been cut."""
        parameters = self._protocol.parameters(is_deciding)
        memory = self._memory
        while True:
            await memory.make_fit(parameters, last_words)
            if memory.must_decide and not is_deciding:
                return None
            turn = await self._ask(Ask(memory.messages(last_words), parameters))
            if turn.completion is not None:
                return turn
            if not await memory.shorten(parameters, last_words, was_refused=True):
                return None

    def _read(self, turn: Turn) -> Reply | Finished:
        """Read a reply; one that was cut off or refused is the end."""
        if turn.completion is None or turn.outcome in _ENDS:
            return self._finished(turn.outcome, turn)
        reply = self._protocol.read(turn.completion)
        self._customs += reply.customs
        return reply

    def _make(self, wishes: tuple[Wish, ...]) -> None:
        """Make the calls of one step and tell the model what became of each."""
        made = []
        for number, wish in enumerate(wishes):
            if number >= self._options.max_calls:
                made.append((prompts.TOO_MANY_CALLS, _unmade(wish)))
            elif wish.arguments is None:
                takes = self._protocol.arguments_of(wish.name)
                made.append((prompts.BAD_ARGUMENTS.format(arguments=takes), _unmade(wish)))
            else:
                answer = self._toolbox.call(wish.name, wish.arguments)
                made.append((answer.text, answer.record))
        self._answer(wishes, made)

    def _answer(self, wishes: Sequence[Wish], made: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Tell the model what became of its calls, and keep the records of them."""
        self._calls += [{**record, "round": self._rounds} for _, record in made]
        self._invalid += sum(not record["is_valid"] for _, record in made)
        texts = [text for text, _ in made]
        self._memory.add(*self._protocol.answered(list(zip(wishes, texts, strict=True))))

    def _unreadable(self, turn: Turn, reason: str = "") -> Finished:
        self._keep_part(turn)
        if self._part is not None:
            return self._finished(Outcome.ANSWERED, turn, self._part, reason)
        is_empty = turn.outcome is Outcome.EMPTY
        return self._finished(Outcome.EMPTY if is_empty else Outcome.UNPARSED, turn, None, reason)

    def _keep_part(self, turn: Turn) -> None:
        """Keep what a reply holds of an answer, for when no whole one comes."""
        if turn.completion is not None and not turn.completion.tool_calls:
            said = split_thinking(turn.completion.text).answer
            self._part = partial_answer(said) or self._part

    def _too_long(self) -> Finished:
        failure = Failure(Kind.REQUEST, code=TOO_LONG)
        return Finished(Outcome.ERRORED, "", CONTEXT_LIMIT, self.record(), failure)

    def _finished(
        self, outcome: Outcome, turn: Turn, answer: FinalAnswer | None = None, reason: str = ""
    ) -> Finished:
        text = turn.completion.text if turn.completion is not None else ""
        return Finished(outcome, text, reason, self.record(answer))

    def record(self, answer: FinalAnswer | None = None) -> dict[str, Any]:
        """Return what a score needs to know of the way so far."""
        return {
            "answer": answer.as_json() if answer is not None else None,
            "calls": self._calls,
            "rounds": self._rounds,
            "invalid_calls": self._invalid,
            "custom_parsings": self._customs,
            "is_reasked": self._is_reasked,
            "context": list(self._memory.measures),
        }


def _unmade(wish: Wish) -> dict[str, Any]:
    """Return the record of a call that no tool has seen."""
    return {"tool": wish.name, "arguments": dict(wish.arguments or {}), "is_valid": False}
