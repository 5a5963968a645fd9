"""The lines of a journal: what was answered, and apart what was measured.

Two runs with the same answers have the same lines but for `measured`. In a line that is read,
fields that are not known here are left alone: a newer version may keep more than this one reads.
Only `usage` and the calls of tools are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

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

_REQUIRED = "Field required"


def _amount(text: str) -> str:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise ValueError("no amount of money")
    return text


_Amount = Annotated[str, AfterValidator(_amount)]
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

    What stands in the field is left out: it may be text of a patient.

    Args:
        line: as it was read from JSON.
    """
    try:
        read = _Line.model_validate(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        is_object = first["type"] == "model_type"  # in words of its own it names classes of ours
        why = "Input should be an object" if is_object else first["msg"]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), why)))
    given = read.model_fields_set
    # An item without a reply has an error; an error may also stand for a refusal.
    if "error" in given:
        return ""
    if read.outcome is Outcome.ERRORED:
        return f"error: {_REQUIRED}"
    return "" if "text" in given else f"text: {_REQUIRED}"


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
    calls = [call.as_json() for call in completion.tool_calls]
    called: Line = {"tool_calls": calls} if calls else {}
    if calls and completion.message is not None:
        called["message"] = dict(completion.message)
    return {
        **_named(request, outcome_of(completion)),
        "text": completion.text,
        "reasoning": completion.reasoning,
        "refusal": completion.refusal,
        "finish_reason": completion.finish_reason,
        "model": completion.model,
        "fingerprint": completion.fingerprint,
        "usage": completion.usage.as_json(),
        **called,
        **_told(cost, measured),
    }


def failed_line(
    request: Request, failure: Failure, cost: Decimal | None, measured: Mapping[str, Any]
) -> Line:
    """Return the line of an item without a reply; what the endpoint wrote only if it is open."""
    shown = failure if request.item.is_open else failure.without_detail()
    return {**_named(request, failure.outcome), "error": shown.as_json(), **_told(cost, measured)}


def completion_of(line: Line) -> Completion:
    """Read back the reply that a line holds."""
    return Completion(
        text=line["text"],
        reasoning=line.get("reasoning", ""),
        refusal=line.get("refusal", ""),
        finish_reason=line.get("finish_reason", ""),
        model=line.get("model", ""),
        fingerprint=line.get("fingerprint", ""),
        usage=Usage(**(line.get("usage") or {})),
        tool_calls=tuple(ToolCall(**call) for call in line.get("tool_calls", ())),
        message=line.get("message"),
    )


def failure_of(line: Line) -> Failure:
    """Read back why there was no reply, as far as the line holds it."""
    error = line["error"]
    return Failure(
        Kind(error["kind"]),
        status=error.get("status"),
        code=error.get("code", ""),
        parameter=error.get("parameter", ""),
        detail=error.get("detail", ""),
    )


def _named(request: Request, outcome: Outcome) -> Line:
    return {
        "item": request.item.id,
        "sample": request.item.sample,
        "key": request.key,
        "outcome": str(outcome),
    }


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
        self.turns = 0
        self.line: Line = {}
        self.last: Completion | None = None
        self._usage: list[Usage] = []
        self._cost: Decimal | None = Decimal(0)
        self._charged = Decimal(0)
        self._seconds = 0.0
        self._retries = 0

    def add(self, line: Line) -> None:
        """Add the line of a turn."""
        self.turns += 1
        self.line = line
        if "text" in line:
            self.last = completion_of(line)
            self._usage.append(self.last.usage)
        cost = line["cost"]
        self._cost = None if self._cost is None or cost is None else self._cost + Decimal(cost)
        measured = line["measured"]
        self._charged += Decimal(measured.get("charged") or 0)
        self._seconds += measured["seconds"] or 0.0
        self._retries += measured["attempts"] - 1

    @property
    def told(self) -> Line:
        """Cost and measurements, as the line of an item has them."""
        return {
            "cost": None if self._cost is None else str(self._cost),
            "measured": {
                "seconds": round(self._seconds, 3),
                "attempts": 1 + self._retries,
                "charged": str(self._charged),
            },
        }

    @property
    def usage(self) -> Usage:
        """The sums over all turns; a sum of which a part is unknown is unknown."""

        def total(name: str) -> int | None:
            counts = [getattr(usage, name) for usage in self._usage]
            return None if not counts or None in counts else sum(counts)

        return Usage(
            input_tokens=total("input_tokens"),
            cached_tokens=total("cached_tokens"),
            output_tokens=total("output_tokens"),
            reasoning_tokens=total("reasoning_tokens"),
        )


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
        shown = finished.failure if request.item.is_open else finished.failure.without_detail()
        line["error"] = shown.as_json()
    else:
        last = totals.last or Completion("")
        line |= {
            "text": finished.text,
            "reasoning": last.reasoning,
            "refusal": last.refusal,
            "finish_reason": last.finish_reason,
            "model": last.model,
            "fingerprint": last.fingerprint,
        }
    episode = {"turns": totals.turns, "reason": finished.reason, **finished.record}
    return {**line, "usage": totals.usage.as_json(), "episode": episode, **totals.told}
