"""YIER-LLM as a task: multiple-choice questions of Chinese medicine, scored by micro F1.

`run.json` keeps under `settings.yier` how they are asked, so that letters are mapped back to the
options that they stood for when a question was asked.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from medeval.errors import UserError
from medeval.files import toml_beside
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES
from medeval.inference.types import Outcome, Sample, object_of
from medeval.sources import project_root
from medeval.tasks.choice_replies import read_choices
from medeval.tasks.choices import LETTERS, Choices, named_letters
from medeval.tasks.options import TaskOptions, read_options
from medeval.tasks.run_record import RunRecord, facts_of_run, read_record
from medeval.tasks.task import AskedTask, Method, TaskScore
from medeval.tasks.yier.files import Document, class_of, read_file
from medeval.tasks.yier.questions import Answered, Record, left_out_words, total, usable_records
from medeval.text import strictest

if TYPE_CHECKING:
    from medeval.scoring.compare import Difference

Language = Literal["zh", "en"]
NAME = SETTINGS = "yier"
VARIABLE = "MEDEVAL_YIER"
DEMO_QUESTIONS = Path("demo") / "yier" / "questions.json"
# Of the wording in prompts.toml; part of every cache key.
PROMPT_VERSION = "yier-1"
# The parts of a prompt in each language, and what is said of options.
_WORDS: dict[str, dict[str, str]] = toml_beside(__file__, "prompts.toml")
# Only these came back whole; half a list of letters is not an answer.
_WHOLE = frozenset({Outcome.ANSWERED, Outcome.UNPARSED})


class YierOptions(TaskOptions):
    """How questions are put."""

    WORDS: ClassVar[Mapping[str, str]] = _WORDS["options"]

    questions: str | None = None
    language: Language = "zh"
    shuffle_seed: int | None = None
    samples: int = Field(1, ge=1)
    examples: str | None = None
    shots: int = Field(0, ge=0)
    example_seed: int = 0
    skip_without_context: bool = False
    json_schema: bool = True


class YierScoreOptions(TaskOptions):
    """What can be chosen about a score."""

    WORDS: ClassVar[Mapping[str, str]] = _WORDS["score_options"]

    questions: str | None = None
    gold: str | None = None
    allow_extra: bool = False


@dataclass(frozen=True)
class YierTask(AskedTask):
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
    MIN_CELL: ClassVar[int] = 1
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
        paths = [questions_file(options.questions), *map(Path, filter(None, [options.examples]))]
        files = [read_file(path) for path in paths]
        usable = [usable_records(one) for one in files]
        left_out = [
            left_out_words(len(one.records) - len(records), one.name)
            for one, records in zip(files, usable, strict=True)
            if len(one.records) > len(records)
        ]
        training = usable[1] if options.examples else []
        data_class = strictest(map(class_of, files))
        task = cls(options, files[0], usable[0], training, data_class, left_out)
        if not task.asked():
            raise UserError(f"{task.file.name} holds no question to be asked.")
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
        """See `Task`: a file that is handed in, against the file with gold answers."""
        from medeval.tasks.yier.scores import join, score_answers, submitted_records

        options = method.chosen(YierScoreOptions)
        truth, given = read_file(questions_file(options.gold)), read_file(path)
        questions = usable_records(truth)
        answered = join(questions, submitted_records(given), allow_extra=options.allow_extra)
        facts = {
            "prediction": path.name,
            "gold": Path(truth.name).name,
            "prediction_sha256": given.sha256,
            "data": {"sha256": truth.sha256},
        }
        n_left_out = len(truth.records) - len(questions)
        return score_answers(answered, method, path.name, facts, n_left_out=n_left_out)

    def settings(self) -> dict[str, Any]:
        """See `Task`."""
        training = self.options.examples
        return {
            SETTINGS: {
                "questions": str(Path(self.file.name).resolve()),
                "sha256": self.file.sha256,
                "passes": self.options.samples,
                "training": "" if training is None else str(Path(training).resolve()),
                **self.options.model_dump(exclude={"questions", "samples", "examples"}),
            }
        }

    def asked(self, limit: int | None = None) -> Sequence[Record]:
        """Return the questions that are put to a model: so many from the first on, or all."""
        skips = self.options.skip_without_context
        return [record for record in self.records if record.context or not skips][:limit]

    def items(self, limit: int | None = None) -> Iterator[Sample]:
        """See `Task`: one a question and pass."""
        options = self.options
        for record in self.asked(limit):
            shots, seed = options.shots, options.example_seed
            examples = choose_examples(self.training, record, shots, seed) if shots else []
            for number in range(options.samples):
                order = shuffled_order(record, options.shuffle_seed, number)
                text = prompt_text(record, options.language, order, examples)
                letters = {"type": "string", "enum": list(LETTERS[: len(order)])}
                answer = {"type": "array", "items": letters, "uniqueItems": True}
                named = {"name": "answer", "schema": object_of({"answer": answer})}
                form = {"response_format": {"type": "json_schema", "json_schema": named}}
                messages = [{"role": "user", "content": text}]
                kept = form if options.json_schema else {}
                yield Sample(record.sample_id, messages, self.data_class, number, kept)

    def can_read(self, item: Sample, reply: str) -> bool:
        """See `Task`."""
        return self._read(self.by_id[item.id], item.sample, reply).is_read

    def local_reply(self, item: Sample, gold_of: str | None) -> str:
        """See `AskedTask`."""
        record = self.by_id[item.id]
        chosen = demo_choice(record) if gold_of is None else _borrowed(record, self.by_id[gold_of])
        shown = enumerate(shuffled_order(record, self.options.shuffle_seed, item.sample))
        return json.dumps({"answer": [LETTERS[at] for at, place in shown if place in chosen]})

    def chance(self) -> float:
        """See `Task`."""
        labelled = [record for record in self.records if record.answer_choices]
        counts = (
            Answered(record, Choices(_borrowed(record, other))).counts
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
        shares: list[float] = []
        for record in self.asked(limit):
            passes = []
            for number in range(self.options.samples):
                line = lines.get((record.sample_id, number))
                outcome = None if line is None else Outcome(line["outcome"])
                if line is not None and outcome in _WHOLE:
                    reply = line.get("text", "")
                    read = self._read(record, number, reply)
                    passes.append(Answered(record, read, extraction=read.step, reply=reply))
                else:
                    passes.append(Answered(record, missing=line is None, extraction=outcome))
            answered.append(passes[0])
            pairs = list(combinations([one.answers.options for one in passes], 2))
            shares += [sum(one == two for one, two in pairs) / len(pairs)] if pairs else []
        return answered, sum(shares) / len(shares) if shares else None

    def score(self, folder: Path, method: Method) -> TaskScore:
        """See `Task`."""
        # Here, not above: asking needs no numpy.
        from medeval.tasks.yier.scores import score_answers

        record = read_record(folder)
        answered, share = self.answers(folder, record.limit)
        facts = facts_of_run(record, self.items(record.limit))
        about = {"sha256": self.file.sha256, "data_class": self.data_class}
        facts["data"] = {**about, "questions": len(self.records)}
        n_left_out = len(self.file.records) - len(self.records)
        return score_answers(answered, method, record.model, facts, share, n_left_out)

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
    def by_id(self) -> Mapping[str, Record]:
        """The questions by their ids."""
        return {record.sample_id: record for record in self.records}

    def _read(self, record: Record, number: int, reply: str) -> Choices:
        """Read a reply to a question as a pass shows it."""
        return read_answer(record, shuffled_order(record, self.options.shuffle_seed, number), reply)


def questions_file(named: str | None) -> Path:
    """Return the file of questions: the one named, else the user's, else the demo's.

    Raises:
        UserError: no file is named, and this is no checkout with a demo.
    """
    given = named or os.environ.get(VARIABLE)
    return Path(given) if given else project_root() / DEMO_QUESTIONS


def prompt_text(
    record: Record,
    language: Language = "zh",
    order: Sequence[int] | None = None,
    examples: Sequence[Record] = (),
) -> str:
    """Return a question as it is put to a model.

    Args:
        record: the question; its gold answers are not used.
        language: of the instruction; the question stays as it is.
        order: places of the options as they are shown; None keeps the file's order.
        examples: questions with gold answers, shown before.
    """
    words = _WORDS[language]
    blocks = [words["role"]]
    # The examples' answers need the rule of their format before them.
    blocks += [words["several"], words["output"]] if examples else []
    for example in examples:
        answer = json.dumps({"answer": example.gold.letters})
        blocks += [words["example"], *_blocks(example, None, words)]
        blocks.append(f"{words['example_answer']}\n{answer}")
    return "\n\n".join([*blocks, *_blocks(record, order, words), words["several"], words["output"]])


def _blocks(record: Record, order: Sequence[int] | None, words: Mapping[str, str]) -> list[str]:
    texts = record.options.shown
    shown = zip(LETTERS, order or range(len(texts)), strict=False)
    lines = [f"{letter}. {texts[place]}" for letter, place in shown]
    blocks = [f"{words['context']}\n{record.context}"] if record.context else []
    blocks.append(f"{words['question']}\n{record.question}")
    return [*blocks, "\n".join([words["options"], *lines])]


def read_answer(record: Record, order: Sequence[int], reply: str) -> Choices:
    """Read a reply to a question whose options were shown in an order, by their own places."""
    found = read_choices(reply, [record.options.shown[place] for place in order])
    return replace(found, options=tuple(sorted(order[place] for place in found.options)))


def shuffled_order(record: Record, seed: int | None, number: int = 0) -> tuple[int, ...]:
    """Return an order of a question's options, the same for the same seed and pass.

    Options that are letters themselves (blood groups) keep the file's order: elsewhere, a letter in
    a reply could be a place as well as a text.

    Args:
        record: the question.
        seed: of the shuffles; None keeps the file's order.
        number: of the pass, from 0.
    """
    order = list(range(len(record.selection)))
    if seed is not None and not any(named_letters(text) for text in record.options.shown):
        random.Random(f"{seed}/{number}/{record.sample_id}").shuffle(order)  # noqa: S311
    return tuple(order)


def choose_examples(
    training: Sequence[Record], record: Record, count: int, seed: int
) -> list[Record]:
    """Choose questions of the training set to be shown before another, never that one itself.

    Raises:
        UserError: too few questions with gold answers.
    """
    free = [
        other
        for other in sorted(training, key=lambda entry: entry.sample_id)
        if other.answer_choices
        and other.sample_id != record.sample_id
        and (other.question, other.context) != (record.question, record.context)
    ]
    if len(free) < count:
        raise UserError(
            f"{count:,} examples wanted, but there are {len(free):,} other questions with gold"
            " answers in the training file."
        )
    return random.Random(f"{seed}/{record.sample_id}").sample(free, count)  # noqa: S311


def _borrowed(record: Record, other: Record) -> tuple[int, ...]:
    """Return the letters of another question's gold answers, as far as this one has them."""
    return tuple(place for place in other.gold.options if place < len(record.selection))


def demo_choice(record: Record) -> tuple[int, ...]:
    """Return the places of the options that the demo chooses; gold answers are not looked at.

    An option that says all of the above is chosen. Else it is those whose words are found in
    question and context; where the question asks for the exception, the one that is found least.
    What it scores says nothing but that the way from question to score works.
    """
    exception = r"不正确|不属于|不包括|不是|错误|除外|\b(?:except|not|incorrect|false|least)\b"
    options = record.selection
    for place, text in enumerate(options):
        if re.search(r"以上(?:均|都|全)|all of the above", text, re.IGNORECASE):
            return (place,)
    told = _pairs(f"{record.context or ''}\n{record.question}")
    words = [_pairs(text) for text in options]
    found = [len(own & told) / len(own) if own else 0.0 for own in words]
    if re.search(exception, record.question, re.IGNORECASE):
        return (found.index(min(found)),)
    if max(found) == 0:
        lengths = list(map(len, options))
        return (lengths.index(max(lengths)),)
    return tuple(place for place, share in enumerate(found) if share >= 0.75 * max(found))


def _pairs(text: str) -> set[tuple[str, ...]]:
    """Return the words of a text, of Chinese signs each two that stand together."""
    words = re.findall(r"[a-z0-9.%/]+|[^\W\d_]", text.lower())
    single = {(word,) for word in words if len(word) > 1}
    return single | {pair for pair in pairwise(words) if max(map(len, pair)) == 1}
