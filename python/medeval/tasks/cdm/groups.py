"""Scores by groups of patients, from demographics that the model never saw, and by subsets.

Small cells stay hidden: no number is told of fewer patients than `min_cell`, nor of so many other
groups that it could be worked out. The patients of a group who have one pathology are a cell, too.
Scores differ by pathology, so the means, gaps and p values of a group say how many of its patients
have which: a group with a small cell has none of them. That nobody of a group has a pathology is a
number of no patient, and may be known.

Is a difference between two groups more than chance? The test permutes the patients' groups within
each pathology (a permutation test, Fisher 1935, with strata): pathologies differ in how hard they
are and in who has them, and that is no gap of the model. A share of the difference is therefore
expected, and what lies beyond it is tested.

A subset is a list of cases and no group of patients by what they are, so none is hidden for being
small: whoever names it knows who is in it, and the score of each case is beside it anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medeval.files import toml_beside
from medeval.models.clinical_case import ClinicalCase
from medeval.models.scores import LEVEL, Interval
from medeval.scoring.compare import holm
from medeval.scoring.groups import UNKNOWN, age_band, hidden, partition, require_min_cell
from medeval.scoring.resample import Floats
from medeval.scoring.table import WILSON
from medeval.tasks.cdm.cases import Subset
from medeval.tasks.cdm.scores import DIAGNOSIS, ZEROED, cells, means, value_of
from medeval.tasks.task import Method, Table

if TYPE_CHECKING:
    from medeval.tasks.cdm.run_scores import Transcript

NOT_ASKED = "not_asked"
N_PERMUTATIONS = 9999
SAID = toml_beside(__file__, "data/said.toml")


def attributes_of(case: ClinicalCase) -> dict[str, str]:
    """Return the groups that a case's patient is of; the age at admission goes first."""
    person = case.demographics
    ages = (person.age_at_admission, person.age) if person else ()
    age = next((one for one in ages if one is not None), None)
    return {"gender": (person.gender if person else "") or UNKNOWN, "age_band": age_band(age)}


def subgroups(
    cases: Sequence[Transcript],
    attributes: Sequence[str],
    scores: Sequence[str],
    method: Method,
    n_permutations: int = N_PERMUTATIONS,
) -> dict[str, Any]:
    """Return the scores of each group of each attribute, and what lies between groups.

    Args:
        cases: one transcript of each case, with its score.
        attributes: of `attributes_of`.
        scores: the scores that there are for a case that is answered.
        method: of intervals and permutations; its `min_cell` says how small a group is hidden.
        n_permutations: how many permutations a test makes.

    Returns:
        JSON values: how it was made, and by attribute `groups` in the order of their names, the
        unknown last (`name`; `n` and `scores`, unless it is `suppressed`), none if names alone
        would tell how many a small one has; and `gaps`, of each score between each two groups that
        are told: `first` less `second`, what their shares of the pathologies alone would make, and
        p values, None where there is nothing to permute. The unknown are compared with none.

    Raises:
        UserError: a `min_cell` that hides nothing well.
    """
    require_min_cell(method.min_cell)
    ordered = sorted(cases, key=lambda one: one.case.hadm_id)
    told: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in attributes:
        places = partition([attributes_of(one.case)[name] for one in ordered])
        members = {group: [ordered[place] for place in of] for group, of in places.items()}
        sizes = [Counter(one.case.pathology for one in of) for of in members.values()]
        hide = hidden([cell.total() for cell in sizes], sizes, method.min_cell)
        groups, known = [], []
        for (group, of), is_hidden in zip(members.items(), hide or (), strict=False):
            why = SAID["group"].format(method.min_cell) if is_hidden else None
            scored = {} if is_hidden else means([one.score for one in of], scores, method)
            n = None if is_hidden else len(of)
            groups.append({"name": group, "n": n, "suppressed": why, "scores": scored})
            known += [] if is_hidden or group == UNKNOWN else [group]
        gaps = []
        for first, second in combinations(known, 2):
            both = [*members[first], *members[second]]
            tests = gap_tests(
                np.array([[value_of(one.score, name, 0.0) for name in scores] for one in both]),
                np.arange(len(both)) < len(members[first]),
                [str(one.case.pathology) for one in both],
                seed=method.seed,
                n=n_permutations,
            )
            for score, test in zip(scores, tests, strict=True):
                gaps.append({"score": score, "first": first, "second": second, **test})
        told[name] = {"groups": groups, "gaps": gaps}
    tested = [gap for grouping in told.values() for gap in grouping["gaps"]]
    for gap, p_holm in zip(tested, holm([gap["p_value"] for gap in tested]), strict=True):
        gap["p_holm"] = p_holm
    return {
        "min_cell": method.min_cell,
        "seed": method.seed,
        "n_iters": method.n_iters,
        "n_permutations": n_permutations,
        "test": "permutation within pathology, failed cases as zero, p values after Holm",
        "attributes": told,
    }


def gap_tests(
    values: Floats, is_first: NDArray[np.bool_], strata: Sequence[str], *, seed: int, n: int
) -> list[dict[str, float | None]]:
    """Return of each score the gap between two groups, the expected gap, and the p value.

    Args:
        values: scores, shape (cases, scores).
        is_first: whether a case is of the first group, else of the second; neither is empty.
        strata: the pathology of each case.
        seed: of the permutations.
        n: how many permutations.
    """
    places = [np.flatnonzero(np.array(strata) == name) for name in sorted(set(strata))]
    # Their sum over values is the difference of the two means.
    weights = np.where(is_first, 1 / is_first.sum(), -1 / (~is_first).sum())
    gaps = values[is_first].mean(axis=0) - values[~is_first].mean(axis=0)
    even = np.empty_like(weights)
    for place in places:
        even[place] = weights[place].mean()
    expected = even @ values
    # Equal in exact arithmetic may be apart by rounding.
    beyond = np.abs(gaps - expected) - 1e-12
    reached = np.zeros(len(gaps), dtype=np.int64)
    random = np.random.default_rng([seed, len(values)])
    can_permute = any(len(set(is_first[place])) == 2 for place in places)
    size = max(1, (1 << 20) // len(values))  # permutations at a time
    for start in range(0, n if can_permute else 0, size):
        permuted = np.tile(weights, (min(size, n - start), 1))
        for place in places:
            permuted[:, place] = random.permuted(permuted[:, place], axis=1)
        reached += (np.abs(permuted @ values - expected) >= beyond).sum(axis=0)
    p_values = ((1 + reached) / (1 + n)).tolist() if can_permute else [None] * len(gaps)
    names = ("gap", "expected_gap", "p_value")
    tests = zip(gaps.tolist(), expected.tolist(), p_values, strict=True)
    return [dict(zip(names, test, strict=True)) for test in tests]


def shown(
    groups: Iterable[Mapping[str, Any]], scores: Iterable[str]
) -> dict[str, dict[str, float | Interval | None]]:
    """Return the values of each group as tables show them, None for what is hidden.

    The headline has its interval.

    Args:
        groups: each with `name`, `n` and its means in `scores`, as JSON values.
        scores: whose values.
    """
    return {
        group["name"]: {
            "n": None if group["n"] is None else float(group["n"]),
            **{score: group["scores"].get(score, {}).get(f"mean{ZEROED}") for score in scores},
            DIAGNOSIS: _interval(group["scores"][DIAGNOSIS]) if group["scores"] else None,
        }
        for group in groups
    }


def _interval(mean: Mapping[str, Any]) -> Interval:
    """Return the share of cases that a value of `means` is, those that failed among them."""
    value, low, high = (mean[f"{end}{ZEROED}"] for end in ("mean", "low", "high"))
    method = "" if low is None else WILSON
    return Interval(value=value, low=low, high=high, level=LEVEL, method=method, n=mean["n"])


def gap_sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """Say where groups are hidden, and which gaps are more than chance."""
    few = SAID["few"].format(found["min_cell"])
    for name, grouping in found["attributes"].items():
        groups = grouping["groups"]
        hide = sum(group["suppressed"] is not None for group in groups)
        if hide or not groups:
            told = SAID["hidden" if groups else "nothing"]
            yield told.format(name=name, hidden=hide, groups=len(groups), few=few)
    for name, gap, between in _gaps(found):
        if gap["p_holm"] is not None and gap["p_holm"] < 1 - LEVEL:
            yield SAID["gap"].format(name=name, between=between, **gap)


def gap_table(found: Mapping[str, Any]) -> Table:
    """Return all gaps, tested or not."""
    columns = ("score", "by", "groups", "gap", "expected", "p (Holm)")
    rows = []
    for name, gap, between in _gaps(found):
        p_value = "not tested" if gap["p_holm"] is None else f"{gap['p_holm']:.4f}"
        sizes = (f"{gap['gap']:+.4f}", f"{gap['expected_gap']:+.4f}")
        rows.append((gap["score"], name, between, *sizes, p_value))
    return Table("gaps between groups", columns, rows)


def _gaps(found: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for name, grouping in found["attributes"].items():
        for gap in grouping["gaps"]:
            yield name, gap, f"{gap['first']} less {gap['second']}"


def subset_scores(
    cases: Sequence[Transcript], subsets: Sequence[Subset], method: Method, names: Sequence[str]
) -> tuple[list[dict[str, Any]], Table, list[str]]:
    """Score each subset by itself.

    Args:
        cases: one transcript of each case, with its score.
        subsets: which of them belong together; cases may be in several.
        method: of the intervals.
        names: the scores that there are for a case that is answered.

    Returns:
        JSON values: which subset; `n`, its cases among those of the run; how many of them failed,
        and since the run has not come to them; how many the run was not to ask, which are in no
        value; and the mean of each score over the n cases. A table of the values, the headline of
        each subset first. And what is to be said of subsets that are not whole.
    """
    found, rows, told = [], [], []
    for subset in subsets:
        its = [one for one in cases if one.case.hadm_id in subset.hadm_ids]
        scores = means([one.score for one in its], names, method)
        rows += [
            (subset.name, name, *cells(scores[name]), str(len(its)))
            for name in sorted(scores, key=lambda name: name != DIAGNOSIS)
        ]
        of = len(subset.hadm_ids)
        counts = {"n": len(its), "n_failed": sum(one.score is None for one in its)}
        counts["not_asked"] = sum(one.failure == NOT_ASKED for one in its)
        counts["not_in_run"] = of - len(its)
        missing = [(name, counts[name]) for name in ("not_in_run", "not_asked") if counts[name]]
        told += [SAID[name].format(subset=subset, n=n, of=of) for name, n in missing]
        found.append({**subset.about(), **counts, "scores": scores})
    columns = ("subset", "metric", "value", "95 % interval", "n")
    return found, Table("by subset", columns, rows), told
