"""The YIER floor: the questions as the task publishes them, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from medeval.errors import UserError
from medeval.exporting.attrition import left_out_words, read_left_out
from medeval.exporting.builds import newest_build
from medeval.exporting.files import MANIFEST, ExportFolder
from medeval.exporting.floor import Floor, Request
from medeval.exporting.manifest import make_manifest
from medeval.exporting.progress import progress
from medeval.warehouse import Row, Warehouse, schema_name

NAME = "yier"
FILE = "questions.jsonl"
QUESTIONS = "yier_questions"
OPTIONS = "yier_options"
ATTRITION = "yier_attrition"


def is_built(warehouse: Warehouse) -> bool:
    """Tell whether the questions are there."""
    return warehouse.relation_exists(schema_name(NAME), QUESTIONS)


def export(warehouse: Warehouse, request: Request) -> list[str]:
    """Write exports/yier: the questions in the order of their file, and the manifest.

    Raises:
        UserError: the tables are not there, their last build failed, or there is no question.
    """
    tables = [QUESTIONS, OPTIONS, ATTRITION, f"{NAME}_data_class"]
    build = newest_build(warehouse, NAME, tables)
    total = warehouse.count(schema_name(NAME), QUESTIONS)
    if not total:
        raise UserError(f"{QUESTIONS} is empty; {ATTRITION} shows where the records were lost.")
    with ExportFolder(request.out / NAME) as folder:
        with progress(NAME, lambda: total) as advance, folder.create(FILE, NAME) as file:
            for record in _records(warehouse):
                file.write((json.dumps(record, ensure_ascii=False) + "\n").encode(), 1)
                advance(1)
        manifest = make_manifest(warehouse, NAME, build, folder, {NAME: None})
        manifest["tasks"][NAME]["left_out"] = left_out = read_left_out(warehouse, NAME, ATTRITION)
        folder.publish(manifest)
    lost = left_out_words(left_out)
    return [
        f"{folder.folder / FILE}: {total:,} questions{lost}",
        f"{folder.folder / MANIFEST}: data class {manifest['data_class']}",
    ]


def _records(warehouse: Warehouse) -> Iterator[dict[str, Any]]:
    options = {
        sample_id: [(text, is_answer) for _, text, is_answer in rows]
        for sample_id, rows in groupby(_options(warehouse), key=lambda row: row[0])
    }
    columns = ["sample_id", "context", "question", "question_source"]
    for batch in warehouse.select(columns, schema_name(NAME), QUESTIONS, "order by line_number"):
        for sample_id, context, question, source in batch:
            yield {
                "context": context or "",
                "question": question,
                "selection": [text for text, _ in options[sample_id]],
                "answer_choices": [text for text, is_answer in options[sample_id] if is_answer],
                "sample_id": sample_id,
                "source": source or "",
            }


def _options(warehouse: Warehouse) -> Iterator[Row]:
    columns = ["sample_id", "option_text", "is_answer"]
    order = 'order by sample_id collate "C", option_position'
    for batch in warehouse.select(columns, schema_name(NAME), OPTIONS, order):
        yield from batch


FLOOR = Floor(NAME, (NAME,), {}, is_built, export)
