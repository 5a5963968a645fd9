"""What an action of the text protocol means: which tool, and what it is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.json_reader import Read, list_in, objects_in

_MODALITY = (
    r"\b(?:(?-i:US)|eus|ct|mri|mrcp|hida|ercp|kub|x[ -]?rays?|ultra[ -]?so\w*|sono\w*"
    r"|radiogra\w*|tomogra\w*)\b"
)
_WORDS = (
    ("physical_examination", r"physical"),
    ("request_lab_test", r"\blab|blood test"),
    ("request_imaging", rf"imag|scan|radiolog|{_MODALITY}"),
    ("retrieve_diagnosis_criteria", r"criteria|guideline"),
    ("physical_examination", r"exam"),
)
# A tool with its input as a call, such as request_lab_test(CBC).
_CALL = re.compile(r"(?P<name>[A-Za-z_ -]{2,40}?)\s*[(\[](?P<input>.*)[)\]]\W*", re.DOTALL)
_AROUND_A_NAME = "`\"'*[](){}<>. \t"
_AFTER_A_NAME = re.compile(r"\A\s*(?:\(\s*\))?[`\"'*\])]*\s*[:：=,-]?\s*")
_FENCE = re.compile(r"```[ \t]*[\w+-]{0,20}[ \t]*\r?\n?(?P<inside>.*?)(?:```|\Z)", re.DOTALL)
# A model that has understood that it must wait often says so.
_WAITING = re.compile(
    r"^[\W_]{0,20}(?:(?:i(?:\W{1,2}ll| will| am|\W{1,2}m| must)|let me|let us|now|then|please|and)"
    r"[ ,]+){0,3}(?:stop|wait|await|paus)\w*\b.*",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
# An empty line ends the input, unless a list, pairs or an object go on behind it.
_END_OF_INPUT = re.compile(r"\n[ \t]*\r?\n(?!\s*(?:[-*•{\[`]|\d{1,2}[.)]\s|[\w ]{1,20}[:=]))")


@dataclass(frozen=True)
class Action:
    """A tool that a model wants.

    Attributes:
        tool: by its own name where it is known, else as the model names it.
        asked: what the model asks it for.
        is_custom: another name or layout had to be understood.
    """

    tool: str
    asked: str
    is_custom: bool


def action_in(said: str, given: str, tools: Sequence[str]) -> Action:
    """Return the action that the lines of a reply ask for.

    What stands behind the name of the tool is its input where there is no other.

    Args:
        said: as the action, on one or more lines.
        given: as its input; empty if there is none.
        tools: the names of the tools there are.
    """
    name, behind, is_own = _divided(said, tools)
    tool = name if is_own else _meant(name, tools)
    given, behind = _without_talk(given), _without_talk(behind)
    asked = given or behind
    if tool == "request_imaging":
        # Half of what it asks for may be the action: "CT scan", with the region as input.
        halves = [part for part in (name, behind) if _names_modality(part) and part != asked]
        asked = " ".join([*halves, asked]).strip()
    return Action(tool, asked, is_custom=tool != name or (not given and bool(behind)))


def action_of(found: Mapping[str, Any], tools: Sequence[str]) -> Action | None:
    """Return the action that a JSON object asks for, as some models are used to write; else None.

    Args:
        found: the object.
        tools: the names of the tools there are.
    """
    fields = {str(name).lower(): value for name, value in found.items()}
    function = fields.get("function")
    if isinstance(function, Mapping):
        return action_of(function, tools)
    name = next(
        (fields[key] for key in ("action", "tool", "name", "function") if key in fields), ""
    )
    if name not in tools:
        return None
    inputs = ("action_input", "input", "arguments", "parameters", "args")
    given = next((fields[key] for key in inputs if key in fields), "")
    return Action(name, given if isinstance(given, str) else json.dumps(given), is_custom=True)


def arguments_in(text: str, definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of an action as the arguments of its tool.

    An object in JSON or as Python writes it is taken as it is. Of a tool with one argument the text
    is the argument; of one with two, such as `CT Abdomen`, it is both, unless it names them.
    """
    names = list(definition["function"]["parameters"].get("properties", {}))
    fenced = _FENCE.search(text)
    said = fenced["inside"].strip() if fenced else text.strip()
    found = next(objects_in(said), None)
    if found is not None and found.is_clear:
        return _arguments_of(found, said, names)
    listed = list_in(said) or [None]
    are_texts = all(isinstance(each, str) for each in listed)
    said = "\n".join(listed) if are_texts else said.strip("\"'`").strip()
    named = _pairs_in(said, names)
    return {**dict.fromkeys(names, said), **named}


def _divided(said: str, tools: Sequence[str]) -> tuple[str, str, bool]:
    """Return the name of a tool, what stands behind it, and whether the name is a tool's own."""
    text = said.strip()
    plain = text.lstrip(_AROUND_A_NAME)
    for tool in tools:
        if re.match(rf"{tool}(?![A-Za-z0-9_])", plain):
            rest = plain[len(tool) :].lstrip("`\"'*")
            call = _CALL.fullmatch(f"{tool}{rest}")
            is_call = call is not None and call["name"] == tool
            behind = call["input"] if call and is_call else _AFTER_A_NAME.sub("", rest, count=1)
            return tool, behind.strip() if re.search(r"\w", behind) else "", True
    call = _CALL.fullmatch(text)
    if call:
        return call["name"].strip(), call["input"].strip(), False
    line, _, below = text.partition("\n")
    name, _, behind = re.sub("：", ":", line).partition(":")
    return name.strip(_AROUND_A_NAME), f"{behind}\n{below}".strip(), False


def _names_modality(words: str) -> bool:
    return re.search(_MODALITY, words, re.IGNORECASE) is not None


def _meant(name: str, tools: Sequence[str]) -> str:
    """Return the tool that words mean; the words if they mean none."""
    plain = re.sub(r"[\s_-]+", " ", name)
    for tool in tools:
        if tool.replace("_", " ") == plain.lower():
            return tool
    for tool, words in _WORDS:
        if tool in tools and re.search(words, plain, re.IGNORECASE):
            return tool
    return name


def _without_talk(text: str) -> str:
    """Return an input without what is said behind it."""
    text = _WAITING.sub("", text.strip(), count=1).strip()
    end = _END_OF_INPUT.search(text)
    return text[: end.start()].rstrip() if end else text


def _arguments_of(read: Read, said: str, names: Sequence[str]) -> dict[str, Any]:
    """Return an object as arguments; what it does not name may stand in the words before it."""
    found = read.value
    spelled = {re.sub(r"[\s-]+", "_", name.lower()): name for name in map(str, found)}
    arguments = {name: found[spelled[name]] if name in spelled else None for name in names}
    missing = [name for name, value in arguments.items() if value is None]
    if missing and len(names) == 1 == len(found):
        return dict(zip(names, found.values(), strict=True))  # under another name
    before = said[: read.start].strip()
    if len(missing) == len(names) or (missing and not before):
        return dict(found)
    return {**arguments, **dict.fromkeys(missing, before)}


def _pairs_in(said: str, names: Sequence[str]) -> dict[str, str]:
    """Return the arguments that a text names, such as `region: Abdomen, modality=CT`."""
    either = "|".join(re.escape(name).replace("_", "[ _]") for name in names)
    # The only argument is all that follows; of several each ends where a list's part ends.
    label = rf"(?P<name>{either})[\"'*_`]{{0,3}}\s*[:=：]"
    if len(names) == 1:
        pattern = rf"\A\W*{label}(?P<value>.+)"
    else:
        pattern = rf"\b{label}(?P<value>(?:(?!\b(?:{either})\b)[^,;\n])+)"
    found = re.finditer(pattern, said, re.IGNORECASE | re.DOTALL) if names else ()
    return {
        pair["name"].lower().replace(" ", "_"): pair["value"].strip(" \t\n\"'*_`{}")
        for pair in found
    }
