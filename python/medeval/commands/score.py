"""The command `score`, and what its flags mean to `compare` too; see `meant`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from medeval.commands.options import command_of, flag, given_options
from medeval.errors import UserError
from medeval.inference.journal import read_journal
from medeval.inference.run import RESPONSES, RUN
from medeval.tasks import registry
from medeval.tasks.options import read_options
from medeval.tasks.run_record import read_record, warning_of_cut_prompts
from medeval.tasks.task import AskedTask, Method, Task, TaskScore
from medeval.terminal import interval, require_writable, show_results, shown, table_of, warn

if TYPE_CHECKING:
    pass


def score(context: typer.Context, **given: Any) -> None:
    """Score predictions or a model's answers, with intervals.

    The values come as a table and as JSON.

    `score --task NAME --help` also shows what can be chosen about that task.

    python -m medeval score runs/20260102T030405Z-yier-demo

    python -m medeval score --task phenotyping predictions.csv --by sex
    """
    # Here, not above: every other command starts without these.
    from medeval.tasks.for_reports import group_tables, report_of

    given |= context.obj["options"]
    path: Path | None = given["path"]
    name, kind, method = meant(given, path, "the folder of a run")
    if path is None:
        path = kind.newest(name, method)
        warn(f"scoring {path}")
    folder = path if path.is_dir() else None
    if folder is not None and issubclass(kind, AskedTask):
        record = read_record(folder, name)
        task = registry.resume(record, given["moved"], given["task"])
        scored = task.score(folder, method)
        warning = warning_of_cut_prompts(task.items(record.limit), read_journal(folder / RESPONSES))
        scored = replace(scored, warnings=[*scored.warnings, *filter(None, [warning])])
    else:
        scored = kind.score_file(path, name, method)
    report = f"{report_of(scored).to_json(indent=2)}\n"
    missing, left = scored.result.metadata.get("not_asked", 0), ""
    if missing:
        again = resume_again(path, given["moved"])
        left = f"{missing:,} items were never asked and count as not answered; go on with `{again}`"
    more = [*group_tables(scored, method.groupings, scored.tables), *scored.tables]
    table, ends = _values_of(scored)
    show_results(
        [table, *(table_of(one.title, one.columns, one.rows) for one in more)],
        [*scored.notes, *ends],
        warnings=scored.warnings,
        files={} if folder is None else {folder / registry.SCORES: report},
        out=None if given["json"] else given["out"] or scored.place,
        left=left,
        content=json.loads(report) if scored.file is None else scored.file,
        bare_nan=scored.bare_nan,
        as_json=given["json"],
    )
    if missing:
        raise typer.Exit(1)


def resume_again(folder: Path, moved: Mapping[str, Any]) -> str:
    """Return the command that asks what a run was never asked, with its data where they are now."""
    named = {flag(name): str(value) for name, value in moved.items()}
    return command_of("run", "--resume", folder, named=named)


def meant(
    given: dict[str, Any], path: Path | None, otherwise: str
) -> tuple[str, type[Task], Method]:
    """Return the task that is meant, as it is recorded, its class, and how it is scored.

    Args:
        given: the flags; where JSON is wanted `out` becomes None, and `moved` are the options
            for data that are elsewhere now.
        path: a run, if one is named.
        otherwise: what can be named in place of a task.

    Raises:
        UserError: no task, an option that cannot be meant, or no place for the results.
    """
    given["json"] = given["json"] or str(given["out"]) == "-"
    if given["json"]:
        given["out"] = None
    elif given["out"] is not None:
        require_writable(given["out"])
    named = given["task"] or (path and registry.task_of(path))
    if not named and path and (path / RUN).is_file():
        read_record(path)  # says what is wrong with it
    if not named:
        raise UserError(f"Name a task with --task, or {otherwise}.")
    name = registry.recorded_name(named) if given["task"] else named
    kind = registry.task_class(registry.canonical_name(named))
    given["moved"] = {one: given[one] for one in kind.MOVED if given.get(one) is not None}
    groupings = [one.strip() for entry in given.get("by") or [] for one in entry.split(",")]
    method = Method(
        kind.N_ITERS if given["n_iters"] is None else given["n_iters"],
        given["seed"],
        tuple(dict.fromkeys(filter(None, groupings))),
        given["cluster"],
        kind.MIN_CELL if given.get("min_cell") is None else given["min_cell"],
        read_options(kind.ScoreOptions, given_options(kind.ScoreOptions, given), name),
    )
    return name, kind, method


def _values_of(scored: TaskScore) -> tuple[Table, list[str]]:
    """Return the values of a score that has been made a report, the headline first.

    Below them what became of the items, and of the verdicts.
    """
    result, told, said = scored.result, scored.result.metadata, []
    has_undefined = bool(told.get("undefined"))
    has_coverage = any("coverage" in about for about in told["metrics"].values())
    bold, rows = None, list[list[str]]()
    for name, about in told["metrics"].items():
        value, one = result.metrics_results.get(name), (result.intervals or {}).get(name)
        if value is not None and name in scored.said_again:
            continue
        bold = len(rows) if name == scored.headline else bold
        cells = [about.get("label", name), shown(value), interval(one.low, one.high) if one else ""]
        cells.append(f"{about['n']:,}" if "n" in about else "")
        cells += [f"{about['n_undefined']:,}"] * has_undefined
        cells += [f"{about['coverage']:.2f}" if "coverage" in about else ""] * has_coverage
        rows.append(cells)
    columns = ["metric", "value", "95 % interval", "n", *["missing"] * has_undefined]
    columns += ["coverage"] * has_coverage
    table = table_of(f"{result.task_id}: {result.model_id}", columns, rows, names=1)
    if bold is not None:
        table.rows[bold].style = "bold"
    if ledger := told.get("ledger"):
        ends = ", ".join(f"{name} {count:,}" for name, count in ledger.items() if count)
        said.append(f"items: {ends}")
    if judging := told.get("judging"):
        blank = ", ".join(f"{count:,} {why}" for why, count in judging["not_judged"].items())
        said.append(
            f"verdicts: {judging['ok']:,} complete, {judging['partial']:,} partial,"
            f" {judging['failed']:,} failed{f'; not judged, earn 0: {blank}' if blank else ''}"
        )
    return table, said
