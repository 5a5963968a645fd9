"""The laboratory items that a name means."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

from medeval.cdm.lab_facts import LabFacts
from medeval.cdm.tools.lab_mapping import LabMapping
from medeval.cdm.words import closest, name_parts, plain

# How like a panel or a label a name must be, of 100; the thresholds are the reference's.
PANEL_RATIO = 85
LABEL_RATIO = 90
ABBREVIATION_RATIO = 100
# In parentheses these ask for another test than the name before them, which is of blood.
OTHER_FLUIDS = frozenset(
    ("urine", "stool", "csf", "cerebrospinal fluid", "ascites", "pleural", "body fluid")
)


class LabNames:
    """Names of tests against panels, synonyms and the labels of the dictionary."""

    def __init__(self, mapping: LabMapping, facts: LabFacts) -> None:
        """Take the labels and the facts."""
        self._mapping = mapping
        self._facts = facts
        # A call is looked up for its record and for its answer, and models repeat themselves.
        self._found = lru_cache(maxsize=4096)(self._items)

    def items(self, name: str, version: int) -> tuple[int, ...]:
        """Return the items that a name means, synonyms replaced; none if it is unknown.

        Version 1 compares with panels, then with labels, as the reference does. Version 2 looks
        the name up first, among what clinicians call a test and among abbreviations of panels and
        labels, none of which the reference knows ("CBC", "ALT", "WBC"); so too what stands before
        parentheses and within them, before it compares that.
        """
        return self._found(name, version)

    def is_exact(self, name: str) -> bool:
        """Tell whether words are a name that version 2 knows, as a whole and rightly spelt."""
        return plain(name) in self._exact

    def _items(self, name: str, version: int) -> tuple[int, ...]:
        found = self._exact.get(plain(name)) if version != 1 else None
        if found is None:
            found = self._alike(name)
        if found is None and version != 1:
            found = self._exact_in_part(name)
        if found is None:
            found = self._alike_in_part(name)
        return canonical(found or (), self._facts)

    def _exact_in_part(self, name: str) -> tuple[int, ...] | None:
        parts = [plain(part) for part in name_parts(name)]
        if parts[1] in OTHER_FLUIDS:
            return None
        return next((self._exact[part] for part in parts if part in self._exact), None)

    def _alike(self, name: str) -> tuple[int, ...] | None:
        """Return the items of the panel or label that a whole name is like; None for neither."""
        panel, ratio = closest(name, list(self._facts.panels))
        if ratio >= PANEL_RATIO:
            return self._facts.panels[panel]
        if name in self._facts.panel_synonyms:
            return self._facts.panels[self._facts.panel_synonyms[name]]
        return self._labelled(self._facts.label_synonyms.get(name, name), LABEL_RATIO)

    def _alike_in_part(self, name: str) -> tuple[int, ...] | None:
        """Return the items of the label that a name before parentheses or within them is like."""
        long_name, abbreviation = name_parts(self._facts.label_synonyms.get(name, name))
        found = self._labelled(long_name, LABEL_RATIO)
        return self._labelled(abbreviation, ABBREVIATION_RATIO) if found is None else found

    def _labelled(self, name: str, least: int) -> tuple[int, ...] | None:
        label, ratio = closest(name, self._mapping.labels)
        return self._mapping.items(label) if ratio >= least else None

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
