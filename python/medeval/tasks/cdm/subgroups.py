"""Scores by groups of patients, from demographics that the model never saw.

Small cells stay hidden: no number is told of fewer patients than `min_cell`, nor of so many other
groups that it could be worked out. The patients of a group who have one pathology are a cell, too.
Scores differ by pathology, so the means, gaps and p values of a group say how many of its patients
have which: a group with a small cell has none of them. That nobody of a group has a pathology is a
number of no patient, and may be known.

Is a difference between two groups more than chance? The test permutes the patients' groups within
each pathology (a permutation test, Fisher 1935, with strata): pathologies differ in how hard they
are and in who has them, and that is no gap of the model. A share of the difference is therefore
expected, and what lies beyond it is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medeval.errors import UserError
from medeval.models.clinical_case import ClinicalCase
from medeval.scoring.compare import holm
from medeval.scoring.groups import UNKNOWN, age_band, hidden, partition, require_min_cell
from medeval.scoring.resample import Floats
from medeval.tasks.cdm.aggregate import (
    N_ITERS,
    ScoredCase,
    check_cases,
    means,
    score_names,
    value_of,
)
from medeval.tasks.cdm.scores import SCORES

MIN_CELL = 11
N_PERMUTATIONS = 9999
# The same of all groups, for which of them is small is not told.
HIDDEN = (
    "hidden: fewer than {min_cell} cases, in all or of one pathology, or a group that has so few"
    " could be worked out from it"
)
# Permuted places at a time.
BATCH_NUMBERS = 1 << 20
# Equal in exact arithmetic, apart by rounding.
ROUNDING = 1e-12


def attributes_of(case: ClinicalCase) -> dict[str, str]:
    """Return the groups that a case's patient is of; the age at admission goes first."""
    person = case.demographics
    age = None
    if person is not None:
        age = person.age if person.age_at_admission is None else person.age_at_admission
    gender = person.gender if person is not None else ""
    return {"gender": gender or UNKNOWN, "age_band": age_band(age)}


def subgroups(
    cases: Sequence[ScoredCase],
    attributes: Mapping[int, Mapping[str, str]],
    *,
    min_cell: int = MIN_CELL,
    seed: int = 0,
    n_iters: int = N_ITERS,
    n_permutations: int = N_PERMUTATIONS,
    possible: Sequence[str] = SCORES,
) -> dict[str, Any]:
    """Return the scores of each group of each attribute, and what lies between groups.

    Args:
        cases: every case that was asked, those that failed too.
        attributes: the groups of each case by its `hadm_id`; every case has the same attributes.
        min_cell: groups with fewer cases, in all or of one pathology, are hidden; 1 hides none.
        seed: of intervals and permutations.
        n_iters: how many draws the intervals are made from; 0 makes none.
        n_permutations: how many permutations a test makes.
        possible: the scores that there are for a case that is answered.

    Returns:
        JSON values: how it was made, and by attribute `groups` in the order of their names, the
        unknown last (`name`; `n` and `scores`, unless it is `suppressed`), none if names alone
        would tell how many a small one has; and `gaps`, of each score between each two groups that
        are told: `first` less `second`, what their shares of the pathologies alone would make, and
        p values, None where there is nothing to permute. The unknown are compared with none.

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
    told: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in names:
        places = partition([attributes[case.hadm_id][name] for case in ordered])
        members = {str(group): [ordered[place] for place in of] for group, of in places.items()}
        cells = [Counter(case.pathology for case in of) for of in members.values()]
        hide = hidden([cell.total() for cell in cells], cells, min_cell)
        groups: list[dict[str, Any]] = []
        for (group, of), is_hidden in zip(members.items(), hide or (), strict=hide is not None):
            shown = {"name": group, "n": len(of), "suppressed": None, "scores": {}}
            if is_hidden:
                shown |= {"n": None, "suppressed": HIDDEN.format(min_cell=min_cell)}
            else:
                found = means(of, scores, seed=seed, n_iters=n_iters)
                shown["scores"] = {score: mean.as_json() for score, mean in found.items()}
            groups.append(shown)
        told_of = [one["name"] for one in groups if not one["suppressed"]]
        gaps = []
        for first, second in combinations((one for one in told_of if one != UNKNOWN), 2):
            both = [*members[first], *members[second]]
            tests = gap_tests(
                np.array([[value_of(case, name) or 0.0 for name in scores] for case in both]),
                np.arange(len(both)) < len(members[first]),
                [case.pathology for case in both],
                seed=seed,
                n=n_permutations,
            )
            for score, gap, expected, p_value in zip(scores, *tests, strict=True):
                one = {"score": score, "first": first, "second": second, "gap": float(gap)}
                gaps.append({**one, "expected_gap": float(expected), "p_value": p_value})
        told[name] = {"groups": groups, "gaps": gaps}
    tested = [gap for grouping in told.values() for gap in grouping["gaps"]]
    corrected = holm([gap["p_value"] for gap in tested])
    for gap, p_holm in zip(tested, corrected, strict=True):
        gap["p_holm"] = p_holm
    return {
        "min_cell": min_cell,
        "seed": seed,
        "n_iters": n_iters,
        "n_permutations": n_permutations,
        "test": "permutation within pathology, failed cases as zero, p values after Holm",
        "attributes": told,
    }


def gap_tests(
    values: Floats, is_first: NDArray[np.bool_], strata: Sequence[str], *, seed: int, n: int
) -> tuple[Floats, Floats, list[float | None]]:
    """Return the gaps of scores between two groups, the expected gaps, and their p values.

    Args:
        values: scores, shape (cases, scores).
        is_first: whether a case is of the first group, else of the second; neither is empty.
        strata: the pathology of each case.
        seed: of the permutations.
        n: how many permutations.
    """
    names = np.array(strata)
    order = np.argsort(names, kind="stable")
    values, is_first, names = values[order], is_first[order], names[order]
    slices = [
        slice(int(np.searchsorted(names, name)), int(np.searchsorted(names, name, "right")))
        for name in np.unique(names)
    ]
    # Their sum over values is the difference of the two means.
    n_first = int(is_first.sum())
    weights = np.where(is_first, 1 / n_first, -1 / (len(is_first) - n_first))
    gap = values[is_first].mean(axis=0) - values[~is_first].mean(axis=0)
    even = np.empty_like(weights)
    for part in slices:
        even[part] = weights[part].mean()
    expected = even @ values
    if not any(0 < is_first[part].sum() < len(is_first[part]) for part in slices):
        return gap, expected, [None] * values.shape[1]
    reached = np.zeros(values.shape[1], dtype=np.int64)
    beyond = np.abs(gap - expected) - ROUNDING
    random = np.random.default_rng([seed, len(values)])
    size = max(1, BATCH_NUMBERS // len(values))
    for start in range(0, n, size):
        permuted = np.tile(weights, (min(size, n - start), 1))
        for part in slices:
            permuted[:, part] = random.permuted(permuted[:, part], axis=1)
        reached += (np.abs(permuted @ values - expected) >= beyond).sum(axis=0)
    return gap, expected, [float((1 + count) / (1 + n)) for count in reached]
