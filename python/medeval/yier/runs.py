"""Runs of the task: the items that are put to a model, and the answers read back out of a folder.

`run.json` keeps the plan under `settings.yier`, so that letters are mapped back to the options that
they stood for when the question was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medeval.errors import UserError
from medeval.inference.journal import Line, read_journal
from medeval.inference.run import RESPONSES, RUN
from medeval.inference.types import Item, Outcome
from medeval.yier.joining import Answered, from_reply
from medeval.yier.matching import Answers
from medeval.yier.prompts import (
    WORDS,
    Language,
    Prompt,
    agreement,
    asked,
    build_prompt,
    choose_examples,
    shuffled_order,
)
from medeval.yier.reading import QuestionFile, read_file
from medeval.yier.records import Record, usable_records

SETTINGS = "yier"
# Only these came back whole; half a list of letters is not an answer.
_WHOLE = frozenset({Outcome.ANSWERED, Outcome.UNPARSED})


@dataclass(frozen=True)
class Plan:
    """How a file of questions is put to a model.

    Attributes:
        questions: path of the file.
        sha256: of its bytes.
        language: of the instruction.
        shuffle_seed: of the options' order; None keeps the file's.
        passes: how often each question is asked.
        training: path of the file that examples come from; empty without examples.
        shots: how many examples.
        example_seed: of their choice.
        skip_without_context: leave out questions without a context.
        json_schema: hold replies to a schema where the endpoint can.
    """

    questions: str
    sha256: str
    language: Language = "zh"
    shuffle_seed: int | None = None
    passes: int = 1
    training: str = ""
    shots: int = 0
    example_seed: int = 0
    skip_without_context: bool = False
    json_schema: bool = True

    def __post_init__(self) -> None:
        """Refuse what asks nothing."""
        if self.language not in WORDS:
            raise UserError(f"language {self.language!r}; there are {', '.join(WORDS)}.")
        if self.passes < 1:
            raise UserError(f"{self.passes} passes; there must be 1 or more.")
        if bool(self.shots) != bool(self.training):
            raise UserError("examples need both a training file and a number of shots.")

    def as_json(self) -> dict[str, Any]:
        """Return the plan as `run.json` keeps it."""
        return asdict(self)


@dataclass(frozen=True)
class RunAnswers:
    """What a run answered.

    Attributes:
        file: the questions as they stand in their file.
        answered: the first pass, in the order of the file; a question that was not asked is left
            out, one without a line in the journal is missing.
        agreement: share of pairs of passes with the same options, the mean over questions; None
            with one pass.
    """

    file: QuestionFile
    answered: list[Answered]
    agreement: float | None


def prompts(
    plan: Plan,
    records: Sequence[Record],
    training: Sequence[Record] = (),
    limit: int | None = None,
) -> Iterator[tuple[int, Prompt]]:
    """Yield the prompts of a plan, each with the number of its pass, from 0.

    Args:
        plan: how questions are asked.
        records: the questions.
        training: questions from which examples are chosen.
        limit: only so many questions, from the first on.
    """
    for record in asked(records, skip_without_context=plan.skip_without_context)[:limit]:
        examples = (
            choose_examples(training, record, plan.shots, plan.example_seed) if plan.shots else []
        )
        for number in range(plan.passes):
            order = _order(plan, record, number)
            yield (
                number,
                build_prompt(record, language=plan.language, order=order, examples=examples),
            )


def items(
    plan: Plan,
    records: Sequence[Record],
    training: Sequence[Record] = (),
    limit: int | None = None,
    data_class: str | None = None,
) -> Iterator[Item]:
    """Yield what a run asks, as `prompts` does, with the class of what it shows."""
    for number, prompt in prompts(plan, records, training, limit):
        message = {"role": "user", "content": prompt.text}
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": prompt.schema}}
        yield Item(
            prompt.record.sample_id,
            [message],
            data_class,
            number,
            {"response_format": form} if plan.json_schema else {},
        )


def read_run(folder: Path, questions: Path | None = None, limit: int | None = None) -> RunAnswers:
    """Read the answers of a run.

    Args:
        folder: of the run.
        questions: the file, if it is elsewhere now; None takes the path in `run.json`.
        limit: only so many questions were asked, from the first on; None for all.

    Raises:
        UserError: no such run, or the file is not the one that was asked.
    """
    plan = _read_plan(folder)
    file = read_file(questions or Path(plan.questions))
    if file.sha256 != plan.sha256:
        raise UserError(
            f"{file.name} is not the file that {folder} was made with (its SHA-256 differs). Name"
            " that file with --questions."
        )
    lines = {(line["item"], line["sample"]): line for line in read_journal(folder / RESPONSES)}
    answered: list[Answered] = []
    agreements: list[float] = []
    for record in asked(
        usable_records(file.records, file.name), skip_without_context=plan.skip_without_context
    )[:limit]:
        passes = [
            _answered(plan, record, number, lines.get((record.sample_id, number)))
            for number in range(plan.passes)
        ]
        answered.append(passes[0])
        share = agreement([entry.answers for entry in passes])
        agreements += [] if share is None else [share]
    mean = sum(agreements) / len(agreements) if agreements else None
    return RunAnswers(file, answered, mean)


def _read_plan(folder: Path) -> Plan:
    """Return the plan of a run.

    Raises:
        UserError: the folder holds no run of this task.
    """
    try:
        content = json.loads((folder / RUN).read_text(encoding="utf-8"))
        return Plan(**content["settings"][SETTINGS])
    except OSError as error:
        raise UserError(f"Cannot read {folder / RUN}: {error.strerror or error}.") from error
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{folder} is not a run of the task yier.") from None


def _answered(plan: Plan, record: Record, number: int, line: Line | None) -> Answered:
    if line is None:
        return Answered(record, Answers(), missing=True)
    outcome = Outcome(line["outcome"])
    if outcome not in _WHOLE:
        return Answered(record, Answers(), extraction=outcome.value)
    return from_reply(record, shown(plan, record, number).read(line.get("text", "")))


def shown(plan: Plan, record: Record, number: int) -> Prompt:
    """Return a question as a pass shows it, without its text: enough to read a reply to it."""
    return Prompt(record, "", _order(plan, record, number), plan.language)


def _order(plan: Plan, record: Record, number: int) -> tuple[int, ...]:
    if plan.shuffle_seed is None:
        return tuple(range(len(record.selection)))
    return shuffled_order(record, plan.shuffle_seed, number)
