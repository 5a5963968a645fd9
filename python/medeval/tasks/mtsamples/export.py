"""The examples of the warehouse: exported one a line, or read for a run and kept with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from medeval.builds import build_command, newest_build, open_built, read_source
from medeval.errors import UserError
from medeval.export import lines_export
from medeval.files import json_lines, read_json_lines
from medeval.warehouse import Warehouse, flat, schema_name

NAME = "mtsamples"
FILE = "examples.jsonl"
EXAMPLES = "mtsamples_procedures"
SETTINGS = "mtsamples_build_settings"


@dataclass(frozen=True)
class Example:
    """One note, cut into what a model is shown and what its answer is compared with."""

    example_id: str
    source_index: int
    filename: str
    medical_specialty: str | None
    sample_name: str | None
    extracted_section: str
    question: str
    answer: str
    truncation: str
    leak: bool


def _examples(warehouse: Warehouse) -> Iterator[Example]:
    columns = [field.name for field in fields(Example)]
    rows = warehouse.select(columns, schema_name(NAME), EXAMPLES, "order by source_index")
    return (Example(*row) for row in flat(rows))


def _settings(warehouse: Warehouse) -> dict[str, Any]:
    columns = ["rule_version", "truncation", "note_count", "notes_md5"]
    (row,) = flat(warehouse.select(columns, schema_name(NAME), SETTINGS))
    return dict(zip(columns, row, strict=True))


EXPORT = lines_export(
    *(NAME, FILE, EXAMPLES, [SETTINGS]),
    lambda warehouse: map(asdict, _examples(warehouse)),
    ("examples", "notes"),
    aliases={"mtsamples_procedures": NAME},
    about=_settings,
)


def read_warehouse(*, as_built: bool) -> tuple[list[Example], str, str, str]:
    """Return the examples that were built last, in the order of their file names.

    Args:
        as_built: take notes of another source than the one that is named now.

    Returns:
        The examples, the version of the rules of their extraction, the place of the notes and
        their data class.

    Raises:
        UserError: they are not built, or there is none.
    """
    with open_built(NAME, None, as_built=as_built) as warehouse:
        place = newest_build(warehouse, NAME).source_location
        examples = list(_examples(warehouse))
        rule_version = str(_settings(warehouse)["rule_version"])
        data_class = str(read_source(warehouse, NAME)["data_class"])
    if not examples:
        command = build_command(NAME, warehouse.target.name)
        raise UserError(f"{EXAMPLES} is empty. Name the notes and build again: `{command}`.")
    return examples, rule_version, place, data_class


def as_lines(examples: Sequence[Example]) -> str:
    """Return examples as JSON Lines, the same text for the same examples."""
    return json_lines(map(asdict, examples))


def read_kept(folder: Path) -> list[Example]:
    """Return the examples of a run.

    Raises:
        UserError: they are not there, or cannot be read.
    """
    try:
        return [Example(**example) for _, example in read_json_lines(folder / FILE)]
    except TypeError:
        raise UserError(f"{folder / FILE} does not hold the examples of a run.") from None
