"""The text protocol over an endpoint: tools for models that cannot call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import CT, EXAMINATION, bedside, case, in_order, loops
from model_server import Body, Fault, Script, model_server, refuses

from medeval.cdm import prompts
from medeval.cdm.loop_answers import FinalAnswer
from medeval.cdm.loop_episode import LoopOptions
from medeval.cdm.toolbox import TOOLS
from medeval.cdm.transcripts import Transcript, read_transcripts
from medeval.inference.types import Outcome

EXAMINE = "Thought: look\nAction: physical_examination\nAction Input: none"
DECIDED = "Thought: sure\nDiagnosis: Acute appendicitis\nTreatment: surgery; antibiotics"


def played(folder: Path, *replies: str, **options: Any) -> tuple[Transcript, list[Body]]:
    loop = LoopOptions(tool_protocol="text", **options)
    with model_server(Script(reply=in_order(*replies))) as server:
        bedside(server.url, folder, loops([case()], loop))
        bodies = server.seen.bodies
    return read_transcripts(folder, [case()])[0], bodies


def test_tools_are_told_in_words_and_results_come_as_observations(tmp_path: Path) -> None:
    image = "Action: request_imaging\nAction Input: CT Abdomen"
    transcript, bodies = played(tmp_path, EXAMINE, image, DECIDED)
    system = bodies[0]["messages"][0]["content"]
    assert all(tool in system for tool in TOOLS)
    assert not any("tools" in body or "tool_choice" in body for body in bodies)
    assert [message["role"] for message in bodies[2]["messages"]] == [
        *("system", "user", "assistant", "user", "assistant", "user"),
    ]
    assert bodies[1]["messages"][-1]["content"] == f"Observation: {EXAMINATION}"
    assert CT in bodies[2]["messages"][-1]["content"]
    assert transcript.answer == FinalAnswer(
        "Acute appendicitis", ("surgery", "antibiotics"), "sure"
    )
    assert (transcript.rounds, transcript.custom_parsings) == (2, 0)


def test_the_model_is_stopped_before_it_makes_up_a_result(tmp_path: Path) -> None:
    made_up = f"{EXAMINE}\nObservation: rebound\n{DECIDED}"
    transcript, bodies = played(tmp_path, made_up, DECIDED)
    assert bodies[0]["stop"] == ["\nObservation:"]
    assert bodies[1]["messages"][2] == {"role": "assistant", "content": EXAMINE}
    assert transcript.rounds == 1


def test_an_endpoint_that_knows_no_stop_is_asked_without(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return refuses("stop") if "stop" in body else None

    with model_server(Script(fault, in_order(EXAMINE, DECIDED))) as server:
        bedside(server.url, tmp_path, loops([case()], LoopOptions(tool_protocol="text")))
        assert server.seen.requests == 3
    assert read_transcripts(tmp_path, [case()])[0].outcome is Outcome.ANSWERED


def test_another_layout_is_understood_and_counted(tmp_path: Path) -> None:
    transcript, _ = played(tmp_path, "**Action:** Physical Examination", EXAMINE, DECIDED)
    assert (transcript.custom_parsings, transcript.rounds, transcript.invalid_calls) == (1, 2, 0)


@pytest.mark.parametrize(
    "reply",
    [
        'Action: Final Answer\nAction Input: {"final_diagnosis": "Acute appendicitis",'
        ' "treatment": ["surgery", "antibiotics"]}',
        "Action: none\n" + DECIDED,
        "Action: N/A\nAction Input: N/A\n" + DECIDED,
    ],
)
def test_an_action_that_is_none_gives_the_answer_and_is_counted(tmp_path: Path, reply: str) -> None:
    transcript, bodies = played(tmp_path, reply)
    assert (len(bodies), transcript.invalid_calls, transcript.custom_parsings) == (1, 0, 1)
    assert transcript.answer is not None
    assert transcript.answer.final_diagnosis == "Acute appendicitis"
    assert transcript.answer.treatment == ("surgery", "antibiotics")


def test_an_unknown_tool_is_answered_and_counted(tmp_path: Path) -> None:
    transcript, bodies = played(tmp_path, "Action: biopsy\nAction Input: liver", DECIDED)
    assert "no tool biopsy" in bodies[1]["messages"][-1]["content"]
    assert (transcript.invalid_calls, transcript.outcome) == (1, Outcome.ANSWERED)


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
