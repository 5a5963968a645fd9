"""Scores by groups of patients, from demographics that the model never saw.

Small cells stay hidden: no number is told of fewer patients than `min_cell`, nor of so many other
groups that it could be worked out. The patients of a group who have one pathology are a cell, too.
Scores differ by pathology, so the means, gaps and p values of a group say how many of its patients
have which: a group with a small cell has none of them. That nobody of a group has a pathology is a
number of no patient, and may be known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from medeval.cdm.aggregate import (
    N_ITERS,
    Mean,
    ScoredCase,
    check_cases,
    means,
    score_names,
    values_of,
)
from medeval.cdm.gaps import N_PERMUTATIONS, Gap, gap_tests
from medeval.cdm.scores import SCORES
from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase
from medeval.predictions.attributes import age_band
from medeval.scoring.groups import UNKNOWN, hidden, require_min_cell
from medeval.scoring.significance import holm

MIN_CELL = 11
GENDER = "gender"
AGE_BAND = "age_band"
RACE = "race"
Attributes = Mapping[str, str]


@dataclass(frozen=True)
class Group:
    """One group of patients.

    Attributes:
        name: the group.
        n: how many cases; None if that is hidden.
        scores: their means; none if they are hidden.
        suppressed: why it is hidden, the same of all that are; None if it is not.
    """

    name: str
    n: int | None
    scores: dict[str, Mean]
    suppressed: str | None


@dataclass(frozen=True)
class Grouping:
    """The groups of one attribute, and the gaps between those that are shown.

    Attributes:
        groups: in the order of their names, the unknown last; none if names alone would tell how
            many a small one has.
        gaps: of each score between each two groups that are told; the unknown are compared with
            none.
    """

    groups: tuple[Group, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class Subgroups:
    """The scores of a run by groups of patients.

    Attributes:
        groupings: of each attribute.
        min_cell: the smallest group that is shown.
        seed: of intervals and permutations.
        n_iters: how many draws the intervals are made from.
        n_permutations: how many permutations a test makes.
    """

    groupings: dict[str, Grouping]
    min_cell: int
    seed: int
    n_iters: int
    n_permutations: int

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "min_cell": self.min_cell,
            "seed": self.seed,
            "n_iters": self.n_iters,
            "n_permutations": self.n_permutations,
            "test": "permutation within pathology, failed cases as zero, p values after Holm",
            "attributes": {
                name: {
                    "groups": [
                        {
                            "name": group.name,
                            "n": group.n,
                            "suppressed": group.suppressed,
                            "scores": {key: mean.as_json() for key, mean in group.scores.items()},
                        }
                        for group in grouping.groups
                    ],
                    "gaps": [gap.as_json() for gap in grouping.gaps],
                }
                for name, grouping in self.groupings.items()
            },
        }


def attributes_of(case: ClinicalCase, race: str | None = None) -> dict[str, str]:
    """Return the groups that a case's patient is of.

    Args:
        case: the case.
        race: as the source states it, where it is at hand; a case does not hold it.
    """
    person = case.demographics
    age = None
    if person is not None:
        age = person.age if person.age_at_admission is None else person.age_at_admission
    found = {GENDER: (person.gender if person else "") or UNKNOWN, AGE_BAND: age_band(age)}
    return found if race is None else found | {RACE: race or UNKNOWN}


def subgroups(
    cases: Sequence[ScoredCase],
    attributes: Mapping[int, Attributes],
    *,
    min_cell: int = MIN_CELL,
    seed: int = 0,
    n_iters: int = N_ITERS,
    n_permutations: int = N_PERMUTATIONS,
    possible: Sequence[str] = SCORES,
) -> Subgroups:
    """Return the scores of each group of each attribute, and what lies between groups.

    Args:
        cases: every case that was asked, those that failed too.
        attributes: the groups of each case by its `hadm_id`; every case has the same attributes.
        min_cell: groups with fewer cases, in all or of one pathology, are hidden; 1 hides none.
        seed: of intervals and permutations.
        n_iters: how many draws the intervals are made from; 0 makes none.
        n_permutations: how many permutations a test makes.
        possible: the scores that there are for a case that is answered.

    Raises:
        UserError: a `min_cell` that hides nothing well, `n_permutations` below 1, or a case
            without attributes.
        ValueError: a case twice, or scores of two versions.
    """
    check_cases(cases)
    require_min_cell(min_cell)
    if n_permutations < 1:
        raise UserError("The number of permutations is 1 or more.")
    ordered = sorted(cases, key=lambda case: case.hadm_id)
    names = list(dict.fromkeys(name for found in attributes.values() for name in found))
    for case in ordered:
        if list(attributes.get(case.hadm_id, {})) != names:
            raise UserError(f"Case {case.hadm_id} does not have the attributes {', '.join(names)}.")
    scores = score_names(ordered, possible)
    groupings = {}
    for name in names:
        members: dict[str, list[ScoredCase]] = {}
        for case in ordered:
            members.setdefault(attributes[case.hadm_id][name], []).append(case)
        members = dict(sorted(members.items(), key=lambda item: (item[0] == UNKNOWN, item[0])))
        groups = _groups(members, scores, min_cell, seed, n_iters)
        shown = [group.name for group in groups if not group.suppressed and group.name != UNKNOWN]
        gaps = [
            gap
            for first, second in combinations(shown, 2)
            for gap in _gaps(first, second, members, scores, seed, n_permutations)
        ]
        groupings[name] = Grouping(groups, tuple(gaps))
    return Subgroups(_corrected(groupings), min_cell, seed, n_iters, n_permutations)


def _groups(
    members: Mapping[str, Sequence[ScoredCase]],
    scores: Sequence[str],
    min_cell: int,
    seed: int,
    n_iters: int,
) -> tuple[Group, ...]:
    cells = [Counter(case.pathology for case in found) for found in members.values()]
    hide = hidden([cell.total() for cell in cells], cells, min_cell)
    if hide is None:
        return ()
    made = []
    for (name, found), is_hidden in zip(members.items(), hide, strict=True):
        if is_hidden:
            made.append(Group(name, None, {}, hidden_reason(min_cell)))
        else:
            found_means = means(found, scores, seed=seed, n_iters=n_iters)
            made.append(Group(name, len(found), found_means, None))
    return tuple(made)


def hidden_reason(min_cell: int) -> str:
    """Return why a group is hidden: the same of all, for which of them is small is not told."""
    return (
        f"hidden: fewer than {min_cell} cases, in all or of one pathology, or a group that has so"
        " few could be worked out from it"
    )


def _gaps(
    first: str,
    second: str,
    members: Mapping[str, Sequence[ScoredCase]],
    scores: Sequence[str],
    seed: int,
    n_permutations: int,
) -> list[Gap]:
    both = [*members[first], *members[second]]
    is_first = np.arange(len(both)) < len(members[first])
    gaps, expected, p_values = gap_tests(
        np.nan_to_num(values_of(both, scores)),
        is_first,
        [case.pathology for case in both],
        seed=seed,
        n=n_permutations,
    )
    return [
        Gap(score, first, second, float(gap), float(by_chance), p_value)
        for score, gap, by_chance, p_value in zip(scores, gaps, expected, p_values, strict=True)
    ]


def _corrected(groupings: Mapping[str, Grouping]) -> dict[str, Grouping]:
    """Correct the p values of all tests together."""
    tests = [gap for grouping in groupings.values() for gap in grouping.gaps]
    corrected = iter(holm([gap.p_value for gap in tests]))
    return {
        name: replace(
            grouping, gaps=tuple(replace(gap, p_holm=next(corrected)) for gap in grouping.gaps)
        )
        for name, grouping in groupings.items()
    }
