"""How the conversation went: rounds, calls of each tool, calls that were not valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from medeval.cdm.tools import TOOLS


def rounds(calls: Sequence[Mapping[str, Any]]) -> int:
    """Return in how many turns the model called tools.

    A call says its turn by `round`; one that does not is taken for a turn of its own.
    """
    said = {call["round"] for call in calls if call.get("round") is not None}
    return len(said) + sum(call.get("round") is None for call in calls)


def invalid_calls(calls: Sequence[Mapping[str, Any]]) -> int:
    """Return how many calls came to nothing.

    They named no tool that there is, or arguments that it does not take; or they were not made,
    whatever they said, since one step had more calls than it may or no further call was allowed.
    """
    return sum(not call["is_valid"] for call in calls)


def calls_by_tool(calls: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how often each tool was called with success, and all calls under `total`."""
    counted = Counter(call["tool"] for call in calls if call["is_valid"])
    return {tool: counted[tool] for tool in TOOLS} | {"total": len(calls)}
