"""The text protocol: tools for models that cannot call them, as lines in their replies.

The lines are those of ReAct prompting (Yao et al., ICLR 2023), which Hager et al. (Nature Medicine
30, 2024) use for this benchmark: Action and Action Input, or Diagnosis and Treatment. Bold marks,
other names of a tool and several lines of input are understood and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.loop_answers import FinalAnswer, read_answer, treatments_in

STOP = ("\nObservation:",)

_LABEL = re.compile(
    r"^[ \t>*_#-]{0,6}(?P<name>thoughts?|rationale|actions?(?:[ _]inputs?)?|inputs?|observations?"
    r"|(?:final[ _])?diagnosis|treatments?(?:[ _]plan)?)[ \t*_]{0,4}:[ \t*_]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
_WORDS = (
    ("physical_examination", ("physical",)),
    ("request_lab_test", ("lab", "blood test")),
    ("request_imaging", ("imag", "scan", "radiolog")),
    ("retrieve_diagnosis_criteria", ("criteria", "guideline")),
    ("physical_examination", ("exam",)),
)
# A tool with its input as a call, on one line.
_CALL = re.compile(r"(?P<name>[A-Za-z_ ]{3,40}?)\s*[(\[](?P<input>.*)[)\]]", re.DOTALL)
# An action that is none: the model has decided.
_NO_ACTION = re.compile(
    r"[\W_]*(?:none|n/a|nothing|no (?:further )?actions?(?: (?:is )?needed)?|(?:the )?final answer"
    r"|(?:final )?(?:answer|decision)|finish(?:ed)?|done)[\W_]*",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\b(region|modality)\s*[:=]\s*([^,;\n]+)", re.IGNORECASE)


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
    """Read a reply without its thinking.

    Args:
        text: of the reply.
        tools: the names of the tools there are.
    """
    labels = list(_LABEL.finditer(text))
    fields: list[tuple[str, str]] = []
    end = len(text)
    for place, label in enumerate(labels):
        name = re.sub(r"[ _]+", " ", label["name"].lower())
        if name.startswith("observation"):
            end = label.start()
            break
        stop = labels[place + 1].start() if place + 1 < len(labels) else len(text)
        fields.append((name, text[label.end() : stop].strip().strip("*_`").strip()))
    kept = text[:end].rstrip()
    has_said_none = False
    for place, (name, value) in enumerate(fields):
        if name in ("action", "actions") and value:
            if _NO_ACTION.fullmatch(value.splitlines()[0]):
                has_said_none = True  # what follows is the answer, in one layout or another
                continue
            call = _CALL.fullmatch(value)
            known, is_exact = _tool(call["name"] if call else value, tools)
            asked = next((value for name, value in fields[place + 1 :] if "input" in name), "")
            asked = asked or (call["input"].strip() if call else "")
            return Written(known, asked, None, kept, is_custom=not is_exact or call is not None)
        if name.endswith("diagnosis") and value:
            treatment = next((v for n, v in fields[place + 1 :] if n.startswith("treatment")), None)
            thought = next((v for n, v in fields[:place] if n.startswith(("thought", "rat"))), "")
            if treatment is not None:
                answer = FinalAnswer(value, treatments_in(treatment), thought)
                return Written("", "", answer, kept, has_said_none)
    answer_in_json = read_answer(kept)
    return Written("", "", answer_in_json, kept, is_custom=answer_in_json is not None)


def arguments_in(text: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of an action as the arguments of its tool.

    A JSON object is taken as it is. Of a tool with one argument the text is the argument; of one
    with two, such as `CT Abdomen`, it is both, unless it names them.
    """
    names = list(definition["function"]["parameters"].get("properties", {}))
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict):
        return read
    said = text.strip().strip("\"'").strip()
    named = {name.lower(): value.strip() for name, value in _PAIR.findall(said)}
    if named and set(named) <= set(names):
        return {**dict.fromkeys(names, said), **named}
    return dict.fromkeys(names, said)


def _tool(said: str, tools: Sequence[str]) -> tuple[str, bool]:
    """Return the tool that a name means, and whether the name was its own."""
    name = said.splitlines()[0].strip().strip("`\"'[]() ").removesuffix("()")
    if name in tools:
        return name, True
    plain = re.sub(r"[\s_-]+", " ", name.lower())
    for tool in tools:
        if tool.replace("_", " ") == plain:
            return tool, False
    for tool, words in _WORDS:
        if tool in tools and any(word in plain for word in words):
            return tool, False
    return name, True
