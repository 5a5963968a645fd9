"""The form of a journal's line, and what is wrong with one that does not have it.

Fields that are not known here are left alone: a newer version may keep more than this one reads.
Only `usage` and the calls of tools are read whole.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from medeval.inference.errors import Kind
from medeval.inference.types import Outcome

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
