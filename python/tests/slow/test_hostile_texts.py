"""Every reader of replies and texts is done with 100 KB of hostile text in two seconds of CPU."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from cdm_cases import facts, names
from judging_runs import RUBRIC

from medeval.errors import UserError
from medeval.evaluation.task_prompts import output_from_reply
from medeval.inference.errors import failure_of_response
from medeval.inference.openai_replies import read_reply as read_body
from medeval.inference.openai_replies import with_calls_in_text
from medeval.inference.types import Reply
from medeval.judging.prompt import injection_signs
from medeval.judging.verdict import read_verdict
from medeval.metrics.metric import Sample
from medeval.metrics.texts import readability
from medeval.models import MedicalTask
from medeval.tasks.cdm import scores as scores_v2
from medeval.tasks.cdm import scores_v1
from medeval.tasks.cdm.demo import reply_to
from medeval.tasks.cdm.facts import ARGUMENTS, name_parts
from medeval.tasks.cdm.text_protocol import arguments_in, read_answer, read_text_reply
from medeval.tasks.cdm.tools import LONGEST_REQUEST, TOOLS, requested_names, understood
from medeval.tasks.choice_replies import read_choices
from medeval.tasks.mtsamples.notes import read_notes
from medeval.tasks.mtsamples.task import MtsamplesOptions
from medeval.tasks.yier.files import read_bytes
from medeval.text import after_thinking, split_thinking

pytestmark = pytest.mark.slow


LENGTH = 100_000
SECONDS = 2.0
# Another run, or the first use of a library, may have taken the time.
TRIES = 3

Reader = Callable[[str], object]
MARKER = "VERDICT-00112233445566ff"
SELECTION = ("甲项", "乙项", "丙项", "丁项")
QUESTIONS = MedicalTask(task_id="t", task_type="qa", inputs=[{"question": "q"}])
NOW = datetime(2026, 1, 1, tzinfo=UTC)

# What every reader is given, and of each what it looks for.
PARTS: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parents[1] / "readers" / "hostile_parts.yaml").read_text(encoding="utf-8")
)
# What may stand behind an opener without end.
FILLERS = (" ", "a")


def requests_of_tests(text: str) -> None:
    name_parts(text)
    # What is longer is an invalid call, of which nothing is read.
    requested_names(text[:LONGEST_REQUEST], facts().labs, names().is_exact)


def bedside(text: str) -> None:
    read_text_reply(text, TOOLS)
    for tool in TOOLS:
        arguments_in(text, list(ARGUMENTS[tool]))


def diagnosis(text: str) -> None:
    for scores in (scores_v1, scores_v2):
        scores.diagnosis_scores(text.lower(), "appendicitis", facts())


def thinking(text: str) -> None:
    split_thinking(text)
    after_thinking(text)
    for use_think in (False, True):
        MtsamplesOptions(use_think=use_think).split(text)


def complaints(text: str) -> None:
    failure_of_response(429, {"Retry-After": text}, text, NOW, text)
    told = json.dumps({"error": {"message": text, "code": text, "param": text}})
    failure_of_response(400, {}, told, NOW, "asked")


def body(text: str) -> None:
    read_body(text, text)
    read_body(json.dumps({"choices": [{"message": {"content": text}}]}), text)


def demo(text: str) -> None:
    reply_to([{"role": "system", "content": ""}, {"role": "user", "content": text}], {})


def calls_in_text(text: str) -> None:
    for reply in (text, f"<function=imaging>{text}</function>"):
        with_calls_in_text(Reply(reply), [{"function": {"name": "imaging"}}])


def questions(text: str) -> None:
    with suppress(UserError):
        read_bytes(text.encode(), "a file")


def notes(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "notes.jsonl")
        for content in (text, json.dumps({"filename": "a.txt", "text": text, "more": text})):
            place.write_text(content, encoding="utf-8")
            with suppress(UserError):
                read_notes(place)


READERS: dict[str, Reader] = {
    "thinking tags": thinking,
    "choices of YIER": lambda text: read_choices(text, SELECTION),
    "files of YIER": questions,
    "the text protocol of CDM": bedside,
    "answers of CDM": read_answer,
    "diagnoses of CDM": diagnosis,
    "requests of tests": requests_of_tests,
    "requests of imaging": lambda text: understood(text, text, facts().imaging),
    "the demo model of CDM": demo,
    "answers of task files": lambda text: output_from_reply(QUESTIONS, text),
    "judges' verdicts": lambda text: read_verdict(text, RUBRIC, MARKER),
    "answers that speak to a judge": lambda text: injection_signs(text, RUBRIC),
    "readability": lambda text: readability(Sample({}, {}, {"answer": text}, "answer")),
    "complaints of endpoints": complaints,
    "bodies of responses": body,
    "calls of tools in text": calls_in_text,
    "lines of MTSamples": notes,
}


def texts(parts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield texts of the length, each with what it is made of.

    Each part is repeated, alone and in turn with the next one; and each stands once before an
    endless filler, with the next part behind it.
    """
    for part, following in zip(parts, parts[1:] + parts[:1], strict=True):
        for whole in (part, part + following):
            yield repr(whole), (whole * (LENGTH // len(whole) + 1))[:LENGTH]
        for filler in FILLERS:
            yield f"{part!r}, {filler!r}", f"{part}{filler * LENGTH}{following}"


def cpu_seconds(read: Reader, text: str) -> float:
    """Return the CPU time of reading, of a further try if the first ones are too slow."""
    for _ in range(TRIES):
        started = time.process_time()
        read(text)
        took = time.process_time() - started
        if took < SECONDS:
            break
    return took


@pytest.mark.parametrize("reader", READERS)
def test_hostile_text_is_read_in_time(reader: str) -> None:
    read, parts = READERS[reader], [*PARTS["any"], *PARTS[reader]]
    found = {made_of: cpu_seconds(read, text) for made_of, text in texts(parts)}
    assert {made_of: took for made_of, took in found.items() if took >= SECONDS} == {}
