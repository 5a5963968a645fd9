"""The command `score`: of predictions, of a run of a model, or of a file that was handed in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medeval.commands.graceful_exit import command_of
from medeval.commands.shared_options import flags_in, refuse_flags
from medeval.errors import UserError
from medeval.registry import with_options
from medeval.tasks.mimic3.task import is_icu_task

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.tasks.task import Method, TaskScore
    from medeval.terminal import Results

FLAGS = "score_flags.toml"
SCORES = "scores.json"


def _score(
    prediction: Annotated[
        Path | None,
        typer.Argument(
            help="Prediction file (.csv, .csv.gz, .parquet), a submission or the folder of a run."
            " Without it the newest run of the task in runs/; if there is none of an ICU task, a"
            " baseline is trained first."
        ),
    ] = None,
    **given: Any,
) -> None:
    """Score predictions or a model's answers: values with intervals, as a table and as JSON."""
    task = given["task"]
    given["by"] = [name.strip() for entry in given["by"] or [] for name in entry.split(",")]
    given["by"] = list(dict.fromkeys(filter(None, given["by"])))
    of_task = _of_predictions if is_icu_task(task) else _of_answers
    results = of_task(task, prediction, given)
    results.show()
    if results.left and (prediction is None or prediction.is_dir()):
        raise typer.Exit(1)


score = with_options(_score, [flags_in(FLAGS)])


def _of_predictions(name: str, path: Path | None, given: Mapping[str, Any]) -> Results:
    """Score a prediction file, that of a run, or that of a baseline which is trained for it."""
    # Here, not above: every other command starts without these.
    from medeval.tasks.for_reports import report_of
    from medeval.tasks.mimic3.task import ScoreOptions, task_named
    from medeval.tasks.task import Method
    from medeval.terminal import Results, require_writable, table_of, write_json

    refuse_flags(FLAGS, name, ["predictions"], given)
    own = (field.name for field in fields(ScoreOptions) if field.name in given)
    task = task_named(name, ScoreOptions(**{name: given[name] for name in own}))
    place = given["out"] or Path(f"{task.short}_results.json")
    require_writable(place)
    n_iters = task.n_iters if given["n_iters"] is None else given["n_iters"]
    method = Method(n_iters, given["seed"], tuple(given["by"]), given["cluster"], given["min_cell"])
    path = path or task.newest_or_trained(method.seed)
    scored = task.score(path, method)
    report = report_of(scored)
    bare_nan = given["peer_layout"] or given["strict_nan"]
    files: dict[Path, Any] = {
        place: partial(write_json, content=scored.published, bare_nan=bare_nan)
    }
    if path.is_dir():
        files[path / SCORES] = report.save
    tables = [
        _table(scored), *(table_of(one.title, one.columns, one.rows) for one in scored.tables)
    ]  # fmt: skip
    return Results(tables, scored.notes, scored.warnings, files)


def _of_answers(task: str, path: Path | None, given: Mapping[str, Any]) -> Results:
    """Score a model's answers, as a run of it or a file has them."""
    from medeval.tasks.catalogue import canonical_name, recorded_name, score_submission
    from medeval.tasks.for_reports import group_tables, report_of
    from medeval.tasks.task import Method
    from medeval.terminal import Results, require_writable, table_of, write_json

    recorded_name(task)  # an unknown task is told before its flags
    name, out, is_file = canonical_name(task), given["out"], path is not None and path.is_file()
    refuse_flags(FLAGS, task, [name, *["submission"] * is_file], given)
    n_iters, version = given["n_iters"], given["score_version"]
    method = Method(
        1000 if n_iters is None else n_iters,
        given["seed"],
        tuple(given["by"]),
        given["cluster"],
        given["min_cell"],
        version or 2,
    )
    if out is not None:
        require_writable(out)
    folder = None
    if path is not None and is_file:
        scored = score_submission(name, path, given["gold"], method, given["allow_extra"])
    else:
        scored, folder = _score_run(name, path, method, given)
    report = report_of(scored)
    files: dict[Path, Any] = {} if folder is None else {folder / SCORES: report.save}
    if out is not None:
        content = json.loads(report.to_json())
        files[out] = partial(write_json, content=content, bare_nan=False)
    missing = scored.result.metadata.get("not_asked", 0)
    left = missing and (
        f"{missing:,} items were never asked and count as not answered; go on with"
        f" `{command_of('run', '--resume', folder, cases=given['cases'])}`"
    )
    shown = [*group_tables(scored, method.groupings, scored.tables), *scored.tables]
    tables = [_table(scored), *(table_of(one.title, one.columns, one.rows) for one in shown)]
    return Results(tables, [*scored.notes, *_ends(scored)], scored.warnings, files, left or "")


def _score_run(
    name: str, path: Path | None, method: Method, given: Mapping[str, Any]
) -> tuple[TaskScore, Path]:
    """Score a run, the newest if none is named; returns its folder, too.

    Raises:
        UserError: no such run, or data that do not fit.
    """
    from medeval.inference.journal import read_journal
    from medeval.inference.run import RESPONSES
    from medeval.tasks.catalogue import recorded_name
    from medeval.tasks.cdm.resume import taken_up
    from medeval.tasks.run_record import newest_run, read_record, warning_of_cut_prompts
    from medeval.terminal import warn

    if path is None:
        path = newest_run(recorded_name(name))
        if path is None:
            raise UserError(
                f"There is no run of {name} in runs/. Make one:"
                f" `python -m medeval run --task {name} --model demo`."
            )
        warn(f"scoring {path}")
    record = read_record(path, recorded_name(name))
    task = taken_up(record, given["cases"], named=name, subsets=tuple(given["subset"] or ()))
    scored = task.score(path, method)
    warning = warning_of_cut_prompts(task.items(record.limit), read_journal(path / RESPONSES))
    if warning:
        about = scored.result.metadata
        about["warnings"] = [*about.get("warnings", scored.warnings), warning]
        scored = replace(scored, warnings=[*scored.warnings, warning])
    return scored, path


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

    result = scored.result
    table = Table(title=f"{result.task_id}: {result.model_id}")
    has_undefined = bool(result.metadata.get("undefined"))
    for name in ("metric", "value", "95 % interval", "n", *["missing"] * has_undefined):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for name, about in result.metadata["metrics"].items():
        value = result.metrics_results.get(name)
        if value is not None and name in scored.said_again:
            continue
        interval = (result.intervals or {}).get(name)
        table.add_row(
            name,
            "undefined" if value is None else f"{value:.4f}",
            f"{interval.low:.4f} to {interval.high:.4f}" if interval else "",
            f"{about['n']:,}" if "n" in about else "",
            *[f"{about['n_undefined']:,}"] * has_undefined,
            style="bold" if name == scored.headline else None,
        )
    return table
