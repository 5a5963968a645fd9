"""The command `score`: of predictions, of a run of a model, or of a file that was handed in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of, with_flags
from medeval.commands.options import flags_in, flags_of_options, given_options, with_options
from medeval.errors import UserError
from medeval.tasks import registry

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.tasks.task import Method, Task, TaskScore


def _score(
    context: typer.Context,
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN|FILE]",
            help="The folder of a run, a prediction file or a submission. Default: the newest run"
            " of the task in runs/; an ICU task without one trains a baseline.",
        ),
    ] = None,
    **given: Any,
) -> None:
    """Score predictions or a model's answers: values with intervals, as a table and as JSON.

    `score --task NAME --help` also shows what can be chosen about that task.

    Examples:
    python -m medeval score runs/20260102T030405Z-yier-demo

    python -m medeval score --task phenotyping predictions.csv --by sex
    """
    # Here, not above: every other command starts without these.
    from medeval.tasks.for_reports import group_tables, report_of
    from medeval.tasks.task import AskedTask
    from medeval.terminal import Results, require_writable, table_of, warn

    given |= context.obj["options"]
    out, as_json = given["out"], given["json"] or str(given["out"]) == "-"
    named = given["task"] or (registry.task_of(path) if path else None)
    if named is None:
        raise UserError("Name a task with --task, or the folder of a run.")
    name, kind = registry.recorded_name(named), registry.task_class(registry.canonical_name(named))
    method = method_of(kind, name, given)
    if path is None:
        path = kind.newest(name, method)
        warn(f"scoring {path}")
    folder = path if path.is_dir() else None
    if out is not None and not as_json:
        require_writable(out)
    moved = {one: given[one] for one in kind.MOVED if given.get(one) is not None}
    if folder is not None and issubclass(kind, AskedTask):
        scored = _of_run(name, folder, method, moved, given["task"])
    else:
        scored = kind.score_file(path, name, method)
    report = report_of(scored)
    content = json.loads(report.to_json()) if scored.file is None else scored.file
    files: dict[Path, Any] = {} if folder is None else {folder / registry.SCORES: report.save}
    place = None if as_json else out or scored.place
    if place is not None:
        files[place] = partial(write_json, content=content, bare_nan=scored.bare_nan)
    missing = scored.result.metadata.get("not_asked", 0)
    again = with_flags(command_of("run", "--resume", folder), flags_of_options(moved))
    left = f"{missing:,} items were never asked and count as not answered; go on with `{again}`"
    shown = [*group_tables(scored, method.groupings, scored.tables), *scored.tables]
    Results(
        [_table(scored), *(table_of(one.title, one.columns, one.rows) for one in shown)],
        [*scored.notes, *_ends(scored)],
        scored.warnings,
        files,
        left if missing else "",
        content,
        scored.bare_nan,
    ).show(as_json=as_json)
    if missing:
        raise typer.Exit(1)


score = with_options(_score, flags_in("score_flags.toml"))


def write_json(path: Path, content: Mapping[str, Any], *, bare_nan: bool) -> None:
    """Write one line of JSON, whole or not at all; readable by its owner only.

    Raises:
        UserError: the file cannot be written.
    """
    from medeval.models.text_files import save_text  # with its package it is slow to load

    save_text(path, json.dumps(content, allow_nan=bare_nan, ensure_ascii=False) + "\n")


def method_of(kind: type[Task], name: str, given: Mapping[str, Any]) -> Method:
    """Return how scores of a task are made, of the flags of a command.

    Args:
        kind: the task's class.
        name: of the task, as it is recorded.
        given: the flags.

    Raises:
        UserError: an option that cannot be meant.
    """
    from medeval.tasks.options import read_options
    from medeval.tasks.task import Method

    groupings = [one.strip() for entry in given.get("by") or [] for one in entry.split(",")]
    n_iters = given["n_iters"]
    return Method(
        kind.N_ITERS if n_iters is None else n_iters,
        given["seed"],
        tuple(dict.fromkeys(filter(None, groupings))),
        given["cluster"],
        given.get("min_cell", 1),
        read_options(kind.ScoreOptions, given_options(kind.ScoreOptions, given), name),
    )


def _of_run(
    name: str, folder: Path, method: Method, moved: Mapping[str, Any], named: str | None
) -> TaskScore:
    """Score a run of a model.

    Raises:
        UserError: no such run, or data that do not fit.
    """
    from medeval.inference.journal import read_journal
    from medeval.inference.run import RESPONSES
    from medeval.tasks.run_record import read_record, warning_of_cut_prompts

    record = read_record(folder, name)
    task = registry.resume(record, moved, named)
    scored = task.score(folder, method)
    warning = warning_of_cut_prompts(task.items(record.limit), read_journal(folder / RESPONSES))
    if warning:
        about = scored.result.metadata
        about["warnings"] = [*about.get("warnings", scored.warnings), warning]
        scored = replace(scored, warnings=[*scored.warnings, warning])
    return scored


def _ends(scored: TaskScore) -> list[str]:
    """Say what became of the items, and of the verdicts."""
    told, said = scored.result.metadata, []
    if ledger := told.get("ledger"):
        ends = ", ".join(f"{name} {count:,}" for name, count in ledger.items() if count)
        said.append(f"items: {ends}")
    if judging := told.get("judging"):
        blank = ", ".join(f"{count:,} {why}" for why, count in judging["not_judged"].items())
        said.append(
            f"verdicts: {judging['ok']:,} complete, {judging['partial']:,} partial,"
            f" {judging['failed']:,} failed{f'; not judged, earn 0: {blank}' if blank else ''}"
        )
    return said


def _table(scored: TaskScore) -> Table:
    """Return the values of a score that has been made a report; the headline first."""
    from rich.table import Table

    from medeval.terminal import interval, shown

    result = scored.result
    table = Table(title=f"{result.task_id}: {result.model_id}")
    has_undefined = bool(result.metadata.get("undefined"))
    has_coverage = any("coverage" in about for about in result.metadata["metrics"].values())
    columns = ("metric", "value", "95 % interval", "n", *["missing"] * has_undefined)
    for name in (*columns, *["coverage"] * has_coverage):
        table.add_column(name, justify="left" if name == "metric" else "right", no_wrap=True)
    for name, about in result.metadata["metrics"].items():
        value = result.metrics_results.get(name)
        if value is not None and name in scored.said_again:
            continue
        ends = (result.intervals or {}).get(name)
        table.add_row(
            about.get("label", name),
            shown(value),
            interval(ends.low, ends.high) if ends else "",
            f"{about['n']:,}" if "n" in about else "",
            *[f"{about['n_undefined']:,}"] * has_undefined,
            *[f"{about['coverage']:.2f}" if "coverage" in about else ""] * has_coverage,
            style="bold" if name == scored.headline else None,
        )
    return table
