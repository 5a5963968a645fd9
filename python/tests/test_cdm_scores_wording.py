"""How an answer is worded: negations, what only looks like one, and a change and its organ."""

from __future__ import annotations

import pytest
from cdm_cases import case, facts, rows, scored
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm import scores_v1
from medeval.cdm.negation import negation
from medeval.cdm.scores import diagnosis_scores
from medeval.models.clinical_case import PATHOLOGIES


def is_right(diagnosis: str, pathology: str = "appendicitis", version: int = 2) -> bool:
    return (diagnosis_scores if version == 2 else scores_v1.diagnosis_scores)(
        diagnosis, pathology, facts()
    ) == (1, 1)


def asks_for_antibiotics(treatment: str, version: int = 2) -> bool:
    score = scored(case(), treatment=[treatment], version=version)
    return bool(score.answers["Treatment Requested"]["Antibiotics"])


DENIED = rows("denied")


@pytest.mark.parametrize("diagnosis", DENIED)
def test_a_denied_diagnosis_is_not_right(diagnosis: str) -> None:
    assert not is_right(diagnosis)


AFFIRMED = rows("affirmed")


@pytest.mark.parametrize("diagnosis", AFFIRMED)
def test_what_only_looks_denied_is_right(diagnosis: str) -> None:
    assert is_right(diagnosis)


def test_a_finding_within_a_pseudo_negation_is_negated() -> None:
    rules = negation(facts().negation_cues)
    assert not rules.affirms("appendix, not perforated", "perf")
    assert rules.affirms("not perforated appendix with abscess", "abscess")


def test_a_negation_is_as_near_as_it_was_however_long_the_text() -> None:
    before = "word " * 100
    assert not is_right(f"{before}no acute appendicitis")
    assert is_right(f"no {before}appendicitis")
    # A word that is cut where looking back ends is no negation.
    assert is_right(f"casino {'x' * 65} {'y' * 65} {'z' * 65} appendicitis")
    for length in range(180, 210):
        assert is_right(f"casino{'-' * length} appendicitis"), length


@pytest.mark.parametrize("treatment", rows("a_treatment_that_must_not_wait_is_asked_for"))
def test_a_treatment_that_must_not_wait_is_asked_for(treatment: str) -> None:
    assert asks_for_antibiotics(treatment)


@pytest.mark.parametrize("treatment", rows("a_treatment_that_is_not_needed_is_not_asked_for"))
def test_a_treatment_that_is_not_needed_is_not_asked_for(treatment: str) -> None:
    assert not asks_for_antibiotics(treatment)


# A change and its organ


@pytest.mark.parametrize(
    ("diagnosis", "pathology"), rows("a_change_of_something_else_is_no_diagnosis")
)
def test_a_change_of_something_else_is_no_diagnosis(diagnosis: str, pathology: str) -> None:
    assert not is_right(diagnosis, pathology)


@pytest.mark.parametrize(("diagnosis", "pathology"), rows("a_change_of_the_organ_is_the_diagnosis"))
def test_a_change_of_the_organ_is_the_diagnosis(diagnosis: str, pathology: str) -> None:
    assert is_right(diagnosis, pathology)


def test_a_lenient_pair_belongs_together_too() -> None:
    assert diagnosis_scores("sigmoid colitis", "diverticulitis", facts()) == (0, 1)
    apart = "ulcerative colitis; sigmoid seen"
    assert diagnosis_scores(apart, "diverticulitis", facts()) == (0, 0)


def test_the_reference_takes_place_and_change_from_anywhere() -> None:
    for text in ("perforated ulcer; the appendix is normal", "rule out inflamed appendix"):
        assert is_right(text, version=1)
        assert not is_right(text)


def test_one_of_several_diagnoses_is_enough() -> None:
    several = " vs ".join(PATHOLOGIES)
    assert all(is_right(several, pathology) for pathology in PATHOLOGIES)


WORDS = st.lists(
    st.sampled_from(
        [
            "appendix",
            "gallbladder",
            "perforated",
            "no",
            "normal",
            "liver",
            "due to",
            ",",
            ";",
            "and",
        ]
    ),
    max_size=12,
).map(" ".join)


@given(WORDS)
def test_a_clause_that_is_right_is_so_beside_any_other(diagnosis: str) -> None:
    assert is_right(f"{diagnosis}; perforated appendix")
    assert is_right(f"perforated appendix; {diagnosis}")
