"""What a server repeats of a request is not its own word, and no sentence alone stops a run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from inference_runs import QUICK, ask, content, named_parts
from model_server import Fault, Script, error, model_server, prompt_of

from medeval.inference.errors import Failure, Kind, failure_of_response
from medeval.inference.run import RunConfig
from medeval.inference.types import Item, Outcome

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPTIONS = RunConfig(retries=QUICK, concurrency=1)
NOTES = {
    "balance": "Gait: his balance is insufficient for stairs.",
    "wait": "Told to try again in 20 hours if the pain persists.",
    "flagged": "The prompt was flagged for the attending.",
    "long": "He says the prompt is too long to read.",
    "chinese": "她说卡里余额不足而拒绝检查",
}


def items(*texts: str) -> list[Item]:
    return [
        Item(f"item-{number}", [{"role": "user", "content": text}], "open")
        for number, text in enumerate(texts)
    ]


def quoting(status: int, form: str) -> Script:
    """Return a server that declines the notes above, and repeats them."""

    def fault(body: dict[str, Any], before: int) -> Fault | None:
        prompt = prompt_of(body)
        return error(status, form % prompt) if prompt in NOTES.values() else None

    return Script(fault)


@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("status", [400, 403, 429, 500])
def test_a_note_that_is_repeated_is_the_end_of_its_item_only(
    tmp_path: Path, note: str, status: int
) -> None:
    asked = items(NOTES[note], NOTES[note] + " ", NOTES[note], "a", "b")
    retries = QUICK.__class__(attempts=2, first_wait=0.01, declined=9)
    options = RunConfig(retries=retries, concurrency=1)
    with model_server(quoting(status, "Rejected: '%s' is not acceptable")) as server:
        ended = ask(server.url, tmp_path, [asked[3], *asked[:3], asked[4]], options)
    assert ended.stopped == ""
    lines = content(tmp_path)
    assert [line["outcome"] for line in lines].count("answered") == 3
    assert {line["outcome"] for line in lines} == {"answered", "errored"}
    for line in lines:
        assert line.get("error", {}).get("code") != "context_length_exceeded"


USED_UP = error(400, "Your credit balance is too low")
LATER = error(429, "Please try again in 20 hours")


@pytest.mark.parametrize("fault", [USED_UP, LATER])
def test_a_sentence_stops_a_run_when_two_items_in_a_row_are_told_it(
    tmp_path: Path, fault: Fault
) -> None:
    bad = {"one", "three", "five", "six"}
    script = Script(lambda body, before: fault if prompt_of(body) in bad else None)
    retries = QUICK.__class__(attempts=2, first_wait=0.01)
    options = RunConfig(retries=retries, concurrency=1)
    names = ["one", "two", "three", "four", "five", "six", "seven"]
    with model_server(script) as server:
        ended = ask(server.url, tmp_path, items(*names), options)
        assert ended.stopped != ""
        assert server.seen.count("seven") == 0
        outcomes = [line["outcome"] for line in content(tmp_path)]
        assert outcomes == ["errored", "answered", "errored", "answered", "errored"]
        server.script = Script()
        again = RunConfig(retries=retries, concurrency=1, retry=frozenset({Outcome.ERRORED}))
        ended = ask(server.url, tmp_path, items(*names), again)
    assert ended.progress.ledger[Outcome.ANSWERED] == 7


@pytest.mark.parametrize(
    "fault",
    [
        error(402, "x"),
        error(400, "x", code="insufficient_quota"),
        error(429, "x", {"Retry-After": "72000"}),
    ],
)
def test_a_status_a_code_or_a_header_stops_a_run_at_once(tmp_path: Path, fault: Fault) -> None:
    with model_server(Script(lambda body, before: fault)) as server:
        ended = ask(server.url, tmp_path, items("one", "two"), OPTIONS)
        assert (bool(ended.stopped), server.seen.requests) == (True, 1)


def failure(message: str, asked: str, status: int = 400) -> Failure:
    return failure_of_response(status, {}, message, NOW, asked)


def test_words_of_its_own_count_beside_what_is_repeated() -> None:
    note = "The patient was told that his balance is insufficient for stairs."
    own = f"Your credit balance is too low. Request: {note}"
    found = failure(own, note)
    assert (found.kind, found.is_by_words) == (Kind.QUOTA, True)
    assert "stairs" not in found.detail
    assert failure("Insufficient balance", "his INSUFFICIENT\n balance").kind is Kind.REQUEST
    assert failure("Insufficient balance", "his balance").kind is Kind.QUOTA


def test_a_parameter_is_not_left_out_for_a_sentence_of_the_prompt() -> None:
    note = "Say whether a temperature is not supported by the chart of the patient."
    sent = {"temperature": 0}
    assert not named_parts(failure(f"Invalid input: {note}", note), sent)
    told = f"Unsupported parameter: 'temperature'. Input: {note}"
    assert named_parts(failure(told, note), sent)
