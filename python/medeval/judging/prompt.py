"""The judge's prompt: one user message, filled in one pass, with an id and a hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from medeval.inference.types import Message
from medeval.judging.fences import BLOCKS, fence_of
from medeval.judging.rubric import Rubric, sample_verdict
from medeval.judging.subjects import Subject

PROMPT = "judge-2"
# The same, but that a judge that is asked again is told nothing more: judgings that were begun with
# it go on with it.
FORMER_PROMPT = "judge-1"
_TEMPLATE = "judge-1.txt"
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

    def __post_init__(self) -> None:
        """Refuse a prompt without the answer, or with a text that there is not."""
        if "answer" not in self.blocks or not set(self.blocks) <= set(BLOCKS):
            raise ValueError(f"the blocks {self.blocks} are not those of a prompt")

    @property
    def has_reference(self) -> bool:
        """Tell whether the judge sees the reference."""
        return "reference" in self.blocks


STANDARD = Variant("standard")
ANSWER_FIRST = Variant("answer_first", ("answer", "reference", "question"))
CRITERIA_REVERSED = Variant("criteria_reversed", is_reversed=True)
NO_REFERENCE = Variant("no_reference", ("question", "answer"))
VARIANTS = {
    variant.name: variant for variant in (STANDARD, ANSWER_FIRST, CRITERIA_REVERSED, NO_REFERENCE)
}


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
        fence = fence_of(self.seed, subject.name, sample, list(shown.values()))
        values = {
            **self._of_the_rubric,
            "blocks": "\n\n".join(fence.around(name, text) for name, text in shown.items()),
            "marker": fence.marker,
        }
        parts = [filled(template(), values)]
        if self.name != FORMER_PROMPT and sample % ASKS_PER_REPEAT:
            parts.append(_AGAIN)
        return [{"role": "user", "content": "\n\n".join(parts)}]

    @cached_property
    def _of_the_rubric(self) -> Mapping[str, str]:
        """What every prompt says alike."""
        dimensions = self.rubric.dimensions[:: -1 if self.variant.is_reversed else 1]
        file = self.rubric.file
        return {
            "role": file.role,
            "answer_name": file.answer_name,
            "low": str(file.low),
            "low_means": file.low_means,
            "high": str(file.high),
            "high_means": file.high_means,
            "criteria": "\n".join(f"- {each.name}: {each.description}" for each in dimensions),
            "how_to_compare": _WITH_REFERENCE if self.variant.has_reference else _WITHOUT_REFERENCE,
            "sample": sample_verdict(self.rubric, tuple(each.name for each in dimensions)),
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
    path = files("medeval.judging").joinpath("prompts", _TEMPLATE)
    return path.read_text(encoding="utf-8").rstrip("\n")


@cache
def template_sha256(name: str) -> str:
    """Return the hash of the template and of the sentences that a prompt may put into it."""
    texts = [template(), _WITH_REFERENCE, _WITHOUT_REFERENCE]
    if name != FORMER_PROMPT:
        texts.append(_AGAIN)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
