"""Final answers of CDM in JSON; how JSON itself is read is held by readers/test_json_replies.py."""

from __future__ import annotations

import json

import pytest
from cdm_cases import rows
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.tool_protocols import FinalAnswer, partial_answer, read_answer, treatments_in

WHOLE = '{"thought": "t", "final_diagnosis": "Acute appendicitis", "treatment": ["a", "b"]}'
ANSWER = FinalAnswer("Acute appendicitis", ("a", "b"), "t")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"Before I wrote {WHOLE.replace('appendicitis', 'colitis')}\nNow:\n```json\n{WHOLE}\n```",
        WHOLE.replace("final_diagnosis", "Final Diagnosis"),
        WHOLE.replace("final_diagnosis", "diagnosis").replace("treatment", "treatments"),
        WHOLE.replace('["a", "b"]', '"a; b"'),
        WHOLE.replace('["a", "b"]', '"1. a\\n2. b"'),
        f'{{"name": "final_answer", "arguments": {WHOLE}}}',
        f'{{"name": "final_answer", "arguments": {json.dumps(WHOLE)}}}',
    ],
)
def test_answer_is_read_under_each_of_its_names(text: str) -> None:
    assert read_answer(text) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "Acute appendicitis",
        WHOLE.replace('"Acute appendicitis"', '"  "'),
        WHOLE.replace('"Acute appendicitis"', '["Acute appendicitis"]'),
        '{"final_diagnosis": "Acute appendicitis"}',
        WHOLE.replace('["a", "b"]', "[1, 2]"),
        f'{{"candidates": [{WHOLE}]}}',
        f'{{"before": {WHOLE.replace("appendicitis", "colitis")}, "now": {WHOLE}}}',
    ],
)
def test_what_is_no_whole_answer_is_none(text: str) -> None:
    assert read_answer(text) is None


def test_no_treatment_is_an_answer_too() -> None:
    assert read_answer('{"diagnosis": "x", "treatment": ["", " "]}') == FinalAnswer("x", ())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_no_text_breaks_the_reading(text: str) -> None:
    read_answer(text)
    partial_answer(text)


@given(
    diagnosis=st.text(min_size=1, max_size=40).filter(lambda text: text.strip() == text),
    treatment=st.lists(st.text(min_size=1, max_size=20).filter(lambda text: text.strip() == text)),
)
def test_what_is_written_as_asked_is_read_as_written(diagnosis: str, treatment: list[str]) -> None:
    answer = FinalAnswer(diagnosis, tuple(treatment), "because")
    assert read_answer(f"```json\n{json.dumps(answer.as_json(), indent=2)}\n```") == answer


@pytest.mark.parametrize(("text", "treatments"), rows("treatments_are_told_apart"))
def test_treatments_are_told_apart(text: str, treatments: list[str]) -> None:
    assert list(treatments_in(text)) == treatments
