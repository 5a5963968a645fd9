"""Rules of the model at the bedside that a small change of them could break unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cdm_bedside import (
    CT,
    answering,
    bedside,
    calling,
    case,
    in_order,
    loops,
    report,
)
from model_server import Script, error, model_server
from test_cdm_loop_context import EXAMINE, is_summary

from medeval.cdm import prompts
from medeval.cdm.context import Conversation
from medeval.cdm.episode import LoopOptions, read_transcripts
from medeval.cdm.full_information import FullInformationOptions, full_information
from medeval.inference.errors import TOO_LONG, CallFailedError, Failure, Kind
from medeval.inference.types import Ask, Completion, Item, Outcome, Turn

LAB = ("request_lab_test", {"test_name": "Lipase"})


def test_a_call_in_place_of_the_decision_is_answered_and_counted_but_not_made(
    tmp_path: Path,
) -> None:
    replies = in_order(calling(LAB), calling(LAB, LAB), answering())
    with model_server(Script(reply=replies)) as server:
        bedside(server.url, tmp_path, loops([case()], LoopOptions(max_rounds=1)))
        *_, last = server.seen.bodies
    # Endpoints take no conversation in which a call has no answer.
    told = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert told[1:] == [prompts.NO_MORE_CALLS] * 2
    (transcript,) = read_transcripts(tmp_path, [case()])
    assert (transcript.outcome, transcript.invalid_calls) == (Outcome.ANSWERED, 2)
    assert transcript.is_reasked


@pytest.mark.parametrize("kind", [Kind.KEY, Kind.QUOTA, Kind.MODEL])
def test_a_failure_that_all_cases_would_meet_is_no_end_of_one(kind: Kind) -> None:
    (loop,) = loops([case()])

    async def ask(asked: Ask) -> Turn:
        raise CallFailedError(Failure(kind))

    with pytest.raises(CallFailedError):
        asyncio.run(loop.play(ask))


def test_no_two_messages_of_the_user_follow_each_other_after_a_summary() -> None:
    async def ask(asked: Ask) -> Turn:
        return Turn(Completion("Tender all over."), Outcome.ANSWERED)

    async def shortened() -> Conversation:
        (loop,) = loops([case()])
        conversation = Conversation(Item(loop.id, loop.opening.messages, "open"), ask, None)
        conversation.add(
            {"role": "assistant", "content": "I look."}, {"role": "user", "content": "Seen."}
        )
        assert await conversation.shorten({})
        conversation.say("Decide now.")
        conversation.add({"role": "assistant", "content": "I cannot."})
        return conversation

    messages = asyncio.run(shortened()).messages("Decide at last.")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert str(messages[1]["content"]).endswith("Tender all over.\n\nDecide now.")
    assert messages[3]["content"] == "Decide at last."


def test_a_conversation_is_cut_four_times_and_no_more(tmp_path: Path) -> None:
    too_long = error(400, "too long", code=TOO_LONG)
    script = Script(
        lambda body, before: too_long if "tender" in str(body["messages"]) else None,
        reply=in_order(EXAMINE),
    )
    of = case(physical_exams="tender " * 2000)
    with model_server(script) as server:
        bedside(server.url, tmp_path, loops([of]))
    (transcript,) = read_transcripts(tmp_path, [of])
    assert transcript.context == ("summarised", *["truncated"] * 4)
    assert (transcript.outcome, transcript.reason) == (Outcome.ERRORED, "context_limit")


def test_what_was_too_long_is_not_asked_once_more_in_the_same_words(tmp_path: Path) -> None:
    of = case(radiology_reports=[report(1, "CT", CT)])
    script = Script(
        lambda body, before: (
            error(400, "prompt is too long")
            if not is_summary(body) and "# Imaging" in body["messages"][1]["content"]
            else None
        ),
        reply=lambda body: "Short." if is_summary(body) else answering(),
    )
    with model_server(script) as server:
        bedside(server.url, tmp_path, full_information([of], FullInformationOptions()))
        asked = [body["messages"][1]["content"] for body in server.seen.bodies]
    assert len(asked) == len(set(asked))
    (transcript,) = read_transcripts(tmp_path, [of])
    assert transcript.outcome is Outcome.ANSWERED
    assert transcript.context[0] == "abdomen_only"


def test_where_nobody_counts_half_of_the_last_summary_is_kept(tmp_path: Path) -> None:
    summary = "0123456789" * 4
    script = Script(
        lambda body, before: (
            error(400, "prompt is too long")
            if not is_summary(body) and (CT in str(body) or summary in str(body))
            else None
        ),
        reply=lambda body: summary if is_summary(body) else answering(),
    )
    of = case(radiology_reports=[report(1, "CT", CT.replace("\n", " "))])
    with model_server(script) as server:
        bedside(server.url, tmp_path, full_information([of], FullInformationOptions()))
        last = server.seen.bodies[-1]["messages"][1]["content"]
    assert f"# Imaging\n{summary[:20]}\n" in last
    (transcript,) = read_transcripts(tmp_path, [of])
    assert (transcript.outcome, transcript.context[-1]) == (Outcome.ANSWERED, "truncated")
