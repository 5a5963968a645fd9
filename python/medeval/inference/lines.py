"""The journal's line of an item or a turn: what was answered, and apart what was measured.

Two runs with the same answers have the same lines but for `measured`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from medeval.inference.errors import Failure, Kind
from medeval.inference.journal import Line
from medeval.inference.openai_replies import outcome_of
from medeval.inference.thinking import split_thinking
from medeval.inference.types import Completion, Item, Outcome, Request, ToolCall, Usage

CanRead = Callable[[Item, str], bool]


def answered_line(
    request: Request,
    completion: Completion,
    cost: Decimal | None,
    measured: Mapping[str, Any],
    can_read: CanRead | None = None,
) -> Line:
    """Return the line of an item that was replied to.

    Args:
        request: that was made.
        completion: that came back.
        cost: of all its calls; None if it is unknown.
        measured: seconds, attempts and the like, which differ from run to run.
        can_read: tells whether the task finds an answer to an item in a reply without its thinking.
    """
    outcome = outcome_of(completion)
    if outcome is Outcome.ANSWERED and can_read is not None:
        is_read = can_read(request.item, split_thinking(completion.text).answer)
        outcome = Outcome.ANSWERED if is_read else Outcome.UNPARSED
    return {
        **_named(request, outcome),
        "text": completion.text,
        "reasoning": completion.reasoning,
        "refusal": completion.refusal,
        "finish_reason": completion.finish_reason,
        "model": completion.model,
        "fingerprint": completion.fingerprint,
        "usage": completion.usage.as_json(),
        **_called(completion),
        **_told(cost, measured),
    }


def failed_line(
    request: Request, failure: Failure, cost: Decimal | None, measured: Mapping[str, Any]
) -> Line:
    """Return the line of an item without a reply; what the endpoint wrote only if it is open."""
    shown = failure if request.item.is_open else failure.without_detail()
    outcome = Outcome.REFUSED if failure.kind is Kind.FILTER else Outcome.ERRORED
    return {**_named(request, outcome), "error": shown.as_json(), **_told(cost, measured)}


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


def _called(completion: Completion) -> Line:
    calls = [call.as_json() for call in completion.tool_calls]
    message = {} if completion.message is None else {"message": dict(completion.message)}
    return {"tool_calls": calls, **message} if calls else {}


def _told(cost: Decimal | None, measured: Mapping[str, Any]) -> Line:
    return {"cost": None if cost is None else str(cost), "measured": dict(measured)}
