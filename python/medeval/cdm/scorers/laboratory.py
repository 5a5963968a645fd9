"""Were the tests asked for that the guidelines want, and which others?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.facts import LabFacts
from medeval.cdm.lab_names import canonical
from medeval.cdm.tools import REQUEST_LAB_TEST


@dataclass(frozen=True)
class LaboratoryScore:
    """The tests of one case.

    Attributes:
        correct: for each category that is needed, whether a test of it was asked for.
        neutral: for each neutral panel, whether a test of it was asked for that no category has.
        unnecessary: items that are in neither, in the order of the requests.
    """

    correct: dict[str, bool]
    neutral: dict[str, bool]
    unnecessary: tuple[int, ...]

    @property
    def points(self) -> int:
        """A point for each category."""
        return sum(self.correct.values())


def laboratory_score(
    calls: Sequence[Mapping[str, Any]], pathology: str, facts: LabFacts, version: int
) -> LaboratoryScore:
    """Score the laboratory requests of a case.

    A request's items have their synonyms replaced. Version 2 replaces them in the categories too;
    in version 1 a category may list an item that no request can mean any more, as bilirubin's.
    """

    def listed(items: Iterable[int]) -> set[int]:
        return set(items) if version == 1 else set(canonical(items, facts))

    asked = [
        item
        for call in calls
        if call["tool"] == REQUEST_LAB_TEST and "itemids" in call
        for item in call["itemids"][str(version)]
    ]
    required = {name: listed(facts.categories[name]) for name in facts.required[pathology]}
    needed = set().union(*required.values())
    neutral = {name: listed(facts.panels[name]) - needed for name in facts.neutral[pathology]}
    minded = needed.union(*neutral.values())
    return LaboratoryScore(
        correct={name: not items.isdisjoint(asked) for name, items in required.items()},
        neutral={name: not items.isdisjoint(asked) for name, items in neutral.items()},
        unnecessary=tuple(dict.fromkeys(item for item in asked if item not in minded)),
    )
