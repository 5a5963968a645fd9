"""What the CDM benchmark knows: laboratory tests, imaging, treatments, names of diagnoses.

No model reads them, so they are CSV files of the package; `data/facts.yml` says where each comes
from and what holds for its cells. The radiology keywords are seeds, which dbt models read too.
The kinds of negation cues are those of NegEx (Chapman et al., Journal of Biomedical Informatics 34
(2001) 301-310); the lists are this project's own.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.sources import project_root

DATA = Path(__file__).with_name("data")


@dataclass(frozen=True)
class LabFacts:
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

    panels: Mapping[str, tuple[int, ...]]
    categories: Mapping[str, tuple[int, ...]]
    required: Mapping[str, tuple[str, ...]]
    neutral: Mapping[str, tuple[str, ...]]
    item_synonyms: Mapping[int, int]
    panel_synonyms: Mapping[str, str]
    label_synonyms: Mapping[str, str]
    request_names: Mapping[str, tuple[int, ...]]
    fillers_anywhere: tuple[str, ...]
    fillers_between_blanks: frozenset[str]
    fillers_of_unknown_names: frozenset[str]


@dataclass(frozen=True)
class ImagingPreference:
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
    added_if_diagnosis_has: str | None


@dataclass(frozen=True)
class ImagingKind:
    """A special kind of a broad modality, such as MRCP of MRI.

    Attributes:
        kind: its name.
        modality: the broad modality that accepts it.
        scored_as: the modality for which it counts, in lower case.
        exam_keywords: words of an examination's name that tell it, in capitals.
    """

    kind: str
    modality: str
    scored_as: str
    exam_keywords: tuple[str, ...]


@dataclass(frozen=True)
class ImagingFacts:
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
    modality_keywords: tuple[tuple[str, str], ...]
    region_keywords: tuple[tuple[str, str], ...]
    keyword_stems: frozenset[str]

    def worth(self, pathology: str, region: str, modality: str) -> ImagingPreference | None:
        """Return what imaging is worth for a pathology; None if it is not acceptable."""
        named = {(one.region, one.modality): one for one in self.preferences[pathology]}
        return named.get((region, modality))


@dataclass(frozen=True)
class TreatmentFacts:
    """One treatment of one pathology.

    Attributes:
        name: its name in the answers.
        is_always_required: whether every case of the pathology needs it.
        codes: ICD procedure codes that show it, each with its version (9 or 10).
        terms: its words by their use, as `data/facts.yml` describes them: `shown_or_requested`,
            `shown_word` and `shown_place`, `diagnosis`, `requested`, and in `requested_pair` a
            place and a word.
        groups: groups of words, of each of which the answer must have one.
    """

    name: str
    is_always_required: bool
    codes: frozenset[tuple[int, str]]
    terms: Mapping[str, tuple[Any, ...]]
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class NegationCues:
    """Phrases in lower case that negate, or seem to.

    Attributes:
        before: phrases after which a finding is absent; those of the reference among them.
        behind: phrases before which it is.
        pseudo: phrases with a negation that does not reach beyond them.
        terminations: phrases at which the reach of a negation ends.
        normal: words for an organ in which nothing is wrong.
    """

    before: tuple[str, ...]
    behind: tuple[str, ...]
    pseudo: tuple[str, ...]
    terminations: tuple[str, ...]
    normal: tuple[str, ...]


@dataclass(frozen=True)
class Criteria:
    """How a condition is diagnosed, in short, and the public guideline that says so."""

    condition: str
    guideline: str
    text: str


@dataclass(frozen=True)
class Facts:
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
        criteria: of each condition, in the order of the list.
        condition_names: the condition that a name in lower case means.
    """

    labs: LabFacts
    imaging: ImagingFacts
    treatments: Mapping[str, tuple[TreatmentFacts, ...]]
    correct_diagnoses: Mapping[str, tuple[tuple[str, str], ...]]
    gracious_diagnoses: Mapping[str, tuple[tuple[str, str], ...]]
    other_organs: Mapping[str, tuple[str, ...]]
    negations: tuple[str, ...]
    negation_cues: NegationCues
    criteria: Mapping[str, Criteria]
    condition_names: Mapping[str, str]


def load_facts(root: Path | None = None) -> Facts:
    """Read the facts.

    Args:
        root: the project's folder; None searches upwards from the current one.

    Raises:
        UserError: a file cannot be read.
    """
    columns = "grade pathology location_stem modifier_stem"
    pairs = _grouped(_rows("cdm_diagnosis_alternatives", columns), 2)
    # The places of a pathology's pairs are other organs to the others.
    places: dict[str, set[str]] = {}
    for (_, name), found in pairs.items():
        places.setdefault(name, set()).update(place for place, _ in found)
    parts = _grouped(_rows("cdm_other_organs", "organ_stem part_of"))
    negations = tuple(phrase for (phrase,) in _rows("cdm_negation_phrases", "phrase"))
    cues = _grouped(_rows("cdm_negation_cues", "role phrase"))
    criteria = _rows("cdm_diagnosis_criteria", "condition guideline criteria")
    return Facts(
        labs=_labs(),
        imaging=_imaging((root or project_root()) / "seeds" / "cdm"),
        treatments=_treatments(),
        correct_diagnoses=_of(pairs, "correct"),
        gracious_diagnoses=_of(pairs, "gracious"),
        other_organs={
            name: (
                *(stem for stem, owners in parts.items() if name not in owners),
                *sorted(set().union(*places.values()) - own - set(parts)),
            )
            for name, own in places.items()
        },
        negations=negations,
        negation_cues=NegationCues(
            before=negations + cues["pre_negation"],
            behind=cues["post_negation"],
            pseudo=cues["pseudo_negation"],
            terminations=cues["termination"],
            normal=cues["normal"],
        ),
        criteria={row[0]: Criteria(*row) for row in criteria},
        condition_names=dict(_rows("cdm_condition_names", "condition_name condition")),
    )


def _rows(name: str, columns: str, folder: Path = DATA) -> list[tuple[Any, ...]]:
    """Return some columns of a file in the order of its rows."""
    path = folder / f"{name}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [tuple(row[one] for one in columns.split()) for row in csv.DictReader(file)]
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def _grouped(rows: Iterable[tuple[Any, ...]], keys: int = 1) -> dict[Any, tuple[Any, ...]]:
    """Return the last cells of the rows by their first ones, both in the order of the rows."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        key, value = row[:keys], row[keys:]
        found.setdefault(key if keys > 1 else key[0], []).append(value if value[1:] else value[0])
    return {key: tuple(values) for key, values in found.items()}


def _of(groups: Mapping[tuple[str, str], tuple[Any, ...]], kind: str) -> dict[str, Any]:
    """Return what is of one kind, by name."""
    return {name: found for (of, name), found in groups.items() if of == kind}


def _labs() -> LabFacts:
    rows = _rows("cdm_lab_categories", "kind category itemid")
    items = _grouped(((kind, name, int(itemid)) for kind, name, itemid in rows), 2)
    panels = _of(items, "panel")
    needed = _grouped(_rows("cdm_lab_requirements", "test_role pathology category"), 2)
    synonyms = _grouped(_rows("cdm_lab_synonyms", "kind given canonical"))
    fillers = _grouped(_rows("cdm_lab_filler_words", "dropped word"))
    names = _rows("cdm_lab_request_names", "request_name panel itemid")
    return LabFacts(
        panels=panels,
        categories={name: found for (kind, name), found in items.items() if kind != "panel"},
        required=_of(needed, "required"),
        neutral=_of(needed, "neutral"),
        item_synonyms={int(given): int(canonical) for given, canonical in synonyms["itemid"]},
        panel_synonyms=dict(synonyms["panel_name"]),
        label_synonyms=dict(synonyms["label"]),
        request_names={
            name: panels[panel] if panel else (int(itemid),) for name, panel, itemid in names
        },
        fillers_anywhere=fillers["anywhere"],
        fillers_between_blanks=frozenset(fillers["anywhere"] + fillers["between_blanks"]),
        fillers_of_unknown_names=frozenset(
            word for (word,) in _rows("cdm_lab_request_fillers", "word")
        ),
    )


def _imaging(seeds: Path) -> ImagingFacts:
    modalities = _rows("radiology_modalities", "keyword modality is_stem", seeds)
    columns = "keyword region is_stem in_specification"
    regions = [row[:3] for row in _rows("radiology_regions", columns, seeds) if row[3] == "true"]
    columns = "pathology region modality points added_if_diagnosis_has"
    worth = _rows("cdm_imaging_preferences", columns)
    kinds = _grouped(_rows("cdm_imaging_kinds", "kind modality scored_as exam_keyword"), 3)
    phrases = _grouped(_rows("cdm_imaging_request_words", "word_use phrase meaning"))
    # CHEST, ABDOMEN and PELVIS in an examination's name tell a radiograph, in a request a region.
    region_names = {region.upper() for _, region, _ in regions}
    stems = [word for word, _, is_stem in (*modalities, *regions) if is_stem == "true"]
    return ImagingFacts(
        preferences=_grouped(
            (name, ImagingPreference(region, modality, int(points), word or None))
            for name, region, modality, points, word in worth
        ),
        kinds={
            kind: ImagingKind(kind, modality, scored_as, words)
            for (kind, modality, scored_as), words in kinds.items()
        },
        modality_phrases={name.lower(): name for _, name, _ in modalities}
        | dict(phrases["modality"]),
        region_phrases=dict(phrases["region"]),
        modality_keywords=tuple(
            (word, name) for word, name, _ in modalities if word not in region_names
        ),
        region_keywords=tuple((word, region) for word, region, _ in regions),
        keyword_stems=frozenset(stems),
    )


def _treatments() -> dict[str, tuple[TreatmentFacts, ...]]:
    columns = "pathology treatment term_use term modifier"
    terms = _grouped(_rows("cdm_treatment_keywords", columns), 3)
    columns = "pathology treatment icd_version icd_code"
    codes = _grouped(_rows("cdm_treatment_codes", columns), 2)
    found: list[tuple[str, TreatmentFacts]] = []
    columns = "pathology treatment is_always_required"
    for of, name, is_always_required in _rows("cdm_treatments_by_pathology", columns):
        words: dict[str, tuple[Any, ...]] = defaultdict(tuple)
        for (*key, use), pairs in terms.items():
            if key == [of, name]:
                words[use] = pairs if use == "requested_pair" else tuple(one for one, _ in pairs)
        treatment = TreatmentFacts(
            name=name,
            is_always_required=is_always_required == "true",
            codes=frozenset((int(version), code) for version, code in codes.get((of, name), ())),
            terms=words,
            groups=tuple(words[use] for use in sorted(words) if use.startswith("requested_group")),
        )
        found.append((of, treatment))
    return _grouped(found)
