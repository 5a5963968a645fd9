"""A model without a model: answers to task files by simple rules, for a first run without a key.

The rules see the question alone and hold no answer: they repeat what it says. They show that the
way from a task to its scores works, and set a floor that any real model should leave behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from medeval.evaluation.task_prompts import fields_of, shown_input
from medeval.metrics.concepts import common_lexicon
from medeval.metrics.matching import common_synonyms
from medeval.metrics.metric import text_of
from medeval.models.medical_task import MedicalTask, TaskType
from medeval.models.schemas import Row

_LEADING_SENTENCES = 2
_RANKED = 3
# A full stop after a digit and before one is a decimal point; one after "Dr" ends nothing.
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)\s+|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(r"\b[A-Z][A-Z0-9]+\b")
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")
_UNKNOWN = "unknown"


def demo_answer(task: MedicalTask, row: Mapping[str, Any]) -> Row:
    """Return the output that the rules give for one row.

    Of given choices the first is taken. A document is summarized by its first sentences, the usual
    baseline. A case is diagnosed with the first finding that it affirms. A message gets general
    advice about what it names. A question is answered by what its abbreviation stands for, else
    by its last long word.

    Args:
        task: its type says which rule, its output schema under which key.
        row: an input, or a row of a data set, of which only the input is read.
    """
    key = task.target
    choices = fields_of(task)[key].get("enum")
    if isinstance(choices, list) and choices:
        return {key: choices[0]}
    text = "\n".join(text_of(value) for value in shown_input(task)(row).values())
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    if task.task_type is TaskType.SUMMARIZATION:
        return {key: " ".join(sentences[:_LEADING_SENTENCES])}
    if task.task_type is TaskType.QA:
        synonyms = common_synonyms()
        for short in _ABBREVIATION.findall(text):
            if (full := synonyms.expanded(short)) != short.lower():
                return {key: full}
        return {key: next(reversed(_LONG_WORD.findall(text)), _UNKNOWN)}
    lexicon = common_lexicon()
    affirmed = [
        concept.replace("_", " ")
        for sentence in sentences
        for concept, polarity in sorted(lexicon.findings(sentence))
        if polarity == "affirmed" and concept not in lexicon.drugs | lexicon.things
    ]
    named = list(dict.fromkeys(affirmed))  # in the order of their sentences
    if task.task_type is TaskType.COMMUNICATION:
        about = f" about {' and '.join(named[:_RANKED])}" if named else ""
        return {
            key: f"Thank you for your message{about}. Please talk to your doctor before you change"
            " anything, and seek help at once if you feel much worse."
        }
    first = named[0] if named else _UNKNOWN
    reasons = ", ".join(named) or "no finding that is known"
    return {
        key: first,
        "differential_diagnosis": named[:_RANKED],
        "explanation": f"{first} is likely because the case has: {reasons}.",
        "confidence": round(1 / (1 + len(named)), 2) if named else 0.0,
    }
