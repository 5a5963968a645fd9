"""Half of an emoji in a reply breaks neither the next request nor a score nor a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import answering, bedside, calling, case, in_order, loops
from cdm_runs import folder_of, lines, run_cdm, scored
from commands import run_medeval
from hypothesis import given
from hypothesis import strategies as st
from inference_runs import ask, content, open_items
from judging_runs import GOOD, RUBRIC
from model_server import Script, model_server

from medeval.cdm.episode import LoopOptions, read_transcripts
from medeval.evaluation.task_prompts import read_output
from medeval.inference.openai_replies import read_completion
from medeval.inference.types import Outcome
from medeval.judging.verdict import read_verdict
from medeval.text import whole, whole_json

HALF, MENDED = "pain \ud83d", "pain \ufffd"


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("", ""),
        ("é 😀", "é 😀"),
        (HALF, MENDED),
        ("\ude00 a", "\ufffd a"),
        ("\ud83da\ud83d\ud83d", "\ufffda\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_a_half_is_replaced_and_two_halves_are_one(text: str, mended: str) -> None:
    assert whole(text) == mended


@given(st.text(st.characters(exclude_categories=[])))
def test_every_text_can_be_written_and_a_whole_one_stays(text: str) -> None:
    mended = whole(text)
    assert whole(mended) == mended
    assert mended.encode().decode() == mended
    assert len(mended) <= len(text)


def test_all_texts_of_a_value_are_mended_and_all_else_stays() -> None:
    value = {HALF: [HALF, 1, None, True, {"a": (HALF,)}]}
    assert whole_json(value) == {MENDED: [MENDED, 1, None, True, {"a": (MENDED,)}]}


def test_a_completion_is_mended_wherever_it_has_text() -> None:
    function = {"name": HALF, "arguments": HALF}
    message = {
        "content": HALF,
        "reasoning_content": HALF,
        "refusal": HALF,
        "tool_calls": [{"id": HALF, "function": function}],
    }
    read = read_completion({"choices": [{"message": message}], "model": HALF})
    (call,) = read.tool_calls
    assert {read.text, read.reasoning, read.refusal, read.model} == {MENDED}
    assert {call.id, call.name, call.arguments} == {MENDED}


def test_outputs_of_tasks_verdicts_and_functions_are_mended() -> None:
    assert read_output(json.dumps({"answer": HALF}), ["answer"], ["answer"], None) == {
        "answer": MENDED
    }
    assert read_output(json.dumps(HALF), ["answer"], ["answer"], "answer") == {"answer": MENDED}
    for reply in (GOOD, GOOD[:-2]):
        verdict = read_verdict(reply.replace("about accuracy", "cut \\ud83d"), RUBRIC)
        assert verdict.explanations["accuracy"] == "cut \ufffd"


def test_the_next_request_can_be_sent(tmp_path: Path) -> None:
    calls = calling(
        ("request_lab_test", {"test_name": HALF}),
        ("request_lab_test", json.dumps(json.dumps({"test_name": HALF}))),
        (HALF, {}),
    )
    calls["content"] = HALF
    calls["tool_calls"][0]["id"] = HALF
    with model_server(Script(reply=in_order(calls, HALF, answering(HALF)))) as server:
        bedside(server.url, tmp_path, loops([case()], LoopOptions()))
        assert server.seen.requests == 3
        assert MENDED in server.seen.bodies[1]["messages"][3]["content"]
    (transcript,) = read_transcripts(tmp_path, [case()])
    assert transcript.outcome is Outcome.ANSWERED
    assert transcript.answer is not None
    assert transcript.answer.final_diagnosis == MENDED


def test_the_journal_of_a_run_holds_whole_text(tmp_path: Path) -> None:
    with model_server(Script(reply=lambda body: HALF)) as server:
        ask(server.url, tmp_path, open_items(1))
    assert content(tmp_path)[0]["text"] == MENDED


def test_a_run_of_a_function_is_scored_and_reported(tmp_path: Path, asked_export: Path) -> None:
    answer = json.dumps({"diagnosis": HALF, "treatment": [HALF]})
    model = tmp_path / "model.py"
    model.write_text(
        f"def reply(messages):\n    return {answer!r}\n\n\ndef raw(messages):\n"
        "    return 'Diagnosis: pain \\ud83d\\nTreatment: rest \\ud83d'\n",
        encoding="utf-8",
    )
    for function in ("reply", "raw"):
        done = run_cdm(
            tmp_path / function, asked_export, "--model", f"{model}:{function}", "--limit", "2",
            "--tool-protocol", "text",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        folder = folder_of(done)
        result: dict[str, Any] = scored(folder)
        assert result["metadata"]["ledger"]["answered"] == 2
        assert [line["answers"] for line in lines(folder, "case_scores.jsonl")]
        reported = run_medeval("report", folder)
        assert reported.returncode == 0, reported.stderr
