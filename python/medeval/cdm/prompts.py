"""The words around a case; whoever changes one gives them a new version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PROMPT_VERSION = "cdm-1"

_ROLE = (
    "You assist a doctor in the emergency department. A patient has come with abdominal pain. Find"
    " the one diagnosis that explains it best and the treatment that should follow."
)
_WAY = (
    "You are told the history only. Whatever else you want to know you must ask for: examine the"
    " patient, order laboratory tests, order imaging, one step after the other. Ask for what a"
    " careful doctor would ask for and no more, and never make up a result. A result that is not"
    " there cannot be had."
)
_ANSWER = (
    'a JSON object and nothing else: {"thought": "why, in a few sentences", "final_diagnosis":'
    ' "the diagnosis", "treatment": ["one treatment", "another one"]}'
)

SYSTEM_NATIVE = f"{_ROLE}\n\n{_WAY}\n\nWhen you are sure, answer with {_ANSWER}"

_SYSTEM_TEXT = f"""{_ROLE}

{_WAY}

You have these tools:
{{tools}}

In each step write one of two things. To use a tool:

Thought: what you make of what you know
Action: the name of the tool
Action Input: what you ask it for

Then stop and wait for the Observation. When you are sure:

Thought: why
Diagnosis: the diagnosis
Treatment: the treatments, separated by semicolons"""

SYSTEM_FULL_INFORMATION = (
    f"{_ROLE}\n\nYou are given all that is known of the patient. Answer with a JSON object and"
    ' nothing else: {"diagnosis": "the diagnosis", "treatment": ["one treatment", "another one"]}'
)
SYSTEM_SUMMARY = (
    "You shorten medical text for a doctor. Keep every finding, number with its unit, and negative"
    " finding that matters; leave out whatever repeats. Add nothing and name no diagnosis that the"
    " text does not name. Answer with the short text only."
)

ASK_AGAIN_NATIVE = f"Your reply could not be read. Go on with a tool, or answer with {_ANSWER}"
ASK_AGAIN_TEXT = (
    "Your reply could not be read. Write either the lines Action and Action Input, or the lines"
    " Diagnosis and Treatment."
)
ASK_AGAIN_FULL_INFORMATION = (
    "Your reply could not be read. Answer with a JSON object and nothing else:"
    ' {"diagnosis": "the diagnosis", "treatment": ["one treatment", "another one"]}'
)
DECIDE_NATIVE = f"No more can be asked for. Decide now: answer with {_ANSWER}"
DECIDE_TEXT = (
    "No more can be asked for. Decide now: write the lines Thought, Diagnosis and Treatment."
)

BAD_ARGUMENTS = "The arguments are no JSON object. The tool takes: {arguments}."
TOO_MANY_CALLS = "Too many calls in one step; this one was not made. Ask again if you need it."
NO_MORE_CALLS = "Not made: no more can be asked for."
NO_REPLY = "(no reply)"


def system_text(definitions: Sequence[Mapping[str, Any]]) -> str:
    """Return the system prompt of the text protocol with the tools in words."""
    tools = "\n".join(_in_words(definition["function"]) for definition in definitions)
    return _SYSTEM_TEXT.format(tools=tools)


def history(text: str) -> str:
    """Return the first words of the user: the history and nothing else."""
    return f"History of the patient:\n{text.strip()}"


def found_so_far(summary: str) -> str:
    """Return what stands in place of the steps that were taken out of a conversation."""
    return f"What you have asked for so far, shortened:\n{summary}"


def _in_words(function: Mapping[str, Any]) -> str:
    properties = function["parameters"].get("properties", {})
    takes = "; ".join(
        f"{name}: {value.get('description', '')}" for name, value in properties.items()
    )
    return f"- {function['name']}: {function['description']} Input: {takes or 'none'}"
