"""The lines of a journal: what was answered, and apart what was measured.

Two runs with the same answers have the same lines but for `measured`. In a line that is read,
fields that are not known here are left alone: a newer version may keep more than this one reads.
Only `usage` and the calls of tools are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from medeval.errors import first_fault
from medeval.inference.errors import Failure, Kind
from medeval.inference.openai_replies import outcome_of
from medeval.inference.types import (
    Completion,
    Finished,
    Item,
    Outcome,
    Request,
    ToolCall,
    Turn,
    Usage,
)

Line = dict[str, Any]
CanRead = Callable[[Item, str], bool]

# What a reply says, as its line has it.
_SAID = ("text", "reasoning", "refusal", "finish_reason", "model", "fingerprint")


# As decimals are written; a number of JSON is rounded.
_Amount = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(E[+-]?\d+)?$")]
_Count = Annotated[int, Field(ge=0)]
# Strict forms take no text for a member of an enumeration, and JSON has nothing else.
_Outcome = Annotated[Outcome, Field(strict=False)]
_Kind = Annotated[Kind, Field(strict=False)]

# A field that may be missing, but not be null: defaults are not held to the form.
_MISSING: Any = None


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Usage(_Form):
    model_config = ConfigDict(extra="forbid")

    input_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    output_tokens: _Count | None = None
    reasoning_tokens: _Count | None = None


class _ToolCall(_Form):
    model_config = ConfigDict(extra="forbid")

    id: str
    name: str
    arguments: str


class _Error(_Form):
    kind: _Kind
    status: int | None = None
    code: str = ""
    parameter: str = ""
    detail: str = ""


class _Episode(_Form):
    turns: _Count
    reason: str


class _Measured(_Form):
    attempts: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    charged: _Amount | None = None


class _Line(_Form):
    item: str
    sample: _Count
    turn: _Count = 0
    key: str
    outcome: _Outcome
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    fingerprint: str = ""
    error: _Error = _MISSING
    tool_calls: list[_ToolCall] = _MISSING
    message: dict[str, Any] = _MISSING
    episode: _Episode = _MISSING
    usage: _Usage | None = None
    cost: _Amount | None
    measured: _Measured


def fault_of(line: Any) -> str:
    """Return the first field of a line that is not of its form, and why; empty if all are.

    Args:
        line: as it was read from JSON.
    """
    try:
        read = _Line.model_validate(line)
    except ValidationError as error:
        return first_fault(error)
    # An item without a reply has an error; an error may also stand for a refusal.
    required = "error" if read.outcome is Outcome.ERRORED else "text"
    is_whole = {"error", required} & read.model_fields_set
    return "" if is_whole else f"{required}: Field required"


def answered_line(
    request: Request,
    completion: Completion,
    cost: Decimal | None,
    measured: Mapping[str, Any],
) -> Line:
    """Return the line of an item that was replied to.

    Args:
        request: that was made.
        completion: that came back.
        cost: of all its calls; None if it is unknown.
        measured: seconds, attempts and the like, which differ from run to run.
    """
    line = _named(request, outcome_of(completion)) | _said(completion)
    line["usage"] = completion.usage.as_json()
    if completion.tool_calls:
        line["tool_calls"] = [call.as_json() for call in completion.tool_calls]
        if completion.message is not None:
            line["message"] = dict(completion.message)
    return line | _told(cost, measured)


def failed_line(
    request: Request, failure: Failure, cost: Decimal | None, measured: Mapping[str, Any]
) -> Line:
    """Return the line of an item without a reply; what the endpoint wrote only if it is open."""
    return _named(request, failure.outcome) | _error(request, failure) | _told(cost, measured)


def completion_of(line: Line) -> Completion:
    """Read back the reply that a line holds."""
    return Completion(
        **{name: line.get(name, "") for name in _SAID},
        usage=Usage(**(line.get("usage") or {})),
        tool_calls=tuple(ToolCall(**call) for call in line.get("tool_calls", ())),
        message=line.get("message"),
    )


def failure_of(line: Line) -> Failure:
    """Read back why there was no reply, as far as the line holds it."""
    error = line["error"]
    known = {name: error[name] for name in _Error.model_fields if name in error}
    return Failure(**{**known, "kind": Kind(error["kind"])})


def _named(request: Request, outcome: Outcome) -> Line:
    return {
        "item": request.item.id,
        "sample": request.item.sample,
        "key": request.key,
        "outcome": str(outcome),
    }


def _error(request: Request, failure: Failure) -> Line:
    shown = failure if request.item.is_open else failure.without_detail()
    return {"error": shown.as_json()}


def _said(completion: Completion) -> Line:
    return {name: getattr(completion, name) for name in _SAID}


def _told(cost: Decimal | None, measured: Mapping[str, Any]) -> Line:
    return {"cost": None if cost is None else str(cost), "measured": dict(measured)}


class Totals:
    """What the turns of an episode came to.

    Attributes:
        turns: so many.
        line: of the last turn.
        last: the last reply; None without any.
    """

    def __init__(self) -> None:
        self.line: Line = {}
        self.last: Completion | None = None
        self._told: list[Line] = []

    @property
    def turns(self) -> int:
        """How many there were."""
        return len(self._told)

    def add(self, line: Line) -> None:
        """Add the line of a turn."""
        self.line = line
        if "text" in line:
            self.last = completion_of(line)
        self._told.append({name: line.get(name) for name in ("text", "usage", "cost", "measured")})

    def sums(self) -> tuple[Line, Line]:
        """Return tokens, and cost and measurements, as the line of an item has them.

        A sum of which a part is unknown is unknown.
        """
        costs = [line["cost"] for line in self._told]
        measured = [line["measured"] for line in self._told]
        counted = [line["usage"] or {} for line in self._told if line["text"] is not None]
        usage = {name: _sum([each.get(name) for each in counted]) for name in _Usage.model_fields}
        told = {
            "seconds": round(sum(each["seconds"] or 0.0 for each in measured), 3),
            "attempts": 1 + sum(each["attempts"] - 1 for each in measured),
            "charged": str(
                sum((Decimal(each.get("charged") or 0) for each in measured), Decimal())
            ),
        }
        return usage, _told(None if None in costs else sum(map(Decimal, costs), Decimal()), told)


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def turn_line(line: Line, turn: int) -> Line:
    """Return the line of an answered or failed item as that of a turn."""
    outcome = line["outcome"]
    if line.get("tool_calls") and outcome == Outcome.EMPTY:
        outcome = str(Outcome.ANSWERED)
    named = {key: line[key] for key in ("item", "sample")}
    return {**named, "turn": turn, **line, "outcome": outcome}


def turn_of(line: Line) -> Turn | Failure:
    """Read back a turn; a failure that ends the episode as what it is."""
    if "error" in line:
        failure = failure_of(line)
        return Turn(None, Outcome.ERRORED) if failure.is_overflow else failure
    return Turn(completion_of(line), Outcome(line["outcome"]))


def episode_line(request: Request, finished: Finished, totals: Totals) -> Line:
    """Return the line of an episode, which reads like that of an item with one turn.

    Args:
        request: of its opening.
        finished: how it ended.
        totals: over its turns.
    """
    line = _named(request, finished.outcome)
    if finished.failure is not None:
        line |= _error(request, finished.failure)
    else:
        line |= {**_said(totals.last or Completion("")), "text": finished.text}
    usage, told = totals.sums()
    episode = {"turns": totals.turns, "reason": finished.reason, **finished.record}
    return {**line, "usage": usage, "episode": episode, **told}
