"""Which part of a reply about a procedure note is its answer; the prompts are in the net."""

from __future__ import annotations

import pytest

from medeval.tasks.mtsamples.task import MtsamplesOptions
from medeval.text import split_thinking


@pytest.mark.parametrize(
    ("use_think", "reply", "reasoning", "answer", "thought"),
    [
        (True, "<think>why</think>Rest.", "", "Rest.", "why"),
        (True, "<think>why</think>\nRest. \n", "", "Rest.", "why"),
        (True, "why</think> Rest.", "", "Rest.", "why"),
        (True, "<THINK>why</THINK>Rest.", "", "Rest.", "why"),
        (True, "<think>a</think>draft</think>Rest.", "", "Rest.", "a\ndraft"),
        (True, "<think>why</think>  ", "", "", "why"),
        # A model that never closes its thinking has given no answer.
        (True, "Rest.", "", "", "Rest."),
        (True, "<think>why", "", "", "why"),
        (True, "  ", "", "", ""),
        # Thinking that the server has split off leaves no tag to be closed.
        (True, "Rest.", "why", "Rest.", "why"),
        (True, "more</think>Rest.", "why", "Rest.", "why\nmore"),
        (False, "<think>why</think>Rest.", "", "Rest.", "why"),
        (False, "Rest.", "", "Rest.", ""),
    ],
)
def test_asked_to_think_the_answer_is_what_follows_the_last_closing_tag(
    use_think: bool, reply: str, reasoning: str, answer: str, thought: str
) -> None:
    judged, thinking = MtsamplesOptions(use_think=use_think).split(reply, reasoning)
    assert (split_thinking(judged).answer, thinking) == (answer, thought)
