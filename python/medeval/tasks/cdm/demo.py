"""Models of CDM that answer in this process: the demo's rules, and those whose score is known.

The demo shows that a set-up works from the first case to the score. It is no clinical software; it
reads words, and every reply follows from the words it was given. The oracle earns every point: a
check of the scores, and the ends of their scales.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from medeval.files import toml_beside
from medeval.inference.types import Message, Reply, Sample, ToolCall
from medeval.models.clinical_case import ClinicalCase
from medeval.tasks.cdm import scores
from medeval.tasks.cdm.facts import Facts, canonical, prompt
from medeval.tasks.cdm.tools import EXAMINE, IMAGE, TEST

MODEL = "demo-policy-1"

_SURE = 3
_WORDS: dict[str, Any] = toml_beside(__file__, "data/demo.toml")
_DIAGNOSES: Mapping[str, Mapping[str, Any]] = _WORDS["diagnoses"]
_ABSENT, _LIPASE = re.compile(_WORDS["absent"]), re.compile(_WORDS["lipase"])
_SENTENCE = re.compile(r"[.;\n]+\s*")


def oracle_reply(item: Sample, case: ClinicalCase, facts: Facts) -> Reply:
    """Return the next call of the gold of a case, or its answer when all are made."""
    calls = oracle_calls(case, facts)
    made = sum(message["role"] == "tool" for message in item.messages)
    if "tools" in item.parameters and made < len(calls):
        return _call(calls[made], f"call-{made}")
    # The answer under the keys of either way of asking.
    told = oracle_answer(case, facts)
    return _said({"thought": "", **told, "diagnosis": told["final_diagnosis"]})


def reply_to(messages: Sequence[Message], parameters: Mapping[str, Any]) -> Reply:
    """Return the reply of the rules to a conversation."""
    system = str(messages[0]["content"])
    seen = "\n".join(
        str(message["content"]) for message in messages[1:] if message["role"] != "assistant"
    )
    if system == prompt("system_summary"):
        return _said(seen[:1200])
    scores = _scores(seen)
    # Where the words say nothing the first is the best, which is none.
    words = _DIAGNOSES[max(scores, key=lambda name: scores[name])]
    diagnosis, treatment = words["diagnosis"], [*words["treatment"], *_WORDS["support"]]
    if system == prompt("system_full_information"):
        return _said({"diagnosis": diagnosis, "treatment": treatment})
    is_text = "tools" not in parameters and "Action Input:" in system
    done = [
        name
        for message in messages
        if message["role"] == "assistant"
        for name in (
            *(call["function"]["name"] for call in message.get("tool_calls", ())),
            *re.findall(r"^Action: (\w+)", str(message["content"]), re.MULTILINE),
        )
    ]
    tools = [tool["function"]["name"] for tool in parameters.get("tools", ())]
    if "tools" not in parameters:
        tools = re.findall(r"^- (\w+): ", system, re.MULTILINE)
    last_words = (prompt("decide_text"), prompt("decide_native"))
    must_decide = parameters.get("tool_choice") == "none" or seen.endswith(last_words)
    wish = None if must_decide else _wish(seen, scores, done, tools)
    if wish is not None and is_text:
        given = json.dumps(wish[1]) if wish[1] else "none"
        more = "Thought: more is to be known."
        return _said(f"{more}\nAction: {wish[0]}\nAction Input: {given}")
    if wish is not None:
        return _call(wish, f"call_{len(done)}")
    if is_text:
        answer = f"Diagnosis: {diagnosis}\nTreatment: {'; '.join(treatment)}"
        return _said(f"Thought: {words['why']}\n{answer}")
    return _said({"thought": words["why"], "final_diagnosis": diagnosis, "treatment": treatment})


def _wish(
    seen: str, scores: Mapping[str, int], done: Sequence[str], tools: Sequence[str]
) -> tuple[str, dict[str, str]] | None:
    """Return what is to be asked for next; None if it is enough."""
    if EXAMINE in tools and EXAMINE not in done:
        return EXAMINE, {}
    if TEST in tools and TEST not in done:
        return TEST, {"test_name": _WORDS["labs"]}
    images = done.count(IMAGE)
    first, second, *_ = sorted(scores.values(), reverse=True)
    is_enough = images > 1 or (images == 1 and first - second >= _SURE)
    if IMAGE not in tools or is_enough:
        return None
    # Ultrasound first, unless the colon is suspected; the other where that leaves doubt.
    is_ct = max(scores, key=lambda name: scores[name]) == "diverticulitis"
    if images:
        is_ct = "Modality: CT" not in seen and "Abdomen CT" not in seen
    return IMAGE, {"region": "Abdomen", "modality": "CT" if is_ct else "Ultrasound"}


def _scores(seen: str) -> dict[str, int]:
    """Return how much the words say for each diagnosis."""
    scores = dict.fromkeys(_DIAGNOSES, 0)
    for sentence in _SENTENCE.split(seen.lower()):
        is_absent = _ABSENT.search(sentence) is not None
        for name, words in _DIAGNOSES.items():
            # It hurts there, whatever else is absent.
            if not is_absent and any(sign in sentence for sign in words["what_was_found"]):
                scores[name] += 2
            elif any(sign in sentence for sign in words["where_it_hurts"]):
                scores[name] += 1
    for lipase in _LIPASE.finditer(seen):
        if float(lipase["value"]) >= 3 * float(lipase["upper"]):
            scores["pancreatitis"] += _SURE + 1
    return scores


def _said(text: str | Mapping[str, Any]) -> Reply:
    text = text if isinstance(text, str) else json.dumps(text)
    return Reply(text, finish_reason="stop", model=MODEL)


def _call(wish: tuple[str, dict[str, str]], name: str) -> Reply:
    call = ToolCall(name, wish[0], json.dumps(wish[1]))
    return Reply("", finish_reason="tool_calls", model=MODEL, tool_calls=(call,))


def oracle_calls(case: ClinicalCase, facts: Facts) -> list[tuple[str, dict[str, str]]]:
    """Return the calls, each a tool's name and arguments, that earn every point for conduct.

    They are made through a `Toolbox`: the examination first, one test of each category that is
    needed, one preferred imaging.
    """
    pathology, labs = str(case.pathology), facts.labs
    tests = []
    for category in labs.required[pathology]:
        # A name by which tests of the category, and no others, can be asked for.
        wanted = set(canonical(labs.categories[category], labs))
        names = labs.request_names.items()
        tests.append(next(name for name, of in names if wanted.issuperset(canonical(of, labs))))
    best = max(facts.imaging.preferences[pathology], key=lambda preference: preference.points)
    imaging = {"region": best.region, "modality": best.modality}
    return [(EXAMINE, {}), (TEST, {"test_name": ", ".join(tests)}), (IMAGE, imaging)]


def oracle_answer(case: ClinicalCase, facts: Facts) -> dict[str, Any]:
    """Return the answer that is right: the pathology and all treatments that the case needs."""
    required = scores.required_treatments(case, facts, 2)
    treatment: list[str] = []
    for one in facts.treatments[str(case.pathology)]:
        words = one.shown_or_requested + one.requested
        firsts = [group[0] for group in one.requested_groups] or [*words[:1]]
        if required[one.name]:
            treatment += firsts or [" ".join(one.requested_pairs[0])]
    return {"final_diagnosis": str(case.pathology), "treatment": treatment}


def best_scores(pathology: str, facts: Facts) -> dict[str, float]:
    """Return the most that each score can be for a pathology."""
    found: dict[str, float] = dict.fromkeys(scores.SCORES, 1)
    found[scores.LABORATORY] = len(facts.labs.required[pathology])
    return found | {scores.IMAGING: scores.MOST_IMAGING_POINTS}
