"""The model at the bedside: it is told the history, asks for what it needs, and decides.

A conversation is kept short enough for the model after Hager et al. (Nature Medicine 30, 2024):
near the limit what was found is summarised by the model itself; when that helps no more it is cut
to the budget, and the model has to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind
from medeval.inference.openai_replies import text_of
from medeval.inference.tokens import UNLIMITED, ContextWindow
from medeval.inference.types import AskModel, Finished, Message, Outcome, Sample, Turn
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm.facts import ARGUMENTS, Facts, LabNames, prompt
from medeval.tasks.cdm.text_protocol import PROTOCOLS, Call, FinalAnswer, partial_answer
from medeval.tasks.cdm.tools import Toolbox, require_tools
from medeval.text import split_thinking

if TYPE_CHECKING:
    from medeval.tasks.cdm.task import CdmOptions

CONTEXT_LIMIT = "context_limit"
SUMMARISED, TRUNCATED = "summarised", "truncated"
# Tokens that a conversation leaves free.
MARGIN = 100
_ENDS = (Outcome.REFUSED, Outcome.TRUNCATED, Outcome.TRUNCATED_REASONING)


async def shortened(text: str, item: Sample, ask: AskModel, window: ContextWindow) -> str:
    """Return a text as the model summarises it; as it was if the model writes nothing.

    Args:
        text: to be summarised; cut first if it is too long for that.
        item: any other request of the episode.
        ask: asks the model.
        window: of prompts.
    """
    system = {"role": "system", "content": prompt("system_summary")}
    request = replace(item, messages=[system], parameters={})
    text = await window.cut_to_fit(
        text, lambda kept: replace(request, messages=_with_user([system], kept))
    )
    turn = await ask(replace(request, messages=_with_user([system], text)))
    return said_in(turn) or text


def _with_user(messages: Sequence[Message], text: str) -> list[Message]:
    """Return messages that end in words of the user, joined to those that are there."""
    if not messages or messages[-1]["role"] != "user":
        return [*messages, {"role": "user", "content": text}]
    *before, last = messages
    return [*before, {"role": "user", "content": f"{last['content']}\n\n{text}"}]


def _told(message: Message) -> str:
    """Return a message as a line of what was asked and found."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    asked = [f"Asked: {call['name']} {call['arguments']}" for call in calls]
    return "\n".join(part for part in (text_of(message.get("content")), *asked) if part)


def said_in(turn: Turn) -> str:
    """Return what a reply says without its thinking."""
    return "" if turn.completion is None else split_thinking(turn.completion.text).answer


@dataclass
class CaseEpisode:
    """What conversations about one case have in common; see `Episode`.

    Attributes:
        case: of which neither demographics nor ground truth are told.
        window: of prompts.
        sample: which conversation about the case it is.
    """

    case: ClinicalCase
    window: ContextWindow = UNLIMITED
    sample: int = 0

    def item(self, messages: Sequence[Message], parameters: Mapping[str, Any]) -> Sample:
        """Return a request of the conversation."""
        case = self.case
        return Sample(str(case.hadm_id), messages, case.data_class, self.sample, parameters)


def too_long(record: Mapping[str, Any]) -> Finished:
    """Return the end of a conversation that cannot be made short enough."""
    failure = Failure(Kind.REQUEST, code=TOO_LONG)
    return Finished(Outcome.ERRORED, "", CONTEXT_LIMIT, record, failure)


@dataclass(kw_only=True)
class ToolEpisode(CaseEpisode):
    """A conversation that begins with the history.

    Attributes:
        facts: of the tools.
        names: of tests.
        options: how the model may use the tools.
    """

    facts: Facts
    names: LabNames
    options: CdmOptions

    def __post_init__(self) -> None:
        self._tools = require_tools(self.options.tools)

    @property
    def opening(self) -> Sample:
        """System prompt, history and tools."""
        protocol = PROTOCOLS[self.options.tool_protocol](self._tools)
        history = prompt("history", text=self.case.history_of_present_illness.strip())
        messages = [
            {"role": "system", "content": protocol.system},
            {"role": "user", "content": history},
        ]
        return self.item(messages, protocol.parameters(is_deciding=False))

    async def play(self, ask: AskModel) -> Finished:
        """Have the conversation."""
        self._protocol = PROTOCOLS[self.options.tool_protocol](self._tools)
        self._toolbox = Toolbox(self.case, self.facts, self.names, self._tools)
        self._first, self._ask = self.opening, ask
        # What stands for the steps that were taken out of the conversation, and those behind it.
        self._found, self._steps = "", list[Message]()
        # What was done to the conversation; and whether there is no budget left but for an answer.
        self._measures, self._must_decide = list[str](), False
        self._calls: list[dict[str, Any]] = []
        self._rounds = self._customs = 0
        self._is_reasked = False
        try:
            return await self._run()
        except CallFailedError as error:
            if error.stops_the_run:
                raise
            failure = error.failure
            return Finished(failure.outcome, record=self._record(), failure=failure)

    async def _run(self) -> Finished:
        """Go on until the model answers; where it has to decide there are no more tools.

        A reply with neither a call nor an answer is asked for once more, and once more where the
        model has to decide. If that does not help, the part of an answer that is there counts.
        """
        protocol = self.options.tool_protocol
        reason, is_reasked = "", False
        part: FinalAnswer | None = None
        while True:
            if not reason and self._rounds >= self.options.max_rounds:
                reason, is_reasked = "step_limit", False
            last_words = prompt(f"decide_{protocol}") if reason else ""
            turn = await self._turn(last_words)
            if turn is None and self._must_decide and not reason:
                reason, is_reasked = CONTEXT_LIMIT, False
                continue
            if turn is None or turn.completion is None:
                return too_long(self._record())
            if turn.outcome in _ENDS:
                return self._finished(turn, None, reason)
            reply = self._protocol.read(turn.completion)
            self._customs += reply.customs
            if reply.answer is not None:
                return self._finished(turn, reply.answer, reason)
            if reply.calls and not reason:
                self._rounds += 1
                self._steps.append(reply.message)
                self._make(reply.calls)
                continue
            if not reply.calls:
                part = partial_answer(said_in(turn)) or part
            if is_reasked:
                if part is None and turn.outcome is not Outcome.EMPTY:
                    turn = replace(turn, outcome=Outcome.UNPARSED)
                return self._finished(turn, part, reason)
            is_reasked = self._is_reasked = True
            if reason:
                self._steps = [*_with_user(self._steps, last_words), reply.message]
                self._make(reply.calls, prompt("no_more_calls"))
            else:
                words = prompt(f"ask_again_{protocol}")
                self._steps = _with_user([*self._steps, reply.message], words)

    async def _turn(self, last_words: str) -> Turn | None:
        """Ask the model, with the conversation made shorter as long as it must and can be.

        None is returned if it cannot be made short enough, or if it has to be cut and there are no
        last words.

        Args:
            last_words: of the user, that have the model decide; without them nothing is cut yet.
        """
        while not self._must_decide or last_words:
            head, steps = list(self._first.messages), self._steps
            if self._found:
                head = _with_user(head, prompt("found_so_far", text=self._found))
            if steps and steps[0]["role"] == "user":
                # Many templates take no two messages of one speaker.
                head, steps = _with_user(head, str(steps[0]["content"])), steps[1:]
            item = self._request([*head, *steps], last_words)
            if not await self.window.holds(item) and await self._shorten(last_words):
                continue
            turn = await self._ask(item)
            if turn.completion is not None:
                return turn
            if not await self._shorten(last_words, was_refused=True):
                return None
        return None

    def _request(self, messages: Sequence[Message], last_words: str) -> Sample:
        """Return a request of messages; one that ends in last words lets nothing be called."""
        messages = _with_user(messages, last_words) if last_words else messages
        parameters = self._protocol.parameters(is_deciding=bool(last_words))
        return replace(self._first, messages=messages, parameters=parameters)

    async def _shorten(self, last_words: str, was_refused: bool = False) -> bool:
        """Shorten the conversation by one step; False if no step is left.

        Where the endpoint found too long what was counted as fitting, half of it is cut.
        """
        told = "\n".join(part for part in (self._found, *map(_told, self._steps)) if part)
        if self._steps and self._measures.count(SUMMARISED) < 3:
            self._measures.append(SUMMARISED)
            self._found = await shortened(told, self._first, self._ask, self.window)
            self._steps = []
            return True
        if not told or self._measures.count(TRUNCATED) >= 4:
            return False
        self._must_decide = True
        if last_words:
            self._measures.append(TRUNCATED)
            self._steps = []
            told = told[: len(told) // 2] if was_refused else told

            def item_with(text: str) -> Sample:
                head = _with_user(self._first.messages, prompt("found_so_far", text=text))
                return self._request(head, last_words)

            self._found = await self.window.cut_to_fit(told, item_with)
        return True

    def _make(self, calls: Sequence[Call], none: str = "") -> None:
        """Make the calls of one step, keep the records of them, and tell the model what came of it.

        Args:
            calls: to be made.
            none: why none is made; empty where they are.
        """
        answers = []
        for number, (call, arguments) in enumerate(calls):
            refused = none
            if not none and number >= self.options.max_calls:
                refused = prompt("too_many_calls")
            elif not none and arguments is None:
                takes = ", ".join(ARGUMENTS[call.name] if call.name in self._tools else ())
                refused = prompt("bad_arguments", arguments=takes or "none")
            text, record = self._toolbox.call(call.name, arguments or {}, refused)
            self._calls.append({**record, "round": self._rounds})
            answers.append((call, text))
        self._steps += self._protocol.answered(answers)

    def _finished(self, turn: Turn, answer: FinalAnswer | None, reason: str) -> Finished:
        outcome = turn.outcome if answer is None else Outcome.ANSWERED
        text = turn.completion.text if turn.completion is not None else ""
        return Finished(outcome, text, reason, self._record(answer))

    def _record(self, answer: FinalAnswer | None = None) -> dict[str, Any]:
        """Return what a score needs to know of the way so far."""
        return {
            "answer": answer and asdict(answer),
            "calls": self._calls,
            "rounds": self._rounds,
            "invalid_calls": sum(not call["is_valid"] for call in self._calls),
            "custom_parsings": self._customs,
            "is_reasked": self._is_reasked,
            "context": list(self._measures),
        }
