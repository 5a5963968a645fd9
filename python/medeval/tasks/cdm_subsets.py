"""CDM's scores of subsets that the user names, such as the cases that human readers answered.

A subset is a list of cases and no group of patients by what they are, so none is hidden for being
small: whoever names it knows who is in it, and the score of each case is beside it anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from medeval.cdm.aggregate import score_names
from medeval.cdm.case_means import Mean, ScoredCase, means
from medeval.cdm.subset_files import Subset
from medeval.tasks.cdm_case_scores import NOT_ASKED
from medeval.tasks.cdm_groups import Groups
from medeval.tasks.cdm_tables import between_of, number, shown_of
from medeval.tasks.task import Method, Table


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
