"""What a model thinks aloud is no answer, and half of an emoji breaks no request.

Journals, scores and reports with such halves: net `surrogates`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows_of, table

from medeval.inference.openai_replies import outcome_of
from medeval.inference.types import Outcome, Reply
from medeval.tasks.mtsamples.task import MtsamplesOptions
from medeval.text import SplitReply, after_thinking, split_thinking, whole, whole_json

OUTCOMES = {"complete": Outcome.ANSWERED, "empty": Outcome.EMPTY}


@pytest.mark.parametrize("row", rows_of("thinking", "readers"))
def test_a_thought_is_not_read(row: dict[str, Any]) -> None:
    text = row["text"]
    reply = split_thinking(text)
    found = {**asdict(reply), "text": text, "after": after_thinking(text)}
    assert {name: found[name] for name in row} == row
    outcome = OUTCOMES.get(reply.state, Outcome.TRUNCATED_REASONING)
    assert outcome_of(Reply(text, finish_reason="stop")) is outcome
    assert reply.state != "complete" or reply.answer[-1] in after_thinking(text)


@given(st.lists(st.sampled_from(["<think>", "</think>", "[THINK]", "[/THINK]", "A", "\n"])))
def test_no_tag_is_left_and_nothing_is_answered_unless_complete(parts: list[str]) -> None:
    reply = split_thinking("".join(parts))
    assert (reply.state == "complete") == bool(reply.answer)
    assert "think" not in (reply.answer + reply.thinking).lower()
    assert reply.answer.count("A") + reply.thinking.count("A") == parts.count("A")


@given(st.text(alphabet="ABC think/<>[]&;=\"'", max_size=80))
def test_reading_the_answer_again_changes_nothing(text: str) -> None:
    reply = split_thinking(text)
    if reply.state == "complete" and not any(c in reply.answer for c in "<[&"):
        assert split_thinking(reply.answer) == SplitReply(reply.answer, "", "complete")


# A model that never closes its thinking has given no answer; thinking that the server has split off
# leaves no tag to be closed.
@pytest.mark.parametrize(
    ("use_think", "reply", "reasoning", "answer", "thought"), table("asked_to_think", "readers")
)
def test_asked_to_think_the_answer_is_what_follows_the_last_closing_tag(
    use_think: bool, reply: str, reasoning: str, answer: str, thought: str
) -> None:
    judged, thinking = MtsamplesOptions(use_think=use_think).split(reply, reasoning)
    assert (split_thinking(judged).answer, thinking) == (answer, thought)


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
