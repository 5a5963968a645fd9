"""Cues by which version 2 of the scores tells what an answer denies, and organs beside a place.

The kinds of cues are those of NegEx: Chapman et al., A simple algorithm for identifying negated
findings and diseases in discharge summaries, Journal of Biomedical Informatics 34 (2001) 301-310.
The lists are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medeval.cdm.seeds import Seeds, grouped


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


def read_negation_cues(seeds: Seeds, negations: tuple[str, ...]) -> NegationCues:
    """Read the cues.

    Args:
        seeds: the project's seeds.
        negations: the phrases of the reference.
    """
    found = grouped(
        seeds.rows("cdm_negation_cues", ("role", "phrase")),
        lambda row: row["role"],
        lambda row: row["phrase"],
    )
    return NegationCues(
        before=negations + found.get("pre_negation", ()),
        behind=found.get("post_negation", ()),
        pseudo=found.get("pseudo_negation", ()),
        terminations=found.get("termination", ()),
        normal=found.get("normal", ()),
    )


def read_other_organs(
    seeds: Seeds, places: Mapping[str, frozenset[str]]
) -> dict[str, tuple[str, ...]]:
    """Return for each pathology the beginnings of words for organs that are not its own.

    Args:
        seeds: the project's seeds.
        places: the places of each pathology in its pairs; each is another organ to the others.
    """
    parts = grouped(
        seeds.rows("cdm_other_organs", ("organ_stem", "part_of")),
        lambda row: row["organ_stem"],
        lambda row: row["part_of"],
    )
    return {
        pathology: (
            *(stem for stem, owners in parts.items() if pathology not in owners),
            *sorted(set().union(*places.values()) - own - set(parts)),
        )
        for pathology, own in places.items()
    }
