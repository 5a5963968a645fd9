"""What is judged: one answer to one question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from unicodedata import category

from medeval.errors import UserError
from medeval.text import split_thinking

BLANK_ANSWER = "blank_answer"
UNCLOSED_THINKING = "unclosed_think"
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
            return UNCLOSED_THINKING
        return self.unanswered or BLANK_ANSWER


def checked(subjects: Iterable[Subject]) -> list[Subject]:
    """Return the subjects.

    Raises:
        UserError: one comes twice.
    """
    listed = list(subjects)
    seen: set[str] = set()
    for subject in listed:
        if subject.name in seen:
            raise UserError(f"Answer {subject.id!r} (sample {subject.sample}) comes twice.")
        seen.add(subject.name)
    return listed
