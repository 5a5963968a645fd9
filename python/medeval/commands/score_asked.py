"""`score` for tasks that models are asked: the score of a run, or of a file that was handed in."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.commands.flags import refuse_flags
from medeval.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

    from medeval.tasks.task import Method, TaskScore
    from medeval.tasks.task import Table as TableData

SCORES = "scores.json"
CDM = "cdm"


@dataclass(frozen=True)
class Files:
    """What is scored against what, and where the score goes.

    Attributes:
        prediction: the folder of a run or a file; None takes the newest run of the task.
        gold: the file with the gold answers, for a file that was handed in.
        allow_extra: leave out answers to questions that the gold does not have.
        out: the JSON file; None writes the run's scores only.
        cases: the folder of CDM's export, if it is not where the run says.
    """

    prediction: Path | None
    gold: Path | None
    allow_extra: bool
    out: Path | None
    cases: Path | None = None


def score_asked(task: str, files: Files, method: Method) -> bool:
    """Score, print the tables, write the report.

    Returns:
        Whether all items were asked.

    Raises:
        UserError: no such task or run, files that do not fit, or a place that cannot be written.
    """
    from medeval.models.benchmark_report import BenchmarkReport
    from medeval.predictions.layout import require_writable, write_json

    if files.out is not None:
        require_writable(files.out)
    scored, folder = _scored(task, files, method)
    for warning in scored.warnings:
        print(f"medeval: {warning}", file=sys.stderr)
    _say_for_reports(scored)
    report = BenchmarkReport(model_id=scored.result.model_id, metadata=_metadata(scored))
    report.add_evaluation_result(scored.result)
    if folder is not None:
        report.save(folder / SCORES)
    if files.out is not None:
        write_json(files.out, json.loads(report.to_json()), bare_nan=False)
    _print(scored, method.groupings)
    missing = scored.result.metadata.get("not_asked", 0)
    if missing:
        print(
            f"medeval: {missing:,} items were never asked and count as not answered; go on with"
            f" `python -m medeval run --resume {folder}`",
            file=sys.stderr,
        )
    for place in [folder / SCORES if folder else None, files.out]:
        if place is not None:
            print(f"saving the results in {place}")
    return not missing


def _scored(task: str, files: Files, method: Method) -> tuple[TaskScore, Path | None]:
    from medeval.tasks.catalogue import canonical_name, recorded_name, resumed
    from medeval.tasks.cdm import scored_again
    from medeval.tasks.run_record import newest_run, read_record

    name = canonical_name(task)
    path = files.prediction
    if path is not None and path.is_file():
        return _of_file(name, path, files, method), None
    if path is None:
        path = newest_run(recorded_name(name))
        if path is None:
            raise UserError(
                f"There is no run of {name} in runs/. Make one:"
                f" `python -m medeval run --task {name} --model demo`."
            )
        print(f"medeval: scoring {path}", file=sys.stderr)
    record = read_record(path)
    if record.task != recorded_name(name):
        raise UserError(f"{path} is a run of {record.task}, not of {name}.")
    _refuse_what_others_have(name, files, method)
    if files.cases is not None:
        return scored_again(path, files.cases, method), path
    return resumed(record, name).score(path, method), path


def _refuse_what_others_have(name: str, files: Files, method: Method) -> None:
    refuse_flags(name, {"--gold": files.gold, "--allow-extra": files.allow_extra})
    if name != CDM:
        refuse_flags(name, {"--cases": files.cases, "--score-version 1": method.score_version == 1})


def _of_file(name: str, path: Path, files: Files, method: Method) -> TaskScore:
    from medeval.tasks import yier
    from medeval.tasks.yier_score import score_of, yier_method
    from medeval.yier.evaluating import score_submission

    if name != yier.NAME:
        raise UserError(f"{path} is a file; scores of {name} are made of runs, which are folders.")
    gold = yier.questions_file(None) if files.gold is None else files.gold
    made = score_submission(path, gold, yier_method(method), allow_extra=files.allow_extra)
    facts = {"prediction": path.name, "gold": gold.name, **_hashes(path, gold)}
    return score_of(made, path.name, facts)


def _hashes(prediction: Path, gold: Path) -> dict[str, Any]:
    import hashlib

    def sha256(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    return {"prediction_sha256": sha256(prediction), "data": {"sha256": sha256(gold)}}


def _say_for_reports(scored: TaskScore) -> None:
    """Put what reports and leaderboards ask of every result under the names that they know."""
    from medeval.inference.requests import canonical

    metadata = scored.result.metadata
    data = metadata["data"]
    content = canonical([data["sha256"], metadata.get("items_sha256")])
    about = {
        "status": "incomplete" if metadata.get("not_asked") else "ok",
        "task_hash": hashlib.sha256(content.encode()).hexdigest(),
        "data_class": data.get("data_class", "credentialed"),
        "outcomes": metadata.get("ledger", {}),
    }
    metadata.update({name: value for name, value in about.items() if name not in metadata})


def _metadata(scored: TaskScore) -> dict[str, Any]:
    import medeval

    metadata: Mapping[str, Any] = scored.result.metadata
    return {
        "run_id": metadata.get("run_id"),
        "data_sha256": {scored.result.task_id: metadata["data"]["sha256"]},
        "versions": {"medeval": medeval.__version__},
    }


def _print(scored: TaskScore, groupings: Sequence[str]) -> None:
    from rich.console import Console

    console = Console()
    console.print(_table(scored))
    for grouping in groupings:
        console.print(_group_table(grouping, scored.groups[grouping]))
    for table in scored.tables:
        console.print(_further_table(table))
    for note in scored.notes:
        print(note)
    ledger = scored.result.metadata.get("ledger")
    if ledger:
        ends = ", ".join(f"{name} {count:,}" for name, count in ledger.items() if count)
        print(f"items: {ends}")
    judging = scored.result.metadata.get("judging")
    if judging:
        blank = ", ".join(f"{count:,} {why}" for why, count in judging["not_judged"].items())
        print(
            f"verdicts: {judging['ok']:,} complete, {judging['partial']:,} partial,"
            f" {judging['failed']:,} failed{f'; earned 0 without one: {blank}' if blank else ''}"
        )


def _table(scored: TaskScore) -> Table:
    from rich.table import Table

    from medeval.tasks.cdm_score import ANSWERED_ONLY

    result = scored.result
    table = Table(title=f"{result.task_id}: {result.model_id}")
    undefined = result.metadata.get("undefined", {})
    columns = ["metric", "value", "95 % interval", "n"]
    if undefined:
        columns.append("missing")
    for name in columns:
        table.add_column(name, justify="left" if name == "metric" else "right")
    counts = result.metadata.get("n")
    # Where nothing failed, means over the answered items say the same again.
    is_whole = result.metadata.get("n_failed") == 0
    names = [name for name in result.metrics_results if not (is_whole and ANSWERED_ONLY in name)]
    names += [name for name in undefined if not result.has_metric(name)]
    for name in sorted(names, key=lambda one: one != scored.headline):
        value = result.metrics_results.get(name)
        interval = (result.intervals or {}).get(name)
        between = "" if interval is None else f"{interval.low:.4f} to {interval.high:.4f}"
        n = counts.get(name) if isinstance(counts, dict) else counts
        if interval is not None and not isinstance(counts, dict):
            n = interval.n
        table.add_row(
            f"[bold]{name}[/bold]" if name == scored.headline else name,
            "undefined" if value is None else f"{value:.4f}",
            between,
            "" if n is None else f"{n:,}",
            *([f"{undefined.get(name, {}).get('items', 0):,}"] if undefined else []),
        )
    return table


def _group_table(grouping: str, groups: Mapping[str, Mapping[str, float | None]]) -> Table:
    """Return the values of groups, with whatever there is more of as rows."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"by {grouping}")
    metrics = list(next(iter(groups.values()), {}))
    cells = {
        (group, name): _cell(name, groups[group][name]) for group in groups for name in metrics
    }
    is_by_group = len(groups) >= len(metrics)
    table.add_column(grouping if is_by_group else "metric", overflow="fold")
    for name in metrics if is_by_group else groups:
        table.add_column(escape(name), justify="right", overflow="fold")
    if is_by_group:
        for group in groups:
            table.add_row(escape(group), *(cells[group, name] for name in metrics))
    else:
        for name in metrics:
            table.add_row(name, *(cells[group, name] for group in groups))
    return table


def _further_table(data: TableData) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(data.title))
    for name in data.columns:
        table.add_column(escape(name), overflow="fold")
    for row in data.rows:
        table.add_row(*map(escape, row))
    return table


def _cell(metric: str, value: float | None) -> str:
    if value is None:
        return "not shown"
    return f"{value:,.0f}" if metric in ("n", "n_missing") else f"{value:.4f}"
