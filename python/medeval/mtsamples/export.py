"""The examples, one a line, in the order of the names of their files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medeval.export import BenchmarkExport, Lines
from medeval.warehouse import Warehouse, flat, schema_name

NAME = "mtsamples"
FILE = "examples.jsonl"
EXAMPLES = "mtsamples_procedures"
SETTINGS = "mtsamples_build_settings"
COLUMNS = (
    "example_id",
    "source_index",
    "filename",
    "medical_specialty",
    "sample_name",
    "extracted_section",
    "question",
    "answer",
    "truncation",
    "leak",
)


def _examples(warehouse: Warehouse) -> Iterator[dict[str, Any]]:
    schema = schema_name(NAME)
    for batch in warehouse.select(COLUMNS, schema, EXAMPLES, "order by source_index"):
        for row in batch:
            yield dict(zip(COLUMNS, row, strict=True))


def _settings(warehouse: Warehouse) -> dict[str, Any]:
    columns = ["rule_version", "truncation", "note_count", "notes_md5"]
    (row,) = flat(warehouse.select(columns, schema_name(NAME), SETTINGS))
    return dict(zip(columns, row, strict=True))


_LINES = Lines(NAME, FILE, EXAMPLES, (SETTINGS,), _examples, ("examples", "notes"), about=_settings)
EXPORT = BenchmarkExport(NAME, (NAME,), {"mtsamples_procedures": NAME}, (EXAMPLES,), _LINES.write)
