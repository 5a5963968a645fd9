"""What a judge is shown: one answer to one question, in one message that nothing inside can close.

The material stands between marks with a code that is derived from a recorded seed and from the
request itself, the answer's text included: the same request has the same code after a restart, and
no answer can hold its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import count
from unicodedata import category

from medeval.errors import UserError
from medeval.inference.types import Message, canonical
from medeval.judging.rubric import Rubric
from medeval.text import split_thinking

BLOCKS = ("question", "reference", "answer")
PROMPT = "judge-2"
# The same, but that a judge that is asked again is told nothing more: judgings that were begun with
# it go on with it.
FORMER_PROMPT = "judge-1"
# The sample of an item is repeat * 10 + ask: 0 the first ask, 1 its re-ask, 10 the second repeat.
ASKS_PER_REPEAT = 10
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_WITH_REFERENCE = (
    "Compare with the reference, which is one good answer and need not be the only one: the same in"
    " other words is as good, and what goes beyond it is not wrong for that alone."
)
_WITHOUT_REFERENCE = (
    "There is no reference answer. Judge by the question and by accepted medical knowledge."
)
_AGAIN = (
    "A verdict cannot be told from one that you quote unless it is marked: put the line above"
    " directly in front of the object, whatever else you write."
)
_CODE = r"[0-9a-f]{16}"
_MARKER = re.compile(rf"^VERDICT-{_CODE}$", re.MULTILINE)
_BLOCK = re.compile(
    rf"^<(?P<name>{'|'.join(BLOCKS)})-(?P<code>{_CODE})>\n(?P<text>.*?)\n</(?P=name)-(?P=code)>$",
    re.MULTILINE | re.DOTALL,
)
# Whatever looks like one of the marks, with or without a code, in the brackets that models read.
_LOOK_ALIKE = re.compile(
    rf"(?:<|&lt;|\uFF1C|\u2039|\u3008)(?=\s{{0,9}}[/\uFF0F\\]?\s{{0,9}}(?:{'|'.join(BLOCKS)})(?![a-z]))",
    re.IGNORECASE,
)
# Kinds of characters that nobody sees: blanks, control characters and those of format, such as
# those of no width and the byte order mark.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


@dataclass(frozen=True)
class Subject:
    """One answer to be judged.

    Attributes:
        id: names the question; unique together with the sample.
        question: what was asked, such as the patient's notes.
        answer: what the model replied.
        reference: what a good answer holds; may be empty where judges do without.
        data_class: `open`, or anything else and None: credentialed.
        sample: which of several answers to the same question this is.
        unanswered: why the model gave no answer, such as `errored` or `not_asked`; empty if it did
            or if nobody knows.
        is_read: whether the answer is what was read of a reply, and not the reply itself.
    """

    id: str
    question: str
    answer: str
    reference: str = ""
    data_class: str | None = None
    sample: int = 0
    unanswered: str = ""
    is_read: bool = False

    @property
    def name(self) -> str:
        """Id and sample in one; no two subjects share it."""
        return f"{self.id}#{self.sample}"

    @cached_property
    def judged(self) -> str:
        """The answer without its thinking, which no judge ever sees; empty if none is left."""
        answer = self.answer if self.is_read else split_thinking(self.answer).answer
        return "" if all(category(character) in _UNSEEN for character in answer) else answer

    @property
    def blank_reason(self) -> str:
        """Why there is nothing to judge; empty if there is something."""
        if self.judged:
            return ""
        if split_thinking(self.answer).state == "truncated_reasoning":
            return "unclosed_think"
        return self.unanswered or "blank_answer"


def checked(subjects: Iterable[Subject]) -> list[Subject]:
    """Return the subjects.

    Raises:
        UserError: one comes twice.
    """
    listed = list(subjects)
    times = Counter(subject.name for subject in listed)
    for subject in listed:
        if times[subject.name] > 1:
            raise UserError(f"Answer {subject.id!r} (sample {subject.sample}) comes twice.")
    return listed


@dataclass(frozen=True)
class Variant:
    """A way to put the same question to a judge.

    Attributes:
        name: as it is recorded.
        blocks: which texts are shown, in which order.
        is_reversed: the criteria come in the opposite order.
    """

    name: str
    blocks: tuple[str, ...] = BLOCKS
    is_reversed: bool = False


STANDARD = Variant("standard")
ANSWER_FIRST = Variant("answer_first", ("answer", "reference", "question"))
CRITERIA_REVERSED = Variant("criteria_reversed", is_reversed=True)
NO_REFERENCE = Variant("no_reference", ("question", "answer"))


def code_of(seed: int, name: str, sample: int, texts: Sequence[str]) -> str:
    """Return the code of a request's marks, which no text inside holds.

    Args:
        seed: recorded with the run.
        name: of the item.
        sample: of the item.
        texts: that are put between marks.
    """
    for number in count():
        parts = canonical([seed, name, sample, number, list(texts)])
        code = hashlib.sha256(parts.encode()).hexdigest()[:16]
        if not any(code in text for text in texts):
            break
    return code


@dataclass(frozen=True)
class JudgePrompt:
    """How subjects become messages to a judge.

    Attributes:
        rubric: what is graded.
        variant: how it is put.
        seed: of the fences.
        name: of the prompt.
    """

    rubric: Rubric
    variant: Variant = STANDARD
    seed: int = 0
    name: str = PROMPT

    @property
    def version(self) -> str:
        """What every request of a run is keyed with: other words are another version."""
        texts = f"{template_sha256(self.name)} {self.rubric.sha256}"
        digest = hashlib.sha256(texts.encode()).hexdigest()[:12]
        return f"{self.name}/{self.rubric.name}/{self.variant.name}/{digest}"

    def record(self) -> dict[str, object]:
        """Return all that decides the prompts, for the record of a run."""
        return {
            "prompt": self.name,
            "prompt_sha256": template_sha256(self.name),
            "rubric": self.rubric.name,
            "rubric_sha256": self.rubric.sha256,
            "variant": self.variant.name,
            "blocks": list(self.variant.blocks),
            "criteria_reversed": self.variant.is_reversed,
            "fence_seed": self.seed,
        }

    def messages(self, subject: Subject, sample: int) -> list[Message]:
        """Return the one message in which a subject is judged; a re-ask insists on the marker."""
        texts = {
            "question": subject.question,
            "reference": subject.reference,
            "answer": subject.judged,
        }
        shown = {name: texts[name].strip() for name in self.variant.blocks}
        code = code_of(self.seed, subject.name, sample, list(shown.values()))
        blocks = (
            f"<{name}-{code}>\n{escape(text)[0]}\n</{name}-{code}>" for name, text in shown.items()
        )
        values = {
            **self._of_the_rubric,
            "blocks": "\n\n".join(blocks),
            "marker": f"VERDICT-{code}",
        }
        parts = [filled(template(), values)]
        if self.name != FORMER_PROMPT and sample % ASKS_PER_REPEAT:
            parts.append(_AGAIN)
        return [{"role": "user", "content": "\n\n".join(parts)}]

    @cached_property
    def _of_the_rubric(self) -> Mapping[str, str]:
        """What every prompt says alike.

        The form of a verdict is valid JSON without a score: a judge that only repeats the prompt
        has not given one.
        """
        rubric = self.rubric
        dimensions = rubric.dimensions[:: -1 if self.variant.is_reversed else 1]
        score = f"a whole number from {rubric.low} to {rubric.high}"
        sample = {each.name: {"explanation": "why", "score": score} for each in dimensions}
        has_reference = "reference" in self.variant.blocks
        return {
            **{name: str(value) for name, value in rubric.model_dump().items()},
            "criteria": "\n".join(f"- {each.name}: {each.description}" for each in dimensions),
            "how_to_compare": _WITH_REFERENCE if has_reference else _WITHOUT_REFERENCE,
            "sample": json.dumps(sample, indent=1),
        }


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in placeholders in one pass, so that braces and dollars of the values stay as they are.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


@cache
def template() -> str:
    """Return the text of the prompt with its placeholders."""
    path = files("medeval.judging").joinpath("prompts", "judge-1.txt")
    return path.read_text(encoding="utf-8").rstrip("\n")


@cache
def template_sha256(name: str) -> str:
    """Return the hash of the template and of the sentences that a prompt may put into it."""
    texts = [template(), _WITH_REFERENCE, _WITHOUT_REFERENCE]
    if name != FORMER_PROMPT:
        texts.append(_AGAIN)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def escape(text: str) -> tuple[str, int]:
    """Return a text whose look-alikes of marks are marks no more, and how many there were."""
    return _LOOK_ALIKE.subn("(", text)


def marker_in(messages: Sequence[Message]) -> str:
    """Return the marker that a prompt asks for; empty if it asks for none."""
    found = _MARKER.findall(str(messages[-1]["content"])) if messages else []
    return str(found[-1]) if found else ""


def blocks_in(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return the texts between the marks of a prompt, by name."""
    content = str(messages[-1]["content"])
    return {match["name"]: match["text"] for match in _BLOCK.finditer(content)}
