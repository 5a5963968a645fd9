"""The final answer, read tolerantly: a JSON object wherever it stands in the reply.

What surrounds the object and small faults of its form do not make an answer wrong. One with a field
missing is asked for once more; then the part of it that is there counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medeval.json_reader import Read, fitting, last_object

_DIAGNOSIS = ("final_diagnosis", "diagnosis")
_TREATMENT = ("treatment", "treatments", "treatment_plan")
_THOUGHT = ("thought", "thoughts", "reasoning")
_SEPARATOR = re.compile(r"[;\n]")
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


@dataclass(frozen=True)
class FinalAnswer:
    """What a model decided.

    Attributes:
        final_diagnosis: in its words.
        treatment: in its words, one a string.
        thought: why; empty if it does not say.
    """

    final_diagnosis: str
    treatment: tuple[str, ...]
    thought: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the answer in the layout that is asked for."""
        return {
            "thought": self.thought,
            "final_diagnosis": self.final_diagnosis,
            "treatment": list(self.treatment),
        }


def read_answer(text: str) -> FinalAnswer | None:
    """Read the answer in a reply without its thinking; None if there is none.

    Of several objects the last one that is an answer counts.
    """
    found = last_object(text, _DIAGNOSIS, _answer)
    return _answer(found.members) if found is not None else None


def is_answer(read: Read) -> bool:
    """Tell whether an object is an answer or wraps one, like a call of a tool."""
    return fitting(read, _answer) is not None


def part_of_an_answer(text: str) -> FinalAnswer | None:
    """Return an answer of which a part is missing; None if there is none.

    A diagnosis that is missing, or no text, is empty, and so are treatments that are missing.
    """
    found = last_object(text, (*_DIAGNOSIS, *_TREATMENT), _part)
    return _part(found.members) if found is not None else None


def treatments_in(text: str) -> tuple[str, ...]:
    """Return the treatments of a text, one a line or separated by semicolons, without marks."""
    parts = (_MARK.sub("", part).strip() for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


def _part(fields: Mapping[str, Any]) -> FinalAnswer | None:
    diagnosis = _first(fields, _DIAGNOSIS)
    given = _treatments(_first(fields, _TREATMENT))
    named = diagnosis.strip() if isinstance(diagnosis, str) else ""
    return FinalAnswer(named, given or ()) if named or given else None


def _answer(fields: Mapping[str, Any]) -> FinalAnswer | None:
    diagnosis = _first(fields, _DIAGNOSIS)
    treatment = _treatments(_first(fields, _TREATMENT))
    if not isinstance(diagnosis, str) or not diagnosis.strip() or treatment is None:
        return None
    thought = _first(fields, _THOUGHT)
    return FinalAnswer(diagnosis.strip(), treatment, thought if isinstance(thought, str) else "")


def _fields(found: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub(r"[\s-]+", "_", str(name).strip().lower()): found[name] for name in found}


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _treatments(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return treatments_in(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(part.strip() for part in value if part.strip())
    return None
