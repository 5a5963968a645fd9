"""A model without a model: answers to task files by simple rules, for a first run without a key.

The rules look at the input alone and are the same every time: the first sentences of a document,
a short table of facts, findings counted for each diagnosis, a few pieces of advice. They show that
the way from a task to its scores works, and set a floor that any real model should leave behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from medeval.evaluation.task_prompts import main_output_key, shown_input
from medeval.metrics.concepts import Lexicon
from medeval.metrics.text import text_of
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import Row

_LEADING_SENTENCES = 2
_RANKED = 3
# A full stop after a digit and before one is a decimal point; one after "Dr" ends nothing.
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)\s+|(?<=[。！？])|\n+")

# Words that a question must all have, and what they usually ask for.
_FACTS: Sequence[tuple[tuple[str, ...], str]] = (
    (("insulin",), "pancreas"),
    (("bile",), "liver"),
    (("scurvy",), "vitamin C"),
    (("rickets",), "vitamin D"),
    (("pernicious", "anemia"), "vitamin B12"),
    (("warfarin", "reverses"), "vitamin K"),
    (("heparin", "reverses"), "protamine"),
    (("opioid", "overdose"), "naloxone"),
    (("benzodiazepine", "overdose"), "flumazenil"),
    (("acetaminophen", "overdose"), "acetylcysteine"),
    (("anaphylaxis",), "epinephrine"),
    (("peaked", "t"), "hyperkalemia"),
    (("dvt",), "deep vein thrombosis"),
    (("copd",), "chronic obstructive pulmonary disease"),
    (("valve",), "aortic valve"),
    (("antidote",), "naloxone"),
)
_UNKNOWN = "unknown"

_FINDINGS: Mapping[str, Sequence[str]] = {
    "chest pain": ["chest pain", "chest pressure"],
    "ST elevation": ["ST elevation", "ST segment elevation"],
    "raised troponin": ["troponin"],
    "sweating": ["sweating", "diaphoresis"],
    "dysuria": ["dysuria", "burning on urination"],
    "nitrite": ["nitrite", "nitrites"],
    "leukocyte esterase": ["leukocyte esterase"],
    "flank pain": ["flank pain"],
    "fever": ["fever", "febrile"],
    "cough": ["cough", "productive cough"],
    "consolidation": ["consolidation", "infiltrate"],
    "shortness of breath": ["shortness of breath", "dyspnea", "breathlessness"],
    "orthopnea": ["orthopnea"],
    "leg edema": ["leg edema", "ankle swelling"],
    "calf": ["calf"],
    "D-dimer": ["D-dimer"],
    "tachycardia": ["tachycardia"],
    "wheezing": ["wheezing", "wheezes"],
    "right lower quadrant": ["right lower quadrant"],
    "umbilicus": ["umbilicus", "periumbilical"],
    "rebound": ["rebound"],
    "gallstones": ["gallstones", "gallbladder"],
    "right upper quadrant": ["right upper quadrant"],
    "lipase": ["lipase", "amylase"],
    "pain through to the back": ["to the back"],
    "thirst": ["thirst", "polydipsia"],
    "polyuria": ["polyuria"],
    "raised glucose": ["glucose", "HbA1c"],
    "neck stiffness": ["neck stiffness", "stiff neck"],
    "photophobia": ["photophobia"],
    "headache": ["headache"],
}
_DIAGNOSES: Mapping[str, Sequence[str]] = {
    "ST elevation myocardial infarction": [
        "chest pain",
        "ST elevation",
        "raised troponin",
        "sweating",
    ],
    "pulmonary embolism": ["chest pain", "shortness of breath", "D-dimer", "tachycardia"],
    "deep vein thrombosis": ["calf", "D-dimer"],
    "pneumonia": ["fever", "cough", "consolidation", "shortness of breath"],
    "asthma": ["wheezing", "cough", "shortness of breath"],
    "congestive heart failure": ["orthopnea", "leg edema", "shortness of breath"],
    "urinary tract infection": ["dysuria", "nitrite", "leukocyte esterase"],
    "pyelonephritis": ["flank pain", "fever", "nitrite"],
    "appendicitis": ["right lower quadrant", "umbilicus", "rebound", "fever"],
    "acute cholecystitis": ["gallstones", "right upper quadrant", "fever"],
    "acute pancreatitis": ["lipase", "pain through to the back"],
    "diabetes mellitus": ["thirst", "polyuria", "raised glucose"],
    "meningitis": ["neck stiffness", "photophobia", "headache", "fever"],
    "migraine": ["headache", "photophobia"],
}

_ADVICE: Sequence[tuple[tuple[str, ...], str]] = (
    (
        ("forgot",),
        "Please do not take a double dose. Take the next dose at its usual time and go on as"
        " before.",
    ),
    (
        ("warfarin", "ibuprofen"),
        "Please do not take ibuprofen together with warfarin, because of the risk of bleeding. Ask"
        " us or your pharmacist for another medication against the pain.",
    ),
    (
        ("antibiotic", "cold"),
        "A cold is caused by a virus. An antibiotic does not work against viruses, so it would not"
        " help you and could do harm.",
    ),
    (
        ("blood", "pressure"),
        "High blood pressure strains your heart and your vessels, even if you do not notice it."
        " Treatment lowers the risk of a stroke or a heart attack.",
    ),
)
_GENERAL_ADVICE = (
    "Thank you for your message. Please talk to your doctor before you change anything, and seek"
    " help at once if you feel much worse."
)


def demo_answer(task: MedicalTask, row: Mapping[str, Any]) -> Row:
    """Return the output that the rules give for one row.

    Args:
        task: its type says which rules, its output schema under which key.
        row: an input, or a row of a data set, of which only the input is read.
    """
    key = main_output_key(task)
    properties = task.output_schema.get("properties")
    specification = properties.get(key) if isinstance(properties, Mapping) else None
    choices = specification.get("enum") if isinstance(specification, Mapping) else None
    if isinstance(choices, list) and choices:
        return {key: choices[0]}
    text = "\n".join(text_of(value) for value in shown_input(task, row).values())
    if task.task_type is TaskType.DIAGNOSTIC_REASONING:
        return _diagnosis(text, key)
    if task.task_type is TaskType.SUMMARIZATION:
        return {key: _lead(text)}
    if task.task_type is TaskType.COMMUNICATION:
        return {key: _first_with_all_words(text, _ADVICE, _GENERAL_ADVICE)}
    return {key: _first_with_all_words(text, _FACTS, _UNKNOWN)}


def _lead(text: str) -> str:
    """Return the first sentences, the usual baseline of summarization."""
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    return " ".join(sentences[:_LEADING_SENTENCES])


def _first_with_all_words(
    text: str, table: Sequence[tuple[tuple[str, ...], str]], otherwise: str
) -> str:
    words = set(re.findall(r"\w+", text.lower()))
    return next((entry for needed, entry in table if words.issuperset(needed)), otherwise)


def _diagnosis(text: str, key: str) -> Row:
    """Rank the diagnoses by the share of their findings that the text affirms."""
    present = {found.concept for found in _lexicon().findings(text) if found.polarity == "affirmed"}
    shares = {
        name: sum(finding in present for finding in findings) / len(findings)
        for name, findings in _DIAGNOSES.items()
    }
    # Of equal shares the one that stands first in the table.
    ranked = sorted((name for name in shares if shares[name] > 0), key=lambda name: -shares[name])
    if not ranked:
        return {
            key: _UNKNOWN,
            "differential_diagnosis": [],
            "explanation": "No finding of the table is in the case.",
            "confidence": 0.0,
        }
    first = ranked[0]
    reasons = ", ".join(finding for finding in _DIAGNOSES[first] if finding in present)
    return {
        key: first,
        "differential_diagnosis": ranked[:_RANKED],
        "explanation": f"{first} is likely because the case has: {reasons}.",
        "confidence": round(shares[first] / sum(shares.values()), 2),
    }


@cache
def _lexicon() -> Lexicon:
    return Lexicon(_FINDINGS)
