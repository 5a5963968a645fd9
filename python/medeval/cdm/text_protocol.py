"""The text protocol: tools for models that cannot call them, as lines in their replies.

The lines are those of ReAct prompting (Yao et al., ICLR 2023), which Hager et al. (Nature Medicine
30, 2024) use for this benchmark. There is one layout, the one that the prompt asks for:

    Thought: why                            Thought: why
    Action: the name of the tool      or    Diagnosis: the diagnosis
    Action Input: what to ask it for        Treatment: the treatments, separated by semicolons

Case, white space, code fences, marks of Markdown and numbers ("1. Action:", "Action 1:") do not
matter, the diagnosis may be called final, and an answer may be the JSON object of the other ways of
asking. An action that is no tool's name is an invalid call. What a model wrote itself as an
observation is never read.
"""

# Full-width signs are what models write.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medeval.json_reader import REPLY, NotJsonError, Values, fold_key, last_object

STOP = ("\nObservation:",)

_LABEL = re.compile(
    r"""^[ \t>*_`\#-]{0,8}
    (?P<number>(?:\(?\d{1,2}[.):]|step[ ]\d{1,2}[.:])[ \t]{0,4})?[*_`]{0,3}
    (?P<label>thoughts?|action|(?:action[ _-]?)?input|observations?|(?:final[ _-]?)?diagnosis
      |treatments?(?:[ _-]?plan)?)
    (?P<step>[ \t]\#?\d{1,2})?
    [ \t*_`]{0,4} (?: (?P<colon>[:：])[ \t*_`]{0,4} | [ \t\r]*$ )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# A result that was made up may begin within a line.
_OBSERVATION = re.compile(r"(?<=\s)Observation:")
_KINDS = ("thought", "input", "action", "observation", "diagnosis", "treatment")
_BRACES = ("{", "｛")
_FENCE = re.compile(r"```[\w+-]{0,20}")
_MARKS = "*_`\"' \t\r\n"
_SEPARATOR = re.compile(r"[;\n]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_END_OF_INPUT = re.compile(r"\n[ \t]*\r?\n")

_DIAGNOSIS = ("final_diagnosis", "diagnosis")
_TREATMENT = ("treatment", "treatments", "treatment_plan")
_THOUGHT = ("thought", "thoughts", "reasoning")


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


@dataclass(frozen=True)
class TextReply:
    """What a reply of the text protocol says.

    Attributes:
        text: the reply without what it made up itself as observation.
        action: the tool that it wants, by the tool's own name where it is one; empty for none.
        action_input: what it asks the tool for.
        answer: the final answer; None if it gives none.
        is_custom: another layout than the one asked for was understood.
    """

    text: str
    action: str = ""
    action_input: str = ""
    answer: FinalAnswer | None = None
    is_custom: bool = False


@dataclass(frozen=True)
class _Line:
    """A label with its value, which may be several lines long."""

    kind: str
    value: str
    is_custom: bool


def read_text_reply(text: str, tools: Sequence[str]) -> TextReply:
    """Read a reply without its thinking: the first action or whole answer that stands in it.

    Args:
        text: of the reply.
        tools: the names of the tools there are.
    """
    lines, text = _read_lines(text)
    found: dict[str, str] = {}
    is_custom = False
    for place, line in enumerate(lines):
        if not line.value and line.kind != "treatment":
            continue
        is_custom = is_custom or line.is_custom
        found[line.kind] = line.value
        if line.kind == "action":
            said = line.value.splitlines()[0].strip(_MARKS)
            name = fold_key(said) if fold_key(said) in tools else said
            given = next((one for one in lines[place + 1 : place + 2] if one.kind == "input"), None)
            asked = "" if given is None else given.value
            if not asked.startswith(_BRACES):
                asked = _END_OF_INPUT.split(asked)[0].strip()
            is_custom = line.is_custom or (given is not None and given.is_custom) or name != said
            return TextReply(text, name, asked, is_custom=is_custom)
        if "diagnosis" in found and "treatment" in found:
            return TextReply(text, answer=_answer_in_lines(found), is_custom=is_custom)
    answer = read_answer(text)
    return TextReply(text, answer=answer, is_custom=answer is not None)


def arguments_in(text: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the input of an action as the arguments of its tool.

    It is a JSON object; or it names them ("region: Abdomen, modality: CT"); or it is a text that is
    each of them ("CT Abdomen").
    """
    if text.startswith(_BRACES):
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
    label = re.compile(rf"(?:^|[\s,;])[-*\s]{{0,4}}({either})[*\s]{{0,4}}[:=：]", re.IGNORECASE)
    parts = label.split(text)
    named = zip(map(fold_key, parts[1::2]), parts[2::2], strict=True)
    given = {name: value.strip(f"{_MARKS},;") for name, value in named}
    return {name: given.get(name, text.strip(_MARKS)) for name in names}


def read_answer(text: str) -> FinalAnswer | None:
    """Read the answer in a reply without its thinking: the last JSON object in it that is one.

    It is None if there is none. One with a part missing is none; see `partial_answer`.
    """
    found = last_object(text, _DIAGNOSIS, _answer)
    return _answer(found.members) if found is not None else None


def partial_answer(text: str) -> FinalAnswer | None:
    """Return the part of an answer that a reply without its thinking holds; None if there is none.

    A diagnosis that is missing, or no text, is empty, and so are treatments that are missing.

    Args:
        text: of a reply in which no whole answer was read, in JSON or in lines.
    """
    found = last_object(text, (*_DIAGNOSIS, *_TREATMENT), _part)
    if found is not None:
        return _part(found.members)
    lines = reversed(_read_lines(text)[0])
    answer = _answer_in_lines({line.kind: line.value for line in lines if line.value})
    return answer if answer.final_diagnosis or answer.treatment else None


def treatments_in(text: str) -> tuple[str, ...]:
    """Return the treatments of a text, one a line or separated by semicolons, without marks."""
    parts = (_BULLET.sub("", part).strip() for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


def _read_lines(text: str) -> tuple[list[_Line], str]:
    """Return the labelled lines of a reply, and the reply, up to what it made up as observation."""
    labels = list(_labels(text))
    acted = next((label.end() for label in labels if _kind(label) == "action"), len(text))
    ends = [found.start() for found in _OBSERVATION.finditer(text, acted)]
    ends += [label.start() for label in labels if _kind(label) == "observation"]
    end = min([*ends, len(text)])
    labels = [label for label in labels if label.start() < end]
    stops = [*(label.start() for label in labels[1:]), end]
    lines = [
        _Line(
            _kind(label),
            _FENCE.sub("", text[label.end() : stop]).strip().strip("*_`").strip(),
            label["colon"] != ":" or bool(label["number"] or label["step"]),
        )
        for label, stop in zip(labels, stops, strict=False)  # without labels there is one stop
    ]
    return lines, text[:end].rstrip()


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Yield the labels: with a colon, or as a heading of Markdown."""
    has_acted = False
    for found in _LABEL.finditer(text):
        is_heading = bool(re.match(r"[ \t>]*(?:#|\*\*|__)", found[0]))
        # A heading of observations before anything was asked for is no result.
        if found["colon"] or (is_heading and (_kind(found) != "observation" or has_acted)):
            has_acted = has_acted or _kind(found) == "action"
            yield found


def _kind(label: re.Match[str]) -> str:
    return next(kind for kind in _KINDS if kind in label["label"].lower())


def _answer_in_lines(found: Mapping[str, str]) -> FinalAnswer:
    diagnosis = found.get("diagnosis", "").partition("\n")[0].strip(_MARKS)
    return FinalAnswer(
        diagnosis, treatments_in(found.get("treatment", "")), found.get("thought", "")
    )


def _part(fields: Mapping[str, Any]) -> FinalAnswer | None:
    diagnosis = _first(fields, _DIAGNOSIS)
    given = _treatments(_first(fields, _TREATMENT))
    named = diagnosis.strip() if isinstance(diagnosis, str) else ""
    return FinalAnswer(named, given or ()) if named or given else None


def _answer(fields: Mapping[str, Any]) -> FinalAnswer | None:
    part = _part(fields)
    if part is None or not part.final_diagnosis or _treatments(_first(fields, _TREATMENT)) is None:
        return None
    thought = _first(fields, _THOUGHT)
    return replace(part, thought=thought if isinstance(thought, str) else "")


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _treatments(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return treatments_in(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(part.strip() for part in value if part.strip())
    return None
