"""The commands `yier validate`, `convert`, `prompt` and `submit`.

They are described whenever a program starts, so what they use is imported when it is used.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import typer

from medeval.errors import UserError
from medeval.files import json_lines

app = typer.Typer(
    help="CHIP 2023 YIER-LLM: check and convert questions, submit.",
    no_args_is_help=True,
)
_TOLD = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))["commands"]
_SKIPS = typer.Option("--skip-without-context", help=_TOLD["skip_without_context"])
File = Annotated[Path, typer.Argument(metavar="FILE", help="Questions, .json or .jsonl.")]
Out = Annotated[Path | None, typer.Option(help="The file to write. Default: the terminal.")]


@app.command()
def validate(file: File) -> None:
    """Check a file of questions; exit code 1 if there is anything to see to."""
    from medeval.tasks.yier.files import read_file
    from medeval.tasks.yier.questions import check_records

    found = read_file(file)
    outcomes, records = check_records(found.records)
    labelled = sum(bool(record.answer_choices) for record in records)
    split = "train" if 0 < labelled == len(records) else "mixed" if labelled else "test"
    print(
        f"{file}: {len(outcomes):,} records, {found.encoding}, layout {found.layout}; split"
        f" {split if records else 'empty'}: {labelled:,} labelled, "
        f" {len(records) - labelled:,} unlabelled, {len(outcomes) - len(records):,} left out"
    )
    if found.repaired:
        print(
            "not JSON as it stands; read with quotes, commas and brackets of other widths forgiven"
        )
    findings = [outcome for outcome in outcomes if outcome.state != "ok"]
    for outcome in findings:
        print(outcome)
    if found.repaired or findings:
        raise typer.Exit(1)


@app.command()
def convert(
    file: File,
    to: Annotated[Literal["array", "lines"], typer.Option(help="One array, or one record a line.")],
    out: Out = None,
) -> None:
    """Write a file of questions as UTF-8 JSON; every record and key is kept, in order."""
    from medeval.tasks.yier.files import as_text, read_file

    found = read_file(file)
    _write(out, as_text(found, to))
    if found.repaired:
        print(f"medeval: {file} was not JSON as it stands; it was repaired", file=sys.stderr)


@app.command()
def prompt(
    file: File,
    out: Out = None,
    language: Annotated[str, typer.Option(help=_TOLD["language"])] = "zh",
    shuffle_seed: Annotated[int | None, typer.Option(help=_TOLD["shuffle_seed"])] = None,
    passes: Annotated[int, typer.Option(min=1, help=_TOLD["passes"])] = 1,
    examples: Annotated[Path | None, typer.Option(help=_TOLD["examples"])] = None,
    shots: Annotated[int, typer.Option(min=0, help=_TOLD["shots"])] = 0,
    example_seed: Annotated[int, typer.Option(help=_TOLD["example_seed"])] = 0,
    skip_without_context: Annotated[bool, _SKIPS] = False,
) -> None:
    """Write the prompts, one JSON object a line, as a run would send them."""
    from medeval.tasks.options import read_options
    from medeval.tasks.yier.task import NAME, YierOptions, YierTask, shuffled_order

    given = {
        "questions": str(file),
        "language": language,
        "shuffle_seed": shuffle_seed,
        "samples": passes,
        "examples": None if examples is None else str(examples),
        "shots": shots,
        "example_seed": example_seed,
        "skip_without_context": skip_without_context,
    }
    task = YierTask.start(NAME, read_options(YierOptions, given, NAME))
    lines = []
    for item in task.items():
        order = shuffled_order(task.by_id[item.id], shuffle_seed, item.sample)
        lines.append(
            {
                "sample_id": item.id,
                "sample": item.sample,
                "prompt_version": task.prompt_version,
                "language": language,
                "order": list(order),
                "messages": item.messages,
                "schema": item.parameters["response_format"]["json_schema"]["schema"],
            }
        )
    _write(out, json_lines(lines))


@app.command()
def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    questions: Annotated[Path | None, typer.Option(help=_TOLD["questions"])] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help=_TOLD["overwrite"])] = False,
) -> None:
    """Write the questions with `predict_answers`, as they are handed in."""
    from medeval.models.text_files import save_text
    from medeval.tasks.run_record import read_record
    from medeval.tasks.yier.files import as_text
    from medeval.tasks.yier.questions import fill
    from medeval.tasks.yier.task import NAME, YierTask

    record = read_record(run, NAME)
    moved = {} if questions is None else {"questions": str(questions)}
    task = YierTask.resume(record, moved)
    answered, agreement = task.answers(run)
    answers = {one.record.sample_id: one.answers for one in answered}
    filled = fill(task.file, answers, overwrite=overwrite)
    save_text(out, as_text(filled))
    print(f"{len(filled.records):,} records in {out}")
    if missing := sum(one.missing for one in answered):
        print(
            f"medeval: {missing:,} questions have no answer in {run} yet; nothing is predicted",
            file=sys.stderr,
        )
    if agreement is not None:
        print(f"{agreement:.1%} of the pairs of passes agree; the first is handed in")


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
