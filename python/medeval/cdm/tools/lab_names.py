"""The laboratory items that a name means."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from medeval.cdm.lab_facts import LabFacts
from medeval.cdm.tools.lab_mapping import LabMapping
from medeval.cdm.words import closest, name_parts, plain

# How like a panel or a label a name must be, of 100; the thresholds are the reference's.
PANEL_RATIO = 85
LABEL_RATIO = 90
ABBREVIATION_RATIO = 100


class LabNames:
    """Names of tests against panels, synonyms and the labels of the dictionary."""

    def __init__(self, mapping: LabMapping, facts: LabFacts) -> None:
        """Take the labels and the facts."""
        self._mapping = mapping
        self._facts = facts

    def items(self, name: str, version: int) -> tuple[int, ...]:
        """Return the items that a name means, synonyms replaced; none if it is unknown.

        Version 1 compares with panels, then with labels, as the reference does. Version 2 looks
        the name up first, among what clinicians call a test and among abbreviations of panels and
        labels, none of which the reference knows ("CBC", "ALT", "WBC").
        """
        exact = self._exact.get(plain(name)) if version != 1 else None
        return canonical(self._alike(name) if exact is None else exact, self._facts)

    def _alike(self, name: str) -> tuple[int, ...]:
        panel, ratio = closest(name, list(self._facts.panels))
        if ratio >= PANEL_RATIO:
            return self._facts.panels[panel]
        if name in self._facts.panel_synonyms:
            return self._facts.panels[self._facts.panel_synonyms[name]]
        name = self._facts.label_synonyms.get(name, name)
        long_name, abbreviation = name_parts(name)
        for part, least in (
            (name, LABEL_RATIO),
            (long_name, LABEL_RATIO),
            (abbreviation, ABBREVIATION_RATIO),
        ):
            label, ratio = closest(part, self._mapping.labels)
            if ratio >= least:
                return self._mapping.items(label)
        return ()

    @cached_property
    def _exact(self) -> dict[str, tuple[int, ...]]:
        """Plain names with their items; what stands later in here goes before."""
        facts = self._facts
        found = dict(self._mapping.by_exact_name)
        synonyms = {name: facts.panels[panel] for name, panel in facts.panel_synonyms.items()}
        for name, items in (*synonyms.items(), *facts.panels.items()):
            found |= {plain(part): items for part in (*name_parts(name), name)}
        # A request has lost its filling words by now, so the names lose theirs.
        for name, items in facts.request_names.items():
            words = plain(name).split()
            kept = (word for word in words if word not in facts.fillers_between_blanks)
            found[" ".join(kept)] = items
        return found


def canonical(items: Iterable[int], facts: LabFacts) -> tuple[int, ...]:
    """Return the items that stand for these, each once, in their order."""
    return tuple(dict.fromkeys(facts.item_synonyms.get(item, item) for item in items))
