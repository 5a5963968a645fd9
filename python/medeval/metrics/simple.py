"""The documented proxies, kept number for number, with their known blind spots.

They take values as `str` shows them, so that null is the word "none". Use the metrics of the other
modules to learn something about a model; these are for comparison with published figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]

CUES = ("because", "due to", "based on", "given")
KEYWORDS = frozenset(
    {"patient", "diagnosis", "treatment", "history", "medication", "lab", "symptom"}
)


def same_answer(reference: Record, output: Record, key: str) -> float:
    """Return 1 if both answers are equal but for case and outer whitespace, else 0."""
    return float(_answer(reference, key) == _answer(output, key))


def has_cue(output: Record) -> float:
    """Return 1 if the explanation, else the rationale, contains a word of giving reasons."""
    reasons = str(output.get("explanation") or output.get("rationale") or "").lower()
    return float(any(cue in reasons for cue in CUES))


def token_recall(reference: Record, output: Record, key: str) -> float:
    """Return the share of the reference's distinct tokens that the output has; order is ignored."""
    wanted = set(_tokens(reference, key))
    return len(wanted & set(_tokens(output, key))) / len(wanted) if wanted else 0.0


def keyword_rate(output: Record, key: str) -> float:
    """Return the share of seven clinical keywords that are tokens of the output."""
    return len(KEYWORDS & set(_tokens(output, key))) / len(KEYWORDS)


def digit_support(reference: Record, output: Record, key: str) -> float:
    """Return the share of the output's distinct digit tokens that the reference has; 1 for none.

    A token is seen only if it is all digits: "120/80", "500mg", "3.5" and "5," are not.
    """
    claimed = {token for token in _tokens(output, key) if token.isdigit()}
    invented = claimed - set(_tokens(reference, key))
    return 1 - len(invented) / len(claimed) if claimed else 1.0


def _answer(record: Record, key: str) -> str:
    return str(record.get(key, "")).strip().lower()


def _tokens(record: Record, key: str) -> list[str]:
    return str(record.get(key, "")).lower().split()
