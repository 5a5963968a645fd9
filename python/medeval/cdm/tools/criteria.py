"""The criteria by which a condition is diagnosed."""

from __future__ import annotations

from medeval.cdm.facts import Criteria, Facts
from medeval.cdm.words import closest, plain

# How like a known name one must be, of 100.
NAME_RATIO = 85


def find_criteria(condition: str, facts: Facts) -> Criteria | None:
    """Return the criteria of a condition by one of its names; None if there are none."""
    name = plain(condition)
    if name not in facts.condition_names:
        name, ratio = closest(name, list(facts.condition_names))
        if ratio < NAME_RATIO:
            return None
    return facts.criteria[facts.condition_names[name]]


def criteria_text(criteria: Criteria) -> str:
    """Return criteria as the model reads them."""
    return f"{criteria.condition.capitalize()} ({criteria.guideline}): {criteria.text}"


def known_conditions(facts: Facts) -> str:
    """Return the sentence for a condition that has no criteria."""
    return f"No criteria are stored for it. Conditions: {', '.join(facts.criteria)}."
