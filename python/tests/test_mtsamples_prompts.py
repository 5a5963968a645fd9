"""What a model is asked about a procedure note, and which part of its reply is its answer."""

from __future__ import annotations

import pytest

from medeval.tasks.mtsamples.task import INSTRUCTION, MtsamplesOptions
from medeval.text import split_thinking


def test_the_instruction_is_that_of_the_benchmark_in_both_styles() -> None:
    assert MtsamplesOptions().messages("the note") == [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": "the note"},
    ]
    assert MtsamplesOptions(prompt_style="helm").messages("the note") == [
        {"role": "user", "content": f"{INSTRUCTION}\n\nPatient Notes: the note\nAnswer:"}
    ]


@pytest.mark.parametrize(
    ("reply", "answer", "thought"),
    [
        ("<think>why</think>Rest.", "Rest.", "why"),
        ("<think>why</think>\nRest. \n", "Rest.", "why"),
        ("why</think> Rest.", "Rest.", "why"),
        ("<THINK>why</THINK>Rest.", "Rest.", "why"),
        ("<think>a</think>draft</think>Rest.", "Rest.", "a\ndraft"),
        ("<think>why</think>  ", "", "why"),
        ("Rest.", "", "Rest."),
        ("<think>why", "", "why"),
        ("  ", "", ""),
    ],
)
def test_asked_to_think_the_answer_is_what_follows_the_last_closing_tag(
    reply: str, answer: str, thought: str
) -> None:
    judged, thinking = MtsamplesOptions(use_think=True).split(reply)
    assert (split_thinking(judged).answer, thinking) == (answer, thought)


def test_thinking_that_the_server_has_split_off_leaves_no_tag_to_be_closed() -> None:
    asked = MtsamplesOptions(use_think=True)
    assert asked.split("Rest.", "why") == ("Rest.", "why")
    assert asked.split("more</think>Rest.", "why") == ("Rest.", "why\nmore")


def test_not_asked_to_think_a_reply_stays_as_it_is() -> None:
    reply = "<think>why</think>Rest."
    assert MtsamplesOptions().split(reply) == (reply, "why")
    assert MtsamplesOptions().split("Rest.") == ("Rest.", "")
