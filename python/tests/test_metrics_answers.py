"""Answers as texts, ranked diagnoses, stated confidence, and classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from medeval.metrics.classes import macro_scores
from medeval.metrics.confidence import (
    confidence_of,
    expected_calibration_error,
    squared_error,
)
from medeval.metrics.matching import (
    Synonyms,
    common_synonyms,
    exact_match,
    normalised,
    ranking,
    reciprocal_rank,
    token_f1,
    tokens,
    top_k,
)
from medeval.metrics.text import text_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Heart \n rate. ", "heart rate"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("\uff11\uff12\uff10", "120"),
        ('"Sepsis!"', "sepsis"),
        ("(type 2) diabetes", "type 2) diabetes"),
        ("5%", "5%"),
        ("Rh-", "rh-"),
        ("HER2+", "her2+"),
        ("高血压。", "高血压"),
        ("...", ""),
    ],
)
def test_normalised(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("Insulin", "insulin.", 1.0),
        ("M\u00e9ni\u00e8re", "Me\u0301nie\u0300re", 1.0),
        ("5%", "5", 0.0),
        ("metformin", "not metformin", 0.0),
        ("fever", "", 0.0),
        ("", "fever", None),
    ],
)
def test_exact_match(reference: str, hypothesis: str, expected: float | None) -> None:
    assert exact_match(reference, hypothesis) == expected


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("Chest pain, resolved", "resolved chest pain", 1.0),
        ("pain pain", "pain", 2 / 3),
        ("fever", "cough", 0.0),
        ("高血压", "低血压", 2 / 3),
        ("fever", "", 0.0),
        ("!", "!", None),
    ],
)
def test_token_f1(reference: str, hypothesis: str, expected: float | None) -> None:
    assert token_f1(reference, hypothesis) == pytest.approx(expected)


def test_a_cjk_character_is_a_token() -> None:
    assert tokens("BP高 120/80,") == ["bp", "高", "120/80"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (5.0, "5"),
        (3.5, "3.5"),
        (["fever", None, 3], "fever\n\n3"),
        ({"a": "x", "b": ["y"]}, "x\ny"),
    ],
)
def test_text_of(value: object, expected: str) -> None:
    assert text_of(value) == expected


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        ("myocardial infarction", "MI"),
        ("acute myocardial infarction", "Acute MI."),
        ("CHF", "congestive heart failure"),
        ("COPD exacerbation", "chronic obstructive pulmonary disease exacerbation"),
        ("Type 2 diabetes", "T2DM"),
        ("heart attack", "MI"),
        ("acute coronary syndrome", "Acute Coronary Syndrome (ACS)"),
        ("MI with shock", "Myocardial infarction (MI) with shock"),
    ],
)
def test_abbreviations_are_written_out(reference: str, hypothesis: str) -> None:
    assert common_synonyms().same(reference, hypothesis) == 1
    assert common_synonyms().same(hypothesis, reference) == 1


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        ("MI", "NSTEMI"),
        ("type 1 diabetes", "type 2 diabetes"),
        ("PE", "pneumonia"),
        ("PE", ""),
        ("pneumonia", "pneumonia (viral)"),
        ("sepsis", "(MI) sepsis"),
        ("MI", "()"),
    ],
)
def test_other_diagnoses_stay_other(reference: str, hypothesis: str) -> None:
    assert common_synonyms().same(reference, hypothesis) == 0


@pytest.mark.parametrize(
    "name",
    ["MI", "CHF", "COPD", "PE", "DVT", "AKI", "CKD", "TIA", "UTI", "GERD", "AF", "HTN", "DM"],
)
def test_common_abbreviations_are_known(name: str) -> None:
    assert common_synonyms().expanded(name) != normalised(name)


def test_one_name_for_two_diseases_is_refused() -> None:
    with pytest.raises(ValueError, match="names both"):
        Synonyms({"multiple sclerosis": ["MS"], "mitral stenosis": ["MS"]})


def test_the_diagnosis_is_the_first_choice() -> None:
    output = {"diagnosis": "MI", "differential_diagnosis": ["PE", "MI", "", None, "sepsis"]}
    assert ranking(output) == ["MI", "PE", "sepsis"]
    assert ranking({"differential_diagnosis": "PE"}) == ["PE"]
    assert ranking({}) == []


@pytest.mark.parametrize(
    ("reference", "k", "expected"),
    [
        ("myocardial infarction", 1, 1.0),
        ("pulmonary embolism", 1, 0.0),
        ("pulmonary embolism", 3, 1.0),
        ("gout", 5, 0.0),
        ("", 5, None),
    ],
)
def test_top_k(reference: str, k: int, expected: float | None) -> None:
    assert top_k(reference, ["MI", "PE", "sepsis"], k, common_synonyms()) == expected


@pytest.mark.parametrize(
    ("reference", "expected"), [("MI", 1.0), ("PE", 1 / 2), ("gout", 0.0), (" ", None)]
)
def test_reciprocal_rank(reference: str, expected: float | None) -> None:
    # Two names of one diagnosis take one place.
    ranked = ["MI", "heart attack", "pulmonary embolism"]
    assert reciprocal_rank(reference, ranked, common_synonyms()) == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (0.92, 0.92),
        ("0.5", 0.5),
        (1, 1.0),
        (0, 0.0),
        (92, None),
        (-0.1, None),
        ("high", None),
        (True, None),
        (float("nan"), None),
        (None, None),
    ],
)
def test_a_confidence_is_a_number_from_0_to_1(stated: object, expected: float | None) -> None:
    assert confidence_of({"confidence": stated}) == expected


def test_squared_error() -> None:
    assert squared_error(0.8, 1) == pytest.approx(0.04)
    assert squared_error(1, 0) == 1


def test_calibration_error_is_the_mean_distance_over_bins() -> None:
    # Four at 0.75, half of them right: 0.25 off. One right at 1.0: in the last bin, on the spot.
    counts = {(0.75, 1.0): 2, (0.75, 0.0): 2, (1.0, 1.0): 1}
    assert expected_calibration_error(counts) == pytest.approx(0.25 * 4 / 5)
    assert expected_calibration_error({}) is None


LABELS = st.sampled_from(["entailment", "neutral", "contradiction", "no idea"])


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40))
def test_macro_scores_equal_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    scores = macro_scores({pair: pairs.count(pair) for pair in pairs})
    wanted, guessed = np.array(pairs).T
    expected = precision_recall_fscore_support(
        wanted, guessed, labels=sorted(set(wanted)), average="macro", zero_division=0
    )
    assert scores is not None
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx(expected[:3])


def test_no_pairs_have_no_macro_scores() -> None:
    assert macro_scores({}) is None
