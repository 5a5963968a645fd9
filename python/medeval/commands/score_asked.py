"""`score` for tasks that models are asked: the score of a run, or of a file that was handed in."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medeval.commands.flags import refuse_flags
from medeval.commands.task_options import moved_to
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
        subsets: cases of CDM to score by themselves, too, each as NAME=FILE.
    """

    prediction: Path | None
    gold: Path | None
    allow_extra: bool
    out: Path | None
    cases: Path | None = None
    subsets: Sequence[str] = ()


def score_asked(task: str, files: Files, method: Method) -> bool:
    """Score, print the tables, write the report.

    Returns:
        Whether all items were asked.

    Raises:
        UserError: no such task or run, files that do not fit, or a place that cannot be written.
    """
    from medeval.predictions.layout import require_writable, write_json
    from medeval.tasks.for_reports import report_of

    if files.out is not None:
        require_writable(files.out)
    scored, folder = _scored(task, files, method)
    for warning in scored.warnings:
        print(f"medeval: {warning}", file=sys.stderr)
    report = report_of(scored)
    if folder is not None:
        report.save(folder / SCORES)
    if files.out is not None:
        write_json(files.out, json.loads(report.to_json()), bare_nan=False)
    _print(scored, method.groupings)
    missing = scored.result.metadata.get("not_asked", 0)
    if missing:
        print(
            f"medeval: {missing:,} items were never asked and count as not answered; go on with"
            f" `python -m medeval run --resume {folder}{moved_to(files.cases)}`",
            file=sys.stderr,
        )
    for place in [folder / SCORES if folder else None, files.out]:
        if place is not None:
            print(f"saving the results in {place}")
    return not missing


def _scored(task: str, files: Files, method: Method) -> tuple[TaskScore, Path | None]:
    from medeval.inference.journal import read_journal
    from medeval.inference.run import RESPONSES
    from medeval.tasks.catalogue import canonical_name, recorded_name
    from medeval.tasks.cdm_taken_up import taken_up
    from medeval.tasks.run_record import newest_run, read_record, warning_of_cut_prompts

    name = canonical_name(task)
    path = files.prediction
    _refuse_what_is_of_cdm(name, files, method)
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
    refuse_flags(name, {"--gold": files.gold, "--allow-extra": files.allow_extra})
    asked = taken_up(record, files.cases, named=name, subsets=files.subsets)
    scored = asked.score(path, method)
    warning = warning_of_cut_prompts(asked.items(record.limit), read_journal(path / RESPONSES))
    if not warning:
        return scored, path
    about = scored.result.metadata
    about["warnings"] = [*about.get("warnings", scored.warnings), warning]
    return replace(scored, warnings=[*scored.warnings, warning]), path


def _refuse_what_is_of_cdm(name: str, files: Files, method: Method) -> None:
    if name != CDM:
        given = {
            "--cases": files.cases,
            "--subset": bool(files.subsets),
            "--score-version 1": method.score_version == 1,
        }
        refuse_flags(name, given)


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


def _print(scored: TaskScore, groupings: Sequence[str]) -> None:
    from medeval.tasks.for_reports import group_table
    from medeval.terminal import Terminal

    console = Terminal()
    console.print(_table(scored))
    titles = {table.title for table in scored.tables}
    groups = [group_table(name, scored.groups[name]) for name in groupings]
    for table in [*(one for one in groups if one.title not in titles), *scored.tables]:
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
            f" {judging['failed']:,} failed{f'; not judged, earn 0: {blank}' if blank else ''}"
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
            name,
            "undefined" if value is None else f"{value:.4f}",
            between,
            "" if n is None else f"{n:,}",
            *([f"{undefined.get(name, {}).get('items', 0):,}"] if undefined else []),
            style="bold" if name == scored.headline else None,
        )
    return table


def _further_table(data: TableData) -> Table:
    from rich.table import Table

    table = Table(title=data.title)
    for name in data.columns:
        table.add_column(name, overflow="fold")
    for row in data.rows:
        table.add_row(*row)
    return table
