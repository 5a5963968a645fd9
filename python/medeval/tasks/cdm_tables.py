"""CDM's scores as tables: by pathology, by score version, by groups of patients and by subsets.

A subset is a list of cases and no group of patients by what they are, so none is hidden for being
small: whoever names it knows who is in it, and the score of each case is beside it anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.aggregate import Aggregate, Mean, ScoredCase, means, score_names
from medeval.cdm.cases import Subset
from medeval.cdm.episode import Transcript
from medeval.cdm.scores import DIAGNOSIS
from medeval.cdm.subgroups import Subgroups, attributes_of, subgroups
from medeval.models.scores import LEVEL, Interval
from medeval.tasks.task import Method, Table

NOT_ASKED = "not_asked"
Groups = dict[str, dict[str, float | None]]


def headline_by_pathology(found: Aggregate, headline: str) -> Table:
    """Return one score with its interval for each pathology, failed cases as zero."""
    return Table(
        "by pathology",
        ("pathology", "n", "failed", headline, "95 % interval"),
        [
            (
                name,
                f"{means[headline].n:,}",
                f"{means[headline].n_failed:,}",
                number(means[headline]),
                between_of(shown_of(means[headline])),
            )
            for name, means in found.by_pathology.items()
        ],
    )


def scores_by_pathology(found: Aggregate) -> Table:
    """Return every score with its interval for each pathology.

    Failed cases count as zero, but in counts, which are means over the answered cases.
    """
    names = list(found.overall)
    return Table(
        "scores by pathology",
        ("score", *found.by_pathology),
        [(name, *(_cell(means[name]) for means in found.by_pathology.values())) for name in names],
    )


def by_version(
    found: Aggregate, version: int, beside: Aggregate, other: int, headline: str
) -> Table:
    """Return the scores by both versions of the rules, the chosen one first."""
    names = sorted(found.overall, key=lambda name: name != headline)
    return Table(
        "by score version",
        ("score", f"version {version}", f"version {other}"),
        [(name, *(number(one.overall[name]) for one in (found, beside))) for name in names],
    )


def conduct_table(conduct: Mapping[str, int | Mapping[str, int]]) -> Table:
    """Return what the model did over all cases."""
    rows = []
    for name, value in conduct.items():
        if isinstance(value, Mapping):
            rows += [(f"context: {key.replace('_', ' ')}", f"{n:,}") for key, n in value.items()]
        else:
            rows.append((name.replace("_", " "), f"{value:,}"))
    return Table("what was done, over all cases", ("", "number"), rows)


def _cell(mean: Mean) -> str:
    between = between_of(shown_of(mean))
    return f"{number(mean)} ({between})" if between else number(mean)


def shown_of(mean: Mean) -> Interval:
    """Return what is shown of a mean: failed cases count as zero, but in counts."""
    return mean.answered if mean.zeroed is None else mean.zeroed


def between_of(found: Interval) -> str:
    """Return the ends of an interval as tables show them; empty for none."""
    return "" if found.low is None else f"{found.low:.4f} to {found.high:.4f}"


def number(mean: Mean) -> str:
    """Return the value of a mean as tables show it."""
    value = shown_of(mean).value
    return "undefined" if value is None else f"{value:.4f}"


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


@dataclass(frozen=True)
class SubsetScores:
    """The scores of one subset.

    Attributes:
        subset: which.
        n: its cases among those of the run.
        n_failed: how many of them failed.
        n_not_asked: how many of these failed since the run has not come to them.
        not_in_run: its cases that the run was not to ask; they are in no value.
        scores: the mean of each score over the n cases.
    """

    subset: Subset
    n: int
    n_failed: int
    n_not_asked: int
    not_in_run: int
    scores: dict[str, Mean]

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            **self.subset.about(),
            "n": self.n,
            "n_failed": self.n_failed,
            "not_asked": self.n_not_asked,
            "not_in_run": self.not_in_run,
            "scores": {name: mean.as_json() for name, mean in self.scores.items()},
        }


def subset_scores(
    cases: Sequence[ScoredCase],
    subsets: Sequence[Subset],
    method: Method,
    possible: Sequence[str],
) -> list[SubsetScores]:
    """Score each subset by itself.

    Args:
        cases: all cases of the run, those that failed too.
        subsets: which of them belong together; cases may be in several.
        method: of the intervals.
        possible: the scores that there are for a case that is answered.
    """
    names = score_names(cases, possible)
    found = []
    for subset in subsets:
        wanted = frozenset(subset.hadm_ids)
        its = [case for case in cases if case.hadm_id in wanted]
        found.append(
            SubsetScores(
                subset,
                len(its),
                sum(case.score is None for case in its),
                sum(case.failure == NOT_ASKED for case in its),
                len(wanted) - len(its),
                means(its, names, seed=method.seed, n_iters=method.n_iters),
            )
        )
    return found


def by_subset(found: Sequence[SubsetScores]) -> Groups:
    """Return the values of each subset, as tables show them."""
    return {
        one.subset.name: {
            "n": float(one.n),
            **{name: shown_of(mean).value for name, mean in one.scores.items()},
        }
        for one in found
    }


def subset_table(found: Sequence[SubsetScores], headline: str) -> Table:
    """Return the values with their intervals, the headline of each subset first."""
    return Table(
        "by subset",
        ("subset", "metric", "value", "95 % interval", "n"),
        [
            (
                one.subset.name,
                name,
                number(mean),
                between_of(shown_of(mean)),
                str(one.n),
            )
            for one in found
            for name, mean in sorted(one.scores.items(), key=lambda item: item[0] != headline)
        ],
    )


def subset_sentences(found: Sequence[SubsetScores]) -> list[str]:
    """Say which subsets are not whole."""
    sentences = []
    for one in found:
        size, name = len(one.subset.hadm_ids), one.subset.name
        if one.not_in_run:
            sentences.append(
                f"subset {name}: {one.not_in_run:,} of its {size:,} cases are not in this run; its"
                " values are of the others only."
            )
        if one.n_not_asked:
            sentences.append(
                f"subset {name}: {one.n_not_asked:,} of its {size:,} cases were never asked and"
                " count as failed."
            )
    return sentences
