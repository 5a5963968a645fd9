"""`load yier`: questions in any form, written clean or loaded into PostgreSQL."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from medeval.errors import UserError
from medeval.load import LoadRequest
from medeval.sources import Source

SOURCE = Source("yier", "yier", "yier_schema", {"records": ("line_number", "record")})


@dataclass(frozen=True)
class Options:
    """What becomes of the questions."""

    out: Annotated[
        Path | None,
        typer.Option(
            help="yier: write clean JSON Lines to this file, for MEDEVAL_YIER, and load nothing."
        ),
    ] = None

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
    from medeval.tasks.yier.questions import clean_questions
    from medeval.tasks.yier.reading import Document, as_text, read_file

    place = request.place or os.environ.get("MEDEVAL_YIER")
    if not place:
        place = request.root / "demo" / "yier" / "questions.json"
        request.say(f"No FILE and no MEDEVAL_YIER: reading the synthetic demo, {place}.")
    path = Path(place).expanduser()
    file = read_file(path)
    records, checked = clean_questions(file)
    if not records:
        raise UserError(f"{path} holds no record.")
    text = as_text(Document(records, "lines"))
    if options.out is not None:
        save_text(options.out, text)
        done = f"{options.out}: name it in MEDEVAL_YIER, then `dbt build --select yier`."
    else:
        from medeval.load import load_rows

        # Texts hold signs that `splitlines` takes for line ends.
        loaded = load_rows(enumerate(text.split("\n")[:-1], start=1), SOURCE, request)
        done = f"{loaded.schema}.records: `dbt build --select yier --target {request.target}`."
    mended = ", mended: it is no JSON as it stands" if file.repaired else ""
    read = f"{file.name}: {len(records):,} records, {file.encoding}, layout {file.layout}{mended}"
    print(f"{read}; {checked.n_labelled:,} with answers.")
    if lost := checked.n_left_out:
        print(f"{lost:,} records cannot be used; see yier_attrition once built.")
    for outcome in [outcome for outcome in checked.outcomes if outcome.state != "ok"][:10]:
        print(outcome)
    print(done)
