"""What a judge is asked: each answer, as often as wanted, and again where a reply was unusable.

A re-ask is a further sample of the same item, so that the journal counts and keeps it like any
other call: it is paid once, and not again after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from medeval.inference.journal import Line
from medeval.inference.types import Item
from medeval.judging.fences import marker_in
from medeval.judging.judgments import Asked, Judgment, judgment_of, verdict_of
from medeval.judging.prompt import ASKS_PER_REPEAT, JudgePrompt
from medeval.judging.subjects import Subject
from medeval.judging.verdicts import Status, read_verdict

MOST_RE_ASKS = ASKS_PER_REPEAT - 1


@dataclass(frozen=True)
class Asking:
    """The asks of one judge.

    Attributes:
        prompt: how a subject becomes a message.
        subjects: by their name; those with nothing to judge are left out.
        re_asks: at most, for each judgment.
        repeats: judgments of each subject.
    """

    prompt: JudgePrompt
    subjects: Mapping[str, Subject]
    re_asks: int
    repeats: int

    def first_items(self) -> Iterator[Item]:
        """Yield the first ask of every judgment."""
        for subject in self.subjects.values():
            for repeat in range(self.repeats):
                yield self._item(subject, repeat * ASKS_PER_REPEAT)

    def can_read(self, item: Item, text: str) -> bool:
        """Tell whether a reply holds a verdict."""
        verdict = read_verdict(text, self.prompt.rubric, marker_in(item.messages))
        return verdict.status is not Status.FAILED

    def ask_further(self, item: Item, line: Line) -> Item | None:
        """Return the re-ask of an incomplete verdict, if there may be one more.

        A call that failed is not asked again here: it was tried as often as the retries allow.
        """
        verdict = verdict_of(Asked(line, marker_in(item.messages)), self.prompt.rubric)
        if verdict is None or verdict.status is Status.OK:
            return None
        if item.sample % ASKS_PER_REPEAT >= self.re_asks:
            return None
        return self._item(self.subjects[item.id], item.sample + 1)

    def judgments(self, judge: str, lines: Iterable[Line]) -> Iterator[Judgment]:
        """Yield the judgments of all subjects, in their order, from the lines of a journal."""
        found = {(line["item"], line["sample"]): line for line in lines}
        for name, subject in self.subjects.items():
            for repeat in range(self.repeats):
                samples = range(repeat * ASKS_PER_REPEAT, (repeat + 1) * ASKS_PER_REPEAT)
                asks = [
                    Asked(line, marker_in(self._item(subject, sample).messages))
                    for sample in samples
                    if (line := found.get((name, sample))) is not None
                ]
                yield judgment_of(
                    (subject.id, subject.sample), judge, repeat, asks, self.prompt.rubric
                )

    def _item(self, subject: Subject, sample: int) -> Item:
        messages = self.prompt.messages(subject, sample)
        return Item(subject.name, messages, subject.data_class, sample)
