"""YIER-LLM as a task: multiple-choice questions of Chinese medicine, scored by micro F1.

`run.json` keeps under `settings.yier` how they are asked, so that letters are mapped back to the
options that they stood for when a question was asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import Field

from medeval.data_class import strictest
from medeval.errors import UserError
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES
from medeval.inference.types import Item, Outcome
from medeval.sources import project_root
from medeval.tasks.options import TaskOptions, read_options
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import ItemTask, Method, TaskScore
from medeval.tasks.yier.matching import LETTERS, Answers
from medeval.tasks.yier.prompts import (
    PROMPT_VERSION,
    Language,
    Prompt,
    agreement,
    build_prompt,
    choose,
    choose_examples,
    shuffled_order,
)
from medeval.tasks.yier.questions import Answered, Record, left_out_words, total, usable_records
from medeval.tasks.yier.reading import Document, class_of, read_file
from medeval.tasks.yier.replies import Extraction, ReadReply

if TYPE_CHECKING:
    from medeval.scoring.compare import Difference

NAME = "yier"
SETTINGS = "yier"
VARIABLE = "MEDEVAL_YIER"
DEMO_QUESTIONS = Path("demo") / "yier" / "questions.json"
# Only these came back whole; half a list of letters is not an answer.
_WHOLE = frozenset({Outcome.ANSWERED, Outcome.UNPARSED})


class YierOptions(TaskOptions):
    """How questions are put."""

    questions: str | None = Field(
        None, description="The file of questions. Default: MEDEVAL_YIER, else the demo's."
    )
    language: Language = Field("zh", description="Language of the instruction.")
    shuffle_seed: int | None = Field(
        None, description="Shuffle the options by this seed. Default: the file's order."
    )
    samples: int = Field(
        1, description="How often each question is asked; shuffled options then differ."
    )
    examples: str | None = Field(
        None, description="A file of labelled questions from which examples are chosen."
    )
    shots: int = Field(0, ge=0, description="How many examples.")
    example_seed: int = Field(0, description="Seed of the choice of examples.")
    skip_without_context: bool = Field(False, description="Leave out questions without a context.")
    json_schema: bool = Field(True, description="Hold replies to a schema where the endpoint can.")


class YierScoreOptions(TaskOptions):
    """What can be chosen about a score."""

    questions: str | None = Field(
        None, description="The questions, if they are elsewhere now than for the run."
    )
    gold: str | None = Field(
        None,
        description="The questions with gold answers, for a submission. Default: MEDEVAL_YIER,"
        " else the demo's.",
    )
    allow_extra: bool = Field(
        False, description="Leave out a submission's answers to questions that the gold lacks."
    )


@dataclass(frozen=True)
class YierTask(ItemTask):
    """The task with a file of questions; see `Task`.

    Attributes:
        options: how they are put.
        file: as it was read.
        records: those of the file that are questions.
        training: what examples are chosen from.
        data_class: of the questions and of what examples are chosen from.
        left_out: how many records of each file are no questions, in sentences.
    """

    scored_by: ClassVar[str] = "micro F1"
    Options: ClassVar[type[TaskOptions]] = YierOptions
    ScoreOptions: ClassVar[type[TaskOptions]] = YierScoreOptions
    MOVED: ClassVar[Set[str]] = frozenset({"questions"})
    COMPARED: ClassVar[Set[str]] = frozenset({"questions"})
    options: YierOptions
    file: Document
    records: Sequence[Record]
    training: Sequence[Record]
    data_class: str
    left_out: Sequence[str] = ()
    name: str = NAME
    prompt_version: str = PROMPT_VERSION

    @classmethod
    def start(cls, named: str, options: YierOptions) -> Self:
        """See `Task`."""
        if bool(options.shots) != bool(options.examples):
            raise UserError("examples need both a training file and a number of shots.")
        places = [questions_file(options.questions)]
        places += [] if options.examples is None else [Path(options.examples)]
        files = [read_file(path) for path in places]
        usable = [usable_records(file.records, file.name) for file in files]
        left_out = [
            left_out_words(len(file.records) - len(records), file.name)
            for file, records in zip(files, usable, strict=True)
            if len(file.records) > len(records)
        ]
        data_class = strictest(map(class_of, files))
        training = usable[1] if len(usable) > 1 else []
        task = cls(options, files[0], usable[0], training, data_class, left_out)
        if not task.asked():
            raise UserError(f"{places[0]} holds no question to be asked.")
        return task

    @classmethod
    def resume(cls, record: RunRecord, moved: Mapping[str, Any], named: str | None = None) -> Self:
        """See `Task`."""
        asked = dict(record.settings[SETTINGS])
        del asked["sha256"]
        asked["samples"] = asked.pop("passes")
        asked["examples"] = asked.pop("training") or None
        return cls.start(NAME, read_options(YierOptions, asked | dict(moved), NAME))

    @classmethod
    def score_file(cls, path: Path, name: str, method: Method) -> TaskScore:
        """See `Task`: a submission."""
        from medeval.tasks.yier.scores import score_file

        options = cast("YierScoreOptions", method.options)
        gold = None if options.gold is None else Path(options.gold)
        return score_file(path, gold, method, allow_extra=options.allow_extra)

    def settings(self) -> dict[str, Any]:
        """See `Task`."""
        kept = self.options.model_dump(exclude={"questions", "samples", "examples"})
        training = self.options.examples
        return {
            SETTINGS: {
                "questions": str(Path(self.file.name).resolve()),
                "sha256": self.file.sha256,
                "passes": self.options.samples,
                "training": "" if training is None else str(Path(training).resolve()),
                **kept,
            }
        }

    def asked(self, limit: int | None = None) -> Sequence[Record]:
        """Return the questions that are put to a model: so many from the first on, or all."""
        skips = self.options.skip_without_context
        return [record for record in self.records if record.context or not skips][:limit]

    def prompts(self, limit: int | None = None) -> Iterator[tuple[int, Prompt]]:
        """Yield the prompts of the questions, each with the number of its pass, from 0."""
        options = self.options
        for record in self.asked(limit):
            shots, seed = options.shots, options.example_seed
            examples = choose_examples(self.training, record, shots, seed) if shots else []
            for number in range(options.samples):
                order = shuffled_order(record, options.shuffle_seed, number)
                yield number, build_prompt(record, options.language, order, examples)

    def items(self, limit: int | None = None) -> Iterator[Item]:
        """See `Task`."""
        for number, prompt in self.prompts(limit):
            schema = {"name": "answer", "schema": prompt.schema}
            form = {"response_format": {"type": "json_schema", "json_schema": schema}}
            yield Item(
                prompt.record.sample_id,
                [{"role": "user", "content": prompt.text}],
                self.data_class,
                number,
                form if self.options.json_schema else {},
            )

    def can_read(self, item: Item, reply: str) -> bool:
        """See `Task`."""
        found = self._read(self._by_id[item.id], item.sample, reply)
        return found.extraction is not Extraction.UNPARSED

    def local_reply(self, item: Item, gold_of: str | None) -> str:
        """See `ItemTask`."""
        record = self._by_id[item.id]
        chosen = choose(record) if gold_of is None else _borrowed(record, self._by_id[gold_of])
        shown = enumerate(shuffled_order(record, self.options.shuffle_seed, item.sample))
        return json.dumps({"answer": [LETTERS[at] for at, place in shown if place in chosen]})

    def chance(self) -> float:
        """See `Task`."""
        labelled = [record for record in self.records if record.answer_choices]
        counts = (
            Answered(record, Answers(_borrowed(record, other))).counts
            for record in labelled
            for other in labelled
            if other is not record
        )
        return float(total(counts).f1)

    def bounds(self) -> dict[str, tuple[float, float]]:
        """See `Task`."""
        metrics = ("f1", "exact_set_accuracy", "mean_question_f1", "mean_jaccard")
        return dict.fromkeys(metrics, (1.0, 0.0))

    def answers(
        self, folder: Path, limit: int | None = None
    ) -> tuple[list[Answered], float | None]:
        """Read the answers of a run of this task.

        Args:
            folder: of the run.
            limit: only so many questions were asked, from the first on; None for all.

        Returns:
            The first pass, in the order of the file: a question without a line in the journal is
            missing. Then the share of pairs of passes with the same options, the mean over
            questions; None with one pass.

        Raises:
            UserError: no such run, or the file is not the one that was asked.
        """
        if read_record(folder).settings[SETTINGS]["sha256"] != self.file.sha256:
            raise UserError(
                f"{self.file.name} is not the file that {folder} was made with (its SHA-256"
                " differs). Name that file with --questions."
            )
        lines = {(line["item"], line["sample"]): line for line in read_journal(folder / RESPONSES)}
        answered: list[Answered] = []
        agreements: list[float] = []
        for record in self.asked(limit):
            passes = []
            for number in range(self.options.samples):
                line = lines.get((record.sample_id, number))
                outcome = None if line is None else Outcome(line["outcome"])
                if line is not None and outcome in _WHOLE:
                    read = self._read(record, number, line.get("text", ""))
                    passes.append(Answered(record, read, extraction=read.extraction.value))
                else:
                    passes.append(Answered(record, missing=line is None, extraction=outcome))
            answered.append(passes[0])
            share = agreement([one.answers for one in passes])
            agreements += [] if share is None else [share]
        return answered, sum(agreements) / len(agreements) if agreements else None

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `Task`."""
        # Here, not above: asking needs no numpy.
        from medeval.tasks.yier.scores import report, score_of

        record = read_record(folder)
        answered, share = self.answers(folder, record.limit)
        n_left_out = len(self.file.records) - len(self.records)
        made = report(answered, method, share, n_left_out)
        about = {"sha256": self.file.sha256, "data_class": self.data_class}
        facts = facts_of_run(record, self.items(record.limit))
        facts["data"] = {**about, "questions": len(self.records)}
        return score_of(made, record.model, facts)

    def compare(
        self, first: Path, other: YierTask, second: Path, method: Method
    ) -> list[Difference]:
        """See `Task`."""
        from medeval.tasks.yier.scores import compare, labelled

        limits = [read_record(folder).limit for folder in (first, second)]
        limit = min((one for one in limits if one is not None), default=None)
        # Both against one file.
        other = replace(other, file=self.file, records=self.records)
        one, two = (
            labelled(task.answers(folder, limit)[0])
            for task, folder in ((self, first), (other, second))
        )
        return compare(one, two, method)

    @cached_property
    def _by_id(self) -> Mapping[str, Record]:
        return {record.sample_id: record for record in self.records}

    def _read(self, record: Record, number: int, reply: str) -> ReadReply:
        """Read a reply to a question as a pass shows it."""
        order = shuffled_order(record, self.options.shuffle_seed, number)
        return Prompt(record, "", order, self.options.language).read(reply)


def questions_file(named: str | None) -> Path:
    """Return the file of questions: the one named, else the user's, else the demo's.

    Raises:
        UserError: no file is named, and this is no checkout with a demo.
    """
    given = named or os.environ.get(VARIABLE)
    return Path(given) if given else project_root() / DEMO_QUESTIONS


def _borrowed(record: Record, other: Record) -> tuple[int, ...]:
    """Return the letters of another question's gold answers, as far as this one has them."""
    return tuple(place for place in other.gold.options if place < len(record.selection))
