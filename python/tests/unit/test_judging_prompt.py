"""The judge's prompt: what is in it, what cannot break out of it, and when it counts as another."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_runs import RUBRIC, subject
from tables import read_lines, refused, table

from medeval.judging.prompt import (
    ANSWER_FIRST,
    CRITERIA_REVERSED,
    NO_REFERENCE,
    STANDARD,
    JudgePrompt,
    Subject,
    blocks_in,
    escape,
    injection_signs,
    marker_in,
)
from medeval.judging.rubric import Rubric, shipped_rubric
from medeval.judging.verdict import read_verdict

PROMPT = JudgePrompt(RUBRIC)
FORM = (files("medeval.judging") / "rubrics" / "communication.yaml").read_text("utf-8")
TABLES = table("judging")
SIGNS = table("injection_signs", "readers")
ODD = st.sampled_from([*TABLES["odd_texts"], *TABLES["planted_marks"], "VERDICT-0123456789abcdef"])


def text_of(prompt: JudgePrompt, of: Subject) -> str:
    (message,) = prompt.messages(of, 0)
    assert message["role"] == "user"
    return str(message["content"])


@given(*[st.lists(st.one_of(st.text(), ODD)).map("\n".join)] * 3)
def test_blocks_of_any_texts_can_be_told_apart(question: str, answer: str, reference: str) -> None:
    asked = Subject("x", question, f"a {answer}", reference, "open")
    if asked.blank_reason:
        return
    messages = PROMPT.messages(asked, 0)
    assert blocks_in(messages) == {
        "question": escape(question.strip())[0],
        "reference": escape(reference.strip())[0],
        "answer": escape(asked.judged.strip())[0],
    }
    # A marker inside the material is not the one that is asked for.
    assert marker_in(messages) not in (question + answer + reference).split("\n")


@pytest.mark.parametrize("planted", TABLES["planted_marks"])
def test_marks_inside_the_answer_close_nothing(planted: str) -> None:
    asked = subject("one", f"plan {planted} all perfect")
    text, count = escape(asked.judged)
    assert count == 1
    assert blocks_in(PROMPT.messages(asked, 0))["answer"] == text
    assert planted not in text_of(PROMPT, asked)
    assert "false_delimiter" in injection_signs(asked.answer, RUBRIC)


def test_an_answer_without_a_visible_character_is_shown_to_nobody() -> None:
    reasons = [subject("one", answer).blank_reason for answer in TABLES["blank_answers"]]
    assert reasons == ["blank_answer"] * 5 + ["unclosed_think"]
    assert subject("one", "full").blank_reason == ""


def test_the_explanation_comes_before_the_score_in_a_sample_that_is_json_and_no_verdict() -> None:
    text = text_of(PROMPT, subject("one"))
    members = json.loads(text[text.index("\n{\n") : text.index("\n}\n") + 2])
    assert list(members) == list(RUBRIC.names)
    assert all(list(member) == ["explanation", "score"] for member in members.values())
    # A judge that repeats the prompt, or its sample, has not graded.
    for repeated in (text, json.dumps(members)):
        assert read_verdict(repeated, RUBRIC).status == "failed"


VARIANTS = {one.name: one for one in (STANDARD, ANSWER_FIRST, CRITERIA_REVERSED, NO_REFERENCE)}


@pytest.mark.parametrize(("name", "parts"), TABLES["variants"])
def test_variants_show_the_same_in_another_order(name: str, parts: list[str]) -> None:
    variant = VARIANTS[name]
    text = text_of(JudgePrompt(RUBRIC, variant), subject("one"))
    assert sorted(parts, key=text.index) == parts
    is_without = variant is NO_REFERENCE
    assert ("reference one" not in text) == ("no reference answer" in text) == is_without


def test_a_rubric_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(FORM.replace("id: communication", "id: own").replace("low: 1", "low: 0"))
    rubric = Rubric.read(path)
    assert rubric.name == "own-1"
    assert read_verdict('{"empathy": 0}', rubric).scores["empathy"] == 0.0
    path.write_text(path.read_text().replace("without talking", "without shouting"))
    assert JudgePrompt(Rubric.read(path)).version != JudgePrompt(rubric).version
    assert shipped_rubric("mtsamples-procedures") == RUBRIC


@pytest.mark.parametrize(("old", "new", "said"), TABLES["broken_rubrics"])
def test_a_rubric_that_cannot_be_meant(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in FORM
    (tmp_path / "own.yaml").write_text(FORM.replace(old, new))
    refused(f"own.yaml.*{said}", Rubric.read, tmp_path / "own.yaml")


def test_signs_of_an_answer_that_speaks_to_its_judge_and_of_ordinary_text() -> None:
    assert {answer: list(injection_signs(answer, RUBRIC)) for answer in SIGNS} == SIGNS
    for answer in TABLES["ordinary_answers"]:
        assert injection_signs(answer, RUBRIC) == (), answer


def test_no_note_of_the_benchmark_shows_a_sign(shared: Path) -> None:
    path = shared / "golden" / "mtsamples_procedures" / "expected.jsonl"
    for case in read_lines(path):
        assert injection_signs(case["question"], RUBRIC) == (), case["filename"]
        assert injection_signs(case["answer"], RUBRIC) == (), case["filename"]
