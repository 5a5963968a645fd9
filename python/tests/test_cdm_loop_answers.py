"""Final answers and lines of the text protocol, read tolerantly and never guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cdm_bedside import facts, mapping
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.loop_actions import arguments_in
from medeval.cdm.loop_answers import FinalAnswer, read_answer, treatments_in
from medeval.cdm.loop_text import read_written
from medeval.cdm.toolbox import TOOLS, Toolbox
from medeval.models.clinical_case import ClinicalCase

WHOLE = '{"thought": "t", "final_diagnosis": "Acute appendicitis", "treatment": ["a", "b"]}'
ANSWER = FinalAnswer("Acute appendicitis", ("a", "b"), "t")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}\n```",
        f"Here is my answer:\n\n{WHOLE}\n\nI hope this helps {{}}.",
        f"Before I wrote {WHOLE.replace('appendicitis', 'colitis')}\nNow:\n{WHOLE}",
        WHOLE.replace('"b"]', '"b",]'),
        WHOLE.replace('"', "'"),
        WHOLE.replace("final_diagnosis", "diagnosis"),
        WHOLE.replace("final_diagnosis", "Final Diagnosis"),
        WHOLE.replace('["a", "b"]', '"a; b"'),
        WHOLE.replace('["a", "b"]', '"1. a\\n2. b"'),
        WHOLE.replace("treatment", "treatments"),
        WHOLE.replace('"t"', '"t"\n'),
        f'{{"x": {{"y": 1}}}} {WHOLE}',
        f"{{ {WHOLE}",
        f'{{"response": {WHOLE}}}',
        f'{{"name": "final_answer", "arguments": {WHOLE}}}',
        f'{{"name": "final_answer", "arguments": {json.dumps(WHOLE)}}}',
        "Of {x} I say " + WHOLE.replace('"', "'") + " and {}",
        WHOLE.replace("appendicitis", "colitis") + " or rather " + WHOLE.replace('"b"]', '"b",]'),
    ],
)
def test_an_answer_is_read_wherever_it_stands(text: str) -> None:
    assert read_answer(text) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Acute appendicitis",
        WHOLE[:-1],
        WHOLE.replace('"Acute appendicitis"', "null"),
        WHOLE.replace('"Acute appendicitis"', '"  "'),
        WHOLE.replace('"Acute appendicitis"', '["Acute appendicitis"]'),
        '{"final_diagnosis": "Acute appendicitis"}',
        WHOLE.replace('["a", "b"]', "null"),
        WHOLE.replace('["a", "b"]', "[1, 2]"),
        f"[{json.dumps(WHOLE)}]",
        f'{{"candidates": [{WHOLE}]}}',
        f'{{"a": {{"b": {WHOLE}}}}}',
        f'{{"before": {WHOLE.replace("appendicitis", "colitis")}, "now": {WHOLE}}}',
        "{'a', 'b'}",
        "{[1]: 2}",
        "{" * 5000,
        "{'a':" * 300,
    ],
)
def test_what_is_no_answer_is_none(text: str) -> None:
    assert read_answer(text) is None


def test_no_treatment_is_an_answer_too() -> None:
    assert read_answer('{"diagnosis": "x", "treatment": []}') == FinalAnswer("x", ())
    assert read_answer('{"diagnosis": "x", "treatment": ["", " "]}') == FinalAnswer("x", ())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_no_text_breaks_the_reading(text: str) -> None:
    read_answer(text)
    read_written(text, TOOLS)


@given(
    diagnosis=st.text(min_size=1, max_size=40).filter(lambda text: text.strip() == text),
    treatment=st.lists(st.text(min_size=1, max_size=20).filter(lambda text: text.strip() == text)),
)
def test_what_is_written_as_asked_is_read_as_written(diagnosis: str, treatment: list[str]) -> None:
    answer = FinalAnswer(diagnosis, tuple(treatment), "because")
    assert read_answer(f"```json\n{json.dumps(answer.as_json(), indent=2)}\n```") == answer


@pytest.mark.parametrize(
    ("text", "treatments"),
    [
        ("a; b", ("a", "b")),
        ("- a\n* b\n• c", ("a", "b", "c")),
        ("1. a\n2) b", ("a", "b")),
        ("fluids, pain control", ("fluids, pain control",)),
        ("", ()),
    ],
)
def test_treatments_are_told_apart(text: str, treatments: tuple[str, ...]) -> None:
    assert treatments_in(text) == treatments


ACTIONS: list[tuple[str, str, str, bool]] = [
    ("Action: physical_examination\nAction Input: none", "physical_examination", "none", False),
    (
        "Thought: x\nAction: request_lab_test\nAction Input: CBC, lipase",
        *("request_lab_test",),
        "CBC, lipase",
        False,
    ),
    (
        "**Action:** request_imaging\n**Action Input:** CT Abdomen",
        "request_imaging",
        "CT Abdomen",
        False,
    ),
    ("action : `request_lab_test`\naction input : Lipase", "request_lab_test", "Lipase", False),
    ("Action: Physical Examination", "physical_examination", "", True),
    ("Action: Laboratory Tests\nInput: CBC\nlipase", "request_lab_test", "CBC\nlipase", True),
    (
        "Action: Imaging\nAction_Input: region: Abdomen, modality: CT",
        "request_imaging",
        "region: Abdomen, modality: CT",
        True,
    ),
    ("Action: request_lab_test(Lipase)", "request_lab_test", "Lipase", True),
    (
        "Action: Diagnostic Criteria\nAction Input: sepsis",
        "retrieve_diagnosis_criteria",
        "sepsis",
        True,
    ),
    ("Action: biopsy\nAction Input: liver", "biopsy", "liver", False),
]


@pytest.mark.parametrize(("text", "action", "asked", "is_custom"), ACTIONS)
def test_an_action_is_read(text: str, action: str, asked: str, is_custom: bool) -> None:
    written = read_written(text, TOOLS)
    assert (written.action, written.action_input, written.is_custom) == (action, asked, is_custom)
    assert written.answer is None


def test_what_the_model_makes_up_as_a_result_is_left_out() -> None:
    text = (
        "Thought: examine\nAction: physical_examination\nAction Input: none\n"
        "Observation: rebound\nDiagnosis: appendicitis\nTreatment: surgery"
    )
    written = read_written(text, TOOLS)
    assert (written.action, written.answer) == ("physical_examination", None)
    assert "rebound" not in written.text
    assert written.text.endswith("Action Input: none")


@pytest.mark.parametrize(
    "text",
    [
        "Thought: t\nDiagnosis: Acute appendicitis\nTreatment: a; b",
        "Thought: t\nFinal Diagnosis: Acute appendicitis\nTreatment:\n1. a\n2. b",
        "**Thought:** t\n**Diagnosis:** Acute appendicitis\n**Treatment Plan:**\n- a\n- b",
        WHOLE,
    ],
)
def test_a_decision_in_lines_is_read(text: str) -> None:
    written = read_written(text, TOOLS)
    assert (written.action, written.answer) == ("", ANSWER)
    assert written.is_custom == (text == WHOLE)


@pytest.mark.parametrize(
    "text", ["", "I think so.", "Diagnosis: appendicitis", "Action:", "Treatment: a"]
)
def test_lines_that_say_nothing_whole_are_neither(text: str) -> None:
    written = read_written(text, TOOLS)
    assert (written.action, written.answer) == ("", None)


def definition(name: str, of: ClinicalCase) -> dict[str, Any]:
    tools = Toolbox(of, facts(), mapping=mapping()).definitions()
    return next(tool for tool in tools if tool["function"]["name"] == name)


@pytest.mark.parametrize(
    ("tool", "text", "arguments"),
    [
        ("request_lab_test", "CBC, lipase", {"test_name": "CBC, lipase"}),
        ("request_lab_test", '"CBC"', {"test_name": "CBC"}),
        ("request_lab_test", '{"test_name": "CBC"}', {"test_name": "CBC"}),
        ("request_imaging", "CT Abdomen", {"region": "CT Abdomen", "modality": "CT Abdomen"}),
        ("request_imaging", "region=Abdomen, modality=CT", {"region": "Abdomen", "modality": "CT"}),
        ("request_imaging", "Modality: CT; Region: Chest", {"region": "Chest", "modality": "CT"}),
        ("physical_examination", "none", {}),
    ],
)
def test_the_input_of_an_action_becomes_arguments(
    tool: str, text: str, arguments: dict[str, str]
) -> None:
    from cdm_bedside import case

    assert arguments_in(text, definition(tool, case())) == arguments
