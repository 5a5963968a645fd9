"""A model that needs no network: a few rules that examine, order, look and decide.

It shows that a set-up works from the first case to the score. It is no clinical software; it reads
words, and every reply follows from the words it was given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from medeval.cdm import prompts
from medeval.inference.guard import IN_PROCESS, DataUseGuard
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.types import Completion, Message, Request, ToolCall, body_of

MODEL = "demo-policy-1"

LABS = "Complete blood count, C-reactive protein, lipase, liver function panel"
_LONGEST_SUMMARY = 1200
_SURE = 3

# Words, and how much they say: 1 for where it hurts, 2 for what was found.
_SIGNS: Mapping[str, Mapping[str, int]] = {
    "appendicitis": {
        "right lower quadrant": 1,
        "mcburney": 2,
        "navel": 1,
        "periumbilical": 1,
        "appendix": 2,
        "appendiceal": 2,
        "blind-ending": 2,
    },
    "cholecystitis": {
        "right upper quadrant": 1,
        "murphy": 2,
        "gallbladder": 2,
        "pericholecystic": 2,
        "gallstone": 2,
    },
    "diverticulitis": {
        "left lower quadrant": 1,
        "sigmoid": 2,
        "descending colon": 2,
        "outpouching": 2,
        "diverticul": 2,
    },
    "pancreatitis": {
        "epigastr": 1,
        "through to the back": 1,
        "radiating to the back": 1,
        "pancreas is": 2,
        "peripancreatic": 2,
    },
}
_ABSENT = re.compile(
    r"\b(?:no|without|denies|normal|unremarkable|negative|hidden|hides|not (?:seen|visible))\b"
)
_SENTENCE = re.compile(r"[.;\n]+\s*")
_LIPASE = re.compile(
    r"lipase[^:\n]{0,40}:\s*(?P<value>\d+(?:\.\d+)?)[^(\n]*\(ref:[^)\n]*?(?P<upper>\d+(?:\.\d+)?)\)",
    re.IGNORECASE,
)
_TREATMENTS = {
    "appendicitis": ("Laparoscopic appendectomy", "Intravenous antibiotics"),
    "cholecystitis": ("Laparoscopic cholecystectomy", "Intravenous antibiotics"),
    "diverticulitis": ("Intravenous antibiotics", "Colonoscopy after recovery"),
    "pancreatitis": ("Close monitoring", "Nothing by mouth at first"),
}
_SUPPORT = ("Intravenous fluids", "Pain control")


class DemoModel:
    """The rules as a provider in this process.

    Args:
        gate: its audit records each request.
    """

    def __init__(self, gate: DataUseGuard) -> None:
        self.address = IN_PROCESS
        self.model = MODEL
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._gate = gate

    async def ask(self, request: Request) -> Completion:
        """Reply to the conversation."""
        body = json.dumps(body_of(request, request.all_parameters)).encode()
        self._gate.authorize(request, body, "answer")
        return reply_to(request.item.messages, request.item.parameters)

    async def close(self) -> None:
        """Nothing was opened."""


def reply_to(messages: Sequence[Message], parameters: Mapping[str, Any]) -> Completion:
    """Return the reply of the rules to a conversation."""
    system = str(messages[0]["content"])
    seen = "\n".join(
        str(message["content"]) for message in messages[1:] if message["role"] != "assistant"
    )
    if system == prompts.SYSTEM_SUMMARY:
        return _said(seen[:_LONGEST_SUMMARY])
    if system == prompts.SYSTEM_FULL_INFORMATION:
        diagnosis, treatment, _ = _decision(seen)
        return _said(json.dumps({"diagnosis": diagnosis, "treatment": list(treatment)}))
    is_text = "tools" not in parameters and "Action Input:" in system
    done = list(_calls_made(messages))
    must_decide = parameters.get("tool_choice") == "none" or seen.endswith(
        (prompts.DECIDE_TEXT, prompts.DECIDE_NATIVE)
    )
    wish = None if must_decide else next(_wishes(seen, done, _tools(parameters, system)), None)
    if wish is not None:
        return _action(*wish) if is_text else _call(*wish, number=len(done))
    diagnosis, treatment, why = _decision(seen)
    if is_text:
        parts = f"Diagnosis: {diagnosis}\nTreatment: {'; '.join(treatment)}"
        return _said(f"Thought: {why}\n{parts}")
    answer = {"thought": why, "final_diagnosis": diagnosis, "treatment": list(treatment)}
    return _said(json.dumps(answer))


def _wishes(
    seen: str, done: Sequence[str], tools: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what is still to be asked for, first things first."""
    if "physical_examination" in tools and "physical_examination" not in done:
        yield "physical_examination", {}
    if "request_lab_test" in tools and "request_lab_test" not in done:
        yield "request_lab_test", {"test_name": LABS}
    if "request_imaging" not in tools:
        return
    images = done.count("request_imaging")
    scores = sorted(_scores(seen).values(), reverse=True)
    is_sure = scores[0] - scores[1] >= _SURE
    # Ultrasound first, unless the colon is suspected; CT where that leaves doubt.
    first = "CT" if _leading(seen) == "diverticulitis" else "Ultrasound"
    if images == 0:
        yield "request_imaging", {"region": "Abdomen", "modality": first}
    elif images == 1 and not is_sure:
        used_ct = "Modality: CT" in seen or "Abdomen CT" in seen
        other = "Ultrasound" if used_ct else "CT"
        yield "request_imaging", {"region": "Abdomen", "modality": other}


def _calls_made(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if message["role"] != "assistant":
            continue
        for call in message.get("tool_calls", ()):
            yield call["function"]["name"]
        yield from re.findall(r"^Action: (\w+)", str(message["content"]), re.MULTILINE)


def _tools(parameters: Mapping[str, Any], system: str) -> list[str]:
    if "tools" in parameters:
        return [tool["function"]["name"] for tool in parameters["tools"]]
    return re.findall(r"^- (\w+): ", system, re.MULTILINE)


def _scores(seen: str) -> dict[str, int]:
    """Return how much the words say for each diagnosis."""
    scores = dict.fromkeys(_SIGNS, 0)
    for sentence in _SENTENCE.split(seen.lower()):
        is_absent = _ABSENT.search(sentence) is not None
        for diagnosis, signs in _SIGNS.items():
            found = {worth for sign, worth in signs.items() if sign in sentence}
            # It hurts there, whatever else is absent.
            scores[diagnosis] += max(found - {2} if is_absent else found, default=0)
    for lipase in _LIPASE.finditer(seen):
        if float(lipase["value"]) >= 3 * float(lipase["upper"]):
            scores["pancreatitis"] += _SURE + 1
    return scores


def _leading(seen: str) -> str:
    scores = _scores(seen)
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] else ""


def _decision(seen: str) -> tuple[str, tuple[str, ...], str]:
    best = _leading(seen)
    if not best:
        return "Abdominal pain of unknown cause", _SUPPORT, "Nothing points to one organ."
    why = f"The findings fit acute {best} best."
    return f"Acute {best}", (*_TREATMENTS[best], *_SUPPORT), why


def _said(text: str) -> Completion:
    return Completion(text, finish_reason="stop", model=MODEL)


def _call(tool: str, arguments: Mapping[str, str], number: int) -> Completion:
    call = ToolCall(f"call_{number}", tool, json.dumps(dict(arguments)))
    return Completion("", finish_reason="tool_calls", model=MODEL, tool_calls=(call,))


def _action(tool: str, arguments: Mapping[str, str]) -> Completion:
    given = json.dumps(dict(arguments)) if arguments else "none"
    return _said(f"Thought: more is to be known.\nAction: {tool}\nAction Input: {given}")
