"""What the CDM benchmark knows: tests, imaging, treatments, names of diagnoses, and its prompts.

No model of dbt reads them, so they are files of the package, `data/facts.toml`, which says where
each comes from, and `data/prompts.toml`. The radiology keywords are seeds, which dbt models read
too. The kinds of negation cues are those of NegEx (Chapman et al., Journal of Biomedical
Informatics 34 (2001) 301-310); the lists are this project's own.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from medeval.errors import UserError, os_error_as
from medeval.files import toml_beside
from medeval.sources import project_root
from medeval.tasks.cdm.negation import Negation

_PROMPTS: Mapping[str, Any] = toml_beside(__file__, "data/prompts.toml")
PROMPT_VERSION: str = _PROMPTS["version"]
# Parameters of a request that shows all at once.
FULL_INFORMATION: Mapping[str, Any] = _PROMPTS["full_information"]
# What the lines of a reply in text are called, as patterns, and the parts of an answer in JSON.
LABELS: Mapping[str, str] = _PROMPTS["labels"]
KEYS: Mapping[str, Sequence[str]] = _PROMPTS["keys"]
# What each tool is for; and its arguments, texts that must be there, with what they mean.
PURPOSES: Mapping[str, str] = _PROMPTS["tools"]
ARGUMENTS: Mapping[str, Mapping[str, str]] = {name: {} for name in PURPOSES} | _PROMPTS["arguments"]
_NOT_A_WORD = re.compile(r"[\W_]+")
# How like a panel or a label a name must be, of 100; the thresholds are the reference's.
_PANEL_RATIO = 85
_LABEL_RATIO = 90
_ABBREVIATION_RATIO = 100
Words = tuple[str, ...]
# A place and a change, or what is done there.
Pairs = tuple[tuple[str, str], ...]
# A word, what it means, and whether it is the beginning of words.
Keywords = tuple[tuple[str, str, bool], ...]
Items = tuple[int, ...]


def prompt(name: str, **parts: str) -> str:
    """Return words of the prompts with their parts in the places that are named so."""
    text: str = _PROMPTS["texts"][name]
    for part, words in (_PROMPTS["parts"] | parts).items():
        text = text.replace(f"{{{part}}}", words)
    return text


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LabFacts(_Facts):
    """Laboratory tests by name, by panel and by what the guidelines ask for.

    Attributes:
        panels: items of each panel.
        categories: items of each category of the guidelines.
        required: categories that a pathology needs, in the order of its answers.
        neutral: panels that a pathology neither needs nor minds.
        item_synonyms: the item that stands for another one.
        panel_synonyms: the panel that another name means.
        label_synonyms: the label of the dictionary that another name means.
        other_fluids: what in parentheses asks for another test than the name before them, which is
            of blood.
        request_names: what clinicians call panels and tests, as items; names in lower case.
        fillers_anywhere: words that are cut out of a request wherever they stand.
        fillers_between_blanks: words that are dropped where blanks surround them.
        fillers_of_unknown_names: words that version 2 drops from a name that means nothing.
    """

    panels: Mapping[str, Items]
    categories: Mapping[str, Items]
    required: Mapping[str, Words]
    neutral: Mapping[str, Words]
    item_synonyms: Mapping[int, int]
    panel_synonyms: Mapping[str, str]
    label_synonyms: Mapping[str, str]
    other_fluids: frozenset[str]
    request_names: Mapping[str, Items]
    fillers_anywhere: Words
    fillers_between_blanks: frozenset[str]
    fillers_of_unknown_names: frozenset[str]

    @cached_property
    def filler(self) -> re.Pattern[str]:
        """One of `fillers_anywhere`, in any case."""
        words = "|".join(map(re.escape, self.fillers_anywhere))
        return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


class ImagingPreference(_Facts):
    """What one modality is worth for a pathology.

    Attributes:
        region: the region that has to be asked for, in lower case.
        modality: the modality, in lower case.
        points: 2 for a preferred one, 1 for one that is acceptable.
        added_if_diagnosis_has: a word of the primary diagnoses that makes the points count, on
            top of others; None for modalities of which only the first counts.
    """

    region: str
    modality: str
    points: int
    added_if_diagnosis_has: str | None = None


class ImagingKind(_Facts):
    """A special kind of a broad modality, such as MRCP of MRI.

    Attributes:
        modality: the broad modality that accepts it.
        scored_as: the modality for which it counts, in lower case.
        exam_keywords: words of an examination's name that tell it, in capitals.
    """

    modality: str
    scored_as: str
    exam_keywords: Words


class ImagingFacts(_Facts):
    """Imaging by words of requests and of examinations, and what it is worth.

    Attributes:
        preferences: of each pathology, in the order of its table.
        kinds: special kinds by their name.
        modality_phrases: words of a request in lower case, with the modality or kind they mean.
        region_phrases: words of a request in lower case, with the region they mean.
        modality_keywords: words of examinations' names, each with its modality and whether it is
            the beginning of words, in search order.
        region_keywords: words of examinations' names with their region, likewise.
    """

    preferences: Mapping[str, tuple[ImagingPreference, ...]]
    kinds: Mapping[str, ImagingKind]
    modality_phrases: Mapping[str, str]
    region_phrases: Mapping[str, str]
    modality_keywords: Keywords
    region_keywords: Keywords

    def worth(self, pathology: str, region: str, modality: str) -> ImagingPreference | None:
        """Return what imaging is worth for a pathology; None if it is not acceptable."""
        named = {(one.region, one.modality): one for one in self.preferences[pathology]}
        return named.get((region, modality))


class TreatmentFacts(_Facts):
    """One treatment of one pathology; words are words or parts of them, in lower case.

    Attributes:
        name: its name in the answers.
        is_always_required: whether every case of the pathology needs it.
        diagnosis: words of a primary diagnosis that alone make it required.
        shown_word: words that show it in the ground truth, together with a `shown_place`.
        shown_place: see there.
        shown_or_requested: words that show it, and by which an answer asks for it.
        requested: words by which an answer asks for it.
        requested_pairs: the same, by two words in one text.
        requested_groups: groups of words, of each of which the answer must have one.
        icd_9: codes of ICD-9-CM procedures that show it.
        icd_10: codes of ICD-10-PCS that do; these alone have seven characters, so that no code is
            of both versions.
    """

    name: str
    is_always_required: bool = False
    diagnosis: Words = ()
    shown_word: Words = ()
    shown_place: Words = ()
    shown_or_requested: Words = ()
    requested: Words = ()
    requested_pairs: Pairs = ()
    requested_groups: tuple[Words, ...] = ()
    icd_9: frozenset[str] = frozenset()
    icd_10: frozenset[str] = frozenset()


class Criteria(_Facts):
    """How a condition is diagnosed, in short, and the public guideline that says so.

    Attributes:
        condition: the condition.
        guideline: the guideline and its year.
        text: the criteria.
        names: by which they may be asked for, in lower case.
    """

    condition: str
    guideline: str
    text: str
    names: Words


class Facts(_Facts):
    """All facts that tools and scores need.

    Attributes:
        labs: laboratory tests.
        imaging: imaging.
        treatments: treatments of each pathology, in the order of its answers.
        correct_diagnoses: pairs of word stems, place and change, that are a pathology.
        gracious_diagnoses: pairs that are nearly one.
        other_organs: of each pathology, beginnings of words for organs that are not its own.
        negations: phrases after which a finding is absent, as the reference has them.
        negation_cues: by which version 2 tells what is denied; see `Negation`.
        criteria: of each condition.
    """

    labs: LabFacts
    imaging: ImagingFacts
    treatments: Mapping[str, tuple[TreatmentFacts, ...]]
    correct_diagnoses: Mapping[str, Pairs]
    gracious_diagnoses: Mapping[str, Pairs]
    other_organs: Mapping[str, Words]
    negations: Words
    negation_cues: Mapping[str, Words]
    criteria: tuple[Criteria, ...]

    @cached_property
    def negation(self) -> Negation:
        """The rules of version 2."""
        return Negation(self.negation_cues)


def load_facts(root: Path | None = None) -> Facts:
    """Read the facts.

    Args:
        root: the project's folder; None searches upwards from the current one.
    """
    told = toml_beside(__file__, "data/facts.toml")
    labs, imaging, organs = told["labs"], told["imaging"], told.pop("organs")
    labs["fillers_between_blanks"] += labs["fillers_anywhere"]
    for name, meant in labs["request_names"].items():
        labs["request_names"][name] = labs["panels"].get(meant, [meant])
    told["negation_cues"]["before"] = told["negations"] + told["negation_cues"]["before"]
    seeds = (root or project_root()) / "seeds" / "cdm"
    modalities, regions = (
        list(csv.DictReader((seeds / f"radiology_{name}.csv").read_text("utf-8").splitlines()))
        for name in ("modalities", "regions")
    )
    regions = [row for row in regions if row["in_specification"] == "true"]
    phrases = {row["modality"].lower(): row["modality"] for row in modalities}
    imaging["modality_phrases"] = phrases | imaging["modality_phrases"]
    imaging["region_keywords"] = [
        (row["keyword"], row["region"], row["is_stem"]) for row in regions
    ]
    # CHEST, ABDOMEN and PELVIS in an examination's name tell a radiograph, in a request a region.
    names = {row["region"].upper() for row in regions}
    imaging["modality_keywords"] = [
        (row["keyword"], row["modality"], row["is_stem"])
        for row in modalities
        if row["keyword"] not in names
    ]
    # The places of a pathology's pairs are other organs to the others.
    graded = (told["correct_diagnoses"], told["gracious_diagnoses"])
    places = {name: {place for of in graded for place, _ in of.get(name, ())} for name in graded[0]}
    told["other_organs"] = {
        name: [
            *(stem for stem, owners in organs.items() if name not in owners),
            *sorted(set().union(*places.values()) - own - set(organs)),
        ]
        for name, own in places.items()
    }
    return Facts.model_validate(told)


# Names of laboratory tests


def read_lab_tests(path: Path) -> dict[str, Items]:
    """Return the items of each label in `lab_test_mapping.json` of an export, in its order.

    Raises:
        UserError: the file is not there, or is not such a table.
    """
    found: dict[str, Items] = {}
    with os_error_as(f"{path}: {{why}}. `python -m medeval export --task cdm` writes it."):
        text = path.read_text(encoding="utf-8")
    try:
        for row in json.loads(text):
            found.setdefault(str(row["label"]), tuple(map(int, row["corresponding_ids"])))
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is not the table of tests that an export writes.") from error
    return found


class LabNames:
    """Names of tests against panels, synonyms and the labels of the table of tests.

    Attributes:
        labels: the items of each label, in the order of the table.
        facts: the facts.
        items: returns the items that a name means; see `_items`.
    """

    def __init__(self, labels: dict[str, Items], facts: LabFacts) -> None:
        """Take the labels of `read_lab_tests` and the facts."""
        self.labels, self.facts = labels, facts
        # Models repeat themselves.
        self.items = lru_cache(maxsize=4096)(self._items)

    def is_exact(self, name: str) -> bool:
        """Tell whether words are a known name, as a whole and rightly spelt."""
        return plain(name) in self._exact

    def _items(self, name: str, *, can_be_exact: bool = True) -> Items:
        """Return the items that a name means, synonyms replaced; none if it is unknown.

        A name is looked up among what clinicians call a test and among abbreviations of panels and
        labels ("CBC", "ALT", "WBC"), then compared with panels and with labels; what stands before
        parentheses and within them is looked up too, before it is compared.

        Args:
            name: of a test.
            can_be_exact: whether names are looked up; the reference only compares.
        """
        synonym = self.facts.label_synonyms.get(name, name)
        found = self._exact.get(plain(name)) if can_be_exact else None
        if found is None:
            panel, ratio = closest(name, [*self.facts.panels])
            panel = panel if ratio >= _PANEL_RATIO else self.facts.panel_synonyms.get(name, "")
            found = self.facts.panels[panel] if panel else self._labelled(synonym, _LABEL_RATIO)
        parts = [plain(part) for part in name_parts(name)]
        if found is None and can_be_exact and parts[1] not in self.facts.other_fluids:
            found = next((self._exact[part] for part in parts if part in self._exact), None)
        ratios = (_LABEL_RATIO, _ABBREVIATION_RATIO)
        for part, least in zip(name_parts(synonym), ratios, strict=True):
            found = self._labelled(part, least) if found is None else found
        return canonical(found or (), self.facts)

    def _labelled(self, name: str, least: int) -> Items | None:
        label, ratio = closest(name, list(self.labels))
        return self.labels.get(label, ()) if ratio >= least else None

    @cached_property
    def _exact(self) -> dict[str, Items]:
        """Plain names with their items; what stands later in here goes before."""
        facts = self.facts
        found = {plain(label): items for label, items in reversed(self.labels.items())}
        for label, items in self.labels.items():
            for part in name_parts(label):
                found.setdefault(plain(part), items)
        synonyms = {name: facts.panels[panel] for name, panel in facts.panel_synonyms.items()}
        for name, items in (*synonyms.items(), *facts.panels.items()):
            found |= {plain(part): items for part in (*name_parts(name), name)}
        # A request has lost its filling words by now, so the names lose theirs.
        for name, items in facts.request_names.items():
            fillers = facts.fillers_between_blanks
            found[" ".join(w for w in plain(name).split() if w not in fillers)] = items
        return found


def canonical(items: Iterable[int], facts: LabFacts) -> Items:
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
    return (long_name.strip(), abbreviation.strip()) if closed else (name.strip(), name.strip())


def closest(name: str, choices: Iterable[str]) -> tuple[str, int]:
    """Return the choice that is most like a name, the first of equals, and how like it is.

    The likeness is the ratio of rapidfuzz on texts in lower case without punctuation, as a whole
    number from 0 to 100.
    """
    from rapidfuzz import fuzz, process, utils

    processor = utils.default_process
    found = process.extractOne(name, choices, processor=processor, scorer=fuzz.ratio)
    return (found[0], round(found[1])) if found else ("", 0)
