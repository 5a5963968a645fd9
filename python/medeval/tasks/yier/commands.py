"""The questions on the command line: checked and converted, put and handed in, loaded and exported.

All of it is described whenever a program starts, so what it uses is imported when it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from medeval.errors import UserError
from medeval.export import lines_export
from medeval.files import json_lines, toml_beside
from medeval.models.text_files import save_text
from medeval.sources import LoadRequest, sources
from medeval.tasks.options import TaskOptions, read_options
from medeval.terminal import require_writable, say, warn
from medeval.text import storable
from medeval.warehouse import Warehouse, flat, schema_name

if TYPE_CHECKING:
    from medeval.tasks.yier.files import Document
    from medeval.tasks.yier.questions import Outcome

NAME = "yier"
QUESTIONS, OPTIONS = "yier_questions", "yier_options"
HELP = "CHIP 2023 YIER-LLM: check and convert questions, submit."
# So many lines `load` says of a file.
_MOST_TOLD = 12
# The option of `load` by which nothing is loaded.
INSTEAD = "out"
_TOLD = toml_beside(__file__, "prompts.toml")["commands"]


def validate(**given: Any) -> None:
    """Check a file of questions.

    Exit code 1: there is something to see to.
    """
    from medeval.tasks.yier.files import read_file
    from medeval.tasks.yier.questions import check_records

    file = read_file(given["file"])
    said, *findings = _told(file, check_records(file.records))
    print(said, *findings, sep="\n")
    if findings:
        raise typer.Exit(1)


def _told(file: Document, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield what a file of questions holds, then what there is to see to."""
    records = [one.record for one in outcomes if one.record is not None]
    labelled = sum(bool(record.answer_choices) for record in records)
    split = "train" if 0 < labelled == len(records) else "mixed" if labelled else "test"
    yield (
        f"{file.name}: {len(outcomes):,} records, {file.encoding}, layout {file.layout}; split"
        f" {split if records else 'empty'}: {labelled:,} labelled,"
        f" {len(records) - labelled:,} unlabelled, {len(outcomes) - len(records):,} left out"
    )
    if file.repaired:
        yield _TOLD["repaired"]
    yield from (str(outcome) for outcome in outcomes if outcome.state != "ok")


def convert(**given: Any) -> None:
    """Write a file of questions as UTF-8 JSON.

    Every record and key is kept, in order.
    """
    from medeval.tasks.yier.files import as_text, read_file

    found = read_file(given["file"])
    _write(given["out"], as_text(found, given["to"]))
    if found.repaired:
        warn(f"{found.name} was not JSON as it stands; it was repaired")


def prompt(**given: Any) -> None:
    """Write the prompts as a run would send them.

    One JSON object a line.
    """
    from medeval.tasks.yier.task import YierOptions, YierTask, shuffled_order

    asked = {name: one for name, one in given.items() if name in YierOptions.model_fields}
    asked |= {"questions": str(given["file"]), "samples": given["passes"]}
    asked["examples"] = given["examples"] and str(given["examples"])
    options = read_options(YierOptions, asked, NAME)
    task = YierTask.start(NAME, options)
    lines = (
        {
            "sample_id": item.id,
            "sample": item.sample,
            "prompt_version": task.prompt_version,
            "language": options.language,
            "order": list(shuffled_order(task.by_id[item.id], options.shuffle_seed, item.sample)),
            "messages": item.messages,
            "schema": item.parameters["response_format"]["json_schema"]["schema"],
        }
        for item in task.items()
    )
    _write(given["out"], json_lines(lines))


def submit(**given: Any) -> None:
    """Write the file that is handed in.

    It holds the questions with `predict_answers`.
    """
    from medeval.tasks.run_record import read_record
    from medeval.tasks.yier.files import as_text
    from medeval.tasks.yier.questions import fill
    from medeval.tasks.yier.task import YierTask

    run, out, questions = given["run"], given["out"], given["questions"]
    record = read_record(run, NAME)
    moved = {} if questions is None else {"questions": str(questions)}
    task = YierTask.resume(record, moved)
    answered, agreement = task.answers(run)
    answers = {one.record.sample_id: one.answers for one in answered}
    filled = fill(task.file, answers, overwrite=given["overwrite"])
    save_text(out, as_text(filled))
    print(f"{len(filled.records):,} records in {out}")
    if missing := sum(one.missing for one in answered):
        warn(f"{missing:,} questions have no answer in {run} yet; nothing is predicted")
    if agreement is not None:
        print(f"{agreement:.1%} of the pairs of passes agree; the first is handed in")


COMMANDS = (validate, convert, prompt, submit)


def _write(out: Path | None, text: str) -> None:
    if out is None:
        # Bytes, since the terminal's own encoding may not have the characters.
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    require_writable(out)
    save_text(out, text)


class Options(TaskOptions):
    """What becomes of the questions that `load yier` reads."""

    WORDS: ClassVar[Mapping[str, str]] = _TOLD

    out: Path | None = None


def load(request: LoadRequest, options: Options) -> None:
    """Write the questions as clean JSON Lines, which DuckDB reads, or load them into PostgreSQL.

    Raises:
        UserError: a file that cannot be read or written, one without a record, or a database that
            refuses.
    """
    from medeval.tasks.yier.files import read_file
    from medeval.tasks.yier.questions import clean_questions

    place = request.place or os.environ.get("MEDEVAL_YIER")
    if not place:
        place = request.root / "demo" / "yier" / "questions.json"
        say(f"No FILE and no MEDEVAL_YIER: reading the synthetic demo, {place}.")
    path = Path(place).expanduser()
    file = read_file(path)
    records, outcomes = clean_questions(file)
    if not records:
        raise UserError(f"{path} holds no record.")
    text = storable(json_lines(records))
    if options.out is not None:
        save_text(options.out, text)
        done = f"{options.out}: name it in MEDEVAL_YIER, then `dbt build --select yier`."
    else:
        from medeval.load import load_rows

        source = sources(request.root, are_records=True)[NAME]
        # Texts hold signs that `splitlines` takes for line ends.
        loaded = load_rows(enumerate(text.split("\n")[:-1], start=1), source, request)
        done = request.then(source, "records", loaded.schema)
    print(*islice(_told(file, outcomes), _MOST_TOLD), sep="\n")
    if any(outcome.record is None for outcome in outcomes):
        print("Records that are left out are counted in yier_attrition once built.")
    print(done)


def _records(warehouse: Warehouse) -> Iterator[dict[str, Any]]:
    """Yield the questions as the task publishes them, in the order of their file."""
    schema = schema_name(NAME)
    columns = ["sample_id", "option_text", "is_answer"]
    order = 'order by sample_id collate "C", option_position'
    options = {
        sample_id: [(text, is_answer) for _, text, is_answer in rows]
        for sample_id, rows in groupby(
            flat(warehouse.select(columns, schema, OPTIONS, order)), key=lambda row: row[0]
        )
    }
    columns = ["sample_id", "context", "question", "question_source"]
    for sample_id, context, question, source in flat(
        warehouse.select(columns, schema, QUESTIONS, "order by line_number")
    ):
        yield {
            "context": context or "",
            "question": question,
            "selection": [text for text, _ in options[sample_id]],
            "answer_choices": [text for text, is_answer in options[sample_id] if is_answer],
            "sample_id": sample_id,
            "source": source or "",
        }


_ARE = ("questions", "records")
EXPORT = lines_export(NAME, "questions.jsonl", QUESTIONS, [OPTIONS], _records, _ARE)
