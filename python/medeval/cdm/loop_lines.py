"""The lines of the text protocol: a label, a colon, and a value that may be several lines long.

    line   = [marks] [number] label [number] [marks] colon value
           | heading marks, label, end of line; the value stands below

Marks are those of Markdown. A number is that of a list or of a step ("1. Action:", "Action 1:").
Within a line a label with a capital letter begins the next one where the one before calls for it:
"Diagnosis: ... Treatment: ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "thought", "input", "action", "observation", "other", "diagnosis", "treatment", "answer"
]

_BETWEEN = r"[ \t_-]?"
# Longer labels stand before those that they begin with.
_LABELS: dict[Kind, str] = {
    "thought": r"thoughts?|rationale|reasoning",
    "input": rf"(?:actions?{_BETWEEN})?inputs?",
    "action": r"actions?",
    "observation": r"observations?",
    "other": rf"(?:differential|secondary|alternative){_BETWEEN}diagnos[ei]s",
    "diagnosis": rf"(?:(?:final|primary|main|principal|(?:most{_BETWEEN})?likely){_BETWEEN})?"
    r"diagnosis",
    "treatment": rf"(?:(?:final|recommended|proposed|suggested){_BETWEEN})?treatments?"
    rf"(?:{_BETWEEN}(?:plans?|recommendations?))?",
    "answer": rf"(?:final{_BETWEEN})?answer",
}
_CALLS_FOR: dict[Kind, tuple[Kind, ...]] = {
    "action": ("input", "answer", "diagnosis"),
    "input": ("answer", "diagnosis", "treatment"),
    "answer": ("diagnosis", "treatment"),
    "diagnosis": ("treatment", "other"),
    "treatment": ("diagnosis", "other"),
}
_LABEL = re.compile(
    r"""
    (?:
        ^(?P<marks>[ \t>*_`\#-]{0,6})
        (?P<number>(?:\(?\d{1,2}[.):]|step[ ]\d{1,2}[.:])[ \t]{0,4})?[*_`]{0,3}
      | (?<=[\s:：.,;|*_`)-])
    )
    (?P<label>"""
    + "|".join(f"(?P<{kind}>{names})" for kind, names in _LABELS.items())
    + r""")
    (?P<step>[ \t]{0,2}\#?\d{1,2})?
    [ \t*_`]{0,4}
    (?: (?P<colon>[:：]) [ \t*_]{0,4} | \r?$ )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_HEADING = re.compile(r"\#|\*\*|__")
_FENCE = "```"
_BEFORE_A_LABEL = " \t,;|"
# What stands on one line behind a label, up to the next that is no blank.
_ON_ONE_LINE = re.compile(r"\s*[^\n]*\s*")


@dataclass(frozen=True)
class Field:
    """One label with its value.

    Attributes:
        kind: what the label means.
        label: in lower case.
        value: without marks around it.
        is_custom: it is laid out otherwise than it was asked for.
    """

    kind: Kind
    label: str
    value: str
    is_custom: bool


@dataclass(frozen=True)
class Lines:
    """A reply taken apart.

    Attributes:
        fields: in their order.
        text: the reply up to the first observation, which the model can only have made up.
    """

    fields: tuple[Field, ...]
    text: str


def read_lines(text: str) -> Lines:
    """Take a reply apart, up to what it made up itself as an observation."""
    labels: list[re.Match[str]] = []
    end = len(text)
    for label in _labels(text):
        if label["observation"]:
            end = label.start()
            break
        labels.append(label)
    stops = [label.start() for label in labels[1:]] + [end]
    fields = tuple(
        Field(
            kind=_kind(label),
            label=re.sub(r"[\s_-]+", " ", label["label"].lower()),
            value=_bare(text[label.end() : stop]),
            is_custom=_is_custom(label),
        )
        for label, stop in zip(labels, stops, strict=False)
    )
    return Lines(fields, text[:end].rstrip())


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Yield the labels that count."""
    before: Kind | None = None
    reach = 0
    has_acted = False
    for found in _LABEL.finditer(text):
        kind = _kind(found)
        if found["marks"] is not None:
            is_label = bool(found["colon"]) or (
                _HEADING.search(found["marks"]) is not None
                # A heading of its own before it has asked for anything is no result.
                and (kind != "observation" or has_acted)
            )
        else:
            is_label = (
                bool(found["colon"])
                and found["label"][0].isupper()
                and (
                    has_acted
                    if kind == "observation"
                    else found.start() <= reach and _calls_for(before, kind)
                )
            )
        if is_label:
            has_acted = has_acted or kind == "action"
            before = kind
            reach = _reach(text, found)
            yield found


def _calls_for(before: Kind | None, kind: Kind) -> bool:
    """Tell whether a label within a line is called for by the one before."""
    return before is not None and kind in _CALLS_FOR.get(before, ())


def _reach(text: str, label: re.Match[str]) -> int:
    """Return how far labels may be called for by a label: to the end of what is on one line."""
    found = _ON_ONE_LINE.match(text, label.end())
    return found.end() if found else label.end()


def _kind(label: re.Match[str]) -> Kind:
    return next(kind for kind in _LABELS if label[kind] is not None)


def _is_custom(label: re.Match[str]) -> bool:
    is_as_asked = label["marks"] is not None and label["colon"] == ":"
    return not is_as_asked or bool(label["number"] or label["step"])


def _bare(value: str) -> str:
    """Return a value without marks around it; a fence that it holds whole stays."""
    text = value.strip().rstrip(_BEFORE_A_LABEL)
    if text.count(_FENCE) % 2:  # the reply was fenced as a whole
        text = text.removesuffix(_FENCE).rstrip()
    return text if text.startswith(_FENCE) else text.strip("*_`").strip()
