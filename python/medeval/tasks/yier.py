"""YIER-LLM as a task: multiple-choice questions of Chinese medicine, scored by micro F1."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.inference.types import Item
from medeval.profile import project_root
from medeval.tasks.options import TaskOptions
from medeval.tasks.run_record import facts_of_run, read_record
from medeval.tasks.task import (
    DEMO,
    EMPTY,
    ORACLE,
    AskedTask,
    ItemTask,
    LocalModel,
    Method,
    TaskScore,
)
from medeval.yier.counting import count_answers, micro
from medeval.yier.demo_model import choose
from medeval.yier.letters import LETTERS
from medeval.yier.prompts import PROMPT_VERSION, Language, Prompt, asked
from medeval.yier.reading import QuestionFile, class_of, read_file
from medeval.yier.records import Record, left_out_words, usable_records
from medeval.yier.replies import Extraction
from medeval.yier.runs import SETTINGS, Plan, items, read_run, shown
from medeval.yier.score import Scored, score

if TYPE_CHECKING:
    from medeval.scoring.paired import Difference

NAME = "yier"
VARIABLE = "MEDEVAL_YIER"
_BY_QUESTION: Mapping[str, Callable[[Scored], float]] = {
    "exact_set_accuracy": lambda one: float(one.counted.counts.is_exact),
    "mean_question_f1": lambda one: one.counted.counts.f1,
}
DEMO_QUESTIONS = Path("demo") / "yier" / "questions.json"


class YierOptions(TaskOptions):
    """How questions are put.

    Attributes:
        questions: the file; by default the one that MEDEVAL_YIER names, else the demo's.
        language: of the instruction, zh or en.
        shuffle_seed: of the options' order; None keeps the file's.
        samples: how often each question is asked, with a shuffle each time in another order.
        examples: training file from which examples are chosen.
        shots: how many examples.
        example_seed: of their choice.
        skip_without_context: leave out questions without a context.
        json_schema: hold replies to a schema where the endpoint can.
    """

    questions: str | None = None
    language: Language = "zh"
    shuffle_seed: int | None = None
    samples: Annotated[int, Field(ge=1)] = 1
    examples: str | None = None
    shots: Annotated[int, Field(ge=0)] = 0
    example_seed: int = 0
    skip_without_context: bool = False
    json_schema: bool = True


def questions_file(named: str | None) -> Path:
    """Return the file of questions: the one named, else the user's, else the demo's.

    Raises:
        UserError: no file is named, and this is no checkout with a demo.
    """
    given = named or os.environ.get(VARIABLE)
    return Path(given) if given else project_root() / DEMO_QUESTIONS


@dataclass(frozen=True)
class YierTask(ItemTask):
    """The task with a file of questions; see `AskedTask`.

    Attributes:
        plan: how they are put.
        records: those of the file that are questions.
        training: what examples are chosen from.
        data_class: of the questions and of what examples are chosen from.
        left_out: how many records of each file are no questions, in sentences.
    """

    plan: Plan
    records: Sequence[Record]
    training: Sequence[Record]
    data_class: str
    left_out: Sequence[str] = ()
    name: str = NAME
    prompt_version: str = PROMPT_VERSION
    asked_as: str = NAME

    def settings(self) -> dict[str, Any]:
        """See `AskedTask`."""
        return {SETTINGS: self.plan.as_json()}

    def items(self, limit: int | None = None) -> Iterator[Item]:
        """See `AskedTask`."""
        return items(self.plan, self.records, self.training, limit, self.data_class)

    def can_read(self, item: Item, reply: str) -> bool:
        """See `AskedTask`."""
        found = self._shown(item).read(reply)
        return found.extraction is not Extraction.UNPARSED

    def local_model(self, kind: str) -> LocalModel:
        """See `AskedTask`."""
        answers: Callable[[Record], Sequence[int]]
        if kind == DEMO:
            answers = choose
        elif kind == ORACLE:
            answers = _gold
        elif kind == EMPTY:
            return lambda item: ""
        else:
            others = self._others()

            def answers(record: Record) -> Sequence[int]:
                return _borrowed(record, others[record.sample_id])

        def reply(item: Item) -> str:
            prompt = self._shown(item)
            chosen = set(answers(prompt.record))
            letters = [
                LETTERS[place] for place, option in enumerate(prompt.order) if option in chosen
            ]
            return json.dumps({"answer": letters})

        return reply

    def chance(self) -> float:
        """See `AskedTask`."""
        labelled = [record for record in self.records if record.labelled]
        counted = [
            count_answers(record.gold, record.options.answers(_texts(record, other)))
            for record in labelled
            for other in labelled
            if other is not record
        ]
        return micro([one for one in counted if one is not None]).f1

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `AskedTask`."""
        metrics = ("f1", "exact_set_accuracy", "mean_question_f1", "mean_jaccard")
        return dict.fromkeys(metrics, (1.0, 0.0))

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `AskedTask`."""
        from medeval.tasks.yier_score import score_of, yier_method
        from medeval.yier.evaluating import report

        record = read_record(folder)
        found = read_run(folder, Path(self.plan.questions), record.limit)
        made = report(found.answered, yier_method(method), found.agreement)
        made = replace(made, n_left_out=len(found.file.records) - len(self.records))
        return score_of(
            made,
            record.model,
            {**facts_of_run(record, self.items(record.limit)), "data": self._data()},
        )

    def compare(
        self, first: Path, other: AskedTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `AskedTask`."""
        from medeval.tasks.differences import mean_difference
        from medeval.tasks.yier_score import yier_method
        from medeval.yier.intervals import compare

        words = yier_method(method)
        limits = [read_record(folder).limit for folder in (first, second)]
        limit = min((one for one in limits if one is not None), default=None)
        runs = [
            score(read_run(folder, Path(self.plan.questions), limit).answered).questions
            for folder in (first, second)
        ]
        return [
            compare(*runs, n_iters=words.n_iters, seed=words.seed, cluster=words.cluster),
            *(
                mean_difference(name, list(map(value, runs[0])), list(map(value, runs[1])), method)
                for name, value in _BY_QUESTION.items()
            ),
        ]

    def _data(self) -> dict[str, Any]:
        about = {"sha256": self.plan.sha256, "data_class": self.data_class}
        return {**about, "questions": len(self.records)}

    @cached_property
    def _by_id(self) -> Mapping[str, Record]:
        return {record.sample_id: record for record in self.records}

    def _shown(self, item: Item) -> Prompt:
        return shown(self.plan, self._by_id[item.id], item.sample)

    def _others(self) -> dict[str, Record]:
        """Return for each question another one, whose gold answers it is given."""
        order = list(self.records)
        random.Random(0).shuffle(order)  # noqa: S311
        after = zip(order, order[1:] + order[:1], strict=True)
        return {record.sample_id: other for record, other in after}


def begin(options: YierOptions) -> YierTask:
    """Read the files that the options name.

    Raises:
        UserError: a file cannot be read, or options that do not go together.
    """
    path = questions_file(options.questions)
    file = read_file(path)
    records = usable_records(file.records, file.name)
    left_out = _left_out(file, records)
    training: Sequence[Record] = ()
    classes = [class_of(file)]
    if options.examples is not None:
        found = read_file(Path(options.examples))
        classes.append(class_of(found))
        training = usable_records(found.records, found.name)
        left_out += _left_out(found, training)
    plan = Plan(
        str(path.resolve()),
        file.sha256,
        options.language,
        options.shuffle_seed,
        options.samples,
        "" if options.examples is None else str(Path(options.examples).resolve()),
        options.shots,
        options.example_seed,
        options.skip_without_context,
        options.json_schema,
    )
    if not asked(records, skip_without_context=plan.skip_without_context):
        raise UserError(f"{path} holds no question to be asked.")
    return YierTask(plan, records, training, strictest(classes), left_out)


def _left_out(file: QuestionFile, records: Sequence[Record]) -> list[str]:
    """Return what is to be said of a file of whose records only some are questions."""
    count = len(file.records) - len(records)
    return [left_out_words(count, file.name)] if count else []


def options_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which a run was begun."""
    plan = dict(settings[SETTINGS])
    del plan["sha256"]
    plan["samples"] = plan.pop("passes")
    plan["examples"] = plan.pop("training") or None
    return plan


def _gold(record: Record) -> tuple[int, ...]:
    return record.gold.options


def _borrowed(record: Record, other: Record) -> tuple[int, ...]:
    """Return the letters of another question's gold answers, as far as this one has them."""
    return tuple(place for place in other.gold.options if place < len(record.selection))


def _texts(record: Record, other: Record) -> list[str]:
    return [record.selection[place] for place in _borrowed(record, other)]
