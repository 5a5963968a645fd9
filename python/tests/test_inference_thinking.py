"""What a model thinks aloud is never read as its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medeval.text import Reply, split_thinking

COMPLETE = [
    ("C", "C", ""),
    ("<think>A</think>C", "C", "A"),
    ("<think>\nA or B?\n</think>\n\nC\n", "C", "A or B?"),
    ("<thinking>A</thinking>C", "C", "A"),
    ("<reasoning>A</reasoning>C", "C", "A"),
    ("<reason>A</reason>C", "C", "A"),
    ("[THINK]A[/THINK]C", "C", "A"),
    ("[think]A[/think]C", "C", "A"),
    ("<THINK>A</Think>C", "C", "A"),
    ("< think >A</ think >C", "C", "A"),
    ('<think duration="3.2s" model=big>A</think>C', "C", "A"),
    ("&lt;think&gt;A&lt;/think&gt;C", "C", "A"),
    ("\uff1cthink\uff1eA\uff1c\uff0fthink\uff1eC", "C", "A"),
    ("\u25c1think\u25b7A\u25c1/think\u25b7C", "C", "A"),
    ("<think></think>C", "C", ""),
    ("<think/>C", "C", ""),
    # Several blocks, also between parts of the answer, and mixed names.
    ("<think>A</think>C<think>B</think>D", "CD", "A\nB"),
    ("<think>A</thinking>C", "C", "A"),
    ("[THINK]A</think>C", "C", "A"),
    # The template had opened the block: only what follows the last closing tag counts.
    ("A it is not.</think>C", "C", "A it is not."),
    ("A</think>B</think>C", "C", "A\nB"),
    ("<think>A</think>B</think>C", "C", "A\nB"),
    # A block within a block, and an opening tag that is only thought about.
    ("<think>A<think>B</think>D</think>C", "C", "A\nB\nD"),
    ("<think>I write <think> and then A</think>C", "C", "I write\nand then A"),
    # No tags: words of the text.
    ("I think C", "I think C", ""),
    ("<reason for visit> pain", "<reason for visit> pain", ""),
    ("<reasons>C</reasons>", "<reasons>C</reasons>", ""),
    ("[reasoning] C", "[reasoning] C", ""),
    ("<thinking_process>A</thinking_process>C", "C", "A"),
]


@pytest.mark.parametrize(("text", "answer", "thinking"), COMPLETE)
def test_thinking_is_taken_out(text: str, answer: str, thinking: str) -> None:
    assert split_thinking(text) == Reply(answer, thinking, "complete")


@pytest.mark.parametrize(
    ("text", "thinking"),
    [
        ("<think>A or C, so", "A or C, so"),
        ("[THINK]A or C, so", "A or C, so"),
        ("C\n<reasoning>or rather", "C\nor rather"),
        ("<think>A</think>C<think>wait", "C\nA\nwait"),
        ("<think>", ""),
        ("<thinking_process>C", "<thinking_process>C"),
    ],
)
def test_a_block_that_is_never_closed_leaves_no_answer(text: str, thinking: str) -> None:
    assert split_thinking(text) == Reply("", thinking, "truncated_reasoning")


@pytest.mark.parametrize(
    "text", ["", "  \n", "<think>A</think>", "<think>A</think>\n ", "A</think>"]
)
def test_nothing_left_is_empty(text: str) -> None:
    reply = split_thinking(text)
    assert (reply.answer, reply.state) == ("", "empty")


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
        assert split_thinking(reply.answer) == Reply(reply.answer, "", "complete")
