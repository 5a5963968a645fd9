"""Imaging by words of requests and of examinations, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medeval.cdm.seeds import Seeds, grouped


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


def read_imaging(seeds: Seeds) -> ImagingFacts:
    """Read what is known of imaging."""
    worth = "cdm_imaging_preferences"
    modalities = seeds.rows("radiology_modalities", ("keyword", "modality", "is_stem"))
    regions = [
        row
        for row in seeds.rows(
            "radiology_regions", ("keyword", "region", "is_stem", "in_specification")
        )
        if row["in_specification"] == "true"
    ]
    kinds = grouped(
        seeds.rows("cdm_imaging_kinds", ("kind", "modality", "scored_as", "exam_keyword")),
        lambda row: (row["kind"], row["modality"], row["scored_as"]),
        lambda row: row["exam_keyword"],
    )
    phrases = seeds.rows("cdm_imaging_request_words", ("word_use", "phrase", "meaning"))
    # CHEST, ABDOMEN and PELVIS in an examination's name tell a radiograph, in a request a region.
    region_names = {row["region"].upper() for row in regions}
    own_names = {row["modality"].lower(): row["modality"] for row in modalities}
    return ImagingFacts(
        preferences=grouped(
            seeds.rows(
                worth, ("pathology", "region", "modality", "points", "added_if_diagnosis_has")
            ),
            lambda row: row["pathology"],
            lambda row: ImagingPreference(
                row["region"],
                row["modality"],
                seeds.whole(worth, row["points"]),
                row["added_if_diagnosis_has"] or None,
            ),
        ),
        kinds={key[0]: ImagingKind(*key, words) for key, words in kinds.items()},
        modality_phrases=own_names
        | {row["phrase"]: row["meaning"] for row in phrases if row["word_use"] == "modality"},
        region_phrases={
            row["phrase"]: row["meaning"] for row in phrases if row["word_use"] == "region"
        },
        modality_keywords=tuple(
            (row["keyword"], row["modality"])
            for row in modalities
            if row["keyword"] not in region_names
        ),
        region_keywords=tuple((row["keyword"], row["region"]) for row in regions),
        keyword_stems=frozenset(
            row["keyword"] for row in (*modalities, *regions) if row["is_stem"] == "true"
        ),
    )
