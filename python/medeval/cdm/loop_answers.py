"""The final answer, read tolerantly: a JSON object wherever it stands in the reply.

Fences, prose around the object, objects around it, trailing commas and single quotes do not make
an answer wrong; a field that is missing does.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from medeval.text import whole_json

_DIAGNOSIS = ("final_diagnosis", "diagnosis")
_TREATMENT = ("treatment", "treatments", "treatment_plan")
_THOUGHT = ("thought", "thoughts", "reasoning")
# So that no reply takes long to read.
_MOST_STARTS = 200
_LONGEST_LITERAL = 20_000
_MOST_REPAIRED = 5 * _LONGEST_LITERAL
_DEEPEST = 4
_TRAILING_COMMA = re.compile(r",(\s*[\]}])")
_SEPARATOR = re.compile(r"[;\n]")
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
# A string in either kind of quotes, in which braces mean nothing, or a brace.
_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[{}]', re.DOTALL)


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
    answers = [answer for found in objects_in(text) if (answer := answer_in(found)) is not None]
    return answers[-1] if answers else None


def answer_in(found: Mapping[str, Any], depth: int = _DEEPEST) -> FinalAnswer | None:
    """Return the answer that an object is, or that one of its values is; None if there is none.

    Models wrap an answer like a call of a tool. A list in an object is none: it holds candidates.

    Args:
        found: the object.
        depth: of objects in objects that are looked into.
    """
    answer = _answer(found)
    if answer is not None or depth == 0:
        return answer
    inner = [answer_in(value, depth - 1) for value in map(_as_object, found.values()) if value]
    return next((answer for answer in reversed(inner) if answer is not None), None)


def treatments_in(text: str) -> tuple[str, ...]:
    """Return the treatments of a text, one a line or separated by semicolons, without marks."""
    parts = (_MARK.sub("", part).strip() for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a text in their order; of objects in objects the outer ones.

    What is an object but for a comma too many, or for quotes of Python, is one too.
    """
    decoder = json.JSONDecoder(strict=False)
    looked_at = 0
    place = text.find("{")
    for _ in range(_MOST_STARTS):
        if place < 0:
            return
        try:
            found, end = decoder.raw_decode(text, place)
            found = whole_json(found)
        except (ValueError, RecursionError):
            found, end = None, place + 1
            if looked_at < _MOST_REPAIRED:
                close = _end_of_object(text, place)
                looked_at += (close or min(len(text), place + _LONGEST_LITERAL)) - place
                found = _repaired(text[place:close])
                end = close if found is not None else end
        if isinstance(found, dict):
            yield found
        place = text.find("{", end)


def _end_of_object(text: str, start: int) -> int:
    """Return where the object that begins at a place ends; 0 if it does not."""
    depth = 0
    for match in _STRING_OR_BRACE.finditer(text, start, start + _LONGEST_LITERAL):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return 0


def _repaired(text: str) -> dict[str, Any] | None:
    """Return what is an object but for a comma too many or for quotes of Python; None if it is not.

    Another value than an object, such as a set, is none.
    """
    if not text:
        return None
    try:
        found: Any = json.loads(_TRAILING_COMMA.sub(r"\1", text), strict=False)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None
    try:
        return whole_json(found) if isinstance(found, dict) else None
    except RecursionError:
        return None


def _as_object(value: Any) -> Mapping[str, Any] | None:
    """Return a value that is an object, or that is the text of one; None for any other."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = next(objects_in(value), None)
    return value if isinstance(value, Mapping) else None


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
