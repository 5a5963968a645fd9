"""The final answer, read tolerantly: a JSON object wherever it stands in the reply.

Fences, prose around the object, trailing commas and single quotes do not make an answer wrong; a
field that is missing does.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_DIAGNOSIS = ("final_diagnosis", "diagnosis")
_TREATMENT = ("treatment", "treatments", "treatment_plan")
_THOUGHT = ("thought", "thoughts", "reasoning")
# So that no reply takes long to read.
_MOST_STARTS = 200
_LONGEST_LITERAL = 20_000
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")
_SEPARATOR = re.compile(r"\s*(?:;|\n)\s*")
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
    answers = [answer for found in _objects(text) if (answer := _answer(found)) is not None]
    return answers[-1] if answers else None


def treatments_in(text: str) -> tuple[str, ...]:
    """Return the treatments of a text, one a line or separated by semicolons, without marks."""
    parts = (_MARK.sub("", part).strip() for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    is_any_read = False
    place = text.find("{")
    for _ in range(_MOST_STARTS):
        if place < 0:
            break
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            is_any_read = True
            if isinstance(found, Mapping):
                yield found
        place = text.find("{", end)
    if not is_any_read:
        yield from _repaired(text[text.find("{") : text.rfind("}") + 1])


def _repaired(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield what is an object but for a comma too many or for quotes of Python."""
    if not text or len(text) > _LONGEST_LITERAL:
        return
    try:
        found: Any = json.loads(_TRAILING_COMMA.sub(r"\1", text), strict=False)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
    if isinstance(found, Mapping):
        yield found


def _answer(found: Mapping[str, Any]) -> FinalAnswer | None:
    fields = {
        re.sub(r"[\s-]+", "_", str(name).strip().lower()): value for name, value in found.items()
    }
    diagnosis = _first(fields, _DIAGNOSIS)
    treatment = _treatments(_first(fields, _TREATMENT))
    if not isinstance(diagnosis, str) or not diagnosis.strip() or treatment is None:
        return None
    thought = _first(fields, _THOUGHT)
    return FinalAnswer(diagnosis.strip(), treatment, thought if isinstance(thought, str) else "")


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _treatments(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return treatments_in(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(part.strip() for part in value if part.strip())
    return None
