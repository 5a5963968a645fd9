"""The scores of one case: what an answer and the calls before it are worth."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from cdm_cases import Calls, ask, case, facts, image, names, records, scored, table
from hypothesis import given
from hypothesis import strategies as st

from medeval.models.clinical_case import PATHOLOGIES
from medeval.tasks.cdm.demo import best_scores, oracle_answer, oracle_calls
from medeval.tasks.cdm.facts import LabNames, read_lab_tests
from medeval.tasks.cdm.scores import COUNTS, SCORES, score_case
from medeval.tasks.cdm.scores_v1 import as_json
from medeval.tasks.cdm.text_protocol import FinalAnswer
from medeval.tasks.cdm.tools import Toolbox

ANSWER = FinalAnswer("appendicitis", ())
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


@pytest.mark.parametrize("pathology", PATHOLOGIES)
def test_the_oracle_earns_every_point_of_a_hand_made_case(pathology: str) -> None:
    every = [
        ["x", code]
        for treatment in facts().treatments[pathology]
        for code in sorted(treatment.icd_9 or treatment.icd_10)[:1]
    ]
    of = case(of="bare", pathology=pathology, treatments=every, diagnoses=["biliary"])
    calls = records(Toolbox(of, facts(), names()), oracle_calls(of, facts()))
    told = oracle_answer(of, facts())
    answer = FinalAnswer(told["final_diagnosis"], tuple(told["treatment"]))
    score = score_case(of, answer, calls, facts())
    assert score["scores"] == best_scores(pathology, facts())
    assert all(score["answers"]["Treatment Required"].values())
    assert score["counts"] == dict.fromkeys(COUNTS, 0) | {"Rounds": 3, "Tool Calls": 3}


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
