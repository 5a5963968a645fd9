"""Treatments of a pathology: what shows that one was given, and what counts as asking for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medeval.cdm.seeds import Seeds, grouped


@dataclass(frozen=True)
class TreatmentFacts:
    """One treatment of one pathology.

    Attributes:
        name: its name in the answers.
        is_always_required: whether every case of the pathology needs it.
        codes: ICD procedure codes that show it, each with its version (9 or 10).
        shown_by: words of a procedure's title that show it.
        shown_words: words of titles that show it together with one of `shown_places`.
        shown_places: places in titles, in the same one or another.
        diagnosis_word: a word of the primary diagnoses that makes it required; without it, asking
            for it does not count.
        requested_by: words of the answer that ask for it.
        requested_pairs: a place and a word that ask for it in one string of the answer.
        requested_groups: groups of words, of each of which the answer must have one.
    """

    name: str
    is_always_required: bool
    codes: frozenset[tuple[int, str]]
    shown_by: tuple[str, ...]
    shown_words: tuple[str, ...]
    shown_places: tuple[str, ...]
    diagnosis_word: str | None
    requested_by: tuple[str, ...]
    requested_pairs: tuple[tuple[str, str], ...]
    requested_groups: tuple[tuple[str, ...], ...]


def read_treatments(seeds: Seeds) -> dict[str, tuple[TreatmentFacts, ...]]:
    """Read the treatments of each pathology, in the order of its answers."""
    listed = seeds.rows(
        "cdm_treatments_by_pathology", ("pathology", "treatment", "is_always_required")
    )
    terms = grouped(
        seeds.rows(
            "cdm_treatment_keywords", ("pathology", "treatment", "term_use", "term", "modifier")
        ),
        lambda row: (row["pathology"], row["treatment"], row["term_use"]),
        lambda row: (row["term"], row["modifier"]),
    )
    codes_seed = "cdm_treatment_codes"
    codes = grouped(
        seeds.rows(codes_seed, ("pathology", "treatment", "icd_version", "icd_code")),
        lambda row: (row["pathology"], row["treatment"]),
        lambda row: (seeds.whole(codes_seed, row["icd_version"]), row["icd_code"]),
    )

    def read(pathology: str, treatment: str, is_always_required: bool) -> TreatmentFacts:
        uses: Mapping[str, tuple[tuple[str, str], ...]] = {
            use: found
            for (of, name, use), found in terms.items()
            if (of, name) == (pathology, treatment)
        }

        def words(*names: str) -> tuple[str, ...]:
            return tuple(term for name in names for term, _ in uses.get(name, ()))

        return TreatmentFacts(
            name=treatment,
            is_always_required=is_always_required,
            codes=frozenset(codes.get((pathology, treatment), ())),
            shown_by=words("shown_or_requested"),
            shown_words=words("shown_word"),
            shown_places=words("shown_place"),
            diagnosis_word=next(iter(words("diagnosis")), None),
            requested_by=words("shown_or_requested", "requested"),
            requested_pairs=uses.get("requested_pair", ()),
            requested_groups=tuple(
                words(use) for use in sorted(uses) if use.startswith("requested_group")
            ),
        )

    return grouped(
        listed,
        lambda row: row["pathology"],
        lambda row: read(row["pathology"], row["treatment"], row["is_always_required"] == "true"),
    )
