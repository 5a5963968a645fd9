"""Runs against a real endpoint that fails in every way that endpoints do."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from inference_runs import (
    QUICK,
    ask,
    content,
    lines,
    open_item,
    open_items,
    run_record,
    usual_answer,
)
from model_server import (
    BAD_KEY,
    BAD_REQUEST,
    BROKEN_JSON,
    CUT,
    DROP,
    ERROR_IN_BODY,
    HANG,
    LIMIT,
    LIMIT_FOR_NOW,
    OVERLOADED,
    QUOTA,
    SERVER,
    Body,
    Fault,
    Script,
    error,
    model_server,
    prompt_of,
    refuses,
    slow,
)

from medeval.errors import UserError
from medeval.inference.run import RESPONSES, Progress, RunConfig, read_answers
from medeval.inference.types import Item, Outcome

FAULTS = (
    *(LIMIT, LIMIT_FOR_NOW, SERVER, OVERLOADED),
    *(DROP, CUT, BROKEN_JSON, ERROR_IN_BODY, slow(0.05)),
)


def only(name: str, fault: Fault, times: int = 1_000) -> Callable[[Body, int], Fault | None]:
    """Return a script's fault for the first calls of one item."""
    return lambda body, before: (
        fault if prompt_of(body) == f"question {name}" and before < times else None
    )


def test_two_hundred_items_under_faults_all_end_answered_and_in_order(tmp_path: Path) -> None:
    chance = random.Random(7)
    script = Script(lambda body, before: chance.choice(FAULTS) if chance.random() < 0.2 else None)
    items = open_items(200)
    with model_server(script) as server:
        ended = ask(server.url, tmp_path, items, RunConfig(concurrency=16, retries=QUICK))
        assert server.seen.requests == 200 + ended.progress.retries
        assert server.seen.most_open <= 16
    assert ended.stopped == ""
    assert ended.progress.ledger[Outcome.ANSWERED] == ended.progress.ledger.asked == 200
    assert ended.progress.retries > 20
    answers = list(read_answers(tmp_path / RESPONSES, items))
    assert [answer.item for answer in answers] == [item.id for item in items]
    assert [answer.answer for answer in answers] == [usual_answer(item) for item in items]


def test_a_second_start_asks_nothing_again(tmp_path: Path) -> None:
    items = open_items(20)
    with model_server() as server:
        ask(server.url, tmp_path, items)
        before = content(tmp_path)
        ended = ask(server.url, tmp_path, items)
        assert server.seen.requests == 20
    assert content(tmp_path) == before
    assert ended.progress.before == ended.progress.ledger.asked == 20


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from inference_runs import QUICK, ask, open_items
from medeval.inference.run import RunConfig
ask(sys.argv[2], Path(sys.argv[3]), open_items(60), RunConfig(concurrency=4, retries=QUICK))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    items = open_items(60)
    chance = random.Random(3)
    script = Script(lambda body, before: SERVER if chance.random() < 0.2 else slow(0.01))
    with model_server(script) as server:
        killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
        tests = str(Path(__file__).parent)
        command = [sys.executable, "-c", KILLED, tests, server.url, str(killed)]
        process = subprocess.Popen(command)
        journal = killed / RESPONSES
        deadline = time.monotonic() + 60
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 30):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        done = journal.read_bytes().count(b"\n")
        assert 30 <= done < 60
        with journal.open("ab") as file:
            file.write(b'{"item":"item-0')  # the line that was being written
        asked = server.seen.requests
        ended = ask(server.url, killed, items)
        assert ended.progress.before == done
        assert server.seen.requests == asked + (60 - done) + sum(
            line["measured"]["attempts"] - 1 for line in lines(killed)[done:]
        )
        ask(server.url, undisturbed, items)
    assert len(lines(killed)) == 60
    assert content(killed) == content(undisturbed)


def test_a_used_up_quota_stops_the_run_which_then_goes_on(tmp_path: Path) -> None:
    items = open_items(40)
    has_quota = False
    served = count(1)

    def fault(body: Body, before: int) -> Fault | None:
        return QUOTA if next(served) > 15 and not has_quota else None

    with model_server(Script(fault)) as server:
        ended = ask(server.url, tmp_path, items, RunConfig(concurrency=4, retries=QUICK))
        assert "quota is used up" in ended.stopped
        assert "429" in ended.stopped
        # Not one of them was tried again, and no new item was begun.
        assert server.seen.requests <= 15 + 4
        assert ended.progress.ledger.asked == ended.progress.ledger[Outcome.ANSWERED] == 15
        has_quota = True
        ended = ask(server.url, tmp_path, items)
    assert ended.stopped == ""
    assert ended.progress.before == 15
    assert ended.progress.ledger[Outcome.ANSWERED] == 40


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (BAD_KEY, "does not accept the key"),
        (error(403, "not allowed"), "does not accept the key"),
        (error(404, "no such model", code="model_not_found"), "does not know the model"),
        (error(402, "Insufficient credits"), "quota is used up"),
        (error(400, "Your credit balance is too low"), "quota is used up"),
        (error(429, "later", {"Retry-After": "3600"}), "left alone for 3600 seconds"),
    ],
)
def test_what_every_item_would_meet_stops_the_run(tmp_path: Path, fault: Fault, told: str) -> None:
    with model_server(Script(lambda body, before: fault)) as server:
        ended = ask(server.url, tmp_path, open_items(20), RunConfig(concurrency=2, retries=QUICK))
        assert server.seen.requests <= 3  # a sentence is believed when two items are told it
    assert told in ended.stopped
    is_by_words = "credit balance" in str(fault.body)
    assert [line["outcome"] for line in lines(tmp_path)] == ["errored"] * is_by_words


def test_a_hanging_item_holds_up_no_other(tmp_path: Path) -> None:
    items = open_items(30)
    options = RunConfig(concurrency=3, retries=replace(QUICK, attempts=2))
    with model_server(Script(only("item-000", HANG))) as server:
        ended = ask(server.url, tmp_path, items, options, timeout=1.0)
        assert server.seen.count("question item-000") == 2
    assert ended.progress.ledger[Outcome.ANSWERED] == 29
    assert ended.progress.errors == {"timeout": 1}
    # It came first and ended last: the others went past it.
    assert lines(tmp_path)[-1]["item"] == "item-000"


def test_a_bad_request_is_the_end_of_its_item_only(tmp_path: Path) -> None:
    items = open_items(12)
    with model_server(Script(only("item-005", BAD_REQUEST))) as server:
        ended = ask(server.url, tmp_path, items)
        assert server.seen.count("question item-005") == 1
    assert ended.stopped == ""
    assert ended.progress.ledger.as_json()["errored"] == 1
    assert ended.progress.ledger.asked == 12
    answers = list(read_answers(tmp_path / RESPONSES, items))
    assert [a.answer for a in answers if a.outcome is Outcome.ANSWERED] == [
        usual_answer(item) for item in items if item.id != "item-005"
    ]
    assert answers[5].outcome is Outcome.ERRORED
    assert ended.progress.errors == {"request": 1}


def test_errored_items_are_asked_again_when_wished(tmp_path: Path) -> None:
    items = open_items(6)
    with model_server(Script(only("item-002", BAD_REQUEST, times=1))) as server:
        ask(server.url, tmp_path, items)
        assert ask(server.url, tmp_path, items).progress.ledger[Outcome.ERRORED] == 1
        again = RunConfig(retries=QUICK, retry=frozenset({Outcome.ERRORED}))
        ended = ask(server.url, tmp_path, items, again)
        assert server.seen.requests == 7
    assert ended.progress.ledger[Outcome.ANSWERED] == len(lines(tmp_path)) == 6


def test_all_attempts_used_up_is_an_error_with_its_kind(tmp_path: Path) -> None:
    options = RunConfig(retries=replace(QUICK, attempts=3))
    with model_server(Script(lambda body, before: SERVER)) as server:
        ended = ask(server.url, tmp_path, [open_item("one")], options)
        assert server.seen.requests == 3
    assert ended.progress.errors == {"server": 1}
    (line,) = lines(tmp_path)
    assert line["error"] == {"kind": "server", "status": 500, "detail": "The server had an error"}
    assert line["measured"]["attempts"] == 3


def test_nobody_listening_is_an_error_of_connection(tmp_path: Path) -> None:
    with model_server() as server:
        url = server.url
    ended = ask(url, tmp_path, [open_item("one")], RunConfig(retries=replace(QUICK, attempts=2)))
    assert ended.progress.errors == {"connection": 1}


@pytest.mark.parametrize("status", [429, 503])
def test_a_told_wait_is_kept_and_kept_by_all(tmp_path: Path, status: int) -> None:
    told = error(status, "slow down", {"Retry-After": "0.6"})
    times: list[float] = []

    def fault(body: Body, before: int) -> Fault | None:
        times.append(time.monotonic())
        # The second item is under way when the first is told to wait; both go on after it.
        return told if len(times) == 1 else slow(0.2) if len(times) == 2 else None

    options = RunConfig(concurrency=2, retries=QUICK)
    with model_server(Script(fault)) as server:
        ask(server.url, tmp_path, open_items(5), options)
    assert len(times) == 6
    assert times[2] - times[0] >= 0.6


def test_a_refused_parameter_costs_one_failed_call(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        if "max_tokens" in body:
            return refuses("max_tokens", "max_completion_tokens")
        if "temperature" in body:
            return error(
                400, "'temperature' does not support 0 with this model.", code="unsupported_value"
            )
        if "response_format" in body:
            return error(400, "JSON mode is not supported by this model.")
        return None

    parameters = {
        "max_tokens": 50,
        "temperature": 0,
        "response_format": {"type": "json_object"},
        "top_p": 1,
    }
    items = open_items(20)
    with model_server(Script(fault)) as server:
        ended = ask(server.url, tmp_path, items, parameters=parameters)
        assert server.seen.requests == 3 + 20
        last = server.seen.bodies[-1]
        assert last["max_completion_tokens"] == 50
        assert "temperature" not in last
        assert last["top_p"] == 1
    assert ended.progress.ledger[Outcome.ANSWERED] == 20
    assert run_record(tmp_path)["learned"] == {
        "max_tokens": "max_completion_tokens",
        "temperature": "",
        "response_format": "",
    }
    assert run_record(tmp_path)["settings"]["parameters"] == parameters
    with model_server(Script(fault)) as server:
        (tmp_path / RESPONSES).unlink()
        record = json.loads((tmp_path / "run.json").read_text())
        record["settings"]["endpoint"] = server.url
        (tmp_path / "run.json").write_text(json.dumps(record))
        ask(server.url, tmp_path, items, parameters=parameters)
        assert server.seen.requests == 20  # the second start knows


REPLIES: list[tuple[str | dict[str, Any], str]] = [
    ("A", "answered"),
    ("<think>A</think>C", "answered"),
    ("", "empty"),
    ({"content": None}, "empty"),
    ({"content": "", "reasoning_content": "A or C"}, "empty"),
    ("<think>A</think>", "empty"),
    ({"content": "The answ", "finish_reason": "length"}, "truncated"),
    ({"content": "", "finish_reason": "length"}, "truncated"),
    ({"content": "<think>A or", "finish_reason": "length"}, "truncated_reasoning"),
    ({"content": "<think>A or", "finish_reason": "stop"}, "truncated_reasoning"),
    (
        {"content": "", "reasoning_content": "A or", "finish_reason": "length"},
        "truncated_reasoning",
    ),
    ({"content": None, "refusal": "I cannot help with that."}, "refused"),
    ({"content": "", "finish_reason": "content_filter"}, "refused"),
    ({"content": "The answ", "finish_reason": "MAX_TOKENS"}, "truncated"),
    ("no letter here", "unparsed"),
    ({"content": [{"type": "text", "text": "A"}]}, "answered"),
]


def test_every_reply_has_its_outcome_and_the_outcomes_add_up(tmp_path: Path) -> None:
    items = [open_item(f"{number:02}") for number in range(len(REPLIES))]
    script = Script(reply=lambda body: REPLIES[int(prompt_of(body).split()[1])][0])
    options = RunConfig(retries=QUICK, can_read=lambda item, answer: answer in ("A", "C"))
    with model_server(script) as server:
        ended = ask(server.url, tmp_path, items, options)
    assert [line["outcome"] for line in content(tmp_path)] == [outcome for _, outcome in REPLIES]
    counts = ended.progress.ledger.as_json()
    assert counts.pop("asked") == sum(counts.values()) == len(REPLIES)
    assert set(counts) == {str(outcome) for outcome in Outcome}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (DROP, "connection"),
        (CUT, "connection"),
        (Fault(200, "A", {"Content-Encoding": "gzip"}), "broken_reply"),
        (BROKEN_JSON, "broken_reply"),
        (Fault(200, "[" * 200_000), "broken_reply"),
        (Fault(200, '{"choices": []}'), "broken_reply"),
        (
            Fault(200, {"choices": [{"message": {"content": "A"}, "finish_reason": "error"}]}),
            "broken_reply",
        ),
        (Fault(200, "<html>busy</html>"), "broken_reply"),
        (Fault(500, "<html>busy</html>"), "server"),
        (ERROR_IN_BODY, "server"),
        (slow(0.5), "timeout"),
    ],
)
def test_whatever_comes_back_is_tried_again_and_counted(
    tmp_path: Path, fault: Fault, kind: str
) -> None:
    options = RunConfig(retries=replace(QUICK, attempts=2))
    timeout = 0.25 if kind == "timeout" else 5.0
    with model_server(Script(lambda body, before: fault)) as server:
        ended = ask(server.url, tmp_path, [open_item("one")], options, timeout=timeout)
        assert server.seen.requests == 2
    assert ended.progress.errors == {kind: 1}


def test_half_a_surrogate_is_the_end_of_its_item_only(tmp_path: Path) -> None:
    items = [Item("bad", [{"role": "user", "content": "\ud800"}], "open"), open_item("good")]
    script = Script(reply=lambda body: "A\ud83d")
    with model_server(script) as server:
        ended = ask(server.url, tmp_path, items)
        assert server.seen.requests == 1
    assert ended.progress.errors == {"request": 1}
    assert content(tmp_path)[1]["text"] == "A\ufffd"


def test_each_sample_is_asked_with_a_seed_of_its_own(tmp_path: Path) -> None:
    items = [replace(open_item("one"), sample=sample) for sample in range(3)]
    with model_server() as server:
        ask(server.url, tmp_path, items, parameters={"seed": 7})
        assert sorted(body["seed"] for body in server.seen.bodies) == [7, 8, 9]


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.ledger.asked == 5:
            raise KeyboardInterrupt

    items = open_items(12)
    options = RunConfig(retries=QUICK, concurrency=3, on_progress=interrupt)
    with model_server() as server:
        with pytest.raises(KeyboardInterrupt):
            ask(server.url, tmp_path, items, options)
        assert len(lines(tmp_path)) == 5
        ended = ask(server.url, tmp_path, items)
    assert (ended.progress.before, ended.progress.ledger[Outcome.ANSWERED]) == (5, 12)


def test_a_filter_that_declines_the_prompt_is_a_refusal(tmp_path: Path) -> None:
    fault = error(400, "filtered", code="content_filter")
    with model_server(Script(lambda body, before: fault)) as server:
        ended = ask(server.url, tmp_path, [open_item("one")])
    assert ended.progress.ledger[Outcome.REFUSED] == 1
    assert ended.progress.errors == {}


def test_the_model_is_recorded_as_the_endpoint_names_it(tmp_path: Path) -> None:
    with model_server() as server:
        ask(server.url, tmp_path, [open_item("one")])
    (line,) = lines(tmp_path)
    assert line["model"] == "tested-model-2026-01-01"
    assert line["fingerprint"] == "fp_1"
    assert line["usage"]["input_tokens"] == 100


def test_a_run_with_other_settings_is_not_gone_on_with(tmp_path: Path) -> None:
    with model_server() as server:
        ask(server.url, tmp_path, open_items(3), parameters={"temperature": 0})
        with pytest.raises(UserError, match=r"parameters\.temperature was 0, now 1"):
            ask(server.url, tmp_path, open_items(3), parameters={"temperature": 1})
        with pytest.raises(UserError, match='model was "tested-model", now "other"'):
            ask(server.url, tmp_path, open_items(3), parameters={"temperature": 0}, model="other")
        assert server.seen.requests == 3


def test_an_item_with_another_prompt_is_not_gone_on_with(tmp_path: Path) -> None:
    with model_server() as server:
        ask(server.url, tmp_path, open_items(3))
        changed = [Item("item-001", [{"role": "user", "content": "another question"}], "open")]
        with pytest.raises(UserError, match=r"item 'item-001' .* was asked otherwise"):
            ask(server.url, tmp_path, changed)
        assert server.seen.requests == 3


def test_an_item_that_comes_twice_is_an_error_and_a_sample_is_not(tmp_path: Path) -> None:
    first = open_item("one")
    with model_server() as server:
        with pytest.raises(UserError, match=r"'one' .* comes twice"):
            ask(server.url, tmp_path / "twice", [first, first])
        ask(server.url, tmp_path / "samples", [first, replace(first, sample=1)])
    one, other = content(tmp_path / "samples")
    assert one["key"] != other["key"]


def test_items_are_read_as_they_are_needed(tmp_path: Path) -> None:
    ended = 0
    most_ahead = 0

    def note(progress: Progress) -> None:
        nonlocal ended
        ended = progress.ledger.asked

    def items() -> Iterator[Item]:
        nonlocal most_ahead
        for number, item in enumerate(open_items(40)):
            most_ahead = max(most_ahead, number - ended)
            yield item

    with model_server() as server:
        ask(
            server.url,
            tmp_path,
            items(),
            RunConfig(concurrency=3, retries=QUICK, on_progress=note),
        )
    assert most_ahead <= 3


def test_a_broken_item_ends_the_run_after_those_under_way(tmp_path: Path) -> None:
    def items() -> Iterator[Item]:
        yield open_item("one")
        raise UserError("line 2 is broken")

    with (
        model_server(Script(lambda body, before: slow(0.1))) as server,
        pytest.raises(UserError, match="line 2 is broken"),
    ):
        ask(server.url, tmp_path, items(), RunConfig(concurrency=2, retries=QUICK))
    assert [line["outcome"] for line in lines(tmp_path)] == ["answered"]


def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    before = os.umask(0)
    try:
        with model_server() as server:
            ask(server.url, folder, [open_item("one")])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"responses.jsonl": 0o600, "run.json": 0o600, "audit.jsonl": 0o600}


def test_the_client_is_loaded_only_to_ask() -> None:
    program = (
        "import sys, medeval.inference.engine, medeval.inference.batch;"
        "print(sorted({'openai', 'httpx2'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (0, "[]\n", "")
