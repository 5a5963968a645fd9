"""What the CDM benchmark knows: laboratory tests, imaging, treatments, names of diagnoses.

No model reads them, so they are a file of the package, `data/facts.toml`, which says where each
comes from. The radiology keywords are seeds, which dbt models read too. The kinds of negation cues
are those of NegEx (Chapman et al., Journal of Biomedical Informatics 34 (2001) 301-310); the lists
are this project's own.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from medeval.errors import UserError
from medeval.sources import project_root

DATA = Path(__file__).with_name("data") / "facts.toml"
ICD_10_LENGTH = 7
Words = tuple[str, ...]
# A place and a change, or what is done there.
Pairs = tuple[tuple[str, str], ...]
Items = tuple[int, ...]


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
    request_names: Mapping[str, Items]
    fillers_anywhere: Words
    fillers_between_blanks: frozenset[str]
    fillers_of_unknown_names: frozenset[str]


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
        modality_keywords: words of examinations' names with their modality, in search order.
        region_keywords: words of examinations' names with their region, in search order.
        keyword_stems: the keywords that are beginnings of words.
    """

    preferences: Mapping[str, tuple[ImagingPreference, ...]]
    kinds: Mapping[str, ImagingKind]
    modality_phrases: Mapping[str, str]
    region_phrases: Mapping[str, str]
    modality_keywords: Pairs
    region_keywords: Pairs
    keyword_stems: frozenset[str]

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
        icd_10: codes of ICD-10-PCS that do.
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

    def has_code(self, code: str) -> bool:
        """Tell whether a procedure code, without its version, shows the treatment.

        The codes of ICD-10-PCS alone have seven characters, so that no code is of both versions.
        """
        return code in (self.icd_10 if len(code) == ICD_10_LENGTH else self.icd_9)


class NegationCues(_Facts):
    """Phrases in lower case that negate, or seem to.

    Attributes:
        before: phrases after which a finding is absent; those of the reference among them.
        behind: phrases before which it is.
        pseudo: phrases with a negation that does not reach beyond them.
        terminations: phrases at which the reach of a negation ends.
        normal: words for an organ in which nothing is wrong.
    """

    before: Words
    behind: Words
    pseudo: Words
    terminations: Words
    normal: Words


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
        negation_cues: by which version 2 tells what is denied.
        criteria: of each condition.
    """

    labs: LabFacts
    imaging: ImagingFacts
    treatments: Mapping[str, tuple[TreatmentFacts, ...]]
    correct_diagnoses: Mapping[str, Pairs]
    gracious_diagnoses: Mapping[str, Pairs]
    other_organs: Mapping[str, Words]
    negations: Words
    negation_cues: NegationCues
    criteria: tuple[Criteria, ...]


def load_facts(root: Path | None = None) -> Facts:
    """Read the facts.

    Args:
        root: the project's folder; None searches upwards from the current one.

    Raises:
        UserError: a file of radiology keywords cannot be read.
    """
    told = tomllib.loads(DATA.read_text(encoding="utf-8"))
    labs, imaging, organs = told["labs"], told["imaging"], told.pop("organs")
    labs["fillers_between_blanks"] += labs["fillers_anywhere"]
    for name, meant in labs["request_names"].items():
        labs["request_names"][name] = labs["panels"].get(meant, [meant])
    told["negation_cues"]["before"] = told["negations"] + told["negation_cues"]["before"]
    seeds = (root or project_root()) / "seeds" / "cdm"
    modalities = _rows(seeds / "radiology_modalities.csv")
    regions = [
        row for row in _rows(seeds / "radiology_regions.csv") if row["in_specification"] == "true"
    ]
    phrases = {row["modality"].lower(): row["modality"] for row in modalities}
    imaging["modality_phrases"] = phrases | imaging["modality_phrases"]
    imaging["region_keywords"] = [(row["keyword"], row["region"]) for row in regions]
    # CHEST, ABDOMEN and PELVIS in an examination's name tell a radiograph, in a request a region.
    names = {row["region"].upper() for row in regions}
    imaging["modality_keywords"] = [
        (row["keyword"], row["modality"]) for row in modalities if row["keyword"] not in names
    ]
    imaging["keyword_stems"] = [
        row["keyword"] for row in (*modalities, *regions) if row["is_stem"] == "true"
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


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
