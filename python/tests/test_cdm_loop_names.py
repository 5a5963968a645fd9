"""Names and ids that a model makes up never make the next request one that no endpoint takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import EXAMINATION, answering, bedside, calling, case, in_order, loops
from cdm_cases import rows
from model_server import Body, Fault, Script, error, model_server

from medeval.cdm.episode import LoopOptions, Transcript, read_transcripts
from medeval.inference.types import Outcome


def strict(body: Body, before: int) -> Fault | None:
    """Refuse what OpenAI refuses: names outside its pattern, and ids that come twice."""
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    names = [call["function"]["name"] for call in calls]
    if not all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names):
        return error(400, "Invalid 'messages[2].tool_calls[0].function.name'")
    ids = [call["id"] for call in calls]
    return error(400, "Duplicate value for 'tool_call_id'") if len(set(ids)) < len(ids) else None


def played(folder: Path, *replies: str | dict[str, Any]) -> tuple[Transcript, list[Body]]:
    with model_server(Script(strict, in_order(*replies))) as server:
        bedside(server.url, folder, loops([case()], LoopOptions()))
        bodies = server.seen.bodies
    return read_transcripts(folder, [case()])[0], bodies


@pytest.mark.parametrize(
    ("name", "sent_back"),
    [("", "unknown"), ("take a look!", "take_a_look_"), ("x" * 5000, "x" * 64), ("😀", "_")],
)
def test_a_name_that_is_no_tool_is_sent_back_as_endpoints_take_it(
    tmp_path: Path, name: str, sent_back: str
) -> None:
    transcript, bodies = played(tmp_path, calling((name, {})), answering())
    assert bodies[1]["messages"][2]["tool_calls"][0]["function"]["name"] == sent_back
    assert (transcript.outcome, transcript.invalid_calls) == (Outcome.ANSWERED, 1)
    assert transcript.calls is not None
    assert transcript.calls[0]["tool"] == name


@pytest.mark.parametrize("name", rows("a_tool_in_the_words_of_a_template_is_the_tool_and_counted"))
def test_a_tool_in_the_words_of_a_template_is_the_tool_and_counted(
    tmp_path: Path, name: str
) -> None:
    transcript, bodies = played(tmp_path, calling((name, {})), answering())
    assert bodies[1]["messages"][-1]["content"] == EXAMINATION
    assert (transcript.invalid_calls, transcript.custom_parsings) == (0, 1)


def test_two_tools_in_one_name_are_none(tmp_path: Path) -> None:
    both = "physical_examination.request_lab_test"
    transcript, _ = played(tmp_path, calling((both, {})), answering())
    assert transcript.invalid_calls == 1


def test_an_id_that_comes_again_becomes_one_of_its_own(tmp_path: Path) -> None:
    examine = calling(("physical_examination", {}))
    transcript, bodies = played(tmp_path, examine, examine, examine, answering())
    messages = bodies[-1]["messages"]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert ids[0] == "c0"
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", name) for name in ids[1:])
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert answered == ids
    assert (transcript.outcome, transcript.rounds) == (Outcome.ANSWERED, 3)


CALL = '{"name": "request_lab_test", "arguments": {"test_name": "Lipase"}}'
FUNCTION = "<function=request_lab_test>\n<parameter=test_name>\nLipase\n</parameter>\n</function>"
TEXTS = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"<think>B</think>I look.\n<tool_call>{CALL}",
    f"<tool_call>\n{FUNCTION}\n</tool_call>",
    FUNCTION,
    '<function=request_lab_test>{"test_name": "Lipase"}</function>',
    CALL.replace("arguments", "parameters"),
    f"```json\n{CALL}\n```",
    f'{{"type": "function", "function": {CALL}}}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_call_that_comes_as_text_is_read(tmp_path: Path, text: str) -> None:
    transcript, bodies = played(tmp_path, text, answering())
    assert transcript.calls is not None
    assert [call["tool"] for call in transcript.calls] == ["request_lab_test"]
    called, answered = bodies[1]["messages"][-2:]
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert "Lipase: 30 IU/L" in answered["content"]
    assert (transcript.outcome, transcript.is_reasked) == (Outcome.ANSWERED, False)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>request_lab_test(Lipase)</tool_call>",
        f"<tool_call>{CALL[:-9]}</tool_call>",
        "[TOOL_CALLS]request_lab_test[ARGS]Lipase",
        f"<tool_call>{CALL}</tool_call><tool_call>{CALL.replace('request_lab_test', 'biopsy')}",
    ],
)
def test_calls_as_text_that_cannot_be_read_are_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    def reply(body: Body) -> str:
        return answering() if len(body["messages"]) > 2 else text

    with model_server(Script(reply=reply)) as server:
        bedside(server.url, tmp_path, loops([case(number) for number in (1, 2, 3)]))
    told = capsys.readouterr().err
    assert told.count("does not parse the tool calls") == 1
    for word in ("--tool-protocol text", "--enable-auto-tool-choice", "--jinja"):
        assert word in told
