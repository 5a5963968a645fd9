"""A model without a model: answers to task files by simple rules, for a first run without a key.

The rules look at the input alone and are the same every time: the first sentences of a document,
a short table of facts, findings counted for each diagnosis, a few pieces of advice. They show that
the way from a task to its scores works, and set a floor that any real model should leave behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from medeval.evaluation.task_prompts import shown_input
from medeval.metrics.concepts import Lexicon
from medeval.metrics.text import text_of
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import Row
from medeval.models.text_files import packaged_yaml

# The tables of the file that comes along; it says what they hold.
_TABLES: dict[str, Any] = packaged_yaml("medeval.evaluation", "demo_answers")
_LEADING_SENTENCES = 2
_RANKED = 3
# A full stop after a digit and before one is a decimal point; one after "Dr" ends nothing.
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)\s+|(?<=[。！？])|\n+")

_UNKNOWN = "unknown"
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
    key = task.target
    properties = task.output_schema.get("properties")
    specification = properties.get(key) if isinstance(properties, Mapping) else None
    choices = specification.get("enum") if isinstance(specification, Mapping) else None
    if isinstance(choices, list) and choices:
        return {key: choices[0]}
    text = "\n".join(text_of(value) for value in shown_input(task, row).values())
    if task.task_type is TaskType.DIAGNOSTIC_REASONING:
        return _diagnosis(text, key)
    if task.task_type is TaskType.SUMMARIZATION:
        # The first sentences, the usual baseline.
        sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
        return {key: " ".join(sentences[:_LEADING_SENTENCES])}
    if task.task_type is TaskType.COMMUNICATION:
        return {key: _first_with_all_words(text, "advice", _GENERAL_ADVICE)}
    return {key: _first_with_all_words(text, "facts", _UNKNOWN)}


def _first_with_all_words(text: str, table: str, otherwise: str) -> str:
    words = set(re.findall(r"\w+", text.lower()))
    known = _TABLES[table]
    return next((entry for needed, entry in known if words.issuperset(needed)), otherwise)


def _diagnosis(text: str, key: str) -> Row:
    """Rank the diagnoses by the share of their findings that the text affirms."""
    findings = Lexicon(_TABLES["findings"]).findings(text)
    present = {found.concept for found in findings if found.polarity == "affirmed"}
    diagnoses = _TABLES["diagnoses"]
    shares = {
        name: sum(finding in present for finding in findings) / len(findings)
        for name, findings in diagnoses.items()
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
    reasons = ", ".join(finding for finding in diagnoses[first] if finding in present)
    return {
        key: first,
        "differential_diagnosis": ranked[:_RANKED],
        "explanation": f"{first} is likely because the case has: {reasons}.",
        "confidence": round(shares[first] / sum(shares.values()), 2),
    }
