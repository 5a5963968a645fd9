"""The commands `yier validate`, `convert`, `prompt` and `submit`."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medeval.errors import UserError

if TYPE_CHECKING:
    from medeval.yier.records import Record

app = typer.Typer(
    help="CHIP 2023 YIER-LLM: check, convert and ask its questions, write a submission.",
    no_args_is_help=True,
)

Questions = Annotated[Path, typer.Argument(metavar="FILE", help="Questions, .json or .jsonl.")]
Out = Annotated[Path | None, typer.Option(help="The file to write. Default: the terminal.")]


class Layout(StrEnum):
    """What `convert` writes."""

    ARRAY = "array"
    LINES = "lines"


class Language(StrEnum):
    """The language of the instruction."""

    ZH = "zh"
    EN = "en"


@app.command()
def validate(file: Questions) -> None:
    """Check a file of questions; exit code 1 if there is anything to see to."""
    from medeval.yier.reading import read_file
    from medeval.yier.records import check_records

    found = read_file(file)
    checked = check_records(found.records)
    print(
        f"{file}: {len(found.records):,} records, {found.encoding}, layout {found.layout}; split"
        f" {checked.split}: {checked.n_labelled:,} labelled, {checked.n_unlabelled:,} unlabelled,"
        f" {checked.n_left_out:,} left out"
    )
    if found.repaired:
        print(
            "not JSON as it stands; read with quotes, commas and brackets of other widths forgiven"
        )
    for outcome in checked.findings:
        print(outcome)
    if found.repaired or checked.findings:
        raise typer.Exit(1)


@app.command()
def convert(
    file: Questions,
    to: Annotated[Layout, typer.Option(help="One array, or one record a line.")],
    out: Out = None,
) -> None:
    """Write a file of questions as UTF-8 JSON; every record and key is kept, in order."""
    from medeval.yier.reading import as_text, read_file

    found = read_file(file)
    _write(out, as_text(found.document, to.value))
    if found.repaired:
        print(f"medeval: {file} was not JSON as it stands; it was repaired", file=sys.stderr)


@app.command()
def prompt(
    file: Questions,
    language: Annotated[Language, typer.Option(help="Of the instruction.")] = Language.ZH,
    shuffle_seed: Annotated[
        int | None, typer.Option(help="Shuffle the options. Default: the order of the file.")
    ] = None,
    passes: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 1,
    examples: Annotated[
        Path | None, typer.Option(help="Training file from which examples are chosen.")
    ] = None,
    shots: Annotated[int, typer.Option(min=0, help="How many examples.")] = 0,
    example_seed: Annotated[int, typer.Option(help="Seed of their choice.")] = 0,
    skip_without_context: Annotated[
        bool, typer.Option("--skip-without-context", help="Leave such questions out.")
    ] = False,
    out: Out = None,
) -> None:
    """Write the prompts, one JSON object a line, as a run would send them."""
    from medeval.yier.reading import read_file
    from medeval.yier.records import usable_records
    from medeval.yier.runs import Plan, prompts

    found = read_file(file)
    training = [] if examples is None else _records(examples)
    plan = Plan(
        str(file.resolve()),
        found.sha256,
        language.value,
        shuffle_seed,
        passes,
        "" if examples is None else str(examples.resolve()),
        shots,
        example_seed,
        skip_without_context,
    )
    records = usable_records(found.records, found.name)
    lines = [
        {
            "sample_id": made.record.sample_id,
            "sample": number,
            "prompt_version": made.version,
            "language": made.language,
            "order": list(made.order),
            "messages": [{"role": "user", "content": made.text}],
            "schema": made.schema,
        }
        for number, made in prompts(plan, records, training)
    ]
    _write(out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


@app.command()
def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    questions: Annotated[
        Path | None,
        typer.Option(help="The file of questions, if it is elsewhere now than it was for the run."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace predictions that the questions have.")
    ] = False,
) -> None:
    """Write the questions with `predict_answers`, as they are handed in."""
    from medeval.models.text_files import save_text
    from medeval.yier.reading import as_text
    from medeval.yier.runs import read_run
    from medeval.yier.submission import fill

    found = read_run(run, questions)
    answers = {entry.record.sample_id: entry.answers for entry in found.answered}
    filled = fill(found.file.document, answers, overwrite=overwrite)
    save_text(out, as_text(filled))
    missing = sum(entry.missing for entry in found.answered)
    print(f"{len(filled.records):,} records in {out}")
    if missing:
        print(
            f"medeval: {missing:,} questions have no answer in {run} yet; nothing is predicted",
            file=sys.stderr,
        )
    if found.agreement is not None:
        print(f"{found.agreement:.1%} of the pairs of passes agree; the first is handed in")


def _records(path: Path) -> list[Record]:
    from medeval.yier.reading import read_file
    from medeval.yier.records import usable_records

    found = read_file(path)
    return usable_records(found.records, found.name)


def _write(out: Path | None, text: str) -> None:
    from medeval.models.text_files import save_text

    if out is None:
        # Bytes, since the terminal's own encoding may not have the characters.
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"--out {out}: name a file in a folder that is there.")
    save_text(out, text)
