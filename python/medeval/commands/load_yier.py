"""The questions of `load yier`: read in any form, written clean or loaded into PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from medeval.commands.load import say
from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.yier.questions import CleanQuestions
    from medeval.yier.reading import QuestionFile


def clean_file(named: Path | None, out: Path, root: Path) -> None:
    """Write the questions as clean JSON Lines, which DuckDB reads.

    Raises:
        UserError: a file that cannot be read or written, or one without a record.
    """
    from medeval.yier.questions import write_lines

    file, clean = _questions(named, root)
    write_lines(clean, out)
    for line in clean.summary(file):
        print(line)
    print(f"{out}: name it in MEDEVAL_YIER, then `dbt build --select yier`.")


def load_file(
    named: Path | None, schema: str | None, replace: bool, target: str, root: Path
) -> None:
    """Load the questions into PostgreSQL.

    Raises:
        UserError: a file that cannot be read, one without a record, or a database that refuses.
    """
    from medeval.profile import load_target, project_variable
    from medeval.row_loading import load_rows
    from medeval.yier.questions import SOURCE, record_rows

    file, clean = _questions(named, root)
    chosen = schema or str(project_variable(SOURCE.schema_variable, root))
    rows = record_rows(clean)
    load_rows(rows, SOURCE, load_target(target, root), chosen, replace=replace, say=say)
    for line in clean.summary(file):
        print(line)
    print(f"{chosen}.records: `dbt build --select yier --target {target}`.")


def _questions(named: Path | None, root: Path) -> tuple[QuestionFile, CleanQuestions]:
    from medeval.yier.questions import clean_questions
    from medeval.yier.reading import read_file

    place = named or os.environ.get("MEDEVAL_YIER")
    if not place:
        place = root / "demo" / "yier" / "questions.json"
        say(f"No FILE and no MEDEVAL_YIER: reading the synthetic demo, {place}.")
    path = Path(place).expanduser()
    file = read_file(path)
    clean = clean_questions(file)
    if not clean.records:
        raise UserError(f"{path} holds no record.")
    return file, clean
