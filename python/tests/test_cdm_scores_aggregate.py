"""Means over cases: who is in the denominator, and what the intervals are made of."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from cdm_cases import case, facts, scored, toolbox
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.aggregate import ScoredCase, aggregate
from medeval.cdm.demo import best_scores, oracle_answer, oracle_calls
from medeval.cdm.scores import COUNTS, SCORES, score_case
from medeval.models.clinical_case import PATHOLOGIES

QUICK = 50


def of_run(
    diagnoses: Sequence[bool | None], pathology: str = "appendicitis", first: int = 1
) -> list[ScoredCase]:
    """Cases that are right, wrong, or failed."""
    made = []
    for number, is_right in enumerate(diagnoses, start=first):
        score = None
        if is_right is not None:
            one = case(pathology, hadm_id=number)
            score = scored(one, diagnosis=pathology if is_right else "gastritis")
        made.append(ScoredCase(number, pathology, score, "timeout" if score is None else None))
    return made


def test_failures_stay_in_the_denominator_and_are_shown_both_ways() -> None:
    found = aggregate(of_run([True, True, False, None]), n_iters=QUICK)
    mean = found.overall["Diagnosis"]
    assert (found.n, found.n_failed, found.failures) == (4, 1, {"timeout": 1})
    assert (mean.n, mean.n_failed) == (4, 1)
    assert mean.as_json()["mean"] == pytest.approx(2 / 3)
    assert mean.as_json()["mean_failures_as_zero"] == pytest.approx(2 / 4)
    assert mean.as_json()["low"] is not None
    assert mean.as_json()["high"] is not None
    assert 0 <= mean.as_json()["low"] <= mean.as_json()["mean"] <= mean.as_json()["high"] <= 1
    assert mean.reason is None


def test_no_failure_makes_a_count_of_zero() -> None:
    mean = aggregate(of_run([True, None]), n_iters=QUICK).overall["Tool Calls"]
    assert (
        mean.as_json()["mean"],
        mean.as_json()["mean_failures_as_zero"],
        mean.as_json()["low_failures_as_zero"],
    ) == (0, None, None)


def test_pathologies_have_their_own_means_and_those_without_a_case_say_so() -> None:
    cases = of_run([True, True]) + of_run([False, None], "pancreatitis", 11)
    found = aggregate(cases, n_iters=QUICK)
    assert list(found.by_pathology) == list(PATHOLOGIES)
    means = {name: one["Diagnosis"] for name, one in found.by_pathology.items()}
    assert (means["appendicitis"].as_json()["mean"], means["appendicitis"].n) == (1, 2)
    assert (means["pancreatitis"].as_json()["mean"], means["pancreatitis"].n_failed) == (0, 1)
    assert (means["cholecystitis"].n, means["cholecystitis"].reason) == (0, "no case")
    assert means["cholecystitis"].as_json()["mean"] is None
    assert found.overall["Diagnosis"].as_json()["mean"] == pytest.approx(2 / 3)


def test_a_run_in_which_all_failed_has_no_mean_but_zeros() -> None:
    found = aggregate(of_run([None, None]), n_iters=QUICK)
    assert set(found.overall) == set(SCORES)
    possible = aggregate(of_run([None]), n_iters=QUICK, possible=["Diagnosis"])
    assert set(possible.overall) == {"Diagnosis"}
    mean = found.overall["Diagnosis"]
    assert (mean.as_json()["mean"], mean.as_json()["low"], mean.reason) == (
        None,
        None,
        "no case was answered",
    )
    assert mean.as_json()["mean_failures_as_zero"] == mean.as_json()["low_failures_as_zero"] == 0
    assert mean.as_json()["high_failures_as_zero"] == pytest.approx(0.6576, abs=1e-4)


def test_one_case_has_an_interval_of_its_shares_only() -> None:
    found = aggregate(of_run([True]), n_iters=QUICK)
    share, points = (
        found.overall["Diagnosis"].as_json(),
        found.overall["Laboratory Tests"].as_json(),
    )
    assert (share["mean"], share["high"], share["reason"]) == (1, 1, None)
    assert share["low"] == pytest.approx(0.2065493143772375)
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
    mean = aggregate(of_run(outcomes), n_iters=QUICK).overall["Diagnosis"].as_json()
    assert (mean["low"], mean["high"]) == pytest.approx((low, high), abs=1e-6)
    assert mean["low_failures_as_zero"] == mean["low"]


def test_without_resamples_there_is_no_interval_and_it_is_said_why() -> None:
    found = aggregate(of_run([True, False, None]), n_iters=0)
    for mean in (found.overall["Diagnosis"], found.by_pathology["appendicitis"]["Diagnosis"]):
        assert (mean.as_json()["mean"], mean.as_json()["mean_failures_as_zero"]) == (
            pytest.approx(1 / 2),
            pytest.approx(1 / 3),
        )
        assert (
            mean.as_json()["low"]
            is mean.as_json()["high"]
            is mean.as_json()["low_failures_as_zero"]
            is mean.as_json()["high_failures_as_zero"]
            is None
        )
        assert mean.reason == "without resamples there is no interval"


def test_the_seed_makes_the_intervals_of_points() -> None:
    every = facts().treatments["appendicitis"]
    codes = [("x", code) for treatment in every for _, code in sorted(treatment.codes)[:1]]
    cases = []
    for number in range(1, 9):
        one = case(hadm_id=number, treatments=codes)
        wanted = [treatment.name for treatment in every][: number % 3]
        cases.append(ScoredCase(number, "appendicitis", scored(one, treatment=wanted)))
    first, again, other = (aggregate(cases, seed=seed, n_iters=QUICK).overall for seed in (1, 1, 2))
    assert first == again
    assert first["Treatment Requested"] != other["Treatment Requested"]
    assert first["Diagnosis"] == other["Diagnosis"]


@given(st.lists(st.sampled_from([True, False, None]), max_size=12), st.integers(0, 99))
def test_the_order_of_the_cases_says_nothing(outcomes: list[bool | None], seed: int) -> None:
    cases = of_run(outcomes)
    mixed = Random(seed).sample(cases, len(cases))
    assert aggregate(cases, n_iters=QUICK) == aggregate(mixed, n_iters=QUICK)


def test_what_has_no_common_mean_is_refused() -> None:
    with pytest.raises(ValueError, match="case 1 is there more than once"):
        aggregate(of_run([True]) * 2)
    answer = {"diagnosis": "appendicitis", "treatment": []}
    mixed = [
        ScoredCase(1, "appendicitis", scored(case())),
        ScoredCase(2, "appendicitis", score_case(case(), answer, None, facts())),
    ]
    with pytest.raises(ValueError, match="have no common mean"):
        aggregate(mixed)


# The ends of the scales


@pytest.mark.parametrize("pathology", PATHOLOGIES)
def test_the_oracle_earns_every_point_of_a_hand_made_case(pathology: str) -> None:
    every = [
        ("x", code)
        for treatment in facts().treatments[pathology]
        for _, code in sorted(treatment.codes)[:1]
    ]
    of = case(pathology, treatments=every, diagnoses=["biliary"])
    tools = toolbox(of)
    calls = [tools.call(one["name"], one["arguments"]).record for one in oracle_calls(of, facts())]
    found = score_case(of, oracle_answer(of, facts()), calls, facts())
    assert found.scores == best_scores(pathology, facts())
    assert all(found.answers["Treatment Required"].values())
    assert found.counts == dict.fromkeys(COUNTS, 0) | {"Rounds": 3, "Tool Calls": 3}
