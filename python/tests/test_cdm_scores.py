"""The scores of one case, rule by rule, with the values at the edges."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cdm_cases import EXAMINE, ask, case, facts, image, records, rows, scored
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm import scores_v1
from medeval.cdm.demo import best_scores
from medeval.cdm.negation import negation
from medeval.cdm.scores import (
    COUNTS,
    INVALID_CALLS,
    ROUNDS,
    SCORES,
    TOOL_CALLS,
    UNNECESSARY_IMAGING,
    UNNECESSARY_TESTS,
    score_case,
)
from medeval.errors import UserError
from medeval.models.clinical_case import PATHOLOGIES

ANSWER = {"final_diagnosis": "appendicitis", "treatment": []}


# Keywords


def affirmed(text: str, keyword: str, version: int = 2) -> bool:
    if version == 1:
        return scores_v1.affirms(text, keyword, facts())
    return negation(facts().negation_cues).affirms(text, keyword)


@pytest.mark.parametrize(("text", "found"), rows("a_keyword_counts_unless_it_is_negated"))
def test_a_keyword_counts_unless_it_is_negated(text: str, found: bool) -> None:
    assert affirmed(text, "abscess") is found


def test_a_keyword_of_two_words_may_stand_on_two_lines() -> None:
    assert affirmed("a biliary\n stent was placed", "biliary stent")
    assert not affirmed("a biliary metal stent", "biliary stent")


@given(st.text(max_size=40), st.sampled_from(["pain", "abscess", "bile duct"]))
def test_what_is_affirmed_is_there(text: str, keyword: str) -> None:
    for version in (1, 2):
        if affirmed(text, keyword, version):
            assert keyword.split()[0] in text.lower()


# Diagnosis


def graded(
    diagnosis: str, pathology: str = "appendicitis", version: int = 2
) -> tuple[float, float]:
    scores = scored(case(pathology), diagnosis=diagnosis, version=version).scores
    return scores["Diagnosis"], scores["Gracious Diagnosis"]


@pytest.mark.parametrize(("diagnosis", "right"), rows("a_right_diagnosis"))
def test_a_right_diagnosis(diagnosis: str, right: int) -> None:
    assert graded(diagnosis) == (right, right)


def test_a_ratio_of_90_is_not_enough() -> None:
    # 2 * 13 of 28 letters are 93, of 29 they are 90.
    assert graded("diverticulytis", "diverticulitis") == (1, 1)
    assert graded("diverticulytiss", "diverticulitis") == (0, 0)


def test_a_nearly_right_diagnosis_is_gracious_only() -> None:
    assert graded("sigmoid colitis", "diverticulitis") == (0, 1)
    assert graded("no sigmoid colitis", "diverticulitis") == (0, 0)
    assert graded("sigmoid colitis", "appendicitis") == (0, 0)


# Laboratory tests


@pytest.mark.parametrize(("pathology", "tests", "points"), rows("a_point_for_each_category_once"))
def test_a_point_for_each_category_once(pathology: str, tests: list[str], points: int) -> None:
    score = scored(case(pathology), [ask(name) for name in tests])
    assert score.scores["Laboratory Tests"] == points
    assert sum(score.answers["Correct Laboratory Tests"].values()) == points


def test_a_test_of_a_category_is_not_neutral_besides() -> None:
    answers = scored(case("appendicitis"), [ask("WBC")]).answers
    assert answers["Neutral Laboratory Tests"]["Complete Blood Count (CBC)"] is False
    answers = scored(case("appendicitis"), [ask("hemoglobin")]).answers
    assert answers["Neutral Laboratory Tests"]["Complete Blood Count (CBC)"] is True


def test_tests_that_are_neither_needed_nor_neutral_are_unnecessary_once_each() -> None:
    calls = [ask("WBC, hemoglobin, lipase"), ask("lipase and lactate"), ask("xyz")]
    score = scored(case("appendicitis"), calls)
    assert score.answers[UNNECESSARY_TESTS] == [50956, 50813]
    assert score.counts[UNNECESSARY_TESTS] == 2
    assert scored(case("pancreatitis"), calls).answers[UNNECESSARY_TESTS] == [50813]


# Imaging


ABDOMEN = "Abdomen"


@pytest.mark.parametrize(("pathology", "modalities", "points"), rows("points_for_imaging"))
def test_points_for_imaging(pathology: str, modalities: list[str], points: int) -> None:
    calls = [image(ABDOMEN, modality) for modality in modalities]
    assert scored(case(pathology), calls).scores["Imaging"] == points


@pytest.mark.parametrize(
    ("modalities", "points"),
    [(["EUS"], 1), (["CT", "EUS"], 2), (["US", "EUS"], 2), (["EUS", "EUS", "EUS"], 1)],
)
def test_endoscopic_ultrasound_adds_to_biliary_pancreatitis(
    modalities: list[str], points: int
) -> None:
    calls = [image(ABDOMEN, modality) for modality in modalities]
    of = case("pancreatitis", diagnoses=["Acute biliary pancreatitis"])
    assert scored(of, calls).scores["Imaging"] == points
    of = case("pancreatitis", diagnoses=["Pancreatitis, no biliary cause"])
    assert scored(of, [image(ABDOMEN, "EUS")]).scores["Imaging"] == 0


def test_imaging_in_unknown_words_is_unnecessary_to_the_reference() -> None:
    calls = [image("abdomen", "Magic"), image("", "CT")]
    answers = scored(case(), calls, version=1).answers
    assert answers[UNNECESSARY_IMAGING] == [
        {"region": "abdomen", "modality": "magic"},
        {"region": "", "modality": "ct"},
    ]


# Treatments


def required(of: Any) -> set[str]:
    found = scored(of).answers["Treatment Required"]
    return {name for name, is_needed in found.items() if is_needed}


def requested(of: Any, *treatment: str) -> set[str]:
    found = scored(of, treatment=treatment).answers["Treatment Requested"]
    return {name for name, is_asked in found.items() if is_asked}


@pytest.mark.parametrize(
    ("pathology", "treatments", "shown"), rows("what_the_ground_truth_shows_is_required")
)
def test_what_the_ground_truth_shows_is_required(
    pathology: str, treatments: list[tuple[str, str | None]], shown: list[str]
) -> None:
    always = {one.name for one in facts().treatments[pathology] if one.is_always_required}
    assert always
    assert required(case(pathology, treatments=treatments)) == always | {*shown}


def test_biliary_pancreatitis_needs_the_gallbladder_out() -> None:
    of = case("pancreatitis", diagnoses=["Pancreatitis", "biliary colic"])
    assert required(of) == {"Support", "Cholecystectomy"}
    assert requested(of, "cholecystectomy") == {"Cholecystectomy"}
    of = case("pancreatitis", treatments=[("cholecystectomy", None)])
    assert required(of) == {"Support"}
    assert requested(of, "cholecystectomy") == set()


@pytest.mark.parametrize(("pathology", "treatment", "found"), rows("what_the_answer_asks_for"))
def test_what_the_answer_asks_for(pathology: str, treatment: list[str], found: list[str]) -> None:
    assert requested(case(pathology), *treatment) == {*found}


def test_what_is_not_required_does_not_count_in_the_share() -> None:
    assert scored(case(), treatment=["appendectomy"]).scores["Treatment Requested"] == 0


# Conduct and the whole


def test_rounds_and_calls() -> None:
    of = case()
    made = records(of, [EXAMINE, ask("CBC"), image("abdomen", "CT"), ("order", {})])
    numbered = [call | {"round": turn} for call, turn in zip(made, (1, 2, 2, 3), strict=True)]
    score = score_case(of, ANSWER, numbered, facts())
    assert (score.counts[ROUNDS], score.counts[TOOL_CALLS], score.counts[INVALID_CALLS]) == (
        3,
        4,
        1,
    )
    assert score.tool_calls == {
        "physical_examination": 1,
        "request_lab_test": 1,
        "request_imaging": 1,
        "retrieve_diagnosis_criteria": 0,
        "total": 4,
    }
    assert score_case(of, ANSWER, made, facts()).counts[ROUNDS] == 4


def test_without_tools_only_the_answer_is_scored() -> None:
    answer = {"diagnosis": "appendicitis", "treatment": ["antibiotics"]}
    score = score_case(case(), answer, None, facts())
    assert score.scores == {
        "Diagnosis": 1,
        "Gracious Diagnosis": 1,
        "Treatment Requested": 0.5,
    }
    assert (score.counts, score.tool_calls) == ({}, None)
    first = score_case(case(), answer, None, facts(), version=1)
    assert first.as_json()["scores"] == {"Diagnosis": 1, "Gracious Diagnosis": 1}


def test_the_layouts_of_a_score() -> None:
    first = scored(case(), [EXAMINE], version=1).as_json()
    assert set(first) == {"answers", "scores"}
    assert tuple(first["scores"]) == SCORES[:-1]
    assert UNNECESSARY_TESTS not in first["answers"]
    second = scored(case(), [EXAMINE]).as_json()
    assert tuple(second["scores"]) == SCORES
    assert tuple(second["counts"]) == COUNTS
    assert second["score_version"] == 2
    assert json.loads(json.dumps(second)) == second


def test_what_has_no_score_is_refused() -> None:
    with pytest.raises(UserError, match="Case 20000001 has none of the four pathologies"):
        score_case(case(None), ANSWER, [], facts())
    with pytest.raises(UserError, match="Unknown version 3 of the scores"):
        score_case(case(), ANSWER, [], facts(), version=3)


@pytest.mark.parametrize("answer", rows("an_answer_of_another_form_is_refused"))
def test_an_answer_of_another_form_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="an answer has a"):
        score_case(case(), answer, [], facts())


CALLS = st.lists(
    st.sampled_from(
        [
            EXAMINE,
            *(ask(name) for name in ("CBC", "LFTs", "BMP, lipase", "bilirubin", "xyz")),
            *(image("abdomen", name) for name in ("CT", "US", "EUS", "MRCP", "HIDA", "x")),
            image("chest", "x-ray"),
            ("order", {}),
        ]
    ),
    max_size=12,
)


@given(
    st.sampled_from(PATHOLOGIES),
    CALLS,
    st.text(max_size=40),
    st.lists(st.sampled_from(["fluids", "pain", "monitor", "ercp", "no antibiotics"]), max_size=5),
)
def test_scores_stay_within_their_scales(
    pathology: str, calls: list[tuple[str, dict[str, Any]]], diagnosis: str, treatment: list[str]
) -> None:
    of = case(pathology, diagnoses=["biliary"])
    score = scored(of, calls, diagnosis=diagnosis, treatment=treatment)
    for name, most in best_scores(pathology, facts()).items():
        assert 0 <= score.scores[name] <= most, name
    assert score.scores["Diagnosis"] <= score.scores["Gracious Diagnosis"]
    assert score.scores["Physical Examination"] <= score.scores["Late Physical Examination"]
    assert json.loads(json.dumps(score.as_json())) == score.as_json()


@given(st.sampled_from(PATHOLOGIES), CALLS)
def test_asking_once_more_takes_no_point_away(
    pathology: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    of = case(pathology, diagnoses=["biliary"])
    before = scored(of, calls).scores
    after = scored(of, [*calls, *calls]).scores
    assert all(after[name] >= before[name] for name in before)
