"""The history of a case, its pathology, and the words that would give it away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from oracles.cdm import facts

MASK = "___"
PAST_LABEL = re.compile(
    r"(past\s+medical\s*(and|/)?\s*surgical\s+history|past\s+medical\s+history"
    r"|pmhx/pshx|pmhx|pmh)\s*:?",
    re.IGNORECASE,
)


def history_text(present: str, past: str) -> str:
    """Join the present illness and the past medical history, the latter under one label."""
    past = past.strip()
    label = PAST_LABEL.match(past)
    if label:
        past = past[label.end() :].strip()
    return f"{present}\n\nPast Medical History: {past}"


def find_pathology(diagnoses: Iterable[str]) -> str | None:
    """Return the first pathology that the first telling diagnosis names."""
    for diagnosis in diagnoses:
        for pathology in facts.scrub_terms():
            if _terms(pathology).search(diagnosis):
                return pathology
    return None


def scrub(text: str, pathology: str | None) -> str:
    """Put the text on one line and mask the terms of its pathology."""
    line = text.replace("\n", " ")
    return line if pathology is None else _terms(pathology).sub(MASK, line)


@cache
def _terms(pathology: str) -> re.Pattern[str]:
    terms = "|".join(map(re.escape, facts.scrub_terms()[pathology]))
    return re.compile(rf"\b(?:{terms})\b", re.IGNORECASE)
