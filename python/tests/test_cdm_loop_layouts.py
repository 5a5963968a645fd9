"""Layouts of the text protocol that models are used to write, each read for what it says."""

# Full-width signs and curved quotes are what models write.
# ruff: noqa: RUF001

from __future__ import annotations

from typing import Any

import pytest
from cdm_bedside import facts
from hypothesis import given
from hypothesis import strategies as st

from medeval.cdm.loop_actions import arguments_in
from medeval.cdm.loop_text import read_written
from medeval.cdm.tools.definitions import TOOLS, definition
from medeval.cdm.tools.imaging_words import understood

LAB, IMAGING, EXAM = "request_lab_test", "request_imaging", "physical_examination"
JSON = '{"test_name": "CBC"}'


def asked(text: str) -> tuple[str, dict[str, Any]]:
    """Return the tool that a reply asks for, and the arguments of its call."""
    written = read_written(text, TOOLS)
    assert written.answer is None
    tool = written.action
    return tool, arguments_in(written.action_input, definition(tool)) if tool in TOOLS else {}


@pytest.mark.parametrize(
    "text",
    [
        "Action: request_lab_test: CBC",
        "Action: request_lab_test CBC",
        "Action: request_lab_test - CBC",
        "Action: request_lab_test\nCBC",
        "Action: request_lab_test\ntest_name: CBC",
        "Action: request_lab_test\nTest Name: CBC",
        "Action: `request_lab_test`(CBC)",
        "Action: request_lab_test[CBC]",
        'Action: request_lab_test(test_name="CBC")',
        "Action: Laboratory Tests: CBC",
        "Action: Laboratory Tests\nInput: CBC",
        "Action: request_lab_test Action Input: CBC",
        "1. Action: request_lab_test\n2. Action Input: CBC",
        "Action 1: request_lab_test\nAction Input 1: CBC",
        "Step 1: Action: request_lab_test\nAction Input: CBC",
        "`Action: request_lab_test`\n`Action Input: CBC`",
        "```\nAction: request_lab_test\nAction Input: CBC\n```",
        "### Action\nrequest_lab_test\n### Action Input\nCBC",
        "**Action**\nrequest_lab_test\n**Action Input**\nCBC",
        "Action： request_lab_test\nAction Input： CBC",
        f"Action: request_lab_test\nAction Input: ```json\n{JSON}\n```",
        f"Action: request_lab_test\nAction Input:\n```\n{JSON}\n```",
        f"Action: request_lab_test\nAction Input: {JSON}",
        "Action: request_lab_test\nAction Input: {'test_name': 'CBC'}",
        'Action: request_lab_test\nAction Input: {"test": "CBC"}',
        'Action: request_lab_test\nAction Input: ["CBC"]',
        "Action: request_lab_test\nAction Input: CBC\nPAUSE",
        "Action: request_lab_test\nAction Input: CBC\n(Waiting for the Observation)",
        "Action: request_lab_test\nAction Input: CBC\n\nI will wait for the observation.",
        "Action: request_lab_test\nAction Input: CBC\n\nI’ll now stop and wait.",
        "Action: request_lab_test\nAction Input: CBC\n\nOnce the result is there I shall go on.",
        "Action: request_lab_test\nAction Input: CBC Observation: Lipase 900",
        "Action: request_lab_test\nAction Input: CBC\n### Observation\nLipase 900",
        "Action: request_lab_test\nAction Input: CBC\nObservation 1: Lipase 900",
        '{"action": "request_lab_test", "action_input": "CBC"}',
        f'<tool_call>{{"name": "request_lab_test", "arguments": {JSON}}}</tool_call>',
    ],
)
def test_an_action_with_its_input_is_read_in_every_layout(text: str) -> None:
    assert asked(text) == (LAB, {"test_name": "CBC"})


@pytest.mark.parametrize(
    "text",
    [
        "Action: request_imaging\nRegion: Abdomen\nModality: CT",
        "Action: request_imaging\nAction Input:\n- **Region:** Abdomen\n- **Modality:** CT",
        "Action: request_imaging\nAction Input: region: Abdomen modality: CT",
        'Action: request_imaging(region="Abdomen", modality="CT")',
        'Action: request_imaging("Abdomen", "CT")',
        'Action: request_imaging\nAction Input: {"Region": "Abdomen", "Modality": "CT"}',
        "Action: request_imaging: CT abdomen",
        "Action: Imaging (CT)\nAction Input: abdomen",
        "Action: CT scan\nAction Input: abdomen",
        'Action: CT scan\nAction Input: {"region": "abdomen"}',
        "Action: CT scan\nRegion: abdomen",
        "Action: CT scan of the abdomen",
        "Action: CT scan (abdomen)",
        "Action: Abdominal CT\nAction Input: none",
    ],
)
def test_an_image_is_asked_for_in_every_layout(text: str) -> None:
    tool, arguments = asked(text)
    request = understood(arguments["region"], arguments["modality"], facts().imaging)
    assert (tool, request.region, request.modality) == (IMAGING, "Abdomen", "CT")


@pytest.mark.parametrize(
    ("said", "modality"),
    [
        ("Ultrasound", "Ultrasound"),
        ("Abdominal ultrasound", "Ultrasound"),
        ("US", "Ultrasound"),
        ("MRI", "MRI"),
        ("X-ray", "Radiograph"),
    ],
)
def test_a_modality_as_action_is_imaging(said: str, modality: str) -> None:
    tool, arguments = asked(f"Action: {said}\nAction Input: abdomen")
    request = understood(arguments["region"], arguments["modality"], facts().imaging)
    assert (tool, request.region, request.modality) == (IMAGING, "Abdomen", modality)


def test_a_list_of_tests_goes_on_behind_an_empty_line() -> None:
    text = "Action: request_lab_test\nAction Input:\n- CBC\n\n- lipase\n\nThen I shall see."
    assert asked(text) == (LAB, {"test_name": "- CBC\n\n- lipase"})
    listed = 'Action: request_lab_test\nAction Input: ["CBC", "lipase"]'
    assert asked(listed) == (LAB, {"test_name": "CBC\nlipase"})


def test_of_several_actions_the_first_is_taken_with_no_input_but_its_own() -> None:
    both = f"Action: {EXAM}\nAction: {LAB}\nAction Input: CBC"
    written = read_written(both, TOOLS)
    assert (written.action, written.action_input) == (EXAM, "")
    both = f"Action: {LAB}\nAction Input: CBC\nAction: {IMAGING}\nAction Input: CT abdomen"
    assert asked(both) == (LAB, {"test_name": "CBC"})


@pytest.mark.parametrize(
    ("text", "is_custom"),
    [
        ("Diagnosis: Colitis\nTreatment: a; b", False),
        ("**Diagnosis:** Colitis\n**Treatment:** a; b", False),
        ("Primary Diagnosis: Colitis\nTreatment: a; b", False),
        ("Most Likely Diagnosis: Colitis\nTreatment: a; b", False),
        ("Diagnosis: Ileus\nFinal Diagnosis: Colitis\nTreatment: a; b", False),
        ("Diagnosis: Colitis\nDifferential Diagnosis: ileus\nTreatment: a; b", False),
        ("Diagnosis: Colitis\r\nTreatment: a\r\nb\r\n", False),
        ("Diagnosis: Colitis Treatment: a; b", True),
        ("Diagnosis: Colitis; Treatment: a; b", True),
        ("Treatment: a; b\nDiagnosis: Colitis", True),
        ("1. Diagnosis: Colitis\n2. Treatment: a; b", True),
        ("## Final Diagnosis\nColitis\n\n## Treatment\n- a\n- b", True),
        ("## Observations\nof the history\n## Diagnosis\nColitis\n## Treatment\na\nb", True),
        ("Diagnosis： Colitis\nTreatment： a; b", True),
        ("Action: Final Answer\nAction Input: Diagnosis: Colitis\nTreatment: a; b", True),
        ("Action: Final Answer: Diagnosis: Colitis\nTreatment: a; b", True),
        ("Action: Provide the final diagnosis\nDiagnosis: Colitis\nTreatment: a; b", True),
        ("Action: Diagnose\nAction Input: none\nDiagnosis: Colitis\nTreatment: a; b", True),
        ("Final Answer: Diagnosis: Colitis\nTreatment: a; b", True),
        ('{"answer": {"diagnosis": "Colitis", "treatment": ["a", "b"]}}', True),
    ],
)
def test_an_answer_is_read_in_every_layout(text: str, is_custom: bool) -> None:
    written = read_written(text, TOOLS)
    assert (written.action, written.is_custom) == ("", is_custom)
    assert written.answer is not None
    assert (written.answer.final_diagnosis, written.answer.treatment) == ("Colitis", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        # A guess on the way is no answer.
        ("Thought: Diagnosis: colitis?\nAction: request_lab_test\nAction Input: CBC", LAB),
        ("Diagnosis: open\nAction: request_lab_test\nAction Input: CBC\nTreatment: a", LAB),
        ("Treatment: fluids for now\nAction: request_lab_test\nAction Input: CBC", LAB),
        # A tool that there is not is told so.
        ("Action: Diagnosis\nAction Input: colitis", "Diagnosis"),
        ("Action: CBC\nAction Input: none", "CBC"),
        ("Action: Finish, but first\nAction: request_lab_test", "Finish, but first"),
        # Words of a sentence are no labels.
        ("The diagnosis: colitis, and the treatment: a", ""),
        ("Differential Diagnosis: colitis\nTreatment: a", ""),
        ("Diagnosis: abscess after failed treatment: see above", ""),
    ],
)
def test_what_is_no_answer_stays_none(text: str, action: str) -> None:
    written = read_written(text, TOOLS)
    assert (written.action, written.answer) == (action, None)


@pytest.mark.parametrize(
    "made_up",
    [
        "\nObservation: rebound\nDiagnosis: colitis\nTreatment: a",
        "\n**Observation:** rebound\nDiagnosis: colitis\nTreatment: a",
        "\n## Observation\nrebound\nDiagnosis: colitis\nTreatment: a",
        "\n2. Observation 1: rebound\nDiagnosis: colitis\nTreatment: a",
        "\nObservation： rebound\nDiagnosis: colitis\nTreatment: a",
        " Observation: rebound\nDiagnosis: colitis\nTreatment: a",
    ],
)
def test_a_result_that_the_model_made_up_is_never_read(made_up: str) -> None:
    written = read_written(f"Action: {EXAM}\nAction Input: none{made_up}", TOOLS)
    assert (written.action, written.answer) == (EXAM, None)
    assert written.text == f"Action: {EXAM}\nAction Input: none"


@given(st.lists(st.sampled_from([
    *("Action", "Action Input", "Diagnosis", "Treatment", "Observation", "Thought", "Final Answer"),
    *(":", "：", "\n", " ", "#", "**", "`", "```", "1.", "{", "}", "'", '"', "[", "(", ")"),
    *(*TOOLS, "CT", "CBC", "none", "I will wait"),
]), max_size=30))  # fmt: skip
def test_no_layout_breaks_the_reading(parts: list[str]) -> None:
    text = "".join(parts)
    written = read_written(text, TOOLS)
    assert text.startswith(written.text)
    assert not (written.action and written.answer)
    for tool in TOOLS:
        arguments_in(written.action_input, definition(tool))
