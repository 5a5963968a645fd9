"""The text protocol: one layout, read whatever its case, blanks, fences, marks and numbers."""

# Full-width signs and curved quotes are what models write.

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import CT, EXAMINATION, bedside, case, facts, in_order, loops
from cdm_cases import rows
from hypothesis import given
from hypothesis import strategies as st
from model_server import Body, Fault, Script, model_server, refuses

from medeval.cdm import prompts
from medeval.cdm.episode import LoopOptions, Transcript, read_transcripts
from medeval.cdm.tool_protocols import FinalAnswer, arguments_in, read_text_reply
from medeval.cdm.tools import ARGUMENTS, TOOLS, understood
from medeval.inference.types import Outcome

LAB, IMAGING, EXAM = "request_lab_test", "request_imaging", "physical_examination"
JSON = '{"test_name": "CBC"}'
WHOLE = '{"thought": "t", "final_diagnosis": "Colitis", "treatment": ["a", "b"]}'
EXAMINE = "Thought: look\nAction: physical_examination\nAction Input: none"
DECIDED = "Thought: sure\nDiagnosis: Acute appendicitis\nTreatment: surgery; antibiotics"


def asked(text: str) -> tuple[str, dict[str, Any], bool]:
    """Return the tool that a reply asks for, the arguments, and whether it is as asked for."""
    reply = read_text_reply(text, TOOLS)
    assert reply.answer is None
    (call,) = reply.calls
    return call.name, dict(call.arguments or {}), not reply.customs


@pytest.mark.parametrize(
    ("text", "is_as_asked"),
    [
        ("Thought: x\nAction: request_lab_test\nAction Input: CBC", True),
        ("action : `request_lab_test`\nACTION INPUT :  CBC  ", True),
        ("**Action:** request_lab_test\n**Action Input:** CBC\n\nI will wait.", True),
        ("```\nAction: request_lab_test\nAction Input: CBC\n```", True),
        ("`Action: request_lab_test`\n`Action Input: CBC`", True),
        ("Action: request_lab_test\nAction_Input: test_name: CBC", True),
        (f"Action: request_lab_test\nAction Input: {JSON}", True),
        (f"Action: request_lab_test\nAction Input:\n```json\n{JSON}\n```", True),
        ("Action: request_lab_test\nAction Input: {'Test Name': 'CBC'}", True),
        ("Action: request_lab_test\nAction Input: CBC Observation: Lipase 900", True),
        ("Action: request_lab_test\nAction Input: CBC\n### Observation\nLipase 900", True),
        ("Action: Request Lab Test\nAction Input: CBC", False),
        ("1. Action: request_lab_test\n2. Action Input: CBC", False),
        ("Action 1: request_lab_test\nAction Input 1: CBC\nObservation 1: Lipase 900", False),
        ("Step 1: Action: request_lab_test\nAction Input: CBC", False),
        ("### Action\nrequest_lab_test\n### Action Input\nCBC", False),
        ("Action： request_lab_test\nAction Input： CBC", False),
    ],
)
def test_action_in_the_layout_is_read_and_a_deviation_is_counted(
    text: str, is_as_asked: bool
) -> None:
    assert asked(text) == (LAB, {"test_name": "CBC"}, is_as_asked)


@pytest.mark.parametrize("given_as", rows("two_arguments_are_told_apart"))
def test_two_arguments_are_told_apart(given_as: str) -> None:
    tool, arguments, _ = asked(f"Action: request_imaging\nAction Input: {given_as}")
    request = understood(arguments["region"], arguments["modality"], facts().imaging)
    assert (tool, request.region, request.modality) == (IMAGING, "Abdomen", "CT")


@pytest.mark.parametrize(
    ("text", "is_as_asked"),
    [
        ("Thought: t\nDiagnosis: Colitis\nTreatment: a; b", True),
        ("**Thought:** t\n**Final Diagnosis:** Colitis\n**Treatment Plan:**\n1. a\n2. b", True),
        ("Thought: t\nDiagnosis: Ileus\nFinal Diagnosis: Colitis\nTreatment: a; b", True),
        ("Thought: t\nDiagnosis: Colitis\nDifferential diagnosis: ileus\nTreatment: a; b", True),
        ("Thought: t\r\nTREATMENT: a\r\nb\r\ndiagnosis: Colitis\r\n", True),
        ("1. Thought: t\n2. Diagnosis: Colitis\n3. Treatment: a; b", False),
        ("## Thought\nt\n## Final Diagnosis\nColitis\n\n## Treatment\n- a\n- b", False),
        ("Thought： t\nDiagnosis： Colitis\nTreatment： a; b", False),
        (f"I have decided:\n```json\n{WHOLE}\n```", False),
    ],
)
def test_answer_in_the_layout_is_read(text: str, is_as_asked: bool) -> None:
    reply = read_text_reply(text, TOOLS)
    assert (reply.calls, bool(reply.customs)) == ((), not is_as_asked)
    assert reply.answer == FinalAnswer("Colitis", ("a", "b"), "t")


@pytest.mark.parametrize(
    ("text", "action"),
    [
        # A guess on the way is no answer.
        (f"Thought: Diagnosis: colitis?\nAction: {LAB}\nAction Input: CBC", LAB),
        (f"Diagnosis: open\nAction: {LAB}\nAction Input: CBC\nTreatment: a", LAB),
        # The first of several actions, with no input but its own.
        (f"Action: {EXAM}\nAction: {LAB}\nAction Input: CBC", EXAM),
        # No other layout: these are calls of tools that there are not.
        ("Action: request_lab_test(CBC)\nAction Input: none", "request_lab_test(CBC)"),
        ("Action: CT scan\nAction Input: abdomen", "CT scan"),
        (f"Action: Final Answer\n{DECIDED}", "Final Answer"),
        # Neither an action nor an answer.
        ("I think so.", ""),
        ("Action:", ""),
        ("Diagnosis: appendicitis", ""),
        ("The diagnosis: colitis, and the treatment: a", ""),
        ("Differential Diagnosis: colitis\nTreatment: a", ""),
        (f'<tool_call>{{"name": "{LAB}", "arguments": {JSON}}}</tool_call>', ""),
    ],
)
def test_what_is_in_another_layout_is_no_answer(text: str, action: str) -> None:
    reply = read_text_reply(text, TOOLS)
    assert ("".join(call.name for call in reply.calls), reply.answer) == (action, None)


@pytest.mark.parametrize(
    "made_up",
    ["\nObservation:", "\n**Observation:**", "\n## Observation\n", "\n2. Observation 1:",
     "\nObservation：", " Observation:"],
)  # fmt: skip
def test_result_that_the_model_made_up_is_never_read(made_up: str) -> None:
    reply = read_text_reply(f"{EXAMINE}{made_up} rebound\n{DECIDED}", TOOLS)
    assert ([call.name for call in reply.calls], reply.answer) == ([EXAM], None)
    assert reply.message["content"] == EXAMINE


@given(st.lists(st.sampled_from([
    *("Action", "Action Input", "Diagnosis", "Treatment", "Observation", "Thought", "Final Answer"),
    *(":", "：", "\n", " ", "#", "**", "`", "```", "1.", "{", "}", "'", '"', "[", "(", ")"),
    *(*TOOLS, "CT", "CBC", "none", "region", "="),
]), max_size=30))  # fmt: skip
def test_no_layout_breaks_the_reading(parts: list[str]) -> None:
    text = "".join(parts)
    reply = read_text_reply(text, TOOLS)
    assert text.startswith(str(reply.message["content"]).removesuffix(prompts.NO_REPLY))
    assert not (reply.calls and reply.answer)
    for names in ARGUMENTS.values():
        arguments_in(text, names)


def played(folder: Path, *replies: str, **options: Any) -> tuple[Transcript, list[Body]]:
    loop = LoopOptions(tool_protocol="text", **options)
    with model_server(Script(reply=in_order(*replies))) as server:
        bedside(server.url, folder, loops([case()], loop))
        bodies = server.seen.bodies
    return read_transcripts(folder, [case()])[0], bodies


def test_tools_are_told_in_words_and_results_come_as_observations(tmp_path: Path) -> None:
    image = "Action: request_imaging\nAction Input: CT Abdomen"
    made_up = f"{EXAMINE}\nObservation: rebound\n{DECIDED}"
    transcript, bodies = played(tmp_path, made_up, image, DECIDED)
    system = bodies[0]["messages"][0]["content"]
    assert all(tool in system for tool in TOOLS)
    assert not any("tools" in body or "tool_choice" in body for body in bodies)
    assert bodies[0]["stop"] == ["\nObservation:"]
    assert [message["role"] for message in bodies[2]["messages"]] == [
        *("system", "user", "assistant", "user", "assistant", "user"),
    ]
    assert bodies[1]["messages"][2] == {"role": "assistant", "content": EXAMINE}
    assert bodies[1]["messages"][-1]["content"] == f"Observation: {EXAMINATION}"
    assert CT in bodies[2]["messages"][-1]["content"]
    assert transcript.answer == FinalAnswer(
        "Acute appendicitis", ("surgery", "antibiotics"), "sure"
    )
    assert (transcript.rounds, transcript.custom_parsings) == (2, 0)


def test_an_endpoint_that_knows_no_stop_is_asked_without(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return refuses("stop") if "stop" in body else None

    with model_server(Script(fault, in_order(EXAMINE, DECIDED))) as server:
        bedside(server.url, tmp_path, loops([case()], LoopOptions(tool_protocol="text")))
        assert server.seen.requests == 3
    assert read_transcripts(tmp_path, [case()])[0].outcome is Outcome.ANSWERED


@pytest.mark.parametrize(
    ("reply", "invalid_calls", "custom_parsings"),
    [
        ("**Action:** Physical Examination", 0, 1),
        ("Action: biopsy\nAction Input: liver", 1, 0),
        ("Action: none\n" + DECIDED, 1, 0),
        ("Action: request_lab_test\nCBC", 1, 0),
    ],
)
def test_an_action_that_is_no_call_of_a_tool_is_answered_and_counted(
    tmp_path: Path, reply: str, invalid_calls: int, custom_parsings: int
) -> None:
    transcript, bodies = played(tmp_path, reply, DECIDED)
    assert (transcript.invalid_calls, transcript.custom_parsings) == (
        invalid_calls,
        custom_parsings,
    )
    assert bodies[1]["messages"][-1]["content"].startswith("Observation: ")
    assert (transcript.outcome, transcript.is_reasked) == (Outcome.ANSWERED, False)


def test_lines_that_cannot_be_read_are_asked_for_once_more(tmp_path: Path) -> None:
    transcript, bodies = played(tmp_path / "once", "Well.", DECIDED)
    assert bodies[1]["messages"][-1]["content"] == prompts.ASK_AGAIN_TEXT
    assert (transcript.outcome, transcript.is_reasked) == (Outcome.ANSWERED, True)
    transcript, bodies = played(tmp_path / "twice", "Well.", "Well.")
    assert (transcript.outcome, len(bodies)) == (Outcome.UNPARSED, 2)


@pytest.mark.parametrize(
    ("last", "outcome"), [(DECIDED, Outcome.ANSWERED), (EXAMINE, Outcome.UNPARSED)]
)
def test_actions_without_end_end_in_a_decision(tmp_path: Path, last: str, outcome: Outcome) -> None:
    transcript, bodies = played(tmp_path, EXAMINE, EXAMINE, last, max_rounds=2)
    assert (transcript.outcome, transcript.reason) == (outcome, "step_limit")
    # Put to the observation: many templates take no two messages of one speaker.
    assert bodies[2]["messages"][-1]["content"] == (
        f"Observation: {EXAMINATION}\n\n{prompts.DECIDE_TEXT}"
    )
