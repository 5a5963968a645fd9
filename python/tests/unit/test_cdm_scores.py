"""What an answer and the calls before it are worth, and means of that over cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cdm_cases import Calls, ask, case, facts, image, records, scored, table
from hypothesis import given
from hypothesis import strategies as st

from medeval.models.clinical_case import PATHOLOGIES
from medeval.tasks.cdm.demo import best_scores
from medeval.tasks.cdm.facts import LabNames, read_lab_tests
from medeval.tasks.cdm.scores import COUNTS, SCORES, CaseScore, means, score_case
from medeval.tasks.cdm.scores_v1 import as_json
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import Toolbox
from medeval.tasks.task import Method

RULES = table("cdm_scores")


def is_right(diagnosis: str) -> bool:
    return scored(case(of="bare"), diagnosis=diagnosis)["scores"]["Diagnosis"] == 1


def found(given: dict[str, Any], place: str, version: int) -> Any:
    """Return what stands in a place of a score; of treatments the names of those that are so."""
    images = [["Abdomen", one] if isinstance(one, str) else one for one in given.get("images", ())]
    calls = [*map(ask, given.get("tests", ())), *(image(*one) for one in images)]
    of = case(
        of="bare",
        pathology=given.get("pathology", "appendicitis"),
        diagnoses=given.get("diagnoses", ()),
        treatments=given.get("given", ()),
    )
    treatment = given.get("treatment", ())
    score = scored(
        of,
        calls,
        diagnosis=given.get("diagnosis", ""),
        treatment=[treatment] if isinstance(treatment, str) else treatment,
        version=version,
    )
    value = reduce(
        lambda part, name: part.get(name),
        place.split("."),
        as_json(score) if version == 1 else score,
    )
    is_flags = place.startswith("answers.Treatment") and isinstance(value, dict)
    return sorted(name for name, is_so in value.items() if is_so) if is_flags else value


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["rule"]))
def test_a_case_earns_what_the_rule_says(rule: dict[str, Any]) -> None:
    names = rule.get("columns", [])
    for row in rule.get("rows", [[]]):
        cells = zip(names, row if isinstance(row, list) else [row], strict=True)
        given = {**rule.get("all", {}), **dict(cells)}
        for places in [name for name in given if name.startswith(("scores", "answers", "counts"))]:
            for place in places.split(" + "):
                assert found(given, place, 2) == given[places], row
                if rule.get("version_1") == "differs":
                    assert found(given, place, 1) != given[places], row


def test_a_negation_is_as_near_as_it_was_however_long_the_text() -> None:
    before = "word " * 100
    assert not is_right(f"{before}no acute appendicitis")
    assert is_right(f"no {before}appendicitis")
    # A word that is cut where looking back ends is no negation.
    assert is_right(f"casino {'x' * 65} {'y' * 65} {'z' * 65} appendicitis")
    for length in range(180, 210):
        assert is_right(f"casino{'-' * length} appendicitis"), length


ORGANS = ["appendix", "gallbladder", "liver"]
WORDS = [*ORGANS, "perforated", "no", "normal", "due to", ",", ";", "and"]


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_a_clause_that_is_right_is_so_beside_any_other(diagnosis: str) -> None:
    assert is_right(f"{diagnosis}; perforated appendix")
    assert is_right(f"perforated appendix; {diagnosis}")


CALLS = st.lists(st.sampled_from(table("cdm_tools")["some_calls"]), max_size=12)


@given(
    st.sampled_from(PATHOLOGIES),
    CALLS,
    st.text(max_size=40),
    st.lists(st.sampled_from(["fluids", "pain", "monitor", "ercp", "no antibiotics"]), max_size=5),
)
def test_scores_stay_within_their_scales_and_asking_once_more_takes_no_point_away(
    pathology: str, calls: Calls, diagnosis: str, treatment: list[str]
) -> None:
    of = case(of="bare", pathology=pathology, diagnoses=["biliary"])
    score = scored(of, calls, diagnosis=diagnosis, treatment=treatment)
    assert tuple(score["scores"]) == SCORES
    assert tuple(score["counts"]) == COUNTS
    for name, most in best_scores(pathology, facts()).items():
        assert 0 <= score["scores"][name] <= most, name
    assert score["scores"]["Diagnosis"] <= score["scores"]["Gracious Diagnosis"]
    assert score["scores"]["Physical Examination"] <= score["scores"]["Late Physical Examination"]
    points = sum(score["answers"]["Correct Laboratory Tests"].values())
    assert score["scores"]["Laboratory Tests"] == points
    assert json.loads(json.dumps(score)) == score
    after = scored(of, [*calls, *calls], diagnosis=diagnosis, treatment=treatment)["scores"]
    assert all(after[name] >= score["scores"][name] for name in after)


# Lines of the golden file; a shorter one proves less.
N_SCORES = 183


def test_scores_of_version_1_are_the_reference_s(shared: Path) -> None:
    folder = shared / "golden" / "cdm_synth"
    names = LabNames(read_lab_tests(folder / "lab_test_mapping.json"), facts().labs)
    lines = (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == N_SCORES
    for golden in map(json.loads, lines):
        truth, told = golden["ground_truth"], golden["prediction"]
        of = case(of="bare", pathology=golden["pathology"], ground_truth=truth)
        made = [(call["name"], call["args"]) for call in golden["tool_calls"]]
        calls = records(Toolbox(of, facts(), names), made)
        answer = FinalAnswer(told["final_diagnosis"], tuple(told["treatment"]))
        score = score_case(of, answer, calls, facts(), version=1)
        assert json.dumps(as_json(score)) == json.dumps(
            {"answers": golden["answers"], "scores": golden["scores"]}
        ), golden
        # A record is kept as JSON between the run and the score.
        assert json.loads(json.dumps(calls)) == calls


# Means over cases


RIGHT, WRONG = (scored(case(of="bare"), diagnosis=one) for one in ("appendicitis", "gastritis"))


def of_run(outcomes: Sequence[bool | None]) -> list[CaseScore | None]:
    """Cases that are right, wrong, or failed."""
    return [None if one is None else RIGHT if one else WRONG for one in outcomes]


def made(scores: Sequence[CaseScore | None], n_iters: int = 50, seed: int = 0) -> dict[str, Any]:
    return means(scores, [*SCORES, "Tool Calls"], Method(n_iters=n_iters, seed=seed))


@pytest.mark.parametrize("row", table("cdm_means"))
def test_failures_stay_in_the_denominator_and_are_shown_both_ways(row: dict[str, Any]) -> None:
    outcomes = row["outcomes"]
    if isinstance(outcomes, dict):
        outcomes = [True] * outcomes["right"] + [False] * outcomes["wrong"]
    score = row.get("score", "Diagnosis")
    found = made(of_run(outcomes), row.get("n_iters", 50))[score]
    assert {name: found[name] for name in row["is"]} == pytest.approx(row["is"], abs=1e-6)
    if found["low"] is not None:
        assert 0 <= found["low"] <= found["mean"] <= found["high"] <= 1


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
