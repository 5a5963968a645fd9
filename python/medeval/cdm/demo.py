"""Models of CDM that answer in this process: the demo's rules, and those whose score is known.

The demo shows that a set-up works from the first case to the score. It is no clinical software; it
reads words, and every reply follows from the words it was given. The oracle earns every point: a
check of the scores, and the ends of their scales.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from medeval.cdm import prompts
from medeval.cdm.facts import Facts, LabFacts, TreatmentFacts
from medeval.cdm.lab_names import canonical
from medeval.cdm.scores import (
    DIAGNOSIS,
    EXAMINATION,
    GRACIOUS_DIAGNOSIS,
    IMAGING,
    LABORATORY,
    LATE_EXAMINATION,
    MOST_IMAGING_POINTS,
    TREATMENT,
    required_treatments,
)
from medeval.cdm.tools import PHYSICAL_EXAMINATION, REQUEST_IMAGING, REQUEST_LAB_TEST
from medeval.inference.guard import IN_PROCESS, DataUseGuard
from medeval.inference.openai_model import ParameterFallbacks
from medeval.inference.types import Completion, Message, Request, ToolCall, body_of
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.task import DEMO, EMPTY, ORACLE

if TYPE_CHECKING:
    from medeval.inference.types import Model

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
    r"lipase[^:\n]{0,40}:\s*(?P<value>\d+(?:\.\d+)?)[^(\n]{0,80}\(ref:[^)\n]{0,40}?(?P<upper>\d+(?:\.\d+)?)\)",
    re.IGNORECASE,
)
_TREATMENTS = {
    "appendicitis": ("Laparoscopic appendectomy", "Intravenous antibiotics"),
    "cholecystitis": ("Laparoscopic cholecystectomy", "Intravenous antibiotics"),
    "diverticulitis": ("Intravenous antibiotics", "Colonoscopy after recovery"),
    "pancreatitis": ("Close monitoring", "Nothing by mouth at first"),
}
_SUPPORT = ("Intravenous fluids", "Pain control")


class LocalModel:
    """A model in this process.

    Args:
        name: what runs call it.
        gate: its audit records each request.
    """

    def __init__(self, name: str, gate: DataUseGuard) -> None:
        self.address = IN_PROCESS
        self.model = name
        self.parameters: Mapping[str, Any] = {}
        self.fallbacks = ParameterFallbacks()
        self._gate = gate

    async def ask(self, request: Request) -> Completion:
        """Reply to the conversation."""
        body = json.dumps(body_of(request, request.all_parameters)).encode()
        self._gate.authorize(request, body, "answer")
        return self.reply(request)

    def reply(self, request: Request) -> Completion:
        """Say nothing."""
        return Completion("", finish_reason="stop", model=self.model)

    async def close(self) -> None:
        """Nothing was opened."""


class DemoModel(LocalModel):
    """Replies by the rules."""

    def __init__(self, gate: DataUseGuard) -> None:
        super().__init__(MODEL, gate)

    def reply(self, request: Request) -> Completion:
        """Reply to the conversation."""
        return reply_to(request.item.messages, request.item.parameters)


class GoldModel(LocalModel):
    """Makes the calls and gives the answer of the gold, of the same case or of another one.

    Args:
        name: what runs call it.
        gate: its audit records each request.
        gold: whose gold each case is answered with, by its id.
        facts: the facts.
    """

    def __init__(
        self, name: str, gate: DataUseGuard, gold: Mapping[str, ClinicalCase], facts: Facts
    ) -> None:
        super().__init__(name, gate)
        self._gold = gold
        self._facts = facts

    def reply(self, request: Request) -> Completion:
        """Make the next call, or answer when all are made."""
        case = self._gold[request.item.id]
        calls = oracle_calls(case, self._facts)
        made = sum(message["role"] == "tool" for message in request.item.messages)
        if "tools" in request.item.parameters and made < len(calls):
            call = calls[made]
            wanted = ToolCall(f"call-{made}", call["name"], json.dumps(call["arguments"]))
            return Completion(
                "", finish_reason="tool_calls", model=self.model, tool_calls=(wanted,)
            )
        # The answer under the keys of either way of asking.
        gold = oracle_answer(case, self._facts)
        answer = {"thought": "", **gold, "diagnosis": gold["final_diagnosis"]}
        return Completion(json.dumps(answer), finish_reason="stop", model=self.model)


def local_provider(
    kind: str, cases: Sequence[ClinicalCase], facts: Facts, gate: DataUseGuard
) -> Model:
    """Return a built-in model: demo, oracle, empty or shuffled."""
    if kind == DEMO:
        return DemoModel(gate)
    own = {str(case.hadm_id): case for case in cases}
    if kind == EMPTY:
        return LocalModel(kind, gate)
    if kind == ORACLE:
        return GoldModel(kind, gate, own, facts)
    order = list(cases)
    random.Random(0).shuffle(order)  # noqa: S311
    after = zip(order, order[1:] + order[:1], strict=True)
    return GoldModel(kind, gate, {str(one.hadm_id): other for one, other in after}, facts)


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


def oracle_calls(case: ClinicalCase, facts: Facts) -> list[dict[str, Any]]:
    """Return the calls, each with `name` and `arguments`, that earn every point for conduct.

    They are made through a `Toolbox`: the examination first, one test of each category that is
    needed, one preferred imaging.
    """
    pathology = str(case.pathology)
    tests = ", ".join(_test_of(name, facts.labs) for name in facts.labs.required[pathology])
    best = max(facts.imaging.preferences[pathology], key=lambda preference: preference.points)
    return [
        {"name": PHYSICAL_EXAMINATION, "arguments": {}},
        {"name": REQUEST_LAB_TEST, "arguments": {"test_name": tests}},
        {
            "name": REQUEST_IMAGING,
            "arguments": {"region": best.region, "modality": best.modality},
        },
    ]


def oracle_answer(case: ClinicalCase, facts: Facts) -> dict[str, Any]:
    """Return the answer that is right: the pathology and all treatments that the case needs."""
    required = required_treatments(case, facts, 2)
    return {
        "final_diagnosis": str(case.pathology),
        "treatment": [
            text
            for treatment in facts.treatments[str(case.pathology)]
            if required[treatment.name]
            for text in _asking_for(treatment)
        ],
    }


def best_scores(pathology: str, facts: Facts) -> dict[str, float]:
    """Return the most that each score can be for a pathology."""
    return {
        LATE_EXAMINATION: 1,
        EXAMINATION: 1,
        LABORATORY: len(facts.labs.required[pathology]),
        IMAGING: MOST_IMAGING_POINTS,
        DIAGNOSIS: 1,
        GRACIOUS_DIAGNOSIS: 1,
        TREATMENT: 1,
    }


def _test_of(category: str, facts: LabFacts) -> str:
    """Return a name by which tests of a category, and no others, can be asked for."""
    wanted = set(canonical(facts.categories[category], facts))
    for name, items in facts.request_names.items():
        if wanted.issuperset(canonical(items, facts)):
            return name
    raise ValueError(f"no name asks for tests of the category {category}")


def _asking_for(treatment: TreatmentFacts) -> list[str]:
    if treatment.requested_groups:
        return [group[0] for group in treatment.requested_groups]
    if treatment.requested_by:
        return [treatment.requested_by[0]]
    return [" ".join(pair) for pair in treatment.requested_pairs[:1]]
