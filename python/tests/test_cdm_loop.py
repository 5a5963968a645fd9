"""The model at the bedside, over a real endpoint: whatever it does has an answer and one end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import (
    CT,
    EXAMINATION,
    HISTORY,
    ULTRASOUND,
    answering,
    bedside,
    calling,
    case,
    cases,
    demo_reply,
    in_order,
    leaks,
    loops,
    steps,
)
from cdm_cases import rows
from inference_runs import content
from model_server import Body, Script, error, model_server, slow

from medeval.cdm import prompts
from medeval.cdm.episode import LoopOptions, Transcript, read_transcripts
from medeval.cdm.tool_protocols import FinalAnswer
from medeval.cdm.tools import TOOLS
from medeval.errors import UserError
from medeval.inference.guard import RefusedError
from medeval.inference.types import Outcome
from medeval.models.clinical_case import ClinicalCase

THREE = TOOLS[:3]
LAB = ("request_lab_test", {"test_name": "Lipase"})
EXAMINE = ("physical_examination", {})


def image(modality: str) -> tuple[str, dict[str, str]]:
    return "request_imaging", {"region": "Abdomen", "modality": modality}


def played(
    folder: Path, *replies: str | dict[str, Any], **options: Any
) -> tuple[Transcript, list[Body]]:
    """Return what comes of one case with scripted replies, and the requests."""
    with model_server(Script(reply=in_order(*replies))) as server:
        bedside(server.url, folder, loops([case()], LoopOptions(**options)))
        bodies = server.seen.bodies
    return read_transcripts(folder, [case()])[0], bodies


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_a_case_from_the_history_to_the_decision(tmp_path: Path, protocol: Any) -> None:
    options = LoopOptions(tool_protocol=protocol)
    with model_server(Script(reply=demo_reply)) as server:
        ended = bedside(server.url, tmp_path, loops(cases(3), options))
        bodies = server.seen.bodies
    assert ended.progress.ledger[Outcome.ANSWERED] == 3
    assert ended.reasons == {}
    first = bodies[0]["messages"]
    assert [message["role"] for message in first] == ["system", "user"]
    assert first[1]["content"] == f"History of the patient:\n{HISTORY}"
    for transcript in read_transcripts(tmp_path, cases(3)):
        assert transcript.answer is not None
        assert transcript.answer.final_diagnosis == "Acute appendicitis"
        assert transcript.calls is not None
        assert [call["tool"] for call in transcript.calls[:3]] == list(THREE)
        assert all(call["is_valid"] for call in transcript.calls)
        assert [call["round"] for call in transcript.calls] == list(range(1, transcript.rounds + 1))
        assert transcript.turns == transcript.rounds + 1
        assert (transcript.invalid_calls, transcript.is_reasked) == (0, False)
        assert transcript.usage.input_tokens == 100 * transcript.turns
    last = json.dumps(bodies, ensure_ascii=False)
    assert EXAMINATION in last
    assert ULTRASOUND in last


def test_tools_and_answers_go_in_the_form_of_openai(tmp_path: Path) -> None:
    transcript, bodies = played(tmp_path, calling(EXAMINE), answering())
    assert [tool["function"]["name"] for tool in bodies[0]["tools"]] == list(TOOLS)
    assert bodies[1]["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c0",
                    "type": "function",
                    "function": {"name": "physical_examination", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c0", "content": EXAMINATION},
    ]
    assert transcript.answer == FinalAnswer("Acute appendicitis", ("antibiotics",), "why")


def test_thinking_beside_calls_goes_back_as_it_came_and_is_not_read(tmp_path: Path) -> None:
    wrong = answering("Acute cholecystitis")
    thinking = {**calling(EXAMINE), "content": f"<think>maybe {wrong}</think>Let me look."}
    transcript, bodies = played(tmp_path, thinking, f"<think>{wrong}</think>{answering()}")
    assert bodies[1]["messages"][2]["content"] == thinking["content"]
    assert transcript.answer is not None
    assert transcript.answer.final_diagnosis == "Acute appendicitis"


@pytest.mark.parametrize(
    "more",
    [
        {"reasoning_content": "Examine first.", "content": None},
        {"content": [{"type": "text", "text": "I look."}], "annotations": [], "refusal": None},
        {"content": "", "reasoning_details": [{"type": "encrypted", "data": "c2lnbmVk"}]},
    ],
)
def test_a_message_that_calls_tools_goes_back_whole_also_after_a_crash(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    called = {**calling(EXAMINE), **more}
    call = called["tool_calls"][0]
    call["extra_content"] = {"google": {"thought_signature": "c2lnbmVk"}}
    call["function"]["arguments"] = "{ }"
    with model_server(Script(reply=in_order(called, answering()))) as server:
        bedside(server.url, tmp_path, loops([case()]))
        came = {name: value for name, value in called.items() if name != "finish_reason"}
        assert server.seen.bodies[1]["messages"][2] == {"role": "assistant", **came}
        # As after a crash before the end: the conversation is the same, turn by turn.
        (tmp_path / "responses.jsonl").write_text("", encoding="utf-8")
        bedside(server.url, tmp_path, loops([case()]))
        assert server.seen.requests == 2
    assert content(tmp_path)[0]["outcome"] == "answered"


@pytest.mark.parametrize(
    ("call", "told"), rows("a_call_that_cannot_be_made_is_answered_and_counted")
)
def test_a_call_that_cannot_be_made_is_answered_and_counted(
    tmp_path: Path, call: tuple[str, Any], told: str
) -> None:
    transcript, bodies = played(tmp_path, calling(call), calling(EXAMINE), answering())
    answered = bodies[1]["messages"][-1]
    assert told in answered["content"]
    # What goes back is always JSON, since some endpoints read it.
    sent_back = bodies[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(sent_back), dict)
    assert transcript.calls is not None
    assert [one["is_valid"] for one in transcript.calls] == [False, True]
    assert (transcript.invalid_calls, transcript.rounds) == (1, 2)
    assert transcript.outcome is Outcome.ANSWERED


@pytest.mark.parametrize("arguments", ['"Lipase"', '"{\\"test_name\\": \\"Lipase\\"}"'])
def test_arguments_in_another_form_are_understood_and_counted(
    tmp_path: Path, arguments: str
) -> None:
    transcript, bodies = played(tmp_path, calling(("request_lab_test", arguments)), answering())
    assert "Lipase: 30 IU/L" in bodies[1]["messages"][-1]["content"]
    assert (transcript.invalid_calls, transcript.custom_parsings) == (0, 1)


def test_calls_at_once_are_each_answered_up_to_a_limit(tmp_path: Path) -> None:
    calls = [EXAMINE, LAB, image("CT"), image("Ultrasound")]
    transcript, bodies = played(tmp_path, calling(*calls), answering(), max_calls=3)
    answers = bodies[1]["messages"][3:]
    assert [message["tool_call_id"] for message in answers] == ["c0", "c1", "c2", "c3"]
    assert EXAMINATION in answers[0]["content"]
    assert CT in answers[2]["content"]
    assert answers[3]["content"] == prompts.TOO_MANY_CALLS
    assert transcript.calls is not None
    assert [one["is_valid"] for one in transcript.calls] == [True, True, True, False]
    assert (transcript.rounds, transcript.invalid_calls) == (1, 1)


def test_calls_without_end_end_in_a_decision(tmp_path: Path) -> None:
    replies = [calling(LAB)] * 4
    transcript, bodies = played(tmp_path, *replies, answering(), max_rounds=4)
    assert (transcript.outcome, transcript.reason) == (Outcome.ANSWERED, "step_limit")
    assert (transcript.rounds, transcript.turns) == (4, 5)
    assert bodies[-1]["tool_choice"] == "none"
    assert bodies[-1]["messages"][-1] == {"role": "user", "content": prompts.DECIDE_NATIVE}
    assert "tool_choice" not in bodies[-2]


@pytest.mark.parametrize("last", [calling(LAB), "I cannot say."])
def test_a_model_that_never_decides_is_counted_as_unparsed(
    tmp_path: Path, last: str | dict[str, Any]
) -> None:
    with model_server(Script(reply=in_order(*[calling(LAB)] * 3, last))) as server:
        ended = bedside(server.url, tmp_path, loops([case()], LoopOptions(max_rounds=3)))
        # Asked to decide twice, with no call made in between.
        assert server.seen.requests == 5
    assert ended.reasons == {"step_limit": 1}
    (transcript,) = read_transcripts(tmp_path, [case()])
    assert (transcript.outcome, transcript.answer) == (Outcome.UNPARSED, None)
    assert transcript.calls is not None
    assert sum(call["is_valid"] for call in transcript.calls) == 3


ENDS: list[tuple[str | dict[str, Any], Outcome]] = [
    ({"content": "", "refusal": "I will not."}, Outcome.REFUSED),
    ({"content": "", "finish_reason": "content_filter"}, Outcome.REFUSED),
    ({"content": '{"final_diag', "finish_reason": "length"}, Outcome.TRUNCATED),
    ({**calling(("request_lab_test", '{"te')), "finish_reason": "length"}, Outcome.TRUNCATED),
    ({"content": "<think>hm", "finish_reason": "length"}, Outcome.TRUNCATED_REASONING),
]


@pytest.mark.parametrize(("reply", "outcome"), ENDS)
def test_a_reply_that_ends_the_conversation_has_its_outcome(
    tmp_path: Path, reply: str | dict[str, Any], outcome: Outcome
) -> None:
    transcript, bodies = played(tmp_path, calling(EXAMINE), reply)
    assert transcript.outcome is outcome
    assert (transcript.answer, transcript.rounds, len(bodies)) == (None, 1, 2)


@pytest.mark.parametrize(
    ("reply", "outcome"), [("It is the appendix.", Outcome.UNPARSED), ("", Outcome.EMPTY)]
)
def test_an_answer_that_cannot_be_read_is_asked_for_once_more(
    tmp_path: Path, reply: str, outcome: Outcome
) -> None:
    transcript, bodies = played(tmp_path / "twice", reply, reply)
    assert (transcript.outcome, transcript.reason) == (outcome, "")
    assert (len(bodies), transcript.is_reasked) == (2, True)
    assert bodies[1]["messages"][-1] == {"role": "user", "content": prompts.ASK_AGAIN_NATIVE}
    assert bodies[1]["messages"][-2]["content"]
    transcript, _ = played(tmp_path / "once", reply, answering())
    assert (transcript.outcome, transcript.is_reasked) == (Outcome.ANSWERED, True)


def test_a_decision_that_is_cut_off_keeps_the_reason_for_it(tmp_path: Path) -> None:
    cut = {"content": '{"final', "finish_reason": "length"}
    transcript, _ = played(tmp_path, calling(LAB), cut, max_rounds=1)
    assert (transcript.outcome, transcript.reason) == (Outcome.TRUNCATED, "step_limit")


def test_a_failed_turn_keeps_what_was_done_before(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Any:
        return error(400, "Invalid value") if len(body["messages"]) > 4 else None

    script = Script(fault, reply=in_order(calling(EXAMINE), calling(LAB), answering()))
    with model_server(script) as server:
        ended = bedside(server.url, tmp_path, loops([case()]))
    assert ended.progress.errors == {"request": 1}
    (transcript,) = read_transcripts(tmp_path, [case()])
    assert (transcript.outcome, transcript.error) == (Outcome.ERRORED, "request")
    assert transcript.calls is not None
    assert [call["tool"] for call in transcript.calls] == ["physical_examination", LAB[0]]


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_no_truth_no_person_and_no_name_of_the_disease_is_sent(
    tmp_path: Path, protocol: Any
) -> None:
    of = case()
    # The criteria are left out: they name every disease, as the model asks for one.
    options = LoopOptions(tool_protocol=protocol, enabled=THREE)
    with model_server(Script(reply=demo_reply)) as server:
        bedside(server.url, tmp_path, loops([of], options))
        assert server.seen.requests >= 4
        assert leaks(server.seen.bodies, of) == []
        assert leaks([{"text": of.as_json()}], of) != []


def test_a_credentialed_case_reaches_no_undeclared_endpoint(tmp_path: Path) -> None:
    for number, data_class in enumerate(("credentialed", None)):
        fields = {} if data_class is None else {"data_class": data_class}
        of = case(**fields) if fields else without_class(case())
        with model_server(Script(reply=demo_reply)) as server:
            with pytest.raises(RefusedError, match="Nothing was sent"):
                bedside(server.url, tmp_path / str(number), loops([of]))
            assert (server.seen.connections, server.seen.bytes) == (0, 0)


def without_class(of: Any) -> Any:
    fields = of.as_json()
    del fields["data_class"]
    return type(of).model_validate_json(json.dumps(fields))


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from cdm_bedside import bedside, loops
from test_cdm_loop import visits
bedside(sys.argv[2], Path(sys.argv[3]), loops(visits(12)))
"""


def visits(count: int) -> list[ClinicalCase]:
    """Return cases whose histories tell them apart."""
    return [
        case(number, history_of_present_illness=f"{HISTORY} Visit {number}.")
        for number in range(1, count + 1)
    ]


def turn_of(body: Body) -> tuple[str, int]:
    """Return the case and the turn of a request."""
    messages = body["messages"]
    number = messages[1]["content"].rpartition("Visit ")[2].removesuffix(".")
    return str(20055000 + int(number)), (len(messages) - 2) // 2


@pytest.mark.slow
def test_a_killed_run_goes_on_inside_a_case(tmp_path: Path) -> None:
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    with model_server(Script(lambda body, before: slow(0.02), demo_reply)) as server:
        tests = str(Path(__file__).parent)
        process = subprocess.Popen([sys.executable, "-c", KILLED, tests, server.url, str(killed)])
        journal = killed / "steps.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 12):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        kept = [(line["item"], line["turn"]) for line in steps(killed)]
        assert len({name for name, _ in kept}) > len(content(killed))
        asked = Counter(map(turn_of, server.seen.bodies))
        ended = bedside(server.url, killed, loops(visits(12)))
        assert ended.progress.ledger[Outcome.ANSWERED] == 12
        again = Counter(map(turn_of, server.seen.bodies))
        assert [again[turn] for turn in kept] == [asked[turn] for turn in kept] == [1] * len(kept)
        bedside(server.url, undisturbed, loops(visits(12)))
    assert content(killed) == content(undisturbed)
    assert read_transcripts(killed, visits(12)) == read_transcripts(undisturbed, visits(12))


def test_other_tools_are_another_run(tmp_path: Path) -> None:
    with model_server(Script(reply=demo_reply)) as server:
        bedside(server.url, tmp_path, loops([case()]))
        with pytest.raises(UserError, match="asked otherwise"):
            bedside(server.url, tmp_path, loops([case()], LoopOptions(enabled=THREE)))


def test_transcripts_come_in_the_order_of_the_cases_and_none_is_missing(tmp_path: Path) -> None:
    with model_server(Script(reply=demo_reply)) as server:
        bedside(server.url, tmp_path, loops([case(2), case(1)]))
    found = read_transcripts(tmp_path, cases(3))
    assert [one.case.hadm_id for one in found] == [20055001, 20055002, 20055003]
    assert [one.outcome for one in found] == [Outcome.ANSWERED, Outcome.ANSWERED, None]
    with pytest.raises(UserError, match="1 cases that are not among those given, such as 20055002"):
        read_transcripts(tmp_path, [case(1)])
    with pytest.raises(UserError, match="no answers"):
        read_transcripts(tmp_path / "elsewhere", [case(1)])


def test_transcripts_are_of_this_benchmark_only(tmp_path: Path) -> None:
    from inference_runs import ask, open_item

    with model_server() as server:
        ask(server.url, tmp_path, [open_item("20055001")])
    with pytest.raises(UserError, match="not of a run of the CDM benchmark"):
        read_transcripts(tmp_path, [case()])


PARTS = rows("parts")


@pytest.mark.parametrize("protocol", ["native", "text"])
@pytest.mark.parametrize(("text", "diagnosis", "treatment"), PARTS)
def test_a_part_of_an_answer_counts_where_no_whole_one_comes(
    tmp_path: Path, protocol: Any, text: str, diagnosis: str, treatment: list[str]
) -> None:
    transcript, bodies = played(tmp_path / "a", text, text, tool_protocol=protocol)
    assert (transcript.outcome, transcript.is_reasked, len(bodies)) == (Outcome.ANSWERED, True, 2)
    assert transcript.answer == FinalAnswer(diagnosis, tuple(treatment))
    transcript, _ = played(tmp_path / "b", text, "I cannot say.", tool_protocol=protocol)
    assert transcript.answer == FinalAnswer(diagnosis, tuple(treatment))
    transcript, _ = played(tmp_path / "c", text, answering(), tool_protocol=protocol)
    assert transcript.answer is not None
    assert transcript.answer.final_diagnosis == "Acute appendicitis"
    assert transcript.answer.treatment == ("antibiotics",)


@pytest.mark.parametrize("text", ["I cannot say.", '{"final_diagnosis": "", "treatment": []}'])
def test_what_holds_no_answer_at_all_is_unparsed(tmp_path: Path, text: str) -> None:
    transcript, _ = played(tmp_path, text, text)
    assert (transcript.outcome, transcript.answer) == (Outcome.UNPARSED, None)
