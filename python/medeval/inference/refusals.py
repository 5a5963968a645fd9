"""Refusals of conversations: a prompt that is too long, which a shorter one mends, and tools."""

from __future__ import annotations

from dataclasses import replace

from medeval.inference.complaints import TOO_LONG, complaint
from medeval.inference.error_bodies import Words
from medeval.inference.failures import Failure, Kind, refuses_tools_by

CODE = TOO_LONG


def is_overflow(failure: Failure) -> bool:
    """Tell whether a request failed because its prompt is too long."""
    if failure.kind is not Kind.REQUEST:
        return False
    detail = Words(failure.detail, "")
    told = complaint(failure.status, {failure.code}, failure.parameter, detail, detail)
    return told == TOO_LONG


def with_overflow_named(failure: Failure) -> Failure:
    """Return the failure with the one code, so that it is known again without its message.

    The message may repeat the prompt, so the journal does not keep it for every item.
    """
    return replace(failure, code=CODE) if is_overflow(failure) else failure


def refuses_tools(failure: Failure) -> bool:
    """Tell whether the endpoint takes no tools, or none for this model."""
    return failure.kind is Kind.REQUEST and refuses_tools_by(
        failure.status, Words(failure.detail, "")
    )
