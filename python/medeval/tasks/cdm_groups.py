"""CDM's scores once more by groups: by pathology, and by who the patients are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medeval.cdm.aggregate import Aggregate
from medeval.cdm.case_means import Mean, ScoredCase
from medeval.cdm.episode import Transcript
from medeval.cdm.scores import DIAGNOSIS
from medeval.cdm.subgroups import Subgroups, attributes_of, subgroups
from medeval.models.scores import LEVEL
from medeval.tasks.task import Method, Table

Groups = dict[str, dict[str, float | None]]


def by_pathology(found: Aggregate) -> Groups:
    """Return the values of each pathology, as tables show them."""
    return {
        name: {
            "n": float(means[DIAGNOSIS].n),
            **{score: mean.zeroed.value for score, mean in means.items() if mean.zeroed},
        }
        for name, means in found.by_pathology.items()
    }


def by_person(
    transcripts: Sequence[Transcript],
    cases: Sequence[ScoredCase],
    names: Sequence[str],
    method: Method,
    possible: Sequence[str],
) -> Subgroups:
    """Return the groups of patients and the gaps between them.

    Args:
        transcripts: one of each case.
        cases: the same with their scores.
        names: of the attributes.
        method: of intervals, with the smallest group that is shown.
        possible: the scores that there are for a case that is answered.
    """
    attributes = {
        one.case.hadm_id: {
            name: group for name, group in attributes_of(one.case).items() if name in names
        }
        for one in transcripts
    }
    return subgroups(
        cases,
        attributes,
        min_cell=method.min_cell,
        seed=method.seed,
        n_iters=method.n_iters,
        possible=possible,
    )


def shown_groups(found: Subgroups, scores: Sequence[str]) -> dict[str, Groups]:
    """Return the values of each group of each attribute, None for what is hidden."""
    return {
        name: {
            group.name: {
                "n": None if group.n is None else float(group.n),
                **{score: _shown(group.scores.get(score)) for score in scores},
            }
            for group in grouping.groups
        }
        for name, grouping in found.groupings.items()
    }


def gap_sentences(found: Subgroups) -> list[str]:
    """Say where groups are hidden, and which gaps are more than chance."""
    return [*_hidden_sentences(found), *_gaps_beyond_chance(found)]


def _hidden_sentences(found: Subgroups) -> list[str]:
    few = f"fewer than {found.min_cell} cases, in all or of one pathology (--min-cell)"
    sentences = []
    for name, grouping in found.groupings.items():
        n_hidden = sum(group.suppressed is not None for group in grouping.groups)
        if not grouping.groups:
            sentences.append(f"By {name} nothing can be told, for it would tell of {few}.")
        elif n_hidden:
            sentences.append(
                f"By {name}, {n_hidden} of {len(grouping.groups)} groups are hidden, since one of"
                f" them has {few}, or such a one could be worked out from it."
            )
    return sentences


def _gaps_beyond_chance(found: Subgroups) -> list[str]:
    return [
        f"{gap['score']} differs by {gap['attribute']}: {gap['first']} less {gap['second']} is"
        f" {gap['gap']:+.3f}, where their pathologies alone would make {gap['expected_gap']:+.3f}"
        f" (p = {gap['p_holm']:.4f} after Holm)."
        for gap in _gaps(found)
        if gap["p_holm"] is not None and gap["p_holm"] < 1 - LEVEL
    ]


def gap_table(found: Subgroups) -> Table:
    """Return all gaps, tested or not."""
    return Table(
        "gaps between groups",
        ("score", "by", "groups", "gap", "expected", "p (Holm)"),
        [
            (
                gap["score"],
                gap["attribute"],
                f"{gap['first']} less {gap['second']}",
                f"{gap['gap']:+.4f}",
                f"{gap['expected_gap']:+.4f}",
                "not tested" if gap["p_holm"] is None else f"{gap['p_holm']:.4f}",
            )
            for gap in _gaps(found)
        ],
    )


def _shown(mean: Mean | None) -> float | None:
    return mean.zeroed.value if mean and mean.zeroed else None


def _gaps(found: Subgroups) -> list[Mapping[str, Any]]:
    return [
        {**gap.as_json(), "attribute": name}
        for name, grouping in found.groupings.items()
        for gap in grouping.gaps
    ]
