"""The short way to a benchmark: questions, the reading of a reply, the score of an answer.

All else (built-in models, runs, resuming, groups, intervals, comparison, self-check) is made of
these three; docs/adding_a_benchmark.md follows one from its data to its report.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Self

from medeval.errors import UserError
from medeval.inference.run import RESPONSES, read_answers
from medeval.inference.types import Message, Outcome, Sample, digest
from medeval.tasks.options import TaskOptions, read_options
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import AskedTask, Method, TaskScore
from medeval.text import strictest

if TYPE_CHECKING:
    from medeval.models.scores import Interval

SETTINGS = "questions"


@dataclass(frozen=True)
class Question:
    """One question of a benchmark.

    Attributes:
        id: names it within the benchmark.
        prompt: a text, or the messages of a conversation to be continued.
        target: the gold answer (a JSON value).
        data_class: `open`; anything else and None is credentialed.
        groups: grouping to the group that it is in, for `score --by`.
    """

    id: str
    prompt: str | Sequence[Message]
    target: Any
    data_class: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)


class QuestionTask(AskedTask):
    """A benchmark of questions that are asked by themselves.

    A subclass has `name`, `prompt_version` and `headline`, and writes `questions`, `parse` and
    `score_answer`. `Options` may be a subclass of `TaskOptions`; each field is a flag of `run`.

    Attributes:
        headline: the metric that counts.
    """

    headline: ClassVar[str] = "score"
    prompt_version = "1"

    def __init__(self, options: TaskOptions) -> None:
        self.options = options
        asked = list(self.questions())
        self._by_id = {one.id: one for one in asked}
        if len(self._by_id) < len(asked):
            raise UserError(f"{self.name}: two questions have the same id.")
        if not asked:
            raise UserError(f"{self.name} has no question to be asked.")

    @abstractmethod
    def questions(self) -> Iterable[Question]:
        """Return the questions, in the order in which they are asked."""

    @abstractmethod
    def parse(self, question: Question, reply: str) -> Any | None:
        """Return the answer (a JSON value) in a reply without its thinking; None: there is none."""

    @abstractmethod
    def score_answer(self, question: Question, answer: Any) -> Mapping[str, float]:
        """Return the metrics of an answer, each from 0 to 1 and the same for all questions."""

    def gold_reply(self, question: Question) -> str:
        """Return a reply that holds the gold answer."""
        target = question.target
        return target if isinstance(target, str) else json.dumps(target, ensure_ascii=False)

    def demo_reply(self, question: Question) -> str:
        """Return what the built-in model `demo` replies; it must not look at the target."""
        return ""

    @classmethod
    def start(cls, named: str, options: TaskOptions) -> Self:
        """See `AskedTask`."""
        return cls(options)

    @classmethod
    def resume(cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None) -> Self:
        """See `AskedTask`."""
        asked = record.settings[SETTINGS]
        task = cls(read_options(cls.Options, {**asked["options"], **moved}, record.task))
        if task.settings()[SETTINGS]["sha256"] != asked["sha256"]:
            raise UserError(
                f"The questions of {record.task} are not those that {record.folder} was made with"
                " (their SHA-256 differs)."
            )
        return task

    def settings(self) -> dict[str, Any]:
        """See `AskedTask`."""
        return {
            SETTINGS: {
                "sha256": digest([asdict(one) for one in self._by_id.values()]),
                "options": self.options.model_dump(mode="json"),
            }
        }

    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """See `AskedTask`."""
        for question in list(self._by_id.values())[:limit]:
            prompt = question.prompt
            messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
            yield Sample(question.id, messages, question.data_class)

    def can_read(self, item: Sample, reply: str) -> bool:
        """See `AskedTask`."""
        return self.parse(self._by_id[item.id], reply) is not None

    def local_reply(self, item: Sample, gold_of: str | None) -> str:
        """See `AskedTask`."""
        if gold_of is None:
            return self.demo_reply(self._by_id[item.id])
        return self.gold_reply(self._by_id[gold_of])

    def chance(self) -> float:
        """See `AskedTask`."""
        from medeval.tasks.self_check import rotations  # which asks for it

        asked = list(self._by_id.values())
        found = [
            self._scores(question, self.gold_reply(other))[self.headline]
            for others in rotations(asked)
            for question, other in zip(asked, others, strict=True)
        ]
        return fmean(found) if found else 0.0

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `AskedTask`."""
        return dict.fromkeys(self._metrics, (1.0, 0.0))

    @property
    def _metrics(self) -> list[str]:
        question = next(iter(self._by_id.values()))
        gold = self.parse(question, self.gold_reply(question))
        return list(self.score_answer(question, gold))

    def _scores(self, question: Question, reply: str | None) -> Mapping[str, float]:
        """Return the metrics of a reply; one that is missing or cannot be read earns 0."""
        answer = None if reply is None else self.parse(question, reply)
        if answer is None:
            return dict.fromkeys(self._metrics, 0.0)
        return self.score_answer(question, answer)

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `AskedTask`."""
        # Here, not above: asking needs no numpy.
        from medeval.scoring.table import Ratio, ScoreTable
        from medeval.tasks.for_reports import group_scores, task_score

        record = read_record(folder)
        if record.settings[SETTINGS] != json.loads(json.dumps(self.settings()[SETTINGS])):
            raise UserError(f"{folder} was made with other questions, or with other options.")
        if method.cluster is not None:
            raise UserError(f"--cluster {method.cluster}: questions are drawn by themselves.")
        replies = {
            one.item: one.answer
            for one in read_answers(folder / RESPONSES, self.items(record.limit))
            if one.outcome in (Outcome.ANSWERED, Outcome.UNPARSED)
        }
        asked = list(self._by_id.values())[: record.limit]
        rows = [self._scores(one, replies.get(one.id)) for one in asked]
        groups = [one.groups for one in asked]

        def table_of(places: Iterable[int]) -> ScoreTable:
            chosen = [rows[place] for place in places]
            scores = {name: [row[name] for row in chosen] for name in self._metrics}
            return ScoreTable({name: Ratio(one, is_share=True) for name, one in scores.items()})

        def means(places: Sequence[int]) -> dict[str, Interval]:
            return table_of(places).summary(draws=method.n_iters, seed=method.seed)

        kinds = strictest(one.data_class for one in asked)
        facts = facts_of_run(record, self.items(record.limit))
        # Other words around the same questions are no other data.
        content = digest([(one.id, one.target) for one in self._by_id.values()])
        facts["data"] = {"sha256": content, "data_class": kinds, "questions": len(self._by_id)}
        return task_score(
            self.name,
            record.model,
            self.headline,
            table_of(range(len(rows))),
            method,
            [{"id": one.id, "prompt": one.prompt} for one in asked],
            [{"reply": replies.get(one.id, "")} for one in asked],
            facts,
            texts={"prompt", "reply"},
            gold=[one.target for one in asked],
            item_groups=groups,
            groups=group_scores(groups, means, method),
        )
