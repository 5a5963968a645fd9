"""One item that an endpoint declines in the words of a bad key is the end of that item only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from inference_runs import QUICK, ask, content, open_items
from model_server import BAD_KEY, Body, Fault, Script, error, model_server, prompt_of
from test_inference_conversations import dialogues, talk

from medeval.inference.run import RunConfig
from medeval.inference.types import Outcome

FORBIDDEN = error(403, "This model is not for you")
UNKNOWN = error(404, "No such model")
FLAGGED = error(403, "Your chosen model requires moderation and your input was flagged for harm")
OPTIONS = RunConfig(retries=QUICK, concurrency=1)
AGAIN = RunConfig(retries=QUICK, concurrency=8, retry=frozenset({Outcome.ERRORED}))


def those(fault: Fault, *names: str) -> Callable[[Body, int], Fault | None]:
    return lambda body, before: (
        fault if prompt_of(body).removeprefix("question ") in names else None
    )


@pytest.mark.parametrize("fault", [FORBIDDEN, UNKNOWN])
def test_one_item_that_is_declined_ends_no_run(tmp_path: Path, fault: Fault) -> None:
    with model_server(Script(those(fault, "item-001"))) as server:
        ended = ask(server.url, tmp_path, open_items(4), OPTIONS)
        assert ended.stopped == ""
        outcomes = [line["outcome"] for line in content(tmp_path)]
        assert outcomes == ["answered", "errored", "answered", "answered"]
        # It is the first of the next start, and others wait for what it is told.
        ended = ask(server.url, tmp_path, open_items(14), AGAIN)
        assert ended.stopped == ""
        assert ended.progress.ledger[Outcome.ANSWERED] == 13


def test_several_in_a_row_stop_the_run_which_then_goes_on(tmp_path: Path) -> None:
    bad = [f"item-{number:03}" for number in range(1, 30)]
    with model_server(Script(those(FORBIDDEN, *bad))) as server:
        ended = ask(server.url, tmp_path, open_items(30), OPTIONS)
        assert "does not accept the key" in ended.stopped
        assert server.seen.requests == 1 + QUICK.declined
        server.script = Script()
        ended = ask(server.url, tmp_path, open_items(30), AGAIN)
    assert ended.progress.ledger[Outcome.ANSWERED] == 30


def test_a_reply_between_two_of_them_begins_the_row_anew(tmp_path: Path) -> None:
    bad = [f"item-{number:03}" for number in range(1, 20) if number % 4]
    with model_server(Script(those(FORBIDDEN, *bad))) as server:
        ended = ask(server.url, tmp_path, open_items(20), OPTIONS)
    assert ended.stopped == ""
    assert ended.progress.ledger[Outcome.ERRORED] == len(bad)


@pytest.mark.parametrize(("fault", "asked"), [(FORBIDDEN, 1), (BAD_KEY, 1)])
def test_an_endpoint_that_never_answered_is_believed_at_once(
    tmp_path: Path, fault: Fault, asked: int
) -> None:
    with model_server(Script(lambda body, before: fault)) as server:
        assert ask(server.url, tmp_path, open_items(9), OPTIONS).stopped
        assert server.seen.requests == asked


def test_a_key_that_is_no_longer_accepted_stops_the_run_at_once(tmp_path: Path) -> None:
    with model_server(Script(those(BAD_KEY, "item-001"))) as server:
        ended = ask(server.url, tmp_path, open_items(4), OPTIONS)
        assert "does not accept the key" in ended.stopped
        assert server.seen.requests == 2


def test_an_input_that_a_gateway_has_flagged_is_refused(tmp_path: Path) -> None:
    with model_server(Script(those(FLAGGED, "item-000"))) as server:
        ended = ask(server.url, tmp_path, open_items(2), OPTIONS)
    assert ended.stopped == ""
    assert [line["outcome"] for line in content(tmp_path)] == ["refused", "answered"]


def test_one_conversation_that_is_declined_ends_no_run(tmp_path: Path) -> None:
    def fault(body: Body, before: int) -> Fault | None:
        return UNKNOWN if prompt_of(body).startswith("case-001 turn 2") else None

    with model_server(Script(fault)) as server:
        ended = talk(server.url, tmp_path, dialogues(4), OPTIONS)
        assert ended.stopped == ""
        outcomes = [line["outcome"] for line in content(tmp_path)]
        assert outcomes == ["answered", "errored", "answered", "answered"]
        server.script = Script()
        ended = talk(server.url, tmp_path, dialogues(4), AGAIN)
    assert ended.progress.ledger[Outcome.ANSWERED] == 4
