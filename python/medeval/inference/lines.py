"""The lines of a journal: what was answered, and apart what was measured.

Two runs with the same answers have the same lines but for `measured`. In a line that is read,
fields that are not known here are left alone: a newer version may keep more than this one reads.
Only `usage` and the calls of tools are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

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


class _Form(BaseModel, strict=True, extra="ignore"):
    """A newer version may keep more than this one reads."""


class _Usage(_Form, extra="forbid"):
    input_tokens: _Count | None = None
    cached_tokens: _Count | None = None
    output_tokens: _Count | None = None
    reasoning_tokens: _Count | None = None


class _ToolCall(_Form, extra="forbid"):
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


def line_of(
    request: Request,
    answer: Completion | Failure,
    cost: Decimal | None,
    measured: Mapping[str, Any],
    **more: Any,
) -> Line:
    """Return the line of an item: what was replied, or why there was no reply.

    What the endpoint wrote of a failure stands in it only if the item is open.

    Args:
        request: that was made.
        answer: that came back.
        cost: of all its calls; None if it is unknown.
        measured: seconds, attempts and the like, which differ from run to run.
        more: fields beside these, or in place of them.
    """
    outcome = answer.outcome if isinstance(answer, Failure) else outcome_of(answer)
    line: Line = {
        "item": request.item.id,
        "sample": request.item.sample,
        "key": request.key,
        "outcome": str(outcome),
    }
    if isinstance(answer, Failure):
        shown = answer if request.item.is_open else answer.without_detail()
        line["error"] = shown.as_json()
    else:
        line |= {name: getattr(answer, name) for name in _SAID}
        line["usage"] = answer.usage.as_json()
        if answer.tool_calls:
            line["tool_calls"] = [call.as_json() for call in answer.tool_calls]
            if answer.message is not None:
                line["message"] = dict(answer.message)
    told = {"cost": None if cost is None else str(cost), "measured": dict(measured)}
    return line | more | told


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
    return Failure(**_Error.model_validate(line["error"]).model_dump())


@dataclass
class Totals:
    """What the turns of an episode came to.

    Attributes:
        line: of the last turn.
        last: the last reply; None without any.
        told: of each turn, what is summed.
    """

    line: Line = field(default_factory=dict)
    last: Completion | None = None
    told: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Add the line of a turn."""
        self.line = line
        if "text" in line:
            self.last = completion_of(line)
        self.told.append({name: line.get(name) for name in ("text", "usage", "cost", "measured")})


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

    A sum over its turns of which a part is unknown is unknown.

    Args:
        request: of its opening.
        finished: how it ended.
        totals: over its turns.
    """
    last = totals.last or Completion("")
    answer = finished.failure or replace(last, text=finished.text, tool_calls=())
    costs = [line["cost"] for line in totals.told]
    measured = [line["measured"] for line in totals.told]
    counted = [line["usage"] or {} for line in totals.told if line["text"] is not None]
    usage: dict[str, int | None] = {}
    for name in _Usage.model_fields:
        counts: list[Any] = [each.get(name) for each in counted]
        usage[name] = sum(counts) if counts and None not in counts else None
    charged = sum((Decimal(each.get("charged") or 0) for each in measured), Decimal())
    return line_of(
        request,
        answer,
        None if None in costs else sum(map(Decimal, costs), Decimal()),
        {
            "seconds": round(sum(each["seconds"] or 0.0 for each in measured), 3),
            "attempts": 1 + sum(each["attempts"] - 1 for each in measured),
            "charged": str(charged),
        },
        outcome=str(finished.outcome),
        usage=usage,
        episode={"turns": len(totals.told), "reason": finished.reason, **finished.record},
    )
