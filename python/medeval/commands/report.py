"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medeval.commands.graceful_exit import command_of
from medeval.commands.options import command_flags
from medeval.errors import UserError
from medeval.tasks import registry
from medeval.tasks.run_record import RUNS
from medeval.terminal import Terminal, print_json, shown, table_of


@command_flags("report")
def report(**given: Any) -> None:
    """Write a report of a run, or a leaderboard of several.

    It is one file that works offline. Runs have to be scored first.
    """
    runs: list[Path] = given["runs"] or []
    if given["list"]:
        _show_runs(runs[0] if runs else RUNS, as_json=given["json"])
        return
    if not runs:
        raise UserError("Name a run, or list them: `report --list`.")
    from medeval.models.benchmark_report import BenchmarkReport
    from medeval.reporting import leaderboard, write_report

    reports = []
    for path in runs:
        place = path / registry.SCORES if path.is_dir() else path
        if not place.is_file():
            again = command_of("score", "--task", "TASK", path)
            raise UserError(f"There is no {place}. Score the run first: `{again}`.")
        try:
            reports.append(BenchmarkReport.from_file(place))
        except ValueError as error:
            raise UserError(f"{place} is no report of a benchmark: {error}") from None
    for path, one in zip(runs, reports, strict=True):
        missing = sum(each.metadata.get("not_asked", 0) for each in one.detailed_results)
        if missing and len(runs) > 1:
            raise UserError(
                f"{missing:,} items of {path} were never asked: it has no place beside others"
                f" before it is whole. `{command_of('run', '--resume', path)}`."
            )
    if len(reports) == 1:
        place = given["out"] or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
        write_report(reports[0], place, show_text=given["show_text"])
    else:
        place = given["out"] or Path("leaderboard.html")
        leaderboard(reports).write(place)
    print(place)


def _show_runs(folder: Path, *, as_json: bool) -> None:
    """List the runs of a folder, with the headline metric of those that are scored."""
    from medeval.api import runs

    found = runs(folder).astype(object)
    rows = found.where(found.notna(), None).to_dict("records")
    if as_json:
        print_json(rows)
        return
    columns = ("run", "asked", "answered", "headline", "value")
    cells = [
        (
            row["run"],
            *("" if row[name] is None else f"{row[name]:,.0f}" for name in columns[1:3]),
            row["headline"] or "",
            "" if row["headline"] is None else shown(row["value"]),
        )
        for row in rows
    ]
    Terminal().print(table_of(f"runs in {folder}", columns, cells))
