"""What a judge is shown: one answer to one question, in one message that nothing inside can close.

The material stands between marks with a code that is derived from a recorded seed and from the
request itself, the answer's text included: the same request has the same code after a restart, and
no answer can hold its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from medeval.inference.types import Message, digest
from medeval.judging.rubric import Rubric
from medeval.models.text_files import read_yaml
from medeval.text import sha256_of, split_thinking

BLOCKS = ("question", "reference", "answer")
PROMPT = "judge-2"
# The same, but that a judge that is asked again is told nothing more: judgings that were begun with
# it go on with it.
FORMER_PROMPT = "judge-1"
# The sample of an item is repeat * 10 + ask: 0 the first ask, 1 its re-ask, 10 the second repeat.
ASKS_PER_REPEAT = 10
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
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


class Variant(NamedTuple):
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
        digest = sha256_of(f"{self._sha256_of_texts} {self.rubric.sha256}")[:12]
        return f"{self.name}/{self.rubric.name}/{self.variant.name}/{digest}"

    @cached_property
    def _sha256_of_texts(self) -> str:
        """The hash of the template and of the sentences that the prompt may put into it."""
        left_out = "again" if self.name == FORMER_PROMPT else ""
        return sha256_of("\n".join(text for name, text in _texts().items() if name != left_out))

    def record(self) -> dict[str, object]:
        """Return all that decides the prompts, for the record of a run."""
        return {
            "prompt": self.name,
            "prompt_sha256": self._sha256_of_texts,
            "rubric": self.rubric.name,
            "rubric_sha256": self.rubric.sha256,
            "variant": self.variant.name,
            "blocks": list(self.variant.blocks),
            "criteria_reversed": self.variant.is_reversed,
            "fence_seed": self.seed,
        }

    def messages(self, subject: Subject, sample: int) -> list[Message]:
        """Return the one message in which a subject is judged; a re-ask insists on the marker."""
        texts = {"question": subject.question, "reference": subject.reference}
        texts["answer"] = subject.judged
        shown = {name: texts[name].strip() for name in self.variant.blocks}
        # No text holds the code of its own request.
        key = [self.seed, subject.name, sample]
        codes = (digest([*key, n, [*shown.values()]])[:16] for n in count())
        code = next(one for one in codes if not any(one in text for text in texts.values()))
        blocks = "\n\n".join(
            f"<{name}-{code}>\n{escape(text)[0]}\n</{name}-{code}>" for name, text in shown.items()
        )
        values = {**self._of_the_rubric, "blocks": blocks, "marker": f"VERDICT-{code}"}
        content = filled(_texts()["template"], values)
        if self.name != FORMER_PROMPT and sample % ASKS_PER_REPEAT:
            content += "\n\n" + _texts()["again"]
        return [{"role": "user", "content": content}]

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
        compared = "with" if "reference" in self.variant.blocks else "without"
        return {
            **{name: str(value) for name, value in rubric},
            "criteria": "\n".join(f"- {each.name}: {each.description}" for each in dimensions),
            "how_to_compare": _texts()[f"{compared}_reference"],
            "sample": json.dumps(sample, indent=1),
        }


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in placeholders in one pass, so that braces and dollars of the values stay as they are.

    Raises:
        KeyError: a placeholder has no value.
    """
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)


@cache
def _texts() -> Mapping[str, str]:
    """Return the template of the prompt with its placeholders, and the sentences beside it."""
    path = Path(__file__).with_name("prompts") / "judge.yaml"
    texts: dict[str, str] = read_yaml(path.read_text(encoding="utf-8"))
    return {name: text.rstrip("\n") for name, text in texts.items()}


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
