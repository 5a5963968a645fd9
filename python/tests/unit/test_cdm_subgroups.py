"""Scores by groups of patients: small cells, gaps between groups, and what is due to chance.

The patients of a group with one pathology are a cell, too: no score tells how many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cdm_cases import case, scored, table

from medeval.inference.types import Outcome
from medeval.models.clinical_case import PATHOLOGIES, Demographics
from medeval.tasks.cdm.groups import (
    attributes_of,
    gap_sentences,
    gap_table,
    gap_tests,
    shown,
    subgroups,
)
from medeval.tasks.cdm.run_scores import Transcript
from medeval.tasks.task import Method

NAMES = ("Diagnosis", "Treatment Requested")
BARE = case(of="bare")
RIGHT, WRONG = (scored(BARE, diagnosis=one) for one in ("appendicitis", "gastritis"))
# Name, and of each pathology how many patients are right, and how many are wrong.
Group = tuple[str, Sequence[int], Sequence[int]]


def gender_of(*groups: Group, failed: int = -1, **options: int) -> tuple[Any, dict[str, Any]]:
    """Return the groups of gender and the whole; the case of number `failed` failed."""
    rows = [
        (place, name, score)
        for name, *numbers in groups
        for score, counts in zip((RIGHT, WRONG), numbers, strict=True)
        for place, count in enumerate(counts)
        for _ in range(count)
    ]
    rows.sort(key=lambda row: row[0])  # everybody can see the pathologies of the cases
    transcripts = []
    for number, (place, name, score) in enumerate(rows):
        person = Demographics(age=None, gender="" if name == "unknown" else name)
        about = {"hadm_id": number, "pathology": PATHOLOGIES[place], "demographics": person}
        of = BARE.model_copy(update=about)
        its = None if number == failed else score
        transcripts.append(Transcript(of, 0, Outcome.ANSWERED, score=its))
    method = Method(n_iters=options.get("n_iters", 20), min_cell=11)
    times = options.get("n_permutations", 199)
    found = subgroups(transcripts, ["gender"], NAMES, method, times)
    return found["attributes"]["gender"], found


def cells(table: Sequence[Sequence[int]]) -> tuple[Any, dict[str, Any]]:
    groups = [(f"g{place}", row, [0] * len(row)) for place, row in enumerate(table)]
    return gender_of(*groups, n_iters=0, n_permutations=1)


AGES = [(44, None, "18-44"), (44, 45, "45-64"), (91, 91, "85+"), (17, 17, "unknown")]


@pytest.mark.parametrize(("age", "at_admission", "band"), [*AGES, (None, None, "unknown")])
def test_age_at_admission_goes_first(age: int | None, at_admission: int | None, band: str) -> None:
    of = case(demographics={"age": age, "gender": "F", "age_at_admission": at_admission})
    assert attributes_of(of) == {"gender": "F", "age_band": band}
    assert attributes_of(case(of="bare")) == {"gender": "unknown", "age_band": "unknown"}


@pytest.mark.parametrize(("counts", "expected"), table("cdm_small_cells"))
def test_groups_of_few_are_hidden(counts: list[list[int]], expected: list[int | None]) -> None:
    assert [group["n"] for group in cells(counts)[0]["groups"]] == expected


def test_a_single_group_with_a_small_cell_is_not_even_named() -> None:
    grouping, found = cells([[30, 10]])
    assert grouping["groups"] == []
    assert list(gap_sentences(found)) == [
        "By gender nothing can be told, for it would tell of fewer than 11 cases, in all or of one"
        " pathology (--min-cell)."
    ]
    assert list(gap_sentences(cells([[30, 11], [20, 30]])[1])) == []


def test_nothing_is_told_of_hidden_groups_in_tables_and_sentences() -> None:
    grouping, found = cells([[20, 15, 10, 12], [18, 17, 2, 24]])
    assert [group["scores"] for group in grouping["groups"]] == [{}, {}]
    assert (grouping["gaps"], gap_table(found).rows) == ([], [])
    assert shown(grouping["groups"], NAMES) == {
        name: {"n": None, **dict.fromkeys(NAMES)} for name in ("g0", "g1")
    }
    assert list(gap_sentences(found)) == [
        "By gender, 2 of 2 groups are hidden, since one of them has fewer than 11 cases, in all or"
        " of one pathology (--min-cell), or such a one could be worked out from it."
    ]


def test_groups_have_means_with_intervals_and_failures() -> None:
    grouping, _ = gender_of(("F", [15], [5]), ("M", [5], [15]), failed=0)
    women, men = (group["scores"]["Diagnosis"] for group in grouping["groups"])
    assert (women["n"], women["n_failed"]) == (20, 1)
    assert women["mean"] == pytest.approx(14 / 19)
    assert women["mean_failures_as_zero"] == pytest.approx(14 / 20)
    assert men["low"] <= 0.25 <= men["high"]
    # A failure counts in the gap.
    assert grouping["gaps"][0]["gap"] == pytest.approx(14 / 20 - 5 / 20)


@pytest.mark.parametrize("row", table("cdm_gaps"))
def test_a_difference_between_pathologies_is_no_gap(row: dict[str, Any]) -> None:
    gaps = gender_of(*((name, *counts) for name, counts in row["groups"].items()))[0]["gaps"]
    found = next(one for one in gaps if one["score"] == "Diagnosis")
    assert {name: found[name] for name in row["is"]} == pytest.approx(row["is"])


def test_p_values_are_corrected_for_all_tests_of_the_report() -> None:
    known = (("F", [28], [2]), ("M", [4], [26]), ("X", [9], [21]))
    grouping, found = gender_of(("unknown", [9], [11]), *known)
    # The unknown come last and are compared with none.
    assert [group["name"] for group in grouping["groups"]] == ["F", "M", "X", "unknown"]
    tests = grouping["gaps"]
    smallest = min(one["p_value"] for one in tests)
    assert len(tests) == 3 * len(NAMES)
    assert tests[0]["p_holm"] == pytest.approx(min(1, smallest * len(tests)))
    assert any("F less M" in one and "after Holm" in one for one in gap_sentences(found))


def test_patients_are_exchanged_within_their_pathology_only() -> None:
    """What all of a pathology have in common exchanges nothing: four cases decide."""
    values = np.array([[1.0]] * 10 + [[1.0], [0.0], [0.0], [0.0]])
    is_first = np.array([True] * 8 + [False] * 2 + [True] + [False] * 3)
    strata = ["a"] * 10 + ["b"] * 4
    (test,) = gap_tests(values, is_first, strata, seed=5, n=4000)
    # The one right case of b is of the first group in one of four exchanges.
    assert test["p_value"] == pytest.approx(0.25, abs=0.03)
