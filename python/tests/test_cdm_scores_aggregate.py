"""Means over cases: who is in the denominator, and what the intervals are made of."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from cdm_cases import case, facts, scored
from hypothesis import given
from hypothesis import strategies as st

from medeval.models.clinical_case import PATHOLOGIES
from medeval.tasks.cdm.aggregate import Aggregate, ScoredCase, aggregate
from medeval.tasks.cdm.scores import SCORES, score_case

ENDS = ("mean", "low", "high", "mean_failures_as_zero", "low_failures_as_zero")


def of_run(
    diagnoses: Sequence[bool | None], pathology: str = "appendicitis", first: int = 1
) -> list[ScoredCase]:
    """Cases that are right, wrong, or failed."""
    of = case(of="bare", pathology=pathology)
    score = {
        is_right: scored(of, diagnosis=pathology if is_right else "gastritis")
        for is_right in (True, False)
    }
    return [
        ScoredCase(number, pathology, score.get(is_right), None if is_right in score else "timeout")
        for number, is_right in enumerate(diagnoses, start=first)
    ]


def made(cases: Sequence[ScoredCase], n_iters: int = 50, **options: Any) -> Aggregate:
    return aggregate(cases, n_iters=n_iters, **options)


def diagnosis(diagnoses: Sequence[bool | None], n_iters: int = 50) -> dict[str, Any]:
    return made(of_run(diagnoses), n_iters).overall["Diagnosis"].as_json()


def test_failures_stay_in_the_denominator_and_are_shown_both_ways() -> None:
    found = made(of_run([True, True, False, None]))
    mean = found.overall["Diagnosis"].as_json()
    assert (found.n, found.n_failed, found.failures) == (4, 1, {"timeout": 1})
    assert (mean["n"], mean["n_failed"], mean["reason"]) == (4, 1, None)
    assert (mean["mean"], mean["mean_failures_as_zero"]) == pytest.approx((2 / 3, 2 / 4))
    assert 0 <= mean["low"] <= mean["mean"] <= mean["high"] <= 1
    # No failure makes a count of zero.
    count = found.overall["Tool Calls"].as_json()
    assert [count[name] for name in ("mean", *ENDS[3:])] == [0, None, None]


def test_pathologies_have_their_own_means_and_those_without_a_case_say_so() -> None:
    found = made(of_run([True, True]) + of_run([False, None], "pancreatitis", 11))
    assert list(found.by_pathology) == list(PATHOLOGIES)
    means = {name: one["Diagnosis"].as_json() for name, one in found.by_pathology.items()}
    assert (means["appendicitis"]["mean"], means["appendicitis"]["n"]) == (1, 2)
    assert (means["pancreatitis"]["mean"], means["pancreatitis"]["n_failed"]) == (0, 1)
    none = means["cholecystitis"]
    assert (none["n"], none["mean"], none["reason"]) == (0, None, "no case")
    assert found.overall["Diagnosis"].as_json()["mean"] == pytest.approx(2 / 3)


def test_a_run_in_which_all_failed_has_no_mean_but_zeros() -> None:
    found = made(of_run([None, None]))
    assert set(found.overall) == set(SCORES)
    assert set(made(of_run([None]), possible=["Diagnosis"]).overall) == {"Diagnosis"}
    mean = found.overall["Diagnosis"].as_json()
    assert [mean[name] for name in ENDS] == [None, None, None, 0, 0]
    assert mean["high_failures_as_zero"] == pytest.approx(0.6576, abs=1e-4)
    assert mean["reason"] == "no case was answered"


def test_one_case_has_an_interval_of_its_shares_only() -> None:
    found = made(of_run([True])).overall
    share, points = found["Diagnosis"].as_json(), found["Laboratory Tests"].as_json()
    assert (share["low"], share["high"]) == pytest.approx((0.2065493143772375, 1))
    assert (points["low"], points["high"]) == (None, None)
    assert points["reason"] == "one case only: there is no interval"


@pytest.mark.parametrize(
    ("outcomes", "low", "high"),
    [
        # 118 of 118, 0 of 118, and 59 of 118: Wilson 1927, as scipy's `proportion_ci` has it.
        ([True] * 118, 0.968471, 1),
        ([False] * 118, 0, 0.031529),
        ([True, False] * 59, 0.411219, 0.588781),
    ],
)
def test_a_share_has_wilsons_interval(outcomes: list[bool], low: float, high: float) -> None:
    mean = diagnosis(outcomes)
    assert (mean["low"], mean["high"]) == pytest.approx((low, high), abs=1e-6)
    assert mean["low_failures_as_zero"] == mean["low"]


def test_without_resamples_there_is_no_interval_and_it_is_said_why() -> None:
    mean = diagnosis([True, False, None], n_iters=0)
    assert [mean[name] for name in ENDS] == [0.5, None, None, pytest.approx(1 / 3), None]
    assert mean["reason"] == "without resamples there is no interval"


def test_the_seed_makes_the_intervals_of_points() -> None:
    every = facts().treatments["appendicitis"]
    codes = [
        ["x", code]
        for treatment in every
        for code in sorted(treatment.icd_9 or treatment.icd_10)[:1]
    ]
    cases = [
        ScoredCase(
            number,
            "appendicitis",
            scored(
                case(of="bare", treatments=codes),
                treatment=[treatment.name for treatment in every][: number % 3],
            ),
        )
        for number in range(1, 9)
    ]
    first, again, other = (made(cases, seed=seed).overall for seed in (1, 1, 2))
    assert first == again
    assert first["Treatment Requested"] != other["Treatment Requested"]
    assert first["Diagnosis"] == other["Diagnosis"]


@given(st.lists(st.sampled_from([True, False, None]), max_size=12), st.integers(0, 99))
def test_the_order_of_the_cases_says_nothing(outcomes: list[bool | None], seed: int) -> None:
    cases = of_run(outcomes)
    assert made(cases) == made(Random(seed).sample(cases, len(cases)))


def test_what_has_no_common_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="case 1 is there more than once"):
        made(of_run([True]) * 2)
    answer = {"diagnosis": "appendicitis", "treatment": []}
    without_tools = ScoredCase(2, "appendicitis", score_case(case(), answer, None, facts()))
    with pytest.raises(ValueError, match="have no common mean"):
        made([*of_run([True]), without_tools])
