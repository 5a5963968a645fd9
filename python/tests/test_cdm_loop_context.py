"""A conversation near the limit is summarised, then cut, and then the model has to decide."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cdm_bedside import HISTORY, answering, bedside, calling, case, in_order, loops
from inference_runs import provider_of
from model_server import Body, Script
from tokenizing_server import TokenizingServer, tokenizing_server, words

from medeval.cdm import prompts
from medeval.cdm.context import Room, room_in
from medeval.cdm.loop_episode import LoopOptions
from medeval.cdm.loop_memory import MARGIN
from medeval.cdm.transcripts import Transcript, read_transcripts
from medeval.errors import UserError
from medeval.inference.openai_model import OpenAIModel
from medeval.inference.tokens import ContextWindow, context_window
from medeval.inference.types import Outcome

LONG = "Abdomen: " + "tender " * 300
EXAMINE = calling(("physical_examination", {}))
LAB = calling(("request_lab_test", {"test_name": "Lipase"}))


def is_summary(body: Body) -> bool:
    return bool(body["messages"][0]["content"] == prompts.SYSTEM_SUMMARY)


def room_at(server: TokenizingServer, folder: Path) -> tuple[OpenAIModel, Room]:
    """Return a provider and the room it has; its counts go through its own connections."""
    provider = provider_of(server.url, folder)
    window = asyncio.run(context_window(provider, is_open=True))
    return provider, room_in(window, provider, MARGIN)


def played(
    folder: Path, server: TokenizingServer, of: Any, with_room: bool = True, **options: Any
) -> Transcript:
    folder.mkdir(exist_ok=True)
    provider, room = room_at(server, folder)
    episodes = loops([of], LoopOptions(**options), room if with_room else None)
    bedside(server.url, folder, episodes, provider=provider)
    return read_transcripts(folder, [of])[0]


def test_near_the_limit_what_was_found_is_summarised(tmp_path: Path) -> None:
    def reply(body: Body) -> Any:
        if is_summary(body):
            return "Tender all over."
        return EXAMINE if len(body["messages"]) == 2 and "Tender" not in str(body) else answering()

    of = case(physical_exams=LONG)
    # System prompt and history take about 150 words, the examination 300 more.
    with tokenizing_server(Script(reply=reply), limit=500, enforces=True) as server:
        transcript = played(tmp_path, server, of)
        bodies = server.server.seen.bodies
    assert [is_summary(body) for body in bodies] == [False, True, False]
    assert bodies[1]["messages"][1]["content"].count("tender") == 300
    assert [message["role"] for message in bodies[2]["messages"]] == ["system", "user"]
    assert bodies[2]["messages"][1]["content"] == (
        f"{prompts.history(HISTORY)}\n\n{prompts.found_so_far('Tender all over.')}"
    )
    assert (transcript.outcome, transcript.context) == (Outcome.ANSWERED, ("summarised",))
    assert (transcript.rounds, transcript.turns) == (1, 3)


def test_the_margin_is_a_hundred_tokens(tmp_path: Path) -> None:
    of = case(physical_exams=LONG)
    with tokenizing_server(Script(reply=in_order(EXAMINE, answering()))) as server:
        played(tmp_path / "free", server, of, with_room=False)
        longest = words(server.server.seen.bodies[1]["messages"])
    for limit, measures in ((longest + MARGIN, ()), (longest + MARGIN - 1, ("summarised",))):
        script = Script(reply=in_order(EXAMINE, answering()))
        with tokenizing_server(script, limit=limit) as server:
            assert played(tmp_path / str(limit), server, of).context == measures


def test_a_summary_that_helps_not_is_cut_and_the_model_has_to_decide(tmp_path: Path) -> None:
    def reply(body: Body) -> Any:
        if is_summary(body):
            return "tender " * 400
        return EXAMINE if "tender" not in str(body["messages"]) else answering()

    of = case(physical_exams=LONG)
    with tokenizing_server(Script(reply=reply), limit=500, enforces=True) as server:
        transcript = played(tmp_path, server, of)
        last = server.server.seen.bodies[-1]
    assert transcript.context == ("summarised", "truncated")
    assert (transcript.outcome, transcript.reason) == (Outcome.ANSWERED, "context_limit")
    assert last["messages"][-1]["content"].endswith(prompts.DECIDE_NATIVE)
    assert last["tool_choice"] == "none"
    # As much as there is room for, and no more.
    assert 350 < words(last["messages"]) <= 400


@pytest.mark.parametrize("with_room", [True, False])
def test_an_endpoint_that_says_too_long_is_believed(tmp_path: Path, with_room: bool) -> None:
    def reply(body: Body) -> Any:
        return EXAMINE if "tender" not in str(body["messages"]) else answering()

    of = case(physical_exams=LONG)
    # What was found is too long for a summary as well, so it is cut until it fits.
    with tokenizing_server(Script(reply=reply), limit=300, enforces=True) as server:
        provider, room = room_at(server, tmp_path)
        wide = replace(room, size=100_000) if with_room else None
        bedside(server.url, tmp_path, loops([of], None, wide), provider=provider)
        requests = server.server.seen.requests
    (transcript,) = read_transcripts(tmp_path, [of])
    assert (transcript.outcome, transcript.reason) == (Outcome.ANSWERED, "context_limit")
    assert transcript.context == ("summarised", "truncated", "truncated")
    assert requests == transcript.turns


def test_a_history_that_is_too_long_by_itself_is_an_error_with_its_reason(tmp_path: Path) -> None:
    of = case(history_of_present_illness="pain " * 900)
    with tokenizing_server(Script(reply=in_order(EXAMINE)), limit=500, enforces=True) as server:
        provider, room = room_at(server, tmp_path)
        ended = bedside(server.url, tmp_path, loops([of], None, room), provider=provider)
        assert server.server.seen.requests == 1
    assert ended.progress.errors == {"request": 1}
    assert ended.reasons == {"context_limit": 1}
    (transcript,) = read_transcripts(tmp_path, [of])
    assert (transcript.outcome, transcript.calls) == (Outcome.ERRORED, ())


def test_summaries_have_an_end(tmp_path: Path) -> None:
    def reply(body: Body) -> Any:
        return "tender " * 200 if is_summary(body) else EXAMINE

    of = case(physical_exams=LONG)
    with tokenizing_server(Script(reply=reply), limit=650, enforces=True) as server:
        transcript = played(tmp_path, server, of)
    assert transcript.context.count("summarised") == 3
    assert (transcript.outcome, transcript.reason) == (Outcome.UNPARSED, "context_limit")


def test_a_short_conversation_is_not_even_counted(tmp_path: Path) -> None:
    script = Script(reply=in_order(LAB, answering()))
    with tokenizing_server(script, limit=100_000) as server:
        played(tmp_path, server, case())
        # The one count is that which found out whether there is a tokenizer.
        assert [body["messages"][0]["content"] for body in server.counted] == ["Hello"]


def test_a_longest_reply_keeps_its_room(tmp_path: Path) -> None:
    with tokenizing_server(Script(), limit=1000) as server:
        provider = provider_of(server.url, tmp_path, parameters={"max_tokens": 300})
        window = asyncio.run(context_window(provider, is_open=True))
        assert room_in(window, provider, MARGIN).size == 700
        greedy = provider_of(server.url, tmp_path, parameters={"max_tokens": 1000})
        with pytest.raises(UserError, match="max_tokens lower"):
            room_in(window, greedy, MARGIN)


def test_the_window_is_recorded(tmp_path: Path) -> None:
    with tokenizing_server(Script(), limit=1000) as server:
        window = asyncio.run(context_window(provider_of(server.url, tmp_path), is_open=True))
    assert isinstance(window, ContextWindow)
    assert window.as_json() == {
        "limit": 1000,
        "limit_from": "server",
        "tokens_counted_by": "server",
    }
