"""How a model asks for tools and answers: in the endpoint's own form of calls, or in text.

The lines of text are those of ReAct prompting (Yao et al., ICLR 2023), which Hager et al. (Nature
Medicine 30, 2024) use for this benchmark. There is one layout, the one that the prompt asks for:

    Thought: why                            Thought: why
    Action: the name of the tool      or    Diagnosis: the diagnosis
    Action Input: what to ask it for        Treatment: the treatments, separated by semicolons

Case, white space, code fences, marks of Markdown and numbers ("1. Action:", "Action 1:") do not
matter, the diagnosis may be called final, and an answer may be the JSON object of the other ways of
asking. An action that is no tool's name is an invalid call. What a model wrote itself as an
observation is never read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import Any

from medeval.inference.errors import json_or_none
from medeval.inference.types import Message, Reply, ToolCall, object_of
from medeval.json_reader import REPLY, NotJsonError, Values, fold_key, last_object, whole_value
from medeval.tasks.cdm.facts import ARGUMENTS, KEYS, LABELS, PURPOSES, prompt
from medeval.text import split_thinking

# What endpoints take as the name of a function: letters, digits, "_" and "-", at most 64 of them.
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")

_FLAGS = re.IGNORECASE | re.MULTILINE
_START, _STOP = r"^[ \t>*_`#-]{0,8}", r"[ \t*_`]{0,4}"
_NUMBER = rf"(?:(?:\(?\d{{1,2}}[.):]|step[ ]\d{{1,2}}[.:])[ \t]{{0,4}})?{_STOP}"
_STEP = rf"(?:[ \t]#?\d{{1,2}})?{_STOP}"
_KIND = "|".join(f"(?P<{kind}>{words})" for kind, words in LABELS.items())
_LABEL = re.compile(rf"{_START}{_NUMBER}(?:{_KIND}){_STEP}[:\uff1a]{_STOP}", _FLAGS)
# Behind an action a result that was made up may be a heading, or begin within a line.
_MADE_UP = re.compile(rf"(?<=\s)Observation:|{_START}observations?{_STOP}(?:\uff1a|\r?$)", _FLAGS)
_FENCE = re.compile(r"```[\w+-]{0,20}")
_MARKS = "*_`\"' \t\r\n"
_SEPARATOR = re.compile(r"[;\n]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_END_OF_INPUT = re.compile(r"\n[ \t]*\r?\n")

# A label, its value, which may be several lines long, and whether the label has a number.
_Line = tuple[str, str, bool]


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


# A call that a model wants to be made, and its arguments as they are read; None if they cannot be.
Call = tuple[ToolCall, Mapping[str, Any] | None]


@dataclass(frozen=True)
class ProtocolReply:
    """A reply as the loop goes on with it.

    Attributes:
        message: to be put into the conversation.
        calls: that it wants to be made.
        answer: the final answer; None if there is none.
        customs: places where another layout than the one asked for had to be understood.
    """

    message: Message
    calls: tuple[Call, ...] = ()
    answer: FinalAnswer | None = None
    customs: int = 0


class Native:
    """Tools in the form of OpenAI, in one conversation."""

    def __init__(self, tools: Sequence[str]) -> None:
        self.system = prompt("system_native")
        self._tools = tools
        self._ids: set[str] = set()

    def parameters(self, is_deciding: bool) -> dict[str, Any]:
        """Return the tools: endpoints want them as long as the conversation has calls in it."""
        if not self._tools:
            return {}
        choice = {"tool_choice": "none"} if is_deciding else {}
        return {"tools": definitions(self._tools), **choice}

    def read(self, completion: Reply) -> ProtocolReply:
        """Read the calls, else the answer."""
        text = split_thinking(completion.text).answer
        if not completion.tool_calls:
            message = {"role": "assistant", "content": text or prompt("no_reply")}
            return ProtocolReply(message, answer=read_answer(text))
        came = completion.message or {"content": text}
        parts = came.get("tool_calls")
        parts = parts if isinstance(parts, list) and parts else [{}] * len(completion.tool_calls)
        calls, sent, customs = [], [], 0
        for given, part in zip(completion.tool_calls, parts, strict=True):
            # Models put the name's place in their template around it: functions.biopsy:0.
            tools = [word for word in _NOT_OF_A_NAME.split(given.name) if word in self._tools]
            name = tools[0] if len(tools) == 1 else given.name
            names = ARGUMENTS[name] if name in self._tools else ()
            arguments, is_custom = _arguments(given.arguments, names)
            # Some endpoints count anew in each reply. The new ids are such as the strictest take:
            # nine letters and digits.
            made = (f"call{number:05}" for number in count(len(self._ids)))
            own = next(one for one in chain([given.id], made) if one not in self._ids)
            call = ToolCall(own, name, given.arguments)
            calls.append((call, arguments))
            self._ids.add(own)
            sent.append(_sent_back(call, arguments or {}, part))
            customs += is_custom or name != given.name
        # Of the function_call it is the newer form.
        kept = {name: value for name, value in came.items() if name != "function_call"}
        kept |= {"role": "assistant", "tool_calls": sent}
        return ProtocolReply(kept, tuple(calls), customs=customs)

    def answered(self, answers: Sequence[tuple[ToolCall, str]]) -> list[Message]:
        """Return the messages that answer calls."""
        return [
            {"role": "tool", "tool_call_id": call.id, "content": text} for call, text in answers
        ]


def definitions(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return tools as OpenAI-compatible endpoints take them."""
    found = []
    for tool in tools:
        texts = {
            name: {"type": "string", "description": meaning}
            for name, meaning in ARGUMENTS[tool].items()
        }
        function = {"name": tool, "description": PURPOSES[tool], "parameters": object_of(texts)}
        found.append({"type": "function", "function": function})
    return found


def _arguments(text: str, names: Collection[str]) -> tuple[dict[str, Any] | None, bool]:
    """Return the arguments of a call, and whether another form than asked for was understood."""
    if not text.strip():
        return {}, False
    found = whole_value(text)
    is_twice = False
    if found is not None and isinstance(found.value, str):
        is_twice = found.value.lstrip().startswith("{")
        found = whole_value(found.value) if is_twice else found
    if found is None or not found.is_clear:
        return None, is_twice
    read, is_custom = found.value, is_twice or not found.is_strict
    if isinstance(read, dict):
        return read, is_custom
    if isinstance(read, str) and len(names) == 1:
        return dict.fromkeys(names, read), True
    return {} if read is None else None, is_custom


def _sent_back(call: ToolCall, read: Mapping[str, Any], came: Any) -> dict[str, Any]:
    """Return a call as the conversation goes on with it: as it came, where endpoints take that.

    What was no JSON goes back as an empty object, and a name in the letters of names: some
    endpoints read them and fail.
    """
    whole = dict(came) if isinstance(came, Mapping) else {}
    given = whole.get("function")
    function = dict(given) if isinstance(given, Mapping) else {}
    function["name"] = _NOT_OF_A_NAME.sub("_", call.name)[:64] or "unknown"
    arguments = function.get("arguments")
    strict = json_or_none(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(strict, Mapping):
        function["arguments"] = json.dumps(dict(read))
    return {"type": "function", **whole, "id": call.id, "function": function}


class Text:
    """Tools as lines of text, for models that cannot call them."""

    def __init__(self, tools: Sequence[str]) -> None:
        lines = []
        for tool in tools:
            takes = "; ".join(f"{name}: {meaning}" for name, meaning in ARGUMENTS[tool].items())
            lines.append(f"- {tool}: {PURPOSES[tool]} Input: {takes or 'none'}")
        self.system = prompt("system_text", tools="\n".join(lines))
        self._tools = tools

    def parameters(self, is_deciding: bool) -> dict[str, Any]:
        """Return where the model is to stop, so that it makes up no result."""
        return {"stop": ["\nObservation:"]}

    def read(self, completion: Reply) -> ProtocolReply:
        """Read an action, else the answer."""
        return read_text_reply(split_thinking(completion.text).answer, self._tools)

    def answered(self, answers: Sequence[tuple[ToolCall, str]]) -> list[Message]:
        """Return the one observation."""
        return [{"role": "user", "content": f"Observation: {text}"} for _, text in answers]


PROTOCOLS: Mapping[str, type[Native] | type[Text]] = {"native": Native, "text": Text}


def read_text_reply(text: str, tools: Sequence[str]) -> ProtocolReply:
    """Read a reply without its thinking: the first action or whole answer that stands in it.

    Args:
        text: of the reply; what it made up itself as observation is left out of the message.
        tools: the names of the tools there are.
    """
    lines, text = _read_lines(text)
    message = {"role": "assistant", "content": text or prompt("no_reply")}
    found: dict[str, str] = {}
    is_custom = False
    for place, (kind, value, is_numbered) in enumerate(lines):
        if not value and kind != "treatment":
            continue
        is_custom = is_custom or is_numbered
        found[kind] = value
        if kind == "action":
            said = value.splitlines()[0].strip(_MARKS)
            name = fold_key(said) if fold_key(said) in tools else said
            asked, is_custom = "", is_numbered or name != said
            if place + 1 < len(lines) and lines[place + 1][0] == "input":
                _, asked, is_numbered = lines[place + 1]
                is_custom = is_custom or is_numbered
            if not asked.startswith("{"):
                asked = _END_OF_INPUT.split(asked)[0].strip()
            arguments = arguments_in(asked, ARGUMENTS[name] if name in tools else ())
            call = ToolCall("", name, asked), arguments
            return ProtocolReply(message, (call,), customs=is_custom)
        if "diagnosis" in found and "treatment" in found:
            return ProtocolReply(message, answer=_answer_in_lines(found), customs=is_custom)
    answer = read_answer(text)
    return ProtocolReply(message, answer=answer, customs=answer is not None)


def arguments_in(text: str, names: Collection[str]) -> dict[str, Any]:
    """Return the input of an action as the arguments of its tool.

    It is a JSON object; or it names them ("region: Abdomen, modality: CT"); or it is a text that is
    each of them ("CT Abdomen").
    """
    if text.startswith("{"):
        try:
            read = Values(text, REPLY).at(0)
        except NotJsonError:
            return dict.fromkeys(names, text)
        known = {fold_key(name): name for name in names}
        if read.is_clear:
            return {known.get(fold_key(key), key): value for key, value in read.value.items()}
    if not names:
        return {}
    either = "|".join(name.replace("_", "[ _]") for name in names)
    label = re.compile(rf"(?:^|[\s,;])[-*\s]{{0,4}}({either})[*\s]{{0,4}}[:=]", re.IGNORECASE)
    parts = label.split(text)
    named = zip(map(fold_key, parts[1::2]), parts[2::2], strict=True)
    given = {name: value.strip(f"{_MARKS},;") for name, value in named}
    return {name: given.get(name, text.strip(_MARKS)) for name in names}


def read_answer(text: str) -> FinalAnswer | None:
    """Read the answer in a reply without its thinking: the last JSON object in it that is one.

    It is None if there is none. One with a part missing is none; see `partial_answer`.
    """
    found = last_object(text, KEYS["diagnosis"], _answer)
    return _answer(found.members) if found is not None else None


def partial_answer(text: str) -> FinalAnswer | None:
    """Return the part of an answer that a reply without its thinking holds; None if there is none.

    A diagnosis that is missing, or no text, is empty, and so are treatments that are missing.

    Args:
        text: of a reply in which no whole answer was read, in JSON or in lines.
    """
    part_of = partial(_answer, is_whole=False)
    found = last_object(text, [*KEYS["diagnosis"], *KEYS["treatment"]], part_of)
    if found is not None:
        part = part_of(found.members)
        return part and replace(part, thought="")
    lines = reversed(_read_lines(text)[0])
    return _answer_in_lines({kind: value for kind, value, _ in lines if value})


def treatments_in(text: str) -> tuple[str, ...]:
    """Return the treatments of a text, one a line or separated by semicolons, without marks."""
    parts = (_BULLET.sub("", part).strip() for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


def _read_lines(text: str) -> tuple[list[_Line], str]:
    """Return the labelled lines of a reply, and the reply, up to what it made up as observation."""
    labels = list(_LABEL.finditer(text))
    ends = [label.start() for label in labels if label["observation"]]
    acted = next((label.end() for label in labels if label["action"]), len(text))
    made_up = _MADE_UP.search(text, acted)
    end = min([*ends, len(text) if made_up is None else made_up.start()])
    labels = [label for label in labels if label.start() < end]
    stops = [*(label.start() for label in labels[1:]), end]
    lines = [
        (
            str(label.lastgroup),
            _FENCE.sub("", text[label.end() : stop]).strip().strip("*_`").strip(),
            re.search(r"\d", label[0]) is not None,
        )
        for label, stop in zip(labels, stops, strict=False)  # without any there is one stop
    ]
    return lines, text[:end].rstrip()


def _answer_in_lines(found: Mapping[str, str]) -> FinalAnswer | None:
    diagnosis = found.get("diagnosis", "").partition("\n")[0].strip(_MARKS)
    return _answer({**found, "diagnosis": diagnosis}, is_whole=False)


def _answer(fields: Mapping[str, Any], *, is_whole: bool = True) -> FinalAnswer | None:
    """Return the answer that some fields are; None for none.

    Args:
        fields: by folded keys.
        is_whole: there has to be a diagnosis, and treatments, which can be none; else one of them.
    """
    diagnosis, given, thought = (
        next((fields[name] for name in names if name in fields), None) for names in KEYS.values()
    )
    named = diagnosis.strip() if isinstance(diagnosis, str) else ""
    treatments = treatments_in(given) if isinstance(given, str) else None
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        treatments = tuple(part.strip() for part in given if part.strip())
    if (is_whole and (not named or treatments is None)) or not (named or treatments):
        return None
    return FinalAnswer(named, treatments or (), thought if isinstance(thought, str) else "")
