"""The text protocol: tools for models that cannot call them, as lines in their replies.

The lines are those of ReAct prompting (Yao et al., ICLR 2023), which Hager et al. (Nature Medicine
30, 2024) use for this benchmark: Action and Action Input, or Diagnosis and Treatment. Other
layouts are understood and counted; what a model made up itself as a result is never read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from medeval.cdm.loop_actions import action_in, action_of
from medeval.cdm.loop_answers import (
    FinalAnswer,
    is_answer,
    part_of_an_answer,
    read_answer,
    treatments_in,
)
from medeval.cdm.loop_lines import Field, read_lines
from medeval.json_reader import objects_in

STOP = ("\nObservation:",)

# An action that is none: the model has decided.
_NO_ACTION = re.compile(
    r"[\W_]*(?:none|n/a|nothing|no (?:further )?actions?(?: (?:is )?needed)?|(?:the )?final answer"
    r"|(?:final )?(?:answer|decision)|finish(?:ed)?|done)[\W_]*",
    re.IGNORECASE,
)
# An action that is none if an answer follows, and else a tool that there is not.
_DECIDING = re.compile(
    r"[\W_]*(?:(?:i will|now|provide|give|make|state|submit|the|a|my|final) ){0,5}"
    r"(?:diagnos(?:is|e)|treatments?(?: plan)?|answer|decision|conclusion)"
    r"(?: and (?:the )?treatments?(?: plan)?)?[\W_]*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Written:
    """What a reply of the text protocol says.

    Attributes:
        action: the tool that it wants, by the tool's own name where it is known; empty for none.
        action_input: what it asks the tool for.
        answer: the final answer; None if it gives none.
        text: the reply without what it made up itself as observation.
        is_custom: another name or layout had to be understood.
    """

    action: str
    action_input: str
    answer: FinalAnswer | None
    text: str
    is_custom: bool = False


def read_written(text: str, tools: Sequence[str]) -> Written:
    """Read a reply without its thinking: the first action or whole answer that stands in it.

    Args:
        text: of the reply.
        tools: the names of the tools there are.
    """
    lines = read_lines(text)
    no_tool: Written | None = None
    is_custom = False
    for place, field in enumerate(lines.fields):
        if field.kind == "action" and field.value:
            first_line = field.value.splitlines()[0]
            if _NO_ACTION.fullmatch(first_line):
                is_custom = True
                continue
            action = action_in(field.value, _input_behind(lines.fields, place), tools)
            written = Written(
                action.tool, action.asked, None, lines.text, action.is_custom or field.is_custom
            )
            if action.tool in tools or (action.tool and not _DECIDING.fullmatch(first_line)):
                return written
            no_tool, is_custom = no_tool or written, True
        elif field.kind in ("diagnosis", "treatment"):
            answer, is_as_asked = _answer_in(lines.fields[: place + 1])
            if answer is not None:
                return Written("", "", answer, lines.text, is_custom or not is_as_asked)
    return _in_json(lines.text, tools) or no_tool or Written("", "", None, lines.text)


def partial_answer(text: str) -> FinalAnswer | None:
    """Return the part of an answer that a reply without its thinking holds; None if there is none.

    Args:
        text: of a reply in which no whole answer was read, in JSON or in lines.
    """
    part = part_of_an_answer(text)
    if part is not None:
        return part
    said = {field.kind: field.value for field in reversed(read_lines(text).fields) if field.value}
    diagnosis, treatments = said.get("diagnosis", ""), treatments_in(said.get("treatment", ""))
    return FinalAnswer(diagnosis, treatments) if diagnosis or treatments else None


def _input_behind(fields: Sequence[Field], place: int) -> str:
    """Return the input of the action at a place, which no other action has before it."""
    for field in fields[place + 1 :]:
        if field.kind == "input" and field.value:
            return field.value
        if field.kind == "action" and field.value:
            break
    return ""


def _answer_in(fields: Sequence[Field]) -> tuple[FinalAnswer | None, bool]:
    """Return the answer as soon as both of its lines are there, and whether they are as asked for.

    Of several diagnoses the one that is called final counts, else the first.
    """
    said = [field for field in fields if field.kind == "diagnosis" and field.value]
    diagnosis = next((field for field in said if field.label.startswith("final")), None)
    diagnosis = diagnosis or next(iter(said), None)
    treatment = next((field for field in fields if field.kind == "treatment"), None)
    if diagnosis is None or treatment is None:
        return None, True
    places = fields.index(diagnosis), fields.index(treatment)
    before = fields[: min(places)]
    thought = next((field.value for field in before if field.kind == "thought"), "")
    answer = FinalAnswer(diagnosis.value, treatments_in(treatment.value), thought)
    is_in_order = places == tuple(sorted(places))
    return answer, is_in_order and not (diagnosis.is_custom or treatment.is_custom)


def _in_json(text: str, tools: Sequence[str]) -> Written | None:
    """Return what the objects of a reply ask for or decide; None if they do neither."""
    for read in objects_in(text):
        if is_answer(read):
            break
        action = action_of(read.value, tools) if read.is_clear else None
        if action is not None:
            return Written(action.tool, action.asked, None, text, is_custom=True)
    answer = read_answer(text)
    return Written("", "", answer, text, is_custom=True) if answer is not None else None
