"""Half of an emoji in a reply breaks no request; journals, scores and reports: net `surrogates`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cdm_bedside import answering, bedside, calling, in_order, loops
from cdm_cases import case
from hypothesis import given
from hypothesis import strategies as st
from judging_runs import GOOD, RUBRIC
from model_server import Script, model_server
from tables import table

from medeval.evaluation.task_prompts import read_output
from medeval.inference.types import Outcome
from medeval.judging.verdict import read_verdict
from medeval.tasks.cdm.run_scores import read_transcripts
from medeval.text import whole, whole_json

HALF, MENDED = "pain \ud83d", "pain \ufffd"


@pytest.mark.parametrize(("text", "mended"), table("text_files")["halves"])
def test_a_half_is_replaced_and_two_halves_are_one(text: str, mended: str) -> None:
    value = {text: [text, 1, None, True, {"a": (text,)}]}
    assert whole(text) == mended
    assert whole_json(value) == {mended: [mended, 1, None, True, {"a": (mended,)}]}


@given(st.text(st.characters(exclude_categories=[])))
def test_every_text_can_be_written_and_a_whole_one_stays(text: str) -> None:
    mended = whole(text)
    assert whole(mended) == mended == mended.encode().decode()
    assert len(mended) <= len(text)


def test_outputs_of_tasks_and_verdicts_are_mended() -> None:
    for reply, main in ((json.dumps({"answer": HALF}), None), (json.dumps(HALF), "answer")):
        assert read_output(reply, ["answer"], ["answer"], main) == {"answer": MENDED}
    for reply in (GOOD, GOOD[:-2]):
        verdict = read_verdict(reply.replace("about accuracy", "cut \\ud83d"), RUBRIC)
        assert verdict.explanations["accuracy"] == "cut \ufffd"


def test_the_next_request_can_be_sent(tmp_path: Path) -> None:
    calls = calling(
        ("request_lab_test", {"test_name": HALF}),
        ("request_lab_test", json.dumps(json.dumps({"test_name": HALF}))),
        (HALF, {}),
    )
    calls["content"] = calls["reasoning_content"] = HALF
    calls["tool_calls"][0]["id"] = HALF
    with model_server(Script(reply=in_order(calls, HALF, answering(HALF)))) as server:
        bedside(server.url, tmp_path, loops([case()]))
        assert server.seen.requests == 3
        assert MENDED in server.seen.bodies[1]["messages"][3]["content"]
    (transcript,) = read_transcripts(tmp_path, [case()])
    assert transcript.outcome is Outcome.ANSWERED
    assert transcript.answer is not None
    assert transcript.answer.final_diagnosis == MENDED
