"""What endpoints do, as tables of scripted replies: outcome per item, exit code, what is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from in_process import Main, main_in
from model_server import HANG, Body, Fault, error
from scripted_questions import ANSWER, Reply, asked, number_in

from medeval.inference.errors import RetryPolicy


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Main:
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.0)
    return main_in(monkeypatch, capsys)


# Why a reply ended: the good ends and the refusals are known, anything else broke off.
ENDS = [
    *((end, "answered") for end in ("stop", "eos", "END_TURN", "tool_calls", "stop-sequence")),
    *((end, "truncated") for end in ("length", "MAX_TOKENS", "model_length")),
    *((end, "refused") for end in ("content_filter", "sensitive", "RECITATION")),
    *((end, "refused") for end in ("content_filter: SAFETY", "Guardrail Intervened")),
    *((end, "errored") for end in ("insufficient_system_resource", "abort", "network_error")),
    *((end, "errored") for end in ("cancelled", "MALFORMED_FUNCTION_CALL", "engine overloaded")),
]


def test_an_end_that_is_not_known_as_good_is_asked_again_and_named(
    main: Main, tmp_path: Path
) -> None:
    ran = asked(main, tmp_path, [{"content": ANSWER, "finish_reason": end} for end, _ in ENDS])
    assert list(zip((end for end, _ in ENDS), ran.outcomes, strict=True)) == ENDS
    numbers = [number_in(body) for body in ran.bodies]
    calls = {numbers.count(n) for n, (_, outcome) in enumerate(ENDS) if outcome == "errored"}
    assert calls == {RetryPolicy().attempts}
    assert "errored: broken_reply (insufficient_system_resource)" in ran.said
    assert "errored: broken_reply (malformed_function_call)" in ran.said
    assert ran.code == 1


def once(fault: Fault) -> Callable[[Body], Reply]:
    """Return a script in which each question meets the fault once, but for the first one."""
    met: set[int] = set()

    def reply(body: Body) -> Reply:
        number = number_in(body)
        if number in {0, *met}:
            return ANSWER
        met.add(number)
        return fault

    return reply


# A code decides before a sentence, and of a sentence only what is not in the request.
CODES = [
    (error(429, "You exceeded your current quota", code="rate_limit_exceeded"), "answered"),
    (error(400, "额度已用完", code="rate_limit_error"), "answered"),
    (error(400, "Billing limit: the text is blocked", code="content_filter"), "refused"),
    (error(400, "This model does not support tools", code="content_policy_violation"), "refused"),
    (error(403, "Prompt rejected: 'was flagged'"), "errored"),
    (error(400, "Rejected “billing limit” as input"), "errored"),
    (error(403, "The prompt was flagged by our moderation"), "refused"),
]


@pytest.mark.parametrize(("fault", "outcome"), CODES)
def test_a_code_counts_before_words_and_words_of_the_request_do_not(
    main: Main, tmp_path: Path, fault: Fault, outcome: str
) -> None:
    note = "第{}题：was flagged, billing limit"
    ran = asked(main, tmp_path, once(fault), 3, "--concurrency", "1", question=note)
    assert ran.outcomes == ["answered", outcome, outcome]
    assert "stopped" not in ran.said


def completion(content: str = ANSWER) -> str:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "choices": [choice]}, ensure_ascii=False)


def stream(*pieces: Mapping[str, Any], end: str = "data: [DONE]\n\n", between: str = "\n\n") -> str:
    events = [{"choices": [{"index": 0, **piece}]} for piece in pieces]
    return "".join(f"data: {json.dumps(event)}{between}" for event in events) + end


PIECES: tuple[Mapping[str, Any], ...] = (
    {"delta": {"role": "assistant", "content": "答案"}},
    {"delta": {"content": "：A", "reasoning_content": "r"}},
    {"delta": {}, "finish_reason": "stop"},
)
EVENTS = {"Content-Type": "text/event-stream"}
# What is read: JSON with an end mark behind it, event streams, and UTF-8 whatever the header says.
FORMS = [
    (Fault(200, completion() + "\n\ndata: [DONE]\n\n", EVENTS), "answered"),
    (Fault(200, completion() + " [DONE]"), "answered"),
    (Fault(200, stream(*PIECES), EVENTS), "answered"),
    (Fault(200, ": busy\n\n" + stream(*PIECES, end=""), EVENTS), "answered"),
    (Fault(200, stream(*PIECES, between="\n").replace("\n", "\r\n"), EVENTS), "answered"),
    (Fault(200, f"event: message\nid: 1\ndata: {completion()}\n\n", EVENTS), "answered"),
    *(
        (Fault(200, completion().encode(), {"Content-Type": f"application/json; charset={name}"}),
         "answered")
        for name in ("ISO-8859-1", "us-ascii", "windows-1252", "gbk")
    ),
    (Fault(200, completion().encode("utf-8-sig")), "answered"),
    (Fault(200, stream(*PIECES[:2], {"finish_reason": "length", "delta": {}})), "truncated"),
    (Fault(200, stream({"delta": {"content": 7, "x": {"a": 1}}}, {"delta": {"x": "t", "y": [1]}},
                       {"delta": {"y": [{}]}}, *PIECES)), "answered"),
    (Fault(200, stream(*({"delta": {"content": "A" * 40}} for _ in range(50_000)), PIECES[2])),
     "unparsed"),
    (Fault(200, stream({"delta": {"tool_calls": [{}] * 9000}}, *PIECES)), "errored"),
    (Fault(200, stream({"delta": []}, end='data: {"choices": 7}\n\ndata: []\n\n')), "errored"),
    # A stream that was cut, or breaks off with an error, and one value behind another.
    (Fault(200, stream(*PIECES[:2], end="")), "errored"),
    (Fault(200, stream(PIECES[0], end='data: {"error": {"message": "x"}}\n\n')), "errored"),
    (Fault(200, completion() + completion()), "errored"),
]  # fmt: skip


def test_each_form_of_a_reply_is_read_or_the_error_of_its_item(main: Main, tmp_path: Path) -> None:
    ran = asked(main, tmp_path, [ANSWER, *(fault for fault, _ in FORMS)], 0, "--concurrency", "1")
    assert ran.outcomes == ["answered", *(outcome for _, outcome in FORMS)]
    assert {line["text"] for line in ran.lines.values() if line["outcome"] == "answered"} == {
        ANSWER
    }
    assert ran.lines[3]["reasoning"] == "r"
    assert all(body["stream"] is False for body in ran.bodies)


@pytest.mark.parametrize("data_class", ["open", "credentialed"])
@pytest.mark.parametrize(
    "body",
    [
        "<html>Sign in at the gate</html>",
        '{"output": "Sign in at the gate"}',
        "Sign in at the gate",
    ],
)
def test_an_endpoint_of_another_form_stops_the_run_at_the_second_item(
    main: Main, tmp_path: Path, body: str, data_class: str
) -> None:
    in_turn = ("--concurrency", "2")
    ran = asked(main, tmp_path, lambda _: Fault(200, body), 20, *in_turn, data_class=data_class)
    assert (ran.code, ran.outcomes) == (1, [])
    assert len(ran.bodies) <= 8
    assert "The endpoint's reply is no chat completion" in ran.said
    assert ("Sign in at the gate" in ran.said) == (data_class == "open")


def bad(message: str, **more: str) -> Fault:
    return error(400, message, type="invalid_request_error", **more)


def is_cold(body: Body) -> bool:
    return body.get("temperature", 1) != 1


def form(body: Body) -> str:
    return (body.get("response_format") or {}).get("type", "")


JSON_ANSWER = '{"answer": ["A"]}'
# Who refuses what, in words that are in no list; and what the run learns of it.
REFUSED: dict[str, tuple[Callable[[Body], Reply], dict[str, str]]] = {
    "temperature": (
        lambda b: bad("invalid temperature: this model allows 1 only") if is_cold(b) else ANSWER,
        {"temperature": ""},
    ),
    "while thinking": (
        lambda b: bad("`temperature` has to be 1 while thinking is on.") if is_cold(b) else ANSWER,
        {"temperature": ""},
    ),
    "version": (
        lambda b: (
            bad("json_schema as a response_format value needs api version 2024-08 or later")
            if form(b) == "json_schema"
            else JSON_ANSWER
        ),
        {"response_format": "json_object"},
    ),
    "must be": (
        lambda b: bad("'response_format.type' must be 'text'") if form(b) else ANSWER,
        {"response_format": ""},
    ),
    "Chinese": (
        lambda b: bad("response_format 参数非法，请检查", code="1214") if form(b) else ANSWER,
        {"response_format": ""},
    ),
    "nothing named": (
        lambda b: error(422, "Unprocessable") if "seed" in b else ANSWER,
        {"seed": ""},
    ),
    "the other limit": (
        lambda b: bad("Give the newer limit of the reply") if "max_tokens" in b else ANSWER,
        {"max_tokens": "max_completion_tokens"},
    ),
    "two at once, with the number of the request": (
        lambda b: (
            bad(f"cold sampling is off (request r{len(b['messages'])}7)")
            if is_cold(b)
            else (bad("a grammar is no form of ours") if form(b) == "json_schema" else JSON_ANSWER)
        ),
        {"temperature": "", "response_format": "json_object"},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_part_that_is_refused_in_any_words_is_found_once_and_left_out(
    main: Main, tmp_path: Path, name: str
) -> None:
    reply, learned = REFUSED[name]
    flags = ("--json-schema", "--temperature", "0", "--model-seed", "3", "--max-tokens", "50")
    ran = asked(main, tmp_path, reply, 20, *flags)
    assert ran.outcomes == ["answered"] * 20
    assert ran.record["learned"] == learned
    assert len(ran.bodies) <= 20 + 7
    assert all(f"the endpoint refuses {part}" in ran.said for part in learned)
    assert ran.code == 0


@pytest.mark.parametrize("message", ["Nothing helps here", "model is not for chat: see page 7"])
@pytest.mark.parametrize("data_class", ["open", "credentialed"])
def test_what_no_part_mends_stops_the_run_at_the_second_item(
    main: Main, tmp_path: Path, message: str, data_class: str
) -> None:
    in_turn = ("--concurrency", "1")
    ran = asked(main, tmp_path, lambda _: bad(message), 20, *in_turn, data_class=data_class)
    assert (ran.code, ran.outcomes) == (1, ["errored"])
    assert len(ran.bodies) <= 8
    assert "The endpoint does not take the request" in ran.said
    assert (message in ran.said) == (data_class == "open")


def test_the_same_refusal_of_ten_items_in_a_row_stops_the_run(main: Main, tmp_path: Path) -> None:
    def reply(body: Body) -> Reply:
        number = number_in(body)
        # Nine in a row in the same words, one in others, and an answer between.
        if number in (0, 10) or (number == 15):
            return ANSWER
        return bad(f"out of order (request {number}a)") if number != 12 else bad("too odd")

    ran = asked(main, tmp_path, reply, 40, "--concurrency", "1")
    assert ran.code == 1
    assert len(ran.bodies) == 16 + 10
    assert "out of order" in ran.said


@pytest.mark.parametrize(
    "fault",
    [
        error(400, "maximum context length is 10 tokens"),
        error(400, "not for us", code="content_filter"),
    ],
)
def test_a_text_that_is_too_long_or_declined_is_the_end_of_its_item(
    main: Main, tmp_path: Path, fault: Fault
) -> None:
    replies: list[Reply] = [*[fault] * 14, ANSWER]
    ran = asked(main, tmp_path, replies, 0, "--concurrency", "1")
    assert len(ran.outcomes) == len(ran.bodies) == 15
    assert ran.outcomes[-1] == "answered"


@pytest.mark.parametrize(("slots", "silent"), [(2, {1, 2, 3}), (3, {0, 1, 2, 3}), (1, {1, 2})])
def test_as_many_silent_items_in_a_row_as_there_are_slots_stop_the_run(
    main: Main, tmp_path: Path, slots: int, silent: set[int]
) -> None:
    replies = [HANG if number in silent else ANSWER for number in range(4)]
    flags = ("--timeout", "0.15", "--concurrency", str(slots))
    ran = asked(main, tmp_path, replies, 0, *flags)
    assert ran.code == 1
    assert "did not reply in time, for" in ran.said
    assert "errored" not in ran.outcomes


def test_a_reply_between_silent_items_makes_them_errors(main: Main, tmp_path: Path) -> None:
    replies = [HANG if number in (1, 3) else ANSWER for number in range(5)]
    ran = asked(main, tmp_path, replies, 0, "--timeout", "0.15", "--concurrency", "1")
    wanted = ["errored" if reply is HANG else "answered" for reply in replies]
    assert (ran.code, ran.outcomes) == (1, wanted)


# Questions of other lengths, the longest several times the shortest, and of one length.
LONGER = "第{0}题{0:0>{0}00}"
LONG = "第{0}题{0:0>3000}"


def counting(count: Callable[[Body], int]) -> Callable[[Body], Reply]:
    """Return a script that answers everything, with tokens of input by a function."""

    def reply(body: Body) -> Reply:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": ANSWER},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": count(body), "completion_tokens": 5}
        return Fault(200, {"model": "m", "choices": [choice], "usage": usage})

    return reply


def length(body: Body) -> int:
    return len(str(body["messages"]).encode())


# How an endpoint counts, the questions, how many; and whether it may cut them.
COUNTS: dict[str, tuple[Callable[[Body], int], str, int, bool]] = {
    "the same for prompts of any length": (lambda _: 900, LONGER, 30, True),
    "no more than a limit": (lambda body: min(500, length(body) // 4), LONGER, 30, True),
    "too few for any text": (lambda _: 128, LONG, 5, True),
    "as the prompts are": (lambda body: length(body) // 4, LONGER, 30, False),
    "the same for prompts of one length": (lambda _: 900, LONG, 5, False),
    "too few for two only": (lambda _: 128, LONG, 2, False),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_do_not_grow_with_the_prompt_are_a_warning_everywhere(
    main: Main, tmp_path: Path, name: str
) -> None:
    count, question, number, is_cut = COUNTS[name]
    ran = asked(main, tmp_path, counting(count), number, question=question)
    told = "the server may cut prompts"
    assert (told in ran.said) == is_cut
    scored = main("score", "--task", "yier", ran.folder, "--n-iters", "0")
    assert (told in " ".join(scored.err.split())) == is_cut
    page = tmp_path / "report.md"
    assert main("report", ran.folder, "--out", page).code == 0
    assert (told in page.read_text(encoding="utf-8")) == is_cut
    assert (ran.code, scored.code) == (0, 0)
