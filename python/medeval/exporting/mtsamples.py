"""The MTSamples Procedures floor: the examples, one a line."""

from __future__ import annotations

import json
from typing import Any

from medeval.errors import UserError
from medeval.exporting.attrition import left_out_words, read_left_out
from medeval.exporting.builds import newest_build
from medeval.exporting.files import MANIFEST, ExportFolder
from medeval.exporting.floor import Floor, Request
from medeval.exporting.manifest import make_manifest
from medeval.exporting.progress import progress
from medeval.warehouse import Warehouse, flat, schema_name

NAME = "mtsamples"
FILE = "examples.jsonl"
EXAMPLES = "mtsamples_procedures"
ATTRITION = "mtsamples_attrition"
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


def is_built(warehouse: Warehouse) -> bool:
    """Tell whether the examples are there."""
    return warehouse.relation_exists(schema_name(NAME), EXAMPLES)


def export(warehouse: Warehouse, request: Request) -> list[str]:
    """Write exports/mtsamples: the examples in the order of their file names, and the manifest.

    Raises:
        UserError: the tables are not there, their last build failed, or there is no example.
    """
    tables = [EXAMPLES, ATTRITION, SETTINGS, f"{NAME}_data_class"]
    build = newest_build(warehouse, NAME, tables)
    schema = schema_name(NAME)
    total = warehouse.count(schema, EXAMPLES)
    if not total:
        raise UserError(f"{EXAMPLES} is empty; {ATTRITION} shows where the notes were lost.")
    with ExportFolder(request.out / NAME) as folder:
        with progress(NAME, lambda: total) as advance, folder.create(FILE, NAME) as file:
            for batch in warehouse.select(COLUMNS, schema, EXAMPLES, "order by source_index"):
                for row in batch:
                    line = json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False)
                    file.write((line + "\n").encode(), 1)
                    advance(1)
        manifest = make_manifest(warehouse, NAME, build, folder, {NAME: None})
        about = {**_settings(warehouse), "left_out": read_left_out(warehouse, NAME, ATTRITION)}
        manifest["tasks"][NAME].update(about)
        folder.publish(manifest)
    lost = left_out_words(about["left_out"])
    return [
        f"{folder.folder / FILE}: {total:,} examples of {about['note_count']:,} notes{lost}",
        f"{folder.folder / MANIFEST}: data class {manifest['data_class']}",
    ]


def _settings(warehouse: Warehouse) -> dict[str, Any]:
    columns = ["rule_version", "truncation", "note_count", "notes_md5"]
    (row,) = flat(warehouse.select(columns, schema_name(NAME), SETTINGS))
    return dict(zip(columns, row, strict=True))


FLOOR = Floor(NAME, (NAME,), {"mtsamples_procedures": NAME}, is_built, export)
