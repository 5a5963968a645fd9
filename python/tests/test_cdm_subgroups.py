"""Scores by groups of patients: small cells, gaps between groups, and what is due to chance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from cdm_cases import case, scored

from medeval.cdm.aggregate import ScoredCase
from medeval.cdm.gaps import gap_tests
from medeval.cdm.subgroups import Subgroups, attributes_of, subgroups
from medeval.errors import UserError

QUICK: dict[str, Any] = {"n_iters": 20, "n_permutations": 199}
RIGHT = scored(case(), diagnosis="appendicitis")
WRONG = scored(case(), diagnosis="gastritis")


def run(
    groups: Sequence[tuple[str, int, int]], pathology: str = "appendicitis", **options: Any
) -> Subgroups:
    """Groups as name, number of cases, and how many of them are right."""
    cases, attributes = people(groups, pathology)
    return subgroups(cases, attributes, **QUICK | options)


def people(
    groups: Sequence[tuple[str, int, int]], pathology: str = "appendicitis", first: int = 1
) -> tuple[list[ScoredCase], dict[int, dict[str, str]]]:
    names = [name for name, n, _ in groups for _ in range(n)]
    right = [number < n_right for _, n, n_right in groups for number in range(n)]
    cases = [
        ScoredCase(number, pathology, RIGHT if is_right else WRONG)
        for number, is_right in enumerate(right, start=first)
    ]
    return cases, {number: {"gender": name} for number, name in enumerate(names, start=first)}


def shown(found: Subgroups, attribute: str = "gender") -> dict[str, int | None]:
    return {group.name: group.n for group in found.groupings[attribute].groups}


# Who is of which group


@pytest.mark.parametrize(
    ("age", "age_at_admission", "band"),
    [
        (44, None, "18-44"),
        (45, None, "45-64"),
        (44, 45, "45-64"),
        (91, 91, "85+"),
        (18, 18, "18-44"),
        (17, 17, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_the_age_at_admission_goes_before_the_anchor_age(
    age: int | None, age_at_admission: int | None, band: str
) -> None:
    demographics = {"age": age, "gender": "F", "age_at_admission": age_at_admission}
    assert attributes_of(case(demographics=demographics)) == {"gender": "F", "age_band": band}


def test_what_is_not_known_is_a_group_of_its_own() -> None:
    assert attributes_of(case()) == {"gender": "unknown", "age_band": "unknown"}
    assert attributes_of(case(), race="WHITE")["race"] == "WHITE"
    assert attributes_of(case(), race="")["race"] == "unknown"


# Small cells


def test_the_smallest_cell_is_a_setting() -> None:
    assert shown(run([("F", 1, 1), ("M", 2, 1)], min_cell=1)) == {"F": 1, "M": 2}
    for min_cell in (0, 2):
        with pytest.raises(UserError, match="smallest cell"):
            run([("F", 1, 1)], min_cell=min_cell)
    with pytest.raises(UserError, match="permutations is 1 or more"):
        run([("F", 1, 1)], n_permutations=0)


def test_a_report_tells_no_number_of_a_hidden_group() -> None:
    written = run([("F", 10, 7), ("M", 20, 13), ("unknown", 23, 3)]).as_json()
    groups = {group["name"]: group for group in written["attributes"]["gender"]["groups"]}
    for name in ("F", "M"):
        assert groups[name]["n"] is None
        assert groups[name]["scores"] == {}
    assert groups["unknown"]["n"] == 23
    assert "F" not in json.dumps(written["attributes"]["gender"]["gaps"])
    assert json.loads(json.dumps(written)) == written


# Means and gaps


def test_groups_have_means_with_intervals_and_failures() -> None:
    cases, attributes = people([("F", 20, 15), ("M", 20, 5)])
    cases[0] = ScoredCase(1, "appendicitis", None, "timeout")
    found = subgroups(cases, attributes, **QUICK).groupings["gender"]
    women, men = (group.scores["Diagnosis"] for group in found.groups)
    assert (women.n, women.n_failed) == (20, 1)
    assert women.as_json()["mean"] == pytest.approx(14 / 19)
    assert women.as_json()["mean_failures_as_zero"] == pytest.approx(14 / 20)
    assert men.as_json()["low"] is not None
    assert men.as_json()["high"] is not None
    assert men.as_json()["low"] <= 0.25 <= men.as_json()["high"]
    gap = next(gap for gap in found.gaps if gap.score == "Diagnosis")
    # A failure counts in the gap.
    assert gap.gap == pytest.approx(14 / 20 - 5 / 20)


def test_groups_of_a_run_in_which_all_failed_have_the_scores_that_it_could_have_had() -> None:
    cases, attributes = people([("F", 2, 0)])
    failed = [ScoredCase(case.hadm_id, case.pathology, None, "timeout") for case in cases]
    found = subgroups(failed, attributes, min_cell=1, possible=["Diagnosis"], **QUICK)
    assert set(found.groupings["gender"].groups[0].scores) == {"Diagnosis"}


def test_a_large_gap_is_found_and_none_is_where_there_is_none() -> None:
    found = run([("F", 40, 36), ("M", 40, 8)]).groupings["gender"].gaps
    gap = next(gap for gap in found if gap.score == "Diagnosis")
    assert (gap.first, gap.second) == ("F", "M")
    assert gap.gap == pytest.approx(0.7)
    assert gap.p_value == 1 / 200
    even = run([("F", 40, 20), ("M", 40, 20)]).groupings["gender"].gaps
    assert next(gap for gap in even if gap.score == "Diagnosis").p_value == 1


def test_the_unknown_are_shown_but_compared_with_none() -> None:
    found = run([("F", 20, 10), ("M", 20, 5), ("unknown", 20, 0)])
    assert shown(found) == {"F": 20, "M": 20, "unknown": 20}
    assert {(gap.first, gap.second) for gap in found.groupings["gender"].gaps} == {("F", "M")}


def test_p_values_are_corrected_for_all_tests_of_the_report() -> None:
    cases, attributes = people([("F", 30, 28), ("M", 30, 4)])
    both = {number: found | {"age_band": found["gender"]} for number, found in attributes.items()}
    one = subgroups(cases, attributes, **QUICK)
    two = subgroups(cases, both, **QUICK)
    smallest = min(gap.p_value or 1 for gap in one.groupings["gender"].gaps)
    for report in (one, two):
        tests = [gap for grouping in report.groupings.values() for gap in grouping.gaps]
        corrected = next(gap.p_holm for gap in tests if gap.score == "Diagnosis")
        assert corrected == pytest.approx(min(1, smallest * len(tests)))
    assert Counter(len(grouping.gaps) for grouping in two.groupings.values()) == {7: 2}


def test_a_difference_between_pathologies_is_no_gap() -> None:
    """All of one pathology are right, most of them women; none of the other, most of them men."""
    easy, of_easy = people([("F", 33, 33), ("M", 11, 11)], "appendicitis")
    hard, of_hard = people([("F", 11, 0), ("M", 33, 0)], "pancreatitis", first=101)
    found = subgroups([*easy, *hard], of_easy | of_hard, **QUICK)
    gap = next(gap for gap in found.groupings["gender"].gaps if gap.score == "Diagnosis")
    assert gap.gap == pytest.approx(0.5)
    assert gap.expected_gap == pytest.approx(0.5)
    assert gap.p_value == 1


def test_groups_that_share_no_pathology_cannot_be_compared() -> None:
    easy, of_easy = people([("F", 20, 20)], "appendicitis")
    hard, of_hard = people([("M", 20, 0)], "pancreatitis", first=101)
    found = subgroups([*easy, *hard], of_easy | of_hard, **QUICK)
    gap = next(gap for gap in found.groupings["gender"].gaps if gap.score == "Diagnosis")
    assert gap.gap == 1
    assert gap.expected_gap == pytest.approx(1)
    assert (gap.p_value, gap.p_holm) == (None, None)


@pytest.mark.slow
def test_the_p_value_is_near_that_of_all_permutations() -> None:
    values = np.array([[1.0], [1.0], [1.0], [0.0], [1.0], [0.0], [0.0], [0.0]])
    # Three of the first group in one stratum and one in the other, so that a gap is expected.
    is_first = np.array([True, False, True, True, True, False, False, False])
    strata = ["a", "b"] * 4
    _, expected, p_values = gap_tests(values, is_first, strata, seed=3, n=4000)
    assert expected[0] == pytest.approx((0.75 - 0.25) / 2)
    observed = values[is_first].mean() - values[~is_first].mean()
    odd, even = ([place for place in range(8) if place % 2 == rest] for rest in (1, 0))
    reached = []
    for some in permutations(range(4)):
        for others in permutations(range(4)):
            mixed = np.empty(8, dtype=bool)
            mixed[even] = is_first[even][list(some)]
            mixed[odd] = is_first[odd][list(others)]
            gap = values[mixed].mean() - values[~mixed].mean()
            reached.append(abs(gap - expected[0]) >= abs(observed - expected[0]) - 1e-12)
    assert p_values[0] == pytest.approx(sum(reached) / len(reached), abs=0.03)


def test_the_seed_makes_the_report() -> None:
    groups = [("F", 15, 9), ("M", 14, 3)]
    assert run(groups, seed=1) == run(groups, seed=1)
    assert run(groups, seed=1).groupings != run(groups, seed=2).groupings
    assert run(groups, seed=1).as_json()["seed"] == 1


def test_a_case_without_attributes_is_named() -> None:
    cases, attributes = people([("F", 3, 1)])
    del attributes[2]
    with pytest.raises(UserError, match="Case 2 does not have the attributes gender"):
        subgroups(cases, attributes, **QUICK)
