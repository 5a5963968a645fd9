"""Names of laboratory tests: the table of all tests, and the items that a name means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.tasks.cdm.facts import LabFacts

_NOT_A_WORD = re.compile(r"[\W_]+")
# How like a panel or a label a name must be, of 100; the thresholds are the reference's.
PANEL_RATIO = 85
LABEL_RATIO = 90
ABBREVIATION_RATIO = 100
# In parentheses these ask for another test than the name before them, which is of blood.
OTHER_FLUIDS = frozenset(
    ("urine", "stool", "csf", "cerebrospinal fluid", "ascites", "pleural", "body fluid")
)


class LabMapping:
    """All tests by their label.

    Attributes:
        items: of each label, in the order of the table.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows with `label` and `corresponding_ids`, the items of that label."""
        self.items: dict[str, tuple[int, ...]] = {}
        for row in rows:
            self.items.setdefault(str(row["label"]), tuple(map(int, row["corresponding_ids"])))

    @cached_property
    def by_exact_name(self) -> dict[str, tuple[int, ...]]:
        """The items of each label, then of each long name and abbreviation, as plain words."""
        found = {plain(label): items for label, items in reversed(self.items.items())}
        for label, items in self.items.items():
            for part in name_parts(label):
                found.setdefault(plain(part), items)
        return found


def read_mapping(path: Path) -> LabMapping:
    """Read `lab_test_mapping.json` of an export.

    Raises:
        UserError: the file is not there, or is not such a table.
    """
    try:
        return LabMapping(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}. `python -m medeval export --task cdm` writes it."
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is not the table of tests that an export writes.") from error


class LabNames:
    """Names of tests against panels, synonyms and the labels of the dictionary."""

    def __init__(self, mapping: LabMapping, facts: LabFacts) -> None:
        """Take the labels and the facts."""
        self._mapping = mapping
        self._facts = facts
        # A call is looked up for its record and for its answer, and models repeat themselves.
        self.items = lru_cache(maxsize=4096)(self._items)

    def is_exact(self, name: str) -> bool:
        """Tell whether words are a name that version 2 knows, as a whole and rightly spelt."""
        return plain(name) in self._exact

    def _items(self, name: str, version: int) -> tuple[int, ...]:
        """Return the items that a name means, synonyms replaced; none if it is unknown.

        Version 1 compares with panels, then with labels, as the reference does. Version 2 looks
        the name up first, among what clinicians call a test and among abbreviations of panels and
        labels, none of which the reference knows ("CBC", "ALT", "WBC"); so too what stands before
        parentheses and within them, before it compares that.
        """
        synonym = self._facts.label_synonyms.get(name, name)
        found = self._exact.get(plain(name)) if version != 1 else None
        if found is None:
            panel, ratio = closest(name, list(self._facts.panels))
            panel = panel if ratio >= PANEL_RATIO else self._facts.panel_synonyms.get(name, "")
            found = self._facts.panels[panel] if panel else self._labelled(synonym, LABEL_RATIO)
        parts = [plain(part) for part in name_parts(name)]
        if found is None and version != 1 and parts[1] not in OTHER_FLUIDS:
            found = next((self._exact[part] for part in parts if part in self._exact), None)
        for part, least in zip(name_parts(synonym), (LABEL_RATIO, ABBREVIATION_RATIO), strict=True):
            found = self._labelled(part, least) if found is None else found
        return canonical(found or (), self._facts)

    def _labelled(self, name: str, least: int) -> tuple[int, ...] | None:
        label, ratio = closest(name, list(self._mapping.items))
        return self._mapping.items.get(label, ()) if ratio >= least else None

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


def plain(text: str) -> str:
    """Return the words of a text in lower case, with single blanks between them."""
    return _NOT_A_WORD.sub(" ", text.lower()).strip()


def holds(words: str, phrase: str, *, is_stem: bool = False) -> bool:
    """Tell whether plain words hold a phrase as whole words, or as the beginning of words."""
    end = "" if is_stem else " "
    return f" {plain(phrase)}{end}" in f" {words} "


def name_parts(name: str) -> tuple[str, str]:
    """Return the long name before parentheses and the abbreviation in them; else the name twice."""
    long_name, _, rest = name.partition("(")
    abbreviation, closed, _ = rest.partition(")")
    if not closed:
        return name.strip(), name.strip()
    return long_name.strip(), abbreviation.strip()


def closest(name: str, choices: Sequence[str]) -> tuple[str, int]:
    """Return the choice that is most like a name, the first of equals, and how like it is.

    The likeness is the ratio of rapidfuzz on texts in lower case without punctuation, as a whole
    number from 0 to 100.
    """
    from rapidfuzz import fuzz, process, utils

    processed = _processed(tuple(choices))
    found = process.extractOne(utils.default_process(name), processed, scorer=fuzz.ratio)
    return (choices[found[2]], round(found[1])) if found else ("", 0)


@lru_cache(maxsize=8)
def _processed(choices: tuple[str, ...]) -> list[str]:
    """Return choices as they are compared: the same few lists are compared with all the time."""
    from rapidfuzz import utils

    return [utils.default_process(choice) for choice in choices]
