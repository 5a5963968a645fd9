"""The questions as the task publishes them, one a line, in the order of their file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from medeval.export import BenchmarkExport, Lines
from medeval.warehouse import Warehouse, flat, schema_name

NAME = "yier"
FILE = "questions.jsonl"
QUESTIONS = "yier_questions"
OPTIONS = "yier_options"


def _records(warehouse: Warehouse) -> Iterator[dict[str, Any]]:
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


_LINES = Lines(NAME, FILE, QUESTIONS, (OPTIONS,), _records, ("questions", "records"))
EXPORT = BenchmarkExport(NAME, (NAME,), {}, (QUESTIONS,), _LINES.write)
