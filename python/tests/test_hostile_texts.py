"""Every reader of replies and texts is done with 100 KB of hostile text in two seconds of CPU."""

# Full-width signs are what models write.
# ruff: noqa: RUF001

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cdm_bedside import facts
from cdm_cases import mapping
from judging_runs import RUBRIC

from medeval.cdm import scores as scores_v2
from medeval.cdm import scores_v1
from medeval.cdm.demo import reply_to
from medeval.cdm.lab_names import LabNames, name_parts
from medeval.cdm.laboratory import requested_names
from medeval.cdm.tool_protocols import arguments_in, read_answer, read_text_reply
from medeval.cdm.tools import ARGUMENTS, TOOLS, understood
from medeval.errors import UserError
from medeval.evaluation.task_prompts import read_output
from medeval.inference.errors import failure_of_response
from medeval.inference.openai_replies import read_reply as read_body
from medeval.inference.tool_text import UnreadCallError, with_calls_in_text
from medeval.inference.types import Completion
from medeval.judging.injection import injection_signs
from medeval.judging.verdict import read_verdict
from medeval.metrics.readability import grade
from medeval.mtsamples.notes import read_notes
from medeval.mtsamples.prompts import Asked
from medeval.text import after_thinking, split_thinking
from medeval.yier.reading import read_bytes
from medeval.yier.replies import read_reply as read_choice

pytestmark = pytest.mark.slow


LENGTH = 100_000
SECONDS = 2.0
# Another run, or the first use of a library, may have taken the time.
TRIES = 3

Reader = Callable[[str], object]
MARKER = "VERDICT-00112233445566ff"
SELECTION = ("甲项", "乙项", "丙项", "丁项")
NOW = datetime(2026, 1, 1, tzinfo=UTC)

# What every reader is given: openers without closers, nests, quotes, backslashes, blanks, words.
ANY = (
    *("a", " \n", ".", ",", "-", '\\"', "{", "[", '"', "```", "**", "：", "}", "9"),
    *('{"', '{"a":', '{"a":[', "{'a':", '{"a": "', '{"a":1}{'),
)
# What may stand behind an opener without end.
FILLERS = (" ", "a")


def requests_of_tests(text: str) -> None:
    labs = facts().labs
    name_parts(text)
    for version in (1, 2):
        requested_names(text, labs, version, LabNames(mapping(), labs).is_exact)


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
    for asked in (Asked(), Asked(use_think=True)):
        asked.to_be_judged(text)
        asked.thinking(text)


def complaints(text: str) -> None:
    for status in (400, 429):
        failure_of_response(status, {"Retry-After": text}, text, NOW, text)
    told = json.dumps({"error": {"message": text, "code": text, "param": text}})
    failure_of_response(400, {}, told, NOW, "asked")


def body(text: str) -> None:
    read_body(text, text)
    read_body(json.dumps({"choices": [{"message": {"content": text}}]}), text)


def demo(text: str) -> None:
    reply_to([{"role": "system", "content": ""}, {"role": "user", "content": text}], {})


def calls_in_text(text: str) -> None:
    for reply in (text, f"<function=imaging>{text}</function>"):
        with suppress(UnreadCallError):
            with_calls_in_text(Completion(reply), [{"function": {"name": "imaging"}}])


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


# Of each reader what it looks for, whole, cut short and nearly right.
READERS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "thinking tags": (
        thinking,
        (
            *("<think", "<think ", "<think>", "</think>", "<think/>", "<think a=b ", "<think a='"),
            *('<think a="', "< think", "&lt;think ", "[ ", "[THINK", "[/THINK]", "<|begin_of_"),
            *("<|channel|>", "<|start|>", "<|channel|>final", "<|constrain|>", "<|message|>"),
            *("<|end|>", "＜think："),
        ),
    ),
    "choices of YIER": (
        lambda text: read_choice(text, SELECTION),
        (
            *("答案：", "答案：A", "选", "不选", "如果选A", "故", "A", "A、", "A,", "(A", "A.",
              "A和"),
            *("answer: ", "correct option", "not ", r"\boxed{", r"\boxed{{A}", r"\text{", "$",
              "选择"),
            *('{"answer": "A', '{"answer": "A"', '{"answer": ["A", ', "“", "“A”", '{“答案”：“',
              "｛"),
            *('{"answer": "E"}', "```json\n{", "``", "甲项", "甲项和", "乙", "A或", "因为", "A→"),
        ),
    ),
    "files of YIER": (
        questions,
        ('{"question": "', '{"question": 1}', '{"question": 1}\n', "[{", "“", '"，', "{“a”："),
    ),
    "the text protocol of CDM": (
        bedside,
        (
            *("Action: ", "Action:\n", "Action Input: ", "Action: imaging(", "Observation:",
              "Diagnosis"),
            *("Final Diagnosis: a\n", "Treatment: ", "Treatment: a; ", "Thought: ", "## Action\n"),
            *("physical_examination", "request_imaging(", "region: ", "modality=CT, ", "region",
              "I will "),
            *('{"action": "', '{"final_diagnosis": "a", ', '{"name": {"name": ', "stop",
              "now, then "),
            *("n/a", "none ", "ultraso", "x-ra", "```json\n{", "\n\n", "\n \n-", "] (", "_ -"),
        ),
    ),
    "answers of CDM": (
        read_answer,
        (
            *('{"final_diagnosis": "a", "treatment": [', '{"treatment": "', "{'a': '", '{"a": 1,}'),
            *('{"final_diagnosis": "{\\"', '"\\', "'\\", "{'", '{"a": "{', ",}", ";", "\n1. "),
        ),
    ),
    "diagnoses of CDM": (
        diagnosis,
        (
            *("appendix ", "perforated ", "appendix perforated gallbladder due to not ", "no "),
            *("appendicitis no ", "not perforated ", "appendicitis", "ruled out ", "without, ",
              "appendicit"),
            *("appendicitis, ", "appendicitis; ", "negative for ", "no evidence of ", "normal ",
              "abdomen "),
        ),
    ),
    "requests of tests": (
        requests_of_tests,
        (
            *("a, ", "and ", "a+", "(a, ", "stat, ", "a (", "CBC", "CBC,", "1. a", ";", "or with ",
              "• "),
            *("a & ", "A ", "an ", "mg/dL ", "Calcium, ", "Calcium, Total ", "\n2) "),
        ),
    ),
    "requests of imaging": (
        lambda text: understood(text, text, facts().imaging),
        ("ct ", "ultrasound ", "abd", "endoscopic ", "mri, ", "x-ray", "head and ", "chest"),
    ),
    "the demo model of CDM": (
        demo,
        ("lipase", "lipase: ", "no ", "gallbladder ", "appendix ", "(Blood) Lipase: 9 ", "; ",
          "without "),
    ),
    "answers of task files": (
        lambda text: read_output(text, ["answer", "why"], ["answer"], "answer"),
        (
            *("Answer:", "Answer: ", "**Answer:** ", "### Answer\n", "final answer", '{"answer": '),
            *('{"answer": 1,', '{"answer": 1}', '{"answer": "a",}', '{ "', "```json\n", "```a",
              ",]", ", "),
        ),
    ),
    "judges' verdicts": (
        lambda text: read_verdict(text, RUBRIC, MARKER),
        (
            *(f"{MARKER} ", f"{MARKER}\n{{", '"accuracy": ', '{"accuracy":[',
              '{"accuracy":{"score":'),
            *('{"accuracy": 5}', '{"accuracy": 1} ', '{"accuracy": 5,', "accuracy ", "accuracy 1 "),
            *("1 ", "1 accuracy", '"accuracy', "'accuracy' : ", '{"a":x', "can not ",
              "can not grade"),
            *("unable to ", "<think>", "</think>", '{ "accuracy"', '" accuracy " : ',
              "VERDICT-0011"),
        ),
    ),
    "answers that speak to a judge": (
        lambda text: injection_signs(text, RUBRIC),
        (
            *("dear ", "dear judge", "note to: ", "as the ", "give full ", "scores ", "rate this "),
            *("ignore ", "instructions", "print your ", "<|", "<|a", "[INST", "</", "<system ",
              "verdict"),
            *("&lt;", "&", "&#x26;", "\u200b", "\u0430", "accuracy: ", "<answer", "< / answer",
              "end of "),
        ),
    ),
    "readability": (grade, ("made ", "a.", "aeiou", "e'", "a'a", "table. ", "..", ". ", "é")),
    "complaints of endpoints": (
        complaints,
        (
            *("exceed", "exceeds ", "context length ", "context_length_exceeded ", "larger than ",
              "tokens "),
            *("1 input tokens ", "1 input tokens (1 > 1", "not support ", "system ", "only user "),
            *("try again in ", "try again in 5", "retry_delay", "retry_delay: {", "insufficient "),
            *("balance", "quota", "input length ", "token count "),
        ),
    ),
    "bodies of responses": (
        body,
        ('{"choices": ', '{"choices": [{"message": ', '{"error": ', '{"error": "', "data: ", "\\u",
          "\\ud800"),
    ),
    "calls of tools in text": (
        calls_in_text,
        ("<tool_call>", "</tool_call>", "<function=imaging>", "<parameter=region>", "</parameter>",
          "```", "```{", "{}", "<tool "),
    ),
    "lines of MTSamples": (notes, ('{"filename": "a", ', '{"text": "', '"text": "a", ',
      '{"filename": ')),
}  # fmt: skip


def texts(parts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
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
    read, parts = READERS[reader]
    found = {made_of: cpu_seconds(read, text) for made_of, text in texts((*ANY, *parts))}
    assert {made_of: took for made_of, took in found.items() if took >= SECONDS} == {}
