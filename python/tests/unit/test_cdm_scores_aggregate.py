"""Means over cases: who is in the denominator, and what the intervals are made of."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from cdm_cases import case, facts, scored
from hypothesis import given
from hypothesis import strategies as st

from medeval.tasks.cdm.scores import SCORES, CaseScore, means
from medeval.tasks.task import Method

RIGHT, WRONG = (scored(case(of="bare"), diagnosis=one) for one in ("appendicitis", "gastritis"))
ENDS = ("mean", "low", "high", "mean_failures_as_zero", "low_failures_as_zero")


def of_run(outcomes: Sequence[bool | None]) -> list[CaseScore | None]:
    """Cases that are right, wrong, or failed."""
    return [None if one is None else RIGHT if one else WRONG for one in outcomes]


def made(scores: Sequence[CaseScore | None], n_iters: int = 50, seed: int = 0) -> dict[str, Any]:
    return means(scores, [*SCORES, "Tool Calls"], Method(n_iters=n_iters, seed=seed))


def told(outcomes: Sequence[bool | None], name: str = "Diagnosis", **how: int) -> dict[str, Any]:
    return made(of_run(outcomes), **how)[name]


def test_failures_stay_in_the_denominator_and_are_shown_both_ways() -> None:
    outcomes = [True, True, False, None]
    mean, count = told(outcomes), told(outcomes, "Tool Calls")
    assert (mean["n"], mean["n_failed"], mean["reason"]) == (4, 1, None)
    assert (mean["mean"], mean["mean_failures_as_zero"]) == pytest.approx((2 / 3, 2 / 4))
    assert 0 <= mean["low"] <= mean["mean"] <= mean["high"] <= 1
    # No failure makes a count of zero.
    assert [count[name] for name in ("mean", *ENDS[3:])] == [0, None, None]


def test_a_run_in_which_all_failed_has_no_mean_but_zeros() -> None:
    mean = told([None, None])
    assert [mean[name] for name in ENDS] == [None, None, None, 0, 0]
    assert mean["high_failures_as_zero"] == pytest.approx(0.6576, abs=1e-4)
    assert mean["reason"] == "no case was answered"
    assert (told([])["n"], told([])["mean"], told([])["reason"]) == (0, None, "no case")


def test_one_case_has_an_interval_of_its_shares_only() -> None:
    share, points = told([True]), told([True], "Laboratory Tests")
    assert (share["low"], share["high"]) == pytest.approx((0.2065493143772375, 1))
    assert (points["low"], points["high"]) == (None, None)
    assert points["reason"] == "one case only: there is no interval"


# 118 of 118, 0 of 118, and 59 of 118: Wilson 1927, as scipy's `proportion_ci` has it.
@pytest.mark.parametrize(
    ("right", "low", "high"), [(118, 0.968471, 1), (0, 0, 0.031529), (59, 0.411219, 0.588781)]
)
def test_a_share_has_wilsons_interval(right: int, low: float, high: float) -> None:
    mean = told([True] * right + [False] * (118 - right))
    assert (mean["low"], mean["high"]) == pytest.approx((low, high), abs=1e-6)
    assert mean["low_failures_as_zero"] == mean["low"]


def test_without_resamples_there_is_no_interval_and_it_is_said_why() -> None:
    mean = told([True, False, None], n_iters=0)
    assert [mean[name] for name in ENDS] == [0.5, None, None, pytest.approx(1 / 3), None]
    assert mean["reason"] == "without resamples there is no interval"


def test_the_seed_makes_the_intervals_of_points() -> None:
    every = facts().treatments["appendicitis"]
    codes = [["x", code] for one in every for code in sorted(one.icd_9 or one.icd_10)[:1]]
    of = case(of="bare", treatments=codes)
    names = [one.name for one in every]
    scores = [scored(of, treatment=names[: number % 3]) for number in range(8)]
    first, again, other = (made(scores, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first["Treatment Requested"] != other["Treatment Requested"]
    assert first["Diagnosis"] == other["Diagnosis"]


@given(st.lists(st.sampled_from([True, False, None]), max_size=12), st.integers(0, 99))
def test_the_order_of_the_cases_says_nothing(outcomes: list[bool | None], seed: int) -> None:
    scores = of_run(outcomes)
    assert made(scores) == made(Random(seed).sample(scores, len(scores)))
