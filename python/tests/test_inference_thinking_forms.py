"""Forms of thinking that come out of servers which do not take them out themselves."""

from __future__ import annotations

import pytest

from medeval.inference.openai_replies import outcome_of
from medeval.inference.thinking import after_thinking, split_thinking
from medeval.inference.types import Completion, Outcome

FINAL = "<|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    "text",
    [
        "<thought>A</thought>B",
        "<seed:think>A</seed:think>B",
        "<antThinking>A</antThinking>B",
        "<|begin_of_thought|>A<|end_of_thought|>B",
        "<|begin_of_thought|>A<|end_of_thought|>\n\n<|begin_of_solution|>\nB\n<|end_of_solution|>",
        "A<|end_of_thought|>B",
        f"<|channel|>analysis<|message|>A<|end|>{FINAL}B<|return|>",
        f"<|start|>assistant<|channel|>analysis<|message|>A<|end|>{FINAL}B",
        f"A<|end|>{FINAL}B",
        "<|channel|>analysis<|message|>A<|channel|>final <|constrain|>json<|message|>B",
    ],
)
def test_only_the_answer_is_read(text: str) -> None:
    reply = split_thinking(text)
    assert (reply.answer, reply.thinking, reply.state) == ("B", "A", "complete")
    assert "A" not in after_thinking(text)
    assert "B" in after_thinking(text)


@pytest.mark.parametrize(
    "text",
    [
        "<thought>A",
        "<|begin_of_thought|>A",
        "<|channel|>analysis<|message|>答案：A？但B更好",
        "<|channel|>analysis<|message|>A<|end|>",
        "<|channel|>analysis",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
    ],
)
def test_what_never_came_to_an_answer_has_none(text: str) -> None:
    assert (split_thinking(text).answer, split_thinking(text).state) == ("", "truncated_reasoning")
    assert outcome_of(Completion(text, finish_reason="stop")) is Outcome.TRUNCATED_REASONING
    assert after_thinking(text) == ""


def test_blocks_within_the_final_channel_are_thinking_too() -> None:
    reply = split_thinking(f"<|channel|>analysis<|message|>one<|end|>{FINAL}<think>two</think>B")
    assert (reply.answer, reply.thinking) == ("B", "one\ntwo")


@pytest.mark.parametrize("text", ["a thought", "the <channel> is final", "begin_of_thought: A"])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert split_thinking(text).answer == text
