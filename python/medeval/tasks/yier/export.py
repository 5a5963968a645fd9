"""The questions into the warehouse's reach (`load yier`), and out of it (`export`)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from medeval.errors import UserError
from medeval.export import BenchmarkExport, Lines
from medeval.sources import LoadRequest, Source
from medeval.terminal import say
from medeval.warehouse import Warehouse, flat, schema_name

NAME = "yier"
QUESTIONS, OPTIONS = "yier_questions", "yier_options"
_TOLD = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))["commands"]
SOURCE = Source(NAME, NAME, "yier_schema", {"records": ("line_number", "record")})


@dataclass(frozen=True)
class Options:
    """What becomes of the questions that `load yier` reads."""

    out: Annotated[Path | None, typer.Option(help=_TOLD["out"])] = None

    @property
    def instead(self) -> str:
        """The flag by which nothing is loaded."""
        return "--out" if self.out is not None else ""


def load(request: LoadRequest, options: Options) -> None:
    """Write the questions as clean JSON Lines, which DuckDB reads, or load them into PostgreSQL.

    Raises:
        UserError: a file that cannot be read or written, one without a record, or a database that
            refuses.
    """
    from medeval.models.text_files import save_text
    from medeval.tasks.yier.files import as_text, read_file
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
    text = as_text(replace(file, records=records), "lines")
    if options.out is not None:
        save_text(options.out, text)
        done = f"{options.out}: name it in MEDEVAL_YIER, then `dbt build --select yier`."
    else:
        from medeval.load import load_rows

        # Texts hold signs that `splitlines` takes for line ends.
        loaded = load_rows(enumerate(text.split("\n")[:-1], start=1), SOURCE, request)
        done = f"{loaded.schema}.records: `dbt build --select yier --target {request.target}`."
    usable = [outcome.record for outcome in outcomes if outcome.record is not None]
    labelled = sum(bool(record.answer_choices) for record in usable)
    mended = ", mended: it is no JSON as it stands" if file.repaired else ""
    read = f"{file.name}: {len(records):,} records, {file.encoding}, layout {file.layout}{mended}"
    print(f"{read}; {labelled:,} with answers.")
    if lost := len(records) - len(usable):
        print(f"{lost:,} records cannot be used; see yier_attrition once built.")
    for outcome in [outcome for outcome in outcomes if outcome.state != "ok"][:10]:
        print(outcome)
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
_LINES = Lines(NAME, "questions.jsonl", QUESTIONS, (OPTIONS,), _records, _ARE)
EXPORT = BenchmarkExport(NAME, (NAME,), {}, (QUESTIONS,), _LINES.write)
