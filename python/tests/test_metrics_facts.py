"""Number facts, concepts with polarity, claims, reasons and readability."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.metrics.concepts import Lexicon, common_lexicon, concept_f1
from medeval.metrics.consistency import supported_share
from medeval.metrics.item import Item
from medeval.metrics.number_facts import (
    UNITS,
    number_facts,
    number_precision,
    number_recall,
)
from medeval.metrics.readability import grade
from medeval.metrics.reasoning import evidence_rate, rationale_f1

LEXICON = Lexicon(
    {
        "fever": ["fever", "febrile"],
        "cough": ["cough"],
        "rash": ["rash"],
        "pain": ["pain"],
        "chest_pain": ["chest pain"],
        "chest_pain_on_effort": ["chest pain on effort"],
        "crohn": ["Crohn's disease"],
        "高血压": ["高血压"],
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500mg, 500 mg, 500-mg", [("500", "mg")]),
        ("3.50 05 0.0 0", [("3.5", None), ("5", None), ("0", None)]),
        ("12,000 and 1,234,567.80", [("12000", None), ("1234567.8", None)]),
        ("1,5 or 1,2345", [("1", None), ("5", None), ("2345", None)]),
        ("given .5 mg", [("0.5", "mg")]),
        ("120/80 mmHg on 01/02/2024", [("120/80", "mmhg"), ("1/2/2024", None)]),
        ("3-5 days", [("3", None), ("5", "day")]),
        (
            "-5 (-6) \u22127 8-9 x -0",
            [(value, None) for value in ("-5", "-6", "-7", "8", "9", "0")],
        ),
        ("B12 T4 COVID-19 HbA1c L4/5", []),
        (
            "58-year-old, 2 YEARS, 1 hr, 12h",
            [("58", "year"), ("2", "year"), ("1", "hour"), ("12", "hour")],
        ),
        ("10 µg 11 μg 12 ug 13 mcg", [(value, "mcg") for value in ("10", "11", "12", "13")]),
        ("5 mg/kg and 5 mmol/L", [("5", None), ("5", "mmol/l")]),
        ("55% or 56 percent", [("55", "%"), ("56", "%")]),
        ("8\uff10 bpm, \u0661\u0660 cm", [("80", "bpm"), ("10", "cm")]),
        ("血压120/80\uff0c每日5mg。3级", [("120/80", None), ("5", "mg"), ("3", None)]),
        ("WBC 12 x 10⁹/L, 10^12", [("12", None), ("10", None)]),
        ("cough\n45\n-3 L\n5", [("45", None), ("-3", "l"), ("5", None)]),
        ("140/90 mm Hg, 5 mm high", [("140/90", "mmhg"), ("5", "mm")]),
        ("score 3 - L arm", [("3", None)]),
        ("no numbers", []),
    ],
)
def test_number_facts(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert number_facts(text) == expected


@pytest.mark.parametrize("spelling", UNITS)
def test_every_unit_is_read_glued_and_spaced(spelling: str) -> None:
    for text in (f"7{spelling}", f"7 {spelling}", f"7-{spelling}", f"7 {spelling.upper()}."):
        assert number_facts(text) == [("7", UNITS[spelling])]


@given(st.integers(0, 10**9), st.integers(0, 6), st.booleans())
def test_equal_numbers_have_one_spelling(value: int, zeros: int, commas: bool) -> None:
    written = f"{value:,}" if commas else str(value)
    padded = f"{written}.{'0' * zeros}" if zeros else written
    assert number_facts(padded) == [(str(value), None)]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "source", "precision", "recall"),
    [
        ("5 mg", "5 g", "", 0.0, 0.0),
        ("5 mg", "5", "", 1.0, 1.0),
        ("HR 80", "HR 80, RR 16, T 40", "RR 16", 2 / 3, 1.0),
        ("5 mg", "none", "", None, 0.0),
        ("none", "5 mg", "", 0.0, None),
        ("120/80", "120 over 80", "", 0.0, 0.0),
    ],
)
def test_number_precision_and_recall(
    reference: str, hypothesis: str, source: str, precision: float | None, recall: float | None
) -> None:
    assert number_precision(reference, hypothesis, source) == precision
    assert number_recall(reference, hypothesis) == recall


@pytest.mark.parametrize(
    ("text", "affirmed", "negated"),
    [
        ("Fever and cough", {"fever", "cough"}, set()),
        ("no fever, cough or rash", set(), {"fever", "cough", "rash"}),
        ("no fever but cough", {"cough"}, {"fever"}),
        ("No fever; cough", {"cough"}, {"fever"}),
        ("No fever\ncough", {"cough"}, {"fever"}),
        ("No fever. Cough", {"cough"}, {"fever"}),
        ("No fever however cough", {"cough"}, {"fever"}),
        ("no temperature of 38.5 or fever", set(), {"fever"}),
        ("no one two three four fever", set(), {"fever"}),
        ("no one two three four five fever", {"fever"}, set()),
        ("negative for fever, absence of cough, free of rash", set(), {"fever", "cough", "rash"}),
        ("denies fever; denied cough; without rash", set(), {"fever", "cough", "rash"}),
        ("never febrile, not in pain", set(), {"fever", "pain"}),
        ("negative fever", {"fever"}, set()),
        ("fever: no", {"fever"}, set()),
        ("fever, no", {"fever"}, set()),
        ("no fever. Fever today", {"fever"}, {"fever"}),
        ("chest pain on effort, pain", {"chest_pain_on_effort", "pain"}, set()),
        ("chest. Pain", {"pain"}, set()),
        ("feverish, coughing", set(), set()),
        ("CROHN'S DISEASE", {"crohn"}, set()),
        ("患者高血压病史", {"高血压"}, set()),
        ("", set(), set()),
    ],
)
def test_findings(text: str, affirmed: set[str], negated: set[str]) -> None:
    expected = {(concept, "affirmed") for concept in affirmed}
    expected |= {(concept, "negated") for concept in negated}
    assert LEXICON.findings(text) == expected


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("fever, cough", "fever, cough", 1.0),
        ("fever, cough", "fever", 2 / 3),
        ("no fever", "fever", 0.0),
        ("fever", "well", 0.0),
        ("well", "fever", 0.0),
        ("well", "well", None),
    ],
)
def test_concept_f1(reference: str, hypothesis: str, expected: float | None) -> None:
    found = concept_f1(LEXICON.findings(reference), LEXICON.findings(hypothesis))
    assert found == pytest.approx(expected)


def test_a_lexicon_refuses_what_it_cannot_tell_apart() -> None:
    with pytest.raises(ValueError, match="means both 'a' and 'b'"):
        Lexicon({"a": ["Fever"], "b": ["fever"]})
    with pytest.raises(ValueError, match="without a word"):
        Lexicon({"a": ["-"]})


def test_the_lexicon_that_comes_along_knows_common_words() -> None:
    text = "58M with HTN and DM, short of breath, denies chest pain. Started aspirin."
    assert common_lexicon().findings(text) == {
        ("hypertension", "affirmed"),
        ("diabetes", "affirmed"),
        ("dyspnea", "affirmed"),
        ("chest_pain", "negated"),
        ("aspirin", "affirmed"),
    }


@pytest.mark.parametrize(
    ("text", "by", "expected"),
    [
        ("fever 39", ("fever", "T 39"), 1.0),
        ("fever 40", ("fever", "T 39"), 0.5),
        ("fever", ("no fever", ""), 0.0),
        ("doing well", ("fever", ""), None),
        ("", ("fever", ""), None),
    ],
)
def test_claims_are_supported_by_any_of_the_others(
    text: str, by: tuple[str, ...], expected: float | None
) -> None:
    assert supported_share(text, by, LEXICON) == expected


def item(reference: dict[str, object], output: dict[str, object]) -> Item:
    source = {"id": 77, "case": "Fever of 39, no cough", "age": 45}
    return Item(source, reference, output, "diagnosis")


def test_a_rationale_is_compared_with_the_references() -> None:
    reference = {"rationale": "high fever"}
    assert rationale_f1(item(reference, {"explanation": "High fever."})) == 1
    assert rationale_f1(item(reference, {"explanation": "", "rationale": "fever"})) == 2 / 3
    assert rationale_f1(item(reference, {})) == 0
    assert rationale_f1(item({}, {"rationale": "fever"})) is None


def test_evidence_is_what_the_case_has() -> None:
    def rate(reasons: str) -> float | None:
        return evidence_rate(item({}, {"rationale": reasons}), LEXICON)

    assert rate("because of fever at 45 years") == 1
    assert rate("because of fever and cough") == 0.5
    assert rate("record 77") == 0  # an id is not part of the case
    assert rate("just so") is None
    assert evidence_rate(item({}, {}), LEXICON) is None


def test_grade_is_flesch_kincaids() -> None:
    # Six words of one syllable; then five in two sentences, of which "table" has two.
    assert grade("The cat sat on the mat.") == pytest.approx(0.39 * 6 + 11.8 - 15.59)
    assert grade("Take the table home. Rest.") == pytest.approx(0.39 * 5 / 2 + 11.8 * 6 / 5 - 15.59)


def test_longer_words_and_sentences_are_harder() -> None:
    easy = grade("Drink water. Rest well.")
    hard = grade("Adequate hydration and considerable relaxation are recommended.")
    assert easy is not None
    assert hard is not None
    assert easy < hard


@pytest.mark.parametrize("text", ["", "120/80", "多喝水", "Drink water 多喝水"])
def test_no_grade_without_words_or_with_cjk(text: str) -> None:
    assert grade(text) is None


def test_a_decimal_point_ends_no_sentence() -> None:
    assert grade("Take 2.5 pills") == grade("Take pills")
    assert grade("Don\u2019t stop") == grade("Don't stop")
